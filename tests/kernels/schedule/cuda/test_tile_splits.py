"""Split-K: tiles of few results whose redomaps are cut into shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soac.flatten.tiling import choose
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.schedule.cuda import tile_splits
from soac.pipeline import compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SOURCE = """
entry product [n][p][m] (xss: [n][p]i32) (yss: [p][m]i32): [n][m]i32 =
  map (\\xs -> map (\\ys -> 1 + 2 * reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
entry batched [b][n][p][m] (xsss: [b][n][p]f32) (ysss: [b][p][m]f32): [b][n][m]f32 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss) xsss ysss
"""
SHARE = 20
"""Least elements of a share, in these tests."""


@pytest.fixture(scope="module")
def program() -> Any:
    """With short shares, and few blocks enough, so that small matrices are cut."""
    if COMPILER is None:
        pytest.skip("no C++ compiler: CUDA C cannot be emulated")
    with pytest.MonkeyPatch.context() as patch:
        for module in (choose, tile_splits):
            patch.setattr(module, "LEAST_SHARE", SHARE)
            patch.setattr(module, "LEAST_BLOCKS", 6)
        patch.setattr(tile_splits, "MOST_BLOCKS", 12)
        return compile_prog(SOURCE, "split.soac", machine=CUDA)


def test_shares_make_a_product(program: Any) -> None:
    """Around the edges of tiles and shares, and in several matrices; the blocks of a launch are tiles times shares."""
    driver, rng = EmulatedDriver(), np.random.default_rng(1)
    made = CudaExecutable.build(program.host, program.core.functions, emulated_gpu(driver))
    (forced,) = (one for one in runs_of(program.flat, "product") if all(one.values()))
    for n, p, m, blocks in ((64, 64, 65, 2 * 2), (65, 259, 1, 2 * 6), (1, 500, 63, 11)):
        xss, yss = rng.integers(-9, 9, (n, p), np.int32), rng.integers(-9, 9, (p, m), np.int32)
        driver.launched.clear()
        (found,), _ = made.run("product", [xss, yss], forced=forced)
        assert np.array_equal(found.numpy(), 1 + 2 * (xss @ yss))
        assert blocks in [one.grid for one in driver.launched]
    xsss, ysss = rng.random((2, 3, 150), np.float32), rng.random((2, 150, 70), np.float32)
    (forced,) = (one for one in runs_of(program.flat, "batched") if all(one.values()))
    (found,), _ = made.run("batched", [xsss, ysss], forced=forced)
    assert np.allclose(found.numpy(), xsss @ ysss, rtol=1e-5)
