"""Native host programs, ready to be called: calls filled and emptied, statuses as exceptions.

A call is machine code from end to end (`runtime/python_call.py`). One whose settings were decided once keeps its own
(`prepared`); others use one that no call uses now (`call`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import Any

import numpy as np

from ....ir.records import dataclass
from ....ir.scalar import DTYPES, int_range
from ....ir.types import Prim
from ...host_ir.timing_events import Event
from ...kernel_ir.nodes import Kernel
from ...kernel_ir.values import symbol_of
from ..device import Trace
from ..failures import failure, values_of
from .arena import Arenas
from .host.calls import Default, Settings, called, set_settings, take_events, take_trace
from .host.failure_sites import error_of, recorded
from .host.layout import NativeFun, argument_places, result_places
from .image import Image, MachineCode
from .kernel_code import KernelCode, address, known
from .quick_code import Quick, launch_at, quick
from .runtime import thread_pool as pool
from .runtime.assembly import Status, Word
from .runtime.functions import NEED, Runtime, runtime
from .runtime.jit import CompiledKernels
from .runtime.python_call import Argument, Head, Result, builtin, rows_of, table

EVENTS_OF_A_FAILURE = 100_000
"""How many events of a run that fails or is stopped are read: a loop may log millions of them in a second."""


@dataclass(slots=True)
class Ready:
    """An entry as a function, `run (*args)`: a list of results, or a status; that of a failure leaves `turn` taken.
    `words`: its state; `settings`: what its thresholds were made from, with the number of threads; `parts`: what the
    machine code reads."""

    run: Callable[..., Any]
    head: Head
    turn: ctypes.c_int64
    words: ctypes.Array[ctypes.c_int64]
    parts: tuple[object, ...]
    settings: tuple[Settings, int] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A native function. `code`: its address; `idle`: calls that are not under way; `kernels`, by their numbers."""

    info: NativeFun
    code: int
    kernels: Launched
    runtime: Runtime
    idle: list[Ready] = field(default_factory=list)


@dataclass(slots=True)
class Launched:
    """The kernels that an entry launches. `addresses`: of the code of both forms of each, 0 where there is none for all
    launches to come: then machine code calls `need` with the place here, which stores the address for this launch in
    the state; still 0 after it means that there is none, and `raised` has the reason for the thread that asked.
    `quick`: the code of little effort that launches got, by their places, and the last that a state got."""

    kernels: tuple[Kernel, ...]
    addresses: ctypes.Array[ctypes.c_int64]
    code: KernelCode
    quick: dict[int, Quick] = field(default_factory=dict)
    latest: dict[int, Quick] = field(default_factory=dict)
    raised: dict[int, BaseException] = field(default_factory=dict)
    need: Any = None


def launched(kernels: tuple[Kernel, ...], code: KernelCode) -> Launched:
    """Kernels of an entry, none of them with an address yet."""
    made = Launched(kernels, (ctypes.c_int64 * (2 * len(kernels)))(), code)

    def need(which: int, state: int, table: int, blocks: int) -> None:
        try:
            words = (ctypes.c_int64 * Word.FIRST).from_address(state)
            words[Word.CODE] = for_launch(made, which, words, table, blocks)
        except BaseException as error:
            made.raised[threading.get_ident()] = error

    made.need = NEED(need)
    return made


def for_launch(made: Launched, which: int, words: ctypes.Array[ctypes.c_int64], table: int, blocks: int) -> int:
    """The address of code for a launch; that of full effort is for all to come."""
    state, kernel, far = ctypes.addressof(words), made.kernels[which // 2], bool(which % 2)
    if (latest := made.latest.pop(state, None)) is not None:
        latest.spend(words[Word.SPENT])
    if not words[Word.TIMED] and known(made.code, kernel.name, far) is None:
        launch = launch_at(kernel, (state, words[Word.CALLS]), table, blocks)
        found = quick(made.code, kernel, far, launch, made.quick.get(which))
        if found is not None:
            made.quick[which] = made.latest[state] = found
            return found.code.address(symbol_of(kernel.name))
    made.addresses[which] = address(made.code, kernel.name, far)
    return made.addresses[which]


@dataclass(frozen=True, slots=True)
class Native:
    """The native functions of a program, by the names of their entries; `compiled` keeps their code alive."""

    entries: dict[str, Entry]
    compiled: CompiledKernels | None


def link(image: Image, code: MachineCode) -> Native:
    """The native functions of a program, with the kernels that they launch."""
    if code.host is None:
        return Native({}, None)
    kernels, shared = {kernel.name: kernel for kernel in image.kernels}, runtime()
    entries: dict[str, Entry] = {}
    for info in image.native:
        used = tuple(kernels[n] for n in info.kernels)
        entry = Entry(info, code.host.address(info.symbol), launched(used, code.kernels), shared)
        entries[info.fun.entry.name] = entry
    return Native(entries, code.host)


# ---- what machine code reads -------------------------------------------------------------------------------------


def ready(entry: Entry, turn: ctypes.c_int64) -> Ready:
    """A call of an entry that waits for this turn; settings, arenas and threads are still to be set."""
    info = entry.info
    words = (ctypes.c_int64 * info.words)()
    state = ctypes.addressof(words)
    words[Word.KERNELS], words[Word.STOP] = ctypes.addressof(entry.kernels.addresses), entry.runtime.stop
    words[Word.NEED] = ctypes.cast(entry.kernels.need, ctypes.c_void_p).value or 0
    words[Word.RECORD] = state + 8 * info.record
    tables = rows_of(Argument, list(arguments_at(info, state))), rows_of(Result, list(results_at(info, state)))
    workers = ctypes.addressof(pool.the_pool().workers)
    head = Head(ctypes.addressof(turn), entry.code, state, workers, 0, *map(table, tables))
    return Ready(builtin(entry.runtime.call, head), head, turn, words, tables)


def arguments_at(info: NativeFun, state: int) -> Iterator[tuple[int, int, int, int, int, int]]:
    """`Argument` for each."""
    for param, at in argument_places(info.fun):
        dtype, rank = DTYPES[param.type.prim], param.type.rank
        suits, least, most = NO_PLAIN if rank else plain(param.type.prim)
        yield id(dtype if rank else dtype.type), rank, state + 8 * at, suits, least, most


NO_PLAIN = (0, 0, 0)


def plain(prim: Prim) -> tuple[int, int, int]:
    """Of `Argument`, the type of Python whose values are values of a scalar type, and their range; of an f32, whose
    values are rounded, -1 to -1."""
    if prim is Prim.BOOL:
        return id(bool), 0, 1
    if prim is Prim.F64:
        return id(float), 0, 0
    if prim is Prim.F32:
        return id(float), -1, -1
    if not prim.is_int:
        return NO_PLAIN
    least, most = int_range(prim)
    return id(int), least, min(most, 2**63 - 1)


def results_at(info: NativeFun, state: int) -> Iterator[tuple[int, int, int, int]]:
    """`Result` for each component that the user sees, in order."""
    for param, at in result_places(info):
        dtype = DTYPES[param.type.prim]
        yield state + 8 * at, param.type.rank, id(dtype), dtype.itemsize


# ---- a call ------------------------------------------------------------------------------------------------------


def call(
    entry: Entry,
    args: Sequence[Any],
    settings: Settings,
    default: Default,
    threads: int,
    arenas: Arenas,
    log: list[Event] | None,
) -> tuple[list[np.ndarray | np.generic], Trace] | None:
    """Run an entry on its arguments, on workers that were started; None if they do not suit. `settings`: thresholds
    and forced decisions, `default` gives those that are not set. With a `log` the run is timed, and its events are put
    there, also if it fails, the first of them then. Raises RunError, KernelFailure, MemoryError, KeyboardInterrupt."""
    try:
        one = entry.idle.pop()
    except IndexError:
        one = ready(entry, ctypes.c_int64(0))
    if one.settings != (settings, threads):
        set_settings(entry.info, one.words, settings, default)
        one.settings = (dict(settings[0]), dict(settings[1])), threads
    one.words[Word.ARENAS], one.words[Word.THREADS] = arenas.address, threads
    one.words[Word.TIMED], one.words[Word.TRACED] = log is not None, 0
    results: Any = None
    try:
        results = one.run(*args)
        if results.__class__ is list:
            return results, take_trace(entry.info, one.words)
        if results == Status.UNSUITED:
            return None
        raise failed(entry, one, results)
    finally:
        if log is not None:
            most = None if isinstance(results, list) else EVENTS_OF_A_FAILURE
            log.extend(islice(take_events(entry.info, one.words), most))
        entry.idle.append(one)


def prepared(entry: Entry, settings: Settings, default: Default, threads: int, turn: Turn) -> Ready:
    """A call of an entry with settings of its own, decided once."""
    one = ready(entry, turn.word)
    set_settings(entry.info, one.words, settings, default)
    one.words[Word.ARENAS], one.words[Word.THREADS], one.head.helpers = turn.arenas.address, threads, threads - 1
    return one


@dataclass(frozen=True, slots=True)
class Turn:
    """What one call at a time uses: a word that is 1 meanwhile, and the arenas."""

    word: ctypes.c_int64
    arenas: Arenas


def failed(entry: Entry, one: Ready, status: int) -> BaseException:
    """The exception for a status, which ends the turn."""
    record, place = one.words[entry.info.record :], one.words[Word.FAILED]
    one.words[entry.info.record] = 0
    one.turn.value = 0
    match Status(status):
        case Status.SITE:
            site = entry.info.sites[place]
            return called(error_of(site, values_of(record, recorded(site))), entry.info, one.words)
        case Status.KERNEL:
            return failure(entry.kernels.kernels[place], record)
        case Status.NO_CODE:
            me, stopped = threading.get_ident(), KeyboardInterrupt()  # before it could note why
            return entry.kernels.raised.pop(me, None) or entry.runtime.raised.pop(me, stopped)
        case Status.STOPPED:
            pool.the_pool().stop_flag.value = 0
            return KeyboardInterrupt()
        case _:
            return MemoryError("no room for the trace of the guards, or for a call")
