"""Tiled programs on the CPU device: blocks that copy rows to memory of their own (any machine's levels run there)."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.tiling.choose import REGISTERS
from soac.ir.machine import CPU, CUDA
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import compile_prog

PROGRAM = """
entry matmul [n][m][p] (xss: [n][p]f32) (yss: [p][m]f32) : [n][m]f32 =
  let zss = map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss in zss
entry sums [n] (xs: [n]i64) : [n]i64 =
  let zs = map (\\x -> i64.sum (map (\\y -> i64.abs (y - x)) xs)) xs in zs
"""


@pytest.fixture(scope="module")
def program() -> Executable:
    compiled = compile_prog(PROGRAM, "tiles.soac", machine=CUDA, checked=True, schedules=CPU)
    return Executable.build(compiled.host, compiled.core.functions)


@pytest.mark.parametrize(("n", "p", "m"), [(1, 1, 1), (33, 65, 40), (0, 4, 3), (3, 0, 5), (70, 31, 2)])
@pytest.mark.parametrize("registers", REGISTERS)
def test_two_dimensions(program: Executable, n: int, p: int, m: int, registers: int) -> None:
    """Where there are no registers to distribute, a tiled segmap runs as any other."""
    source = np.random.default_rng(1)
    xss, yss = (source.integers(-9, 9, shape).astype(np.float32) for shape in ((n, p), (p, m)))
    settings = {"matmul.ys.blocks_0": 1, "matmul.ys.registers_0": registers}
    forced = {"matmul.zss.suff_outer_0": True}
    (found,), path = program.run("matmul", [xss, yss], thresholds=settings, forced=forced)
    np.testing.assert_array_equal(found, xss @ yss)
    assert path[0] == ("matmul.zss.suff_outer_0", n * m, True)


@pytest.mark.parametrize("n", [0, 5, 37, 256, 300, 512])
def test_one_dimension(program: Executable, n: int) -> None:
    xs = np.random.default_rng(2).integers(-99, 99, n)
    (found,), _ = program.run("sums", [xs], forced={"sums.zs.suff_outer_0": True})
    np.testing.assert_array_equal(found, np.abs(xs[:, None] - xs[None, :]).sum(1))
