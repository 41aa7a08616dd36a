"""The machine code of a program's kernels, each compiled when it is first launched.

A program has kernels for all of its versions, of which a run needs a few, and mostly one of the two forms of each: that
for results which caches may hold, or the one that writes past them (`passes/nontemporal_stores.py`). A form is a module
of its own, and its object is in the cache under the key of its LLVM text. A program that is kept in the cache has for
each form the name of that key too, so that neither kernels nor text are made again. Where a kernel has little work,
code of less effort comes first (`quick_code.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NoReturn

from ....ir.errors import IRError
from ....ir.records import dataclass
from ...kernel_ir.nodes import FAR, Kernel
from ...kernel_ir.values import symbol_of
from .. import disk_cache as disk
from .runtime import jit
from .runtime.jit import CompiledKernels, Effort, load_stored

Compile = Callable[[str, bool, Effort], tuple[str, CompiledKernels]]
"""From the name of a kernel, and whether it is to write past the caches, to its code, and the key that the cache has
its object under (`build.compile_kernel`)."""


def no_code(name: str, _far: bool, _effort: Effort) -> NoReturn:
    """Raises IRError: for devices that run kernels in other ways."""
    raise IRError(f"kernel {name} is not compiled")


@dataclass(frozen=True, slots=True)
class KernelCode:
    """`compile` makes a kernel that is not in the cache; `program`: the key of the program there, "" where it is not
    kept; `body`: a lowered kernel by its name, None where all code is made with full effort; `made`: what is loaded, by
    the kernel's name and form."""

    compile: Compile = no_code
    program: str = ""
    body: Callable[[str], Kernel] | None = None
    made: dict[tuple[str, bool], CompiledKernels] = field(default_factory=dict)


def has_far(kernel: Kernel) -> bool:
    """Whether a kernel has a second form."""
    return FAR in kernel.scalars


def address(code: KernelCode, name: str, far: bool) -> int:
    """The address of a form of the kernel `name`, whose code is loaded or compiled where this is the first call. Raises
    IRError where LLVM refuses it, and what `compile` raises."""
    found = known(code, name, far)
    if found is None:
        found = code.made.setdefault((name, far), compiled(code, name, far))
    return found.address(symbol_of(name))


def known(code: KernelCode, name: str, far: bool) -> CompiledKernels | None:
    """A form of a kernel, if it is loaded or in the cache."""
    found = code.made.get((name, far)) or stored(code, name, far)
    return None if found is None else code.made.setdefault((name, far), found)


def stored(code: KernelCode, name: str, far: bool) -> CompiledKernels | None:
    """A form of a kernel of a program that is kept in the cache, if its object is there."""
    key = disk.get(jit.user_cache(), key_of(code, name, far)) if code.program else None
    return None if key is None else load_stored(key.decode(), (symbol_of(name),))


def compiled(code: KernelCode, name: str, far: bool) -> CompiledKernels:
    """A form of a kernel that the cache does not have under this program."""
    key, made = code.compile(name, far, Effort.FULL)
    if code.program:
        disk.put(jit.user_cache(), key_of(code, name, far), key.encode())
    return made


def key_of(code: KernelCode, name: str, far: bool, effort: Effort = Effort.FULL) -> str:
    """Where the cache has the name of the object of a form of a kernel."""
    return disk.key_of("kernel-3", code.program, name, "far" if far else "near", effort.value)
