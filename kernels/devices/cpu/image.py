"""What running a program needs apart from its machine code: small, and quick to read from disk.

The code lies in the cache of compiled objects under two keys, one for the kernels and one for the host functions; what
host functions call of the runtime must be there before they are loaded. Bodies are left out where code stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....ir import core
from ...host_ir.nodes import HostBody, HostFun, HostProgram
from ...kernel_ir.nodes import Kernel
from ...lanes.module import emit
from ...passes.pipeline import CPU_PASSES, all_ready
from .host.emit import NativeFun, emit_host
from .runtime.functions import runtime
from .runtime.jit import CompiledKernels, Effort, Source, by_kernel, load_source, load_stored, source_of, symbols_of


@dataclass(frozen=True, slots=True)
class Image:
    """A program ready to be loaded: its kernels and entry points without bodies, the host functions that are code,
    those that Python runs, and the keys of the code."""

    kernels: tuple[Kernel, ...]
    entries: tuple[core.FunDef, ...]
    native: tuple[NativeFun, ...]
    interpreted: tuple[HostFun, ...]
    kernel_code: str
    host_code: str


def image_of(
    program: HostProgram, functions: tuple[core.FunDef, ...], native: bool
) -> tuple[Image, tuple[Source, Source]]:
    """The image of a program, and the texts of its code. `functions`: the entry points as core functions."""
    text, made = emit_host(program) if native else ("", ())
    kernels = source_of(emit(all_ready(program.kernels, CPU_PASSES)), Effort.FULL)
    host = source_of(text, Effort.QUICK)
    coded = {fun.fun.entry.name for fun in made}
    image = Image(
        tuple(replace(k, body=()) for k in program.kernels),
        tuple(replace(f, body=core.Body((), ())) for f in functions if f.entry),
        tuple(replace(f, fun=replace(f.fun, body=HostBody((), ()))) for f in made),
        tuple(f for f in program.functions if f.entry.name not in coded),
        kernels.key,
        host.key,
    )
    return image, (kernels, host)


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The machine code of an image."""

    kernels: CompiledKernels
    host: CompiledKernels | None


def compiled_code(image: Image, sources: tuple[Source, Source]) -> MachineCode:
    """The code of an image, from the cache or compiled."""
    kernels, host = sources
    made = by_kernel(load_source(kernels, symbols_of(image.kernels)), image.kernels)
    runtime()
    return MachineCode(made, load_source(host, host_symbols(image)) if image.native else None)


def stored_code(image: Image) -> MachineCode | None:
    """The code of an image, if the cache still has all of it."""
    runtime()
    kernels = load_stored(image.kernel_code, symbols_of(image.kernels))
    host = load_stored(image.host_code, host_symbols(image)) if image.native else None
    if kernels is None or (host is None and image.native):
        return None
    return MachineCode(by_kernel(kernels, image.kernels), host)


def host_symbols(image: Image) -> tuple[str, ...]:
    """The functions that the machine code of the host program must have."""
    return tuple(fun.symbol for fun in image.native)
