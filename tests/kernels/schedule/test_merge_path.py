"""Rows of varying length in equal parts: where the path is after each of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from soac.ir.core import Level
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.schedule.kernel_builder import ArrayRef, Builder, HostScope
from soac.kernels.schedule.merge_path import path_row
from tests.support.kernel_interpreter import interpret

ROWS, ELEMENTS = kir.KVar("n", Prim.I64), kir.KVar("m", Prim.I64)
ENDS, FOUND = (kir.KArray(name, Prim.I64, kir.Space.GLOBAL) for name in ("ends", "found"))


@cache
def searches() -> kir.Kernel:
    """found[s] = how many rows have ended after s steps."""
    nothing: Any = None
    b = Builder(HostScope({}, {}, {}, {}), nothing, nothing)
    ends = ArrayRef(ENDS, i64(0), (ROWS,), (i64(1),), True)
    b.emit(kir.Store(FOUND, b.block, path_row(b, ends, b.block, ROWS, ELEMENTS)))
    return kir.Kernel("k", b.block, (ENDS, FOUND), (ROWS, ELEMENTS), tuple(b.stms), (), Level.BLOCK)


def walked(lengths: list[int]) -> Iterator[int]:
    """The same by walking: an element of the row that is next if it has one left, else the row's end."""
    for row, length in enumerate(lengths):
        yield from [row] * (length + 1)
    yield len(lengths)


@given(st.lists(st.integers(0, 4), max_size=9))
def test_the_search_is_where_the_walk_is(lengths: list[int]) -> None:
    found = np.zeros(len(lengths) + sum(lengths) + 1, np.int64)
    scalars: dict[str, Any] = {"n": len(lengths), "m": sum(lengths)}
    interpret(searches(), {"ends": np.cumsum(lengths, dtype=np.int64), "found": found}, scalars, len(found))
    assert found.tolist() == list(walked(lengths))
