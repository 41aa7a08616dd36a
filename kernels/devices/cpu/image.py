"""What running a program needs apart from its machine code: small, and quick to read from disk.

The code of the host functions is in the cache under the key `host_code`, that of each kernel under its own
(`kernel_code.py`). Bodies are left out where code stands for them.
"""

from __future__ import annotations

from ....ir import core
from ....ir.records import dataclass
from ...host_ir.nodes import HostFun
from ...kernel_ir.nodes import Kernel
from .host.layout import NativeFun
from .kernel_code import KernelCode
from .runtime.functions import runtime
from .runtime.jit import CompiledKernels, load_stored


@dataclass(frozen=True, slots=True)
class Image:
    """A program ready to be loaded: its kernels and entry points without bodies, the host functions that are code,
    those that Python runs, and the key of the code of the former."""

    kernels: tuple[Kernel, ...]
    entries: tuple[core.FunDef, ...]
    native: tuple[NativeFun, ...]
    interpreted: tuple[HostFun, ...]
    host_code: str


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The machine code of an image."""

    kernels: KernelCode
    host: CompiledKernels | None


def stored_code(image: Image, kernels: KernelCode) -> MachineCode | None:
    """The code of an image, if the cache still has that of the host functions."""
    runtime()
    host = load_stored(image.host_code, host_symbols(image)) if image.native else None
    return None if host is None and image.native else MachineCode(kernels, host)


def host_symbols(image: Image) -> tuple[str, ...]:
    """The functions that the machine code of the host program must have."""
    return tuple(fun.symbol for fun in image.native)
