"""The memory of a traced kernel: values, histories, and how its accesses meet the hardware.

An access *site* is a load, store or atomic of the kernel's text. The threads of a warp execute a site together as
often as they come to it: the k-th time a thread comes to a site in one turn of its loop belongs to the k-th *request*
of its warp. A request to global memory costs its distinct 32-byte sectors; one to shared memory as many turns as the
fullest of 32 banks has distinct words. Arrays are taken to begin at a sector.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from . import kir
from .kir import KArray, Space
from .records import Machine, Track

SECTOR = 32  # bytes
BANKS, WORD = 32, 4  # banks of shared memory, bytes of a word of them


@dataclass(slots=True)
class Memory:
    """An array: its values as Python scalars; `track` is None where no thread can meet another: in arrays that the
    kernel only reads (`defined` says what they hold), and in private ones."""

    array: KArray
    values: list
    defined: Track
    track: Track | None


@dataclass(slots=True)
class Site:
    """Counts of one access site. `turn`: how often the present thread has come here; `open`: requests of the present
    round, by number of the turn and warp. `size`: bytes of an element; `grain`: of a sector, or of a bank's word."""

    place: int
    array: KArray
    size: int
    grain: int
    requests: int = 0
    units: int = 0
    lanes: int = 0
    worst: int = 0
    turn: int = 0
    open: dict[tuple[int, int], set[int]] = field(default_factory=dict)

    def note(self, index: int, warp: int) -> None:
        """A thread of `warp` accesses element `index`."""
        unit = index * self.size // self.grain
        self.lanes += 1
        key = (self.turn, warp)
        self.turn += 1
        units = self.open.get(key)
        if units is None:
            self.open[key] = {unit}
        else:
            units.add(unit)

    def close(self) -> None:
        """The round is over: its requests are counted."""
        for units in self.open.values():
            cost = len(units) if self.array.space is Space.GLOBAL else fullest_bank(units)
            self.requests += 1
            self.units += cost
            self.worst = max(self.worst, cost)
        self.open.clear()

    def note_uniform(self, warps: int) -> None:
        """All threads of `warps` warps access the same element."""
        self.requests += warps
        self.units += warps
        self.lanes += warps
        self.worst = max(self.worst, 1)


def new_site(place: int, array: KArray) -> Site:
    return Site(place, array, array.prim.bytes, SECTOR if array.space is Space.GLOBAL else WORD)


def fullest_bank(words: set[int]) -> int:
    return max(Counter(word % BANKS for word in words).values())


def zero(array: KArray) -> bool | int | float:
    """What an element holds that nobody has written: the tracer reports its use, and runs on."""
    if array.prim.is_float:
        return 0.0
    return False if array.prim is kir.Prim.BOOL else 0


def checked_index(machine: Machine, memory: Memory, index: int, thread: int, place: int) -> bool:
    """Is `index` in bounds? If not, that is reported."""
    if 0 <= index < len(memory.values):
        return True
    machine.out_of_bounds(memory.defined, index, thread, place)
    return False
