"""Scans of columns: what each column gives, for all sizes, types and numbers of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import soac

PROGRAM = """
entry sums [n][m] (x: [n][m]t): [n][m]t = transpose (map (scan (+) 0) (transpose x))
entry greatest [n][m] (x: [n][m]t): [n][m]t = transpose (map (scan t.max t.lowest) (transpose x))
entry batch [n][m] (x: [n][m]t): [2][n][m]t =
  map (\\y -> transpose (map (scan (+) 0) (transpose y))) [x, map (map (+ 1)) x]
entry scaled [n][m] (x: [n][m]t): [n][m]t =
  transpose (map2 (\\c k -> scan (+) 0 (map (* t.i64 k) c)) (transpose x) (iota m))
"""
TYPES = {"i8": np.int8, "f16": np.float16, "f32": np.float32, "i64": np.int64}
Array = NDArray[Any]
SIZES = [(0, 300), (12, 0), (1, 300), (11, 24_000), (12, 21_900), (13, 20_300), (1_100, 257), (4_100, 65), (512, 512)]


def wanted(entry: str, x: Array) -> Array:
    match entry:
        case "sums":
            return np.cumsum(x, 0, x.dtype)
        case "greatest":
            return np.fmax.accumulate(x, 0) if len(x) else x
        case "batch":
            return np.stack([np.cumsum(y, 0, x.dtype) for y in (x, x + x.dtype.type(1))])
        case _:
            return np.cumsum(x * np.arange(x.shape[1]).astype(x.dtype), 0, x.dtype)


@pytest.mark.parametrize("name", TYPES)
def test_columns_are_scanned_in_order(name: str) -> None:
    text = PROGRAM.replace("]t", f"]{name}").replace("t.", f"{name}.").replace(f"scan{name}", "scan")
    program, random = soac.compile(text), np.random.default_rng(0)
    for entry in ("sums", "greatest", "batch", "scaled"):
        for threads in (1, 2):
            run = program.prepare(entry, threads=threads)
            for n, m in SIZES:
                x = random.integers(-3, 3, (n, m)).astype(TYPES[name])
                if x.dtype.kind == "f" and entry == "sums" and n > 2:
                    x[n // 2, m // 2 : m // 2 + 3] = np.nan
                    x[1:, m - 1 :] = -0.0
                with np.errstate(all="ignore"):
                    np.testing.assert_array_equal(run((x,))[-1], wanted(entry, x), err_msg=f"{entry} {n} x {m}")
