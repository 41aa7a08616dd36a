"""`python -m tests.support.gpu.fill NAME..`: the kernels of these programs, of the contests and of the device's tests,
compiled for sm_90 into the cache, as the first run on such a GPU asks for them, or the first of a rival. No GPU is
needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import gpu as contests
from soac.ir.machine import BLOCK, CUDA
from soac.kernels.cuda_c.module import cuda_module
from soac.kernels.devices.cuda.bulk import bulk_module
from soac.kernels.devices.cuda.nvrtc import compile_cuda
from soac.kernels.devices.cuda.prepared import numbered
from soac.kernels.devices.cuda.variants import rivals
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import compile_prog
from tests.gpu import test_device

ROOT = Path(__file__).parents[3]
ARCH = "sm_90"


def sources(names: list[str]) -> Iterator[tuple[str, str]]:
    """Texts of programs with their files."""
    for name in names:
        path = ROOT / "programs" / f"{name}.soac"
        yield path.read_text(encoding="utf-8"), str(path)
    for text in (contests.SUM, contests.SCAN, contests.ROWS, contests.MATMUL, contests.SPMV):
        yield text, "contest.soac"
    for text in (
        test_device.SUMS,
        test_device.GATHER,
        test_device.BIG,
        test_device.LOOP,
        test_device.TURNED,
        test_device.BOTH,
    ):
        yield text, "device.soac"


def modules(names: list[str]) -> Iterator[str]:
    """Of each program all kernels but those of rivals, which are modules of their own."""
    yield bulk_module()[0]
    for text, file in sources(names):
        program = compile_prog(text, file, machine=CUDA).host
        kernels, later = all_ready(program.kernels, CUDA_PASSES), rivals(program)
        texts = {kernel.name: text for kernel, (_, text) in zip(kernels, numbered(kernels, BLOCK.threads), strict=True)}
        if first := [text for name, text in texts.items() if name not in later]:
            yield cuda_module(first)
        yield from (cuda_module([text]) for name, text in texts.items() if name in later)


def main() -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(lambda text: len(compile_cuda(text, ARCH)), modules(sys.argv[1:])))
    print(f"{len(sizes)} modules, {sum(sizes) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
