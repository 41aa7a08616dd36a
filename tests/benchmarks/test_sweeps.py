"""Operations that are swept give what NumPy gives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from benchmarks.sweeps.__main__ import arguments, operations_of, text_of
from benchmarks.sweeps.operations import Operation
from soac.ir.types import Prim

SHAPES = (101,), (9, 35), (4, 5, 6)
CASES = [
    (prim, shape, name, one)
    for prim in (Prim.F32, Prim.I16)
    for shape, all_of in zip(SHAPES, operations_of(prim), strict=True)
    for name, one in all_of.items()
]


@cache
def program(prim: Prim) -> soac.Program:
    return soac.compile(text_of(prim))


@pytest.mark.parametrize(
    ("prim", "shape", "name", "one"), CASES, ids=[f"{prim.value}-{name}" for prim, _, name, _ in CASES]
)
def test_an_operation_is_that_of_numpy(prim: Prim, shape: tuple[int, ...], name: str, one: Operation) -> None:
    args = arguments(one, shape, prim)
    got, wanted = getattr(program(prim), name)(*args), one.peer(*args)
    assert np.allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=1e-4, atol=1e-4)
