"""A driver without a GPU: memory of the host, kernels of CUDA C in the fiber emulator, one after the other.

The same path as with a GPU, but for the last layer. Memory is limited, so that running out of it can be tested, and
filled with rubbish, so that nothing relies on zeros. Work is done when it is asked for; what has been asked for and
not been waited for is counted as if it were not; until then an array that is uploaded has to stay as it is.
"""

from __future__ import annotations

import ctypes
import math
import platform
import re
import shutil
import struct
import subprocess
import tempfile
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from soac.ir.errors import IRError
from soac.ir.machine import BLOCK
from soac.ir.types import Prim
from soac.kernels.cuda_c.ops import c_type
from soac.kernels.devices import disk_cache as disk
from soac.kernels.devices.cuda import dlpack, libcuda
from soac.kernels.devices.cuda.driver import (
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
from soac.kernels.devices.cuda.gpu import Gpu
from tests.support.emulator.emulate import COMPILER, FLAGS, HERE

RUBBISH = 0xA5
SIZES = {c_type(prim): prim.bytes for prim in Prim}
SHARED = re.compile(r"(?:alignas\((\d+)\) )?__shared__ (\w+) \w+((?:\[\d+\])*);")
WAITING = re.compile(r"\b(wait_for|acquire)\(")
COMPILER_SECONDS = 300
"""Of the processor, that compiling the kernels of a program may take."""


@dataclass(frozen=True, slots=True)
class Emulated:
    """A kernel as emulated machine code, the text of its module, and the shared memory that it declares."""

    signature: Signature
    library: ctypes.CDLL
    text: str
    shared: int

    def problem(self) -> str:
        """What has ended a launch, with the line of the text that it names."""
        what = self.library.emulator_problem().decode()
        line = re.search(r"at line (\d+)", what)
        shown = f": {self.text.splitlines()[int(line[1]) - 1].strip()}" if line else ""
        return f"{self.signature.name}: {what}{shown}"


@dataclass(frozen=True, slots=True)
class Launched:
    """What a launch asked for."""

    name: str
    grid: int
    threads: int
    shared: int
    values: tuple[Value, ...]


@dataclass(slots=True)
class EmulatedDriver:
    """`order` is that of the threads of a block; `limit` the bytes that there are; `names` of kernels that ran. With
    `compiled_host` machine code calls it too, by functions in `kept`; `raised` is what ended such a call."""

    order: int = 0
    limit: int = 1 << 28
    properties: Properties = Properties("the emulator", "sm_90", 2, BLOCK.opt_in)
    stream: int = 77
    place: tuple[int, int] = (dlpack.CPU, 0)
    held: dict[int, np.ndarray] = field(default_factory=dict, repr=False)
    used: int = 0
    most_grid: int = (1 << 31) - 1
    launches: int = 0
    names: set[str] = field(default_factory=set)
    launched: deque[Launched] = field(default_factory=lambda: deque(maxlen=100))
    allowed: dict[int, int] = field(default_factory=dict)
    waits: int = 0
    awaited: list[int] = field(default_factory=list)
    uploads: list[tuple[weakref.ref[np.ndarray], int]] = field(default_factory=list)
    broken: str | None = None
    compiled_host: bool = True
    handles: list[Emulated] = field(default_factory=list, repr=False)
    kept: list[object] = field(default_factory=list, repr=False)
    raised: Exception | None = None
    graphs: dict[int, list[Step]] = field(default_factory=dict)
    graph_launches: int = 0
    changed: int = 0
    moments: list[float] = field(default_factory=list, repr=False)
    readings: int = 0

    def attach(self) -> None: ...

    def detach(self) -> None: ...

    def alloc(self, size: int) -> int:
        if self.used + size > self.limit:
            raise DriverMemoryError(f"{size} bytes")
        raw = np.full(size + 256, RUBBISH, np.uint8)
        address = -(-raw.ctypes.data // 256) * 256
        self.held[address] = raw
        self.used += size
        return address

    def free(self, address: int) -> None:
        self.used -= self.held.pop(address).size - 256

    def memory(self) -> tuple[int, int]:
        return self.limit - self.used, self.limit

    def upload(self, address: int, array: np.ndarray) -> None:
        assert array.flags.c_contiguous
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
        self.uploads.append((weakref.ref(array), zlib.crc32(array.data)))

    def download(self, array: np.ndarray, address: int) -> None:
        self.synchronise()
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def clear(self, address: int, size: int) -> None:
        ctypes.memset(address, 0, size)

    def set(self, address: int, word: int, width: int, count: int) -> None:
        ctypes.memmove(address, word.to_bytes(width, "little") * count, width * count)

    def load(self, text: str, signatures: Sequence[Signature]) -> dict[str, Emulated]:
        whole, shared = emulated_text(text, signatures), declared_shared(text)
        for refused in too_much(shared):
            raise IRError(refused)
        return {one.name: Emulated(one, compiled(whole), whole, shared.get(one.name, 0)) for one in signatures}

    def compiler(self) -> Callable[[str, Sequence[Signature]], object]:
        return compile_emulated

    def shared_bytes(self, kernel: Emulated) -> int:
        return kernel.shared

    def allow_shared(self, kernel: Emulated, size: int) -> None:
        if size + kernel.shared > self.properties.shared_bytes:
            raise DriverRefusal(f"{size} bytes of shared memory")
        self.allowed[id(kernel)] = size

    def launch(self, kernel: Emulated, grid: int, threads: int, shared: int, values: Sequence[Value]) -> None:
        if self.broken is not None:
            raise DriverFault(self.broken)
        if not 1 <= grid <= self.most_grid or not 1 <= threads <= 1024 or shared > self.most_shared(kernel):
            raise DriverRefusal(f"a launch of {grid} blocks of {threads} threads with {shared} bytes")
        self.launches += 1
        self.names.add(kernel.signature.name)
        self.launched.append(Launched(kernel.signature.name, grid, threads, shared, tuple(values)))
        form = "".join(p.form for p in kernel.signature.parameters)
        arguments = ctypes.create_string_buffer(struct.pack(form, *values))
        entry = getattr(kernel.library, f"emulate_{kernel.signature.name}")
        if entry(arguments, ctypes.c_int64(grid), threads, self.order):
            raise DriverFault(kernel.problem())

    def most_shared(self, kernel: Emulated) -> int:
        """As a GPU, which gives more than 48 KiB where it has been asked to."""
        return max(BLOCK.bytes - kernel.shared, self.allowed.get(id(kernel), 0))

    def entry_points(self) -> EntryPoints | None:
        if not self.compiled_host:
            return None
        i32, i64, at = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p

        def copying(to: int, source: int, size: int, stream: int) -> int:
            return self.code_of(lambda: ctypes.memmove(to, source, size))

        jobs = {
            "launch": ctypes.CFUNCTYPE(i32, at, *(i32,) * 7, at, at, ctypes.POINTER(at))(self.launch_packed),
            "download": ctypes.CFUNCTYPE(i32, at, at, i64, at)(copying),
            "upload": ctypes.CFUNCTYPE(i32, at, at, i64, at)(copying),
            "copy": ctypes.CFUNCTYPE(i32, at, at, i64, at)(copying),
            "clear": ctypes.CFUNCTYPE(i32, at, ctypes.c_ubyte, i64, at)(
                lambda to, byte, size, stream: self.code_of(lambda: ctypes.memset(to, byte, size))
            ),
            "set_16": ctypes.CFUNCTYPE(i32, at, ctypes.c_uint16, i64, at)(
                lambda to, word, count, stream: self.code_of(lambda: self.set(to, word, 2, count))
            ),
            "set_32": ctypes.CFUNCTYPE(i32, at, ctypes.c_uint32, i64, at)(
                lambda to, word, count, stream: self.code_of(lambda: self.set(to, word, 4, count))
            ),
            "wait": ctypes.CFUNCTYPE(i32, at)(lambda stream: self.code_of(self.synchronise)),
            "record": ctypes.CFUNCTYPE(i32, i64, at)(lambda event, stream: self.code_of(lambda: self.record(event))),
        }
        self.kept += jobs.values()
        return EntryPoints(**addresses(jobs), pinned=self.pinned, graphs=self.graph_points())

    def graph_points(self) -> Graphs:
        """Graphs are lists of steps; a step is changed by what machine code writes of the driver's structures."""
        i32, at = ctypes.c_int, ctypes.c_void_p
        jobs = {
            "launch": ctypes.CFUNCTYPE(i32, ctypes.c_int64, at)(
                lambda graph, stream: self.code_of(lambda: self.run_graph(graph))
            ),
            "set_kernel": ctypes.CFUNCTYPE(i32, ctypes.c_int64, ctypes.c_int64, at)(
                lambda graph, node, what: self.code_of(lambda: self.set_kernel(graph, node, what))
            ),
            "set_copy": ctypes.CFUNCTYPE(i32, ctypes.c_int64, ctypes.c_int64, at, at)(
                lambda graph, node, what, context: self.code_of(
                    lambda: self.set_step(graph, node, Step(0, 0, 0, 0, ctypes.string_at(what, 200)))
                )
            ),
        }
        self.kept += jobs.values()
        return Graphs(**addresses(jobs), context=0, make=self.make_graph, drop=self.drop_graph)

    def make_graph(self, steps: Sequence[Step]) -> tuple[int, Sequence[int]]:
        self.graphs[number := 1 + max(self.graphs, default=0)] = list(steps)
        return number, range(1, len(steps) + 1)

    def drop_graph(self, graph: int) -> None:
        del self.graphs[graph]

    def set_kernel(self, graph: int, node: int, what: int) -> None:
        params = libcuda.KernelNode.from_address(what)
        assert [*params.grid[1:], *params.block[1:]] == [1, 1, 1, 1]
        extra = (ctypes.c_void_p * 5).from_address(params.extra)
        size = ctypes.c_int64.from_address(extra[3]).value
        values = ctypes.string_at(extra[1], size)
        self.set_step(graph, node, Step(params.function, params.grid[0], params.block[0], params.shared, values))

    def set_step(self, graph: int, node: int, step: Step) -> None:
        """The function of a node stays."""
        assert self.graphs[graph][node - 1].code == step.code
        self.graphs[graph][node - 1] = step
        self.changed += 1

    def run_graph(self, graph: int) -> None:
        self.graph_launches += 1
        for step in self.graphs[graph]:
            if step.code:
                what = self.handles[step.code - 1]
                form = "".join(p.form for p in what.signature.parameters)
                self.launch(what, step.grid, step.threads, step.shared, struct.unpack(form, step.values))
            else:
                words = struct.unpack("25q", step.values)
                assert (words[4], words[15], words[9], words[20], words[23:]) == (2, 2, words[22], words[22], (1, 1))
                ctypes.memmove(words[17], words[6], words[22])

    def pinned(self, size: int) -> int:
        self.kept.append(memory := ctypes.create_string_buffer(size))
        return ctypes.addressof(memory)

    def launch_packed(self, kernel: int, grid: int, y: int, z: int, threads: int, *rest: Any) -> int:
        """As `cuLaunchKernel`, with packed parameters."""
        _, _, shared, _, _, extra = rest
        what = self.handles[kernel - 1]
        form = "".join(p.form for p in what.signature.parameters)
        size = ctypes.c_int64.from_address(extra[3]).value
        assert (extra[0], extra[2], extra[4], y, z) == (1, 2, None, 1, 1)
        assert size == struct.calcsize(form)
        values = struct.unpack(form, ctypes.string_at(extra[1], size))
        return self.code_of(lambda: self.launch(what, grid, threads, shared, values))

    def code_of(self, job: Callable[[], object]) -> int:
        try:
            job()
        except Exception as why:
            self.raised = why
            return 999
        return 0

    def handle(self, kernel: Emulated) -> int:
        self.handles.append(kernel)
        return len(self.handles)

    def error(self, code: int) -> Exception:
        return self.raised or DriverFault(f"error {code}")

    def synchronise(self) -> None:
        """What is uploaded may be read up to here: it must be there, and be what it was."""
        self.waits += 1
        for array, was in self.uploads:
            held = array()
            assert held is not None, "an array has gone before it was uploaded"
            assert zlib.crc32(held.data) == was, "an array has changed before it was uploaded"
        self.uploads.clear()

    def await_stream(self, stream: int) -> None:
        self.awaited.append(stream)

    def make_events(self, count: int) -> Sequence[int]:
        first = len(self.moments)
        self.moments += [math.nan] * count
        return range(first + 1, first + count + 1)

    def record(self, event: int) -> None:
        self.moments[event - 1] = time.perf_counter()

    def elapsed(self, events: Sequence[int]) -> list[float]:
        self.readings += 1
        return [self.moments[event - 1] - self.moments[events[0] - 1] for event in events]


def addresses(jobs: dict[str, Any]) -> dict[str, int]:
    """Of callbacks."""
    return {name: ctypes.cast(job, ctypes.c_void_p).value or 0 for name, job in jobs.items()}


def compile_emulated(text: str, signatures: Sequence[Signature]) -> None:
    """A module into the cache."""
    shutil.rmtree(library_of(emulated_text(text, signatures)).parent)


def emulated_text(text: str, signatures: Sequence[Signature]) -> str:
    """C++ with a function for each kernel that emulates a launch of it."""
    waiting = waiting_kernels(text)
    wrappers = (wrapper(signature, signature.name in waiting) for signature in signatures)
    return "\n".join(['#include "cuda_emulator.h"', text, *wrappers])


def waiting_kernels(text: str) -> set[str]:
    """The kernels whose blocks wait for each other."""
    return {name for name, kernel in kernels_of(text) if WAITING.search(kernel)}


def kernels_of(text: str) -> Iterator[tuple[str, str]]:
    """The names and texts of the kernels of a module."""
    _, *kernels = re.split(r'^extern "C" __global__ ', text, flags=re.MULTILINE)
    for kernel in kernels:
        name = re.search(r"(\w+)\([^()]*\) \{$", kernel, re.MULTILINE)
        assert name is not None
        yield name[1], kernel


def declared_shared(text: str) -> dict[str, int]:
    """The bytes of shared memory that each kernel of a module declares, to within 16: the assembler orders arrays by
    their alignment."""
    found = dict[str, int]()
    for name, kernel in kernels_of(text):
        sizes, arrays, end = dict(SIZES), list[tuple[int, int]](), 0
        for kind, fields in re.findall(r"struct (\w+) \{\n(.*?)\n *\};", kernel, re.DOTALL):
            sizes[kind] = sum(map(int, re.findall(r"alignas\((\d+)\) i32 status", fields)))
        for aligned, kind, dims in re.findall(SHARED, kernel):
            arrays.append((int(aligned or sizes[kind]), sizes[kind] * math.prod(map(int, re.findall(r"\d+", dims)))))
        for align, size in sorted(arrays, reverse=True):
            end = -(-end // align) * align + size
        found[name] = -(-end // 16) * 16
    return found


def too_much(shared: Mapping[str, int]) -> Iterator[str]:
    """Of the kernels that declare more than there may be."""
    for name, size in shared.items():
        if size > BLOCK.bytes:
            yield f"{name} declares {size} bytes of shared memory, and the assembler takes {BLOCK.bytes}"


def wrapper(signature: Signature, waits: bool) -> str:
    """A C function that emulates a launch. Arguments are packed as for a GPU, which is as C lays out a structure;
    blocks that wait for each other are under way together."""
    name, resident = signature.name, "emulator::RESIDENT" if waits else "1"
    fields = " ".join(f"{p.c_type} a{k};" for k, p in enumerate(signature.parameters))
    args = ", ".join(f"arguments_of_{name}->a{k}" for k in range(len(signature.parameters)))
    return f"""
static struct {{ {fields} }} *arguments_of_{name};
extern "C" int emulate_{name}(void *arguments, i64 grid, int threads, int order) {{
  arguments_of_{name} = (decltype(arguments_of_{name}))arguments;
  return emulator::launch([] {{ {name}({args}); }}, grid, threads, order, {resident});
}}"""


_libraries: dict[str, ctypes.CDLL] = {}


def compiled(text: str) -> ctypes.CDLL:
    """The text as a library, loaded once in a process, and compiled once as long as the cache keeps it."""
    if text not in _libraries:
        place = library_of(text)
        library = ctypes.CDLL(str(place))
        shutil.rmtree(place.parent)
        library.emulator_problem.restype = ctypes.c_char_p
        _libraries[text] = library
    return _libraries[text]


def library_of(text: str) -> Path:
    """The text compiled, in a folder of its own; as long as the cache keeps it, it is compiled once."""
    header = (HERE / "cuda_emulator.h").read_text(encoding="utf-8")
    key = disk.key_of(text, header, "emulated-1", *FLAGS, str(COMPILER), platform.machine())
    cache, place = disk.user_cache(), Path(tempfile.mkdtemp(), "kernels.so")
    if (known := disk.get(cache, key)) is not None:
        place.write_bytes(known)
    else:
        disk.put(cache, key, compile_library(text, place).read_bytes())
    return place


def compile_library(text: str, library: Path) -> Path:
    source = library.with_suffix(".cpp")
    source.write_text(text, encoding="utf-8")
    assert COMPILER is not None
    limited = ("sh", "-c", f'ulimit -t {COMPILER_SECONDS} && exec "$@"', "sh")
    command = [*limited, COMPILER, *FLAGS, f"-I{HERE}", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000] or f"the compiler has ended with {done.returncode}"
    return library


def emulated_gpu(driver: EmulatedDriver | None = None) -> Gpu:
    return Gpu(EmulatedDriver() if driver is None else driver)
