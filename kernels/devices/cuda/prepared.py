"""The kernels of a program as a driver has them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from ....ir.machine import BLOCK
from ...analysis.stack_sizes import StackSizes
from ...cuda_c.module import CudaKernel, cuda_kernel, cuda_module
from ...kernel_ir.nodes import Kernel, Space
from ...passes.pipeline import CUDA_PASSES, all_ready
from .driver import Loaded, signature_of
from .gpu import Gpu


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel as the driver has it; `asked`: the threads of its blocks; `first_site` is the number of its
    first failure site in the program. `loaded`: None until a launch asks for it."""

    kernel: Kernel
    text: CudaKernel
    loaded: Loaded
    asked: int
    first_site: int
    shared_left: int
    sizes: StackSizes


def prepared(gpu: Gpu, kernels: Sequence[Kernel], threads: int, later: Container[str] = ()) -> dict[str, Prepared]:
    """The kernels of a program, compiled as one module and loaded, without those that come `later`; failure sites are
    numbered throughout."""
    kernels = all_ready(kernels, CUDA_PASSES)
    texts = numbered(kernels, threads)
    found = {
        kernel.name: Prepared(kernel, text, None, threads, first, 0, StackSizes.of(kernel))
        for kernel, (first, text) in zip(kernels, texts, strict=True)
        if kernel.name in later
    }
    now = [k for k, kernel in enumerate(kernels) if kernel.name not in found]
    return found | (loaded_kernels(gpu, [kernels[k] for k in now], [texts[k] for k in now], threads) if now else {})


def numbered(kernels: Sequence[Kernel], threads: int) -> list[tuple[int, CudaKernel]]:
    """The texts of kernels that have gone through the passes, with the numbers of their first failure sites."""
    sites, texts = 0, list[tuple[int, CudaKernel]]()
    for kernel in kernels:
        texts.append((sites, cuda_kernel(kernel, threads, sites)))
        sites += len(kernel.sites) + 1  # one more for its stacks
    return texts


def loaded_kernels(
    gpu: Gpu, kernels: Sequence[Kernel], texts: Sequence[tuple[int, CudaKernel]], threads: int
) -> dict[str, Prepared]:
    """Kernels as one module, by name; `texts` with the number of the first failure site of each."""
    module = cuda_module(text for _, text in texts)
    loaded = gpu.driver.load(module, [signature_of(kernel) for kernel in kernels])
    return {
        kernel.name: Prepared(
            kernel,
            text,
            loaded[kernel.name],
            threads,
            first,
            _shared_left(gpu, loaded[kernel.name], text),
            StackSizes.of(kernel),
        )
        for kernel, (first, text) in zip(kernels, texts, strict=True)
    }


def _shared_left(gpu: Gpu, kernel: Loaded, text: CudaKernel) -> int:
    """What a block may have of shared memory beside what the kernel declares, in pieces of 16 bytes; the driver gets to
    know."""
    if Space.SHARED not in text.stacks:
        return 0
    most = min(BLOCK.opt_in, gpu.driver.properties.shared_bytes)
    left = max(0, most - gpu.driver.shared_bytes(kernel)) & ~15
    gpu.driver.allow_shared(kernel, left)
    return left
