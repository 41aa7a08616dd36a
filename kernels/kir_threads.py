"""Statements of kernel IR that only machines with threads have, for the schedules of a GPU; but lanes of a CPU have
flags between blocks too, `Publish` and `WaitFor`. `kir.py` has the rest, and names these too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.errors import Loc

if TYPE_CHECKING:
    from .kir import KArray, KLambda, KStm, KVar, Operand


@dataclass(frozen=True, slots=True)
class Publish:
    """`array[index] := value`, where array is GLOBAL of i32: a release at the scope of the device. Who waits for this
    value sees what its thread sees now. Outside of thread loops the first thread does it."""

    array: KArray
    index: Operand
    value: Operand


@dataclass(frozen=True, slots=True)
class WaitFor:
    """`out = array[index]` as soon as that is at least `least`: collective of the block, whose threads all see what the
    publisher saw. A block must wait for such blocks only as are sure to run: those that began before it (`Atomic` on a
    counter gives blocks their numbers in the order in which they begin)."""

    out: KVar
    array: KArray
    index: Operand
    least: Operand


SUM, TOTAL = 1, 2
"""What a tile of a chain has published: its own sum; the combination of all tiles of the chain up to it."""


@dataclass(frozen=True, slots=True)
class LookBack:
    """`outs = op (tiles first .. tile-1 of a chain)`, in order; `neutral` if there is none: collective of the block.

    Tile k publishes `flags[k]` = SUM when `sums[c][k]` is component c of what it holds, TOTAL when `totals[c][k]` is
    the combination of first..k. With p the last tile found to have published its total,

        outs = (..(totals[p] op sums[p+1]) op ..) op sums[tile-1]

    which is the fold from the left whatever p is: the same bits in each run. What the publishers saw is visible to all
    threads of the block. Source: Merrill and Garland, single-pass parallel prefix scan with decoupled look-back."""

    outs: tuple[KVar, ...]
    flags: KArray
    sums: tuple[KArray, ...]
    totals: tuple[KArray, ...]
    tile: Operand
    first: Operand
    op: KLambda
    neutral: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class TeamReduce:
    """`teams s in lo..hi { outs = reduce op neutral (i in 0..width { body; values }); after }`: many short reductions.

    A team is `team` neighbouring threads of one warp, a power of two up to the warp. Segment lo + k is reduced by team
    k mod (block / team), element i by its thread i mod team; the first thread of a team executes `after`. If not
    `commutative`, elements are combined in ascending order. It orders nothing: neither teams nor the threads of one."""

    outs: tuple[KVar, ...]
    team: Operand
    segment: KVar
    lo: Operand
    hi: Operand
    index: KVar
    width: Operand
    body: tuple[KStm, ...]
    values: tuple[Operand, ...]
    op: KLambda
    neutral: tuple[Operand, ...]
    commutative: bool
    after: tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class WarpTurns:
    """`threads i in lo..hi { body }`, then those of a warp one after the other, in ascending order: `turn`.

    The index lo + k is executed by thread k mod t, the j-th time of a thread after the (j-1)-th of its whole warp;
    `warp` is the number of the thread's warp in the block. Threads whose `key` (i64) differs may take their turns at
    once, and those with a negative key take none: a turn must touch nothing that a thread of another key touches."""

    warp: KVar
    index: KVar
    lo: Operand
    hi: Operand
    body: tuple[KStm, ...]
    key: Operand
    turn: tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """`target[at + k] := source[start + k]` for k < count (SHARED from GLOBAL, 4, 8 or 16 bytes together, and both
    aligned to so many), at some time before its group is waited for; a thread's."""

    target: KArray
    at: Operand
    source: KArray
    start: Operand
    count: int = 1


@dataclass(frozen=True, slots=True)
class CommitCopies:
    """The copies that a thread has begun since its last commit become a group; outside of thread loops, of every
    thread."""


@dataclass(frozen=True, slots=True)
class WaitCopies:
    """All groups of a thread but the `latest` ones are done, as far as the thread itself sees; a `Fence` then shows
    them to the block."""

    latest: int


@dataclass(frozen=True, slots=True)
class Distribute:
    """`array = new registers prim[threads][count]`: an array of `count` elements for each index of the loops `threads i
    in 0..threads`, which the thread of that index keeps from one of them to the next; uninitialised.

    It is used in such loops alone, and stands for the one of their index there. Where its own indices are constants,
    or become such when loops of constant bounds are unrolled, it is registers."""

    array: KArray
    threads: int
    count: int


@dataclass(frozen=True, slots=True)
class LoadRow:
    """`vars = array[index], array[index+1], ..` in one access; `KAligned` must hold of it."""

    vars: tuple[KVar, ...]
    array: KArray
    index: Operand


@dataclass(frozen=True, slots=True)
class StoreRow:
    """`array[index], array[index+1], .. := values` in one access; `KAligned` must hold of it."""

    array: KArray
    index: Operand
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """For readers of generated code: a place of the source, which what follows computes, or how it does."""

    what: Loc | str


ForThreads = (
    Publish | WaitFor | LookBack | TeamReduce | WarpTurns | AsyncCopy | CommitCopies | WaitCopies | LoadRow | StoreRow |
    Distribute | Note
)  # fmt: skip
