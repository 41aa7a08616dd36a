"""Segops of all kinds, and arguments around the sizes at which a GPU's schedules change."""

from __future__ import annotations

from functools import cache

import numpy as np

from soac.ir.machine import CUDA, Mode
from soac.pipeline import Compiled, compile_prog

Args = list[np.ndarray | np.generic]

SOURCE = """
entry sum [n] (xs: [n]f32): f32 = f32.sum xs

entry sums [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss

entry affine [n][m] (xss: [n][m]i32): ([n]i32, [n]i32) =
  unzip (map (\\xs -> reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x * 2 + 1, x)) xs)) xss)

entry doubled_sums [n][m] (xss: [n][m]i32): ([n]i32, [n][m]i32) =
  unzip (map (\\xs -> let ys = map (* 2) xs in (i32.sum ys, ys)) xss)

entry row_sum [n][m] (xss: [n][m]i32): [m]i32 = reduce (map2 (+)) (replicate m 0) xss

entry prefixes [n] (xs: [n]i32): [n]i32 = scan (+) 0 (map (\\x -> x * 2 + 1) xs)

entry means [n] (xs: [n]f32): [n]f32 = map2 (/) (scan (+) 0 xs) (map (\\i -> f32.i64 (i + 1)) (iota n))

entry affines [n][m] (xss: [n][m]i32): ([n][m]i32, [n][m]i32) =
  unzip (map (\\xs -> unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x * 2 + 1, x)) xs))) xss)

entry doubled_prefixes [n][m] (xss: [n][m]i32): ([n][m]i32, [n][m]i32) =
  unzip (map (\\xs -> let ys = map (* 2) xs in (scan (+) 0 ys, ys)) xss)

entry counts [n] (k: i64) (is: [n]i32) (xs: [n]i32): []i32 =
  reduce_by_index (replicate k 5) (+) 0 (map i64.i32 is) xs

entry greatest [n] (k: i64) (is: [n]i32) (xs: [n]i32): []i16 =
  reduce_by_index (replicate k 0) i16.max i16.lowest (map i64.i32 is) (map i16.i32 xs)

entry weights [n] (k: i64) (is: [n]i32) (xs: [n]i32): []f32 =
  reduce_by_index (replicate k 0.5) (+) 0 (map i64.i32 is) (map (\\x -> f32.i32 x / 3) xs)

entry first_of_greatest [n] (k: i64) (is: [n]i32) (xs: [n]i32): ([]i32, []i64) =
  unzip (reduce_by_index (replicate k (1, 0))
                         (\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j))
                         (i32.lowest, 1000000) (map i64.i32 is) (zip xs (iota n)))

entry lines [n] (a: f32) (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (\\x y -> a * x + y) xs ys

entry later [n] (xs: [n]f64) (i: i64): []f64 = map (\\x -> x + 1) xs[i:]

entry doubled [n][m] (xss: [n][m]i32): [n][m]i32 = map (map (* 2)) xss

entry counts_of_rows [n][m] (iss: [n][m]i32): [n][4]i32 =
  map (\\is -> reduce_by_index (replicate 4 0) (+) 0 (map i64.i32 is) (map (\\_ -> 1) is)) iss
"""

LENGTHS = (0, 1, 31, 32, 33, 255, 256, 257, 700)
LONG = (513, 5000, 9000)  # several blocks, several tiles
SHAPES = ((0, 3), (3, 0), (1, 1), (7, 3), (5, 33), (300, 2), (2, 600))
BINS = ((1, 0), (0, 5), (3, 1), (5, 33), (10, 300), (1100, 700), (5000, 300))


@cache
def compiled() -> Compiled:
    return compile_prog(SOURCE, "schedules.fut", Mode.INCREMENTAL, CUDA, checked=True)


def ints(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-50, 50, shape).astype(np.int32)


def floats(n: int) -> np.ndarray:
    """Their sums are exact in any order."""
    return ints(n).astype(np.float32)


def keyed(bins: int, count: int) -> Args:
    source = np.random.default_rng(bins + count)
    keys = source.integers(-1, bins + 1, count).astype(np.int32)
    return [np.int64(bins), keys, source.integers(-9, 9, count).astype(np.int32)]


def same(found: object, wanted: object, text: str = "") -> None:
    """Within what the order of a float sum may change."""
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted, np.float64), 1e-5, 1e-6, err_msg=text)


def arguments() -> dict[str, list[Args]]:
    """For each entry, the arguments of its calls."""
    matrices: list[Args] = [[ints(*shape)] for shape in SHAPES]
    calls: dict[str, list[Args]] = {
        "sum": [[floats(n)] for n in (*LENGTHS, *LONG)],
        "prefixes": [[ints(n)] for n in (*LENGTHS, *LONG)],
        "means": [[floats(n)] for n in (33, 5000)],
        "counts_of_rows": [[ints(*shape) % 5 - 1] for shape in SHAPES],
    }
    calls["lines"] = [[np.float32(2), floats(n), floats(n)] for n in (*LENGTHS, 1023, 1024, 2500)]
    calls["later"] = [[floats(n).astype(np.float64), np.int64(k)] for n, k in ((512, 0), (513, 1), (700, 2), (1300, 3))]
    calls["doubled"] = matrices
    calls |= {name: [keyed(k, n) for k, n in BINS] for name in ("counts", "greatest", "weights", "first_of_greatest")}
    rows = ("sums", "affine", "doubled_sums", "row_sum", "affines", "doubled_prefixes")
    calls["counts"] = [*calls["counts"], keyed(40000, 3000)]
    return calls | {name: [*matrices, [ints(2, 4100)]] for name in rows}
