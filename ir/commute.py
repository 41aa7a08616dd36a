"""Which operators are commutative for sure: operations of a table, componentwise or mapped."""

from __future__ import annotations

from collections.abc import Iterator

from .core import Body, Exp, Lambda, Param, PrimOp, Screma, Stm
from .ops import COMMUTATIVE
from .types import Atom, Name, Var


def is_commutative(op: Lambda) -> bool:
    """Whether every result is `x_i op y_i` for a commutative scalar operation, or such a map over arrays."""
    return all(_commuting_operands(exp) == frozenset((x.name, y.name)) for exp, x, y in componentwise(op))


def componentwise(op: Lambda) -> Iterator[tuple[Exp | None, Param, Param]]:
    """For each result of an operator the expression that gives it alone, if one does, and its two operands."""
    half = len(op.params) // 2
    made: dict[Atom, Exp] = {Var(stm.pat[0].name): stm.exp for stm in op.body.stms if len(stm.pat) == 1}
    for atom, x, y in zip(op.body.result, op.params[:half], op.params[half:], strict=True):
        yield made.get(atom), x, y


def scalar_operation(op: Lambda) -> PrimOp | None:
    """The operation that an operator on single scalars is, on its left and right value in this order or the other."""
    match op:
        case Lambda((x, y), Body((Stm((made,), PrimOp(_, _, args) as exp),), (result,))):
            left, right = Var(x.name), Var(y.name)
            return exp if args in ((left, right), (right, left)) and result == Var(made.name) else None
        case _:
            return None


def _commuting_operands(exp: Exp | None) -> frozenset[Name] | None:
    match exp:
        case PrimOp(op, _, (Var(x), Var(y))) if op in COMMUTATIVE:
            return frozenset((x, y))
        case Screma(_, (x, y), function, (), ()) if is_commutative(function):
            return frozenset((x, y))
        case _:
            return None
