"""What it costs to compute a deferred statement again in another kernel, and what may be moved at all.

Units are roughly one arithmetic operation of one thread. `HEAVY` is for loops, SOACs and whatever else is computed
once per point of the nest and no more.
"""

from __future__ import annotations

from ...ir.core import (
    Apply,
    ArrayLit,
    Assert,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    Exp,
    Fix,
    GuardCmp,
    If,
    Index,
    Iota,
    Loop,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    SizeParam,
    Stm,
    Update,
)
from ...ir.ops import EXPENSES, Expense, can_fail
from ...ir.types import Const

LIMIT = 24
"""Up to this weight a statement is computed again rather than stored and loaded."""
HEAVY = 1 << 20


def weight_of(exp: Exp) -> int:
    """The weight of an expression alone."""
    match exp:
        case PrimOp(op, prim, _):
            return 16 if can_fail(op, prim) or EXPENSES[op] is Expense.CALL else 1
        case Convert() | Assert() | GuardCmp():
            return 1
        case Index(_, dims, _):
            return 2 if all(isinstance(dim, Fix) for dim in dims) else 0
        case Copied() | Copy() | SizeParam() | Iota() | Replicate() | Rearrange() | Reshape() | Scratch():
            return 0
        case If(_, then, orelse):
            return 2 + _weight_of_branch(then) + _weight_of_branch(orelse)
        case Update() | Concat() | ArrayLit() | Loop() | Apply():
            return HEAVY
        case _:
            return HEAVY


def _weight_of_branch(body: Body) -> int:
    """A branch that makes arrays is heavy: its result has no single place."""
    if any(p.type.shape for stm in body.stms for p in stm.pat):
        return HEAVY
    return min(HEAVY, sum(weight_of(stm.exp) for stm in body.stms))


def is_total(exp: Exp) -> bool:
    """A basic operation that gives a value whatever its operands: it may run where the program would not have."""
    match exp:
        case PrimOp(op, prim, args):
            last = args[-1]
            return not can_fail(op, prim) or (isinstance(last, Const) and last.value > 0)
        case Index(_, _, safe):
            return safe
        case Convert() | Copied() | Iota() | Replicate() | Rearrange() | Reshape() | Scratch() | ArrayLit() | Concat():
            return True
        case _:
            return False


def is_total_body(body: Body) -> bool:
    """Whether no statement of the body can fail where it is executed."""
    return all(is_total(stm.exp) for stm in body.stms)


def is_certain(stm: Stm) -> bool:
    """Whether a statement is total even where no check is made: one may be what says that a place is in bounds, that a
    shape has as many elements as another, or that sizes which are added up are not negative."""
    relies = isinstance(stm.exp, Concat) or (stm.certs != () and isinstance(stm.exp, Index | Reshape))
    return is_total(stm.exp) and not relies


def is_movable(stm: Stm) -> bool:
    """Whether a statement that is the same at all points of a nest may be computed before it, perhaps only if there is
    a point: it is total, or a check or a scalar that costs as much as a few operations."""
    return is_total(stm.exp) or (not any(p.type.shape for p in stm.pat) and _is_plain(stm.exp))


def _is_plain(exp: Exp) -> bool:
    match exp:
        case PrimOp() | Assert():
            return True
        case If(_, then, orelse):
            return all(weight_of(stm.exp) < HEAVY for body in (then, orelse) for stm in body.stms)
        case _:
            return False
