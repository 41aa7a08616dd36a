"""Maps of loops over few points, around the numbers of points where lanes take over."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.host_ir.nodes import show_host
from soac.kernels.lower import lower
from soac.kernels.schedule.cpu.lanes_kernel import ENOUGH_ROWS, chunk_length
from soac.pipeline import compile_core
from soac.reports.schedules import schedules_of

PROGRAM = """
entry echo [c][n] (d: i64) (g: f32) (rows: [c][n]f32): [c][n]f32 =
  map (\\row -> loop y = copy row for i in d..<n do y with [i] = y[i] + g * y[i-d]) rows
entry decayed [c][n] (k: f64) (rows: [c][n]f64): ([c][n]f64, [c]f64) =
  unzip (map (\\row ->
    let (y, last) = loop (y, last) = (replicate n 0, 0) for i < n do
      let last = last + k * (row[i] - last)
      in (y with [i] = last, last)
    in (y, last)) rows)
entry steps [a][b] (starts: [a][b]i32): [a][b]i32 =
  map (map (\\x -> (loop (x, k) = (x, 0) while x > 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)).1)) starts
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def collatz(x: int) -> int:
    k = 0
    while x > 1:
        x, k = x // 2 if x % 2 == 0 else 3 * x + 1, k + 1
    return k


@pytest.mark.parametrize("c", [0, 1, 2, 5, 11, 12, 17])
def test_results(program: soac.Program, c: int) -> None:
    rows = np.random.default_rng(c).random((c, 40))
    echo = rows.astype(np.float32)
    for i in range(7, 40):
        echo[:, i] += np.float32(0.5) * echo[:, i - 7]
    np.testing.assert_allclose(program.echo(7, 0.5, rows.astype(np.float32)), echo, rtol=1e-5)
    means, last = np.zeros((c, 40)), np.zeros(c)
    for i in range(40):
        last = last + 0.25 * (rows[:, i] - last)
        means[:, i] = last
    found, ends = program.decayed(0.25, rows)
    np.testing.assert_allclose(found, means)
    np.testing.assert_allclose(ends, last)
    starts = np.arange(2 * c, dtype=np.int32).reshape(2, c)
    assert program.steps(starts).tolist() == [[collatz(int(x)) for x in row] for row in starts]


def most_points(entry: str) -> int:
    """Up to how many points go one by one."""
    flat = compile_core(compile_text(PROGRAM, "few.soac"), Mode.INCREMENTAL, CPU).flat
    (row,) = (r for s in schedules_of(flat, CPU, [entry]) for r in s.rows if r.name == "one by one")
    assert row.condition is not None
    return int(row.condition.split("<=")[1])


def test_what_waits_is_sooner_on_lanes() -> None:
    """An echo only moves elements; a mean waits for the step before."""
    assert 1 <= most_points("decayed") < most_points("echo") < 16


def test_points_of_much_work_are_shared() -> None:
    """A block of lanes is one group where 64 points are the work of many blocks, if there are few."""
    assert [chunk_length(each) for each in (1.0, 300.0, 4000.0, 6000.0, 1e6)] == [19968, 64, 64, 16, 16]


LOOPS = """
def main [n] (k: i64) (xs: [n]f32): [n]f32 =
  map (\\x -> loop y = x for i < k do
    loop y for j < i do (loop y for _l < 9 do f32.exp (-(y * y)) - x * f32.i64 j)) xs
"""


def test_blocks_of_a_group() -> None:
    """Loops in loops over 0 to 1100 points: blocks of 16 and of 64."""
    program = soac.compile(LOOPS)
    for n in (0, 1, 15, 16, 17, 64, 70, 1023, 1024, 1100):
        xs = np.linspace(0, 1, n, dtype=np.float32)
        y = xs.copy()
        for i in range(5):
            for j in range(i):
                for _ in range(9):
                    y = np.exp(-(y * y)) - xs * np.float32(j)
        np.testing.assert_allclose(program.main(5, xs), y, rtol=1e-3)


OF_ROWS = """
entry rows [m][n] (xs: [m][n]f32) (s: [m]f32): [m][n]f32 =
  tabulate_2d m n (\\i j -> loop y = s[i] for k < 5 do
    loop y for l < k do (loop y for _r < 9 do f32.exp (-(y * y)) - xs[i, j] * f32.i64 l))
"""


def test_rows_are_blocks_enough() -> None:
    """Where rows are blocks for all cores a block has 64 points of its row, the last group of which reaches back."""
    assert f"{ENOUGH_ROWS}i64" in show_host(
        lower(compile_core(compile_text(OF_ROWS, "f.soac"), Mode.INCREMENTAL, CPU).flat)
    )
    program = soac.compile(OF_ROWS)
    for m, n in ((ENOUGH_ROWS - 1, 17), (ENOUGH_ROWS, 17), (ENOUGH_ROWS, 0), (0, 17), (ENOUGH_ROWS, 81)):
        xs, s = np.linspace(0, 1, m * n, dtype=np.float32).reshape(m, n), np.linspace(1, 2, m, dtype=np.float32)
        wanted = np.repeat(s[:, None], n, 1)
        for k in range(5):
            for step in range(k):
                for _ in range(9):
                    wanted = np.exp(-(wanted * wanted)) - xs * np.float32(step)
        np.testing.assert_allclose(program.rows(xs, s), wanted, rtol=1e-3)


SIZED = LOOPS.replace("main [n]", "main").replace("[n]", "[1024]")


@pytest.mark.parametrize(("text", "chosen"), [(LOOPS, True), (SIZED, False)])
def test_many_points_of_much_work_are_in_blocks_of_several_groups(text: str, chosen: bool) -> None:
    """By the number of points, which the host knows, or the type."""
    flat = compile_core(compile_text(text, "loops.soac"), Mode.INCREMENTAL, CPU).flat
    host = show_host(lower(flat))
    assert ("64i64 16i64" in host) == chosen
