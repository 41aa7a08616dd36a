"""Conversions between scalar types, on one vector.

LLVM's own conversions are poison out of range, its saturating ones are scalarised: float to int is the plain
conversion under three selects. Halves go through f32, of which a bf16 is the upper half; from f64 they are rounded to
odd first, in integers, since the direct conversion needs a run-time library on many targets (the fence keeps LLVM from
making two roundings that one).
"""

from __future__ import annotations

import math

from ...ir.floats import STICKY
from ...ir.scalar import int_range
from ...ir.types import Prim
from .text import Vec

TO_I64 = "soac.to_i64."
"""Functions from vectors of floats, which processors may have in other ways."""


def convert(v: Vec, source: Prim, target: Prim, x: str) -> str:
    """`x` of type `source` as a `target`, by the rules of `ir/scalar.py`."""
    if source is target:
        return x
    if target is Prim.BOOL:
        return to_bool(v, source, x)
    match source.is_float, target.is_float:
        case True, True:
            return float_to_float(v, source, target, x)
        case True, False:
            return float_to_int(v, source, target, x)
        case False, True:
            return int_to_float(v, source, target, x)
        case _:
            return int_to_int(v, source, target, x)


def from_memory(v: Vec, prim: Prim, x: str) -> str:
    """A value as memory holds it (`memory_type`), as a `prim`."""
    match prim:
        case Prim.BOOL:
            return to_bool(v, Prim.U8, x)
        case Prim.F16:
            return v.cast("bitcast", Prim.U16, prim, x)
        case _:
            return x


def to_memory(v: Vec, prim: Prim, x: str) -> str:
    """A `prim` as memory holds it: bools as bytes, halves as their bits."""
    match prim:
        case Prim.BOOL:
            return v.cast("zext", prim, Prim.U8, x)
        case Prim.F16:
            return v.cast("bitcast", prim, Prim.U16, x)
        case _:
            return x


def to_record(v: Vec, prim: Prim, x: str) -> str:
    """i64: what failure records hold of a value: integers extended, floats as the bits of their f64."""
    if prim.is_float:
        return v.cast("bitcast", Prim.F64, Prim.I64, convert(v, prim, Prim.F64, x))
    return convert(v, prim, Prim.I64, x)


def to_bool(v: Vec, source: Prim, x: str) -> str:
    """i1: is it other than 0? True for nan; a half is compared as f64."""
    if source.is_float:
        wide = float_to_float(v, source, Prim.F64, x) if source.is_half else x
        prim = Prim.F64 if source.is_half else source
        return v.ins("fcmp une", prim, wide, v.const(prim, 0.0))
    return v.ins("icmp ne", source, x, v.const(source, 0))


def int_to_int(v: Vec, source: Prim, target: Prim, x: str) -> str:
    """Cut to the low bits, or extended by the sign of `source`; a bool is one bit without a sign."""
    from_bits = 1 if source is Prim.BOOL else source.bits
    if from_bits == target.bits:
        return x
    if from_bits > target.bits:
        return v.cast("trunc", source, target, x)
    return v.cast("sext" if source.is_signed else "zext", source, target, x)


def int_to_float(v: Vec, source: Prim, target: Prim, x: str) -> str:
    """Rounded once. For f16 by way of f32: every integer below the largest half is exact there; for bf16 by way of f64,
    where all of at most 32 bits are, and of longer ones those that are first rounded to odd."""
    if target is Prim.F16:
        return float_to_float(v, Prim.F32, Prim.F16, int_to_float(v, source, Prim.F32, x))
    if target is Prim.BF16:
        x = _long_to_odd(v, source, x) if source.bits == 64 else x
        return float_to_float(v, Prim.F64, target, int_to_float(v, source, Prim.F64, x))
    return v.cast("sitofp" if source.is_signed else "uitofp", source, target, x)


def _long_to_odd(v: Vec, prim: Prim, x: str) -> str:
    """Integers of more than 53 digits without their last 11, which say by one bit whether any was set."""
    size = v.intrinsic_flag("abs", prim, x) if prim.is_signed else x
    short = v.ins("icmp ult", prim, size, v.const(prim, 1 << 53))
    low = v.ins("and", prim, x, v.const(prim, 0x7FF))
    kept = v.ins("and", prim, x, v.const(prim, -0x800))
    nothing_lost = v.ins("icmp eq", prim, low, v.const(prim, 0))
    odd = v.select(prim, nothing_lost, kept, v.ins("or", prim, kept, v.const(prim, 0x800)))
    return v.select(prim, short, x, odd)


def float_to_float(v: Vec, source: Prim, target: Prim, x: str) -> str:
    """Rounded once, to nearest even; f64 to a half by way of an f32 rounded to odd."""
    match source, target:
        case ((Prim.F16 | Prim.BF16), Prim.F64):
            return v.cast("fpext", Prim.F32, Prim.F64, float_to_float(v, source, Prim.F32, x))
        case Prim.F64, (Prim.F16 | Prim.BF16):
            odd = rounded_to_odd(v, x, STICKY[target])
            return float_to_float(v, Prim.F32, target, v.cast("fptrunc", Prim.F64, Prim.F32, odd))
        case (Prim.F16, Prim.BF16) | (Prim.BF16, Prim.F16):
            return float_to_float(v, Prim.F32, target, float_to_float(v, source, Prim.F32, x))
        case Prim.BF16, Prim.F32:
            word = v.ins("shl", Prim.U32, v.cast("zext", Prim.U16, Prim.U32, x), v.const(Prim.U32, 16))
            return v.cast("bitcast", Prim.U32, Prim.F32, word)
        case Prim.F32, Prim.BF16:
            return _upper_half(v, x)
        case Prim.F32, Prim.F16:
            fenced = v.intrinsic("arithmetic.fence", Prim.F32, x)
            return v.cast("fptrunc", Prim.F32, Prim.F16, fenced)
        case _:
            return v.cast("fpext" if target.bits > source.bits else "fptrunc", source, target, x)


def _upper_half(v: Vec, x: str) -> str:
    """The bits of the bf16 that is nearest to an f32; of a nan those of a quiet one."""
    word = v.cast("bitcast", Prim.F32, Prim.U32, x)
    last = v.ins("and", Prim.U32, v.ins("lshr", Prim.U32, word, v.const(Prim.U32, 16)), v.const(Prim.U32, 1))
    near = v.ins("add", Prim.U32, v.ins("add", Prim.U32, word, v.const(Prim.U32, 0x7FFF)), last)
    kept = v.select(Prim.U32, v.ins("fcmp uno", Prim.F32, x, x), v.const(Prim.U32, 0x7FC00000), near)
    return v.cast("trunc", Prim.U32, Prim.U16, v.ins("lshr", Prim.U32, kept, v.const(Prim.U32, 16)))


def rounded_to_odd(v: Vec, x: str, sticky: int) -> str:
    """An f64 without its last `sticky` bits, rounded to odd: the last one left tells whether anything was lost, so that
    a second rounding gives what one rounding would (Boldo and Melquiond 2008)."""
    bits = v.cast("bitcast", Prim.F64, Prim.U64, x)
    low = v.ins("and", Prim.U64, bits, v.const(Prim.U64, (1 << sticky) - 1))
    carried = v.ins("add", Prim.U64, low, v.const(Prim.U64, (1 << sticky) - 1))
    kept = v.ins("or", Prim.U64, bits, carried)
    return v.cast("bitcast", Prim.U64, Prim.F64, v.ins("and", Prim.U64, kept, v.const(Prim.U64, -(1 << sticky))))


def float_to_int(v: Vec, source: Prim, target: Prim, x: str) -> str:
    """Truncated and saturated, to an unsigned type the bits of a negative number; nan and both infinities give 0."""
    if source.is_half:
        return float_to_int(v, Prim.F32, target, float_to_float(v, source, Prim.F32, x))
    if target is Prim.I64 and v.width:
        name, t, own = f"{TO_I64}v{v.width}{source.value}", v.type(target), v.type(source)
        v.code.module.function(
            name, t, (own,), lambda code: _saturated(Vec(code, v.width), source, target, "%0"), " alwaysinline"
        )
        return v.code.call(name, t, ((own, x),))
    return _saturated(v, source, target, x)


def _saturated(v: Vec, source: Prim, target: Prim, x: str) -> str:
    lowest, highest = -(1 << (target.bits - 1)), int_range(target)[1]
    inside = v.cast("fptosi", source, target, x)
    if target.is_unsigned:
        negative = v.ins("fcmp olt", source, x, v.const(source, 0.0))
        inside = v.select(target, negative, inside, v.cast("fptoui", source, target, x))
    below = v.ins("fcmp olt", source, x, v.const(source, float(lowest)))
    above = v.ins("fcmp oge", source, x, v.const(source, float(highest + 1)))
    finite = v.ins("fcmp olt", source, v.intrinsic("fabs", source, x), v.const(source, math.inf))
    result = v.select(target, below, v.const(target, lowest), inside)
    result = v.select(target, above, v.const(target, highest), result)
    return v.select(target, finite, result, v.const(target, 0))
