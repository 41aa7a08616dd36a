"""NVIDIA's driver library, asked without PyCUDA: which GPUs there are, or why there is none to be seen."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .driver import Step

NAMES = ("libcuda.so.1", "nvcuda.dll")
_MAJOR, _MINOR = 75, 76
"""The attributes of a device that hold its compute capability."""


class NoDriver(Exception):
    """Why there is no GPU to be used."""


@dataclass(frozen=True, slots=True)
class Found:
    """A GPU that the driver shows; `driver` is the version of CUDA that it knows."""

    name: str
    arch: str
    memory: int
    driver: tuple[int, int]


@cache
def library() -> ctypes.CDLL:
    """Raises NoDriver."""
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoDriver("no NVIDIA driver: the library libcuda.so.1 is not on this machine")


def error_text(status: int) -> str:
    """What the driver calls a status."""
    text = ctypes.c_char_p()
    library().cuGetErrorString(status, ctypes.byref(text))
    return text.value.decode(errors="replace") if text.value else f"error {status}"


def gpus() -> tuple[Found, ...]:
    """The GPUs of this machine, at least one. Raises NoDriver."""
    cuda = library()
    status = cuda.cuInit(0)
    if status != 0:
        raise NoDriver(f"the NVIDIA driver does not start: {error_text(status)}")
    count = ctypes.c_int()
    _must(cuda.cuDeviceGetCount(ctypes.byref(count)))
    if count.value == 0:
        raise NoDriver("the NVIDIA driver shows no GPU")
    version = ctypes.c_int()
    _must(cuda.cuDriverGetVersion(ctypes.byref(version)))
    return tuple(_gpu(cuda, number, divmod(version.value // 10, 100)) for number in range(count.value))


def _gpu(cuda: ctypes.CDLL, number: int, driver: tuple[int, int]) -> Found:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    memory, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
    _must(cuda.cuDeviceGet(ctypes.byref(device), number))
    _must(cuda.cuDeviceGetName(name, len(name), device))
    _must(cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device))
    _must(cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device))
    _must(cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device))
    return Found(name.value.decode(errors="replace"), f"sm_{major.value}{minor.value}", memory.value, driver)


def _must(status: int) -> None:
    if status != 0:
        raise NoDriver(f"the NVIDIA driver fails: {error_text(status)}")


# ---- kernels --------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "launch": "cuLaunchKernel",
    "download": "cuMemcpyDtoHAsync_v2",
    "upload": "cuMemcpyHtoDAsync_v2",
    "copy": "cuMemcpyDtoDAsync_v2",
    "clear": "cuMemsetD8Async",
    "set_16": "cuMemsetD16Async",
    "set_32": "cuMemsetD32Async",
    "wait": "cuStreamSynchronize",
}
"""What compiled host programs call, under the names of `EntryPoints`, libraries too."""

EVENT_FUNCTIONS = {"record": "cuEventRecord"}
"""And what libraries do not call."""

_SHARED_BYTES, _MOST_DYNAMIC = 1, 8
"""The attributes of a function that are its shared memory, and the most that launches add to it."""


def addresses(functions: Mapping[str, str] = FUNCTIONS) -> dict[str, int]:
    """Of functions of the driver, under our names."""
    cuda = library()
    return {name: ctypes.cast(getattr(cuda, symbol), ctypes.c_void_p).value or 0 for name, symbol in functions.items()}


def functions_of(image: bytes, names: Sequence[str]) -> tuple[int, ...]:
    """Kernels of a cubin as `cuLaunchKernel` takes them, loaded into the context that is current, for as long as that
    lives. Raises `Refused`."""
    module, function, cuda = ctypes.c_void_p(), ctypes.c_void_p(), library()
    _done(cuda.cuModuleLoadData(ctypes.byref(module), image))
    found: list[int] = []
    for name in names:
        _done(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        found.append(function.value or 0)
    return tuple(found)


def shared_bytes(function: int) -> int:
    """Shared memory that a block of a kernel has by its declarations. Raises `Refused`."""
    size = ctypes.c_int()
    _done(library().cuFuncGetAttribute(ctypes.byref(size), _SHARED_BYTES, ctypes.c_void_p(function)))
    return size.value


def allow_shared(function: int, size: int) -> None:
    """Lets launches of a kernel ask for `size` bytes of shared memory. Raises `Refused`."""
    _done(library().cuFuncSetAttribute(ctypes.c_void_p(function), _MOST_DYNAMIC, size))


def launch(function: int, grid: int, threads: int, shared: int, stream: int, values: bytes) -> None:
    """A launch with packed parameters. Raises `Refused`."""
    at, size = ctypes.c_void_p, ctypes.c_size_t(len(values))
    packed = ctypes.create_string_buffer(values, len(values))
    extra = (at * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), None)
    shape = (grid, 1, 1, threads, 1, 1, shared)
    _done(library().cuLaunchKernel(at(function), *map(ctypes.c_uint, shape), at(stream), None, extra))


# ---- events ---------------------------------------------------------------------------------------------------------


def make_event() -> int:
    """An event of the context that is current. Raises `Refused`."""
    event = ctypes.c_void_p()
    _done(library().cuEventCreate(ctypes.byref(event), 0))
    return event.value or 0


def drop_events(events: Sequence[int]) -> None:
    """Raises `Refused`."""
    for event in events:
        _done(library().cuEventDestroy_v2(ctypes.c_void_p(event)))


def record(event: int, stream: int) -> None:
    """Raises `Refused`."""
    _done(library().cuEventRecord(ctypes.c_void_p(event), ctypes.c_void_p(stream)))


def elapsed(events: Sequence[int]) -> list[float]:
    """Seconds from the first event to each, after the last one has come about. Raises `Refused`."""
    cuda, ms, found, places = library(), ctypes.c_float(), list[float](), [ctypes.c_void_p(event) for event in events]
    _done(cuda.cuEventSynchronize(places[-1]))
    for place in places:
        _done(cuda.cuEventElapsedTime(ctypes.byref(ms), places[0], place))
        found.append(ms.value * 1e-3)
    return found


# ---- graphs ---------------------------------------------------------------------------------------------------------

GRAPH_FUNCTIONS = {
    "launch": "cuGraphLaunch",
    "set_kernel": "cuGraphExecKernelNodeSetParams_v2",
    "set_copy": "cuGraphExecMemcpyNodeSetParams",
}
"""What compiled host programs call, under the names of `Graphs`."""


class KernelNode(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2`."""

    _fields_ = (
        ("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint), ("each", ctypes.c_void_p), ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p),
    )  # fmt: skip


def graph_functions() -> dict[str, int] | None:
    """The addresses of `GRAPH_FUNCTIONS`, and the context that is current; None where the library has none."""
    cuda, context = library(), ctypes.c_void_p()
    if not all(hasattr(cuda, symbol) for symbol in GRAPH_FUNCTIONS.values()):
        return None
    _done(cuda.cuCtxGetCurrent(ctypes.byref(context)))
    return {**addresses(GRAPH_FUNCTIONS), "context": context.value or 0}


def make_graph(steps: Sequence[Step]) -> tuple[int, Sequence[int]]:
    """An executable graph of steps one after the other, and their nodes. Raises `Refused`."""
    at, cuda = ctypes.c_void_p, library()
    graph, made, nodes, context = at(), at(), list[int](), at()
    _done(cuda.cuCtxGetCurrent(ctypes.byref(context)))
    _done(cuda.cuGraphCreate(ctypes.byref(graph), 0))
    try:
        for step in steps:
            node, before = at(), (at * 1)(*nodes[-1:])
            packed = ctypes.create_string_buffer(step.values, len(step.values))
            what = ctypes.byref(node), graph, before, ctypes.c_size_t(len(nodes[-1:]))
            if step.code:
                size = ctypes.c_size_t(len(step.values))
                extra = (at * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), None)
                grid, block = (ctypes.c_uint * 3)(step.grid, 1, 1), (ctypes.c_uint * 3)(step.threads, 1, 1)
                node_of = KernelNode(step.code, grid, block, step.shared, None, ctypes.addressof(extra), None, None)
                _done(cuda.cuGraphAddKernelNode_v2(*what, ctypes.byref(node_of)))
            else:
                _done(cuda.cuGraphAddMemcpyNode(*what, packed, context))
            nodes.append(node.value or 0)
        _done(cuda.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0)))
    finally:
        cuda.cuGraphDestroy(graph)
    return made.value or 0, nodes


def drop_graph(graph: int) -> None:
    """What is under way of it is still done. Raises `Refused`."""
    _done(library().cuGraphExecDestroy(ctypes.c_void_p(graph)))


class Refused(Exception):
    """The number that a function of the driver gave."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{error_text(code)} (error {code})")
        self.code = code


def _done(code: int) -> None:
    if code != 0:
        raise Refused(code)
