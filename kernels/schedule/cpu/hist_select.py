"""Operators of histograms that choose one of their arguments: minima, the largest with its place, the first.

    (x, i) op (y, j) = if x > y then (x, i) else (y, j)      if x > y {} else { bins[k] := (y, j) }

A bin is stored only where that may change it. The branches are mostly foreseen (of n random elements about log n are
new), whereas a store would make the next load of that bin wait. Each test of a condition is a branch of its own, and
what is stored is computed behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....ir import core
from ....ir.commute import componentwise
from ....ir.core import Body, Lambda, Stm
from ....ir.ops import Op, unsigned_of
from ....ir.records import dataclass
from ....ir.traverse import all_exps, all_stms, free_in_stm
from ....ir.types import Atom, Const, Name, Prim, Var
from ...kernel_ir import nodes as kir
from ..kernel_builder import Builder, Mode, Operand
from ..statements import gen_stm

CHOICES = frozenset({Op.MIN, Op.MAX, Op.SELECT})
MOST_STATEMENTS = 32
"""Conditions grow, and nest, with the statements of an operator: a larger one is computed as it is written."""


def chooses(op: Lambda) -> bool:
    """Is each result one of the arguments, by a small operator?"""
    is_small = sum(1 for _ in all_exps(op.body)) <= MOST_STATEMENTS
    return is_small and _chooses(op.body, {p.name for p in op.params})


def _chooses(body: Body, given: set[Name]) -> bool:
    given = set(given)
    for stm in body.stms:
        match stm.exp:
            case core.PrimOp(op, _, args) if op in CHOICES and all(_among(a, given) for a in args[-2:]):
                given.add(stm.pat[0].name)
            case core.If(_, then, orelse) if _chooses(then, given) and _chooses(orelse, given):
                given.update(p.name for p in stm.pat)
            case _:
                pass
    return all(_among(a, given) for a in body.result)


def _among(atom: Atom, given: set[Name]) -> bool:
    return isinstance(atom, Var) and atom.name in given


def parted(op: Lambda) -> tuple[Lambda, ...]:
    """An operator for each component, where each is one operation on its own two operands: minima beside maxima, each
    of which is stored where it is new. Else the operator itself."""
    made = {Var(stm.pat[0].name): stm for stm in op.body.stms}
    parts: list[Lambda] = []
    for (exp, x, y), result, type_ in zip(componentwise(op), op.body.result, op.ret, strict=True):
        if not isinstance(exp, core.PrimOp) or set(exp.args) != {Var(x.name), Var(y.name)}:
            return (op,)
        assert isinstance(result, Var)
        parts.append(Lambda((x, y), Body((made[result],), (result,)), (type_,)))
    return tuple(parts)


def store_chosen(
    b: Builder, op: Lambda, arrays: list[kir.KArray], at: Operand, old: tuple[Operand, ...], values: tuple[Operand, ...]
) -> None:
    """`arrays[at] := old op values` where that is new."""
    b.env |= zip((p.name for p in op.params), (*old, *values), strict=True)
    made = {p.name: (stm, k) for stm in all_stms(op.body) for k, p in enumerate(stm.pat)}
    half = len(old)
    left, right = ([p.name for p in side] for side in (op.params[:half], op.params[half:]))
    choice = _Choice(b, made, left, frozenset(right), arrays, at)
    choice.forget(choice.known())  # of the same operator before
    choice.store(op.body.result)


@dataclass(frozen=True, slots=True)
class _Choice:
    """An operator: what makes its values, as which result; its left arguments and its right ones; where results go."""

    b: Builder
    made: Mapping[Name, tuple[Stm, int]]
    left: list[Name]
    right: frozenset[Name]
    arrays: list[kir.KArray]
    at: Operand

    def store(self, results: tuple[Atom, ...]) -> None:
        """Stores results, behind the tests that choose them; those that are there already are not stored."""
        if results == tuple(map(Var, self.left)):
            return
        choices = [self.choice(atom) for atom in results]
        conds = {choice[0] for choice in choices if choice is not None}
        if None not in choices and len(conds) == 1:
            sides = zip(*(choice[1:] for choice in choices if choice is not None), strict=True)
            then, orelse = map(tuple, sides)
            self.test(conds.pop(), lambda: self.store(then), lambda: self.store(orelse))
        elif not self.store_extremum(results):
            self.put(results)

    def put(self, results: tuple[Atom, ...]) -> None:
        for array, atom in zip(self.arrays, results, strict=True):
            self.b.emit(kir.Store(array, self.at, self.value(atom)))

    def choice(self, atom: Atom) -> tuple[Atom, Atom, Atom] | None:
        """(c, x, y) of a value that is `if c then x else y`."""
        stm, k = self.made.get(atom.name, (None, 0)) if isinstance(atom, Var) else (None, 0)
        match stm:
            case Stm(exp=core.PrimOp(Op.SELECT, _, (cond, x, y))):
                return cond, x, y
            case Stm(exp=core.If(cond, then, orelse)):
                return cond, then.result[k], orelse.result[k]
            case _:
                return None

    def test(self, cond: Atom, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        """`if cond then .. else ..` as a branch for each comparison."""
        stm, _ = self.made.get(cond.name, (None, 0)) if isinstance(cond, Var) else (None, 0)
        match stm.exp if stm is not None else None:
            case core.PrimOp(Op.AND, Prim.BOOL, (x, y)):
                self.test(x, lambda: self.test(y, then, orelse), orelse)
            case core.PrimOp(Op.OR, Prim.BOOL, (x, y)):
                self.test(x, then, lambda: self.test(y, then, orelse))
            case core.PrimOp(Op.NOT, Prim.BOOL, (x,)):
                self.test(x, orelse, then)
            case _ if (found := self.choice(cond)) is not None:
                test, x, y = found
                self.test(test, lambda: self.test(x, then, orelse), lambda: self.test(y, then, orelse))
            case _ if isinstance(cond, Const):
                (then if cond.value else orelse)()
            case _:
                self.branch(self.value(cond), then, orelse)

    def branch(self, cond: Operand, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        """A branch, of which neither side sees what the other one makes."""
        b, known = self.b, self.known()
        sides: list[tuple[kir.KStm, ...]] = []
        for side in (then, orelse):
            with b.nested() as stms:
                side()
            sides.append(tuple(stms))
            self.forget(self.known() - known)
        first, second = sides
        if first:
            b.emit(kir.KIf(cond, first, second))
        elif second:
            b.emit(kir.KIf(b.op(Op.NOT, Prim.BOOL, cond), second, ()))

    def value(self, atom: Atom) -> Operand:
        """A value, and what it is made of where that is not there yet."""
        if isinstance(atom, Var) and atom.name in self.made and atom.name not in self.b.env:
            stm, _ = self.made[atom.name]
            for name in free_in_stm(stm):
                self.value(Var(name))
            known = self.known()
            gen_stm(self.b, stm, Mode.THREAD)
            self.forget(self.known() - known - {p.name for p in stm.pat})  # made inside of its branches
        return self.b.operand(atom)

    def known(self) -> set[Name]:
        return self.made.keys() & self.b.env.keys()

    def forget(self, names: set[Name]) -> None:
        for name in names:
            del self.b.env[name]

    def store_extremum(self, results: tuple[Atom, ...]) -> bool:
        """Stores `max old right` where it may be another than `old`; gives whether results are that. -0 < +0, though
        equal: where -0 is rare, it is taken to be a change. A NaN compares with nothing."""
        match [self.made[atom.name][0].exp for atom in results if isinstance(atom, Var) and atom.name in self.made]:
            case [core.PrimOp(Op.MIN | Op.MAX as op, prim, (Var(x), Var(y)))] if {x, y} == {*self.left, *self.right}:
                pass
            case _:
                return False
        b, larger = self.b, op is Op.MAX
        old, right = (self.value(Var(name)) for name in ((x, y) if x in self.left else (y, x)))
        if not prim.is_float:
            self.branch(b.op(Op.LT if larger else Op.GT, prim, old, right), lambda: self.put(results), _nothing)
            return True

        def unless_beside() -> None:
            bits, sign = unsigned_of(prim), Const(unsigned_of(prim), 1 << (8 * prim.bytes - 1))
            same = b.op(Op.GE if larger else Op.LE, prim, old, right)
            is_zero = b.op(Op.EQ, bits, b.op(Op.TO_BITS, prim, old if larger else right), sign)
            changed = b.op(Op.OR, Prim.BOOL, b.op(Op.NOT, Prim.BOOL, same), is_zero)
            self.branch(changed, lambda: self.put(results), _nothing)

        self.branch(b.op(Op.GT if larger else Op.LT, prim, old, right), _nothing, unless_beside)
        return True


def _nothing() -> None:
    """What is not new is not stored."""
