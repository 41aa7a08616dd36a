"""Rows of 4 or 8 small elements, read and written by way of pieces: NumPy's values, for lanes of each width."""

from __future__ import annotations

import numpy as np
import pytest

import soac

TEXT = """
entry columns [n] (xs: [n][N]T): [N][n]T = transpose (map (\\x -> map (\\y -> y + y) x) xs)
entry rows [n] (xs: [N][n]T): [n][N]T = transpose (map (map (+ 1)) xs)
entry turned [n] (xs: [n][N]T): [n][N]T = map (\\x -> tabulate N (\\k -> x[N - 1 - k] ^ 3)) xs
entry weighed [n] (xs: [n][N]T): [n]f32 = map (\\x -> f32.sum (tabulate N (\\k -> f32.T x[k] * f32.i64 (k + 1)))) xs
entry spread [n] (xs: [n]f64): [n][N]T = map (\\x -> tabulate N (\\k -> T.f64 x + T.i64 k)) xs
"""


@pytest.mark.parametrize("count", [4, 8])
@pytest.mark.parametrize("prim", ["u8", "i16"])
def test_rows_and_columns(prim: str, count: int) -> None:
    prog = soac.compile(TEXT.replace("N", str(count)).replace("T", prim))
    dtype = np.dtype(f"{prim[0]}{int(prim[1:]) // 8}")
    for n in (0, 1, 7, 64, 65, 300):
        xs = (np.arange(n * count) * 37 % 100).astype(dtype).reshape(n, count)
        np.testing.assert_array_equal(prog.columns(xs), xs.T + xs.T)
        np.testing.assert_array_equal(prog.rows(xs.T.copy()), xs + 1)
        np.testing.assert_array_equal(prog.turned(xs), xs[:, ::-1] ^ 3)
        np.testing.assert_allclose(prog.weighed(xs), xs.astype(np.float32) @ np.arange(1, count + 1, dtype=np.float32))
        ys = xs[:, 0].astype(np.float64)
        np.testing.assert_array_equal(prog.spread(ys), xs[:, :1] + np.arange(count).astype(dtype))


def test_bits_of_bytes() -> None:
    prog = soac.compile("""
entry pack [n] (xs: [n]bool): []u8 =
  tabulate (n / 8) (\\i -> reduce (|) 0 (tabulate 8 (\\k -> u8.bool xs[8 * i + k] << u8.i64 k)))
entry unpack [n] (xs: [n]u8): [n][8]bool = map (\\x -> tabulate 8 (\\k -> (x >> u8.i64 k) & 1 == 1)) xs
""")
    for n in (0, 1, 63, 64, 65, 300):
        xs = (np.arange(n) * 77 % 256).astype(np.uint8)
        bits = np.unpackbits(xs, bitorder="little").astype(np.bool_)
        np.testing.assert_array_equal(prog.unpack(xs).ravel(), bits)
        np.testing.assert_array_equal(prog.pack(bits), xs)
