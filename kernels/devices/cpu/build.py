"""Host programs and kernels to machine code: what is needed only where the cache has none.

The image of a program, the code of its host functions, and that of its kernels, one at a time.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.collector import paused_collector
from ...host_ir.nodes import HostBody, HostProgram
from ...kernel_ir.nodes import Kernel
from ...kernel_ir.values import symbol_of
from ...lanes.module import Abilities, emit
from ...passes.choose_lanes import LANES_OF_BYTES, depends_on_lanes, fitted
from ...passes.pipeline import CPU_PASSES, ready
from .host.emit import emit_host
from .image import Image, MachineCode, host_symbols
from .kernel_code import KernelCode
from .runtime.functions import runtime
from .runtime.jit import (
    CompiledKernels,
    Effort,
    Host,
    Source,
    has_avx512,
    has_shifts,
    load_source,
    register_bytes,
    source_of,
)
from .runtime.jit import host as jit_host


def image_of(program: HostProgram, functions: tuple[core.FunDef, ...], native: bool) -> tuple[Image, Source]:
    """The image of a program, and the text of its host functions. `functions`: the entry points as core functions."""
    text, made = emit_host(program) if native else ("", ())
    host = source_of(text, Effort.QUICK)
    coded = {fun.fun.entry.name for fun in made}
    image = Image(
        tuple(replace(k, body=()) for k in program.kernels),
        tuple(replace(f, body=core.Body((), ())) for f in functions if f.entry),
        tuple(replace(f, fun=replace(f.fun, body=HostBody((), ()))) for f in made),
        tuple(f for f in program.functions if f.entry.name not in coded),
        host.key,
    )
    return image, host


def compiled_code(image: Image, host: Source, kernels: KernelCode) -> MachineCode:
    """The code of an image, that of the host functions from the cache or compiled."""
    runtime()  # the symbols that host functions are linked to
    return MachineCode(kernels, load_source(host, host_symbols(image)) if image.native else None)


@paused_collector()
def compile_kernel(kernel: Kernel, far: bool, effort: Effort) -> tuple[str, CompiledKernels]:
    """A form of a lowered kernel as machine code, and the key of its object in the cache, where another program may
    have put it."""
    made = ready(kernel, CPU_PASSES)
    shaped = under_masks(made, jit_host()) if effort is Effort.QUICK else made
    source = source_of(kernel_text(shaped, jit_host(), far), effort)
    return source.key, load_source(source, (symbol_of(kernel.name),))


def kernel_text(made: Kernel, target: Host, far: bool = False) -> str:
    """A kernel after all passes as LLVM text for a processor."""
    large = has_avx512(target)
    shaped = fitted(made, register_bytes(target), LANES_OF_BYTES if large else LANES_OF_BYTES // 2)
    return emit((shaped,), far, Abilities(has_shifts(target), divides=large, masks=large))


def under_masks(kernel: Kernel, target: Host) -> Kernel:
    """The kernel with all groups of lanes under masks, which is a third of the code, and vectors of no more than 32
    bytes but for larger registers; as it is where results depend on the order in which elements come."""
    if kernel.lanes is None or depends_on_lanes(kernel):
        return kernel
    width = kernel.lanes.width if has_avx512(target) else max(4, kernel.lanes.width // 2)
    return replace(kernel, lanes=replace(kernel.lanes, width=width, peeled=False))
