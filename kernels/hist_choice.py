"""Operators of histograms that choose one of their arguments: minima, the largest with its place, the first.

    (x, i) op (y, j) = if x > y then (x, i) else (y, j)      new = not (x > y);  if new { bins[k] := (y, j) }

A bin is stored only where that may change it. The branch is mostly foreseen (of n random elements about log n are
new), whereas a store would make the next load of that bin wait. The conditions are computed without branches.
"""

from __future__ import annotations

from ..ir import core
from ..ir.core import Body, Lambda
from ..ir.ops import Op, unsigned_of
from ..ir.types import Atom, Const, Name, Prim, Var, i64
from . import kir
from .body import Mode, gen_stm
from .build import Builder, Operand

CHOICES = frozenset({Op.MIN, Op.MAX, Op.SELECT})
NO, YES = Const(Prim.BOOL, False), Const(Prim.BOOL, True)

New = dict[Name, Operand | None]
"""For each value that is an argument: is it one of the right ones? None: to be found by comparison."""


def chooses(op: Lambda) -> bool:
    """Is each result one of the arguments?"""
    return _chooses(op.body, {p.name for p in op.params})


def _chooses(body: Body, given: set[Name]) -> bool:
    given = set(given)
    for stm in body.stms:
        match stm.exp:
            case core.PrimOp(op, _, args) if op in CHOICES and all(_among(a, given) for a in args[-2:]):
                given.add(stm.pat[0].name)
            case core.Copied(atom) if _among(atom, given):
                given.add(stm.pat[0].name)
            case core.If(_, then, orelse) if _chooses(then, given) and _chooses(orelse, given):
                given.update(p.name for p in stm.pat)
            case _:
                pass
    return all(_among(a, given) for a in body.result)


def _among(atom: Atom, given: set[Name]) -> bool:
    return isinstance(atom, Var) and atom.name in given


def store_chosen(
    b: Builder,
    op: Lambda,
    arrays: list[kir.KArray],
    at: Operand,
    args: tuple[tuple[Operand, ...], tuple[Operand, ...]],
    counts: frozenset[Operand],
) -> None:
    """`arrays[at] := old op values` where that is new; `args`: both. `counts`: indices, which are not negative."""
    old, values = args
    sides = (NO,) * len(old) + (YES,) * len(values)
    new: New = {}
    for param, value, side in zip(op.params, (*old, *values), sides, strict=True):
        b.env[param.name], new[param.name] = value, side
    _without_branches(b, op.body, new, counts)
    results = [b.operand(a) for a in op.body.result]
    changed: Operand = NO
    for atom, before, after in zip(op.body.result, old, results, strict=True):
        known = new.get(atom.name) if isinstance(atom, Var) else None
        one = known if known is not None else _differs(b, before, after)
        changed = one if changed in (NO, one) else b.op(Op.OR, Prim.BOOL, changed, one, base="new")
    b.emit(kir.KIf(changed, tuple(kir.Store(a, at, x) for a, x in zip(arrays, results, strict=True)), ()))


def _without_branches(b: Builder, body: Body, new: New, counts: frozenset[Operand]) -> None:
    """The statements of a body that cannot fail; those of both branches of an `if`."""
    for stm in body.stms:
        match stm.exp:
            case core.If(cond, then, orelse):
                _without_branches(b, then, new, counts)
                _without_branches(b, orelse, new, counts)
                for param, x, y in zip(stm.pat, then.result, orelse.result, strict=True):
                    _select(b, param, cond, x, y, new)
            case core.PrimOp(Op.SELECT, _, (cond, x, y)):
                _select(b, stm.pat[0], cond, x, y, new)
            case core.PrimOp(Op.LT, Prim.I64, (Var() as x, y)) if y == i64(0) and b.operand(x) in counts:
                b.env[stm.pat[0].name] = NO
            case core.Copied(Var(name)) if name in new:
                b.env[stm.pat[0].name], new[stm.pat[0].name] = b.env[name], new[name]
            case _:
                gen_stm(b, stm, Mode.THREAD)


def _select(b: Builder, param: core.Param, cond: Atom, x: Atom, y: Atom, new: New) -> None:
    test, args = b.operand(cond), (b.operand(x), b.operand(y))
    if args[0] == args[1] or isinstance(test, Const):
        b.env[param.name] = args[test == NO]
    else:
        b.env[param.name] = b.op(Op.SELECT, param.type.prim, test, *args)
    if isinstance(x, Var) and isinstance(y, Var) and x.name in new and y.name in new:
        new[param.name] = _either(b, test, new[x.name], new[y.name])


def _either(b: Builder, test: Operand, x: Operand | None, y: Operand | None) -> Operand | None:
    """`if test then x else y`"""
    if x is None or y is None:
        return None
    match x, y:
        case _ if x == y or isinstance(test, Const):
            return y if test == NO else x
        case Const(), Const():
            return test if x == YES else b.op(Op.NOT, Prim.BOOL, test)
        case Const(), _:
            first, op = (test, Op.OR) if x == YES else (b.op(Op.NOT, Prim.BOOL, test), Op.AND)
            return b.op(op, Prim.BOOL, first, y, base="new")
        case _, Const():
            first, op = (b.op(Op.NOT, Prim.BOOL, test), Op.OR) if y == YES else (test, Op.AND)
            return b.op(op, Prim.BOOL, first, x, base="new")
        case _:
            return b.op(Op.SELECT, Prim.BOOL, test, x, y, base="new")


def _differs(b: Builder, x: Operand, y: Operand) -> Operand:
    """By their bits."""
    if not x.prim.is_float:
        return b.op(Op.NE, x.prim, x, y, base="new")
    left, right = (b.op(Op.TO_BITS, x.prim, value) for value in (x, y))
    return b.op(Op.NE, unsigned_of(x.prim), left, right, base="new")
