"""A compiled program as text, at each stage (`soac dev --emit`, `soac compile`)."""

from __future__ import annotations

from .ir.core import Prog
from .ir.show import show
from .kernels.cuda_c.module import cuda_kernel
from .kernels.host_ir.nodes import show_host
from .kernels.kernel_ir.nodes import Kernel
from .kernels.kernel_ir.show import show_kernel
from .kernels.lanes.module import emit
from .kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, all_ready
from .pipeline import Compiled, Emit


def show_after(after: Prog | tuple[Kernel, ...]) -> str:
    """What a pass has made, with a newline at its end; it parses back."""
    return show(after) if isinstance(after, Prog) else "\n\n".join(map(show_kernel, after)) + "\n"


def show_stage(compiled: Compiled, stage: Emit) -> str:
    """The text of `compiled` at `stage`, with a newline at its end. Core and flat texts parse back."""
    match stage:
        case Emit.CORE:
            text = show(compiled.core)
        case Emit.FUSED:
            text = show(compiled.fused)
        case Emit.FLAT:
            text = show(compiled.flat)
        case Emit.KERNELS:
            text = show_after(compiled.host.kernels)
        case Emit.HOST:
            text = show_host(compiled.host)
        case Emit.LLVM:
            text = emit(all_ready(compiled.host.kernels, CPU_PASSES))
        case Emit.CUDA:
            text = "\n".join(cuda_kernel(kernel).text for kernel in all_ready(compiled.host.kernels, CUDA_PASSES))
    return text.rstrip("\n") + "\n"
