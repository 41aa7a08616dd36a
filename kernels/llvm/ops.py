"""The operations of `ir/ops.py` on one vector, by the meaning of `ir/scalar.py`.

Halves are widened to f32 (FMA to f64, to odd), computed there and rounded, which gives what one rounding would.
"""

from __future__ import annotations

import math

from ...ir.errors import IRError
from ...ir.ops import COMPARISONS, COUNTS, Op, result_type, unsigned_of
from ...ir.types import Prim
from . import math as mathlib
from .convert import convert
from .integers import count, divide, high_product, power, shift, sign
from .text import Vec

_SIMPLE_INT = {Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.AND: "and", Op.OR: "or", Op.XOR: "xor"}
_SIMPLE_FLOAT = {Op.ADD: "fadd", Op.SUB: "fsub", Op.MUL: "fmul", Op.DIV: "fdiv"}
_FLOAT_INTRINSICS = {
    Op.MIN: "minimumnum",
    Op.MAX: "maximumnum",
    Op.SQRT: "sqrt",
    Op.ABS: "fabs",
    Op.FLOOR: "floor",
    Op.CEIL: "ceil",
    Op.TRUNC: "trunc",
    Op.ROUND: "roundeven",
    Op.COPYSIGN: "copysign",
    Op.FMA: "fma",
}
_ON_BITS = frozenset({Op.TO_BITS, Op.FROM_BITS, Op.SELECT, Op.NEXTAFTER, Op.LDEXP})
"""Operations that halves need not leave their type for."""


def apply(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    """The instructions of `op` at `prim`; integer divisors are not zero, in no lane."""
    if op is Op.SELECT:
        return v.select(prim, *args)
    if prim.is_half and op not in _ON_BITS:
        return _widened(v, op, prim, args)
    if op in COMPARISONS:
        return v.ins(_predicate(op, prim), prim, *args)
    return float_op(v, op, prim, args) if prim.is_float else int_op(v, op, prim, args)


def _widened(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    wide = Prim.F64 if op is Op.FMA else Prim.F32
    widened = tuple(convert(v, prim, wide, x) for x in args)
    if op is Op.FMA and prim is Prim.F16:  # the sum rounds once where a half could tell
        x, y, z = widened
        result = v.ins("fadd", wide, v.ins("fmul", wide, x, y), z)
    else:
        result = _sum_to_odd(v, *widened) if op is Op.FMA else apply(v, op, wide, widened)
    return convert(v, wide, prim, result) if result_type(op, prim) is prim else result


def _sum_to_odd(v: Vec, x: str, y: str, z: str) -> str:
    """x*y + z of bf16 in f64, rounded to odd: a second rounding then gives what one would. The product is exact."""
    wide, bits = Prim.F64, Prim.U64
    product = v.ins("fmul", wide, x, y)
    total = v.ins("fadd", wide, product, z)
    back = v.ins("fsub", wide, total, product)
    lost = v.ins("fsub", wide, product, v.ins("fsub", wide, total, back))
    lost = v.ins("fadd", wide, lost, v.ins("fsub", wide, z, back))
    word = v.cast("bitcast", wide, bits, total)
    odd = v.cast("trunc", bits, Prim.BOOL, word)
    zero = v.const(wide, 0.0)
    grows = v.ins("xor", Prim.BOOL, v.ins("fcmp ogt", wide, lost, zero), v.ins("fcmp olt", wide, total, zero))
    moved = v.ins("add", bits, word, v.select(bits, grows, v.const(bits, 1), v.const(bits, -1)))
    exact = v.either(odd, v.negate(v.ins("fcmp one", wide, lost, zero)))
    return v.cast("bitcast", bits, wide, v.select(bits, exact, word, moved))


def _predicate(op: Op, prim: Prim) -> str:
    name = op.value
    if prim.is_float:
        return "fcmp une" if op is Op.NE else f"fcmp o{name}"
    if op in (Op.EQ, Op.NE):
        return f"icmp {name}"
    return f"icmp {'s' if prim.is_signed else 'u'}{name}"


def int_op(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    """Integers and bools."""
    if op in _SIMPLE_INT:
        return v.ins(_SIMPLE_INT[op], prim, *args)
    if op in COUNTS:
        return count(v, op, prim, *args)
    match op:
        case Op.DIV | Op.MOD | Op.QUOT | Op.REM:
            return divide(v, op, prim, *args)
        case Op.POW:
            return power(v, prim, *args)
        case Op.MIN | Op.MAX:
            return v.intrinsic(f"{'s' if prim.is_signed else 'u'}{op.value}", prim, *args)
        case Op.SHL | Op.SHR | Op.USHR:
            return shift(v, op, prim, *args)
        case Op.MULHI:
            return high_product(v, prim, *args)
        case Op.NOT:
            return v.ins("xor", prim, args[0], v.const(prim, True if prim is Prim.BOOL else -1))
        case Op.NEG:
            return v.ins("sub", prim, v.const(prim, 0), args[0])
        case Op.ABS:
            return v.intrinsic_flag("abs", prim, args[0]) if prim.is_signed else args[0]
        case Op.SGN:
            return sign(v, prim, args[0])
        case _:
            raise IRError(f"lanes: no operation {op.value}_{prim.value}")


def float_op(v: Vec, op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    """f32 and f64; halves only what does not compute."""
    if op in _SIMPLE_FLOAT:
        return v.ins(_SIMPLE_FLOAT[op], prim, *args)
    if op in _FLOAT_INTRINSICS:
        return v.intrinsic(_FLOAT_INTRINSICS[op], prim, *args)
    x = args[0]
    match op:
        case Op.MOD:
            return _modulo(v, prim, *args)
        case Op.NEG:
            return v.code.op(f"fneg {v.type(prim)} {x}")
        case Op.SGN:
            return _float_sign(v, prim, x)
        case Op.RSQRT:
            return v.ins("fdiv", prim, v.const(prim, 1.0), v.intrinsic("sqrt", prim, x))
        case Op.ISNAN:
            return v.ins("fcmp uno", prim, x, x)
        case Op.ISINF:
            return v.ins("fcmp oeq", prim, v.intrinsic("fabs", prim, x), v.const(prim, math.inf))
        case Op.TO_BITS:
            return v.cast("bitcast", prim, unsigned_of(prim), x)
        case Op.FROM_BITS:
            return v.cast("bitcast", unsigned_of(prim), prim, x)
        case Op.NEXTAFTER:
            return _next_after(v, prim, *args)
        case Op.LDEXP:
            return mathlib.ldexp(v, prim, *args)
        case _:
            return mathlib.elementary(v, op, prim, args)


def _modulo(v: Vec, prim: Prim, x: str, y: str) -> str:
    """The remainder with the sign of y; of an exact multiple, a zero of that sign."""
    zero = v.const(prim, 0.0)
    rest = v.ins("frem", prim, x, y)
    signs = v.ins("xor", Prim.BOOL, v.ins("fcmp olt", prim, rest, zero), v.ins("fcmp olt", prim, y, zero))
    moved = v.select(prim, signs, v.ins("fadd", prim, rest, y), rest)
    return v.select(prim, v.ins("fcmp oeq", prim, rest, zero), v.intrinsic("copysign", prim, zero, y), moved)


def _float_sign(v: Vec, prim: Prim, x: str) -> str:
    """-1, +0 or 1; nan of nan."""
    zero = v.const(prim, 0.0)
    ordered = v.select(prim, v.ins("fcmp olt", prim, x, zero), v.const(prim, -1.0), zero)
    ordered = v.select(prim, v.ins("fcmp ogt", prim, x, zero), v.const(prim, 1.0), ordered)
    return v.select(prim, v.ins("fcmp uno", prim, x, x), x, ordered)


def _next_after(v: Vec, prim: Prim, x: str, y: str) -> str:
    """The next value from x towards y: one step of the bits, away from zero or back to it."""
    bits = unsigned_of(prim)
    xb, yb = (v.cast("bitcast", prim, bits, z) for z in (x, y))
    wide = Prim.F32 if prim.is_half else prim
    xw, yw = (convert(v, prim, wide, z) for z in (x, y))
    zero = v.const(wide, 0.0)
    grows = v.ins("xor", Prim.BOOL, v.ins("fcmp olt", wide, xw, yw), v.ins("fcmp olt", wide, xw, zero))
    step = v.select(bits, grows, v.const(bits, 1), v.const(bits, -1))
    moved = v.ins("add", bits, xb, step)
    sign_bit = v.ins("and", bits, yb, v.const(bits, 1 << (bits.bits - 1)))
    from_zero = v.ins("or", bits, sign_bit, v.const(bits, 1))
    result = v.select(bits, v.ins("fcmp oeq", wide, xw, zero), from_zero, moved)
    result = v.select(bits, v.ins("fcmp oeq", wide, xw, yw), yb, result)
    result = v.cast("bitcast", bits, prim, result)
    unordered = v.ins("fcmp uno", wide, xw, yw)
    return v.select(prim, unordered, v.const(prim, math.nan), result)
