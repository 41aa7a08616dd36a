"""Histograms of a GPU: how often points are read, and bins on both sides of what a block has room for."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.schedule.cuda.seghist import ATOMIC
from soac.pipeline import compile_prog
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

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
