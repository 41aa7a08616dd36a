"""A driver that does nothing: no kernel runs, what is read is zero. What a host program asks of it is counted, and what
it takes for that is its own time.

Its functions are machine code, as the driver's are; `cuLaunchKernel` takes the time of `spins` turns of a loop. By the
clock of its events a launch takes a second, and nothing else takes time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.devices.cuda import dlpack
from soac.kernels.devices.cuda.driver import DriverFault, EntryPoints, Graphs, Properties, Signature, Step, Value
from soac.kernels.devices.cuda.gpu import Gpu

FUNCTIONS = """
@spins = internal global i64 0
@counts = internal global [2 x i64] zeroinitializer
define ptr @null_counts() {
  ret ptr @counts
}
define internal void @count(ptr %place) {
  %before = load i64, ptr %place
  %after = add i64 %before, 1
  store i64 %after, ptr %place
  ret void
}
define i32 @null_record(ptr %event, ptr %stream) noinline {
  %now = load i64, ptr @counts
  store i64 %now, ptr %event
  ret i32 0
}
define void @null_spins(i64 %n) {
  store i64 %n, ptr @spins
  ret void
}
define i32 @null_launch(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr) noinline {
entry:
  call void @count(ptr @counts)
  %n = load i64, ptr @spins
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %go, label %done
go:
  %k1 = add i64 %k, 1
  call void asm sideeffect "", ""()
  br label %each
done:
  ret i32 0
}
define i32 @null_copy(ptr %to, ptr %from, i64 %bytes, ptr %stream) noinline {
  ret i32 0
}
define i32 @null_clear(ptr %to, i8 %byte, i64 %bytes, ptr %stream) noinline {
  ret i32 0
}
define i32 @null_set_16(ptr %to, i16 %word, i64 %count, ptr %stream) noinline {
  ret i32 0
}
define i32 @null_set_32(ptr %to, i32 %word, i64 %count, ptr %stream) noinline {
  ret i32 0
}
define i32 @null_graph(ptr %graph, ptr %stream) noinline {
  call void @count(ptr @counts)
  ret i32 0
}
define i32 @null_set_kernel(ptr %graph, ptr %node, ptr %params) noinline {
  ret i32 0
}
define i32 @null_set_copy(ptr %graph, ptr %node, ptr %params, ptr %context) noinline {
  ret i32 0
}
define i32 @null_wait(ptr %stream) noinline {
  call void @count(ptr getelementptr (i64, ptr @counts, i64 1))
  ret i32 0
}
define void @null_loop(i64 %count, ptr %launch, ptr %extra) {
entry:
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %k1, %go ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %go, label %done
go:
  %code = call i32 %launch(ptr null, i32 1, i32 1, i32 1, i32 256, i32 1, i32 1, i32 0, ptr null, ptr null, ptr %extra)
  %k1 = add i64 %k, 1
  br label %each
done:
  ret void
}
"""
NAMES = (
    "null_launch",
    "null_copy",
    "null_clear",
    "null_set_16",
    "null_set_32",
    "null_wait",
    "null_record",
    "null_loop",
    "null_spins",
    "null_graph",
    "null_set_kernel",
    "null_set_copy",
    "null_counts",
)


@dataclass(slots=True)
class NullDriver:
    """Memory is addresses; `compiled_host` as for the emulated driver. `counts`: launches, and waits for the stream;
    `readings` of the times of events, of which there are `made_events`."""

    compiled_host: bool = True
    properties: Properties = Properties("nothing", "sm_90", 132, 227 << 10)
    stream: int = 1
    place: tuple[int, int] = (dlpack.CPU, 0)
    code: jit.CompiledKernels = field(default_factory=lambda: jit.load_text(FUNCTIONS, NAMES))
    next: int = 1 << 40
    launches: int = 0
    downloads: int = 0
    loaded: int = 0
    made: int = 0
    pages: list[object] = field(default_factory=list)
    readings: int = 0
    made_events: int = 0

    @property
    def counts(self) -> ctypes.Array[ctypes.c_int64]:
        place = ctypes.CFUNCTYPE(ctypes.c_void_p)(self.code.address("null_counts"))()
        return (ctypes.c_int64 * 2).from_address(place)

    def attach(self) -> None: ...
    def detach(self) -> None: ...
    def alloc(self, size: int) -> int:
        self.next += -(-size // 256) * 256
        return self.next - size

    def free(self, address: int) -> None: ...
    def memory(self) -> tuple[int, int]:
        return 1 << 36, 1 << 37

    def upload(self, address: int, array: np.ndarray) -> None: ...
    def download(self, array: np.ndarray, address: int) -> None:
        self.downloads += 1
        self.synchronise()
        array.fill(0)

    def copy(self, target: int, source: int, size: int) -> None: ...
    def clear(self, address: int, size: int) -> None: ...
    def set(self, address: int, word: int, width: int, count: int) -> None: ...
    def load(self, text: str, signatures: Sequence[Signature]) -> Mapping[str, int]:
        self.loaded += 1
        return {signature.name: k + 1 for k, signature in enumerate(signatures)}

    def compiler(self) -> Callable[[str, Sequence[Signature]], object]:
        return lambda text, signatures: None

    def shared_bytes(self, kernel: int) -> int:
        return 0

    def allow_shared(self, kernel: int, size: int) -> None: ...
    def launch(self, kernel: int, grid: int, threads: int, shared: int, values: Sequence[Value]) -> None:
        self.launches += 1
        self.counts[0] += 1

    def entry_points(self) -> EntryPoints | None:
        launch, copy, clear, set_16, set_32, wait, record = map(self.code.address, NAMES[:7])
        graph, set_kernel, set_copy = map(self.code.address, NAMES[9:12])
        graphs = Graphs(graph, set_kernel, set_copy, 0, self.graph, lambda graph: None)
        found = EntryPoints(launch, copy, copy, copy, clear, set_16, set_32, wait, record, self.pinned, graphs)
        return found if self.compiled_host else None

    def graph(self, steps: Sequence[Step]) -> tuple[int, Sequence[int]]:
        self.made += 1
        return self.made, range(1, len(steps) + 1)

    def pinned(self, size: int) -> int:
        self.pages.append(page := ctypes.create_string_buffer(size))
        return ctypes.addressof(page)

    def handle(self, kernel: int) -> int:
        return kernel

    def error(self, code: int) -> Exception:
        return DriverFault(f"error {code}")

    def synchronise(self) -> None:
        self.counts[1] += 1

    def await_stream(self, stream: int) -> None: ...
    def make_events(self, count: int) -> Sequence[int]:
        self.made_events += count
        self.pages.append(made := (ctypes.c_int64 * count)())
        return [ctypes.addressof(made) + 8 * k for k in range(count)]

    def record(self, event: int) -> None:
        ctypes.c_int64.from_address(event).value = self.counts[0]

    def elapsed(self, events: Sequence[int]) -> list[float]:
        self.readings += 1
        first, *_ = times = [ctypes.c_int64.from_address(event).value for event in events]
        return [float(time - first) for time in times]

    def spin(self, turns: int) -> None:
        """What a launch takes from now on."""
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.code.address("null_spins"))(turns)

    def loop(self, launches: int) -> None:
        """The same launches, by a loop that does nothing else."""
        run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(self.code.address("null_loop"))
        run(launches, self.code.address("null_launch"), None)


def null_gpu(compiled_host: bool = True) -> tuple[Gpu, NullDriver]:
    """A GPU that does nothing."""
    driver = NullDriver(compiled_host)
    return Gpu(driver), driver
