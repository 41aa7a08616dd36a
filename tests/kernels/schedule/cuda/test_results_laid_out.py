"""Results that threads write a row each are written with rows across lanes, and then copied: what that moves, of
programs that were never tuned."""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest

from soac.ir.interpret import interpret
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.kernel_ir.nodes import Space
from soac.kernels.schedule.cuda import segmap
from soac.kernels.tracer import device
from soac.kernels.tracer.run import TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SECTOR = 32
RELAXED = """
-- Steps of a relaxation in place along each row.
entry main [n][m] (steps: i64) (xss: [n][m]f32): [n][m]f32 =
  map (\\xs ->
    loop ys = copy xs for s < steps do
      loop ys = ys for i < m - 2 do
        let a = ys[i] let b = ys[i + 2] in ys with [i + 1] = (a + b) / 2) xss
"""
WALKS = """
-- A random walk from each seed, all its places.
entry main [n] (m: i64) (seeds: [n]u32): [n][m]i32 =
  map (\\seed ->
    let (path, _, _) =
      loop (path, s, at) = (replicate m 0i32, seed, 0i32) for i < m do
        let s = s * 1664525 + 1013904223
        let at = at + (if s >> 31 == 1 then 1 else -1)
        in (path with [i] = at, s, at)
    in path) seeds
"""
LEVELS = """
-- Each pixel's share of those of its row that are no lighter.
entry main [n][m] (xss: [n][m]i32): [n][m]f32 =
  map (\\xs ->
    let counts = reduce_by_index (replicate 8 0i32) (+) 0 (map i64.i32 xs) (map (\\_ -> 1) xs)
    let sums = scan (+) 0 counts
    in map (\\x -> f32.i32 sums[i64.i32 x] / f32.i64 m) xs) xss
"""
TRIANGLES = """
-- Rows of Pascal's triangle modulo each number, of a cube.
entry main [n] (m: i64) (ps: [n]i32): [n][m][3]i32 =
  map (\\p ->
    loop rows = replicate m (replicate 3 1i32) for i < m - 1 do
      let a = rows[i, 0] let b = rows[i, 1] let c = rows[i, 2]
      in rows with [i + 1] = [(a + b) % p, (b + c) % p, (c + 1) % p]) ps
"""


def random(kind: str, *shape: int) -> np.ndarray:
    made = np.random.default_rng(sum(shape))
    return made.random(shape).astype(kind) if kind.startswith("f") else made.integers(0, 8, shape).astype(kind)


CASES: dict[str, tuple[str, list[Any]]] = {
    "relaxed": (RELAXED, [np.int64(3), random("f4", 128, 20)]),
    "walks": (WALKS, [np.int64(24), random("u4", 128)]),
    "levels": (LEVELS, [random("i4", 64, 48)]),
    "triangles": (TRIANGLES, [np.int64(9), random("i4", 96) + 2]),
}


@cache
def compiled(name: str, laid_out: bool = True) -> Compiled:
    """With results as they lie, if not `laid_out`."""
    best = segmap.best_mapping
    plain = mock.patch.object(segmap, "best_mapping", lambda h, space, build, results: best(h, space, build))
    if laid_out:
        return compile_prog(CASES[name][0], f"{name}.soac", machine=CUDA)
    with plain:
        return compile_prog(CASES[name][0], f"{name}.soac", machine=CUDA)


def moved(name: str, laid_out: bool) -> int:
    """Sectors of the last version, which has no block or warp for a row: those of kernels and of copies."""
    made, args = compiled(name, laid_out), CASES[name][1]
    *_, forced = runs_of(made.flat, "main")
    copies: list[int] = []
    copy = device.TracingDevice.copy

    def copied(self: device.TracingDevice, array: np.ndarray) -> np.ndarray:
        copies.append(2 * array.nbytes // SECTOR)
        return copy(self, array)

    with mock.patch.object(device.TracingDevice, "copy", copied):
        report = trace_kernels(made, ready_kernels(made), "main", args, forced, TraceSettings(256))
    assert report.is_clean
    assert np.array_equal(report.results[0], interpret(made.core, "main", args)[0][0])
    spaces = (Space.GLOBAL, Space.PRIVATE)
    return sum(copies) + sum(s.units for launch in report.launches for s in launch.sites if s.array.space in spaces)


@pytest.mark.parametrize(
    ("name", "before", "now"),
    [("relaxed", 25856, 6112), ("walks", 3088, 1168), ("levels", 2048, 1728), ("triangles", 7212, 1560)],
)
def test_rows_of_threads_are_written_across_lanes(name: str, before: int, now: int) -> None:
    assert (moved(name, laid_out=False), moved(name, laid_out=True)) == (before, now)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("name", CASES)
def test_emulated(name: str) -> None:
    """All versions, on the device, threads in several orders."""
    made, args = compiled(name), CASES[name][1]
    (wanted,), _ = interpret(made.core, "main", args)
    for forced in runs_of(made.flat, "main"):
        for order in (0, 1, 5):
            program = CudaExecutable.build(
                made.host, made.core.functions, emulated_gpu(EmulatedDriver(order=order)), 64
            )
            (got,), _ = program.run("main", args, forced=forced)
            assert np.array_equal(got.numpy(), wanted)
