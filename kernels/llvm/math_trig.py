"""sin and cos on vectors, f32 and f64, and tan in f64, for arguments of moderate size (`mathlib.TRIG_LIMIT`).

x = k pi/2 + r: pi/2 is split in three parts; with fma the first step of the reduction is exact. In f64 the remainder is
kept in two parts, since near a multiple of pi/2 most of its digits cancel.
"""

from __future__ import annotations

from ...ir.types import Prim
from .formulas import Num, fma, polynomial, two_product, two_sum, where

HALF_PI_32 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
HALF_PI_64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
TWO_OVER_PI = 0.6366197723675814
PI = (3.141592653589793, 1.2246467991473532e-16)

# (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4, as polynomials in r^2, |r| <= pi/4
SIN_32 = (-0.1666666716337204, 0.008333331905305386, -0.00019840039021801203, 2.724378191487631e-06)
COS_32 = (0.0416666679084301, -0.00138888880610466, 2.48005599132739e-05, -2.7295831728224584e-07)
SIN_64 = (
    -0.16666666666666666, 0.008333333333333331, -0.00019841269841264567, 2.7557319218954762e-06,
    -2.505210610025599e-08, 1.6058510875319195e-10, -7.585486485235938e-13,
)  # fmt: skip
COS_64 = (
    0.041666666666666664, -0.0013888888888888887, 2.4801587301584367e-05, -2.75573192211891e-07,
    2.0876755717584403e-09, -1.1470449354466773e-11, 4.745198807202876e-14,
)  # fmt: skip


def sin(x: Num) -> Num:
    """sin x for |x| within `mathlib.TRIG_LIMIT`; -0 for -0."""
    k, r, low = reduced(x)
    result = in_quadrant(k, sine(r, low), cosine(r, low))
    return where(x.equals(0.0), x, result)


def cos(x: Num) -> Num:
    """cos x for |x| within `mathlib.TRIG_LIMIT`: a sine one quadrant further."""
    k, r, low = reduced(x)
    return in_quadrant(k + 1, sine(r, low), cosine(r, low))


def tan(x: Num) -> Num:
    """tan x for |x| within `mathlib.TRIG_LIMIT`, f64."""
    k, r, low = reduced(x)
    odd = (k & 1).differs(0)
    s, c = sine(r, low), cosine(r, low)
    return where(x.equals(0.0), x, where(odd, c, s) / where(odd, -s, c))


def in_quadrant(k: Num, sine_r: Num, cosine_r: Num) -> Num:
    """sin(k pi/2 + r)"""
    value = where((k & 1).differs(0), cosine_r, sine_r)
    return where((k & 2).differs(0), -value, value)


def reduced(x: Num) -> tuple[Num, Num, Num]:
    """(k, r, low): x = k pi/2 + r + low. What is out of range gives any k: the result is not used."""
    k = (x * TWO_OVER_PI).unary("rint")
    n = k.to(Prim.I32 if x.prim is Prim.F32 else Prim.I64)
    first, second, third = HALF_PI_32 if x.prim is Prim.F32 else HALF_PI_64
    r = fma(k, -first, x)
    if x.prim is Prim.F32:
        return n, fma(k, -third, fma(k, -second, r)), x.const(0.0)
    moved, moved_low = two_product(k, second)
    r, low = two_sum(r, -moved)
    return n, r, fma(k, -third, low - moved_low)


def sine(r: Num, low: Num) -> Num:
    """sin(r + low) for |r| <= pi/4"""
    z = r * r
    correction = fma(r * z, polynomial(z, SIN_32 if r.prim is Prim.F32 else SIN_64), low * fma(z, -0.5, 1.0))
    return r + correction


def cosine(r: Num, low: Num) -> Num:
    """cos(r + low) for |r| <= pi/4"""
    z = r * r
    half = z * 0.5
    top = 1.0 - half
    rest = (1.0 - top) - half
    return top + (fma(z * z, polynomial(z, COS_32 if r.prim is Prim.F32 else COS_64), rest) - r * low)


# ---- multiples of pi ---------------------------------------------------------------------------------------------


def sinpi(x: Num) -> Num:
    """sin(pi x), f64: the reduction is exact, hence so are multiples of 1/2."""
    k, r, low = reduced_pi(x)
    return _finite(x, where(r.equals(0.0) & (k & 1).equals(0), x.const(0.0).with_sign_of(x), _sinpi(k, r, low)))


def _sinpi(k: Num, r: Num, low: Num) -> Num:
    return in_quadrant(k, sine(r, low), cosine(r, low))


def cospi(x: Num) -> Num:
    """cos(pi x), f64."""
    k, r, low = reduced_pi(x)
    value = _sinpi(k + 1, r, low)
    return _finite(x, where(r.equals(0.0) & (k & 1).differs(0), 0.0, value))


def reduced_pi(x: Num) -> tuple[Num, Num, Num]:
    """(k, r, low): pi x = k pi/2 + r + low (modulo 2 pi)"""
    turned = x - ((x * 0.5).unary("trunc") * 2.0)
    k = (turned + turned).unary("rint")
    rest = turned - k * 0.5
    r, low = two_product(rest, PI[0])
    return k.to(Prim.I64), r, fma(rest, PI[1], low)


def _finite(x: Num, value: Num) -> Num:
    return where(x.unary("fabs") < float("inf"), value, x.const(float("nan")))
