"""Histograms in chunks, with copies for few bins: sizes around the limits, operators of all kinds, on scalars and by
element, 1 and 2 threads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.core import SegHist
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.kernels.kernel_ir.nodes import Alloc, KIf, Store
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.schedule.cpu.seghist import LEAST_CHUNK, fixed_dims
from soac.pipeline import compile_core

PROGRAM = """
entry counts [n] (k: i64) (is: [n]i64): [k]i32 = hist (+) 0 k is (replicate n 1)
entry onto [n] (k: i64) (is: [n]i64) (xs: [n]i64): [k]i64 =
  reduce_by_index (map (3 *) (iota k)) (+) 0 is xs
entry sums [n] (k: i64) (is: [n]i64) (xs: [n]f32): [k]f32 = hist (+) 0 k is xs
entry computed [n] (k: i64) (is: [n]i64) (xs: [n]f64): [k]f64 =
  hist (+) 0 k (map (\\i -> (i * 5 + 3) % k) is) (map (\\x -> f64.abs (x * 2 + 1)) xs)
entry largest [n] (k: i64) (is: [n]i64) (xs: [n]i32): [k]i32 = hist i32.max i32.lowest k is xs
entry float_extremes [n] (k: i64) (is: [n]i64) (xs: [n]f32): ([k]f32, [k]f32) =
  (hist f32.max (-f32.inf) k is xs, hist f32.min f32.inf k is xs)
entry extremes [n] (k: i64) (is: [n]i64) (xs: [n]i32): ([k]i32, [k]i32) =
  let both (a: i32, b: i32) (c: i32, d: i32) = (i32.min a c, if b > d then b else d)
  in unzip (hist both (i32.highest, i32.lowest) k is (zip xs xs))
entry places [n] (k: i64) (is: [n]i64) (xs: [n]i32): [k]i64 =
  let larger (x: i32, i: i64) (y: i32, j: i64) =
    if j < 0 then (x, i) else if i < 0 then (y, j)
    else if x > y || (x == y && i < j) then (x, i) else (y, j)
  in map (.1) (hist larger (0, -1) k is (zip xs (iota n)))
entry latest [n] (k: i64) (is: [n]i64) (xs: [n]i32): [k]i32 =
  hist (\\a b -> if b == 0 then a else b) 0 k is xs
entry composed [n] (k: i64) (is: [n]i64) (xs: [n]i32): ([k]i32, [k]i32) =
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in unzip (hist compose (1, 0) k is (zip (replicate n 3) xs))
entry rows [r][n] (k: i64) (iss: [r][n]i64) (xss: [r][n]i32): [r][k]i32 =
  map2 (\\is xs -> hist (+) 0 k is xs) iss xss
entry both_ends [n] (k: i64) (is: [n]i64) (xs: [n]i64): [k]i64 =
  hist (+) 0 k (is ++ map (\\i -> (i + 7) * 3 % k) is) (xs ++ map (0 -) xs)
entry corners [n][w] (k: i64) (is: [n]i64) (xss: [n][w]f64): [k]f64 =
  let around i x = [(i, x), (i + 1, x * 0.5), (i - 1, f64.abs x)]
  let (is, xs) = unzip (flatten_3d (map2 (\\i xs -> map (around i) xs) is xss))
  in hist (+) 0 k is xs
entry members [n] (k: i64) (iss: [n][3]i32) (xs: [n]f64): ([k]f64, [k]i32) =
  let each x = replicate 3 (f64.floor (x * 2), i32.f64 x)
  in unzip (hist (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0) k (map i64.i32 (flatten iss)) (flatten (map each xs)))
entry stats [n] (k: i64) (is: [n]i64) (xs: [n]f64): ([k]i64, [k]f64, [k]f64, [k]f64) =
  (hist (+) 0 k is (replicate n 1), hist f64.min f64.inf k is xs, hist (+) 0 k is xs, hist f64.max (-f64.inf) k is xs)
entry grid [n] (is: [n]i64) (js: [n]i64) (xs: [n]i32): [5][7]i32 =
  reduce_by_index_2d (replicate 5 (replicate 7 0)) (+) 0 (zip is js) xs
entry vectors [n][w] (k: i64) (is: [n]i64) (xss: [n][w]i32): [k][w]i32 =
  hist (map2 (+)) (replicate w 0) k is xss
entry vectors_onto [n][w] (k: i64) (is: [n]i64) (xss: [n][w]i32): [k][w]i32 =
  reduce_by_index (tabulate_2d k w (\\i j -> i32.i64 (i - j))) (map2 i32.max) (replicate w i32.lowest) is xss
entry vectors_last [n][w] (k: i64) (is: [n]i64) (xss: [n][w]i32): [k][w]i32 =
  hist (\\xs ys -> map2 (\\y x -> if y == 0 then x else y) ys xs) (replicate w 0) k is xss
entry matrices [n][v][w] (k: i64) (is: [n]i64) (xsss: [n][v][w]i32): [k][v][w]i32 =
  hist (map2 (map2 (+))) (replicate v (replicate w 0)) k is xsss
entry pairs_of_vectors [n][w] (k: i64) (is: [n]i64) (xss: [n][w]i32): ([k][w]i32, [k][w]i32) =
  let both (as: [w]i32, bs: [w]i32) (cs: [w]i32, ds: [w]i32) =
    unzip (map4 (\\a b c d -> (a + c, i32.max b d)) as bs cs ds)
  in unzip (hist both (replicate w 0, replicate w i32.lowest) k is (map (\\xs -> (map (2 *) xs, xs)) xss))
entry rows_of_vectors [r][n][w] (k: i64) (iss: [r][n]i64) (xsss: [r][n][w]i32): [r][k][w]i32 =
  map2 (\\is xss -> hist (map2 (+)) (replicate w 0) k is xss) iss xsss
entry neighbours [n][w] (k: i64) (is: [n]i64) (xss: [n][w]i32): [k][w]i32 =
  hist (\\xs ys -> map2 (\\j y -> xs[j / 2 * 2] + y) (iota w) ys) (replicate w 0) k is xss
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def call(program: soac.Program, entry: str, *args: object) -> list:
    """The results, on the flat version; of one thread and of two, which are the same bits."""
    inner = {site.name: False for site in sites(program.compiled.flat) if site.entry == entry}
    found = [program.call(entry, list(args), forced=inner, threads=threads) for threads in (1, 2)]
    for one, two in zip(*found, strict=True):
        assert one.tobytes() == two.tobytes()
    return found[0]


def places(bins: int, points: int) -> np.ndarray:
    """Some of them out of range."""
    source = np.random.default_rng(bins + points)
    found = source.integers(0, max(1, bins), points)
    found[source.integers(0, 50, points) == 0] = -1
    found[source.integers(0, 50, points) == 0] = bins
    return found


def filled(ne: object, bins: int, put: np.ufunc, places: np.ndarray, values: object, dtype: type) -> np.ndarray:
    """What `put.at` makes of the values in range."""
    result, inside = np.full(bins, ne, dtype), (places >= 0) & (places < bins)
    put.at(result, places[inside], np.broadcast_to(np.asarray(values, dtype), places.shape)[inside])
    return result


SIZES = [
    (0, 10), (1, 0), (1, 1), (7, 3), (7, 2 * LEAST_CHUNK - 1), (7, 2 * LEAST_CHUNK + 5), (4096, 3 * LEAST_CHUNK + 1),
    (5000, 2 * LEAST_CHUNK), (3 * LEAST_CHUNK, 2 * LEAST_CHUNK),
]  # fmt: skip


@pytest.mark.parametrize(("bins", "points"), SIZES)
def test_sums(program: soac.Program, bins: int, points: int) -> None:
    at, xs = places(bins, points), np.arange(points) % 11 - 5
    np.testing.assert_array_equal(call(program, "counts", bins, at)[0], filled(0, bins, np.add, at, 1, np.int32))
    floats = xs.astype(np.float32)
    np.testing.assert_array_equal(
        call(program, "sums", bins, at, floats)[0], filled(0, bins, np.add, at, xs, np.float32)
    )
    onto = filled(0, bins, np.add, at, xs, np.int64) + 3 * np.arange(bins)
    np.testing.assert_array_equal(call(program, "onto", bins, at, xs)[0], onto)


@pytest.mark.parametrize(("bins", "points"), SIZES[1:])
def test_bodies_that_compute(program: soac.Program, bins: int, points: int) -> None:
    at, xs = places(bins, points), (np.arange(points) % 13 - 6).astype(np.float64)
    want = filled(0, bins, np.add, (at * 5 + 3) % bins, np.abs(xs * 2 + 1), np.float64)
    np.testing.assert_array_equal(call(program, "computed", bins, at, xs)[0], want)


@pytest.mark.parametrize(("bins", "points"), SIZES[1:-1])
def test_rows_of_equal_values(program: soac.Program, bins: int, points: int) -> None:
    at, xs = places(bins, points // 3 * 3), (np.arange(points // 3) % 13 - 6).astype(np.float64)
    sums, counts = call(program, "members", bins, at.astype(np.int32).reshape(-1, 3), xs)
    each = np.repeat(xs, 3)
    np.testing.assert_array_equal(sums, filled(0, bins, np.add, at, np.floor(each * 2), np.float64))
    np.testing.assert_array_equal(counts, filled(0, bins, np.add, at, each, np.int32))


def test_what_updates_of_a_point_share_waits_in_memory_once(program: soac.Program) -> None:
    kernels = [k for k in program.compiled.host.kernels if k.name.startswith("members_")]
    allocated = [[stm.array.name for stm in statements(k.body) if isinstance(stm, Alloc)] for k in kernels]
    staged = [names for names in allocated if any(name.startswith("keys") for name in names)]
    assert staged
    for names in staged:
        assert [sum(name.startswith(base) for name in names) for base in ("keys", "values")] == [3, 2]


@pytest.mark.parametrize(("bins", "points"), SIZES[1:])
def test_several_updates_of_a_point(program: soac.Program, bins: int, points: int) -> None:
    at, xs = places(bins, points), np.arange(points) % 13 - 6
    ends, twice = np.append(at, (at + 7) * 3 % bins), np.append(xs, -xs)
    got = call(program, "both_ends", bins, at, xs)[0]
    np.testing.assert_array_equal(got, filled(0, bins, np.add, ends, twice, np.int64))
    rows = np.stack([xs, xs * 2], 1).astype(np.float64)
    around = np.stack([at, at + 1, at - 1], 1)[:, None].repeat(2, 1).reshape(-1)
    given = np.stack([rows, rows * 0.5, np.abs(rows)], 2).reshape(-1)
    np.testing.assert_array_equal(
        call(program, "corners", bins, at, rows)[0], filled(0, bins, np.add, around, given, np.float64)
    )


@pytest.mark.parametrize(("bins", "points"), SIZES)
def test_several_operations_on_the_same_bins(program: soac.Program, bins: int, points: int) -> None:
    at, xs = places(bins, points), (np.arange(points) * 7 % 101 - 50).astype(np.float64)
    count, least, total, most = call(program, "stats", bins, at, xs)
    np.testing.assert_array_equal(count, filled(0, bins, np.add, at, 1, np.int64))
    np.testing.assert_array_equal(least, filled(np.inf, bins, np.minimum, at, xs, np.float64))
    np.testing.assert_array_equal(total, filled(0, bins, np.add, at, xs, np.float64))
    np.testing.assert_array_equal(most, filled(-np.inf, bins, np.maximum, at, xs, np.float64))


@pytest.mark.parametrize(("bins", "points"), SIZES)
def test_choices(program: soac.Program, bins: int, points: int) -> None:
    at, source = places(bins, points), np.random.default_rng(1)
    xs = source.integers(-999, 999, points).astype(np.int32)
    most = filled(-(2**31), bins, np.maximum, at, xs, np.int32)
    np.testing.assert_array_equal(call(program, "largest", bins, at, xs)[0], most)
    least, again = call(program, "extremes", bins, at, xs)
    np.testing.assert_array_equal(least, filled(2**31 - 1, bins, np.minimum, at, xs, np.int32))
    np.testing.assert_array_equal(again, most)
    first = filled(
        points, bins, np.minimum, np.where(xs == np.append(most, 0)[at], at, -1), np.arange(points), np.int64
    )
    np.testing.assert_array_equal(call(program, "places", bins, at, xs)[0], np.where(first == points, -1, first))


FLOATS = {
    "one": ("x", "f32.max", "f32.lowest", 2),
    "two, each for itself": (
        "(x, f32.abs x)", "(\\(a, b) (c, d) -> (f32.max a c, f32.min b d))", "(f32.lowest, f32.highest)", 2,
    ),
    "two together": (
        "(x, f32.abs x)", "(\\(a, b) (c, d) -> if a > c then (a, b) else (c, d))", "(f32.lowest, f32.lowest)", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("element", "most", "ne", "forms"), FLOATS.values(), ids=FLOATS)
def test_a_float_that_is_seldom_foreseen_is_stored_always(element: str, most: str, ne: str, forms: int) -> None:
    """By one kernel or another, as there are few points for a bin or many; floats beside others are compared first."""
    text = f"entry f [n] (k: i64) (is: [n]i64) (xs: [n]f32) = hist {most} {ne} k is (map (\\x -> {element}) xs)"
    kernels = soac.compile(text).compiled.host.kernels
    fills = [kernel for kernel in kernels if any(array.name.startswith("is") for array in kernel.arrays)]
    branches = sorted(sum(isinstance(stm, KIf) for stm in statements(kernel.body)) for kernel in fills)
    assert len(branches) == forms
    assert branches[-1] > 1
    assert forms == 1 or branches[0] == 1


def test_components_are_stored_each_where_it_is_new() -> None:
    text = "entry f [n] (k: i64) (is: [n]i64) (xs: [n]i32) = (hist i32.min 9 k is xs, hist i32.max 0 k is xs)"
    stores = [
        [
            sum(isinstance(stm, Store) for stm in branch.then)
            for branch in statements(kernel.body)
            if isinstance(branch, KIf)
        ]
        for kernel in soac.compile(text).compiled.host.kernels
    ]
    assert [0, 1, 1] in map(sorted, stores)


@pytest.mark.parametrize("bins", [1, 5, 300])
def test_zeros_and_what_is_no_number(program: soac.Program, bins: int) -> None:
    """-0 < +0, and a NaN is the other argument."""
    at, source = places(bins, 900), np.random.default_rng(9)
    xs = source.choice(np.array([-0.0, 0.0, np.nan, -1.0, 1.0], np.float32), 900, p=[0.3, 0.3, 0.36, 0.02, 0.02])
    order = {k: rank for rank, k in enumerate(["-inf", "-1.0", "-0.0", "0.0", "1.0", "inf"])}
    for found, ne, pick in zip(
        call(program, "float_extremes", bins, at, xs), (-np.inf, np.inf), (max, min), strict=True
    ):
        want = [np.float32(ne)] * bins
        for k, x in zip(at.tolist(), xs, strict=True):
            if 0 <= k < bins and not np.isnan(x):
                want[k] = pick(want[k], x, key=lambda value: order[str(float(value))])
        assert found.tobytes() == np.array(want, np.float32).tobytes()


@pytest.mark.parametrize(("bins", "points"), SIZES)
def test_the_order_of_values_stays(program: soac.Program, bins: int, points: int) -> None:
    """The last one that is not 0; composition of linear functions: associative, not commutative."""
    at, xs = places(bins, points), (np.arange(points) % 7 - 3).astype(np.int32)
    last, a, b = ([ne] * bins for ne in (0, 1, 0))
    for k, x in zip(at.tolist(), xs.tolist(), strict=True):
        if 0 <= k < bins:
            last[k] = x or last[k]
            a[k], b[k] = a[k] * 3 % 2**32, (b[k] * 3 + x) % 2**32
    np.testing.assert_array_equal(call(program, "latest", bins, at, xs)[0], np.array(last, np.int32))
    found = call(program, "composed", bins, at, xs)
    np.testing.assert_array_equal(found[0].astype(np.uint32), np.array(a, np.uint32))
    np.testing.assert_array_equal(found[1].astype(np.uint32), np.array(b, np.uint32))


@pytest.mark.parametrize(("rows", "points"), [(1, 300), (3, 2 * LEAST_CHUNK + 7), (70, 2000), (0, 5), (5, 0)])
@pytest.mark.parametrize("bins", [1, 9, 3000])
def test_a_histogram_for_each_row(program: soac.Program, rows: int, points: int, bins: int) -> None:
    at = places(bins, rows * points).reshape(rows, points)
    xs = np.random.default_rng(2).integers(-9, 9, (rows, points)).astype(np.int32)
    want = [filled(0, bins, np.add, i, x, np.int32) for i, x in zip(at, xs, strict=True)]
    found = call(program, "rows", bins, at, xs)[0]
    np.testing.assert_array_equal(found, np.array(want, np.int32).reshape(rows, bins))


@pytest.mark.parametrize("points", [0, 100, 3 * LEAST_CHUNK])
def test_bins_of_two_dimensions(program: soac.Program, points: int) -> None:
    source = np.random.default_rng(3)
    at = source.integers(-1, 6, points), source.integers(-1, 8, points)
    xs, want = source.integers(-9, 9, points).astype(np.int32), np.zeros((5, 7), np.int32)
    inside = (at[0] >= 0) & (at[0] < 5) & (at[1] >= 0) & (at[1] < 7)
    np.add.at(want, (at[0][inside], at[1][inside]), xs[inside])
    np.testing.assert_array_equal(call(program, "grid", *at, xs)[0], want)


WIDTHS = [0, 1, 3, 4, 5, 17, 64, 130]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("bins", "points"), [(0, 5), (1, 0), (7, 300), (9, 2 * LEAST_CHUNK // 3), (2000, 700)])
def test_rows_combined_by_element(program: soac.Program, width: int, bins: int, points: int) -> None:
    at = places(bins, points)
    xs = np.random.default_rng(5).integers(-3, 4, (points, width)).astype(np.int32)
    inside = (at >= 0) & (at < bins)
    sums, most = np.zeros((bins, width), np.int32), np.full((bins, width), -(2**31), np.int32)
    np.add.at(sums, at[inside], xs[inside])
    np.maximum.at(most, at[inside], xs[inside])
    np.testing.assert_array_equal(call(program, "vectors", bins, at, xs)[0], sums)
    onto = np.maximum(most, np.arange(bins)[:, None] - np.arange(width))
    np.testing.assert_array_equal(call(program, "vectors_onto", bins, at, xs)[0], onto)
    twice, again = call(program, "pairs_of_vectors", bins, at, xs)
    np.testing.assert_array_equal(twice, 2 * sums)
    np.testing.assert_array_equal(again, most)


@pytest.mark.parametrize("width", [2, 20, 70])
def test_rows_combined_in_order(program: soac.Program, width: int) -> None:
    at = places(11, LEAST_CHUNK)
    xs = np.random.default_rng(6).integers(-2, 3, (LEAST_CHUNK, width)).astype(np.int32)
    last = np.zeros((11, width), np.int32)
    for k, row in zip(at.tolist(), xs, strict=True):
        if 0 <= k < 11:
            last[k] = np.where(row == 0, last[k], row)
    np.testing.assert_array_equal(call(program, "vectors_last", 11, at, xs)[0], last)


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (5, 70), (0, 3), (3, 0)])
def test_rows_of_more_dimensions(program: soac.Program, shape: tuple[int, int]) -> None:
    at = places(13, 40_000)
    xs = np.random.default_rng(7).integers(-9, 9, (40_000 // max(1, shape[1]), *shape)).astype(np.int32)
    at, want = at[: len(xs)], np.zeros((13, *shape), np.int32)
    inside = (at >= 0) & (at < 13)
    np.add.at(want, at[inside], xs[inside])
    np.testing.assert_array_equal(call(program, "matrices", 13, at, xs)[0], want)


@pytest.mark.parametrize("rows", [1, 3, 70])
def test_a_histogram_of_vectors_for_each_row(program: soac.Program, rows: int) -> None:
    at = places(6, rows * 500).reshape(rows, 500)
    xs = np.random.default_rng(8).integers(-9, 9, (rows, 500, 3)).astype(np.int32)
    want = np.zeros((rows, 6, 3), np.int32)
    for k in range(rows):
        inside = (at[k] >= 0) & (at[k] < 6)
        np.add.at(want[k], at[k][inside], xs[k][inside])
    np.testing.assert_array_equal(call(program, "rows_of_vectors", 6, at, xs)[0], want)


def test_an_operator_that_reads_other_elements_is_not_by_element(program: soac.Program) -> None:
    at, xs = np.array([1, 1, 0]), np.array([[1, 2, 3], [10, 20, 30], [5, 6, 7]], np.int32)
    want = [[5, 6, 7], [11, 21, 33]]
    np.testing.assert_array_equal(call(program, "neighbours", 2, at, xs)[0], np.array(want, np.int32))


def test_floats_do_not_depend_on_the_threads(program: soac.Program) -> None:
    source = np.random.default_rng(4)
    for bins in (3, 5000):
        call(program, "sums", bins, places(bins, 5 * LEAST_CHUNK), source.random(5 * LEAST_CHUNK, np.float32))


@pytest.mark.parametrize(("index", "rows", "segments"), [("i", "n", 1), ("i", "k", 0), ("n - 1 - i", "n", 0)])
def test_segments_are_the_rows_of_the_histogram(index: str, rows: str, segments: int) -> None:
    """Of an index over more of them some are out of range."""
    text = f"""entry main [n][m] (k: i64) (bs: [n][m]i64): [{rows}][4]i32 =
      let at i b = ({index}, b)
      let dest = replicate {rows} (replicate 4 0)
      in reduce_by_index_2d dest (+) 0 (flatten (map2 (\\i -> map (at i)) (iota n) bs)) (replicate (n * m) 1)"""
    made = compile_core(compile_text(text, "main.soac"), Mode.INCREMENTAL, CPU)
    (main,) = made.flat.functions
    (hist,) = (exp for exp in all_exps(main.body) if isinstance(exp, SegHist))
    host: Any = SimpleNamespace(types={p.name: p.type for stm in main.body.stms for p in stm.pat})
    assert fixed_dims(host, hist) == segments
