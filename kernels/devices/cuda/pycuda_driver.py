"""The GPU through PyCUDA: the primary context, memory, one stream. Kernels, cubins by NVRTC, are loaded and launched by
the driver's library itself, since PyCUDA does not show their handles, which machine code needs.

PyCUDA is imported here and nowhere else, since it cannot be without a driver. The primary context is the one that
CuPy, PyTorch and JAX use too, so that memory may be exchanged. Our stream orders itself with the default stream of the
context; for streams of others by number PyCUDA has nothing, either.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from . import libcuda
from .dlpack import CUDA
from .driver import (
    DriverFault,
    DriverMemoryError,
    DriverRefusal,
    EntryPoints,
    Graphs,
    Properties,
    Signature,
    Step,
    Value,
)
from .libcuda import Refused
from .nvrtc import compile_cuda

P = ParamSpec("P")
T = TypeVar("T")


def guarded(call: Callable[Concatenate[PyCuda, P], T]) -> Callable[Concatenate[PyCuda, P], T]:
    """Errors of the driver by our names. One that spoils the context is what every later call ends with, too."""

    @wraps(call)
    def guarded_call(driver: PyCuda, *args: P.args, **kwargs: P.kwargs) -> T:
        cuda = driver.cuda
        try:
            return call(driver, *args, **kwargs)
        except cuda.MemoryError as why:
            raise DriverMemoryError(str(why)) from None
        except (cuda.Error, Refused) as why:
            raise (DriverRefusal if is_usable(driver) else DriverFault)(str(why)) from None

    return guarded_call


def forms_of(signature: Signature) -> str:
    """The parameters of a kernel as the module `struct` packs them."""
    return "".join(parameter.form for parameter in signature.parameters)


def is_usable(driver: PyCuda) -> bool:
    """Whether the driver goes on after an error."""
    if driver.queue is None:
        return False
    try:
        driver.queue.synchronize()
    except driver.cuda.Error:
        return False
    return True


def compile_module(arch: str, text: str, signatures: Sequence[Signature]) -> None:
    """A module into the cache."""
    compile_cuda(text, arch)


@dataclass(slots=True)
class PyCuda:
    """GPU number `number`. `cuda` is the module `pycuda.driver`. Its objects stay here and are known outside by
    numbers: one that dies in another thread than ours is not given back."""

    number: int
    cuda: Any = field(repr=False)
    properties: Properties
    place: tuple[int, int]
    stream: int = 0
    context: Any = field(default=None, repr=False)
    queue: Any = field(default=None, repr=False)
    held: dict[int, Any] = field(default_factory=dict, repr=False)
    forms: dict[int, str] = field(default_factory=dict, repr=False)
    pages: list[Any] = field(default_factory=list, repr=False)
    events: list[int] = field(default_factory=list, repr=False)

    @classmethod
    def open(cls, number: int = 0) -> PyCuda:
        """Raises ImportError, or an error of PyCUDA; `soac.devices` has looked before."""
        import pycuda.driver as cuda

        cuda.init()
        device = cuda.Device(number)
        attribute = cuda.device_attribute
        major, minor = device.compute_capability()
        properties = Properties(
            device.name(),
            f"sm_{major}{minor}",
            device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
            device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        )
        return cls(number, cuda, properties, (CUDA, number))

    # ---- the thread ------------------------------------------------------------------------------------------------

    @guarded
    def attach(self) -> None:
        self.context = self.cuda.Device(self.number).retain_primary_context()
        self.context.push()
        self.queue = self.cuda.Stream()
        self.stream = self.queue.handle

    @guarded
    def detach(self) -> None:
        """PyCUDA ends the process if a context is still current when a thread ends. After a fault the driver refuses to
        give events back; they go with the context."""
        self.held.clear()
        with suppress(Refused):
            libcuda.drop_events(self.events)
        self.pages.clear()
        self.queue = None
        self.context.pop()

    # ---- memory ----------------------------------------------------------------------------------------------------

    @guarded
    def alloc(self, size: int) -> int:
        there = self.cuda.mem_alloc(size)
        self.held[int(there)] = there
        return int(there)

    @guarded
    def free(self, address: int) -> None:
        self.held.pop(address).free()

    @guarded
    def memory(self) -> tuple[int, int]:
        free, total = self.cuda.mem_get_info()
        return free, total

    @guarded
    def upload(self, address: int, array: np.ndarray) -> None:
        """From memory that is not locked, which the driver may read after the call has returned."""
        self.cuda.memcpy_htod_async(address, array, self.queue)

    @guarded
    def download(self, array: np.ndarray, address: int) -> None:
        self.cuda.memcpy_dtoh_async(array, address, self.queue)
        self.queue.synchronize()

    @guarded
    def copy(self, target: int, source: int, size: int) -> None:
        self.cuda.memcpy_dtod_async(target, source, size, self.queue)

    @guarded
    def clear(self, address: int, size: int) -> None:
        self.cuda.memset_d8_async(address, 0, size, self.queue)

    @guarded
    def set(self, address: int, word: int, width: int, count: int) -> None:
        functions = {1: self.cuda.memset_d8_async, 2: self.cuda.memset_d16_async, 4: self.cuda.memset_d32_async}
        functions[width](address, word, count, self.queue)

    # ---- kernels ---------------------------------------------------------------------------------------------------

    @guarded
    def load(self, text: str, signatures: Sequence[Signature]) -> dict[str, int]:
        handles = libcuda.functions_of(compile_cuda(text, self.properties.arch), [one.name for one in signatures])
        self.forms |= {handle: forms_of(signature) for handle, signature in zip(handles, signatures, strict=True)}
        return {signature.name: handle for handle, signature in zip(handles, signatures, strict=True)}

    def compiler(self) -> Callable[[str, Sequence[Signature]], object]:
        return partial(compile_module, self.properties.arch)

    @guarded
    def shared_bytes(self, kernel: int) -> int:
        return libcuda.shared_bytes(kernel)

    @guarded
    def allow_shared(self, kernel: int, size: int) -> None:
        libcuda.allow_shared(kernel, size)

    @guarded
    def launch(self, kernel: int, grid: int, threads: int, shared: int, values: Sequence[Value]) -> None:
        packed = struct.pack(self.forms[kernel], *values)
        libcuda.launch(kernel, grid, threads, shared, self.stream, packed)

    # ---- for machine code ------------------------------------------------------------------------------------------

    def handle(self, kernel: int) -> int:
        return kernel

    def entry_points(self) -> EntryPoints | None:
        found = libcuda.graph_functions()
        graphs = None if found is None else Graphs(**found, make=self.make_graph, drop=self.drop_graph)
        functions = libcuda.addresses(libcuda.FUNCTIONS | libcuda.EVENT_FUNCTIONS)
        return EntryPoints(**functions, pinned=self.pinned, graphs=graphs)

    @guarded
    def make_graph(self, steps: Sequence[Step]) -> tuple[int, Sequence[int]]:
        return libcuda.make_graph(steps)

    @guarded
    def drop_graph(self, graph: int) -> None:
        libcuda.drop_graph(graph)

    @guarded
    def pinned(self, size: int) -> int:
        self.pages.append(self.cuda.pagelocked_empty(size, np.uint8))
        return self.pages[-1].ctypes.data

    def error(self, code: int) -> Exception:
        return (DriverRefusal if is_usable(self) else DriverFault)(str(Refused(code)))

    # ---- order -----------------------------------------------------------------------------------------------------

    @guarded
    def synchronise(self) -> None:
        self.queue.synchronize()

    def await_stream(self, stream: int) -> None:
        status = libcuda.library().cuStreamSynchronize(ctypes.c_void_p(stream))
        if status != 0:
            raise DriverFault(f"the stream {stream:#x} of an argument: {libcuda.error_text(status)}")

    @guarded
    def make_events(self, count: int) -> Sequence[int]:
        made = [libcuda.make_event() for _ in range(count)]
        self.events += made
        return made

    @guarded
    def record(self, event: int) -> None:
        libcuda.record(event, self.stream)

    @guarded
    def elapsed(self, events: Sequence[int]) -> list[float]:
        return libcuda.elapsed(events)
