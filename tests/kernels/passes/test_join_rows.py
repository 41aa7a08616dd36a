"""Maps over points that lie side by side have one loop over these; others keep their rows."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import For, Kernel, Threads
from soac.kernels.kernel_ir.traverse import statements

AS_THEY_LIE = (
    "entry f [n][m] (a: f32) (xss: [n][m]f32) = map (map (* a)) xss",
    "entry f [n][m][k] (xs: [n][m][k]u8) (ys: [n][m][k]u8) = map2 (map2 (map2 (\\x y -> x - y / 2))) xs ys",
    "entry f [n][m] (xss: [n][m]i32) = tabulate_2d n m (\\i j -> xss[i, j] + 1)",
    "entry f [n][m] (xss: [n][m][2]f32) = map (map (\\p -> p[0] * p[1])) xss",
    "entry f [n][m][k] (ws: [n]f32) (xs: [n][m][k]f32) = map2 (\\w -> map (map (* w))) ws xs",
    "entry f [n][m] (xss: [n][m]f32) (k: i64) = map (map (+ 1)) xss[k:]",
)
OTHERWISE = (
    "entry f [n][m] (xss: [n][m]f32) (ws: [m]f32) = map (map2 (*) ws) xss",
    "entry f [n][m] (xss: [n][m]f32) (ws: [n]f32) = map2 (\\xs w -> map (* w) xs) xss ws",
    "entry f [n][m] (xss: [n][m]f32) = map (map (+ 1)) (transpose xss)",
    "entry f [n][m] (xss: [n][m]i64) = tabulate_2d n m (\\i j -> xss[i, j] + j)",
    "entry f [n][m] (xss: [n][m]f32) (k: i64) = map (map (+ 1)) xss[:, k:]",
)


def kernels_of(text: str) -> tuple[Kernel, ...]:
    return soac.compile(text).compiled.host.kernels


def goes_by_points(kernel: Kernel) -> bool:
    loops = [stm for stm in statements(kernel.body) if isinstance(stm, For | Threads)]
    return [loop.index.name.startswith("point_") for loop in loops] == [True]


@pytest.mark.parametrize("text", AS_THEY_LIE)
def test_points_as_they_lie(text: str) -> None:
    (kernel,) = kernels_of(text)
    assert goes_by_points(kernel)


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_goes_another_way_stays(text: str) -> None:
    assert not any(map(goes_by_points, kernels_of(text)))


SIZES = """
entry swapped [n][m] (xs: [n][m][3]i16): [n][m][3]i16 = map (map (\\p -> [p[2], p[1], p[0] + 1])) xs
entry halves [k][n][m] (xs: [k][n][m]f32): [k][n][m]f32 = map (\\x -> loop y = x for _i < 3 do map (map (* 0.5)) y) xs
entry weighed [k][n][m] (ws: [k]i64) (xs: [k][n][m]i64): [k][n][m]i64 = map2 (\\w -> map (map (* w))) ws xs
"""


@pytest.mark.parametrize("m", [0, 1, 3, 17])
def test_sizes(m: int) -> None:
    program = soac.compile(SIZES)
    for k, n in ((0, 4), (1, 1), (3, 5), (70, 2)):
        xs = np.random.default_rng(m).integers(-99, 99, (k, n, m))
        pixels = np.stack([xs[0] if k else np.zeros((n, m))] * 3, axis=2).astype(np.int16)
        np.testing.assert_array_equal(program.swapped(pixels), pixels[:, :, ::-1] + np.array([0, 0, 1], np.int16))
        np.testing.assert_array_equal(program.halves(xs.astype(np.float32)), xs / np.float32(8))
        np.testing.assert_array_equal(program.weighed(np.arange(k), xs), np.arange(k)[:, None, None] * xs)
