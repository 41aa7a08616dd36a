"""Reductions of columns of tall matrices, on sizes around the chunks of rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.version_tree import sites
from soac.kernels.kernel_ir.nodes import KLet, KLoad
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.schedule.cpu.streamed_rows import CHUNK, LEAST_COLUMNS, LEAST_LENGTH, LEAST_ROWS, MOST_ROWS
from soac.kernels.schedule.cpu.unroll_and_jam import ROWS

PROGRAM = """
entry vecmat [n][m] (x: [n]i32) (a: [n][m]i32): [m]i32 = map (\\c -> i32.sum (map2 (*) x c)) (transpose a)
entry scaled [n][m] (a: [n][m]i32) (ws: [m]i32): ([m]i64, [m]i32) =
  unzip (map2 (\\c w -> let s = i32.sum (map (\\x -> x * x) c) in (i64.i32 (s + w), 2 * s)) (transpose a) ws)
entry places [n][m] (a: [n][m]i32): ([m]i32, [m]i64) =
  unzip (map (\\c -> reduce_comm (\\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i) else (y, j))
                                 (i32.lowest, -1) (zip c (iota n))) (transpose a))
entry composed [n][m] (a: [n][m]i32): [m]i32 =
  map (\\c -> (reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x, 1)) c)).1) (transpose a)
entry spelled [n][m] (x: [n]i32) (a: [n][m]i32): [m]i32 =
  tabulate m (\\j -> i32.sum (tabulate n (\\k -> x[k] * a[k, j])))
entry pairs [n][m] (a: [n][m]i32) (b: [n][m]i32): [m]i32 =
  map2 (\\c d -> i32.sum (map2 (*) c d)) (transpose a) (transpose b)
entry product [l][n][m] (x: [l][n]i32) (a: [n][m]i32): [l][m]i32 =
  map (\\row -> map (\\c -> i32.sum (map2 (*) row c)) (transpose a)) x
entry turned [l][n][m] (x: [n][l]i32) (a: [n][m]i32) (ws: [m]i32): [l][m]i32 =
  map (\\row -> map2 (\\c w -> w + i32.sum (map2 (\\x y -> x * y * y) row c)) (transpose a) ws) (transpose x)
entry nearest [l][n][m] (x: [l][n]i32) (a: [n][m]i32): ([l][m]i32, [l][m]i64) =
  let at row c = reduce_comm (\\(x, i) (y, j) -> if x < y || (x == y && i < j) then (x, i) else (y, j))
                             (i32.highest, n) (map3 (\\x y i -> (i32.abs (x - y), i)) row c (iota n))
  in unzip (map (\\row -> unzip (map (at row) (transpose a))) x)
entry each [l][n][m] (a: [l][n][m]i32): [l][m]i32 = map (\\b -> map i32.sum (transpose b)) a
entry weighed [l][n][m] (a: [l][n][m]i32) (x: [l][n]i32) (ws: [m]i32): [l][m]i64 =
  map2 (\\b y -> map2 (\\c w -> i64.i32 (w + i32.sum (map2 (*) y c))) (transpose b) ws) a x
entry first_places [l][n][m] (a: [l][n][m]i32): ([l][m]i32, [l][m]i64) =
  let at c = reduce_comm (\\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i) else (y, j))
                         (i32.lowest, -1) (zip c (iota n))
  in unzip (map (\\b -> unzip (map at (transpose b))) a)
entry grid [k][l][n][m] (a: [k][l][n][m]i32): [k][l][m]i32 = map (map (\\b -> map i32.sum (transpose b))) a
entry outermost [l][n][m] (a: [n][l][m]i32): [l][m]i32 =
  tabulate_2d l m (\\i j -> i32.sum (tabulate n (\\k -> a[k, i, j])))
entry joined [k][l][n][m] (a: [k][n][l][m]i32) (x: [n]i32): [k][l][m]i64 =
  tabulate_3d k l m (\\h i j -> i64.i32 (3 * i32.sum (tabulate n (\\k -> x[k] * a[h, k, i, j]))))
entry not_all [l][n][m] (a: [n][l][m]i32): [l][]i32 =
  tabulate_2d l (m / 2) (\\i j -> i32.sum (tabulate n (\\k -> a[k, i, j])))
entry also_rows [l][n][m] (a: [n][l][m]i32) (x: [n][l]i32): [l][m]i32 =
  tabulate_2d l m (\\i j -> i32.sum (tabulate n (\\k -> a[k, i, j] * x[k, i])))
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("n", [0, 1, LEAST_LENGTH - 1, LEAST_LENGTH, LEAST_LENGTH + 3, 70_001])
@pytest.mark.parametrize("m", [0, 1, 3, LEAST_COLUMNS, 17, CHUNK + 1])
@pytest.mark.parametrize(("outer", "threads"), [(True, 1), (True, 2), (False, 2)])
def test_columns(program: soac.Program, n: int, m: int, outer: bool, threads: int) -> None:
    if n * m > 2_000_000:
        n = 5_000
    source = np.random.default_rng(8)
    a, x, ws = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (n,), (m,)))
    squares, wanted = (a * a).sum(0), a.max(0, initial=-(2**31))
    first = np.where(n > 0, (a == wanted).argmax(0), -1) if n else np.full(m, -1)
    composed = np.zeros(m, np.int32)
    with np.errstate(over="ignore"):
        for row in a:
            composed = composed * row + 1
    forced = {site.name: outer for site in sites(program.compiled.flat)}

    def call(entry: str, *args: np.ndarray) -> list[np.ndarray]:
        return program.call(entry, list(args), forced=forced, threads=threads)

    np.testing.assert_array_equal(call("vecmat", x, a)[0], x @ a)
    np.testing.assert_array_equal(call("spelled", x, a)[0], x @ a)
    np.testing.assert_array_equal(call("pairs", a, 3 - a)[0], (a * (3 - a)).sum(0))
    sums, doubled = call("scaled", a, ws)
    np.testing.assert_array_equal(sums, squares + ws)
    np.testing.assert_array_equal(doubled, 2 * squares)
    largest, at = call("places", a)
    np.testing.assert_array_equal(largest, wanted)
    np.testing.assert_array_equal(at, first)
    np.testing.assert_array_equal(call("composed", a)[0], composed)


@pytest.mark.parametrize("results", [0, 1, 3, ROWS, MOST_ROWS - 1, MOST_ROWS])
@pytest.mark.parametrize(
    ("n", "m"),
    [(0, 20), (LEAST_LENGTH, LEAST_COLUMNS), (700, 801), (1, 5_000), (LEAST_ROWS + 3, CHUNK + 1), (70_001, 9)],
)
@pytest.mark.parametrize(("outer", "threads"), [(True, 1), (True, 2), (False, 2)])
def test_rows_of_results(program: soac.Program, results: int, n: int, m: int, outer: bool, threads: int) -> None:
    source = np.random.default_rng(9)
    a, x, ws = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (results, n), (m,)))
    forced = {site.name: outer for site in sites(program.compiled.flat)}

    def call(entry: str, *args: np.ndarray) -> list[np.ndarray]:
        return program.call(entry, list(args), forced=forced, threads=threads)

    np.testing.assert_array_equal(call("product", x, a)[0], x @ a)
    np.testing.assert_array_equal(call("turned", np.ascontiguousarray(x.T), a, ws)[0], x @ (a * a) + ws)
    if results * n * m <= 4_000_000:
        apart, at = call("nearest", x, a)
        far = np.abs(x[:, :, None] - a[None])
        np.testing.assert_array_equal(apart, far.min(1, initial=2**31 - 1))
        np.testing.assert_array_equal(at, far.argmin(1) if n else np.full((results, m), n))


@pytest.mark.parametrize("several", [0, 1, 3, 40])
@pytest.mark.parametrize(
    ("n", "m"), [(0, 20), (LEAST_LENGTH, LEAST_COLUMNS), (LEAST_LENGTH + 3, 17), (LEAST_ROWS + 3, 33), (100, CHUNK + 1)]
)
@pytest.mark.parametrize(("outer", "threads"), [(True, 1), (True, 2), (False, 2)])
def test_several_matrices(program: soac.Program, several: int, n: int, m: int, outer: bool, threads: int) -> None:
    source = np.random.default_rng(10)
    if several * n * m > 2_000_000:
        several = 5
    a, x, ws = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((several, n, m), (several, n), (m,)))
    forced = {site.name: outer for site in sites(program.compiled.flat)}

    def call(entry: str, *args: np.ndarray) -> list[np.ndarray]:
        return program.call(entry, list(args), forced=forced, threads=threads)

    np.testing.assert_array_equal(call("each", a)[0], a.sum(1))
    np.testing.assert_array_equal(call("weighed", a, x, ws)[0], (a * x[:, :, None]).sum(1) + ws)
    wanted = a.max(1, initial=-(2**31))
    largest, at = call("first_places", a)
    np.testing.assert_array_equal(largest, wanted)
    np.testing.assert_array_equal(at, (a == wanted[:, None]).argmax(1) if n else np.full((several, m), -1))
    np.testing.assert_array_equal(call("grid", np.stack((a, -a)))[0], np.stack((a, -a)).sum(2))
    back = np.ascontiguousarray(a.swapaxes(0, 1))
    np.testing.assert_array_equal(call("outermost", back)[0], a.sum(1))
    np.testing.assert_array_equal(call("not_all", back)[0], a[:, :, : m // 2].sum(1))
    np.testing.assert_array_equal(call("also_rows", back, np.ascontiguousarray(x.T))[0], (a * x[:, :, None]).sum(1))
    several_of_both = np.stack((back, -back))
    weights = np.arange(n, dtype=np.int32) - 5
    wanted = 3 * (several_of_both * weights[:, None, None]).sum(1)
    np.testing.assert_array_equal(call("joined", several_of_both, weights)[0], wanted)


def test_rows_are_streamed(program: soac.Program) -> None:
    names = [kernel.name for kernel in program.compiled.host.kernels if "streamed" in kernel.name]
    wanted = (
        "vecmat",
        "scaled",
        "places",
        "pairs",
        "product",
        "turned",
        "nearest",
        "each",
        "weighed",
        "first_places",
        "grid",
        "joined",
    )
    assert all(any(name.startswith(f"{entry}_") for name in names) for entry in wanted)


@pytest.mark.parametrize(("entry", "loads"), [("spelled", ROWS + 1), ("pairs", 1)])
def test_the_rows_of_several_matrices_pass_one_by_one(program: soac.Program, entry: str, loads: int) -> None:
    kernels = [k for k in program.compiled.host.kernels if k.name.startswith(f"{entry}_") and "streamed" in k.name]
    assert kernels
    for kernel in kernels:
        rhs = [stm.rhs for stm in all_statements(kernel.body) if isinstance(stm, KLet)]
        assert sum(isinstance(load, KLoad) and load.array.name.startswith("a_") for load in rhs) == loads
