"""Scans with the maps and reductions that read them: which are one kernel, and what they give at all sizes, on one
thread and two."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.pipeline import compile_core

SOURCE = """
entry shifted [n] (first: i64) (xs: [n]i32): [n]i64 = map (+ first) (scan (+) 0 (map i64.i32 xs))
entry both [n] (xs: [n]i32): ([n]i32, [n]f64) = let s = scan (+) 0 xs in (s, map (\\x -> f64.sqrt (f64.i32 (x * x))) s)
entry beside [n] (xs: [n]i32): [n]i32 =
  let (ss, ds) = unzip (map (\\x -> (x, 2 * x)) xs) in map3 (\\s d x -> s + d * x) (scan i32.max i32.lowest ss) ds xs
entry pairs [n] (xs: [n]i32): ([n]i32, [n]bool) =
  unzip (map (\\(a, b) -> (a - b, a > b)) (scan (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) (zip xs xs)))
entry rows [n] (xs: [n]i32): [][]i32 =
  #[flattening(only_inner)] map (\\k -> map (* 3) (scan (+) 0 (map (+ k) xs))) (0i32..<8)
entry read_later [n] (xs: [n]i32): ([n]i32, i32) =
  let s = scan (+) 0 xs in (map (+ 1) s, i32.sum (map (\\x -> x * x) s))
entry largest [n] (xs: [n]i32): (i32, i32) = let s = scan (+) 0 xs in (i32.maximum s, i32.minimum s)
entry rise [n] (xs: [n]i32): i32 = i32.maximum (map2 (-) xs (scan i32.min i32.highest xs))
entry kept [n] (xs: [n]i32): ([n]i32, i32) = let s = scan (+) 0 xs in (s, i32.sum (map2 (*) xs s))
entry first_most [n] (xs: [n]i32): (i32, i64) =
  reduce_comm (\\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i) else (y, j)) (i32.lowest, n)
              (zip (scan (+) 0 xs) (iota n))
entry floats [n] (xs: [n]f32): f32 = f32.sum (map f32.abs (scan (+) 0 xs))
"""
SIZES = (0, 1, 17, 1001, 65537, 200_000)


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE, "scans.soac")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", SIZES)
def test_what_is_given(program: soac.Program, n: int, threads: int) -> None:
    xs = np.random.default_rng(n).integers(-5, 6, n).astype(np.int32)
    sums, most = np.cumsum(xs, dtype=np.int32), np.maximum.accumulate(xs)
    rows = [3 * np.cumsum(xs + np.int32(k), dtype=np.int32) for k in range(8)]
    expected = {
        "shifted": [sums.astype(np.int64) + 7], "both": [sums, np.abs(sums).astype(np.float64)],
        "beside": [most + 2 * xs * xs], "pairs": [sums - most, sums > most], "rows": [np.array(rows)],
        "read_later": [sums + 1, np.sum(sums * sums, dtype=np.int32)],
        "largest": [sums.max(initial=-(2**31)), sums.min(initial=2**31 - 1)],
        "rise": [(xs - np.minimum.accumulate(xs)).max(initial=-(2**31))],
        "kept": [sums, np.sum(xs * sums, dtype=np.int32)],
        "first_most": [sums.max(initial=-(2**31)), sums.argmax() if n else 0],
    }  # fmt: skip
    for entry, results in expected.items():
        found = program.call(entry, [np.int64(7), xs] if entry == "shifted" else [xs], threads=threads)
        for one, other in zip(found, results, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [2000, 200_000])
def test_bits_do_not_depend_on_threads(program: soac.Program, n: int) -> None:
    xs = np.random.default_rng(n).standard_normal(n, np.float32)
    (one,), *others = (program.call("floats", [xs], threads=threads) for threads in (1, 2, 2, 3))
    np.testing.assert_allclose(one, np.abs(np.cumsum(xs, dtype=np.float64)).sum(), rtol=1e-3)
    assert all(other == one for (other,) in others)


@pytest.mark.parametrize(
    "body, kernels",
    [
        ("map (+ 1) (scan (+) 0 xs)", 1),
        ("map2 (\\s x -> s * x) (scan (+) 0 xs) (reverse xs)", 1),
        ("map2 (-) xs (exscan (+) 0 (map (* 2) xs))", 1),
        ("map (10 /) (scan (+) 0 xs)", 2),
        ("map (\\k -> xs[i64.i32 k]) (scan i32.max 0 xs)", 1),
        ("map2 (\\k x -> if k < 0 then x else xs[i64.i32 k]) (scan i32.max (-1) (map (+ 1) xs)) xs", 1),
        ("map (\\k -> xs[i64.i32 k]) (scan i32.max 0 (map (10 /) xs))", 2),
        ("let s = scan (+) 0 xs in map (\\i -> s[n - 1 - i] + 1) (iota n)", 2),
        ("let s = scan (+) 0 xs in let t = i32.sum xs in map (/ 2) (map (* t) s)", 3),
    ],
)
def test_what_is_one_kernel(body: str, kernels: int) -> None:
    prog = compile_text(f"entry main [n] (xs: [n]i32): [n]i32 = {body}", "main.soac")
    assert len(compile_core(prog, Mode.INCREMENTAL, CPU).host.kernels) == kernels


def test_a_reduction_is_two_kernels_with_its_scan() -> None:
    """The second one combines the parts of chunks."""
    prog = compile_text("entry main [n] (xs: [n]f32): f32 = f32.maximum (scan (+) 0 xs)", "main.soac")
    assert len(compile_core(prog, Mode.INCREMENTAL, CPU).host.kernels) == 2


def test_a_scan_comes_before_what_overwrites_its_elements() -> None:
    program = soac.compile("""
      entry main [n] (xs: *[n]i32): ([n]i32, [n]i32) =
        let sums = scan (+) 0 xs
        let xs[0] = 100
        in (map (* xs[0]) sums, xs)
    """)
    sums, xs = program.main(np.arange(1, 40, dtype=np.int32))
    np.testing.assert_array_equal(sums, 100 * np.cumsum(np.arange(1, 40)))
    np.testing.assert_array_equal(xs, [100, *range(2, 40)])


def test_rows_of_a_scan_that_are_read_rearranged_have_their_memory() -> None:
    """Though nothing reads the flags."""
    program = soac.compile("""
      entry main [m][n] (flags: [m][n]bool) (xs: [m][n]i32): [n][m]i32 =
        let op (f, x) (g, y) = (f || g, if g then y else x + y)
        in transpose (map2 (\\fs ys -> map (.1) (scan op (false, 0) (zip fs ys))) flags xs)
    """)
    random = np.random.default_rng(1)
    flags, xs = random.random((70, 9)) < 0.3, random.integers(0, 9, (70, 9)).astype(np.int32)
    expected = xs.copy()
    for j in range(1, 9):
        expected[:, j] += np.where(flags[:, j], 0, expected[:, j - 1])
    np.testing.assert_array_equal(program.main(flags, xs), expected.T)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [40, 200_000])
def test_an_element_that_is_looked_up_by_a_scan_may_be_missing(n: int, threads: int) -> None:
    program = soac.compile(
        "entry main [n] (xs: [n]i64): [n]i64 = map (\\k -> xs[k] + 1) (scan i64.max 0 xs)", "up.soac"
    )
    xs = np.random.default_rng(n).integers(-5, n, n)
    (found,) = program.call("main", [xs], threads=threads)
    np.testing.assert_array_equal(found, xs[np.maximum.accumulate(np.maximum(xs, 0))] + 1)
    xs[n // 2] = n
    with pytest.raises(soac.SoacError, match=rf"index \[{n}\] out of bounds for array of shape \[{n}\]"):
        program.call("main", [xs], threads=threads)
