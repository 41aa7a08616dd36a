"""The meaning of the operations on floats (see `ir/scalar.py` for the rules).

Exact operations are taken as they are; the others are computed in f64 and rounded to the width. For `+ - * / sqrt`
that gives what one rounding gives, as f64 has more than twice the digits of f32.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from .ops import Op, arity
from .types import Prim

Meaning = Callable[..., Any]
Unary = Callable[[float], float]
Binary = Callable[[float, float], float]
Ternary = Callable[[float, float, float], float]

_STRUCT = {Prim.F16: struct.Struct("<e"), Prim.F32: struct.Struct("<f"), Prim.F64: struct.Struct("<d")}
_BITS_STRUCT = {Prim.F16: struct.Struct("<H"), Prim.F32: struct.Struct("<I"), Prim.F64: struct.Struct("<Q")}

DIGITS = {Prim.BF16: 8, Prim.F16: 11, Prim.F32: 24, Prim.F64: 53}
"""Of the significand, the leading one among them."""
LARGEST = {
    prim: (2.0 - 2.0 ** (1 - DIGITS[prim])) * 2.0**exponent
    for prim, exponent in ((Prim.BF16, 127), (Prim.F16, 15), (Prim.F32, 127), (Prim.F64, 1023))
}
"""The largest finite value."""
STICKY = {Prim.BF16: 42, Prim.F16: 29}
"""The number of last bits of an f64 that become one, which says whether any was set, before it is made an f32 and then
a half: that rounds once. What is left fits f32 wherever the half is not zero, subnormal ones among them."""


@cache
def bits_of(prim: Prim) -> Callable[[float], int]:
    """The bits of a value of the float type `prim`; what is none is rounded to the nearest, ties to even."""
    if prim is Prim.BF16:
        return _bf16_bits
    pack, unpack = _STRUCT[prim].pack, _BITS_STRUCT[prim].unpack
    return lambda x: unpack(pack(x))[0]


@cache
def of_bits(prim: Prim) -> Callable[[int], float]:
    """The value of the float type `prim` with these bits."""
    if prim is Prim.BF16:
        return lambda bits: of_bits(Prim.F32)(bits << 16)
    pack, unpack = _BITS_STRUCT[prim].pack, _STRUCT[prim].unpack
    return lambda bits: unpack(pack(bits))[0]


def _bf16_bits(x: float) -> int:
    if math.isnan(x):
        return 0x7FC0
    bits = bits_of(Prim.F64)(x)
    lost = (1 << STICKY[Prim.BF16]) - 1
    try:
        near = bits_of(Prim.F32)(of_bits(Prim.F64)(bits & ~lost | (lost + 1) * (bits & lost != 0)))
    except OverflowError:
        return bits >> 48 & 0x8000 | 0x7F80
    return near + 0x7FFF + (near >> 16 & 1) >> 16


@cache
def rounding(prim: Prim) -> Unary:
    """An f64 rounded to the nearest value of the float type `prim`, ties to even, overflow to infinity."""
    if prim is Prim.F64:
        return lambda x: x
    if prim is Prim.BF16:
        return lambda x: of_bits(prim)(_bf16_bits(x)) if x == x else x
    pack, unpack = _STRUCT[prim].pack, _STRUCT[prim].unpack

    def rounded(x: float) -> float:
        try:
            return unpack(pack(x))[0]
        except OverflowError:
            return math.copysign(math.inf, x)

    return rounded


def float_meaning(op: Op, prim: Prim) -> Unary | Binary | Ternary | Callable[[int], float] | None:
    """Exact operations are taken as they are; the others are computed in f64 and rounded to the width."""
    match op:
        case Op.FMA:
            return _fma_f64 if prim is Prim.F64 else _fma_narrow(rounding(prim))
        case Op.TO_BITS:
            return bits_of(prim)
        case Op.FROM_BITS:
            return of_bits(prim)
        case Op.NEXTAFTER:
            return _next_after(prim)
        case _:
            pass
    if op in _FLOAT_EXACT:
        return _FLOAT_EXACT[op]
    f = _FLOAT_ROUNDED.get(op)
    if f is None or prim is Prim.F64:
        return f
    rounded = rounding(prim)
    return (lambda x, y: rounded(f(x, y))) if arity(op) == 2 else (lambda x: rounded(f(x)))


def _divide(x: float, y: float) -> float:
    if y != 0.0:
        return x / y
    if x == 0.0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _modulo(x: float, y: float) -> float:
    """The remainder with the sign of `y`; of an exact multiple, a zero of that sign."""
    if y == 0.0 or math.isinf(x) or math.isnan(x) or math.isnan(y):
        return math.nan
    r = math.fmod(x, y)
    if r == 0.0:
        return math.copysign(0.0, y)
    return r + y if (r < 0.0) != (y < 0.0) else r


def _minimum(x: float, y: float) -> float:
    if x < y or math.isnan(y):
        return x
    if y < x or math.isnan(x):
        return y
    return x if math.copysign(1.0, x) < 0.0 else y


def _maximum(x: float, y: float) -> float:
    if x > y or math.isnan(y):
        return x
    if y > x or math.isnan(x):
        return y
    return x if math.copysign(1.0, x) > 0.0 else y


def _sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0.0) - (x < 0.0))


def _integral(f: Callable[[float], int]) -> Unary:
    """A rounding to an integral value; what has none stays, and the sign of a zero result is that of x."""
    return lambda x: math.copysign(float(f(x)), x) if math.isfinite(x) else x


def _next_after(prim: Prim) -> Binary:
    if prim is Prim.F64:
        return math.nextafter

    def step(x: float, y: float) -> float:
        if math.isnan(x) or math.isnan(y) or x == y:
            return x + y if x != y else y
        if x == 0.0:
            return math.copysign(of_bits(prim)(1), y)
        return of_bits(prim)(bits_of(prim)(x) + (1 if (x < y) == (x > 0.0) else -1))

    return step


def _fma_narrow(rounded: Unary) -> Ternary:
    """x*y + z of f16 or f32, one rounding: the product is exact in f64; the sum is rounded to odd in f64, from where
    rounding to the width gives what rounding the exact sum would (Boldo and Melquiond 2008)."""

    def fma(x: float, y: float, z: float) -> float:
        product = x * y
        total = product + z
        if not math.isfinite(total):
            return rounded(total)
        back = total - product
        error = (product - (total - back)) + (z - back)
        if error != 0.0 and not _odd(total):
            total = math.nextafter(total, math.copysign(math.inf, error))
        return rounded(total)

    return fma


def _odd(x: float) -> bool:
    return bool(_STRUCT[Prim.F64].pack(x)[0] & 1)


def _fma_f64(x: float, y: float, z: float) -> float:
    """x*y + z in exact rational arithmetic, then rounded."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if x == 0.0 or y == 0.0 else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# ---- elementary functions of f64 ---------------------------------------------------------------------------------


def _elementary(f: Meaning, at_edges: Meaning) -> Meaning:
    """`f` of `math`, which raises at poles, overflows and outside the domain; there numpy's `at_edges` is IEEE."""

    def g(*args: float) -> float:
        try:
            return f(*args)
        except (OverflowError, ValueError):
            with np.errstate(all="ignore"):
                return float(at_edges(*map(np.float64, args)))

    return g


def _exp10(x: float) -> float:
    return _power(10.0, x)


def _rsqrt(x: float) -> float:
    return _divide(1.0, _sqrt(x))


def _sinpi(x: float) -> float:
    """sin(pi x) with an exact reduction of x, hence exact at multiples of 1/2."""
    return math.copysign(1.0, x) * _quarters(x, 0)


def _cospi(x: float) -> float:
    """cos(pi x), reduced as `_sinpi`."""
    return _quarters(x, 1)


def _quarters(x: float, more: int) -> float:
    """The sine of |x| half turns and some quarters of a turn."""
    if not math.isfinite(x):
        return math.nan
    r = math.fmod(abs(x), 2.0)
    quarters = round(2.0 * r)
    angle = math.pi * (r - quarters / 2)
    match (quarters + more) % 4:
        case 0:
            return math.sin(angle)
        case 1:
            return math.cos(angle)
        case 2:
            return math.sin(0.0 - angle)  # +0 at a half turn
        case _:
            return -math.cos(angle)


def _tanpi(x: float) -> float:
    return _divide(_sinpi(x), _cospi(x))


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0.0 else math.nan


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def _ldexp(x: float, n: int) -> float:
    try:
        return math.ldexp(x, n)
    except OverflowError:
        return math.copysign(math.inf, x)


_sqrt = _elementary(math.sqrt, np.sqrt)
_power = _elementary(math.pow, np.power)

# Results that have the width of their operands already.
_FLOAT_EXACT: dict[Op, Meaning] = {
    Op.MIN: _minimum, Op.MAX: _maximum,
    Op.NEG: operator.neg, Op.ABS: abs, Op.SGN: _sign,
    Op.FLOOR: _integral(math.floor), Op.CEIL: _integral(math.ceil),
    Op.TRUNC: _integral(math.trunc), Op.ROUND: _integral(round),
    Op.ISNAN: math.isnan, Op.ISINF: math.isinf, Op.COPYSIGN: math.copysign,
}  # fmt: skip

_FLOAT_ROUNDED: dict[Op, Meaning] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul,
    Op.DIV: _divide, Op.MOD: _modulo, Op.POW: _power,
    Op.SQRT: _sqrt, Op.RSQRT: _rsqrt, Op.CBRT: math.cbrt,
    Op.EXP: _elementary(math.exp, np.exp), Op.EXP2: _elementary(math.exp2, np.exp2), Op.EXP10: _exp10,
    Op.EXPM1: _elementary(math.expm1, np.expm1),
    Op.LOG: _elementary(math.log, np.log), Op.LOG2: _elementary(math.log2, np.log2),
    Op.LOG10: _elementary(math.log10, np.log10), Op.LOG1P: _elementary(math.log1p, np.log1p),
    Op.SIN: _elementary(math.sin, np.sin), Op.COS: _elementary(math.cos, np.cos),
    Op.TAN: _elementary(math.tan, np.tan),
    Op.ASIN: _elementary(math.asin, np.arcsin), Op.ACOS: _elementary(math.acos, np.arccos), Op.ATAN: math.atan,
    Op.SINH: _elementary(math.sinh, np.sinh), Op.COSH: _elementary(math.cosh, np.cosh), Op.TANH: math.tanh,
    Op.ASINH: math.asinh, Op.ACOSH: _elementary(math.acosh, np.arccosh),
    Op.ATANH: _elementary(math.atanh, np.arctanh),
    Op.SINPI: _sinpi, Op.COSPI: _cospi, Op.TANPI: _tanpi,
    Op.ATAN2: math.atan2, Op.HYPOT: math.hypot,
    Op.GAMMA: _gamma, Op.LGAMMA: _lgamma, Op.ERF: math.erf, Op.ERFC: math.erfc,
    Op.LDEXP: _ldexp,
}  # fmt: skip
