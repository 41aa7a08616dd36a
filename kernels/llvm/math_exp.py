"""exp, exp2, log, log2, log10, tanh and pow on vectors, f32 and f64.

Polynomials interpolate in Chebyshev nodes (computed in 60 digits), which is close to the best approximation. All
constants below are coefficients from the lowest degree up, or a number split in parts that sum to it.
"""

from __future__ import annotations

import math

from ...ir.records import dataclass
from ...ir.types import Prim
from .formulas import Num, clamp, fma, polynomial, two_product, two_sum, where

INF, NAN = math.inf, math.nan
LOG2_E, LOG2_E_LOW = 1.4426950408889634, 2.0355273740931033e-17
LOG10_E, LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17
LN2, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format, and how exp is computed in it: (e^r - 1 - r)/r^2 as `exp_poly`; ln 2 in two parts, of
    which the first times any exponent is exact; arguments beyond `lowest` and `highest` over- or underflow."""

    bits: Prim
    fraction: int
    bias: int
    smallest_normal: float
    ln2: tuple[float, float]
    lowest: float
    highest: float
    exp_poly: tuple[float, ...]
    tanh_poly: tuple[float, ...]


F32 = Format(
    Prim.I32, 23, 127, 2.0**-126, (0.693145751953125, 1.428606765330187e-06), -104.0, 89.0,
    (0.5, 0.16666576266288757, 0.04166655242443085, 0.00836323294788599, 0.0013926250394433737),
    (-0.3333333432674408, 0.1333329975605011, -0.053958460688591, 0.021762503311038017, -0.0083231870085001,
     0.0022695017978549004),
)  # fmt: skip
F64 = Format(
    Prim.I64, 52, 1023, 2.0**-1022, (0.6931471803691238, 1.9082149292705877e-10), -746.0, 710.0,
    (0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326084, 0.0013888888888883711, 0.0001984126987500228,
     2.480158732567746e-05, 2.755725517000089e-06, 2.755727347871858e-07, 2.5105312729622103e-08, 2.09147553258932e-09),
    (-0.3333333333333333, 0.13333333333333316, -0.053968253968231024, 0.02186948853488776, -0.008863235493441451,
     0.0035921274106953164, -0.0014558274668454265, 0.0005899759192143973, -0.00023886464788549952,
     9.597236318160513e-05, -3.696052230333826e-05, 1.2088687226216899e-05, -2.3855793111704252e-06),
)  # fmt: skip

# (log(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f <= sqrt 2
LOG_32 = (
    0.3333333134651184, -0.2499999701976776, 0.20000717043876648, -0.16667808592319489, 0.14249008893966675,
    -0.12425486743450165, 0.11685719341039658, -0.11481477320194244, 0.06973070651292801,
)  # fmt: skip
# 2 atanh(s)/s = 2 + 2/3 z + 2/5 z^2 + .. with z = s^2: from the term 2/3, and from the term 2/5 on
LOG_64 = (
    0.666666666666667, 0.39999999999898594, 0.2857142862638853, 0.22222211067419392, 0.18182894030543298,
    0.15331558670323325, 0.14618462083796982,
)  # fmt: skip
LOG_REST_64 = (
    0.4000000000000003, 0.2857142857133774, 0.22222222271447473, 0.18181808191248922, 0.15385578894896526,
    0.13285821310291257, 0.1291529891790653,
)  # fmt: skip
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
SQRT_HALF = {Prim.I32: 0x3F3504F3, Prim.I64: 0x3FE6A09E667F3BCD}


def format_of(x: Num) -> Format:
    """The format of f32 or f64; no others come here."""
    return F32 if x.prim is Prim.F32 else F64


def power_of_two(n: Num, prim: Prim) -> Num:
    """2^n of an integer n that is an exponent of a normal number."""
    form = F32 if prim is Prim.F32 else F64
    return ((n + form.bias) << form.fraction).bits(prim)


# ---- exp ---------------------------------------------------------------------------------------------------------


def exp(x: Num) -> Num:
    """e^x: nan for nan, infinity and 0 beyond the bounds of the format."""
    form = format_of(x)
    bounded = clamp(x, form.lowest, form.highest)
    return where(x.is_nan(), x, exp_of_sum(bounded, x.const(0.0)))


def exp2(x: Num) -> Num:
    """2^x; that of f32 through f64."""
    if x.prim is Prim.F32:
        return exp(x.to(Prim.F64) * LN2).to(Prim.F32)
    bounded = clamp(x, -1080.0, 1030.0)
    k = bounded.unary("rint")
    high, low = two_product(bounded - k, LN2)
    n = k.truncated(F64.bits)
    half = n >> 1
    mantissa = exp_of_sum(high, fma(bounded - k, LN2_LOW, low))
    return where(x.is_nan(), x, mantissa * power_of_two(half, x.prim) * power_of_two(n - half, x.prim))


def exp_of_sum(x: Num, low: Num) -> Num:
    """e^(x + low), x between the bounds of the format: 2^k e^r with |r| <= ln(2)/2, scaled in two steps so that
    subnormal results are rounded once."""
    form = format_of(x)
    k = (x * LOG2_E).unary("rint")
    r = fma(k, -form.ln2[1], fma(k, -form.ln2[0], x)) + low
    mantissa = fma(r * r, polynomial(r, form.exp_poly), r) + 1.0
    n = k.truncated(form.bits)
    half = n >> 1
    return mantissa * power_of_two(half, x.prim) * power_of_two(n - half, x.prim)


def tanh(x: Num) -> Num:
    """Near 0 by an odd polynomial, else 1 - 2/(e^2|x| + 1)."""
    form = format_of(x)
    size = x.unary("fabs")
    z = x * x
    near = fma(z * x, polynomial(z, form.tanh_poly), x)
    far = 1.0 - 2.0 / (exp(size + size) + 1.0)
    return where(size < 0.625, near, far).with_sign_of(x)


# ---- log ---------------------------------------------------------------------------------------------------------


def split_exponent(x: Num) -> tuple[Num, Num]:
    """(m, e) with x = m 2^e and sqrt(1/2) <= m < sqrt 2, e as a float; subnormals are scaled first."""
    form = format_of(x)
    shift = form.fraction + 2
    tiny = x < form.smallest_normal
    bits = where(tiny, x * 2.0**shift, x).bits(form.bits)
    e = (bits - SQRT_HALF[form.bits]) >> form.fraction
    mantissa = (bits - (e << form.fraction)).bits(x.prim)
    return mantissa, where(tiny, e - shift, e).to(x.prim)


def log(x: Num) -> Num:
    """The natural logarithm, x = m 2^e: that of m by a polynomial, plus e ln 2. -infinity for 0, nan below."""
    m, e = split_exponent(x)
    result = _log_32(m - 1.0, e) if x.prim is Prim.F32 else _log_64(m - 1.0, e)
    return log_edges(x, result)


def log_edges(x: Num, result: Num) -> Num:
    """Infinity, zero, negative numbers, nan."""
    result = where(x.equals(INF), INF, result)
    outside = where(x.equals(0.0), -INF, x.const(NAN))
    return where(x.is_nan(), x, where(x > 0.0, result, outside))


def _log_32(f: Num, e: Num) -> Num:
    """e ln 2 + f - f^2/2 + f^3 q(f), small terms first."""
    high, low = F32.ln2
    z = f * f
    y = fma(e, low, (z * f) * polynomial(f, LOG_32))
    return fma(e, high, fma(z, -0.5, y) + f)


def _log_64(f: Num, e: Num) -> Num:
    """With s = f/(2+f): log(1+f) = f - (h - s (h + z R(z))), h = f^2/2."""
    high, low = F64.ln2
    s = f / (f + 2.0)
    z = s * s
    h = (f * f) * 0.5
    inner = s * (h + z * polynomial(z, LOG_64)) + e * low
    return e * high - ((h - inner) - f)


def log2(x: Num) -> Num:
    """The logarithm to base 2."""
    return _log_times(x, LOG2_E, LOG2_E_LOW)


def log10(x: Num) -> Num:
    """The logarithm to base 10."""
    return _log_times(x, LOG10_E, LOG10_E_LOW)


def _log_times(x: Num, factor: float, factor_low: float) -> Num:
    """log x times a factor in two parts; that of f32 through f64."""
    if x.prim is Prim.F32:
        return (log(x.to(Prim.F64)) * factor).to(Prim.F32)
    high, low = log_two_parts(x)
    product, rest = two_product(high, factor)
    return log_edges(x, product + (rest + fma(high, factor_low, low * factor)))


# ---- pow ---------------------------------------------------------------------------------------------------------


def pow32(x: Num, y: Num) -> Num:
    """Through f64, which has digits to spare."""
    base, exponent = x.to(Prim.F64), y.to(Prim.F64)
    size = base.unary("fabs")
    return pow_edges(base, exponent, exp(exponent * log(size))).to(Prim.F32)


def pow64(x: Num, y: Num) -> Num:
    """e^(y log|x|) with the logarithm in two parts, to 64 bits and more."""
    return pow_edges(x, y, exp_of_product(y, *log_two_parts(x.unary("fabs"))))


def exp_of_product(y: Num, high: Num, low: Num) -> Num:
    """e^(y (high + low)) of f64."""
    product = y * high
    fits = product.unary("fabs") < 2000.0
    rest = where(fits, fma(y, high, -product) + y * low, y.const(0.0))
    result = exp_of_sum(clamp(product, F64.lowest, F64.highest), rest)
    return where(product.is_nan(), product, result)


def log_two_parts(x: Num) -> tuple[Num, Num]:
    """log x as a sum of two floats: e ln 2 + 2s + 2/3 s^3 + s^5 P(s^2), everything but the last term in two parts."""
    m, e = split_exponent(x)
    f = m - 1.0
    sum_high, sum_low = two_sum(m, x.const(1.0))
    s = f / sum_high
    s_low = (fma(-s, sum_high, f) - s * sum_low) / sum_high
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    third, third_low = two_product(z, TWO_THIRDS[0])
    third_low = fma(z, TWO_THIRDS[1], fma(z_low, TWO_THIRDS[0], third_low))
    cubed, cubed_low = two_product(s, third)
    cubed_low = fma(s, third_low, fma(s_low, third, cubed_low))
    tail = (s * z) * (z * polynomial(z, LOG_REST_64))
    high, low = two_sum(e * F64.ln2[0], s + s)
    high, lower = two_sum(high, cubed)
    low = (low + lower) + (fma(e, F64.ln2[1], s_low + s_low) + (cubed_low + tail))
    return log_edges(x, high), where(x.equals(INF), 0.0, where(x > 0.0, low, x.const(0.0)))


def pow_edges(x: Num, y: Num, result: Num) -> Num:
    """From |x|^y to x^y by the rules of IEEE 754 (C's pow): signs, 1 for y = 0 and x = 1, nan for a negative x with a
    y that is no integer."""
    whole = y.unary("trunc").equals(y)
    half = y * 0.5
    odd = whole & half.unary("trunc").differs(half)
    size = x.unary("fabs")
    result = where(size.equals(1.0) & y.is_nan().inverse(), 1.0, result)
    negated = where(odd, (-x.const(1.0)).with_sign_of(x), x.const(1.0))
    result = result.with_sign_of(negated)
    undefined = (x < 0.0) & (size < INF) & whole.inverse()
    result = where(undefined, NAN, result)
    return where(x.equals(1.0) | y.equals(0.0), 1.0, result)
