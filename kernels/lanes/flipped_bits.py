"""Indices of which some bits are flipped (butterflies of transforms, sorting networks, subsets): `i ^ u`.

    a group of W lanes from b on, b a multiple of W:  (b + l) ^ u  =  (b ^ (u & -W)) + (l ^ (u & W - 1))       lane l

All elements that such a group reads are a vector of memory, in order where u is a multiple of W. An access is a load
of it, and a permutation where they are not in order, in place of an access for each lane.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.types import Prim
from .values import Flipped, Lanes, LaneValue, Linear, Uniform, Varying


def flipped(e: Lanes, op: Op, args: tuple[LaneValue, ...], result: LaneValue) -> None:
    """What is known of an index with flipped bits, and of its sum with a number."""
    if not isinstance(result, Varying) or result.prim is not Prim.I64:
        return
    match op, args:
        case Op.XOR, (Linear(_, base, 1), Uniform(_, bits)) | (Uniform(_, bits), Linear(_, base, 1)):
            e.flipped[result.texts] = _flipped(e, base, bits)
        case Op.ADD, (Varying(_, texts), Uniform(_, more)) | (Uniform(_, more), Varying(_, texts)):
            if (known := e.flipped.get(texts)) is not None:
                bases = tuple(e.one.ins("add", Prim.I64, base, more) for base in known.bases)
                e.flipped[result.texts] = Flipped(bases, known.low, known.holds)
        case _:
            pass


def _flipped(e: Lanes, base: str, bits: str) -> Flipped:
    one, t, most = e.one, Prim.I64, e.width - 1
    low = one.ins("and", t, bits, str(most))
    high = one.ins("xor", t, bits, low)
    firsts = (one.ins("add", t, base, str(j * e.width)) for j in range(e.unroll))
    holds = one.ins("icmp eq", t, one.ins("and", t, base, str(most)), "0")
    return Flipped(tuple(one.ins("xor", t, first, high) for first in firsts), low, holds)


def vectors_outside(e: Lanes, flipped: Flipped, size: str) -> str:
    """i1: may an index be outside of 0 .. size - 1? None is where the vectors of all groups are inside."""
    one, (greatest, *others) = e.one, flipped.bases
    for base in others:
        greatest = one.intrinsic("umax", Prim.U64, greatest, base)
    last = one.ins("add", Prim.I64, greatest, str(e.width - 1))
    ends = (one.ins("icmp uge", Prim.I64, end, size) for end in (greatest, last))
    return one.either(one.negate(flipped.holds), one.either(*ends))
