"""Kernel IR: the structured, imperative program of ONE block (its collective).

What stands outside a `Threads` loop or a collective is executed once by the block and is uniform; a `Threads` loop
subdivides the block, its body is executed once per thread. `Threads` loops and collectives do not nest in each other,
but for loops of threads in loops of warps. A launch runs the body for every block 0 <= b < blocks; blocks may run in
any order, unless a kernel orders them by flags (`Publish`, `WaitFor`) or words read and written at once (`LookBack`).
Statements are in A-normal form: operands are variables and constants. Variables have unique names within a kernel.
"""

from __future__ import annotations

from enum import Enum

from ...ir.core import Level
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from .beside_code import FailureSite, LaneShape
from .lane_rows import COLUMNS, LoadTile, StoreSome, StoreTile  # noqa: F401
from .registers import Distribute, LoadMatrix, Mma
from .values import KAligned, KArray, KConvert, KLoad, KOp, KVar, Operand, Rhs, Space  # noqa: F401  (all are from here)

# ---- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KLet:
    """`let x = rhs`: immutable."""

    var: KVar
    rhs: Rhs


@dataclass(frozen=True, slots=True)
class Declare:
    """`var x = init`: mutable from here to the end of the enclosing statement list."""

    var: KVar
    init: Operand


@dataclass(frozen=True, slots=True)
class Assign:
    """`x := value`, x declared by `Declare`."""

    var: KVar
    value: Operand


@dataclass(frozen=True, slots=True)
class Store:
    """`array[index] := value`; in bounds in every thread that runs it. `repeats`: other threads may store the same
    value there, at the same time, as in a scatter with equal indices."""

    array: KArray
    index: Operand
    value: Operand
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Alloc:
    """`array = new prim[count]` in SHARED or PRIVATE space, uninitialised; freed at the end of the enclosing
    statement list (an iteration of a loop frees what it allocated). PRIVATE only inside `Threads` or a collective's
    body; its `count` may vary over the threads. The array begins at a multiple of `align` elements (SHARED of constant
    size: for rows of them in one access)."""

    array: KArray
    count: Operand
    align: int = 1


@dataclass(frozen=True, slots=True)
class Check:
    """Fails the launch unless `ok` (bool); `values` fill the holes of the site's message, in order."""

    ok: Operand
    site: int
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class BoundsCheck:
    """Fails unless 0 <= index < size (i64 both); `values` as in `Check`. Kept apart from `Check` so that an affine
    index can be tested once for all threads."""

    index: Operand
    size: Operand
    site: int
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class KIf:
    """May be uniform or vary; may hold `Threads` or collectives only where `cond` is uniform."""

    cond: Operand
    then: tuple[KStm, ...]
    orelse: tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class For:
    """`for i < bound` (i and bound of one integer type; i from 0). The bound may vary over the threads. `unroll`: a
    hint, how many iterations are worth being code of their own."""

    index: KVar
    bound: Operand
    body: tuple[KStm, ...]
    unroll: int = 1


@dataclass(frozen=True, slots=True)
class KWhile:
    """`while (before; cond) body`: `before` is executed ahead of every test."""

    before: tuple[KStm, ...]
    cond: Operand
    body: tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class Threads:
    """`threads i in lo..hi`: the body for each i, in parallel and unordered. `row`: a hint, how many neighbouring
    indices a thread of a GPU is to take at once; the launch has that many fewer threads. `unit`: what executes the body
    for an index. Loops of warps hold thread loops of the warp and fences of the warp; `passes/divide_warps.py` turns
    them into loops of threads, which is all that printers and the tracer know."""

    index: KVar
    lo: Operand
    hi: Operand
    body: tuple[KStm, ...]
    row: int = 1
    unit: Level = Level.THREAD


@dataclass(frozen=True, slots=True)
class KLambda:
    """An operator on k scalars: `left` and `right` operands, straight code with `KIf`, k results.
    May use uniform variables of the kernel."""

    left: tuple[KVar, ...]
    right: tuple[KVar, ...]
    body: tuple[KStm, ...]
    results: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class BlockReduce:
    """`outs = reduce op neutral (threads i in lo..hi { body; values })`: collective of the block; outs are uniform.

    If `commutative`, threads may be combined in any order, in one that depends on nothing but (lo, hi) and the
    kernel's lane settings; else in ascending order of i. An empty range gives `neutral`. `is_long`: a hint that there
    are many elements for each thread. `step`: what `op` is where a thread takes in an element, if more is known
    of that: elements come to a thread in ascending order of i."""

    outs: tuple[KVar, ...]
    index: KVar
    lo: Operand
    hi: Operand
    body: tuple[KStm, ...]
    values: tuple[Operand, ...]
    op: KLambda
    neutral: tuple[Operand, ...]
    commutative: bool
    is_long: bool = False
    step: KLambda | None = None


@dataclass(frozen=True, slots=True)
class BlockScan:
    """`threads i in lo..hi { body; scanned = inclusive scan of values, started from carry; after }`: collective.

    `scanned` is per thread and visible in `after`; `carry_out` is uniform and visible after the statement: the
    combination of `carry` with all values in order (`carry` itself if the range is empty). `is_long` as in
    `BlockReduce`. `free`: of an array that `after` stores to, what follows the element that is stored and below
    this place may be overwritten, too: what is read of it is stored first."""

    scanned: tuple[KVar, ...]
    carry_out: tuple[KVar, ...]
    index: KVar
    lo: Operand
    hi: Operand
    body: tuple[KStm, ...]
    values: tuple[Operand, ...]
    op: KLambda
    carry: tuple[Operand, ...]
    neutral: tuple[Operand, ...]
    after: tuple[KStm, ...]
    is_long: bool = False
    free: Operand | None = None


class Order(Enum):
    """What an atomic update says about other accesses, at the scope of its array (GLOBAL: the device, SHARED: the
    block). What a thread sees at a RELEASE is seen by a thread whose ACQUIRE of the same element comes after it."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    BOTH = "acquire and release"


@dataclass(frozen=True, slots=True)
class Atomic:
    """`out = array[index]; array[index] op= value`, atomically (op commutative: add, min, max, and, or, xor, ..).

    Outside of thread loops the first thread does it, once for the block; all threads meet there and have `out`."""

    op: Op
    prim: Prim
    array: KArray
    index: Operand
    value: Operand
    out: KVar | None = None
    order: Order = Order.RELAXED


@dataclass(frozen=True, slots=True)
class Fence:
    """Barrier of the block: what its threads wrote before is visible to all of them after. No code on a CPU lane
    target beyond keeping the order."""


# ---- what only threads of a GPU have, but for flags, which lanes have too ------------------------------------------


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
"""What a tile of a chain has posted: its own sum; the combination of all tiles of the chain up to it."""


@dataclass(frozen=True, slots=True)
class LookBack:
    """`outs = op (tiles first .. tile-1 of a chain)`, in order; `neutral` if there is none: collective of the block.

    Tile k posts in its words (`tile_words.py`) SUM and what it holds, which is `own`, then TOTAL and the
    combination of first..k. With p the last tile found to have posted its total, `tile`

        outs = (..(total_p op own_p+1) op ..) op own_tile-1

    which is the fold from the left whatever p is: the same bits in each run. Words are there at once, and speak of no
    other memory. `words` are of u64, and begin as 0. Source: Merrill and Garland, single-pass parallel prefix scan with
    decoupled look-back."""

    outs: tuple[KVar, ...]
    words: KArray
    tile: Operand
    first: Operand
    own: tuple[Operand, ...]
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
    aligned to that), at some time before its group is waited for; a thread's."""

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
class Shuffle:
    """`target := source op by`: a thread gets the element of the one whose number is its own `op` `by` (ADD, SUB, XOR),
    or its own where that is in another warp: collective of the block. Both are `Distribute`d, an element each."""

    target: KArray
    source: KArray
    op: Op
    prim: Prim
    by: Operand


@dataclass(frozen=True, slots=True)
class LoadRow:
    """`vars = array[index], array[index+1], ..` in one access; with threads `KAligned` must hold of it."""

    vars: tuple[KVar, ...]
    array: KArray
    index: Operand


@dataclass(frozen=True, slots=True)
class StoreRow:
    """`array[index], array[index+1], .. := values` in one access; with threads `KAligned` must hold of it."""

    array: KArray
    index: Operand
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """For readers of generated code: a place of the source, which what follows computes, or how it does."""

    what: Loc | str


ForThreads = (
    Publish | WaitFor | LookBack | TeamReduce | WarpTurns | AsyncCopy | CommitCopies | WaitCopies | LoadRow | StoreRow |
    Distribute | Shuffle | LoadMatrix | Mma | Note
)  # fmt: skip


# ---- what only the lanes of a CPU have: rows of a matrix, one to a thread, or all as they are in memory; peeled loops


@dataclass(frozen=True, slots=True)
class RowScan:
    """`threads t in 0..count { body; scanned = inclusive scan of values in its row; after }`: collective; a row is
    `width` elements, count a multiple of that. `body` and `after` are lets and stores, which go over the elements as
    they lie: what an element stores may be stored by others ahead of it, and loads read nothing that is stored."""

    scanned: tuple[KVar, ...]
    index: KVar
    count: Operand
    width: Operand
    body: tuple[KStm, ...]
    values: tuple[Operand, ...]
    op: KLambda
    neutral: tuple[Operand, ...]
    after: tuple[KStm, ...]


@dataclass(frozen=True, slots=True)
class PeeledThreads:
    """`threads i in lo..hi` of a CPU, whose body is `middle` for i in since..until: the same with less to do. The first
    vector of lanes, those that begin before `since`, and what is no whole vector before `until` run the body."""

    index: KVar
    lo: Operand
    hi: Operand
    since: Operand
    until: Operand
    body: tuple[KStm, ...]
    middle: tuple[KStm, ...]


KStm = (
    KLet | Declare | Assign | Store | Alloc | Check | BoundsCheck | KIf | For | KWhile | Threads | PeeledThreads |
    BlockReduce | BlockScan | Atomic | Fence | ForThreads | LoadTile | StoreTile | StoreSome | RowScan
)  # fmt: skip


# ---- kernels -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kernel:
    """`kernel name(block; arrays; scalars) { body }`.

    `collective`: what executes the body, a block or a single warp; its threads are those of `Threads` loops and
    collectives, and its fences order no more than them. `block` is the number of the executing one (i64). `arrays` are
    GLOBAL and do not overlap, except that an array may stand twice only if it is never written, and that the result
    and the operand of one of the pairs `over` may be the same. Call convention on the CPU (DESIGN 2.6):
    `k(args, b0, b1, worker)` where `args` is a table of 8-byte slots: failure record, arena table, arrays in order,
    scalars in order.

    `lengths`: how many elements arrays have that are no results, where these are a constant of at most `SMALL`.

    Passes for a CPU add `lanes`, and `streams`: the arrays that are written past the caches where the last scalar,
    `FAR`, holds.
    """

    name: str
    block: KVar
    arrays: tuple[KArray, ...]
    scalars: tuple[KVar, ...]
    body: tuple[KStm, ...]
    sites: tuple[FailureSite, ...]
    collective: Level
    lanes: LaneShape | None = None
    streams: tuple[KArray, ...] = ()
    over: tuple[tuple[KArray, KArray], ...] = ()
    lengths: tuple[tuple[KArray, int], ...] = ()


SMALL = 256
"""Elements of an array that may be a table of all that is looked up there."""

FAR = KVar("far", Prim.BOOL)
"""Whether results are too large for the caches: by the host, the last scalar of a launch. No other scalar has a name
without a number."""

GROUP = KVar("group", Prim.I64)
"""How many threads of a loop run at once, on a CPU: known when code is made for a processor, and a number on which no
result depends, such as the width of what is packed for them. Any kernel may use it."""
