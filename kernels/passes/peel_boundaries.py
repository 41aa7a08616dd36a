"""Thread loops whose ends differ: the middle without what only the ends need.

    threads i in lo..hi { .. xs[max 0 (i-1)] .. if i < n-1 then xs[i+1] else xs[i] .. }

reads a neighbour that is one element away everywhere but at the ends. On lanes, `max 0 (i-1)` is no run of elements,
and the branch masks. So the loop is peeled: in the middle [a, b) every such clamp is its linear operand, every such
comparison a constant;

    peeled threads i in lo..hi { nearly as it was; from a to b; .. xs[i-1] .. xs[i+1] .. }      plain vector accesses

with a the greatest of the bounds below i, b the least of those above, found before the loop. The first vector of lanes
and the last one run what holds anywhere (`loop_middles.py`), so that vectors begin where rows do. Where the ends are
not short, the loop runs as it was. The cut changes no value and no check.

Loads under masks wait for stores under masks, and masks of many lanes take long. So what the kernel itself has written,
and bytes, are read by

    threads i in a..b { .. xs[i-1] .. xs[i+1] .. } and for i in lo..a and b..hi { nearly as it was }        one by one

A reduction whose operands may come in any order is cut too: the middle is reduced, then the ends join it one by one. A
scan of a kernel, or of a tile, is cut where whole groups of lanes end, so that it combines what it combined before:

    scan i in lo..hi  ⟶  scan i in lo..a' as it was, in a'..b' as the middle, in b'..hi as it was, carries handed on

So are remainders of neighbours that wrap around, `(i + k) % n` and `(i + n + k) % n`, in the middle `i + k`. Loops
that have these are cut before others (`peel_remainders`), as their ends are shorter than pieces for each quotient
(`split_at_multiples.py`), which the loop gets that is not worth the cut.

In a loop that is cut, checks that every thread makes are gone from the middle too: 0 <= i + k < n bounds i as a clamp
does, and a check of what is the same for all threads becomes a condition of the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ...ir.ops import Op, can_fail
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.new_names import NewNames, taken_in
from ..kernel_ir.nodes import (
    BlockReduce,
    Declare,
    KArray,
    KConvert,
    Kernel,
    KIf,
    KLet,
    KOp,
    KStm,
    KVar,
    Operand,
    Threads,
)
from ..kernel_ir.traverse import (
    Renamed,
    assigned,
    defined,
    loaded_arrays,
    rewritten,
    statements,
    used,
)
from .hoist_invariants import split
from .loop_middles import FAR, Bound, Middle, Whole, first_ends

LEAST = 4
"""Elements of a middle that is worth ends one by one."""
LEAST_BYTES = 4
"""Of elements whose vectors have so few lanes that masks of them gain time."""
LONGEST = 1 << 30
"""Elements of a loop that is cut: the lanes count them in 32 bits."""
LANES = 1 << 8
"""A multiple of the lanes of every group; elements of a scan's middle that is worth the cut."""
LEAST_REDUCED = 32
"""The same of a reduction, whose middle has to be combined."""
MOST_ENDS, PART = 8, 8
"""Elements at both ends together; how small a part of the middle they may be where that is more and the distance of a
neighbour is found at run time."""
MOST, MOST_SCANNED = 500, 100
"""Statements of a loop that is worth a second copy, and of a scan."""


def peel_boundaries(kernel: Kernel) -> Kernel:
    """The kernel with every thread loop cut where that removes clamps or branches; the same one where there is none."""
    scans = [stm for stm in kernel.body if isinstance(stm, kir.BlockScan)]
    cutter = _Cutter(assigned(kernel.body), NewNames("", "cut"), written_arrays(kernel), scans)
    body = rewritten(kernel.body, cutter.statement)
    return replace(kernel, body=body) if cutter.new.made else kernel


def peel_remainders(kernel: Kernel) -> Kernel:
    """The kernel with the thread loops cut whose indices wrap around; the same one where there is none."""
    cutter = _Cutter(assigned(kernel.body), NewNames("w", "cut"), written_arrays(kernel), (), True)
    body = rewritten(kernel.body, lambda stm: cutter.loop(stm) if isinstance(stm, Threads) else None)
    return replace(kernel, body=body) if cutter.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Cutter:
    """`mutable`: variables that are assigned; `stored`: what the kernel writes; `scans`: its own, not those of its
    loops; `wraps`: only loops that have remainders are cut."""

    mutable: frozenset[str]
    new: NewNames
    stored: frozenset[KArray]
    scans: Sequence[KStm]
    wraps: bool = False

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        """A loop or a reduction cut; None for what has others inside."""
        match stm:
            case Threads():
                return self.loop(stm)
            case BlockReduce(commutative=True):
                return self.reduction(stm)
            case kir.BlockScan() if stm in self.scans or isinstance(stm.lo, KVar):
                return self.scan(stm)
            case _:
                return None

    def loop(self, stm: Threads) -> tuple[KStm, ...]:
        """The loop cut, or as it is where there is nothing to gain."""
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body) or sum(1 for _ in statements(stm.body)) > MOST:
            return (stm,)
        before, others = split(stm, self.mutable, _is_total)
        rest = replace(stm, body=others)
        first = first_ends(stm.index, rest.body)
        middle = Middle(stm.index, defined(rest.body) | self.mutable | {stm.index.name}, first)
        body = middle.unchecked(middle.rewritten(rest.body))
        if not (middle.wraps if self.wraps else middle.pays):
            return (stm,)
        out = list(before)
        whole = Whole(stm.index, middle.inside, first, turned=middle.turned, within=middle.within)
        ends = whole.unchecked(whole.rewritten(rest.body))
        self.conditions(rest, whole, out)
        loaded = {array for inner in statements(rest.body) for array in loaded_arrays(inner)}
        if any(array in self.stored or array.prim.bytes < LEAST_BYTES for array in loaded):
            cut = self.bounds(rest, middle, out, LEAST)
            alone = self.ends(replace(rest, body=ends), cut)
            return (*out, KIf(cut.pays, (Threads(stm.index, cut.a, cut.b, body), alone), (rest,)))
        cut = self.bounds(rest, middle, out)
        peeled = kir.PeeledThreads(stm.index, stm.lo, stm.hi, cut.a, cut.b, ends, body)
        return (*out, KIf(cut.pays, (peeled,), (rest,)))

    def conditions(self, stm: Threads, whole: Whole, out: list[KStm]) -> None:
        """What is to hold of all indices, as indices with sizes: they are few and not negative, and not behind bounds
        that the last one is to be at most; what wraps around does so once."""
        length, last = self.new.let(out, Op.SUB, stm.hi, stm.lo), self.new.let(out, Op.SUB, stm.hi, Const(Prim.I64, 1))
        whole.within |= {(stm.lo, Const(Prim.I64, FAR)), (length, Const(Prim.I64, LONGEST))}
        whole.within |= {
            (self.new.let(out, Op.SUB, u, last), Const(Prim.I64, FAR)) for u in sorted(whole.reached, key=str)
        }
        for m, shift in sorted(set(whole.turned.values()), key=str):
            farthest = self.new.let(out, Op.MAX, last, Const(Prim.I64, abs(shift) - 1))
            whole.within.add((farthest, m))

    def reduction(self, stm: BlockReduce) -> tuple[KStm, ...]:
        """The reduction cut, or as it is where there is nothing to gain."""
        out: list[KStm] = []
        rebased = self.rebased(stm, out)
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body) or sum(1 for _ in statements(stm.body)) > MOST:
            return (stm,)
        first = first_ends(rebased.index, rebased.body)
        middle = Middle(rebased.index, defined(stm.body) | self.mutable | {stm.index.name}, first)
        body = middle.unchecked(middle.rewritten(rebased.body))
        if not middle.pays:
            return (stm,)
        found = tuple(self.new.name("red", var.prim) for var in stm.outs)
        out += [Declare(var, start) for var, start in zip(found, stm.neutral, strict=True)]
        whole = Threads(rebased.index, rebased.lo, rebased.hi, rebased.body)
        cut = self.bounds(whole, middle, out, LEAST_REDUCED)
        values = tuple(map(middle.read, rebased.values))
        inner = replace(rebased, lo=cut.a, hi=cut.b, body=body, values=values)
        ends = self.ends(whole, cut, lambda copy: taken_in(copy, stm.op, found, tuple(map(copy.read, rebased.values))))
        pieces = (*self.assigned_to(found, inner), ends)
        out.append(KIf(cut.pays, pieces, self.assigned_to(found, stm)))
        return (*out, *(KLet(x, KConvert(x.prim, x.prim, y)) for x, y in zip(stm.outs, found, strict=True)))

    def scan(self, stm: kir.BlockScan) -> tuple[KStm, ...]:
        """The scan in pieces, or as it is where there is nothing to gain."""
        parts = (*stm.body, *stm.after)
        if stm.index.prim is not Prim.I64 or not is_plain(parts) or sum(1 for _ in statements(parts)) > MOST_SCANNED:
            return (stm,)
        middle = Middle(stm.index, defined((stm,)) | self.mutable, first_ends(stm.index, parts))
        body, after = (middle.unchecked(middle.rewritten(stms)) for stms in (stm.body, stm.after))
        if not middle.pays:
            return (stm,)
        out: list[KStm] = []
        cut = self.bounds(Threads(stm.index, stm.lo, stm.hi, stm.body), middle, out, LANES)
        values = tuple(map(middle.read, stm.values))
        begin, end, pieces = stm.lo, stm.hi, list[kir.BlockScan]()
        if middle.below:
            last = self.new.let(out, Op.ADD, cut.a, Const(Prim.I64, LANES - 1))
            begin = self.group_end(out, stm.lo, last, cut.pays, stm.hi)
            pieces.append(replace(stm, hi=begin))
        if middle.above:
            end = self.group_end(out, begin, cut.b, cut.pays, begin)
        pieces.append(replace(stm, lo=begin, hi=end, body=body, values=values, after=after))
        if middle.above:
            pieces.append(replace(stm, lo=end))
        carry = stm.carry
        for piece in pieces[:-1]:
            copy = self.new.copy().statement(replace(piece, carry=carry))
            assert isinstance(copy, kir.BlockScan), "a copy is of the same kind"
            out.append(copy)
            carry = copy.carry_out
        return (*out, replace(pieces[-1], carry=carry))

    def group_end(self, out: list[KStm], start: Operand, at: Operand, pays: Operand, none: Operand) -> KVar:
        """The last end of groups of lanes from `start` on that is not behind `at`, and not before `start`; `none`
        where the cut is not worth it."""
        length = self.new.let(out, Op.MAX, self.new.let(out, Op.SUB, at, start), Const(Prim.I64, 0))
        whole = self.new.let(
            out, Op.MUL, self.new.let(out, Op.QUOT, length, Const(Prim.I64, LANES)), Const(Prim.I64, LANES)
        )
        var = self.new.name("cut", Prim.I64)
        out.append(KLet(var, KOp(Op.SELECT, Prim.I64, (pays, self.new.let(out, Op.ADD, start, whole), none))))
        return var

    def rebased(self, stm: BlockReduce, out: list[KStm]) -> BlockReduce:
        """A reduction that only counts from somewhere on, over what it counts."""
        match stm.body:
            case (KLet(at, KOp(Op.ADD, Prim.I64, (base, index))), *rest) if index == stm.index and base != index:
                others = (*rest, *(KLet(at, KConvert(x.prim, x.prim, x)) for x in stm.values if isinstance(x, KVar)))
                if not any(stm.index.name in used(one) for one in statements(others)):
                    lo, hi = self.new.let(out, Op.ADD, base, stm.lo), self.new.let(out, Op.ADD, base, stm.hi)
                    return replace(stm, index=at, lo=lo, hi=hi, body=tuple(rest))
            case _:
                pass
        return stm

    def assigned_to(self, found: tuple[KVar, ...], stm: BlockReduce) -> tuple[KStm, ...]:
        """A copy of a reduction, whose results are assigned."""
        copy = self.new.copy().statement(stm)
        assert isinstance(copy, BlockReduce), "a copy is of the same kind"
        return (copy, *(kir.Assign(var, made) for var, made in zip(found, copy.outs, strict=True)))

    def bounds(self, stm: Threads, middle: Middle, out: list[KStm], least: int | None = None) -> _Cut:
        """Where the middle begins and ends, and whether it is worth the cut."""
        a, b = stm.lo, stm.hi
        for bound in sorted(middle.below, key=str):
            a = self.new.let(out, Op.MAX, a, self.moved(out, bound))
        for bound in sorted(middle.above, key=str):
            b = self.new.let(out, Op.MIN, b, self.moved(out, bound))
        length = self.new.let(out, Op.SUB, b, a)
        ends = self.new.let(out, Op.SUB, self.new.let(out, Op.SUB, stm.hi, stm.lo), length)
        long = None if least is None else self.new.let(out, Op.GE, length, Const(Prim.I64, least))
        most: Operand = i64(MOST_ENDS)
        if any(bound.terms for bound in (*middle.below, *middle.above)):
            most = self.new.let(out, Op.MAX, most, self.new.let(out, Op.QUOT, length, i64(PART)))
        enough = self.new.let(out, Op.LE, ends, most)
        enough = enough if long is None else self.new.let(out, Op.AND, long, enough, Prim.BOOL)
        for index, size in sorted(middle.within, key=str):
            low = self.new.let(out, Op.GE, index, Const(Prim.I64, 0))
            high = self.new.let(out, Op.LT, index, size)
            enough = self.new.let(out, Op.AND, enough, self.new.let(out, Op.AND, low, high, Prim.BOOL), Prim.BOOL)
        return _Cut(a, b, ends, enough)

    def ends(self, stm: Threads, cut: _Cut, after: Callable[[Renamed], Iterable[KStm]] = lambda copy: ()) -> KStm:
        """The elements before a and from b on, one after the other; their variables are others, since these are
        uniform."""
        a, b = cut.a, cut.b
        body: list[KStm] = []
        k = self.new.name("end", Prim.I64)
        before = self.new.let(body, Op.SUB, a, stm.lo)
        first = self.new.let(body, Op.LT, k, before)
        early = self.new.let(body, Op.ADD, stm.lo, k)
        late = self.new.let(body, Op.ADD, b, self.new.let(body, Op.SUB, k, before))
        renamed = self.new.copy()
        index = renamed.made(stm.index)
        body.append(KLet(index, KOp(Op.SELECT, Prim.I64, (first, early, late))))
        return kir.For(k, cut.ends, (*body, *renamed.rewritten(stm.body), *after(renamed)))

    def moved(self, out: list[KStm], bound: Bound) -> Operand:
        """The bound for the index alone."""
        if isinstance(bound.of, Const) and not bound.terms:
            return i64(-(-(max(-FAR, min(FAR, int(bound.of.value))) + bound.shift) // bound.by))
        near = self.new.let(out, Op.MIN, self.new.let(out, Op.MAX, bound.of, i64(-FAR)), i64(FAR))
        more = bound.shift + bound.by - 1
        near = self.new.let(out, Op.ADD, near, i64(more)) if more else near
        for x, c in bound.terms:
            near = self.new.let(out, Op.SUB if c > 0 else Op.ADD, near, x)
        return near if bound.by == 1 else self.new.let(out, Op.DIV, near, i64(bound.by))


@dataclass(frozen=True, slots=True)
class _Cut:
    """The middle a..b, how many elements the ends have, and whether to cut."""

    a: Operand
    b: Operand
    ends: Operand
    pays: Operand


def _is_total(stm: KStm) -> bool:
    """An operation that cannot fail."""
    match stm:
        case KLet(_, KOp(op, prim)):
            return not can_fail(op, prim)
        case _:
            return False


# ---- statements -----------------------------------------------------------------------------------------------------


def is_plain(stms: Iterable[KStm]) -> bool:
    """Whether there is only what can be written out a second time."""
    return all(isinstance(stm, _PLAIN) for stm in statements(stms))


_PLAIN = (
    KLet, kir.Declare, kir.Assign, kir.Store, kir.Check, kir.BoundsCheck, KIf, kir.For, kir.KWhile, kir.Note,
)  # fmt: skip
