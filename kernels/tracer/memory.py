"""The memory of a traced kernel: values, histories, and how its accesses meet the hardware.

An access *site* is a load, store or atomic of the kernel's text. The threads of a warp execute a site together as
often as they come to it: the k-th time a thread comes to a site in one turn of its loop belongs to the k-th *request*
of its warp. A request to global memory costs its distinct 32-byte sectors; one to shared memory as many turns as the
fullest of 32 banks has distinct words. Arrays are taken to begin at a sector. Those on the stacks of threads are in
global memory, too.

Memory that is used again has a history: a new array of the block's stack begins with the records of all accesses to its
bytes, in arrays that were given back, that not all threads have seen yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..analysis.memory_model import BANKS, SECTOR, WORD, fullest_bank
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, Kernel, Space
from ..kernel_ir.shared_stack import is_on_own_stack, place_of, stack_bytes, word_bytes
from ..kernel_ir.traverse import statements
from .visibility import Location, Machine, Record, Track


@dataclass(slots=True)
class Memory:
    """An array: its values as Python scalars; `track` is None where no thread can meet another: in arrays that the
    kernel only reads (`defined` says what they hold), and in private ones. `start`: the first byte, where it is on the
    stack of its thread."""

    array: KArray
    values: list
    defined: Track
    track: Track | None
    start: int = 0


@dataclass(slots=True)
class Site:
    """Counts of one access site. `turn`: how often the present thread has come here; `open`: the elements that requests
    of the present round touch, by number of the turn and warp. `size`: bytes of an element; `grain`: of a sector, or of
    a bank's word. `least`: what the requests would cost if the elements of each were neighbours. `noted`: the bytes
    of what `open` has numbers of: of an element, or 1 where these are places of memory."""

    place: int
    array: KArray
    size: int
    grain: int
    noted: int
    requests: int = 0
    units: int = 0
    lanes: int = 0
    worst: int = 0
    least: int = 0
    turn: int = 0
    open: dict[tuple[int, int], set[int]] = field(default_factory=dict)

    def note(self, index: int, warp: int) -> None:
        """A thread of `warp` accesses element `index`."""
        self.lanes += 1
        key = (self.turn, warp)
        self.turn += 1
        touched = self.open.get(key)
        if touched is None:
            self.open[key] = {index}
        else:
            touched.add(index)

    def close(self) -> None:
        """The round is over: its requests are counted."""
        is_global = self.array.space is not Space.SHARED
        for touched in self.open.values():
            units = {index * self.noted // self.grain for index in touched}
            cost = len(units) if is_global else fullest_bank(units)
            self.least += -(-len(touched) * self.size // (SECTOR if is_global else BANKS * WORD))
            self.requests += 1
            self.units += cost
            self.worst = max(self.worst, cost)
        self.open.clear()

    def note_uniform(self, warps: int) -> None:
        """All threads of `warps` warps access the same element."""
        self.requests += warps
        self.units += warps
        self.least += warps
        self.lanes += warps
        self.worst = max(self.worst, 1)


def new_site(place: int, array: KArray) -> Site:
    """A site without counts. It counts 32-byte sectors of memory, 4-byte words of banks for what is shared."""
    size = array.prim.bytes
    grain = WORD if array.space is Space.SHARED else SECTOR
    return Site(place, array, size, grain, 1 if array.space is Space.PRIVATE else size)


def zero(array: KArray) -> bool | int | float:
    """What an element holds that has not been written: the tracer reports its use, and runs on."""
    if array.prim.is_float:
        return 0.0
    return False if array.prim is kir.Prim.BOOL else 0


def checked_index(machine: Machine, memory: Memory, index: int, thread: int, place: int) -> bool:
    """Is `index` in bounds? If not, that is reported."""
    if 0 <= index < len(memory.values):
        return True
    machine.out_of_bounds(memory.defined, index, thread, place)
    return False


# ---- the stack of a thread ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class OwnStack:
    """That of the thread that runs: words of `word` bytes between those of its warp, for `arrays`; `top`, the
    first free byte; `marks`, where the lists that it is in found that."""

    word: int = 1
    arrays: frozenset[KArray] = frozenset()
    top: int = 0
    marks: list[int] = field(default_factory=list)

    @staticmethod
    def of(kernel: Kernel) -> OwnStack:
        """The stack of a kernel's threads."""
        taken = (stm for stm in statements(kernel.body) if isinstance(stm, kir.Alloc) and is_on_own_stack(stm))
        return OwnStack(word_bytes(kernel.body), frozenset(stm.array for stm in taken))

    def take(self, size: int, count: int) -> int:
        """The first byte of an array of `count` elements of `size` bytes."""
        start = self.top
        self.top += stack_bytes(count, size)
        return start

    def scope(self, steps: tuple[Callable[[], None], ...]) -> tuple[Callable[[], None], ...]:
        """The steps of a list, after which it has given back what it took."""

        def begin() -> None:
            self.marks.append(self.top)

        def end() -> None:
            self.top = self.marks.pop()

        return (begin, *steps, end)

    def place(self, memory: Memory, index: int, lane: int) -> int:
        """Where an element is in the memory that the stacks of the warp of `lane` have together."""
        return place_of(memory.start + index * memory.array.prim.bytes, lane, self.word)


# ---- the block's stack -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Taken:
    """An array that is on the stack, or was: its first byte, the size of its elements, its history."""

    start: int
    size: int
    track: Track


@dataclass(slots=True)
class Stack:
    """The block's stack, as if all of it were in one piece of memory: `top`, the first free byte; the arrays `held`,
    the last one on top; those that were `left`, with what not all threads (`everyone`) have seen of them."""

    everyone: int
    top: int = 0
    held: list[Taken] = field(default_factory=list)
    left: list[Taken] = field(default_factory=list)

    def take(self, array: KArray, count: int, track: Track) -> None:
        """A new array: its history is that of its bytes."""
        new = Taken(self.top, array.prim.bytes, track)
        self.left = [old for old in self.left if self._forget_seen(old.track)]
        for old in self.left:
            hand_on(old, new, count)
        self.held.append(new)
        self.top += stack_bytes(count, new.size)

    def give_back(self, count: int) -> None:
        """The last `count` arrays."""
        given = self.held[len(self.held) - count :]
        self.top = given[0].start
        self.left += given
        del self.held[len(self.held) - count :]

    def _forget_seen(self, track: Track) -> bool:
        """Only what somebody has not seen can be in the way; is there anything?"""
        for location in track.locations.values():
            location.writes = [w for w in location.writes if w.seen != self.everyone]
            location.reads = {who: r for who, r in location.reads.items() if r.seen != self.everyone}
        track.locations = {k: here for k, here in track.locations.items() if here.writes or here.reads}
        return bool(track.locations)


def hand_on(old: Taken, new: Taken, count: int) -> None:
    """The records of bytes that `count` elements of a new array have."""
    kept: dict[int, Location] = {}
    for index, location in old.track.locations.items():
        first = old.start + index * old.size - new.start
        last = first + old.size - 1
        for k in range(max(0, first // new.size), min(count - 1, last // new.size) + 1):
            inherit(new.track.at(k), location)
        if first < 0 or last >= count * new.size:
            kept[index] = location
    old.track.locations = kept


def inherit(location: Location, old: Location) -> None:
    """The records of another element; of two reads by a thread, the one that fewer have seen."""
    location.writes += old.writes
    for who, record in old.reads.items():
        location.reads[who] = less_seen(record, location.reads.get(who, record))


def less_seen(x: Record, y: Record) -> Record:
    """The record that fewer threads see; `x` where they are equal."""
    return x if x.seen.bit_count() <= y.seen.bit_count() else y
