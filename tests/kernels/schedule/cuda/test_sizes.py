"""Sizes of the back end on the CUDA device: results do not depend on them, and launches are as they say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.device import on_host
from soac.kernels.host_ir.launch_parameters import launch_sizes
from soac.pipeline import Compiled, compile_prog
from tests.support.emulator.driver import Emulated, EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")

SOURCE = """
entry total [n] (xs: [n]i32): i32 = reduce (+) 0 xs
entry running [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs
entry squares [n] (xs: [n]i32): [n]i32 = map (\\x -> x * x + 1) xs
entry looked_up [n] (xs: [n]i32): [n]i32 = map (\\x -> xs[i64.i32 x]) xs
entry counts [n] (xs: [n]i64): [97]i32 = hist (+) 0 97 xs (replicate n 1)
entry turned [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> let ys = scan (+) 0 xs in map (\\i -> ys[m - 1 - i]) (iota m)) xss
"""
THREADS = 64
"""Of a block, where nothing is set."""


@dataclass(slots=True)
class Watched(EmulatedDriver):
    """Remembers the launches of kernels: blocks of the grid, and threads of each."""

    shapes: list[tuple[int, int]] = field(default_factory=list)

    def launch(self, kernel: Emulated, grid: int, threads: int, shared: int, values: Any) -> None:
        self.shapes.append((grid, threads))
        EmulatedDriver.launch(self, kernel, grid, threads, shared, values)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_prog(SOURCE, "sizes.soac", machine=CUDA)


@pytest.fixture(scope="module")
def program(compiled: Compiled) -> CudaExecutable:
    return CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(Watched()), THREADS)


def call(program: CudaExecutable, entry: str, arg: Any, settings: dict[str, int]) -> tuple[Any, list[tuple[int, int]]]:
    driver = program.gpu.driver
    assert isinstance(driver, Watched)
    driver.shapes.clear()
    (found,) = on_host(program.run(entry, [arg], thresholds=settings, convert=to_arguments)[0])
    return found, list(driver.shapes)


def names(compiled: Compiled, entry: str) -> dict[str, tuple[tuple[str, bool], ...]]:
    fun = next(fun for fun in compiled.host.functions if fun.entry.name == entry)
    return {size.name: size.path for size in launch_sizes(fun)}


XS = np.arange(5000, dtype=np.int32) % 97
WANTED: dict[str, Any] = {
    "total": XS.sum(), "running": np.cumsum(XS, dtype=np.int32), "squares": XS * XS + 1, "looked_up": XS[XS],
    "counts": np.bincount(XS, minlength=97),
}  # fmt: skip


@pytest.mark.parametrize(("block_size", "factor"), [(0, 3), (32, 0), (1000, 2), (9999, 1 << 40)])
def test_results_do_not_depend_on_sizes(
    compiled: Compiled, program: CudaExecutable, block_size: int, factor: int
) -> None:
    values = {"block_size": block_size, "factor": factor, "num_blocks": factor}
    for entry, wanted in WANTED.items():
        settings = {name: values[name.split(".")[1]] for name in names(compiled, entry)}
        found, _ = call(program, entry, XS.astype(np.int64) if entry == "counts" else XS, settings)
        assert np.array_equal(found, wanted), entry


def test_each_version_has_the_sizes_that_it_uses(compiled: Compiled, program: CudaExecutable) -> None:
    """A warp is a block of its own size; only a reduction is spread over a number of blocks."""
    warp, intra = "turned.ys.suff_intra_warp_0", "turned.ys.suff_intra_0"
    assert names(compiled, "turned") == {
        "turned.ys.factor_intra_warp_0": ((warp, True),),
        "turned.ys.factor_intra_0": ((warp, False), (intra, True)),
        "turned.ys.block_size_intra_0": ((warp, False), (intra, True)),
        "turned.ys.factor_below_intra_0": ((warp, False), (intra, False)),
        "turned.ys.block_size_below_intra_0": ((warp, False), (intra, False)),
    }
    assert set(names(compiled, "squares")) == {"squares.factor", "squares.block_size"}
    assert "total.num_blocks" in names(compiled, "total")
    xss = XS.reshape(50, 100)
    wanted = np.cumsum(xss, axis=1, dtype=np.int32)[:, ::-1]
    for version in ({warp: 1}, {warp: 1 << 40, intra: 1}, {warp: 1 << 40, intra: 1 << 40}):
        sizes = {name: 2 if ".factor" in name else 128 for name in names(compiled, "turned")}
        assert np.array_equal(call(program, "turned", xss, version | sizes)[0], wanted)


def test_launches_are_as_the_sizes_say(program: CudaExecutable) -> None:
    _, usual = call(program, "squares", XS, {})
    ((blocks, threads),) = usual
    assert threads == THREADS
    assert blocks > 1
    assert call(program, "squares", XS, {"squares.block_size": 128})[1] == [(blocks, 128)]
    assert call(program, "squares", XS, {"squares.factor": 2})[1] == [(-(-blocks // 2), THREADS)]
    assert call(program, "squares", XS, {"squares.factor": 1 << 40})[1] == [(1, THREADS)]
    assert call(program, "squares", XS, {"squares.block_size": THREADS, "squares.factor": 1})[1] == usual


def test_kernels_of_other_sizes_fail_at_the_same_place(program: CudaExecutable) -> None:
    found = []
    for settings in ({}, {"looked_up.block_size": 128}, {"looked_up.factor": 4}):
        with pytest.raises(Exception, match=r"index \[5000\] out of bounds") as failed:
            call(program, "looked_up", np.full(5000, 5000, np.int32), settings)
        found.append(str(failed.value))
    assert len(set(found)) == 1


def test_blocks_that_wait_for_each_other_take_no_turns(program: CudaExecutable) -> None:
    _, usual = call(program, "running", np.ones(200_000, np.int32), {})
    _, others = call(program, "running", np.ones(200_000, np.int32), {"running.factor": 8})
    assert others == usual
