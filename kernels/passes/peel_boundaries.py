"""Thread loops whose ends differ: the middle without what only the ends need.

    threads i in lo..hi { .. xs[max 0 (i-1)] .. if i < n-1 then xs[i+1] else xs[i] .. }

reads a neighbour that is one element away everywhere but at the ends. On lanes, `max 0 (i-1)` is no run of elements,
and the branch masks. So the loop is cut: in the middle [a, b) every such clamp is its linear operand, every such
comparison a constant;

    threads i in a..b { .. xs[i-1] .. xs[i+1] .. }         plain vector accesses
    for i in lo..a and b..hi { as it was }                 one by one

with a the greatest of the bounds below i, b the least of those above, found before the loop. Where the middle is short
or the ends are not, the loop runs as it was. The cut changes no value and no check.

A reduction whose operands may come in any order is cut in the same way: the middle is reduced, then the ends join it.
A scan of a kernel is cut where whole groups of lanes end, so that it combines what it combined before:

    scan i in lo..hi  ⟶  scan i in lo..a' as it was, in a'..b' as the middle, in b'..hi as it was, carries handed on

So are remainders of neighbours that wrap around, `(i + k) % n` and `(i + n + k) % n`, in the middle `i + k`. Loops
that have these are cut before others (`peel_remainders`), as their ends are shorter than pieces for each quotient
(`split_at_multiples.py`), which the loop gets that is not worth the cut.

In a loop that is cut, checks that every thread makes are gone from the middle too: 0 <= i + k < n bounds i as a clamp
does, and a check of what is the same for all threads becomes a condition of the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace

from ...ir.ops import Op, can_fail
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import BlockReduce, Declare, KConvert, Kernel, KIf, KLet, KOp, KStm, KVar, Operand, Threads
from ..kernel_ir.traverse import (
    Renamed,
    assigned,
    children,
    defined,
    map_operands,
    rewritten,
    statements,
    used,
    with_children,
)
from .hoist_invariants import split

LEAST = 4
"""Elements of a middle that is worth the cut."""
LANES = 1 << 8
"""A multiple of the lanes of every group; elements of a scan's middle that is worth the cut."""
LEAST_REDUCED = 32
"""The same of a reduction, whose middle has to be combined."""
MOST_ENDS = 8
"""Elements at both ends together: they are computed one by one."""
MOST, MOST_SCANNED = 500, 100
"""Statements of a loop that is worth a second copy, and of a scan."""
FAR = 1 << 61
"""Beyond every index; bounds are brought within it, so that moving them by a few does not wrap."""

MIRRORED = {
    Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE, Op.MIN: Op.MIN, Op.MAX: Op.MAX,
}  # fmt: skip
"""`x op y` is `y MIRRORED[op] x`."""


def peel_boundaries(kernel: Kernel) -> Kernel:
    """The kernel with every thread loop cut where that removes clamps or branches; the same one where there is none."""
    cutter = _Cutter(assigned(kernel.body), [0])
    scans = tuple(
        new for stm in kernel.body for new in (cutter.scan(stm) if isinstance(stm, kir.BlockScan) else (stm,))
    )
    body = rewritten(scans, cutter.statement)
    return replace(kernel, body=body) if cutter.fresh[0] else kernel


def peel_remainders(kernel: Kernel) -> Kernel:
    """The kernel with the thread loops cut whose indices wrap around; the same one where there is none."""
    cutter = _Cutter(assigned(kernel.body), [0], True)
    body = rewritten(kernel.body, lambda stm: cutter.loop(stm) if isinstance(stm, Threads) else None)
    return replace(kernel, body=body) if cutter.fresh[0] else kernel


@dataclass(frozen=True, slots=True)
class _Cutter:
    """`mutable`: variables that are assigned; `fresh` counts the names made; `wraps`: only loops that have remainders
    are cut, and names differ from those of the other ones."""

    mutable: frozenset[str]
    fresh: list[int]
    wraps: bool = False

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case Threads():
                return self.loop(stm)
            case BlockReduce(commutative=True):
                return self.reduction(stm)
            case _:
                return None

    def loop(self, stm: Threads) -> tuple[KStm, ...]:
        """The loop cut, or as it is where there is nothing to gain."""
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body) or sum(1 for _ in statements(stm.body)) > MOST:
            return (stm,)
        before, others = split(stm, self.mutable, _is_total)
        rest = replace(stm, body=others)
        middle = _Middle(stm.index, defined(rest.body) | self.mutable | {stm.index.name})
        body = middle.unchecked(middle.rewritten(rest.body))
        if not (middle.wraps if self.wraps else middle.pays):
            return (stm,)
        out = list(before)
        cut = self.bounds(rest, middle, out, LEAST)
        ends = self.ends(rest, cut)
        return (*out, KIf(cut.pays, (Threads(stm.index, cut.a, cut.b, body), ends), (rest,)))

    def reduction(self, stm: BlockReduce) -> tuple[KStm, ...]:
        """The reduction cut, or as it is where there is nothing to gain."""
        out: list[KStm] = []
        rebased = self.rebased(stm, out)
        if stm.index.prim is not Prim.I64 or not is_plain(stm.body) or sum(1 for _ in statements(stm.body)) > MOST:
            return (stm,)
        middle = _Middle(rebased.index, defined(stm.body) | self.mutable | {stm.index.name})
        body = middle.rewritten(rebased.body)
        if not middle.pays or middle.within:
            return (stm,)
        found = tuple(self.name("red", var.prim) for var in stm.outs)
        out += [Declare(var, start) for var, start in zip(found, stm.neutral, strict=True)]
        whole = Threads(rebased.index, rebased.lo, rebased.hi, rebased.body)
        cut = self.bounds(whole, middle, out, LEAST_REDUCED)
        values = tuple(map(middle.read, rebased.values))
        inner = replace(rebased, lo=cut.a, hi=cut.b, body=body, values=values)
        ends = self.ends(whole, cut, lambda copy: joined(copy, rebased, found))
        pieces = (*self.assigned_to(found, inner), ends)
        out.append(KIf(cut.pays, pieces, self.assigned_to(found, stm)))
        return (*out, *(KLet(x, KConvert(x.prim, x.prim, y)) for x, y in zip(stm.outs, found, strict=True)))

    def scan(self, stm: kir.BlockScan) -> tuple[KStm, ...]:
        """The scan in pieces, or as it is where there is nothing to gain."""
        parts = (*stm.body, *stm.after)
        if stm.index.prim is not Prim.I64 or not is_plain(parts) or sum(1 for _ in statements(parts)) > MOST_SCANNED:
            return (stm,)
        middle = _Middle(stm.index, defined((stm,)) | self.mutable)
        body, after = (middle.unchecked(middle.rewritten(stms)) for stms in (stm.body, stm.after))
        if not middle.pays:
            return (stm,)
        out: list[KStm] = []
        cut = self.bounds(Threads(stm.index, stm.lo, stm.hi, stm.body), middle, out, LANES)
        values = tuple(map(middle.read, stm.values))
        begin, end, pieces = stm.lo, stm.hi, list[kir.BlockScan]()
        if middle.below:
            last = self.let(out, Op.ADD, cut.a, Const(Prim.I64, LANES - 1))
            begin = self.group_end(out, stm.lo, last, cut.pays, stm.hi)
            pieces.append(replace(stm, hi=begin))
        if middle.above:
            end = self.group_end(out, begin, cut.b, cut.pays, begin)
        pieces.append(replace(stm, lo=begin, hi=end, body=body, values=values, after=after))
        if middle.above:
            pieces.append(replace(stm, lo=end))
        carry = stm.carry
        for piece in pieces[:-1]:
            self.fresh[0] += 1
            copy = Renamed(f".{self.fresh[0]}", {}).statement(replace(piece, carry=carry))
            assert isinstance(copy, kir.BlockScan), "a copy is of the same kind"
            out.append(copy)
            carry = copy.carry_out
        return (*out, replace(pieces[-1], carry=carry))

    def group_end(self, out: list[KStm], start: Operand, at: Operand, pays: Operand, none: Operand) -> KVar:
        """The last end of groups of lanes from `start` on that is not behind `at`, and not before `start`; `none`
        where the cut is not worth it."""
        length = self.let(out, Op.MAX, self.let(out, Op.SUB, at, start), Const(Prim.I64, 0))
        whole = self.let(out, Op.MUL, self.let(out, Op.QUOT, length, Const(Prim.I64, LANES)), Const(Prim.I64, LANES))
        var = self.name("cut", Prim.I64)
        out.append(KLet(var, KOp(Op.SELECT, Prim.I64, (pays, self.let(out, Op.ADD, start, whole), none))))
        return var

    def rebased(self, stm: BlockReduce, out: list[KStm]) -> BlockReduce:
        """A reduction that only counts from somewhere on, over what it counts."""
        match stm.body:
            case (KLet(at, KOp(Op.ADD, Prim.I64, (base, index))), *rest) if index == stm.index and base != index:
                others = (*rest, *(KLet(at, KConvert(x.prim, x.prim, x)) for x in stm.values if isinstance(x, KVar)))
                if not any(stm.index.name in used(one) for one in statements(others)):
                    lo, hi = self.let(out, Op.ADD, base, stm.lo), self.let(out, Op.ADD, base, stm.hi)
                    return replace(stm, index=at, lo=lo, hi=hi, body=tuple(rest))
            case _:
                pass
        return stm

    def assigned_to(self, found: tuple[KVar, ...], stm: BlockReduce) -> tuple[KStm, ...]:
        """A copy of a reduction, whose results are assigned."""
        self.fresh[0] += 1
        copy = Renamed(f".{self.fresh[0]}", {}).statement(stm)
        assert isinstance(copy, BlockReduce), "a copy is of the same kind"
        return (copy, *(kir.Assign(var, made) for var, made in zip(found, copy.outs, strict=True)))

    def bounds(self, stm: Threads, middle: _Middle, out: list[KStm], least: int) -> _Cut:
        """Where the middle begins and ends, and whether it is worth the cut."""
        a, b = stm.lo, stm.hi
        for bound in sorted(middle.below, key=str):
            a = self.let(out, Op.MAX, a, self.moved(out, bound))
        for bound in sorted(middle.above, key=str):
            b = self.let(out, Op.MIN, b, self.moved(out, bound))
        length = self.let(out, Op.SUB, b, a)
        ends = self.let(out, Op.SUB, self.let(out, Op.SUB, stm.hi, stm.lo), length)
        long = self.let(out, Op.GE, length, Const(Prim.I64, least), Prim.BOOL)
        short = self.let(out, Op.LE, ends, Const(Prim.I64, MOST_ENDS), Prim.BOOL)
        enough = self.both(out, long, short)
        for index, size in sorted(middle.within, key=str):
            low = self.let(out, Op.GE, index, Const(Prim.I64, 0), Prim.BOOL)
            high = self.let(out, Op.LT, index, size, Prim.BOOL)
            enough = self.both(out, enough, self.both(out, low, high))
        return _Cut(a, b, ends, enough)

    def ends(self, stm: Threads, cut: _Cut, after: Callable[[Renamed], Iterable[KStm]] = lambda copy: ()) -> KStm:
        """The elements before a and from b on, one after the other; their variables are others, since these are
        uniform."""
        a, b = cut.a, cut.b
        body: list[KStm] = []
        k = self.name("end", Prim.I64)
        before = self.let(body, Op.SUB, a, stm.lo)
        first = self.let(body, Op.LT, k, before, Prim.BOOL)
        early = self.let(body, Op.ADD, stm.lo, k)
        late = self.let(body, Op.ADD, b, self.let(body, Op.SUB, k, before))
        self.fresh[0] += 1
        renamed = Renamed(f".{'w' if self.wraps else ''}{self.fresh[0]}", {})
        index = renamed.made(stm.index)
        body.append(KLet(index, KOp(Op.SELECT, Prim.I64, (first, early, late))))
        return kir.For(k, cut.ends, (*body, *renamed.rewritten(stm.body), *after(renamed)))

    def moved(self, out: list[KStm], bound: _Bound) -> Operand:
        """The bound for the index alone."""
        if isinstance(bound.of, Const):
            return Const(Prim.I64, max(-FAR, min(FAR, int(bound.of.value))) + bound.shift)
        near = self.let(out, Op.MIN, self.let(out, Op.MAX, bound.of, Const(Prim.I64, -FAR)), Const(Prim.I64, FAR))
        return self.let(out, Op.ADD, near, Const(Prim.I64, bound.shift)) if bound.shift else near

    def let(self, out: list[KStm], op: Op, x: Operand, y: Operand, result: Prim = Prim.I64) -> KVar:
        var = self.name("cut", result)
        out.append(KLet(var, KOp(op, Prim.I64, (x, y))))
        return var

    def both(self, out: list[KStm], x: Operand, y: Operand) -> KVar:
        var = self.name("cut", Prim.BOOL)
        out.append(KLet(var, KOp(Op.AND, Prim.BOOL, (x, y))))
        return var

    def name(self, base: str, prim: Prim) -> KVar:
        self.fresh[0] += 1
        return KVar(f"{base}.{'w' if self.wraps else ''}{self.fresh[0]}", prim)


def joined(copy: Renamed, stm: BlockReduce, found: tuple[KVar, ...]) -> Iterable[KStm]:
    """The values of an end, `copy`, and what is found so far, put together by the operator."""
    here = tuple(map(copy.read, stm.values))
    for left, var in zip(stm.op.left, found, strict=True):
        yield KLet(copy.made(left), KConvert(var.prim, var.prim, var))
    copy.names.update(zip(stm.op.right, here, strict=True))
    yield from copy.rewritten(stm.op.body)
    yield from map(kir.Assign, found, map(copy.read, stm.op.results))


@dataclass(frozen=True, slots=True)
class _Cut:
    """The middle a..b, how many elements the ends have, and whether to cut."""

    a: Operand
    b: Operand
    ends: Operand
    pays: Operand


@dataclass(frozen=True, slots=True)
class _Bound:
    """The index is at least (or less than) `of` + `shift`."""

    of: Operand
    shift: int


@dataclass(slots=True)
class _Middle:
    """The loop's body as it is in the middle, and what makes it so: the bounds, and pairs of an index and the size that
    it is to be within.

    `offsets`: variables that are the index plus a number; `rounds`: those that are the index plus a number and a
    variable; `known`: variables that stand for another operand; `pays`: whether a clamp or a branch is gone; `wraps`:
    whether a remainder of a neighbour is, as that of the index itself tells rows apart that one loop goes over."""

    index: KVar
    inside: frozenset[str]
    offsets: dict[Operand, int] = field(default_factory=dict)
    known: dict[Operand, Operand] = field(default_factory=dict)
    below: set[_Bound] = field(default_factory=set)
    above: set[_Bound] = field(default_factory=set)
    within: set[tuple[Operand, Operand]] = field(default_factory=set)
    pays: bool = False
    wraps: bool = False
    rounds: dict[Operand, tuple[int, Operand]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.offsets[self.index] = 0

    def rewritten(self, stms: Iterable[KStm]) -> tuple[KStm, ...]:
        return tuple(new for stm in stms for new in self.statement(stm))

    def statement(self, stm: KStm) -> tuple[KStm, ...]:
        match stm:
            case KLet(var, KOp(op, prim, args) as rhs):
                args = tuple(map(self.read, args))
                if op in (Op.MOD, Op.REM) and (shift := self.wrapped(*args)) is not None:
                    self.offsets[var] = shift
                    return (KLet(var, KOp(Op.ADD, prim, (self.index, Const(prim, shift)))),)
                value = self.value(op, prim, args)
                if value is None:
                    self.note_offset(var, op, args)
                    return (KLet(var, replace(rhs, args=args)),)
                self.known[var] = value
                return ()
            case KIf(cond, then, orelse):
                match self.read(cond):
                    case Const(_, holds):
                        return self.rewritten(then if holds else orelse)
                    case read:
                        return (KIf(read, self.rewritten(then), self.rewritten(orelse)),)
            case kir.For() | kir.KWhile():
                inner = with_children(stm, tuple(map(self.rewritten, children(stm))))
                return (map_operands(inner, self.read),)
            case _:
                return (map_operands(stm, self.read),)

    def unchecked(self, stms: tuple[KStm, ...]) -> tuple[KStm, ...]:
        """Without the checks that every thread makes of what is known before the loop, or counts with the index."""
        return tuple(stm for stm in stms if not (isinstance(stm, kir.BoundsCheck) and self.holds(stm.index, stm.size)))

    def holds(self, index: Operand, size: Operand) -> bool:
        """Whether `0 <= index < size` in the middle; what this needs is noted."""
        if not self.is_outside(size):
            return False
        if index in self.offsets and abs(self.offsets[index]) < FAR:
            self.below.add(_Bound(Const(Prim.I64, 0), -self.offsets[index]))
            self.above.add(_Bound(size, -self.offsets[index]))
            return True
        if self.is_outside(index):
            self.within.add((index, size))
            return True
        return False

    def read(self, operand: Operand) -> Operand:
        return self.known.get(operand, operand)

    def note_offset(self, var: KVar, op: Op, args: tuple[Operand, ...]) -> None:
        match op, args:
            case (Op.ADD, (x, Const(_, k))) | (Op.ADD, (Const(_, k), x)) if x in self.offsets:
                self.offsets[var] = self.offsets[x] + int(k)
            case Op.SUB, (x, Const(_, k)) if x in self.offsets:
                self.offsets[var] = self.offsets[x] - int(k)
            case (Op.ADD, (x, y)) | (Op.ADD, (y, x)) if x in self.offsets and self.is_outside(y):
                self.rounds[var] = self.offsets[x], y
            case (Op.ADD, (x, Const(_, k))) | (Op.ADD, (Const(_, k), x)) if x in self.rounds:
                self.rounds[var] = self.rounds[x][0] + int(k), self.rounds[x][1]
            case Op.SUB, (x, Const(_, k)) if x in self.rounds:
                self.rounds[var] = self.rounds[x][0] - int(k), self.rounds[x][1]
            case _:
                pass

    def wrapped(self, x: Operand, m: Operand) -> int | None:
        """k, if `x mod m` is the index plus k in the middle, which is noted: x is that, or m more."""
        shift, more = self.rounds.get(x, (self.offsets.get(x), m))
        if shift is None or abs(shift) >= FAR or more != m or isinstance(m, Const) or not self.is_outside(m):
            return None
        self.below.add(_Bound(Const(Prim.I64, 0), -shift))
        self.above.add(_Bound(m, -shift))
        if x in self.rounds:
            self.within.add((m, Const(Prim.I64, FAR)))
        self.wraps |= shift != 0 or x in self.rounds
        self.pays |= self.wraps
        return shift

    def value(self, op: Op, prim: Prim, args: tuple[Operand, ...]) -> Operand | None:
        """What an operation gives in the middle, where that is known; the bounds that this needs are noted."""
        if prim is Prim.I64 and len(args) == 2:
            x, y = args
            if y in self.offsets and x not in self.offsets and op in MIRRORED:
                x, y, op = y, x, MIRRORED[op]
            if x in self.offsets and self.is_outside(y):
                return self.compared(op, x, y)
            return None
        return folded(op, args)

    def compared(self, op: Op, x: Operand, u: Operand) -> Operand | None:
        """`x op u` where x is the index and a number. A constant u is taken to be the first end, another one the
        last."""
        k = self.offsets[x]
        if abs(k) >= FAR:
            return None
        self.pays |= op in MIRRORED
        match op:
            case Op.MAX:
                self.below.add(_Bound(u, -k))
                return x
            case Op.MIN:
                self.above.add(_Bound(u, 1 - k))
                return x
            case Op.LT | Op.LE | Op.GT | Op.GE | Op.EQ | Op.NE:
                late = isinstance(u, Const)
                one = op in (Op.LE, Op.GT, Op.EQ, Op.NE) if late else op in (Op.LE, Op.GT)
                (self.below if late else self.above).add(_Bound(u, int(one) - k))
                return Const(Prim.BOOL, op in ((Op.GT, Op.GE, Op.NE) if late else (Op.LT, Op.LE, Op.NE)))
            case _:
                return None

    def is_outside(self, operand: Operand) -> bool:
        """Is it known before the loop?"""
        return isinstance(operand, Const) or operand.name not in self.inside


def _is_total(stm: KStm) -> bool:
    """An operation that cannot fail."""
    match stm:
        case KLet(_, KOp(op, prim)):
            return not can_fail(op, prim)
        case _:
            return False


def folded(op: Op, args: tuple[Operand, ...]) -> Operand | None:
    """Operations on constants of the middle."""
    match op, args:
        case Op.SELECT, (Const(_, holds), x, y):
            return x if holds else y
        case (Op.AND, (Const(Prim.BOOL, holds), x)) | (Op.AND, (x, Const(Prim.BOOL, holds))):
            return x if holds else Const(Prim.BOOL, False)
        case (Op.OR, (Const(Prim.BOOL, holds), x)) | (Op.OR, (x, Const(Prim.BOOL, holds))):
            return Const(Prim.BOOL, True) if holds else x
        case Op.NOT, (Const(Prim.BOOL, holds),):
            return Const(Prim.BOOL, not holds)
        case _:
            return None


# ---- statements -----------------------------------------------------------------------------------------------------


def is_plain(stms: Iterable[KStm]) -> bool:
    """Whether there is only what can be written out a second time."""
    return all(isinstance(stm, _PLAIN) for stm in statements(stms))


_PLAIN = (
    KLet, kir.Declare, kir.Assign, kir.Store, kir.Check, kir.BoundsCheck, KIf, kir.For, kir.KWhile, kir.Note,
)  # fmt: skip
