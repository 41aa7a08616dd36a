"""The rows of a part of the merge path side by side, by the threads of a warp: all are at work if rows are short, too.

    ended[t]        a bit for each of thread t's steps: a row ends there; else it has an element
    first[t]        the row of the first of these steps
    stage[s]        the body at the element of step s; at the end of a row, what thread t has of it
    tails[t]        what thread t has of the row that goes on

Elements are loaded by neighbours, and folded in order by threads. A scan of the tails, which starts anew behind the end
of a row, gives what comes before the first row that a thread ends. No thread looks for its place on the path: the row
of a step is the number of the bits before it. Source: Merrill and Garland, merge-based parallel sparse matrix-vector
multiplication, SC'16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...ir import core
from ...ir.machine import BLOCK, WARP
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KArray, KVar
from .kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, Value, scalar
from .soacs import combined, k_lambda, neutral_of, put, starting_anew
from .statements import gen_body

THREADS = i64(WARP.threads)
AHEAD = 4
"""Elements that a thread loads at once."""
NO_BITS, LOWEST = Const(Prim.U32, 0), Const(Prim.U32, 1)


@dataclass(frozen=True, slots=True)
class Part:
    """The steps `begin` .. `finish`-1; the rows `first` .. `last`-1 end there. `items`: the steps of a thread, a power
    of two and fewer than a word has bits."""

    b: Builder
    exp: core.SegRed
    ends: Value
    begin: Operand
    finish: Operand
    first: Operand
    last: Operand
    items: int

    def shared(self, base: str, prim: Prim, count: int = WARP.threads) -> KArray:
        return self.b.alloc(base, prim, (i64(count),), kir.Space.SHARED).mem

    def thread_of(self, step: Operand) -> Operand:
        return self.b.exact(Op.QUOT, step, i64(self.items), "by")

    def slot(self, step: Operand) -> Operand:
        """Where a step is in the stage, which has gaps: what threads touch at once is in different banks."""
        return self.b.add(step, self.b.exact(Op.QUOT, step, THREADS, "gap"))

    def bit(self, position: Operand) -> Operand:
        position = self.b.let("position", Prim.U32, kir.KConvert(Prim.I64, Prim.U32, position))
        return self.b.op(Op.SHL, Prim.U32, LOWEST, position, base="bit")

    def bit_of(self, step: Operand, thread: Operand) -> Operand:
        return self.bit(self.b.sub(step, self.b.mul(thread, i64(self.items))))

    def number(self, op: Op, word: Operand) -> Operand:
        """What an operation counts."""
        return self.b.let("number", Prim.I64, kir.KConvert(Prim.I32, Prim.I64, self.b.op(op, Prim.U32, word)))

    def is_any(self, bits: Operand) -> Operand:
        return self.b.op(Op.NE, Prim.U32, bits, NO_BITS, base="ends")

    @contextmanager
    def rows(self) -> Iterator[tuple[Operand, Operand]]:
        """Threads for the rows that end in the part: the row, and its last step."""
        b = self.b
        with b.threads(b.fresh("row", Prim.I64), self.first, self.last) as row:
            yield row, b.sub(b.add(scalar(b.element(self.ends, (row,))), row), self.begin)


def search(b: Builder, ends: Value, step: Operand, low: KVar, high: KVar) -> Operand:
    """The least p from `low` to `high` with `step - p <= ends[p]`, if it is there."""
    with b.nested() as before:
        searching = b.op(Op.LT, Prim.I64, low, high, base="searching")
    with b.nested() as stms:
        middle = b.op(Op.SHR, Prim.I64, b.op(Op.ADD, Prim.I64, low, high), ONE, base="middle")
        after = b.add(middle, ONE)
        is_behind = b.op(Op.LE, Prim.I64, scalar(b.element(ends, (middle,))), b.sub(step, after))
        b.emit(kir.KIf(is_behind, (kir.Assign(low, after),), (kir.Assign(high, middle),)))
    b.emit(kir.KWhile(tuple(before), searching, tuple(stms)))
    return b.copy(low)


def has_room(part: Part, prims: Iterable[Prim]) -> bool:
    """Whether the shared memory of a block holds the stage and the tails of a warp for values of these types."""
    places = part.items * (WARP.threads + 1) + WARP.threads
    kept = WARP.threads * (Prim.U32.bytes + Prim.I64.bytes)
    return kept + places * sum(prim.bytes for prim in prims) <= BLOCK.bytes


def side_by_side(part: Part, outs: list[ArrayRef]) -> tuple[KVar, ...]:
    """Stores what the part has of the rows that end there; gives what it has of the next."""
    b, prims = part.b, [out.mem.prim for out in outs]
    ended, first = part.shared("ended", Prim.U32), part.shared("first", Prim.I64)
    tails = [part.shared("tails", prim) for prim in prims]
    stage = [part.shared("stage", prim, part.items * (WARP.threads + 1)) for prim in prims]
    mark_ends(part, ended, first)
    fill(part, ended, first, stage)
    fold(part, ended, stage, tails)
    rest = put_before(part, ended, stage, tails)
    with part.rows() as (row, step):
        for out, value in zip(outs, load(b, stage, part.slot(step)), strict=True):
            put(b, out, row, value, Mode.THREAD)
    return rest


def load(b: Builder, arrays: list[KArray], at: Operand) -> tuple[KVar, ...]:
    """The elements of arrays at one index."""
    return tuple(b.let("x", array.prim, kir.KLoad(array, at)) for array in arrays)


def keep(b: Builder, arrays: list[KArray], at: Operand, values: Iterable[Value]) -> None:
    """Stores values in arrays at one index."""
    for array, value in zip(arrays, values, strict=True):
        b.emit(kir.Store(array, at, scalar(value)))


def mark_ends(part: Part, ended: KArray, first: KArray) -> None:
    """Where rows end, and which ones threads begin with."""
    b = part.b
    with b.threads(b.fresh("t", Prim.I64), ZERO, THREADS) as t:
        b.emit(kir.Store(ended, t, NO_BITS))
        low, high = b.declare("low", part.first), b.declare("high", part.last)
        step = b.add(part.begin, b.mul(t, i64(part.items)))
        b.emit(kir.Store(first, t, search(b, part.ends, step, low, high)))
    with part.rows() as (_, step):
        thread = part.thread_of(step)
        b.emit(kir.Atomic(Op.OR, Prim.U32, ended, thread, part.bit_of(step, thread)))


def fill(part: Part, ended: KArray, first: KArray, stage: list[KArray]) -> None:
    """The body at all elements, each by a thread; behind the last step the neutral element."""
    b, count = part.b, part.b.sub(part.finish, part.begin)
    with b.threads(b.fresh("step", Prim.I64), count, i64(part.items * WARP.threads)) as step:
        keep(b, stage, part.slot(step), neutral_of(b, part.exp.reds))
    with b.threads(b.fresh("t", Prim.I64), ZERO, THREADS) as t:
        rounds = b.exact(Op.QUOT, b.add(b.sub(count, t), i64(WARP.threads - 1)), THREADS, "rounds")
        with b.loop(b.fresh("j", Prim.I64), rounds, AHEAD) as j:
            step = b.add(b.mul(j, THREADS), t)
            thread = part.thread_of(step)
            bit, (word,) = part.bit_of(step, thread), load(b, [ended], thread)
            is_element = b.op(Op.NOT, Prim.BOOL, part.is_any(b.op(Op.AND, Prim.U32, word, bit)))
            with b.when(is_element):
                lower = b.op(Op.AND, Prim.U32, word, b.op(Op.SUB, Prim.U32, bit, LOWEST))
                row = b.add(load(b, [first], thread)[0], part.number(Op.POPC, lower))
                element = b.sub(b.add(part.begin, step), row)
                for (name, _), index in zip(part.exp.space.dims, (row, element), strict=True):
                    b.env[name] = index
                keep(b, stage, b.add(step, j), gen_body(b, part.exp.body, Mode.THREAD))


def fold(part: Part, ended: KArray, stage: list[KArray], tails: list[KArray]) -> None:
    """Each thread its steps, one after the other."""
    b, neutral = part.b, neutral_of(part.b, part.exp.reds)
    with b.threads(b.fresh("t", Prim.I64), ZERO, THREADS) as t:
        (word,), accs = load(b, [ended], t), [b.declare("acc", ne) for ne in neutral]
        start = part.slot(b.mul(t, i64(part.items)))
        with b.loop(b.fresh("j", Prim.I64), i64(part.items), part.items) as j:
            so_far, at = [b.copy(acc) for acc in accs], b.add(start, j)
            with b.nested() as ends:
                keep(b, stage, at, so_far)
                b.assign(accs, neutral)
            with b.nested() as goes_on:
                more = combined(b, part.exp.reds, so_far, load(b, stage, at), Mode.THREAD)
                b.assign(accs, map(scalar, more))
            is_end = part.is_any(b.op(Op.AND, Prim.U32, word, part.bit(j)))
            b.emit(kir.KIf(is_end, tuple(ends), tuple(goes_on)))
        keep(b, tails, t, [b.copy(acc) for acc in accs])


def put_before(part: Part, ended: KArray, stage: list[KArray], tails: list[KArray]) -> tuple[KVar, ...]:
    """What threads have of a row that goes on, put before what the next one has that ends a row."""
    b, reds, neutral = part.b, part.exp.reds, neutral_of(part.b, part.exp.reds)
    op, never = k_lambda(b, reds), Const(Prim.BOOL, False)
    t, starts = b.fresh("t", Prim.I64), b.fresh("started", Prim.BOOL)
    with b.nested() as body:
        values = (part.is_any(*load(b, [ended], t)), *load(b, tails, t))
    scanned, rest = (tuple(b.fresh(base, v.prim) for v in op.left) for base in ("scanned", "rest"))
    with b.nested() as after:
        following = b.add(t, ONE)
        with b.when(b.op(Op.LT, Prim.I64, following, THREADS, base="has")):
            (word,) = load(b, [ended], following)
            with b.when(part.is_any(word)):
                at = b.add(part.slot(b.mul(following, i64(part.items))), part.number(Op.CTZ, word))
                keep(b, stage, at, combined(b, reds, scanned, load(b, stage, at), Mode.THREAD))
    last = b.fresh("last", Prim.BOOL)
    b.emit(
        kir.BlockScan(
            (starts, *scanned), (last, *rest), t, ZERO, THREADS, tuple(body), values, starting_anew(b, op),
            (never, *neutral), (never, *neutral), tuple(after),
        )
    )  # fmt: skip
    return rest
