"""Rows of constant length that each thread reads or writes: what NumPy gives, where the last group of lanes is full,
not full, or the only one, and rows have fewer, as many, or more elements than are transposed at once."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.types import Prim
from soac.kernels.kernel_ir.nodes import Kernel, LoadRow, StoreRow
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.passes.pipeline import CPU_PASSES, ready

TEXT = """
entry scaled [n] (xs: [n]T) (rows: [n][C]T): [n][C]T = map2 (\\x row -> map (* x) row) xs rows
entry ends [n] (rows: [n][C]T): [n]T = map (\\r -> r[1] + r[2] * 2 + r[4] + r[C - 1]) rows
entry places [n] (xs: [n]T): [n][C]T = map (\\x -> tabulate C (\\k -> x + T.i64 k)) xs
"""
CASES = [(Prim.F32, 7), (Prim.F32, 17), (Prim.F64, 12), (Prim.U8, 9)]


@pytest.mark.parametrize(("prim", "length"), CASES, ids=lambda x: str(getattr(x, "value", x)))
def test_rows_are_those_of_numpy(prim: Prim, length: int) -> None:
    program = soac.compile(TEXT.replace("T", prim.value).replace("C", str(length)))
    assert any(has_rows(kernel) for kernel in program.compiled.host.kernels)
    number = getattr(np, {"i": "int", "u": "uint", "f": "float"}[prim.value[0]] + prim.value[1:])
    for n in (1, 15, 16, 17, 131):
        xs = (np.arange(n) % 5).astype(number)
        rows = (np.arange(n * length) % 11).astype(number).reshape(n, length)
        kept = rows.copy()
        assert np.array_equal(program.scaled(xs, rows), xs[:, None] * rows)
        assert np.array_equal(program.ends(rows), rows[:, 1] + rows[:, 2] * number(2) + rows[:, 4] + rows[:, -1])
        assert np.array_equal(program.places(xs), xs[:, None] + np.arange(length).astype(number))
        assert np.array_equal(rows, kept)


@pytest.mark.parametrize(("prim", "length"), [(Prim.F32, 40), (Prim.I16, 64), (Prim.U8, 33)])
def test_rows_of_more_than_32_that_are_written_out(prim: Prim, length: int) -> None:
    row = ", ".join(f"x * {k % 5} + y" for k in range(length))
    text = f"entry f [n] (xs: [n]T) (ys: [n]T): [n][{length}]T = map2 (\\x y -> [{row}]) xs ys"
    program = soac.compile(text.replace("T", prim.value))
    assert any(has_rows(kernel) for kernel in program.compiled.host.kernels)
    number = {Prim.F32: np.float32, Prim.I16: np.int16, Prim.U8: np.uint8}[prim]
    for n in (0, 1, 16, 17, 131):
        xs, ys = (np.arange(n) % 5).astype(number), (np.arange(n) % 7).astype(number)
        assert np.array_equal(program.f(xs, ys), xs[:, None] * (np.arange(length) % 5).astype(number) + ys[:, None])


def has_rows(kernel: Kernel) -> bool:
    return any(isinstance(stm, LoadRow | StoreRow) for stm in all_statements(ready(kernel, CPU_PASSES).body))
