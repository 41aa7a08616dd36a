"""Literals: their types, and whether their values fit."""

from __future__ import annotations

import math

from ...ir.types import Prim
from ..source.atoms import Lit
from ..source.types import BOOL, PRIMS, TPrim, Ty
from .constraints import FLOATS, NUMBERS, needs_prim
from .errors import fault
from .state import Work

LARGEST = {Prim.F16: 65504.0, Prim.F32: 3.4028234663852886e38, Prim.F64: math.inf}


def literal_type(work: Work, lit: Lit, *, negative: bool) -> Ty:
    """The type of a literal: what its suffix says, or a number to be decided by its use."""
    if lit.prim is not None:
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
        low, high = (-(2 ** (prim.bits - 1)), 2 ** (prim.bits - 1) - 1) if prim.is_signed else (0, 2**prim.bits - 1)
        if prim.is_unsigned and value < 0:
            low = -high - 1  # `-1` at an unsigned type is a subtraction that wraps
        if not low <= value <= high:
            message = (
                f"literal {value} does not fit `{prim.value}` ({max(low, 0) if prim.is_unsigned else low}..{high})"
            )
            raise fault("E0104", message, lit.loc, f"its type was found to be `{prim.value}`")
