"""What running a program needs apart from its machine code: small, and quick to read from disk.

The code of the host functions lies in the cache under the key `host_code`, that of each kernel under its own
(`kernel_code.py`). Bodies are left out where code stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....ir import core
from ...host_ir.nodes import HostBody, HostFun, HostProgram
from ...kernel_ir.nodes import Kernel
from .host.emit import NativeFun, emit_host
from .kernel_code import KernelCode
from .runtime.functions import runtime
from .runtime.jit import CompiledKernels, Effort, Source, load_source, load_stored, source_of


@dataclass(frozen=True, slots=True)
class Image:
    """A program ready to be loaded: its kernels and entry points without bodies, the host functions that are code,
    those that Python runs, and the key of the code of the former."""

    kernels: tuple[Kernel, ...]
    entries: tuple[core.FunDef, ...]
    native: tuple[NativeFun, ...]
    interpreted: tuple[HostFun, ...]
    host_code: str


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


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The machine code of an image."""

    kernels: KernelCode
    host: CompiledKernels | None


def compiled_code(image: Image, host: Source, kernels: KernelCode) -> MachineCode:
    """The code of an image, that of the host functions from the cache or compiled."""
    runtime()  # the symbols that host functions are linked to
    return MachineCode(kernels, load_source(host, host_symbols(image)) if image.native else None)


def stored_code(image: Image, kernels: KernelCode) -> MachineCode | None:
    """The code of an image, if the cache still has that of the host functions."""
    runtime()
    host = load_stored(image.host_code, host_symbols(image)) if image.native else None
    return None if host is None and image.native else MachineCode(kernels, host)


def host_symbols(image: Image) -> tuple[str, ...]:
    """The functions that the machine code of the host program must have."""
    return tuple(fun.symbol for fun in image.native)
