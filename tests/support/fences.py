"""The fences of a kernel: how many there are, and the kernel with one less."""

from __future__ import annotations

from dataclasses import replace

from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.passes.place_fences import fence_paths, mended, remove


def without_fence(kernel: Kernel, number: int) -> Kernel:
    """The kernel without its fence of this number, counted from 0 in the order of the text."""
    path = list(fence_paths(kernel.body))[number]
    return replace(kernel, body=mended(remove(kernel.body, path)))


def count_fences(kernel: Kernel) -> int:
    """How many fences a kernel has, at any depth."""
    return sum(1 for _ in fence_paths(kernel.body))
