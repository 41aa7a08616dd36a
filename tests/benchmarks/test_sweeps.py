"""Operations that are swept give what NumPy gives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from benchmarks.sweeps.__main__ import arguments, text_of
from benchmarks.sweeps.operations import CUBE, MATRIX, ROW, Operation
from soac.ir.types import Prim

SHAPES = {1: (101,), 2: (9, 35), 3: (4, 5, 6)}
CASES = [(rank, name, one) for rank, all_of in ((1, ROW), (2, MATRIX), (3, CUBE)) for name, one in all_of.items()]


@cache
def program() -> soac.Program:
    return soac.compile(text_of({**ROW, **MATRIX, **CUBE}, Prim.F32))


@pytest.mark.parametrize(("rank", "name", "operation"), CASES, ids=[name for _, name, _ in CASES])
def test_an_operation_is_that_of_numpy(rank: int, name: str, operation: Operation) -> None:
    args = arguments(operation, SHAPES[rank], Prim.F32)
    got, wanted = getattr(program(), name)(*args), operation.peer(*args)
    assert np.allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=1e-4, atol=1e-4)
