"""The machine code of a program's kernels, each compiled when it is first launched.

A program has kernels for all of its versions, of which a run needs a few. A kernel is a module of its own, and its
object is in the cache under the key of its LLVM text. A program that is kept in the cache has for each kernel the
name of that key too, so that neither kernels nor text are made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from ....ir.errors import IRError
from ...kernel_ir.values import symbol_of
from .. import disk_cache as disk
from .runtime import jit
from .runtime.jit import CompiledKernels, load_stored

Compile = Callable[[str], tuple[str, CompiledKernels]]
"""From the name of a kernel to its code, and the key that the cache has its object under (`build.compile_kernel`)."""


def no_code(name: str) -> NoReturn:
    """Raises IRError: for devices that run kernels in other ways."""
    raise IRError(f"kernel {name} is not compiled")


@dataclass(frozen=True, slots=True)
class KernelCode:
    """`compile` makes a kernel that is not in the cache; `program`: the key of the program there, "" where it is not
    kept; `made`: what is loaded, by the kernel's name."""

    compile: Compile = no_code
    program: str = ""
    made: dict[str, CompiledKernels] = field(default_factory=dict)


def address(code: KernelCode, name: str) -> int:
    """The address of the kernel `name`, whose code is loaded or compiled where this is the first call. Raises IRError
    where LLVM refuses it, and what `compile` raises."""
    found = code.made.get(name)
    if found is None:
        found = code.made.setdefault(name, stored(code, name) or compiled(code, name))
    return found.address(symbol_of(name))


def stored(code: KernelCode, name: str) -> CompiledKernels | None:
    """A kernel of a program that is kept in the cache, if its object is there."""
    key = disk.get(jit.user_cache(), key_of(code, name)) if code.program else None
    return None if key is None else load_stored(key.decode(), (symbol_of(name),))


def compiled(code: KernelCode, name: str) -> CompiledKernels:
    """A kernel that the cache does not have under this program."""
    key, made = code.compile(name)
    if code.program:
        disk.put(jit.user_cache(), key_of(code, name), key.encode())
    return made


def key_of(code: KernelCode, name: str) -> str:
    """Where the cache has the name of a kernel's object."""
    return disk.key_of("kernel-1", code.program, name)
