"""Which operators are commutative for sure: operations of a table, componentwise or mapped."""

from __future__ import annotations

from .core import Body, Lambda, PrimOp, Screma, Stm
from .ops import COMMUTATIVE
from .types import Atom, Name, Var


def is_commutative(op: Lambda) -> bool:
    """Whether every result is `x_i op y_i` for a commutative scalar operation, or such a map over arrays."""
    half = len(op.params) // 2
    pairs = {frozenset((op.params[i].name, op.params[half + i].name)): i for i in range(half)}
    if len(op.body.stms) != half:
        return False
    made: dict[Atom, int] = {}
    for stm in op.body.stms:
        operands = _commuting_operands(stm.exp)
        if operands is None or operands not in pairs or len(stm.pat) != 1:
            return False
        made[Var(stm.pat[0].name)] = pairs[operands]
    return [made.get(atom) for atom in op.body.result] == list(range(half))


def scalar_operation(op: Lambda) -> PrimOp | None:
    """The operation that an operator on single scalars is, on its left and right value in this order or the other."""
    match op:
        case Lambda((x, y), Body((Stm((made,), PrimOp(_, _, args) as exp),), (result,))):
            left, right = Var(x.name), Var(y.name)
            return exp if args in ((left, right), (right, left)) and result == Var(made.name) else None
        case _:
            return None


def _commuting_operands(exp: object) -> frozenset[Name] | None:
    match exp:
        case PrimOp(op, _, (Var(x), Var(y))) if op in COMMUTATIVE:
            return frozenset((x, y))
        case Screma(_, (x, y), function, (), ()) if is_commutative(function):
            return frozenset((x, y))
        case _:
            return None
