"""Operators of histograms that choose one of their arguments: minima, the largest with its place, the first.

    (x, i) op (y, j) = if x > y then (x, i) else (y, j)      new = not (x > y);  if new { bins[k] := (y, j) }

A bin is stored only where that may change it. The branch is mostly foreseen (of n random elements about log n are
new), whereas a store would make the next load of that bin wait. What is stored is computed behind the branch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial

from ....ir import core
from ....ir.commute import componentwise
from ....ir.core import Body, Lambda, Stm
from ....ir.ops import Op, unsigned_of
from ....ir.records import dataclass
from ....ir.traverse import all_exps, free_names
from ....ir.types import Atom, Const, Name, Prim, Var, i64
from ...kernel_ir import nodes as kir
from ..conditions import Comparison, Condition, branches, chosen, emitted, every, given, in_order, negated, some
from ..kernel_builder import Builder, Mode, Operand
from ..statements import gen_stm

CHOICES = frozenset({Op.MIN, Op.MAX, Op.SELECT})
COMPARISONS = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE})


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


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that is an argument: which it may be, and when it is one of the right ones. `exact`: it is that one to
    the bit, and not what `max` makes of two NaN."""

    of: frozenset[Name]
    new: Condition
    exact: bool


@dataclass(slots=True)
class Choices:
    """What is known of the values of an operator. `later`: how those are made that have not been needed yet."""

    b: Builder
    counts: frozenset[Operand]
    choices: dict[Name, Choice] = field(default_factory=dict)
    conditions: dict[Name, Condition] = field(default_factory=dict)
    later: dict[Name, Callable[[], Operand]] = field(default_factory=dict)

    def operand(self, atom: Atom) -> Operand:
        if isinstance(atom, Var) and atom.name in self.later:
            self.b.env[atom.name] = self.later.pop(atom.name)()
        return self.b.operand(atom)

    def condition(self, atom: Atom) -> Condition:
        if isinstance(atom, Var) and atom.name in self.conditions:
            return self.conditions[atom.name]
        return given(self.operand(atom))


def store_chosen(
    b: Builder,
    op: Lambda,
    arrays: list[kir.KArray],
    at: Operand,
    args: tuple[tuple[Operand, ...], tuple[Operand, ...]],
    counts: frozenset[Operand],
    apply: Callable[[], tuple[Operand, ...]],
) -> None:
    """`arrays[at] := old op values` where that is new; `args`: both; `apply` gives what is stored. `counts`: indices,
    which are not negative."""
    old, values = args
    known = Choices(b, counts)
    for param, value in zip(op.params, (*old, *values), strict=True):
        b.env[param.name] = value
    for params, new in ((op.params[: len(old)], False), (op.params[len(old) :], True)):
        known.choices |= {p.name: Choice(frozenset({p.name}), new, True) for p in params}
    _follow(known, op.body)
    changed: Condition = False
    for atom, left in zip(op.body.result, op.params, strict=False):
        changed = some(changed, _changed(known, op, left.name, atom))
    whole = _takes_the_right_ones(known, op)
    with b.nested() as stms:
        results = values if whole else apply()
        for array, result in zip(arrays, results, strict=True):
            b.emit(kir.Store(array, at, result))
    branches(b, in_order(changed, counts), tuple(stms))


def _changed(known: Choices, op: Lambda, left: Name, atom: Atom) -> Condition:
    """May a component change?"""
    assert isinstance(atom, Var)
    found = known.choices.get(atom.name)
    right = {p.name for p in op.params[len(op.params) // 2 :]}
    if found is not None and found.of <= right | {left}:
        return found.new
    return _differs(known.b, known.operand(Var(left)), known.operand(atom))


def _takes_the_right_ones(known: Choices, op: Lambda) -> bool:
    """Is every component that of the right side, where one of them is new?"""
    half = len(op.params) // 2
    found = [known.choices.get(a.name) for a in op.body.result if isinstance(a, Var)]
    return all(
        c is not None and c.exact and c.new == (found[0] and found[0].new) and c.of <= {left.name, right.name}
        for c, left, right in zip(found, op.params[:half], op.params[half:], strict=True)
    )


def _differs(b: Builder, x: Operand, y: Operand) -> Condition:
    """By their bits."""
    if not x.prim.is_float:
        return Comparison(Op.NE, x.prim, (x, y), True)
    left, right = (b.op(Op.TO_BITS, x.prim, value) for value in (x, y))
    return Comparison(Op.NE, unsigned_of(x.prim), (left, right), True)


# ---- statements ----------------------------------------------------------------------------------------------------


def _follow(known: Choices, body: Body) -> None:
    """The statements of a body that cannot fail, without branches; those of both branches of an `if`."""
    for stm in body.stms:
        match stm.exp:
            case core.If(cond, then, orelse):
                _follow(known, then)
                _follow(known, orelse)
                for param, x, y in zip(stm.pat, then.result, orelse.result, strict=True):
                    _select(known, param, cond, x, y)
            case core.PrimOp(Op.SELECT, _, (cond, x, y)):
                _select(known, stm.pat[0], cond, x, y)
            case core.PrimOp(op, prim, args) if prim is Prim.BOOL and op in (Op.AND, Op.OR, Op.NOT):
                conditions = [known.condition(a) for a in args]
                made = negated(conditions[0]) if op is Op.NOT else (every if op is Op.AND else some)(*conditions)
                _conditional(known, stm.pat[0].name, made)
            case core.PrimOp(op, prim, args) if op in COMPARISONS and prim is not Prim.BOOL:
                _conditional(known, stm.pat[0].name, _comparison(known, op, prim, args))
            case core.PrimOp(Op.MIN | Op.MAX as op, prim, (Var() as x, Var() as y)):
                known.later[stm.pat[0].name] = partial(_evaluated, known, stm)
                _extremum(known, stm.pat[0].name, op, prim, (x, y))
            case _:
                _evaluate(known, stm)


def _evaluate(known: Choices, stm: Stm) -> None:
    for name in free_names(stm.exp):
        known.operand(Var(name))
    gen_stm(known.b, stm, Mode.THREAD)


def _evaluated(known: Choices, stm: Stm) -> Operand:
    _evaluate(known, stm)
    return known.b.operand(Var(stm.pat[0].name))


def _conditional(known: Choices, name: Name, condition: Condition) -> None:
    known.conditions[name] = condition
    known.later[name] = lambda: emitted(known.b, condition)


def _comparison(known: Choices, op: Op, prim: Prim, args: tuple[Atom, ...]) -> Condition:
    operands = tuple(map(known.operand, args))
    if op is Op.LT and operands[0] in known.counts and operands[1] == i64(0):
        return False
    return Comparison(op, prim, operands, True)


def _select(known: Choices, param: core.Param, cond: Atom, x: Atom, y: Atom) -> None:
    test, b = known.condition(cond), known.b
    if param.type.prim is Prim.BOOL:
        made = chosen(test, known.condition(x), known.condition(y))
        _conditional(known, param.name, made)
    else:
        known.later[param.name] = lambda: _selected(b, test, known.operand(x), known.operand(y))
    choices = [known.choices.get(a.name) if isinstance(a, Var) else None for a in (x, y)]
    match choices:
        case Choice() as first, Choice() as second:
            of = first.of if test is True else second.of if test is False else first.of | second.of
            new = chosen(test, first.new, second.new)
            known.choices[param.name] = Choice(of, new, first.exact and second.exact)
        case _:
            pass


def _selected(b: Builder, test: Condition, x: Operand, y: Operand) -> Operand:
    if x == y or isinstance(test, bool):
        return x if test else y
    return b.op(Op.SELECT, x.prim, emitted(b, test), x, y)


def _extremum(known: Choices, name: Name, op: Op, prim: Prim, args: tuple[Var, Var]) -> None:
    """`max x y` of an old x and a right y, or the other way round."""
    old, right = sorted(args, key=lambda a: known.choices[a.name].new is not False if a.name in known.choices else True)
    choices = known.choices.get(old.name), known.choices.get(right.name)
    match choices:
        case Choice(first, False, _), Choice(second, True, _):
            new = _beyond(known.b, op, prim, known.operand(old), known.operand(right))
            known.choices[name] = Choice(first | second, new, False)
        case _:
            pass


def _beyond(b: Builder, op: Op, prim: Prim, old: Operand, right: Operand) -> Condition:
    """May `max old right` be another than `old`? -0 < +0, though equal: where -0 is rare, it is taken to be a change. A
    NaN compares with nothing."""
    larger = op is Op.MAX
    if not prim.is_float:
        return Comparison(Op.LT if larger else Op.GT, prim, (old, right), True)
    beside = Comparison(Op.GE if larger else Op.LE, prim, (old, right), True)
    bits, sign = unsigned_of(prim), Const(unsigned_of(prim), 1 << (8 * prim.bytes - 1))
    least = b.op(Op.TO_BITS, prim, old if larger else right)
    beyond = Comparison(Op.GT if larger else Op.LT, prim, (old, right), False)
    return every(beyond, some(negated(beside), Comparison(Op.EQ, bits, (least, sign), True)))
