"""A few long sums over columns: all of them in one pass, on sizes around the tiles, chunks and limits."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.version_tree import sites
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.schedule.cpu.split_k import LEAST_LENGTH, MOST_RESULTS, TILE

PROGRAM = """
entry product [n][p][m] (xss: [n][p]i32) (yss: [p][m]i32): [n][m]i32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
entry floats [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
entry batch [b][n][p][m] (xsss: [b][n][p]i64) (ysss: [b][p][m]i64): [b][n][m]i64 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys -> i64.sum (map2 (*) xs ys)) (transpose yss)) xss) xsss ysss
entry columns [p][m] (yss: [p][m]i32): [m]i32 = map i32.sum (transpose yss)
entry farthest [n][p][m] (xss: [n][p]i32) (yss: [p][m]i32): [n][m]i32 =
  map (\\xs -> map (\\ys -> i32.maximum (map2 (\\x y -> i32.abs (x - y)) xs ys)) (transpose yss)) xss
entry both [n][p] (xss: [p][n]i32) (yss: [p][n]i32): ([n]i32, [n]i32) =
  unzip (map2 (\\xs ys -> (i32.sum (map2 (*) xs ys), i32.minimum xs)) (transpose xss) (transpose yss))
entry composed [p][m] (xss: [p][m]i32) (yss: [p][m]i32): [m](i32, i32) =
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in map2 (\\xs ys -> reduce compose (1, 0) (zip xs ys)) (transpose xss) (transpose yss)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def call(program: soac.Program, entry: str, *args: np.ndarray) -> list:
    """The results, the same bits on both versions of one loop nest and for any number of threads."""
    names = [site.name for site in sites(program.compiled.flat) if site.entry == entry]
    forms = [(dict.fromkeys(names, outer), threads) for outer in (True, False) for threads in (1, 2)]
    results = [program.call(entry, list(args), forced=forced, threads=threads) for forced, threads in forms]
    for found in results[1:]:
        for one, two in zip(results[0], found, strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=2e-3)
    for pair in (results[:2], results[2:]):
        assert all(one.tobytes() == two.tobytes() for one, two in zip(*pair, strict=True))
    return results[0]


def integers(seed: int, *shape: int, dtype: type = np.int32) -> np.ndarray:
    return np.random.default_rng(seed).integers(-99, 99, shape).astype(dtype)


LENGTHS = [LEAST_LENGTH - 1, LEAST_LENGTH, 3 * TILE + 1, (1 << 16) + TILE + 5]


@pytest.mark.parametrize("entry", ["product", "floats", "batch", "columns", "farthest", "both"])
def test_there_are_panels(program: soac.Program, entry: str) -> None:
    narrow = [k for k in program.compiled.host.kernels if k.name.startswith(f"{entry}_") and "narrow" in k.name]
    shared = [[s.array.name for s in kernel.body if isinstance(s, kir.Alloc)] for kernel in narrow]
    assert shared
    assert all(any("panel" in name for name in names) for names in shared)


@pytest.mark.parametrize("p", LENGTHS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 5), (7, 1), (3, 2), (8, MOST_RESULTS // 8), (9, 8), (0, 3), (2, 0)])
def test_products(program: soac.Program, n: int, m: int, p: int) -> None:
    xss, yss = integers(1, n, p), integers(2, p, m)
    np.testing.assert_array_equal(call(program, "product", xss, yss)[0], xss @ yss)
    most = np.abs(xss[:, :, None] - yss).max(1, initial=-(2**31)) if n * m < 30 else None
    if most is not None:
        np.testing.assert_array_equal(call(program, "farthest", xss, yss)[0], most)


@pytest.mark.parametrize("p", LENGTHS)
def test_floats(program: soac.Program, p: int) -> None:
    source = np.random.default_rng(3)
    xss, yss = source.random((4, p), np.float32) - 0.5, source.random((p, 3), np.float32) - 0.5
    want = xss.astype(np.float64) @ yss.astype(np.float64)
    np.testing.assert_allclose(call(program, "floats", xss, yss)[0], want, rtol=0, atol=2e-3)


@pytest.mark.parametrize("p", LENGTHS)
def test_other_nests(program: soac.Program, p: int) -> None:
    xsss, ysss = integers(4, 3, 2, p, dtype=np.int64), integers(5, 3, p, 4, dtype=np.int64)
    np.testing.assert_array_equal(call(program, "batch", xsss, ysss)[0], xsss @ ysss)
    yss, zss = integers(6, p, 6), integers(7, p, 6)
    np.testing.assert_array_equal(call(program, "columns", yss)[0], yss.sum(0))
    sums, least = call(program, "both", yss, zss)
    np.testing.assert_array_equal(sums, (yss * zss).sum(0))
    np.testing.assert_array_equal(least, yss.min(0))


def test_the_order_of_a_reduction_stays(program: soac.Program) -> None:
    p = (1 << 16) + 99
    xss, yss = integers(8, p, 3) | 1, integers(9, p, 3)  # odd: no product forgets what was before
    a, b = np.ones(3, np.int32), np.zeros(3, np.int32)
    with np.errstate(over="ignore"):
        for xs, ys in zip(xss, yss, strict=True):
            a, b = a * xs, b * xs + ys
    found = call(program, "composed", xss, yss)
    np.testing.assert_array_equal(found[0], a)
    np.testing.assert_array_equal(found[1], b)
