"""Loops and reductions that have done their work when a flag has settled: `all`, `any`, searches for what fits.

    acc := true;  for i < n { .. acc := acc and c }                         reduce and true (threads i < n { .. c })
    r := -1;  for i < n { .. r := if r < 0 and c then i else r }

A flag is made of nothing but what rounds change; where a round with that value of it leaves all as it is, so does each
that follows, and the loop may end there. Checks of the rounds that are left out are those of values that nothing needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from ...ir.ops import COMPARISONS, EXPENSES, Expense, Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import (
    Assign,
    BlockReduce,
    For,
    KConvert,
    KIf,
    KLambda,
    KLet,
    KOp,
    KStm,
    KVar,
    KWhile,
    Operand,
)
from ..kernel_ir.traverse import assigned, defined, rhs_operands, statements
from ..kernel_ir.values import folded


@dataclass(frozen=True, slots=True)
class Settled:
    """A flag, which `test` makes of what rounds change: once it has this value no round changes anything."""

    test: tuple[KLet, ...]
    flag: KVar
    value: bool


def settling(loop: For) -> Settled | None:
    """When rounds of a loop are done that have no effect but the variables from outside that they assign."""
    own = defined(loop.body) | {loop.index.name}
    changes = (stm.var for stm in statements(loop.body) if isinstance(stm, Assign))
    states = frozenset(var for var in changes if var.name not in own)
    for test, flag in _flags(loop.body, states, own):
        for value in (False, True):
            if _keeps(loop.body, {s: s for s in states}, flag, value):
                return Settled(test, flag, value)
    return None


def deciding(stm: BlockReduce) -> Settled | None:
    """When an accumulator is the result whatever elements follow, and nothing is made beside it. A flag of the left
    operands of its step, or else of its operator."""
    return keeping(stm.step or stm.op) if _Round({}).runs(stm.body) else None


def keeping(op: KLambda) -> Settled | None:
    """When an operator gives its left operands, whatever the right ones are."""
    own = defined(op.body) | {var.name for var in op.right}
    flags = [((), var) for var in op.left if var.prim is Prim.BOOL]
    for test, flag in (*flags, *_flags(op.body, frozenset(op.left), own)):
        for value in (False, True):
            combined = _Round({}, {flag: Const(Prim.BOOL, value)})
            if combined.runs(op.body) and list(map(combined.read, op.results)) == list(map(combined.read, op.left)):
                return Settled(test, flag, value)
    return None


def _flags(
    body: Iterable[KStm], states: frozenset[KVar], own: frozenset[str]
) -> Iterator[tuple[tuple[KLet, ...], KVar]]:
    """What is made at once of the states alone and of what is not a round's own, if it is a flag; and how."""
    made: dict[KVar, tuple[KLet, ...]] = dict.fromkeys(states, ())
    for stm in body:
        if not assigned((stm,)).isdisjoint(var.name for var in states):
            return
        match stm:
            case KLet(var, KConvert() | KOp() as rhs) if _cannot_fail(rhs):
                args = [x for x in rhs_operands(rhs) if isinstance(x, KVar) and (x in made or x.name in own)]
                if args and all(x in made for x in args):
                    made[var] = (*dict.fromkeys(one for x in args for one in made[x]), stm)
                    if var.prim is Prim.BOOL:
                        yield made[var], var


def _cannot_fail(rhs: KConvert | KOp) -> bool:
    return isinstance(rhs, KConvert) or rhs.op in COMPARISONS | {Op.AND, Op.OR, Op.NOT}


def _keeps(body: tuple[KStm, ...], held: dict[KVar, Operand | None], flag: KVar, value: bool) -> bool:
    """Does a round change nothing where the flag has that value?"""
    states = tuple(held)
    for stm in body:  # a copy of a state tells what that is
        match stm:
            case KLet(var, KConvert(Prim.BOOL, Prim.BOOL, KVar() as state)) if var == flag and state in held:
                held[state] = Const(Prim.BOOL, value)
    before, after = dict(held), _Round(held, {flag: Const(Prim.BOOL, value)})
    return after.runs(body) and all(after.held[s] == before[s] for s in states)


@dataclass(slots=True)
class _Round:
    """What variables hold in the course of a round, as far as it is known: `held` those that are assigned, `known` the
    others; `arrays`: those that the round makes."""

    held: dict[KVar, Operand | None]
    known: dict[KVar, Operand | None] = field(default_factory=dict)
    arrays: set[kir.KArray] = field(default_factory=set)

    def read(self, x: Operand) -> Operand | None:
        if isinstance(x, KVar):
            return self.held[x] if x in self.held else self.known.get(x, x)
        return x

    def runs(self, stms: Iterable[KStm]) -> bool:
        """The statements are done, if they have no effect but on what is held."""
        return all(self.statement(stm) for stm in stms)

    def statement(self, stm: KStm) -> bool:
        match stm:
            case KLet(var, rhs):
                if var not in self.known:
                    self.known[var] = self.value(var, rhs)
            case kir.Declare(var, x) | Assign(var, x):
                self.held[var] = self.read(x)
            case KIf(cond, then, orelse):
                match self.read(cond):
                    case Const(_, holds):
                        return self.runs(then if holds else orelse)
                    case _:
                        return self.either(then, orelse)
            case For(_, _, body) | KWhile(_, _, body):
                for inner in statements((stm,)):
                    if isinstance(inner, Assign):
                        self.held[inner.var] = None
                before = stm.before if isinstance(stm, KWhile) else ()
                return _Round(dict(self.held), dict(self.known), self.arrays).runs((*before, *body))
            case kir.Alloc(array):
                self.arrays.add(array)
            case kir.Store(array):
                return array in self.arrays
            case kir.Check() | kir.BoundsCheck():
                pass
            case _:
                return False
        return True

    def value(self, var: KVar, rhs: kir.Rhs) -> Operand | None:
        match rhs:
            case KConvert(source, target, x) if source is target:
                return self.read(x)
            case KOp(op, _, args):
                read = tuple(map(self.read, args))
                if None in read:
                    return var
                if op is Op.SELECT and read[1] == read[2]:
                    return read[1]
                found = folded(op, tuple(x for x in read if x is not None))
                return var if found is None else found
            case _:
                return var

    def either(self, then: Iterable[KStm], orelse: Iterable[KStm]) -> bool:
        """One of two lists, whichever."""
        other = _Round(dict(self.held), dict(self.known), self.arrays)
        done = self.runs(then) and other.runs(orelse)
        for var, x in other.held.items():
            if self.held.get(var, x) != x:
                self.held[var] = None
        return done


def is_costly(loop: For) -> bool:
    """Whether a round is more than LLVM would make vectors of: another loop, or an operation of many instructions."""
    return any(
        isinstance(stm, For | KWhile)
        or (isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and EXPENSES[stm.rhs.op] is not Expense.INSTRUCTION)
        for stm in statements(loop.body)
    )
