"""Arrays that a loop works on, for each point of a map: lanes over the points, each with an array of its own."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.host_ir.nodes import show_host
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.schedule.cpu.segmap import MOST_APART
from soac.pipeline import compile_core
from soac.reports.schedules import schedules_of

CHOLESKY = """
def factor [n] (a: [n][n]f64): [n][n]f64 =
  loop l = replicate n (replicate n 0) for j < n do
    let d = f64.sqrt (a[j, j] - f64.sum (map (\\x -> x * x) l[j, :j]))
    let l = l with [j, j] = d
    in loop l for i in j + 1..<n do l with [i, j] = (a[i, j] - f64.sum (map2 (*) l[i, :j] l[j, :j])) / d
entry cholesky [b][n] (as: [b][n][n]f64): [b][n][n]f64 = map factor as
"""
SORTS = """
entry sorted [b][n] (rows: [b][n]i32): [b][n]i32 =
  map (\\row -> loop row = copy row for i in 1..<n do
                 (loop (row, j) = (row, i) while j > 0 && row[j - 1] > row[j] do
                    let x = row[j]
                    let row = row with [j] = row[j - 1]
                    in (row with [j - 1] = x, j - 1)).0) rows
entry running [b][n] (rows: [b][n]i32): ([b][n]i32, [b]i32) =
  unzip (map (\\row -> let sums = loop row = copy row for i in 1..<n do row with [i] = row[i - 1] + row[i]
                      in (sums, i32.sum sums)) rows)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(CHOLESKY + SORTS)


@pytest.mark.whole
@pytest.mark.parametrize(("b", "n"), [(0, 3), (9, 0), (1, 4), (9, 1), (33, 7), (9, 65)])
def test_results(program: soac.Program, b: int, n: int) -> None:
    """Rows of 65 x 65 are more than what is made apart."""
    assert MOST_APART < 65 * 65
    source = np.random.default_rng(n)
    a = source.standard_normal((b, n, n))
    a = a @ a.transpose(0, 2, 1) + max(n, 1) * np.eye(n)
    rows = source.integers(-99, 99, (b, n)).astype(np.int32)
    for side in (True, False):
        name = next(iter(program.versions["cholesky"]))
        (found,) = program.call("cholesky", [a], forced={name: side})
        np.testing.assert_allclose(found, np.linalg.cholesky(a), atol=1e-9)
    if n == 0:
        return  # the ranges 1..<n go the wrong way
    assert np.array_equal(program.sorted(rows), np.sort(rows))
    sums, totals = program.running(rows)
    assert np.array_equal(sums, np.cumsum(rows, 1))
    assert np.array_equal(totals, sums.sum(1))


def private_arrays(text: str) -> int:
    kernels = compile_core(compile_text(text, "apart.soac"), Mode.OUTER, CPU).host.kernels
    allocs = (stm for kernel in kernels for stm in all_statements(kernel.body) if isinstance(stm, kir.Alloc))
    return sum(stm.array.space is kir.Space.PRIVATE for stm in allocs)


def test_what_no_loop_works_on_goes_to_its_place() -> None:
    assert private_arrays(CHOLESKY) == 1
    assert private_arrays("entry main [b][n] (rows: [b][n]f64) = map (\\r -> scan (+) 0 (map (* 2) r)) rows") == 0


def test_the_bound_of_the_loop_decides() -> None:
    """The sums go up to a counter, which the host does not know."""
    flat = compile_core(compile_text(CHOLESKY, "apart.soac"), Mode.OUTER, CPU).flat
    rows = {row.name: row for segop in schedules_of(flat, CPU, ["cholesky"]) for row in segop.rows}
    assert "n" in (rows["lanes, results apart"].condition or "")
    assert "n" in (rows["block a point"].condition or "")


def test_an_array_that_is_updated_after_its_loops_is_one_of_theirs() -> None:
    """The last rounds of loops of a few rounds are unrolled."""
    text = """entry main [b] (as: [b][4][4]f64): [b][4][4]f64 =
      map (\\a -> loop a = copy a for k < 4 do loop a for i in k+1..<4 do
        let f = a[i, k] / a[k, k]
        let a = a with [i, k] = f
        in loop a for j in k+1..<4 do a with [i, j] = a[i, j] - f * a[k, j]) as"""
    assert private_arrays(text) == 1
    a = np.random.default_rng(0).standard_normal((9, 4, 4)) + 4 * np.eye(4)
    lu = soac.compile(text).main(a)
    lower, upper = np.tril(lu, -1) + np.eye(4), np.triu(lu)
    assert np.allclose(lower @ upper, a)


def test_indices_that_count_are_no_memory_of_threads() -> None:
    """A sum of sums that counts its own indices: the same for all lanes, so that its elements lie side by side."""
    text = """
entry main [c][k][n] (d: i64) (w: [c][k]f32) (xs: [c][n]f32): []f32 =
  let m = n - (k - 1) * d
  in tabulate m (\\j -> f32.sum (map2 (\\taps x -> f32.sum (map2 (\\p t -> t * x[j+p*d]) (iota k) taps)) w xs))
"""
    assert private_arrays(text) == 0
    given = (2, np.ones((7, 3), np.float32), np.arange(70, dtype=np.float32).reshape(7, 10))
    assert soac.compile(text).main(*given).tolist() == [sum(3 * (10 * c + j + 2) for c in range(7)) for j in range(6)]


def test_columns_are_stored_as_they_lie() -> None:
    """What is only read transposed is not stored otherwise, nor copied."""
    text = """
entry main [h][w] (x: [h][w]f64): [h][w]f64 =
  transpose (map (\\c -> loop y = copy c for i in 1..<h do y with [i] = y[i] + y[i-1]) (transpose x))
"""
    host = compile_core(compile_text(text, "columns.soac"), Mode.OUTER, CPU).host
    assert "rearrange" not in show_host(host)
    rows = np.arange(60.0).reshape(4, 15)
    assert np.array_equal(soac.compile(text).main(rows), np.cumsum(rows, 0))
