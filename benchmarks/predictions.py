"""`python -m benchmarks.predictions`: what the contests of `benchmarks/gpu.py` move and take, known without a GPU.

Each version runs at its full size on a device that executes nothing: of every launch the sectors of global memory are
counted (`kernels/analysis/sectors.py`, from a sample of its blocks and of their iterations), copies count what they
read and write. Registers and shared memory are those that NVRTC reports for sm_90. Caches are left out: what is read
again counts again.

    least     bytes that the result needs: every input read once, every output written once
    moved     bytes of all sectors, as a multiple of `least`
    warps     of the largest launch that a multiprocessor of an H200 holds, of 64: by registers and shared memory
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from soac.ir.machine import CUDA
from soac.kernels.analysis.memory_model import SECTOR
from soac.kernels.analysis.sectors import Sample, global_sectors, predict
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cpu.executable import CpuDevice, Executable
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.cuda.nvrtc import NoCompiler, resources
from soac.kernels.devices.cuda.ptxas_report import Resources
from soac.kernels.devices.device import KernelCall
from soac.kernels.devices.host_runner import compile_host
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import Compiled, compile_prog
from soac.versions import misfits, runs_of

from .gpu import MATMUL, ROOT, ROWS, SCAN, SUM

SAMPLE = Sample(blocks=2, rounds=2, iterations=64)
ARCH, THREADS, WARP = "sm_90", 256, 32
MOST_WARPS, REGISTERS, REGISTER_UNIT, SHARED, SHARED_EACH = 64, 1 << 16, 256, 227 << 10, 1 << 10
"""Of a multiprocessor; registers of a warp come in units, a block takes some shared memory for itself."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch: its blocks, its bytes of global memory."""

    kernel: str
    blocks: int
    bytes: float


@dataclass(slots=True)
class Counting(CpuDevice):
    """Counts what launches and copies move; kernels are not run."""

    counted: dict[str, Kernel] = field(default_factory=dict)
    found: list[Launched] = field(default_factory=list)
    known: dict[tuple[object, ...], float] = field(default_factory=dict)
    copied: int = 0

    def copy(self, array: np.ndarray) -> np.ndarray:
        self.copied += 2 * array.nbytes
        return self.pool.array(array.shape, array.dtype)

    def launch(self, launch: KernelCall) -> None:
        key = (launch.kernel, launch.blocks, *launch.scalars)
        if key not in self.known:
            sites = predict(self.counted[launch.kernel], launch.scalars, launch.blocks, THREADS, sample=SAMPLE)
            self.known[key] = SECTOR * global_sectors(sites)
        self.found.append(Launched(launch.kernel, launch.blocks, self.known[key]))


@dataclass(frozen=True, slots=True)
class Version:
    """What a version moves, and the launch that moves most."""

    name: str
    bytes: float
    largest: Launched


def predicted(compiled: Compiled, args: Sequence[np.ndarray | np.generic]) -> Iterator[Version]:
    """Every version of `main` that fits."""
    (fun,) = (f for f in compiled.host.functions if f.entry.name == "main")
    functions = {f.entry.name: f for f in compiled.core.functions if f.entry}
    code = {"main": compile_host(fun)}
    kernels = {kernel.name: kernel for kernel in compiled.host.kernels}
    for forced in runs_of(compiled.flat, "main"):
        device = Counting(KernelCode(), {}, 1, counted=kernels)
        _, reached = Executable(code, functions, device).run("main", args, None, forced)
        if misfits(forced, reached) is None:
            largest = max(device.found, key=lambda one: one.bytes)
            yield Version(name_of(forced), device.copied + sum(one.bytes for one in device.found), largest)


def name_of(forced: Mapping[str, bool]) -> str:
    return " ".join(name for name, side in forced.items() if side) or "full"


def warps_of(use: Resources, threads: int) -> int:
    """Warps of a multiprocessor: as many blocks as there are registers, shared memory and places for."""
    warps = threads // WARP
    each = -(-use.registers * WARP // REGISTER_UNIT) * REGISTER_UNIT * warps
    return warps * min(REGISTERS // each, SHARED // (use.shared + SHARED_EACH), MOST_WARPS // warps)


def show(name: str, text: str, args: Sequence[np.ndarray | np.generic], least: int, operations: int = 0) -> None:
    """A line for each version."""
    compiled = compile_prog(text, name, machine=CUDA)
    texts = {kernel.name: cuda_kernel(kernel) for kernel in all_ready(compiled.host.kernels, CUDA_PASSES)}
    try:
        taken = resources(cuda_module(texts.values()), ARCH)
    except NoCompiler:
        taken = {}
    for version in predicted(compiled, args):
        kernel, blocks = version.largest.kernel, version.largest.blocks
        threads = texts[kernel].threads
        moved = f"{version.bytes / least:6.2f} of {least / 1e6:.0f} MB"
        flops = f", {version.bytes / operations:.4f} B/flop" if operations else ""
        use = taken.get(kernel)
        room = f", {use.registers} registers, {warps_of(use, threads)} warps" if use is not None else ""
        print(f"{name:<18} {version.name:<40} {moved}{flops}, {blocks} x {threads} threads{room}", flush=True)


def floats(*shape: int) -> np.ndarray:
    """Memory that is never touched."""
    return np.zeros(shape, np.float32)


def main() -> None:
    n, m = 1 << 28, 4096
    show("sum 2^28", SUM, [floats(n)], 4 * n)
    show("scan 2^28", SCAN, [floats(n)], 8 * n)
    for k in range(0, 27, 2):
        rows = 1 << k
        show(f"rows 2^{k} x 2^{26 - k}", ROWS, [floats(rows, (1 << 26) // rows)], 4 * ((1 << 26) + rows))
    show("matmul 4096", MATMUL, [floats(m, m), floats(m, m)], 12 * m**2, 2 * m**3)
    numbers = [np.int64(x) for x in (256, 256, 256, 2)] + [np.float32(x) for x in (0.03, 5, 0.2, 0.6, 0.5)]
    text = (ROOT / "programs" / "locvolcalib.soac").read_text(encoding="utf-8")
    show("locvolcalib, 1 step", text, numbers, 4 * math.prod((256, 256, 256)))


if __name__ == "__main__":
    main()
