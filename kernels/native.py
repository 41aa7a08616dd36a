"""Native host programs, ready to be called: states filled and emptied, statuses as exceptions, results as arrays.

A result's memory belongs to the array that shows it: its base (`Owner`) gives the buffer back when the last view dies.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.scalar import DTYPES
from ..ir.types import Prim
from . import pool
from .arena import Arenas
from .executions import Begin, End, Event, Note
from .failures import failure, values_of
from .hostcode import NativeFun, result_words
from .hostcode_control import BEGIN
from .hostruntime import Runtime, Status, Word, runtime
from .hostsites import error_of, recorded
from .image import Image, MachineCode
from .jit import CompiledKernels
from .kir import Kernel
from .memory import address

SMALL = 1 << 10
"""Elements of a result below which an array of NumPy's own costs less than an owner."""

ALWAYS, NEVER = 0, (1 << 63) - 1
"""Thresholds of guards that are forced."""

Trace = tuple[tuple[str, int, bool], ...]
Default = Callable[[str], int]
Settings = tuple[Mapping[str, int], Mapping[str, bool]]


class Owner:
    """The base of a result: NumPy reads where its elements are, and its end is the buffer's."""

    __slots__ = ("__array_interface__", "buffer", "drop")

    def __init__(self, interface: dict[str, Any], buffer: int, drop: Callable[[int], int]) -> None:
        self.__array_interface__ = interface
        self.buffer, self.drop = buffer, drop

    def __del__(self) -> None:
        self.drop(self.buffer)


@dataclass(slots=True)
class State:
    """The words of a call, `settings` those its thresholds were made from."""

    words: ctypes.Array[ctypes.c_int64]
    address: int
    settings: Settings | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A result that the user sees: where it stands in the state, and how a scalar is read."""

    at: int
    rank: int
    dtype: np.dtype
    read: struct.Struct


@dataclass(frozen=True, slots=True)
class Entry:
    """A native function. `code`: its address; `idle`: states that no call uses now; `addresses`: the
    kernels', by their numbers; `guards`: the names of its settings."""

    info: NativeFun
    code: int
    kernels: tuple[Kernel, ...]
    addresses: ctypes.Array[ctypes.c_int64]
    results: tuple[Result, ...]
    runtime: Runtime
    guards: tuple[str, ...]
    idle: list[State] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Native:
    """The native functions of a program, by the names of their entries; `compiled` keeps their code alive."""

    entries: dict[str, Entry]
    compiled: CompiledKernels | None


def link(image: Image, code: MachineCode) -> Native:
    """The native functions of a program, with the kernels that they launch."""
    if code.host is None:
        return Native({}, None)
    shared = runtime()
    kernels = {kernel.name: kernel for kernel in image.kernels}
    entries = {info.fun.entry.name: _entry(info, code.host, kernels, code.kernels, shared) for info in image.native}
    return Native(entries, code.host)


def _entry(
    info: NativeFun, code: CompiledKernels, kernels: dict[str, Kernel], compiled: CompiledKernels, shared: Runtime
) -> Entry:
    table = (ctypes.c_int64 * len(info.kernels))(*(compiled.address(name) for name in info.kernels))
    used, guards = tuple(kernels[n] for n in info.kernels), tuple(setting.name for setting in info.settings)
    return Entry(info, code.address(info.symbol), used, table, _results(info), shared, guards)


def _results(info: NativeFun) -> tuple[Result, ...]:
    """The components that the user sees, in order."""
    starts, at = [], info.results
    for param in info.fun.results:
        starts.append(at)
        at += result_words(param.type)
    wanted = [k for result in info.fun.entry.results for k in result.components]
    types = [info.fun.results[k].type for k in wanted]
    return tuple(
        Result(starts[k], t.rank, DTYPES[t.prim], struct.Struct(_FORMATS[t.prim])) for k, t in zip(wanted, types)
    )


_FORMATS = {
    Prim.I8: "<b", Prim.I16: "<h", Prim.I32: "<i", Prim.I64: "<q", Prim.U8: "<B", Prim.U16: "<H", Prim.U32: "<I",
    Prim.U64: "<Q", Prim.F16: "<e", Prim.F32: "<f", Prim.F64: "<d", Prim.BOOL: "<?",
}  # fmt: skip
"""How a scalar stands at the start of its word."""


# ---- a call ------------------------------------------------------------------------------------------------------


def call(
    entry: Entry,
    words: Sequence[int],
    settings: Settings,
    default: Default,
    threads: int,
    arenas: Arenas,
    log: list[Event] | None,
) -> tuple[list[np.ndarray | np.generic], Trace]:
    """Run an entry on its arguments as words. `settings`: thresholds and forced decisions, `default` gives those that
    are not set. With a `log` the run is timed, and its events are put there, also if it fails. Raises RunError,
    KernelFailure, MemoryError, KeyboardInterrupt."""
    state = idle_state(entry)
    memory = state.words
    if entry.info.settings and state.settings != settings:
        set_words(entry, state, settings, default)
    memory[Word.FIRST : Word.FIRST + len(words)] = words
    memory[Word.ARENAS], memory[Word.THREADS] = arenas.address, threads
    memory[Word.TIMED] = log is not None
    memory[Word.LISTEN] = threading.get_ident() == threading.main_thread().ident
    try:
        status = entry.runtime.enter(entry.code, state.address)
        if status != Status.FINE:
            raise trouble(entry, memory, status)
        return take_results(entry, memory), take_trace(entry, memory)
    except BaseException:
        drop_results(entry, memory)
        raise
    finally:
        if log is not None:
            log.extend(take_events(entry, memory))
        memory[Word.TRACED] = 0
        entry.idle.append(state)


def idle_state(entry: Entry) -> State:
    """A state that no other call uses."""
    try:
        return entry.idle.pop()
    except IndexError:
        return new_state(entry)


def new_state(entry: Entry) -> State:
    """The first words are set once."""
    info = entry.info
    words = (ctypes.c_int64 * info.words)()
    state = State(words, ctypes.addressof(words))
    words[Word.KERNELS] = ctypes.addressof(entry.addresses)
    words[Word.RECORD] = state.address + 8 * info.record
    words[Word.STOP] = entry.runtime.stop
    return state


def set_words(entry: Entry, state: State, settings: Settings, default: Default) -> None:
    """Thresholds and sizes, and in place of the threshold of a forced guard one that decides. A default is told by its
    bits turned over, a negative number."""
    thresholds, forced = settings
    for k, setting in enumerate(entry.info.settings, start=entry.info.first_setting):
        name = setting.name
        if setting.size is not None:
            state.words[k] = thresholds.get(name, 0) or setting.size
        elif name in forced:
            state.words[k] = ALWAYS if forced[name] else NEVER
        else:
            word = max(ALWAYS, min(NEVER, thresholds[name] if name in thresholds else default(name)))
            state.words[k] = word if name in thresholds else ~word
    state.settings = dict(thresholds), dict(forced)


def take_trace(entry: Entry, memory: ctypes.Array[ctypes.c_int64]) -> Trace:
    """The guards met: threshold, parallelism, first branch taken."""
    count = memory[Word.TRACED]
    if not count:
        return ()
    pairs, guards = (ctypes.c_int64 * (2 * count)).from_address(memory[Word.TRACE])[:], entry.guards
    return tuple([(guards[w >> 1], par, bool(w & 1)) for w, par in zip(pairs[::2], pairs[1::2]) if w >= 0])


def take_events(entry: Entry, memory: ctypes.Array[ctypes.c_int64]) -> Iterator[Event]:
    """The guards met and the branches that they decided, in order."""
    count = memory[Word.TRACED]
    pairs = (ctypes.c_int64 * (2 * count)).from_address(memory[Word.TRACE]) if count else ()
    for k in range(0, 2 * count, 2):
        word, value = pairs[k], pairs[k + 1]
        if word >= 0:
            yield Note(entry.info.settings[word >> 1].name, value, bool(word & 1))
        elif (-1 - word) % 2 == BEGIN:
            yield Begin(entry.info.branches[(-1 - word) // 2], value * 1e-9)
        else:
            yield End(value * 1e-9)


def take_results(entry: Entry, memory: ctypes.Array[ctypes.c_int64]) -> list[np.ndarray | np.generic]:
    """What the user sees; every array has memory of its own."""
    seen: set[int] = set()
    shown: list[np.ndarray | np.generic] = []
    for result in entry.results:
        if not result.rank:
            shown.append(result.dtype.type(result.read.unpack_from(memory, 8 * result.at)[0]))
            continue
        buffer, array = take_array(entry, memory, result)
        shown.append(array.copy() if buffer in seen else array)
        seen.add(buffer)
    return shown


def take_array(entry: Entry, memory: ctypes.Array[ctypes.c_int64], result: Result) -> tuple[int, np.ndarray]:
    """The number of a buffer, and the array in it, which owns a reference from now on."""
    at = result.at
    buffer, data = memory[at], memory[at + 1]
    shape = tuple(memory[at + 2 : at + 2 + result.rank])
    memory[at] = 0
    if math.prod(shape) < SMALL:
        array = np.empty(shape, result.dtype)
        entry.runtime.hand(address(array), buffer, data, array.nbytes)
        return buffer, array
    interface = {"data": (data, False), "shape": shape, "typestr": result.dtype.str, "version": 3}
    return buffer, np.asarray(Owner(interface, buffer, entry.runtime.drop))


def trouble(entry: Entry, memory: ctypes.Array[ctypes.c_int64], status: int) -> BaseException:
    """The exception for a status."""
    record, failed = memory[entry.info.record :], memory[Word.FAILED]
    memory[entry.info.record] = 0
    match Status(status):
        case Status.SITE:
            site = entry.info.sites[failed]
            return error_of(site, values_of(record, recorded(site)))
        case Status.KERNEL:
            return failure(entry.kernels[failed], record)
        case Status.STOPPED:
            pool.the_pool().stop_flag.value = 0
            return KeyboardInterrupt()
        case _:
            return MemoryError("no room for the trace of the guards")


def drop_results(entry: Entry, memory: ctypes.Array[ctypes.c_int64]) -> None:
    """Give back what nobody has taken: a call that failed may have made some results."""
    for result in entry.results:
        if result.rank and memory[result.at]:
            entry.runtime.drop(memory[result.at])
            memory[result.at] = 0
