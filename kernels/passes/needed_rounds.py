"""Rounds over an array of which little is needed in the end: each goes over what the rounds behind it read.

    for r < n { threads i in 0..m { vs[other + i] := .. vs[this + i + c] .. }; take turns }; .. vs[this + k] ..
      ⟶  for r < n { threads i in max 0 (k - a*(n-1-r)) .. min m (k + 1 + b*(n-1-r)) { .. }; take turns }; ..

for all c from -a to b: trees of prices, differences of differences, schemes by Neville and de Casteljau, whose rows
shrink by what the program leaves alone or sets to anything. The halves of the buffer are those of
`schedule/turns.py`. A loop of one thread begins where it did. A round has no other effect, and what it checks holds
where it is left out: a comparison of the index that is before it fails there, or says what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import Level
from ...ir.ops import Op
from ...ir.polynomials import add, atom, constant, divided, mul, sub
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.affine import Environment, Poly, as_constant
from ..kernel_ir.nodes import Alloc, Assign, For, KArray, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Operand, Threads
from ..kernel_ir.traverse import assigned, children, defined, loaded_arrays, mentions, names, statements, with_children

Stms = tuple[KStm, ...]
Check = kir.Check | kir.BoundsCheck
Below = tuple[Poly, Poly]
SMALL = 1 << 31
"""Beyond all constants that are compared; so nothing wraps."""


def needed_rounds(kernel: Kernel) -> Kernel:
    """The kernel whose rounds go over what is needed of them; the same one where that is all."""
    finder = _Finder(kernel.body)
    body = finder.stms(kernel.body)
    return replace(kernel, body=body) if finder.made else kernel


@dataclass(frozen=True, slots=True)
class Needed:
    """Of what a round makes, `least` to `most` is needed in the end; each round needs `before` elements more in front
    of what is needed of it, and `behind` elements more behind that."""

    least: int
    most: int
    before: int
    behind: int


class _Finder:
    """`made`: how many loops have changed."""

    def __init__(self, body: Stms) -> None:
        self.body, self.mutable, self.made = body, assigned(body), 0

    def stms(self, stms: Stms) -> Stms:
        """A list with its loops of rounds changed, those in nested lists too."""
        inner = tuple(self.inside(stm) for stm in stms)
        return tuple(self.rounds(inner, k) if isinstance(stm, For) else stm for k, stm in enumerate(inner))

    def inside(self, stm: KStm) -> KStm:
        lists = children(stm)
        made = tuple(map(self.stms, lists))
        return stm if made == lists else with_children(stm, made)

    def rounds(self, stms: Stms, k: int) -> KStm:
        """Statement `k` of a list, a loop, with its rounds over what is needed."""
        loop = stms[k]
        assert isinstance(loop, For)
        arrays = [stm.array for stm in stms[:k] if isinstance(stm, Alloc)]
        if not arrays or loop.index.prim is not Prim.I64 or not names(loop.bound).isdisjoint(self.mutable):
            return loop
        for at, last in enumerate(loop.body):
            if isinstance(last, Assign) and last.var.prim is Prim.I64:
                values = self.values(last.var, (loop, *stms[k + 1 :]))
                if values.of(last.value) == sub(constant(1), atom(last.var.name)) and self.is_alone(last):
                    rounds = _Rounds(values, last.var, loop, stms[k + 1 :])
                    for array in arrays:
                        loop = self.changed(rounds, array, loop, at)
        return loop

    def is_alone(self, last: Assign) -> bool:
        """Whether nothing else is assigned to its variable."""
        return sum(isinstance(stm, Assign) and stm.var == last.var for stm in statements(self.body)) == 1

    def values(self, turn: KVar, where: Stms) -> Environment:
        """What is known of variables: copies of `turn` in some statements are that."""
        values, own = Environment(self.mutable), defined(where)
        for stm in statements(self.body):
            match stm:
                case KLet(var, kir.KConvert(_, _, source)) if source == turn and var.name in own:
                    values.polys[var.name] = atom(turn.name)
                case KLet():
                    values.note(stm)
                case _:
                    pass
        return values

    def changed(self, rounds: _Rounds, array: KArray, loop: For, at: int) -> For:
        """The loop whose rounds make what is needed of one array."""
        touching = [k for k, stm in enumerate(loop.body) if array in set(mentions(stm))]
        if len(touching) != 1 or touching[0] >= at:
            return loop
        (place,) = touching
        making = loop.body[place]
        if not isinstance(making, Threads | For) or making.index.prim is not Prim.I64:
            return loop
        if isinstance(making, Threads) and making.unit is not Level.THREAD:
            return loop
        needed = rounds.needed(array, making)
        if needed is None or not all(rounds.is_good(making, needed, *one) for one in _checks(making.body, ())):
            return loop
        self.made += 1
        stms, narrower = _narrowed(loop, making, needed, f".n{self.made}")
        return replace(loop, body=(*loop.body[:place], *stms, narrower, *loop.body[place + 1 :]))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """A loop whose iterations take turns, and what follows it."""

    values: Environment
    turn: KVar
    loop: For
    after: Stms

    def needed(self, array: KArray, making: Threads | For) -> Needed | None:
        """What is needed of the array that a round makes; None where that is all, or not known."""
        half = self.half(array, making)
        hi = making.hi if isinstance(making, Threads) else making.bound
        if half is None or isinstance(hi, Const):
            return None
        own, wanted, index = list[int](), list[int](), atom(making.index.name)
        for stm in statements(making.body):
            if (place := self.place(array, half, stm)) is not None:
                offset, fixed = as_constant(sub(place, index)), as_constant(place)
                if offset is None and fixed is None:
                    return None
                (own if offset is not None else wanted).append(offset if offset is not None else fixed or 0)
            elif array in loaded_arrays(stm):
                return None
        for stm in statements(self.after):
            place = self.place(array, half, stm)
            if place is None and array in set(mentions(stm)) - {x for inner in children(stm) for x in mentions(inner)}:
                return None
            if place is not None:
                wanted.append(-1 if (fixed := as_constant(place)) is None else fixed)
        if not wanted or not own or min(wanted) < 0 or max(map(abs, (*wanted, *own))) >= SMALL:
            return None
        return Needed(min(wanted), max(wanted) + 1, max(0, -min(own)), max(0, *own))

    def half(self, array: KArray, making: Threads | For) -> Poly | None:
        """How far the halves are apart; None where the loop does not store each of its elements in the other half, or
        does more."""
        allowed, own = (KLet, kir.Declare, Assign, KIf, For, kir.Check, kir.BoundsCheck), defined(making.body)
        for stm in statements(making.body):
            if not isinstance(stm, (*allowed, kir.Store)) or (isinstance(stm, Assign) and stm.var.name not in own):
                return None
        stores = [stm for stm in statements(making.body) if isinstance(stm, kir.Store)]
        if len(stores) != 1 or stores[0].array != array or not any(stm is stores[0] for stm in making.body):
            return None
        factor, rest = divided(self.values.of(stores[0].index), self.turn.name)
        half = sub((), factor)
        return half if half and rest == add(half, atom(making.index.name)) else None

    def place(self, array: KArray, half: Poly, stm: KStm) -> Poly | None:
        """Which element of this half a statement loads; None for another statement, or another place."""
        match stm:
            case KLet(_, KLoad(source, index)) if source == array:
                factor, rest = divided(self.values.of(index), self.turn.name)
                return rest if factor == half else None
            case _:
                return None

    def is_good(self, making: Threads | For, needed: Needed, check: Check, path: tuple[Operand, ...]) -> bool:
        """Whether a check behind some conditions holds for all that is left out."""
        conditions = [c for x in path for c in self.comparisons(x)]
        return self.is_left_out(making, needed, conditions) or self.is_inside(making, check, conditions)

    def is_left_out(self, making: Threads | For, needed: Needed, conditions: list[Below]) -> bool:
        """Whether one of the conditions fails where the loop ends sooner; not asked where it begins later."""
        if needed.least or needed.before:
            return False
        left = sub(sub(self.values.of(self.loop.bound), atom(self.loop.index.name)), constant(1))
        first = add(constant(needed.most), mul(constant(needed.behind), left))
        for x, y in conditions:
            factor, rest = divided(sub(x, y), making.index.name)
            least = as_constant(add(first, rest)) if factor == constant(1) else None
            if least is not None and least >= 0 and all(abs(c) < SMALL for _, c in (*first, *rest)):
                return True
        return False

    def is_inside(self, making: Threads | For, check: Check, conditions: list[Below]) -> bool:
        """Whether an index is not negative, as that of the loop and some rounds more, and a condition has it below the
        size."""
        if not isinstance(check, kir.BoundsCheck) or (isinstance(making, Threads) and making.lo != i64(0)):
            return False
        index, size = self.values.of(check.index), self.values.of(check.size)
        known = {(), (self.loop.index.name,)}

        def is_more(x: Poly) -> bool:
            return all(monomial in known and 0 <= c < SMALL for monomial, c in x)

        below = any(is_more(sub(x, index)) for x, y in conditions if y == size)
        return below and is_more(sub(index, atom(making.index.name)))

    def comparisons(self, cond: Operand) -> Iterator[Below]:
        """(x, y) for each x < y that a condition says."""
        let = next((s for s in statements(self.loop.body) if isinstance(s, KLet) and s.var == cond), None)
        match let:
            case KLet(_, KOp(Op.LT, Prim.I64, (x, y))):
                yield self.values.of(x), self.values.of(y)
            case KLet(_, KOp(Op.AND, Prim.BOOL, args)):
                for arg in args:
                    yield from self.comparisons(arg)
            case _:
                pass


def _checks(stms: Stms, path: tuple[Operand, ...]) -> Iterator[tuple[Check, tuple[Operand, ...]]]:
    """The checks at any depth, with the conditions that hold there."""
    for stm in stms:
        match stm:
            case kir.Check() | kir.BoundsCheck():
                yield stm, path
            case KIf(cond, then, orelse):
                yield from _checks(then, (*path, cond))
                yield from _checks(orelse, path)
            case _:
                for inner in children(stm):
                    yield from _checks(inner, path)


def _narrowed(loop: For, making: Threads | For, needed: Needed, suffix: str) -> tuple[Stms, Threads | For]:
    """The loop from the first to the last element that is needed in a round, and what finds these."""
    stms = list[KStm]()

    def op(base: str, op: Op, x: Operand, y: Operand) -> KVar:
        var = KVar(f"{base}{suffix}", Prim.I64)
        stms.append(KLet(var, KOp(op, Prim.I64, (x, y), op not in (Op.MIN, Op.MAX))))
        return var

    left = op("left", Op.SUB, loop.bound, loop.index)
    more = op("more", Op.MUL, left, i64(needed.behind))
    most = op("most", Op.ADD, more, i64(needed.most - needed.behind))
    end = op("end", Op.MIN, most, making.hi if isinstance(making, Threads) else making.bound)
    if isinstance(making, For):
        return tuple(stms), replace(making, bound=end)
    if not (needed.least or needed.before):
        return tuple(stms), replace(making, hi=end)
    before = op("before", Op.MUL, left, i64(needed.before))
    least = op("least", Op.SUB, i64(needed.least + needed.before), before)
    begin = op("begin", Op.MAX, least, making.lo)
    return tuple(stms), replace(making, lo=begin, hi=end)
