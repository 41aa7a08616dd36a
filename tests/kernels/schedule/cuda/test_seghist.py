"""Histograms of a GPU: how often points are read, and bins on both sides of what a block has room for."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.schedule.cuda.seghist import ATOMIC, SHARED, WARPS
from soac.pipeline import compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SUMS = "entry main [n] (h: i64) (keys: [n]i64) (xs: [n]f32): [h]f32 = hist (+) 0 h keys xs"
COUNTS = "entry main [n] (h: i64) (keys: [n]i64): [h]i32 = hist (+) 0i32 h keys (map (\\k -> i32.i64 k | 1) keys)"
MOST = ATOMIC // 4


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
def test_points_are_read_by_one_block_however_many_bins_there_are() -> None:
    """A block for each chunk of 4,096 points, not for each range of bins; keys outside are left out."""
    compiled = compile_prog(COUNTS, "counts.soac", machine=CUDA)
    driver = EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    keys = np.random.default_rng(0).integers(-2, 3 * MOST, 5000)
    for bins in (0, 1, MOST - 1, MOST, MOST + 1, 3 * MOST):
        driver.launched.clear()
        (found,), _ = program.run("main", [np.int64(bins), keys])
        wanted = np.zeros(bins, np.int32)
        inside = keys[(keys >= 0) & (keys < bins)]
        np.add.at(wanted, inside, inside.astype(np.int32) | 1)
        assert np.array_equal(found.numpy(), wanted)
        grids = [one.grid for one in driver.launched if one.name in program.device.kernels]
        assert grids[-1:] <= [-(-5000 // 4096)]


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
def test_points_of_sums_of_floats_are_read_once_too() -> None:
    """One block for 4,096 points, whether a warp's bins are in shared or in global memory."""
    compiled, most = compile_prog(SUMS, "sums.soac", machine=CUDA), SHARED // WARPS // 4
    driver = EmulatedDriver()
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    source = np.random.default_rng(0)
    keys, xs = source.integers(-2, 3 * most, 5000), source.integers(-99, 99, 5000).astype(np.float32)
    for bins in (0, 1, most - 1, most, most + 1, 3 * most):
        driver.launched.clear()
        (found,), _ = program.run("main", [np.int64(bins), keys, xs])
        wanted = np.zeros(bins, np.float32)
        inside = (keys >= 0) & (keys < bins)
        np.add.at(wanted, keys[inside], xs[inside])
        assert np.array_equal(found.numpy(), wanted)
        grids = [one.grid for one in driver.launched if one.name in program.device.kernels]
        assert not bins or grids[-2:] == [-(-5000 // 4096), -(-bins // 256)]


SEVERAL = """
entry ends [n] (k: i64) (is: [n]i64) (js: [n]i64): [k]i32 = hist (+) 0 k (is ++ js) (replicate (n + n) 1)
entry corners [n] (k: i64) (is: [n]i64) (xs: [n]f64): [k]f64 =
  let (js, ys) = unzip (flatten (map2 (\\i x -> [(i, x), (i + 1, x * 2), (i - 2, 1)]) is xs))
  in hist (+) 0 k js ys
entry bounds [n] (k: i64) (is: [n]i64) (xs: [n]i32): ([k]i64, [k]i32, [k]i32) =
  (hist (+) 0 k is (replicate n 1), hist i32.min i32.highest k is xs, hist i32.max i32.lowest k is xs)
entry stats [n] (k: i64) (is: [n]i64) (xs: [n]f64): ([k]i32, [k]f64, [k]f64, [k]f64) =
  (hist (+) 0 k is (replicate n 1), hist f64.min f64.inf k is xs, hist (+) 0 k is xs, hist f64.max (-f64.inf) k is xs)
"""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("bins", [1, 100, 3 * MOST])
def test_several_updates_and_several_operations(bins: int) -> None:
    """Exact ones are atomic, all at once; extrema of floats are, apart from sums; the others have their turns."""
    program = CudaExecutable.build(
        (compiled := compile_prog(SEVERAL, "several.soac", machine=CUDA)).host,
        compiled.core.functions, emulated_gpu(EmulatedDriver()), 64,
    )  # fmt: skip
    source = np.random.default_rng(0)
    is_, js = (source.integers(-2, bins + 2, 5000) for _ in range(2))
    xs = source.integers(-99, 99, 5000)

    def wanted(op: np.ufunc, ne: float, at: np.ndarray, values: np.ndarray | int) -> np.ndarray:
        result, inside = np.full(bins, ne, np.float64), (at >= 0) & (at < bins)
        op.at(result, at[inside], np.broadcast_to(values, at.shape)[inside])
        return result

    def check(entry: str, args: list[np.ndarray], *results: np.ndarray) -> None:
        found, _ = program.run(entry, [np.int64(bins), *args])
        for got, want in zip(found, results, strict=True):
            np.testing.assert_array_equal(got.numpy(), want.astype(got.numpy().dtype))

    both, floats = np.append(is_, js), xs.astype(np.float64)
    count, total = wanted(np.add, 0, is_, 1), wanted(np.add, 0, is_, floats)
    check("ends", [is_, js], wanted(np.add, 0, both, 1))
    around, given = np.stack([is_, is_ + 1, is_ - 2], 1), np.stack([floats, floats * 2, np.ones(5000)], 1)
    check("corners", [is_, floats], wanted(np.add, 0, around.reshape(-1), given.reshape(-1)))
    ends = [(np.minimum, 2**31 - 1), (np.maximum, -(2**31))]
    check("bounds", [is_, xs.astype(np.int32)], count, *(wanted(op, ne, is_, xs) for op, ne in ends))
    least, most = wanted(np.minimum, np.inf, is_, floats), wanted(np.maximum, -np.inf, is_, floats)
    check("stats", [is_, floats], count, least, total, most)
