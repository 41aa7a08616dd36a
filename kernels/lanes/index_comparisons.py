"""Comparisons of an index that counts with the lanes, in as few bits as a lane has.

    base + l < y   ⟺   l < y - base, brought between -1 and W        lane l of the W of a vector

Where elements are bytes, 64 indices of 64 bits are eight vectors; the numbers of lanes are one.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.types import Prim
from ..analysis.cost import VECTOR_BITS
from ..llvm.ops import apply
from .values import Lanes, LaneValue, Linear, Uniform, Varying, splat, steps

LANE_TYPES = {prim.bits: prim for prim in (Prim.I8, Prim.I16)}
"""The integers as wide as a lane."""
FEWER = 4
"""Vectors of the operands for one of lanes, from which on bringing a number between the bounds takes less."""
MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
EQUALITIES = (Op.EQ, Op.NE)


def compared(e: Lanes, op: Op, prim: Prim, args: tuple[LaneValue, ...]) -> Varying | None:
    """A comparison as one of numbers of lanes; None where lanes are not much narrower than the operands, or these are
    others. What may wrap is equal to a number all the same, but not ordered."""
    lane = LANE_TYPES.get(VECTOR_BITS // e.width)
    if op not in MIRRORED or not prim.is_int or lane is None or FEWER * lane.bits > prim.bits:
        return None
    match args:
        case (Linear(stride=1) as x, Uniform() as y):
            pass
        case (Uniform() as y, Linear(stride=1) as x):
            op = MIRRORED[op]
        case _:
            return None
    if op in EQUALITIES:
        ahead = e.one.ins("sub", prim, y.text, x.base)
    elif x.exact and prim.is_signed:
        ahead = e.one.intrinsic("ssub.sat", prim, y.text, x.base)
    else:
        return None
    return Varying(Prim.BOOL, tuple(_group(e, op, prim, lane, ahead, j * e.width) for j in range(e.unroll)))


def _group(e: Lanes, op: Op, prim: Prim, lane: Prim, ahead: str, first: int) -> str:
    """The numbers of the lanes of a group, from `first` on, against `ahead`."""
    if op in EQUALITIES:
        bounded = e.one.intrinsic("umin", prim, e.one.ins("sub", prim, ahead, str(first)), str(e.width))
    else:
        above = e.one.intrinsic("smax", prim, ahead, str(first - 1))
        bounded = e.one.ins("sub", prim, e.one.intrinsic("smin", prim, above, str(first + e.width)), str(first))
    narrow = e.one.cast("trunc", prim, lane, bounded)
    return apply(e.vec, op, lane, (steps(lane, 0, 1, e.width), splat(e, lane, narrow)))
