"""Native host programs, ready to be called: states filled and emptied, statuses as exceptions.

A call with settings of its own fills a state here (`call`); one whose settings were decided once is machine code from
end to end (`prepared`, `devices/cpu/host/python_call.py`), which also makes the results of both.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir.scalar import DTYPES, prim_of
from ...host_ir.timing_events import Begin, End, Event, Note
from ...kernel_ir.nodes import Kernel
from ..device import Trace
from ..failures import failure, values_of
from .arena import Arenas
from .argument_words import Plan
from .host.control import BEGIN
from .host.emit import NativeFun, result_words
from .host.failure_sites import error_of, recorded
from .image import Image, MachineCode
from .runtime import python_call as hostcall
from .runtime import thread_pool as pool
from .runtime.functions import Runtime, Status, Word, runtime
from .runtime.jit import CompiledKernels
from .runtime.python_call import SCALARS, Head

ALWAYS, NEVER = 0, (1 << 63) - 1
"""Thresholds of guards that are forced."""

Default = Callable[[str], int]
Settings = tuple[Mapping[str, int], Mapping[str, bool]]


@dataclass(slots=True)
class State:
    """The words of a call, `settings` those its thresholds were made from."""

    words: ctypes.Array[ctypes.c_int64]
    address: int
    settings: Settings | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A native function. `code`: its address; `idle`: states that no call uses now; `addresses`: the
    kernels', by their numbers; `results`: the table of its results (`hostcall.Head`); `guards`: the names of its
    settings."""

    info: NativeFun
    code: int
    kernels: tuple[Kernel, ...]
    addresses: ctypes.Array[ctypes.c_int64]
    results: ctypes.Array[ctypes.c_int64]
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
    return Entry(info, code.address(info.symbol), used, table, results_table(info), shared, guards)


def results_table(info: NativeFun) -> ctypes.Array[ctypes.c_int64]:
    """The components that the user sees, in order."""
    starts, at = [], info.results
    for param in info.fun.results:
        starts.append(at)
        at += result_words(param.type)
    wanted = [k for result in info.fun.entry.results for k in result.components]
    types = [info.fun.results[k].type for k in wanted]
    words = [(starts[k], t.rank, id(DTYPES[t.prim]), DTYPES[t.prim].itemsize) for k, t in zip(wanted, types)]
    return table_of([len(words), *(word for four in words for word in four)])


def table_of(words: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(words))(*words)


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
        trace = take_trace(entry, memory)
        return entry.runtime.results(ctypes.addressof(entry.results), state.address), trace
    except BaseException:
        entry.runtime.forget(ctypes.addressof(entry.results), state.address)
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


# ---- prepared calls ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """What one call at a time uses: a word that is 1 meanwhile, and the arenas."""

    word: ctypes.c_int64
    arenas: Arenas


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry whose settings are decided. `run (*args)` is a list of results, `UNSUITED`, or a status; `parts` is what
    its machine code reads."""

    run: Callable[..., Any]
    entry: Entry
    state: State
    turn: Turn
    parts: tuple[object, ...]

    def failed(self, status: int) -> BaseException:
        """The exception for a status, which ends the turn."""
        try:
            return trouble(self.entry, self.state.words, status)
        finally:
            self.turn.word.value = 0


def prepared(entry: Entry, plan: Plan, settings: Settings, default: Default, threads: int, turn: Turn) -> Prepared:
    state = new_state(entry)
    set_words(entry, state, settings, default)
    state.words[Word.ARENAS], state.words[Word.THREADS] = turn.arenas.address, threads
    head, arguments = (ctypes.c_int64 * Head.SIZE)(), arguments_table(plan)
    head[Head.TURN], head[Head.CODE], head[Head.STATE] = ctypes.addressof(turn.word), entry.code, state.address
    head[Head.ARGUMENTS], head[Head.COUNT] = ctypes.addressof(arguments), len(plan.kinds)
    head[Head.RESULTS] = ctypes.addressof(entry.results)
    head[Head.WORKERS], head[Head.HELPERS] = ctypes.addressof(pool.the_pool().workers), threads - 1
    return Prepared(hostcall.builtin(entry.runtime.call, head), entry, state, turn, (head, arguments))


def arguments_table(plan: Plan) -> ctypes.Array[ctypes.c_int64]:
    """What the arguments must be (`Head`). In the state they stand behind the size parameters."""
    first = at = Word.FIRST + len(plan.sizes)
    words: list[int] = []
    for dtype, rank, _ in plan.kinds:
        prim = prim_of(dtype)
        assert prim is not None
        kind = rank or -1 - SCALARS[prim]
        words += [id(dtype if rank else dtype.type), kind, at]
        at += 1 + rank
    words += [len(plan.equal), *(first + k for pair in plan.equal for k in pair)]
    words += [len(plan.fixed), *(word for k, n in plan.fixed for word in (first + k, n))]
    given = enumerate(plan.sizes, start=Word.FIRST)
    return table_of([*words, len(plan.sizes), *(word for k, giver in given for word in (k, first + giver))])
