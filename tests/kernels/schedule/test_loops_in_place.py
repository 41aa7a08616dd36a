"""Loops that overwrite what they carry: they do so where it is, however deep they are nested."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.core import Scratch
from soac.ir.machine import CPU, Mode
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.traverse import all_statements
from soac.pipeline import compile_core

TABLE = """
entry main [n] (a: *[n][n]i64): [n][n]i64 =
  loop a for i in 1..<n do
    loop a for j in 1..<n do
      loop a for k < 2 do a with [i, j] = a[i, j] + a[i-1, j-k] + a[i, j-1]
"""
INNER_ALONE = """
entry main [n] (a: [n]i64) (rounds: i64): ([n]i64, [n]i64) =
  loop (a, b) = (copy a, copy a) for r < rounds do
    let c = loop c = copy b for i in 1..<n do c with [i] = c[i-1] + b[i]
    in (c, loop a for i in 1..<n do a with [i] = a[i] + c[i-1])
"""
BRANCHES = """
entry main [n] (a: *[n]i64): [n]i64 =
  loop a: *[n]i64 = a for i < n do
    if i % 3 == 0 then loop a for j < i do a with [j] = a[j] + i
    else if i % 3 == 1 then a
    else let b = loop b = replicate n i for j < i do b with [j] = a[j] * 2 in b
"""
IN_ROWS = """
entry main [n][m] (rows: [n][m]i64): [n][m]i64 =
  map (\\row -> loop row = copy row for i < m do
                 loop row for j < i do row with [i] = row[i] + row[j]) rows
"""


def table(a: np.ndarray) -> np.ndarray:
    for i in range(1, len(a)):
        for j in range(1, len(a)):
            for k in range(2):
                a[i, j] += a[i - 1, j - k] + a[i, j - 1]
    return a


def inner_alone(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = a.copy(), a.copy()
    for _ in range(3):
        c = b.copy()
        for i in range(1, len(a)):
            c[i] = c[i - 1] + b[i]
        d = a.copy()
        for i in range(1, len(a)):
            d[i] += c[i - 1]
        a, b = c, d
    return a, b


def branches(a: np.ndarray) -> np.ndarray:
    for i in range(len(a)):
        if i % 3 == 0:
            a[:i] += i
        elif i % 3 == 2:
            a = np.concatenate([a[:i] * 2, np.full(len(a) - i, i)])
    return a


def in_rows(rows: np.ndarray) -> np.ndarray:
    for row in rows:
        for i in range(len(row)):
            row[i] += row[:i].sum()
    return rows


def allocations(text: str) -> int:
    """How often the kernels of a program take memory for an array."""
    kernels = compile_core(compile_text(text, "loops.soac"), Mode.EVERY, CPU).host.kernels
    return sum(isinstance(stm, kir.Alloc) for kernel in kernels for stm in all_statements(kernel.body))


@pytest.mark.parametrize(("text", "count"), [(TABLE, 0), (IN_ROWS, 1)])
def test_nested_loops_share_one_buffer(text: str, count: int) -> None:
    """The result, or an array of the thread where points are on the lanes."""
    assert allocations(text) == count


@pytest.mark.parametrize(("text", "count"), [(TABLE, 0), (INNER_ALONE, 1)])
def test_the_loop_of_the_host_program_takes_its_memory_over(text: str, count: int) -> None:
    """A whole loop that is a kernel overwrites its initial values; of two with the same, one has a copy."""
    host = compile_core(compile_text(text, "loops.soac"), Mode.EVERY, CPU).host
    made = [stm for body in host.functions[0].bodies for stm in body.stms if isinstance(stm.exp, Scratch)]
    assert len(made) == count


def test_views_are_overwritten() -> None:
    program = soac.compile("""
        entry main [n][m] (a: *[n][m]i64): [m][n]i64 =
          loop b = transpose a for i in 1..<m do
            loop b for j < n do b with [i, j] = b[i, j] + 2 * b[i - 1, j]""")
    a = np.random.default_rng(1).integers(-9, 9, (5, 7))
    b = a.T.copy()
    for i in range(1, 7):
        b[i] += 2 * b[i - 1]
    assert np.array_equal(program.main(a.copy()), b)


def test_results() -> None:
    square = np.random.default_rng(1).integers(-9, 9, (11, 11))
    row = square[0]
    assert np.array_equal(soac.compile(TABLE).main(square), table(square.copy()))
    assert np.array_equal(soac.compile(IN_ROWS).main(square), in_rows(square.copy()))
    assert np.array_equal(soac.compile(BRANCHES).main(row), branches(row.copy()))
    for got, wanted in zip(soac.compile(INNER_ALONE).main(row, 3), inner_alone(row), strict=True):
        assert np.array_equal(got, wanted)


def test_what_is_read_afterwards_is_copied() -> None:
    program = soac.compile("""
        entry main [n] (a: [n]i64): ([n]i64, [n]i64, i64) =
          let (b, c, s) = loop (b, c, s) = (replicate n 0, replicate n 0, 0) for i < n do
            let b = b with [i] = a[i]
            let d = loop d = copy b for j < i do d with [j] = d[j] + b[i]
            in (b, d, s + d[0] + b[0])
          in (b, c, s)""")
    a = np.arange(1, 6)
    assert [np.asarray(x).tolist() for x in program.main(a)] == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 5], 24]
