"""The machine code of a program's kernels, each compiled when it is first launched.

A program has kernels for all of its versions, of which a run needs a few. A kernel is a module of its own, and its
object lies in the cache under the key of its LLVM text. A program that is kept in the cache has for each kernel the
name of that key too, so that neither kernels nor text are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...kernel_ir.nodes import Kernel
from ...lanes.module import emit, symbol_of
from ...passes.pipeline import CPU_PASSES, ready
from .. import disk_cache as disk
from .runtime import jit
from .runtime.jit import CompiledKernels, Effort, load_source, load_stored, source_of

Bodies = Callable[[], Mapping[str, Kernel]]


@dataclass(frozen=True, slots=True)
class KernelCode:
    """`bodies`: the lowered kernels by name, asked for when one must be compiled; `program`: the key of the program in
    the cache, "" where it is not kept; `made`: what is loaded, by the kernel's name."""

    bodies: Bodies
    program: str = ""
    made: dict[str, CompiledKernels] = field(default_factory=dict)


def address(code: KernelCode, name: str) -> int:
    """The address of the kernel `name`, whose code is loaded or compiled where this is the first call. Raises IRError
    where LLVM refuses it, and what `bodies` raises."""
    found = code.made.get(name)
    if found is None:
        found = code.made.setdefault(name, stored(code, name) or compiled(code, name))
    return found.address(symbol_of(name))


def stored(code: KernelCode, name: str) -> CompiledKernels | None:
    """A kernel of a program that is kept in the cache, if its object is there."""
    key = disk.get(jit.user_cache(), key_of(code, name)) if code.program else None
    return None if key is None else load_stored(key.decode(), (symbol_of(name),))


def compiled(code: KernelCode, name: str) -> CompiledKernels:
    """A kernel with its passes run and its text made; the object may be in the cache, of another program."""
    source = source_of(emit((ready(code.bodies()[name], CPU_PASSES),)), Effort.FULL)
    made = load_source(source, (symbol_of(name),))
    if code.program:
        disk.put(jit.user_cache(), key_of(code, name), source.key.encode())
    return made


def key_of(code: KernelCode, name: str) -> str:
    """Where the cache has the name of a kernel's object."""
    return disk.key_of("kernel-1", code.program, name)
