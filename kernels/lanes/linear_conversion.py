"""Indices that count with the lanes, as floats.

    f64.i64 (b + l*s)  =  f64.i32 (i32.i64 b + l*s)        -2^30 <= b <= 2^30, lane l

Vectors of 64-bit integers have no such conversion on many processors, and a costly one on others. Both give the float
that is nearest to the same number; which is taken is asked once for all lanes.
"""

from __future__ import annotations

from ...ir.types import Prim
from ..llvm.convert import convert
from .values import Lanes, Linear, Varying, splat, steps, vectors

NEAR = 1 << 30
"""Up to where indices are mostly."""
FLOATS = (Prim.F32, Prim.F64)


def as_floats(e: Lanes, x: Linear, target: Prim) -> Varying | None:
    """The conversion of an index; None where it is of another type, or its steps are long."""
    if x.prim is not Prim.I64 or target not in FLOATS or abs(x.stride) * e.lanes >= NEAR:
        return None
    code, one, t = e.code, e.one, e.type(target)
    far, end = code.fresh("far"), code.fresh("floats")
    slots = [code.slot(t) for _ in range(e.unroll)]
    low = one.ins("add", x.prim, x.base, str(NEAR))
    with code.rarely(one.ins("icmp ugt", x.prim, low, str(2 * NEAR)), far, code.fresh("near")):
        for slot, value in zip(slots, vectors(e, x), strict=True):
            code.do(f"store {t} {convert(e.vec, x.prim, target, value)}, ptr {slot}")
        code.jump(end)
    start = splat(e, Prim.I32, one.cast("trunc", x.prim, Prim.I32, x.base))
    for group, slot in enumerate(slots):
        counted = steps(Prim.I32, group * e.width * x.stride, x.stride, e.width)
        value = e.vec.ins("add", Prim.I32, start, counted)
        code.do(f"store {t} {convert(e.vec, Prim.I32, target, value)}, ptr {slot}")
    code.jump(end)
    code.label(end)
    return Varying(target, tuple(code.op(f"load {t}, ptr {slot}") for slot in slots))
