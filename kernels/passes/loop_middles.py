"""What a loop over threads does in its middle, and what it does anywhere, where less is known.

In the middle clamps are their linear operands, comparisons constants, and remainders of neighbours the index and a
number; `Middle` notes from where on and up to where that is so. `Whole` finds what holds of all indices 0 <= i < hi:
i + 1 is above 0, i - 1 below a bound that the last index reaches, and the remainder of a neighbour is one of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KConvert, KIf, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import children, map_operands, statements, with_children
from ..kernel_ir.values import folded

FAR = 1 << 61
"""Beyond every index; bounds are brought within it, so that moving them does not wrap."""
LARGEST = 1 << 60
"""What is added to an index is less; a bound that was brought near is still beyond every index when it is moved by
that."""

WIDEST = 8
"""The greatest multiple of an index that is followed; of indices within FAR / WIDEST, none wraps."""

TERMS = 2
"""Variables that are added to an index: if two are less than FAR, nothing wraps."""

BESIDE = 4
"""How far a neighbour that is read behind a branch may be."""

MIRRORED = {
    Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE, Op.MIN: Op.MIN, Op.MAX: Op.MAX,
}  # fmt: skip
"""`x op y` is `y MIRRORED[op] x`."""


RISING, FALLING = (Op.GE, Op.GT), (Op.LT, Op.LE)
"""Comparisons that hold from some index on, and up to one."""


Terms = tuple[tuple[Operand, int], ...]
"""Variables, each times 1 or -1."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The index is at least (or less than) `of` + `shift` - `terms`, divided by `by` and rounded up."""

    of: Operand
    shift: int
    by: int = 1
    terms: Terms = ()


@dataclass(slots=True)
class Middle:
    """The loop's body as it is in the middle, and what makes it so: the bounds, and pairs of an index and the size that
    it is to be within.

    `offsets`: variables that are the index plus a number; `multiples`: those that are the index times a number, at
    least 2, plus another; `sums`: those that are the index, or not, plus a number and one or two variables of before
    the loop, or of loops inside (`turns`, with how many they have); `known`: those that stand for another operand;
    `changing`: those that are assigned; `pays`: whether a clamp or a branch is gone; `wraps`:
    whether a remainder of a neighbour is, as that of the index itself tells rows apart that one loop goes over;
    `turned`: such remainders, of what and of which neighbour, unless they are negative before the middle;
    `first`: variables that are taken to be the first end (`first_ends`)."""

    index: KVar
    inside: frozenset[str]
    first: frozenset[Operand] = frozenset()
    offsets: dict[Operand, int] = field(default_factory=dict)
    known: dict[Operand, Operand] = field(default_factory=dict)
    below: set[Bound] = field(default_factory=set)
    above: set[Bound] = field(default_factory=set)
    within: set[tuple[Operand, Operand]] = field(default_factory=set)
    pays: bool = False
    wraps: bool = False
    sums: dict[Operand, tuple[bool, int, Terms]] = field(default_factory=dict)
    turns: dict[Operand, Operand] = field(default_factory=dict)
    turned: dict[Operand, tuple[Operand, int]] = field(default_factory=dict)
    multiples: dict[Operand, tuple[int, int]] = field(default_factory=dict)
    changing: set[Operand] = field(default_factory=set)

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
                    if op is Op.MOD or shift >= 0 or args[0] in self.sums:
                        self.turned[var] = args[1], shift
                    return (KLet(var, KOp(Op.ADD, prim, (self.index, Const(prim, shift)))),)
                value = self.value(op, prim, args)
                if value is None:
                    self.note_offset(var, op, args)
                    return (KLet(var, replace(rhs, args=args)),)
                if value in self.changing:
                    return (KLet(var, KConvert(var.prim, var.prim, value)),)
                self.known[var] = value
                return ()
            case kir.Declare(var, value):
                self.changing.add(var)
                return (kir.Declare(var, self.read(value)),)
            case KIf(cond, then, orelse):
                match self.read(cond):
                    case Const(_, holds):
                        return self.rewritten(then if holds else orelse)
                    case read:
                        return (KIf(read, self.rewritten(then), self.rewritten(orelse)),)
            case kir.For() | kir.KWhile():
                if isinstance(stm, kir.For) and stm.index.prim is Prim.I64 and self.is_outside(stm.bound):
                    self.turns[stm.index] = stm.bound
                inner = with_children(stm, tuple(map(self.rewritten, children(stm))))
                return (map_operands(inner, self.read),)
            case _:
                return (map_operands(stm, self.read),)

    def unchecked(self, stms: Iterable[KStm], inside: bool = False) -> tuple[KStm, ...]:
        """Without the checks of what counts with the index, and of what is known before the loop if every thread makes
        them; `inside` of a branch those of near neighbours alone, as the ends grow with the distance."""
        out: list[KStm] = []
        for stm in stms:
            match stm:
                case kir.BoundsCheck(index, size) if (
                    not inside or abs(self.counted(index)[1]) <= BESIDE
                ) and self.holds(index, size):
                    continue
                case kir.For() | kir.KWhile() | KIf():
                    there = inside or isinstance(stm, KIf)
                    out.append(with_children(stm, [self.unchecked(inner, there) for inner in children(stm)]))
                case _:
                    out.append(stm)
        return tuple(out)

    def holds(self, index: Operand, size: Operand) -> bool:
        """Whether `0 <= index < size` in the middle; what this needs is noted."""
        if not self.is_outside(size):
            return False
        by, shift, terms = self.counted(index)
        if abs(shift) < FAR:
            self.from_on(Const(Prim.I64, 0), by, shift, terms)
            self.up_to(size, by, shift, terms)
            return True
        if self.is_outside(index):
            self.within.add((index, size))
            return True
        return False

    def counted(self, x: Operand) -> tuple[int, int, Terms]:
        """The number that the index is multiplied by, and what is added; FAR where x is no such."""
        if x in self.sums and self.sums[x][0]:
            return 1, *self.sums[x][1:]
        return (1, self.offsets[x], ()) if x in self.offsets else (*self.multiples.get(x, (1, FAR)), ())

    def from_on(self, u: Operand, by: int, shift: int, terms: Terms) -> None:
        """In the middle the index times `by` plus `shift` and terms is at least u."""
        self.below.add(self.bound(u, by, shift, terms, -1))
        if by > 1:
            self.above.add(Bound(i64(FAR // WIDEST), 0))

    def up_to(self, u: Operand, by: int, shift: int, terms: Terms) -> None:
        """In the middle the index times `by` plus `shift` and terms is less than u."""
        self.above.add(self.bound(u, by, shift, terms, 1))
        if by > 1:
            self.below.add(Bound(i64(-(FAR // WIDEST)), 0))

    def bound(self, u: Operand, by: int, shift: int, terms: Terms, way: int) -> Bound:
        """The bound with the least (-1) or greatest (1) number of each turn; variables are near, and not negative."""
        rest: list[tuple[Operand, int]] = []
        for x, c in terms:
            match self.turns.get(x, x):
                case _ if x in self.turns and c != way:
                    continue
                case Const(_, n):
                    shift += c * (int(n) - 1)
                    continue
                case n:
                    shift -= c * (x in self.turns)
                    rest.append((n, c))
                    self.within.add((n, Const(Prim.I64, FAR)))
        return Bound(u, -shift, by, tuple(rest))

    def read(self, operand: Operand) -> Operand:
        return self.known.get(operand, operand)

    def note_offset(self, var: KVar, op: Op, args: tuple[Operand, ...]) -> None:
        match op, args:
            case (Op.MUL, (x, Const(Prim.I64, k))) | (Op.MUL, (Const(Prim.I64, k), x)) if 2 <= k <= WIDEST:
                if abs(shift := int(k) * self.offsets.get(x, FAR)) < LARGEST:
                    self.multiples[var] = int(k), shift
            case (Op.ADD | Op.SUB, (x, Const(Prim.I64, k))) | (Op.ADD, (Const(Prim.I64, k), x)) if x in self.multiples:
                by, shift = self.multiples[x]
                if abs(shift := shift + (-int(k) if op is Op.SUB else int(k))) < LARGEST:
                    self.multiples[var] = by, shift
            case Op.ADD | Op.SUB, (x, y) if var.prim is Prim.I64:
                self.note_sum(var, x, y, -1 if op is Op.SUB else 1)
            case _:
                pass

    def note_sum(self, var: KVar, x: Operand, y: Operand, sign: int) -> None:
        """`var` is x plus y times `sign`: that of few variables, and of numbers less than `LARGEST`."""
        left, right = self.summed(x), self.summed(y)
        if left is None or right is None:
            return
        count, number = left[0] + sign * right[0], left[1] + sign * right[1]
        terms = Counter(dict(left[2]))
        for v, c in right[2]:
            terms[v] += sign * c
        rest = tuple((v, c) for v, c in terms.items() if c)
        if count in (0, 1) and abs(number) < LARGEST and len(rest) <= TERMS and all(abs(c) == 1 for _, c in rest):
            if rest or not count:
                self.sums[var] = bool(count), number, rest
            else:
                self.offsets[var] = number

    def summed(self, x: Operand) -> tuple[bool, int, Terms] | None:
        """What x is a sum of: the index or not, a number, variables."""
        if x.prim is not Prim.I64:
            return None
        if x in self.offsets:
            return True, self.offsets[x], ()
        if x in self.sums:
            return self.sums[x]
        if isinstance(x, Const):
            return False, int(x.value), ()
        return (False, 0, ((x, 1),)) if self.is_outside(x) or x in self.turns else None

    def wrapped(self, x: Operand, m: Operand) -> int | None:
        """k, if `x mod m` is the index plus k in the middle, which is noted: x is that, or m more."""
        found = self.summed(x)
        if found is None or not found[0] or isinstance(m, Const) or not self.is_outside(m):
            return None
        _, shift, terms = found
        if terms not in ((), ((m, 1),)):
            return None
        self.below.add(Bound(Const(Prim.I64, 0), -shift))
        self.above.add(Bound(m, -shift))
        if terms:
            self.within.add((m, Const(Prim.I64, FAR)))
        self.wraps |= shift != 0 or bool(terms)
        self.pays |= self.wraps
        return shift

    def value(self, op: Op, prim: Prim, args: tuple[Operand, ...]) -> Operand | None:
        """What an operation gives in the middle, where that is known; the bounds that this needs are noted."""
        if prim is Prim.I64 and len(args) == 2:
            x, y = args
            if self.is_counted(y) and not self.is_counted(x) and op in MIRRORED:
                x, y, op = y, x, MIRRORED[op]
            return self.compared(op, x, y) if self.is_counted(x) and self.is_outside(y) else None
        return folded(op, args)

    def is_counted(self, x: Operand) -> bool:
        return x in self.offsets or x in self.multiples or self.sums.get(x, (False,))[0]

    def compared(self, op: Op, x: Operand, u: Operand) -> Operand | None:
        """`x op u` where x counts with the index. A constant u is taken to be the first end, another one the last,
        unless it is one of an interval. What holds of multiples of all indices is worth no cut."""
        by, k, terms = self.counted(x)
        first = k - int(op in (Op.LE, Op.GT, Op.EQ, Op.NE))
        holds = by > 1 and op is not Op.MIN and isinstance(u, Const) and int(u.value) <= first
        self.pays |= op in MIRRORED and not holds
        match op:
            case Op.MAX:
                self.from_on(u, by, k, terms)
                return x
            case Op.MIN:
                self.up_to(u, by, k - 1, terms)
                return x
            case Op.LT | Op.LE | Op.GT | Op.GE | Op.EQ | Op.NE:
                late = isinstance(u, Const) or u in self.first
                one = op in (Op.LE, Op.GT, Op.EQ, Op.NE) if late else op in (Op.LE, Op.GT)
                (self.from_on if late else self.up_to)(u, by, k - int(one), terms)
                return Const(Prim.BOOL, op in ((Op.GT, Op.GE, Op.NE) if late else (Op.LT, Op.LE, Op.NE)))
            case _:
                return None

    def is_outside(self, operand: Operand) -> bool:
        """Is it known before the loop?"""
        return isinstance(operand, Const) or operand.name not in self.inside


@dataclass(slots=True)
class Whole(Middle):
    """The loop's body as it is for all indices, which are not negative. `reached`: what the last index is to be at
    most; `least`, `greatest`: between which bounds clamped indices are."""

    reached: set[Operand] = field(default_factory=set)
    least: dict[Operand, Operand] = field(default_factory=dict)
    greatest: dict[Operand, Operand] = field(default_factory=dict)

    def statement(self, stm: KStm) -> tuple[KStm, ...]:
        match stm:
            case KLet(var, KOp(Op.MOD | Op.REM, prim, args)) if self.is_turned(var, *map(self.read, args)):
                return self.choice(var, prim)
            case KLet(var, KOp(Op.MIN | Op.MAX as op, Prim.I64, args)):
                x, y = map(self.read, args)
                if op is Op.MAX and self.is_positive(x, y):
                    self.known[var] = y
                    return ()
                made = Middle.statement(self, stm)
                self.note_clamp(self.read(var), op, x, y)
                return made
            case _:
                return Middle.statement(self, stm)

    def is_turned(self, var: KVar, x: Operand, m: Operand) -> bool:
        """Whether a remainder is that of a neighbour for all indices, as it is in the middle."""
        of, shift = self.turned.get(var, (None, 0))
        return m == of and (self.offsets.get(x) == shift or self.sums.get(x) == (True, shift, ((m, 1),)))

    def is_positive(self, zero: Operand, x: Operand) -> bool:
        """Whether what is clamped from above is not negative, as the bound is not, which becomes a condition."""
        if zero != i64(0) or x in self.offsets or self.least.get(x) != zero:
            return False
        self.within.add((self.greatest[x], Const(Prim.I64, FAR)))
        return True

    def note_clamp(self, var: Operand, op: Op, x: Operand, y: Operand) -> None:
        x, bound = (x, y) if self.is_outside(y) else (y, x)
        known, others = (self.greatest, self.least) if op is Op.MIN else (self.least, self.greatest)
        if self.is_outside(bound):
            known[var] = bound
            if x in others:
                others[var] = others[x]
            elif op is Op.MIN and self.offsets.get(x, -1) >= 0:
                others[var] = Const(Prim.I64, 0)

    def choice(self, var: KVar, prim: Prim) -> tuple[KStm, ...]:
        """The remainder of a neighbour, of two numbers."""
        m, shift = self.turned[var]
        at, beyond = KVar(f"{var.name}.at", prim), KVar(f"{var.name}.beyond", Prim.BOOL)
        turned = KVar(f"{var.name}.turned", prim)
        test = KOp(Op.LT, prim, (at, Const(prim, 0))) if shift < 0 else KOp(Op.GE, prim, (at, m))
        return (
            KLet(at, KOp(Op.ADD, prim, (self.index, Const(prim, shift)))),
            KLet(beyond, test),
            KLet(turned, KOp(Op.ADD if shift < 0 else Op.SUB, prim, (at, m))),
            KLet(var, KOp(Op.SELECT, prim, (beyond, turned, at))),
        )

    def wrapped(self, x: Operand, m: Operand) -> int | None:
        """None: a remainder that is not of a neighbour stays."""
        return None

    def holds(self, index: Operand, size: Operand) -> bool:
        """Whether `0 <= index < size`, which was a condition of the cut, or becomes one of the bounds of a clamped
        index."""
        if (index, size) in self.within:
            return True
        low, high = self.least.get(index), self.greatest.get(index)
        if low is None or high is None or not self.is_outside(size):
            return False
        self.within |= {(low, size), (high, size)}
        return True

    def compared(self, op: Op, x: Operand, u: Operand) -> Operand | None:
        """`x op u` where x is the index and a number, if it is the same for all indices. A constant u is taken to be
        the first end, another one the last; that no index is behind that becomes a condition of the cut where it is to
        be expected: of a clamp of the index or of one before it, of a comparison of one before it."""
        if op not in MIRRORED or x not in self.offsets or u in self.first:
            return None
        k = self.offsets[x]
        if isinstance(u, Const):
            above, below = k - int(u.value), -1
        else:
            above, below = -1, 1 if k < 0 or (k == 0 and op is Op.MIN) else -1
            self.reached |= {u} if below > 0 else set()
        match op:
            case Op.MAX if above >= 0:
                return x
            case Op.MIN if below >= 0:
                return x
            case Op.LT | Op.GE if below > 0 or above >= 0:
                return Const(Prim.BOOL, (below > 0) == (op is Op.LT))
            case Op.LE | Op.GT if below >= 0 or above > 0:
                return Const(Prim.BOOL, (below >= 0) == (op is Op.LE))
            case Op.EQ | Op.NE if max(below, above) > 0:
                return Const(Prim.BOOL, op is Op.NE)
            case _:
                return None


def first_ends(index: KVar, stms: Iterable[KStm]) -> frozenset[Operand]:
    """The first ends of intervals that the index is in or not: u of `u <= i && i < v` and of `i < u || i >= v`."""
    near, found = {index}, set[Operand]()
    terms: Mapping[Op, dict[Operand, frozenset[tuple[Op, Operand]]]] = {Op.AND: {}, Op.OR: {}}
    for stm in statements(stms):
        match stm:
            case KLet(var, KOp(Op.ADD | Op.SUB, Prim.I64, (KVar() as x, Const()))) if x in near:
                near.add(var)
            case KLet(var, KOp(op, Prim.I64, (x, y))) if op in RISING + FALLING:
                x, y, op = (y, x, MIRRORED[op]) if y in near else (x, y, op)
                if x in near and isinstance(y, KVar):
                    terms[Op.AND][var] = terms[Op.OR][var] = frozenset({(op, y)})
            case KLet(var, KOp(Op.AND | Op.OR as op, Prim.BOOL, args)):
                terms[op][var] = frozenset().union(*(terms[op].get(arg, frozenset()) for arg in args))
                rising, falling = ({u for way, u in terms[op][var] if way in ways} for ways in (RISING, FALLING))
                if rising and falling:
                    found |= rising if op is Op.AND else falling
            case _:
                pass
    return frozenset(found)
