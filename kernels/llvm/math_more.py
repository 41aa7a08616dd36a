"""expm1, log1p, the hyperbolic functions, cbrt and hypot on vectors of f64, within 4 ulp."""

from __future__ import annotations

from ...ir.types import Prim
from .formulas import Num, clamp, fma, polynomial, two_sum, where
from .math_exp import F64, INF, LN2, LOG2_E, NAN, exp, log, power_of_two

TINY = 2.0**-54
"""Arguments below give themselves where the derivative at 0 is 1."""
HUGE = 2.0**28
"""From here on x + sqrt(x^2 + 1) is 2 x."""
OVERFLOWS = 709.0
"""e^x may overflow above, where its half does not."""


def expm1(x: Num) -> Num:
    """e^x - 1 = 2^k (e^r - 1) + (2^k - 1), by halves, so that nothing overflows too early."""
    bounded = clamp(x, -60.0, F64.highest)
    k = (bounded * LOG2_E).unary("rint")
    r = fma(k, -F64.ln2[1], fma(k, -F64.ln2[0], bounded))
    small = fma(r * r, polynomial(r, F64.exp_poly), r)
    half = power_of_two(k.truncated(F64.bits) - 1, x.prim)
    result = fma(half, small, half - 0.5)
    return _unless_tiny(x, where(x.is_nan(), x, result + result))


def log1p(x: Num) -> Num:
    """log(1 + x), with what 1 + x loses."""
    u, lost = two_sum(x.const(1.0), x)
    correction = where((u > 0.0) & (u < INF), lost / u, x.const(0.0))
    return _unless_tiny(x, log(u) + correction)


def sinh(x: Num) -> Num:
    """(e^x - e^-x) / 2"""
    size = x.unary("fabs")
    t = expm1(size)
    return where(size > OVERFLOWS, _half_exp(size), (t + t / (t + 1.0)) * 0.5).with_sign_of(x)


def cosh(x: Num) -> Num:
    """(e^x + e^-x) / 2"""
    size = x.unary("fabs")
    e = exp(size)
    return where(size > OVERFLOWS, _half_exp(size), e * 0.5 + 0.5 / e)


def _half_exp(x: Num) -> Num:
    root = exp(x * 0.5)
    return (root * 0.5) * root


def asinh(x: Num) -> Num:
    """log(x + sqrt(x^2 + 1)), by log1p."""
    size = x.unary("fabs")
    z = size * size
    near = log1p(size + z / ((z + 1.0).unary("sqrt") + 1.0))
    return where(size > HUGE, log(size) + LN2, near).with_sign_of(x)


def acosh(x: Num) -> Num:
    """log(x + sqrt(x^2 - 1)), by log1p; nan below 1."""
    t = x - 1.0
    near = log1p(t + (t + t + t * t).unary("sqrt"))
    return where(x < 1.0, NAN, where(x > HUGE, log(x) + LN2, near))


def atanh(x: Num) -> Num:
    """log((1 + x) / (1 - x)) / 2, by log1p; nan beyond 1."""
    size = x.unary("fabs")
    return (log1p((size + size) / (1.0 - size)) * 0.5).with_sign_of(x)


def cbrt(x: Num) -> Num:
    """The cube root: e^(log x / 3), and one step of Newton's."""
    size = x.unary("fabs")
    tiny = size < 2.0**-900
    scaled = where(tiny, size * 2.0**60, size)
    y = exp(log(scaled) * (1.0 / 3.0))
    y = y - (fma(y * y, y, -scaled)) / (y * y * 3.0)
    root = where(tiny, y * 2.0**-20, y).with_sign_of(x)
    return where((size > 0.0) & (size < INF), root, x)


def hypot(x: Num, y: Num) -> Num:
    """sqrt(x^2 + y^2) without overflow; infinity beside nan is infinite. That of f32 through f64."""
    if x.prim is Prim.F32:
        a, b = x.to(Prim.F64), y.to(Prim.F64)
        result = fma(a, a, b * b).unary("sqrt").to(Prim.F32)
    else:
        a, b = x.unary("fabs"), y.unary("fabs")
        wide = a > b
        high, low = where(wide, a, b), where(wide, b, a)
        ratio = where(high.equals(0.0), low, low / high)
        result = high * fma(ratio, ratio, 1.0).unary("sqrt")
    infinite = x.unary("fabs").equals(INF) | y.unary("fabs").equals(INF)
    return where(infinite, INF, result)


def _unless_tiny(x: Num, result: Num) -> Num:
    return where(x.unary("fabs") < TINY, x, result)
