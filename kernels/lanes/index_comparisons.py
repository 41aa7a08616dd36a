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

LANE_TYPES = {prim.bits: prim for prim in (Prim.I8, Prim.I16, Prim.I32)}
"""The integers as wide as a lane."""
FEWER = 4
"""Vectors of the operands for one of lanes, from which on bringing a number between the bounds takes less; half as many
where truth values are vectors too, of which comparisons of wider numbers have several."""
MIRRORED = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}
COUNTED = 16
"""Lanes of a vector of 32 bits, of which indices are two: of wider lanes indices are one, numbers of narrower ones
(`LANE_TYPES`) are smaller."""
FAR = 1 << 61
"""Beyond every index."""
NARROW = 32
"""Lanes from which on few numbers are bytes."""
EQUALITIES = (Op.EQ, Op.NE)


def compared(e: Lanes, op: Op, prim: Prim, args: tuple[LaneValue, ...]) -> Varying | None:
    """A comparison as one of numbers of lanes; None where lanes are not much narrower than the operands, or these are
    others. What may wrap is equal to a number all the same, but not ordered."""
    if (found := _counted(e, op, args) or _few(e, op, args)) is not None:
        return found
    lane = LANE_TYPES.get(VECTOR_BITS // e.width)
    fewer = FEWER if e.masks else FEWER // 2
    if op not in MIRRORED or not prim.is_int or lane is None or fewer * lane.bits > prim.bits:
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


def _counted(e: Lanes, op: Op, args: tuple[LaneValue, ...]) -> Varying | None:
    """The same of an index of a peeled loop, in 32 bits: the number that is compared with is the same for all of the
    loop."""
    if e.counted is None or e.unroll > 1 or e.width != COUNTED or op not in MIRRORED:
        return None
    match args:
        case (Linear(Prim.I64, base, 1), Uniform() as y) if base in e.counted.shifts:
            pass
        case (Uniform() as y, Linear(Prim.I64, base, 1)) if base in e.counted.shifts:
            op = MIRRORED[op]
        case _:
            return None
    return Varying(Prim.BOOL, (counted_lanes(e, op, y.text, e.counted.shifts[base]),))


def counted_lanes(e: Lanes, op: Op, y: str, shift: int) -> str:
    """The lanes of a peeled loop of which `index + shift op y` holds."""
    assert e.counted is not None, "an index of a peeled loop"
    one, t = e.one, Prim.I64
    near = one.intrinsic("smin", t, one.intrinsic("smax", t, y, str(-FAR)), str(FAR))
    ahead = one.ins("sub", t, one.ins("sub", t, near, e.counted.lo), str(shift))
    bounded = one.intrinsic("smin", t, one.intrinsic("smax", t, ahead, "-1"), str((1 << 31) - 1))
    return apply(e.vec, op, Prim.I32, (e.counted.lanes, splat(e, Prim.I32, one.cast("trunc", t, Prim.I32, bounded))))


def _few(e: Lanes, op: Op, args: tuple[LaneValue, ...]) -> Varying | None:
    """The same of the few numbers that indices of short rows are (`linear_division.by_few`)."""
    match args:
        case (Varying(Prim.I64, texts), Uniform() as y) if op in MIRRORED:
            pass
        case (Uniform() as y, Varying(Prim.I64, texts)) if op in MIRRORED:
            op = MIRRORED[op]
        case _:
            return None
    window = e.windows.get(texts)
    if window is None or not window.few:
        return None
    lane, one, t = Prim.I8 if e.width >= NARROW else Prim.I32, e.one, Prim.I64
    made: list[str] = []
    for base, offsets in zip(window.bases, window.offsets, strict=True):
        ahead = one.intrinsic("ssub.sat", t, y.text, base)
        near = one.intrinsic("smin", t, one.intrinsic("smax", t, ahead, "-1"), "127")
        few = offsets if lane is Prim.I32 else e.vec.cast("trunc", Prim.I32, lane, offsets)
        made.append(apply(e.vec, op, lane, (few, splat(e, lane, one.cast("trunc", t, lane, near)))))
    return Varying(Prim.BOOL, tuple(made))


def _group(e: Lanes, op: Op, prim: Prim, lane: Prim, ahead: str, first: int) -> str:
    """The numbers of the lanes of a group, from `first` on, against `ahead`, which is brought near those of all groups
    at once where lanes have room for these."""
    start, count = (0, e.lanes) if e.lanes < 1 << (lane.bits - 1) else (first, e.width)
    if op in EQUALITIES:
        bounded = e.one.intrinsic("umin", prim, e.one.ins("sub", prim, ahead, str(start)), str(count))
    else:
        above = e.one.intrinsic("smax", prim, ahead, str(start - 1))
        bounded = e.one.ins("sub", prim, e.one.intrinsic("smin", prim, above, str(start + count)), str(start))
    narrow = e.one.cast("trunc", prim, lane, bounded)
    return apply(e.vec, op, lane, (steps(lane, first - start, 1, e.width), splat(e, lane, narrow)))
