"""The visibility-record machine: does every access see what it must, whatever order the threads run in?

The program is executed one thread after the other. Each access to a location leaves a record of the threads that are
known to see it: at first the thread itself; a fence of some threads makes every record that one of them sees seen by
all of them. An access is in order if its thread sees the records it depends on:

    read    all writes                        else RAW
    write   all reads and all writes          else WAR, WAW      (an atomic update passes atomic updates; a write of a
                                                                  scatter those of a scatter that wrote the same value)

A launch ends for all blocks at once, and inside it no fence orders two blocks: only a flag does. A release notes what
its thread sees, an acquire of the same element shows that to the acquiring thread, and a fence spreads what has been
acquired as it spreads the rest. An asynchronous copy is seen by no thread,
not even by the thread that issued it, until this thread has waited for its group (cp.async, commit, wait N); a fence
then spreads it. The machine checks one run on concrete sizes: it proves nothing about others.

Source: abstract machine of the Exo-GPU user guide, for the in-order timeline and asynchronous copies; bitsets of
threads are Python integers, and nothing is cleverer than that.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

MOST_HAZARDS = 1000  # hazards that are kept with all their facts; the rest is counted


class Kind(Enum):
    """What can be wrong with an access."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"
    UNINIT = "read of an uninitialised element"
    STUCK = "wait for a flag that is never set"
    BOUNDS = "access out of bounds"


class Missing(Enum):
    """What would have ordered two accesses, at the narrowest sufficient scope."""

    WAIT = "a wait for the asynchronous copy"
    WARP = "a fence of the warp"
    BLOCK = "a fence of the block"
    GRID = "the end of the launch, or a flag (blocks are unordered)"


@dataclass(frozen=True, slots=True)
class Access:
    """Who accessed, at which place of the program (a number that the user of the machine chose)."""

    block: int
    thread: int
    place: int


@dataclass(frozen=True, slots=True)
class Hazard:
    """`second` came after `first` in this run, and nothing keeps it from coming before. `first` and `missing` are None
    where one access is wrong by itself."""

    kind: Kind
    array: str
    index: int
    first: Access | None
    second: Access
    missing: Missing | None


@dataclass(slots=True)
class Record:
    """One access: `seen` has bit t if thread t of the block sees it; `released`: the releases that speak of it;
    `value`: the bits that a scatter wrote."""

    block: int
    thread: int
    place: int
    seen: int
    atomic: bool
    released: set[int] | None = None
    value: bytes | None = None


def nothing(record: Record) -> bool:
    """For writes that pass no other: every one before must have been seen."""
    return False


def atomics(record: Record) -> bool:
    """For atomic updates, which need not have seen each other."""
    return record.atomic


def bits_of(value: bool | int | float) -> bytes:
    """Two values are the same if these are."""
    return struct.pack("d", value) if isinstance(value, float) else str(int(value)).encode()


@dataclass(slots=True)
class Location:
    """The records that later accesses must see: since the last write, the latest read and the latest asynchronous read
    of each thread; and that write, or the atomic updates since. `said`: the values that it had, and which releases each
    spoke of."""

    reads: dict[tuple[int, int, bool], Record] = field(default_factory=dict)
    writes: list[Record] = field(default_factory=list)
    said: list[tuple[Any, frozenset[int]]] = field(default_factory=list)


@dataclass(slots=True)
class Track:
    """The history of an array. `defined[i]` says whether element i has a value; None: all have."""

    array: str
    defined: MutableSequence[int] | np.ndarray | None
    locations: dict[int, Location] = field(default_factory=dict)

    def at(self, index: int) -> Location:
        location = self.locations.get(index)
        if location is None:
            location = self.locations[index] = Location()
        return location


@dataclass(slots=True)
class Machine:
    """The threads of one launch: `threads` in a block, in warps of `warp`.

    `live`: the records of the present block that not all its threads see. `open` and `groups`: the records of each
    thread's asynchronous copies, before and after their commit. `publishes`: does the kernel order its blocks by flags?
    Then all records of the block are kept in `history`, and `acquired` has the releases that each thread sees."""

    threads: int
    warp: int
    block: int = 0
    live: list[Record] = field(default_factory=list)
    open: dict[int, list[Record]] = field(default_factory=dict)
    groups: dict[int, list[list[Record]]] = field(default_factory=dict)
    hazards: list[Hazard] = field(default_factory=list)
    counts: Counter[Kind] = field(default_factory=Counter)
    publishes: bool = False
    history: list[Record] = field(default_factory=list)
    acquired: dict[int, set[int]] = field(default_factory=dict)
    releases: int = 0

    @property
    def everyone(self) -> int:
        """The set of all threads of a block."""
        return (1 << self.threads) - 1

    # ---- accesses -------------------------------------------------------------------------------------------------

    def read(self, track: Track, index: int, thread: int, place: int) -> None:
        self._check_read(track, index, thread, place)
        self._note_read(track, index, self._record(thread, place, 1 << thread))

    def write(self, track: Track, index: int, thread: int, place: int) -> None:
        self._check_write(track, index, thread, place, nothing)
        self._replace(track, index, self._record(thread, place, 1 << thread))

    def write_again(self, track: Track, index: int, thread: int, place: int, value: bool | int | float) -> None:
        """A write of a scatter: others may write the same value there, and whoever reads it must see them all."""
        bits = bits_of(value)
        self._check_write(track, index, thread, place, lambda record: record.value == bits)
        record = self._record(thread, place, 1 << thread)
        record.value = bits
        location = track.at(index)
        location.reads.clear()
        location.writes = [w for w in location.writes if w.value == bits and not self._sees(w, thread)] + [record]

    def atomic(self, track: Track, index: int, thread: int, place: int) -> None:
        """An indivisible update: it reads the element and writes it."""
        self._check_defined(track, index, thread, place)
        self._check_write(track, index, thread, place, atomics)
        record = self._record(thread, place, 1 << thread)
        record.atomic = True
        location = track.at(index)
        location.reads.clear()
        location.writes = [w for w in location.writes if not self._replaced_by(w, record)] + [record]

    def _replaced_by(self, old: Record, new: Record) -> bool:
        """An atomic update of the same thread that sees no more than the new one says nothing beside it."""
        return old.atomic and old.block == new.block and old.thread == new.thread

    # ---- order between blocks -------------------------------------------------------------------------------------

    def release(self, track: Track, index: int, thread: int, value: Any) -> None:
        """The element gets `value`, which speaks of all that `thread` sees."""
        self.releases += 1
        for record in self.history:
            if record.seen >> thread & 1:
                record.released = {self.releases} if record.released is None else record.released | {self.releases}
        known = frozenset({self.releases} | self.acquired.get(thread, set()))
        track.at(index).said.append((value, known))

    def plain_value(self, track: Track, index: int, value: Any) -> None:
        """The element gets `value` by a plain write, which speaks of nothing."""
        if self.publishes:
            track.at(index).said.append((value, frozenset()))

    def acquire(self, track: Track, index: int, thread: int, least: int) -> None:
        """`thread` reads a flag that is at least `least`: it may be the first such value that the element has had."""
        said = (known for value, known in track.at(index).said if value >= least)
        self.acquired.setdefault(thread, set()).update(next(said, ()))

    def acquire_all(self, track: Track, index: int, thread: int) -> None:
        """An atomic update reads the last value; an update before it goes on saying what the one before it said."""
        for _, known in track.at(index).said:
            self.acquired.setdefault(thread, set()).update(known)

    def publish(self, track: Track, index: int, thread: int, place: int, value: Any) -> None:
        """A release that writes the element; it passes other accesses to it, as an atomic does."""
        self._check_write(track, index, thread, place, atomics)
        record = self._record(thread, place, 1 << thread)
        record.atomic = True
        self._replace(track, index, record)
        self.release(track, index, thread, value)

    def stuck(self, track: Track, index: int, thread: int, place: int) -> None:
        self._report(Kind.STUCK, track, index, None, Access(self.block, thread, place), None)

    def out_of_bounds(self, track: Track, index: int, thread: int, place: int) -> None:
        self._report(Kind.BOUNDS, track, index, None, Access(self.block, thread, place), None)

    # ---- asynchronous copies --------------------------------------------------------------------------------------

    def copy(self, source: Track, start: int, target: Track, index: int, thread: int, place: int) -> None:
        """An asynchronous copy of one element: both accesses happen at some time before it is waited for."""
        self._check_read(source, start, thread, place)
        self._check_write(target, index, thread, place, nothing)
        reading, writing = self._record(thread, place, 0), self._record(thread, place, 0)
        self._note_read(source, start, reading)
        self._replace(target, index, writing)
        self.open.setdefault(thread, []).extend((reading, writing))

    def commit(self, thread: int) -> None:
        """What the thread has copied since its last commit becomes a group."""
        self.groups.setdefault(thread, []).append(self.open.pop(thread, []))

    def wait(self, thread: int, latest: int) -> None:
        """All groups of the thread but the `latest` ones are done: the thread sees them."""
        groups = self.groups.get(thread, [])
        done = groups[: max(0, len(groups) - latest)]
        for record in (r for group in done for r in group):
            record.seen |= 1 << thread
        self.groups[thread] = groups[len(done) :]

    # ---- order ----------------------------------------------------------------------------------------------------

    def fence(self, threads: int) -> None:
        """The `threads` (a bitset) wait for each other: what one of them sees, all see."""
        everyone, still = self.everyone, []
        for record in self.live:
            if record.seen & threads:
                record.seen |= threads
            if record.seen != everyone:
                still.append(record)
        self.live = still
        if self.acquired:
            acquiring = [t for t in range(self.threads) if threads >> t & 1]
            known = set().union(*(self.acquired.get(t, ()) for t in acquiring))
            self.acquired.update((t, set(known)) for t in acquiring)

    def warp_of(self, thread: int) -> int:
        """The set of the threads in the warp of `thread`."""
        first = thread - thread % self.warp
        return ((1 << self.warp) - 1) << first & self.everyone

    def end_block(self) -> None:
        """The next block begins; nothing orders it after this one."""
        self.live, self.open, self.groups, self.history, self.acquired = [], {}, {}, [], {}
        self.block += 1

    # ---- records and checks ---------------------------------------------------------------------------------------

    def _record(self, thread: int, place: int, seen: int) -> Record:
        record = Record(self.block, thread, place, seen, False)
        if seen != self.everyone:
            self.live.append(record)
        if self.publishes:
            self.history.append(record)
        return record

    def _note_read(self, track: Track, index: int, record: Record) -> None:
        track.at(index).reads[record.block, record.thread, record.seen == 0] = record

    def _replace(self, track: Track, index: int, record: Record) -> None:
        location = track.at(index)
        location.reads.clear()
        location.writes = [record]

    def _sees(self, record: Record, thread: int) -> bool:
        if record.block == self.block:
            return bool(record.seen >> thread & 1)
        return record.released is not None and not record.released.isdisjoint(self.acquired.get(thread, ()))

    def _check_defined(self, track: Track, index: int, thread: int, place: int) -> None:
        if track.defined is not None and not track.defined[index]:
            self._report(Kind.UNINIT, track, index, None, Access(self.block, thread, place), None)

    def _check_read(self, track: Track, index: int, thread: int, place: int) -> None:
        self._check_defined(track, index, thread, place)
        for record in track.at(index).writes:
            if not self._sees(record, thread):
                self._conflict(Kind.RAW, track, index, record, thread, place)

    def _check_write(self, track: Track, index: int, thread: int, place: int, passes: Callable[[Record], bool]) -> None:
        """`passes`: the writes before that need not be seen."""
        location = track.at(index)
        for record in location.reads.values():
            if not self._sees(record, thread):
                self._conflict(Kind.WAR, track, index, record, thread, place)
        for record in location.writes:
            if not (self._sees(record, thread) or passes(record)):
                self._conflict(Kind.WAW, track, index, record, thread, place)
        if track.defined is not None:
            track.defined[index] = 1

    def _conflict(self, kind: Kind, track: Track, index: int, record: Record, thread: int, place: int) -> None:
        first = Access(record.block, record.thread, record.place)
        self._report(kind, track, index, first, Access(self.block, thread, place), self._missing(record, thread))

    def _missing(self, record: Record, thread: int) -> Missing:
        if record.block != self.block:
            return Missing.GRID
        if not record.seen:
            return Missing.WAIT
        return Missing.WARP if record.seen & self.warp_of(thread) else Missing.BLOCK

    def _report(
        self, kind: Kind, track: Track, index: int, first: Access | None, second: Access, missing: Missing | None
    ) -> None:
        self.counts[kind] += 1
        if len(self.hazards) < MOST_HAZARDS:
            self.hazards.append(Hazard(kind, track.array, index, first, second, missing))
