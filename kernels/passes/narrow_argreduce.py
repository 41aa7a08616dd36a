"""Reductions that find a place: places counted in i32, and what is known of an element's place.

    reduce op (x0, n) (threads i in lo..hi { e(i), first + i })     first >= 0; op compares and selects places
    ⟶  for pieces of 2^30 elements from s on:
          (x, k) = reduce op' (x0, -1) (threads j { e(s + j), i32 j })
          acc := op acc (x, if k < 0 then n else first + s + k)

Counting keeps the order of places, and what of a place is a test for `none` is a test of its sign, so op' does to the
numbers what op does to the places, if n < 0 or places are not compared. With another n (0, the number of elements, the
largest i64) an operator that compares places and chooses one of its operands begins a piece with its first element:

          acc := op acc (e(s), first + s);  (x, k) = reduce op' (acc, -1) (..);  acc := (x, if k < 0 then acc's else ..)

A vector of f32 then has one vector of places beside it, not two. And where an
accumulator (x, k) takes in an element (y, j), it is known that j >= 0 and k < j, since elements come in ascending order
to each lane: comparisons fold, by which argmax is a comparison and two selects (`BlockReduce.step`).

An associative operator that chooses one of its operands orders all elements, whichever of equal ones it takes: of three
in a row a beats c if it beats b and b beats c. So they may be combined in any order, if the one with the smaller place
is the left operand (`by_place`).
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.errors import IRError
from ...ir.ops import COMPARISONS, Op
from ...ir.records import dataclass
from ...ir.scalar import apply
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.dead_code import needed
from ..kernel_ir.new_names import NewNames, taken_in
from ..kernel_ir.nodes import BlockReduce, KConvert, Kernel, KLambda, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.signs import Ranges
from ..kernel_ir.traverse import names, rewritten
from ..kernel_ir.values import folded
from .loop_middles import MIRRORED
from .search_argreduce import searched
from .search_first import searched_first

PIECE = 1 << 30
"""Elements that are counted at once."""
NONE = Const(Prim.I32, -1)
ZERO = Const(Prim.I32, 0)
I64_ZERO = Const(Prim.I64, 0)


def narrow_argreduce(kernel: Kernel) -> Kernel:
    """The kernel with the places that its reductions find counted in i32; the same one where they find none."""
    counter = _Counter(Ranges(naturals={kernel.block}), NewNames("p", "at", True))
    body = rewritten(kernel.body, counter.statement)
    return replace(kernel, body=body) if counter.new.made else kernel


@dataclass(frozen=True, slots=True)
class _Counter:
    ranges: Ranges
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        self.ranges.note(stm)
        if isinstance(stm, kir.For):
            self.ranges.naturals.add(stm.index)
        return self.reduction(stm) if isinstance(stm, BlockReduce) else None

    def reduction(self, stm: BlockReduce) -> tuple[KStm, ...]:
        """The reduction with its first component that is a place counted; else as it is."""
        for k in range(len(stm.outs)):
            first = self.first_place(stm, k)
            found = counted(stm.op, k, stm.neutral[k]) if first is not None else None
            if first is not None and found is not None:
                return self.pieces(stm, k, first, *found)
        return searched_first(stm, self.new) or (stm,)

    def first_place(self, stm: BlockReduce, k: int) -> Operand | None:
        """`first` where component k of element i is `first + i`, which is not negative."""
        value = stm.values[k]
        if stm.index.prim is not Prim.I64 or value.prim is not Prim.I64:
            return None
        positive = self.ranges.positive_with(stm.hi)
        inside: dict[Operand, kir.Rhs] = {s.var: s.rhs for s in stm.body if isinstance(s, KLet)}
        match inside.get(value):
            case None if value == stm.index:
                first: Operand = I64_ZERO
            case KOp(Op.ADD, _, (x, y), True) if stm.index in (x, y):
                first = y if x == stm.index else x
            case _:
                return None
        known = first not in inside and first != stm.index
        natural = self.ranges.is_natural(stm.lo, frozenset()) and self.ranges.is_natural(first, positive)
        return first if known and natural else None

    def pieces(self, stm: BlockReduce, k: int, first: Operand, op: KLambda, begins: bool) -> tuple[KStm, ...]:
        """The loop over pieces. `begins`: each with its first element."""
        out: list[KStm] = []
        accs = [self.new.name("acc", o.prim) for o in stm.outs]
        out += [kir.Declare(acc, ne) for acc, ne in zip(accs, stm.neutral, strict=True)]
        number = self.new.let(out, Op.ADD, self.new.let(out, Op.SUB, stm.hi, stm.lo), Const(Prim.I64, PIECE - 1))
        count = self.new.let(out, Op.QUOT, number, Const(Prim.I64, PIECE))
        body: list[KStm] = []
        piece = self.new.name("piece", Prim.I64)
        start = self.new.let(body, Op.ADD, stm.lo, self.new.let(body, Op.MUL, piece, Const(Prim.I64, PIECE)))
        length = self.new.let(body, Op.MIN, Const(Prim.I64, PIECE), self.new.let(body, Op.SUB, stm.hi, start))
        before = stm.neutral
        if begins:
            copy = self.new.copy()
            body.append(KLet(copy.made(stm.index), KConvert(Prim.I64, Prim.I64, start)))
            body += copy.rewritten(stm.body)
            body += taken_in(copy, stm.op, accs, map(copy.read, stm.values))
            before = tuple(accs)
        found = self.piece(replace(stm, neutral=before), k, start, length, op)
        body += searched(found, k, self.new)
        results: list[Operand] = list(found.outs)
        results[k] = self.place(body, found.outs[k], before[k], self.new.let(body, Op.ADD, start, first))
        body += map(kir.Assign, accs, results) if begins else taken_in(self.new.copy(), stm.op, accs, results)
        out.append(kir.For(piece, count, tuple(body)))
        out += [KLet(o, KConvert(o.prim, o.prim, acc)) for o, acc in zip(stm.outs, accs, strict=True)]
        return tuple(out)

    def piece(self, stm: BlockReduce, k: int, start: Operand, length: Operand, op: KLambda) -> BlockReduce:
        """The reduction of the elements of a piece."""
        j, number = self.new.name("j", Prim.I64), self.new.name("number", Prim.I32)
        outs = [self.new.name(o.name, o.prim) for o in stm.outs]
        outs[k] = self.new.name(stm.outs[k].name, Prim.I32)
        body = (
            KLet(stm.index, KOp(Op.ADD, Prim.I64, (start, j), True)),
            *stm.body,
            KLet(number, KConvert(Prim.I64, Prim.I32, j)),
        )
        chooses = not stm.commutative and is_choice(op)
        return replace(
            stm,
            outs=tuple(outs),
            index=j,
            lo=I64_ZERO,
            hi=length,
            body=body,
            values=(*stm.values[:k], number, *stm.values[k + 1 :]),
            op=self.by_place(op, k) if chooses else op,
            neutral=(*stm.neutral[:k], NONE, *stm.neutral[k + 1 :]),
            commutative=stm.commutative or chooses,
            step=step_of(op, k),
        )

    def by_place(self, op: KLambda, k: int) -> KLambda:
        """The operator on two elements in the order of their places, component k."""
        turned = self.new.name("turned", Prim.BOOL)
        body: list[KStm] = [KLet(turned, KOp(Op.LT, Prim.I32, (op.right[k], op.left[k])))]
        copied = self.new.copy()
        for left, right in zip(op.left, op.right, strict=True):
            for var, other in ((left, right), (right, left)):
                ordered = self.new.name(var.name, var.prim)
                body.append(KLet(ordered, KOp(Op.SELECT, var.prim, (turned, other, var))))
                copied.names[var] = ordered
        body += copied.rewritten(op.body)
        return replace(op, body=tuple(body), results=tuple(map(copied.read, op.results)))

    def place(self, out: list[KStm], number: KVar, neutral: Operand, start: Operand) -> KVar:
        """`if number < 0 then neutral else start + number`"""
        none, wide, place = (
            self.new.name("none", Prim.BOOL),
            self.new.name("wide", Prim.I64),
            self.new.name("place", Prim.I64),
        )
        out.append(KLet(none, KOp(Op.LT, Prim.I32, (number, ZERO))))
        out.append(KLet(wide, KConvert(Prim.I32, Prim.I64, number)))
        at = self.new.let(out, Op.ADD, start, wide)
        out.append(KLet(place, KOp(Op.SELECT, Prim.I64, (none, neutral, at))))
        return place


# ---- operators ------------------------------------------------------------------------------------------------------


def is_choice(op: KLambda) -> bool:
    """Whether an operator gives all of one of its operands, by one condition."""
    made = {stm.var: stm.rhs for stm in op.body if isinstance(stm, KLet)}
    pairs = list(zip(op.left, op.right, strict=True))
    conditions: set[tuple[Operand, bool]] = set()
    for result, (left, right) in zip(op.results, pairs, strict=True):
        match made.get(result) if isinstance(result, KVar) else None:
            case KOp(Op.SELECT, _, (cond, x, y)) if (x, y) in ((left, right), (right, left)):
                conditions.add((cond, x == left))
            case _:
                return False
    return len(conditions) == 1


def counted(op: KLambda, k: int, neutral: Operand) -> tuple[KLambda, bool] | None:
    """The operator with component k in i32, its neutral element -1, and whether it begins with an element: it compares
    places of which the neutral one is not known to be the least. None where it does more with places than compare and
    select them."""
    known = int(neutral.value) if isinstance(neutral, Const) else 0
    counts = _Counts(known if known < 0 else None, {v: KVar(v.name, Prim.I32) for v in (op.left[k], op.right[k])})
    body: list[KStm] = []
    for stm in op.body:
        new = counts.statement(stm)
        if new is None:
            return None
        body.append(new)
    results = [counts.number(r) if j == k else r for j, r in enumerate(op.results)]
    result = results[k]
    if result is None or any(r in counts.numbers for j, r in enumerate(op.results) if j != k):
        return None
    left, right = ((*side[:k], counts.numbers[side[k]], *side[k + 1 :]) for side in (op.left, op.right))
    made = KLambda(left, right, tuple(body), tuple(r for r in results if r is not None))
    return None if counts.compared and not is_choice(made) else (made, counts.compared)


@dataclass(slots=True)
class _Counts:
    """`neutral`: the neutral place, if it is known and negative; `numbers`: the places seen, as i32; `compared`:
    whether one place is compared with another, and the neutral one is not known to be the least."""

    neutral: int | None
    numbers: dict[Operand, KVar]
    compared: bool = False

    def number(self, x: Operand) -> Operand | None:
        """A place as its number."""
        return NONE if isinstance(x, Const) and x.value == self.neutral else self.numbers.get(x)

    def statement(self, stm: KStm) -> KStm | None:
        match stm:
            case KLet(var, KOp(Op.SELECT, Prim.I64, (cond, x, y))) if x in self.numbers or y in self.numbers:
                return self.made(var, Op.SELECT, (cond, self.number(x), self.number(y)))
            case KLet(var, KOp(Op.MIN | Op.MAX as op, Prim.I64, (x, y))) if x in self.numbers and y in self.numbers:
                self.compared = self.neutral is None
                return self.made(var, op, (self.numbers[x], self.numbers[y]))
            case KLet(var, KOp(op, Prim.I64, (x, y))) if op in COMPARISONS:
                return self.comparison(var, op, x, y)
            case KLet(_, KOp(args=args)):
                return None if any(a in self.numbers for a in args) else stm
            case KLet(_, KConvert(arg=arg)):
                return None if arg in self.numbers else stm
            case _:
                return None

    def made(self, var: KVar, op: Op, args: tuple[Operand | None, ...]) -> KStm | None:
        """A place made of others."""
        found = tuple(a for a in args if a is not None)
        if len(found) < len(args):
            return None
        self.numbers[var] = KVar(var.name, Prim.I32)
        return KLet(self.numbers[var], KOp(op, Prim.I32, found))

    def comparison(self, var: KVar, op: Op, x: Operand, y: Operand) -> KStm | None:
        """Of two places: of their numbers. With a constant that parts `none` from all places: of the sign."""
        if x in self.numbers and y in self.numbers:
            self.compared = self.neutral is None
            return KLet(var, KOp(op, Prim.I32, (self.numbers[x], self.numbers[y])))
        if y in self.numbers:
            x, y, op = y, x, MIRRORED[op]
        if x not in self.numbers:
            return KLet(var, KOp(op, Prim.I64, (x, y)))
        if self.neutral is None or not isinstance(y, Const) or not parts_signs(op, int(y.value)):
            return None
        none, some = (bool(apply(op, Prim.I64, (place, y.value))) for place in (self.neutral, 0))
        if none == some:
            return KLet(var, KConvert(Prim.BOOL, Prim.BOOL, Const(Prim.BOOL, some)))
        return KLet(var, KOp(Op.LT if none else Op.GE, Prim.I32, (self.numbers[x], ZERO)))


def parts_signs(op: Op, k: int) -> bool:
    """Does `p op k` hold for all numbers p >= 0, or for none?"""
    return k <= 0 if op in (Op.LT, Op.GE) else k < 0


# ---- the step -------------------------------------------------------------------------------------------------------


def step_of(op: KLambda, k: int) -> KLambda:
    """The operator where component k of the right operand is at least 0 and more than that of the left one."""
    left, right = op.left[k], op.right[k]
    known: dict[Operand, Operand] = {}
    body: list[KStm] = []
    for stm in op.body:
        match stm:
            case KLet(var, KOp(o, _, args) as rhs):
                args = tuple(known.get(a, a) for a in args)
                value = folded(o, args) or decided(o, args, left, right)
                if value is None:
                    body.append(KLet(var, replace(rhs, args=args)))
                else:
                    known[var] = value
            case KLet(var, KConvert(source, target, arg)) if source is target:
                known[var] = known.get(arg, arg)
            case KLet(var, KConvert() as rhs):
                body.append(KLet(var, replace(rhs, arg=known.get(rhs.arg, rhs.arg))))
            case _:
                raise IRError(f"places: {type(stm).__name__} in an operator that is counted")
    results = tuple(known.get(r, r) for r in op.results)
    return replace(op, body=needed(tuple(body), set(names(*results))), results=results)


def decided(op: Op, args: tuple[Operand, ...], left: Operand, right: Operand) -> Operand | None:
    """What an operation on `0 <= right` and `left < right` gives, where that is known."""
    match op, args:
        case _, (x, y) if (x, y) == (right, left) and op in MIRRORED:
            return decided(MIRRORED[op], (y, x), left, right)
        case ((Op.LT | Op.LE | Op.NE), (x, y)) if (x, y) == (left, right):
            return Const(Prim.BOOL, True)
        case ((Op.GT | Op.GE | Op.EQ), (x, y)) if (x, y) == (left, right):
            return Const(Prim.BOOL, False)
        case Op.MIN, (x, y) if (x, y) == (left, right):
            return left
        case Op.MAX, (x, y) if (x, y) == (left, right):
            return right
        case ((Op.LT | Op.GE), (x, y)) if x == right and y == ZERO:
            return Const(Prim.BOOL, op is Op.GE)
        case _:
            return None
