"""What the CUDA device asks of a GPU: memory by address, one stream of work in order, kernels from CUDA C.

`pycuda_driver.py` does it with a GPU. Everything above this protocol (memory, bulk operations, launches, failures,
exchange of arrays) is the same for any driver, so that it is tested where there is no GPU: the tests have a driver that
emulates kernels in host memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....ir.floats import bits_of
from ....ir.types import Prim
from ...cuda_c.ops import c_type
from ...kernel_ir.nodes import Kernel
from ...kernel_ir.tile_words import CODES

Loaded = Any
"""A kernel that a driver has loaded."""
Value = int | float


class DriverMemoryError(Exception):
    """The GPU has no free piece of memory of that size."""


class DriverFault(Exception):
    """The GPU has failed, in words of the driver; its context can no longer be used."""


class DriverRefusal(Exception):
    """The driver has not done what it was asked, and says why; its context is as it was before."""


class GpuLost(Exception):
    """The GPU reported a fault behind which its context can no longer be used."""


@dataclass(frozen=True, slots=True)
class Properties:
    """A GPU: `arch` is what NVRTC calls it (`sm_90`); `shared_bytes` is the shared memory that a block may have
    whose kernel has been given leave (`allow_shared`); without it is `BLOCK.bytes`."""

    name: str
    arch: str
    multiprocessors: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: its type in CUDA C, and its value as the module `struct` packs it, a structure as
    several values."""

    c_type: str
    form: str


@dataclass(frozen=True, slots=True)
class Signature:
    """How a kernel is called. Values stand one after the other, each at a multiple of its size."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a graph: a launch with packed parameters, or (`code` is 0) a copy, whose `values` are a
    `CUDA_MEMCPY3D`."""

    code: int
    grid: int
    threads: int
    shared: int
    values: bytes


@dataclass(frozen=True, slots=True)
class Graphs:
    """Graphs of a driver: the addresses of `cuGraphLaunch` and of what changes the parameters of a kernel and of a
    copy, its context; `make` gives an executable graph of steps one after the other, and their nodes; `drop` takes
    one."""

    launch: int
    set_kernel: int
    set_copy: int
    context: int
    make: Callable[[Sequence[Step]], tuple[int, Sequence[int]]]
    drop: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """The addresses of the functions of the driver (`cuLaunchKernel` and so on), for machine code in its thread;
    `pinned` gives memory of the host that is locked; `graphs`: None where there are none."""

    launch: int
    download: int
    upload: int
    copy: int
    clear: int
    set_16: int
    set_32: int
    wait: int
    record: int
    pinned: Callable[[int], int]
    graphs: Graphs | None = None


class Driver(Protocol):
    """One GPU, used by the thread that has attached itself to it. All work is done in the order of the calls, most of
    it later; `download` and `synchronise` wait. Every method may raise `DriverFault` or `DriverRefusal`."""

    properties: Properties
    stream: int
    """The stream of all work, as the CUDA array interface and DLPack name streams."""
    place: tuple[int, int]
    """The device of its memory, as DLPack names devices."""

    def attach(self) -> None: ...
    def detach(self) -> None: ...
    def alloc(self, size: int) -> int:
        """The address of `size` bytes; raises `DriverMemoryError`."""
        ...

    def free(self, address: int) -> None: ...
    def memory(self) -> tuple[int, int]:
        """Free bytes, and bytes there are."""
        ...

    def upload(self, address: int, array: np.ndarray) -> None:
        """The array has to stay as it is until the driver has been waited for."""
        ...

    def download(self, array: np.ndarray, address: int) -> None: ...
    def copy(self, target: int, source: int, size: int) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def set(self, address: int, word: int, width: int, count: int) -> None:
        """`count` words of 1, 2 or 4 bytes."""
        ...

    def load(self, text: str, signatures: Sequence[Signature]) -> Mapping[str, Loaded]:
        """The kernels of a module of CUDA C, by name."""
        ...

    def compiler(self) -> Callable[[str, Sequence[Signature]], object]:
        """What makes the code of a module and keeps it in the cache, where `load` finds it; to be called in any
        process."""
        ...

    def shared_bytes(self, kernel: Loaded) -> int:
        """Shared memory that a block of the kernel has by its declarations."""
        ...

    def allow_shared(self, kernel: Loaded, size: int) -> None:
        """Launches of the kernel may ask for as many bytes, beside those of its declarations."""
        ...

    def launch(self, kernel: Loaded, grid: int, threads: int, shared: int, values: Sequence[Value]) -> None: ...
    def entry_points(self) -> EntryPoints | None:
        """None where machine code cannot call the driver: host programs are run by Python then."""
        ...

    def handle(self, kernel: Loaded) -> int:
        """A kernel as `cuLaunchKernel` takes it."""
        ...

    def error(self, code: int) -> Exception:
        """What a function of the driver has given, as one of the exceptions above."""
        ...

    def synchronise(self) -> None: ...
    def await_stream(self, stream: int) -> None:
        """Returns when the work is done that is in another stream now."""
        ...

    def make_events(self, count: int) -> Sequence[int]:
        """Events as `cuEventRecord` takes them, which go when the thread detaches itself."""
        ...

    def record(self, event: int) -> None:
        """The event is the moment in which all work before it is done, from now on."""
        ...

    def elapsed(self, events: Sequence[int]) -> list[float]:
        """Seconds of the device from the first of these events to each; waits for the last one."""
        ...


# ---- parameters --------------------------------------------------------------------------------------------------

POINTER, I64 = Parameter("void *", "P"), Parameter("i64", "q")
MEMORY = Parameter("Memory", "Pqqq")
"""`Memory` of `cuda_prelude.h`."""
_FORMS = {**CODES, Prim.F16: "H", Prim.BOOL: "B"}


def signature_of(kernel: Kernel) -> Signature:
    """Of a kernel as `cuda_kernel` prints it: failures, those before it, blocks, memory, arrays, scalars."""
    arrays = tuple(Parameter(f"{c_type(a.prim)} *", "P") for a in kernel.arrays)
    scalars = tuple(Parameter(c_type(v.prim), _FORMS[v.prim]) for v in kernel.scalars)
    records = Parameter("u64 *", "P"), Parameter("const u64 *", "P")
    return Signature(kernel.name, (*records, I64, MEMORY, *arrays, *scalars))


def word(prim: Prim, value: Any) -> Value:
    """A scalar as its parameter takes it: halves by their bits, booleans as 0 and 1."""
    match prim:
        case Prim.F16 | Prim.BF16:
            return bits_of(prim)(float(value))
        case Prim.F32 | Prim.F64:
            return float(value)
        case _:
            return int(value)
