"""Literals: their types, and whether their values fit."""

from __future__ import annotations

import math

from ...ir.floats import rounding
from ...ir.types import Prim
from ..parsing.literals import fits, int_range
from ..source.atoms import Lit
from ..source.types import BOOL, PRIMS, TPrim, Ty
from .constraints import FLOATS, NUMBERS, needs_prim
from .errors import fault
from .state import Work


def literal_type(work: Work, lit: Lit, *, negative: bool) -> Ty:
    """The type of a literal: what its suffix says, or a number to be decided by its use."""
    if lit.prim is not None:
        work.pending.literals += [(lit, PRIMS[lit.prim], negative)] if lit.prim.is_float else []
        return work.record(lit.id, PRIMS[lit.prim])
    if isinstance(lit.value, bool):
        return work.record(lit.id, BOOL)
    if lit.is_decimal:
        ty: Ty = work.solver.unknown_with(needs_prim(FLOATS, lit.loc, "a decimal literal"))
    else:
        ty = work.solver.unknown_with(needs_prim(NUMBERS, lit.loc, "a number"))
    work.pending.literals.append((lit, ty, negative))
    return work.record(lit.id, ty)


def check_literals(work: Work) -> None:
    """E0104 for a literal that its type cannot hold, once types are decided."""
    for lit, ty, negative in work.pending.literals:
        found = work.solver.resolve(ty)
        if isinstance(found, TPrim):
            _check_range(lit, found.prim, -lit.value if negative else lit.value)


def _check_range(lit: Lit, prim: Prim, value: int | float) -> None:
    if prim.is_int and isinstance(value, int):
        low, high = int_range(prim)
        holds, message = fits(value, prim), f"literal {value} does not fit `{prim.value}` ({low}..{high})"
    else:
        holds, message = not math.isinf(_rounded(value, prim)), f"the literal is beyond the range of `{prim.value}`"
    if not holds:
        hint = f"all bits are `{prim.value}.highest`" if value == -1 and prim.is_unsigned else None
        raise fault("E0104", message, lit.loc, f"its type was found to be `{prim.value}`", hint=hint)


def _rounded(value: int | float, prim: Prim) -> float:
    try:
        return rounding(prim)(float(value))
    except OverflowError:
        return math.inf
