"""atan, atan2, asin and acos on vectors of f64: the angle of the ratio of two lengths, which is at most 1.

With t the ratio, or (t - 1)/(t + 1) and pi/4 besides from tan(pi/8) on, atan t = t + t z q(z) with z = t^2.
"""

from __future__ import annotations

from .formulas import Num, fma, polynomial, where

# (atan(t)/t - 1) / t^2, as a polynomial in t^2, |t| <= tan(pi/8)
ATAN = (
    -0.3333333333333333, 0.199999999999998, -0.14285714285659326, 0.11111111105106705, -0.09090908751076636,
    0.07692296304974469, -0.06666423628069243, 0.05878914544400483, -0.0523034787301517, 0.04551108126321486,
    -0.034558092551328114, 0.016271944751537433,
)  # fmt: skip
TAN_PI_8 = 0.41421356237309503
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)
PI = (3.141592653589793, 1.2246467991473532e-16)


def atan(x: Num) -> Num:
    """The angle whose tangent is x."""
    size = x.unary("fabs")
    steep = size > 1.0
    angle = _angle_of(where(steep, 1.0 / size, size))
    return where(steep, _less(HALF_PI, angle), angle).with_sign_of(x)


def atan2(y: Num, x: Num) -> Num:
    """The angle of the point (x, y), by the rules of C at zeros and infinities."""
    width, height = x.unary("fabs"), y.unary("fabs")
    steep = height > width
    low, high = where(steep, width, height), where(steep, height, width)
    ratio = where(low.equals(high), 1.0, where(high > 0.0, low / high, low))
    angle = _angle_of(where(high.equals(0.0), 0.0, ratio))
    angle = where(steep, _less(HALF_PI, angle), angle)
    left = x.const(1.0).with_sign_of(x) < 0.0
    angle = where(left, _less(PI, angle), angle).with_sign_of(y)
    return where(x.is_nan(), x, where(y.is_nan(), y, angle))


def asin(x: Num) -> Num:
    """The angle whose sine is x; nan beyond 1."""
    return atan2(x, _leg(x))


def acos(x: Num) -> Num:
    """The angle whose cosine is x; nan beyond 1."""
    return atan2(_leg(x), x)


def _leg(x: Num) -> Num:
    """sqrt(1 - x^2), right where x is close to 1 too."""
    return ((1.0 - x) * (x + 1.0)).unary("sqrt")


def _angle_of(t: Num) -> Num:
    """atan t for 0 <= t <= 1"""
    far = t > TAN_PI_8
    t = where(far, (t - 1.0) / (t + 1.0), t)
    z, zero = t * t, t.const(0.0)
    rest = fma(z * t, polynomial(z, ATAN), where(far, QUARTER_PI[1], zero))
    return where(far, QUARTER_PI[0] + (t + rest), t + rest)


def _less(angle: tuple[float, float], by: Num) -> Num:
    """An angle in two parts less another."""
    return angle[0] - (by - angle[1])
