"""Programs whose host functions are machine code: a call fills a state, runs, and takes what it gives.

Context, memory and streams are the driver's in Python; what a call does with them is machine code from its beginning to
its end. It comes back to Python for memory that the pool of its buffers does not have, and for kernels of other block
sizes than were loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, c_int64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir.errors import IRError, Loc
from ....ir.scalar import DTYPES
from ....ir.types import Type
from ...host_ir.nodes import HostProgram
from ...host_ir.timing_events import Event
from ...kernel_ir.nodes import Space
from ..cpu.argument_words import word_of
from ..cpu.host.calls import Default, Settings, called, set_settings, take_events, take_trace
from ..cpu.host.emit import emit_host
from ..cpu.host.failure_sites import MemorySite, error_of, recorded
from ..cpu.host.layout import NativeFun, argument_places, result_places
from ..cpu.runtime import jit
from ..cpu.runtime import thread_pool as pool
from ..cpu.runtime.assembly import Status, Word
from ..device import KernelFailure, Trace
from ..failures import values_of
from ..run_errors import room_error
from .array import CudaArray
from .dlpack import dense
from .gpu import Gpu
from .host import structs
from .host.launches import cuda_backend
from .host.limits import FIRST_STACK, MOST_SHARED, RECORD
from .host.runtime import runtime
from .host.structs import variant_number, variant_of
from .memory_pool import Block
from .native_gpu import NativeGpu
from .prepared import Prepared

NEED = CFUNCTYPE(None, c_int64, c_int64)
HOST = CFUNCTYPE(c_int64, c_void_p)
Variants = Callable[[str, int, bool, bool, bool], Prepared]
"""The kernel of a name for blocks of a number of threads, which take turns or not, with wide indices or not, with
arrays of a block in global memory or not."""
Failed = Callable[[Sequence[int]], KernelFailure]


@dataclass(slots=True)
class Entry:
    """A host function as code, the table of its kernels, and a state that no call uses; `need` must outlive it."""

    info: NativeFun
    code: Any
    kernels: ctypes.Array[Any]
    words: ctypes.Array[c_int64]
    need: Any
    settings: Settings | None = None


@dataclass(slots=True)
class NativeProgram:
    """`kernels` by name; `variants` are kept alive here."""

    gpu: Gpu
    native: NativeGpu
    compiled: jit.CompiledKernels
    kernels: dict[str, structs.Kernel]
    entries: dict[str, Entry] = field(default_factory=dict)
    variants: list[structs.Variant] = field(default_factory=list)

    @staticmethod
    def of(
        gpu: Gpu, native: NativeGpu, program: HostProgram, usual: dict[str, Prepared], variants: Variants
    ) -> NativeProgram | None:
        """The host functions that have a native form; None if none has. `usual`: the kernels as they are loaded."""
        ready = {name: prepared.kernel for name, prepared in usual.items()}
        bounds = {name: prepared.text.bound for name, prepared in usual.items()}
        text, made = emit_host(program, cuda_backend(ready, bounds))
        if not made:
            return None
        runtime()
        compiled = jit.load_source(jit.source_of(text, jit.Effort.QUICK), tuple(info.symbol for info in made))
        tables = {name: table(prepared) for name, prepared in usual.items()}
        result = NativeProgram(gpu, native, compiled, tables)
        for name, prepared in usual.items():
            if prepared.loaded is not None:
                result.put(name, variant_number(prepared.asked, False, False, False), prepared)
        for info in made:
            result.entries[info.fun.entry.name] = result.entry(info, variants)
        return result

    def put(self, kernel: str, number: int, prepared: Prepared) -> None:
        """A variant of a kernel into its table."""
        text = prepared.text
        made = structs.Variant(
            self.native.driver.handle(prepared.loaded), text.threads, text.together, text.take_turns, text.fails,
            bool(text.stacks), prepared.shared_left, text.near,
        )  # fmt: skip
        self.variants.append(made)
        self.kernels[kernel].variants[number] = ctypes.addressof(made)

    def entry(self, info: NativeFun, variants: Variants) -> Entry:
        """A host function, ready to be called."""

        def need(number: int, which: int) -> None:
            try:
                self.put(info.kernels[number], which, variants(info.kernels[number], *variant_of(which)))
            except BaseException as why:
                self.native.raised = why

        kernels = (c_void_p * max(1, len(info.kernels)))(*(ctypes.addressof(self.kernels[k]) for k in info.kernels))
        words, callback = (c_int64 * info.words)(), NEED(need)
        words[Word.KERNELS], words[Word.NEED] = ctypes.addressof(kernels), address_of(callback)
        words[Word.RECORD] = ctypes.addressof(words) + 8 * info.record
        words[Word.STOP] = ctypes.addressof(pool.the_pool().stop_flag)
        words[Word.DEVICE] = ctypes.addressof(self.native.words)
        return Entry(info, HOST(self.compiled.address(info.symbol)), kernels, words, callback)

    def forget_stacks(self) -> None:
        """What stacks have grown to is nothing to another version."""
        for kernel in self.kernels.values():
            kernel.block_stack, kernel.thread_stack = FIRST_STACK[Space.SHARED], FIRST_STACK[Space.PRIVATE]

    def enlarge(self, kernel: str, space: Space, size: int) -> None:
        """What arrays of a kernel get from now on, where only it knows what they take."""
        setattr(self.kernels[kernel], "thread_stack" if space is Space.PRIVATE else "block_stack", size)

    # ---- a call ----------------------------------------------------------------------------------------------------

    def call(
        self, name: str, args: Sequence[Any], settings: Settings, default: Default, failed: Failed, loc: Loc,
        log: list[Event] | None,
    ) -> tuple[list[Any], Trace]:  # fmt: skip
        """Results, arrays of their own, and the guards reached. `args`: without the sizes, arrays dense. Times in the
        log are numbers of marks."""
        entry, native = self.entries[name], self.native
        words = entry.words
        if entry.settings != settings:
            set_settings(entry.info, words, settings, default)
            entry.settings = dict(settings[0]), dict(settings[1])
        for (param, at), arg in zip(argument_places(entry.info.fun), args, strict=True):
            words[at : at + 1 + param.type.rank] = argument_words(param.type, arg)
        words[Word.TIMED], words[Word.TRACED] = log is not None, 0
        native.short = native.raised = None
        status = entry.code(ctypes.addressof(words))
        try:
            if status == Status.FINE:
                return list(self.results(entry)), take_trace(entry.info, words)
            self.forget_results(entry)
            raise self.error(entry, Status(status), failed, loc)
        finally:
            if log is not None:
                log.extend(take_events(entry.info, words, 1.0))

    def results(self, entry: Entry) -> Iterator[Any]:
        """The components that the user sees. Two that share memory become two arrays."""
        seen: dict[int, CudaArray] = {}
        for param, at in result_places(entry.info):
            type_, words = param.type, entry.words
            if not type_.shape:
                yield result_scalar(type_, words[at])
                continue
            shape = tuple(words[at + 2 : at + 2 + type_.rank])
            if (buffer := words[at]) in seen:
                first = seen[buffer]
                again = CudaArray(self.gpu, first.block, words[at + 1], shape, dense(shape), type_.prim)
                yield self.gpu.finished_copy(again)
                words[at] = 0
                continue
            block = self.taken(buffer)
            words[at] = 0
            seen[buffer] = CudaArray(self.gpu, block, words[at + 1], shape, dense(shape), type_.prim)
            yield seen[buffer]

    def taken(self, buffer: int) -> Block:
        """The memory of a buffer, which machine code forgets."""
        of = structs.Buffer.from_address(buffer)
        block = Block(of.address, of.capacity, self.native.pool.returned)
        self.native.let_go(buffer)
        return block

    def forget_results(self, entry: Entry) -> None:
        """Of a call that failed, which may have made some."""
        for param, at in result_places(entry.info):
            if param.type.shape and entry.words[at]:
                self.native.drop(entry.words[at])
                entry.words[at] = 0

    def error(self, entry: Entry, status: Status, failed: Failed, loc: Loc) -> BaseException:
        """The exception for a status."""
        native, record = self.native, entry.words[entry.info.record : entry.info.record + RECORD]
        if native.raised is not None:
            return native.raised
        match status:
            case Status.SITE:
                return self.site_error(entry, loc)
            case Status.KERNEL:
                return failed(record)
            case Status.DRIVER:
                return native.driver.error(native.words.error)
            case Status.STOPPED:
                pool.forget_stop()
                return KeyboardInterrupt()
            case Status.MEMORY:
                return MemoryError("no room for the trace of the guards, or for a call")
            case _:
                return IRError(f"{entry.info.symbol} ends with {status.name}")

    def site_error(self, entry: Entry, loc: Loc) -> BaseException:
        """Of a check of the host; memory is that of the GPU."""
        site, record = entry.info.sites[entry.words[Word.FAILED]], entry.words[entry.info.record :]
        values = values_of(record, recorded(site))
        short = self.native.short
        if isinstance(site, MemorySite) and short is not None:
            return room_error(short, site.what, site.loc if site.loc.line else loc)
        return called(error_of(site, values), entry.info, entry.words)


def table(prepared: Prepared) -> structs.Kernel:
    """A kernel without variants."""
    first = FIRST_STACK[Space.SHARED], FIRST_STACK[Space.PRIVATE]
    return structs.Kernel(MOST_SHARED[prepared.kernel.collective], prepared.asked, *first)


def address_of(function: Any) -> int:
    """Of a callback."""
    return ctypes.cast(function, c_void_p).value or 0


def argument_words(type_: Type, arg: Any) -> list[int]:
    """A scalar, or address and sizes."""
    return [arg.address, *arg.shape] if type_.shape else [word_of(type_.prim)(arg)]


def result_scalar(type_: Type, word: int) -> Any:
    """A scalar of a result: its bytes are the first of the word."""
    data = (word & (1 << 64) - 1).to_bytes(8, "little")
    return np.frombuffer(data, DTYPES[type_.prim], 1)[0]
