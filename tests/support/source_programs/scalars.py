"""What scalar operations mean, on NumPy's scalars: a second witness beside `ir/scalar.py`, by other means.

A scalar is a `bool` or a NumPy scalar of its type. Integers are computed without bounds and wrapped; floats by NumPy,
which rounds once, or by `fractions` where it would not. Functions that are not exact say so in `INEXACT`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

Scalar = Any
"""`bool` or `np.generic`."""
Function = Callable[..., Any]

INTS = {
    f"{sign}{bits}": getattr(np, f"{word}{bits}")
    for sign, word in (("i", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
}
FLOATS: dict[str, Any] = {"f16": np.float16, "bf16": bfloat16, "f32": np.float32, "f64": np.float64}
TYPES: dict[str, Any] = {**INTS, **FLOATS, "bool": bool}
NAMES = {kind: name for name, kind in TYPES.items()}
INEXACT = frozenset(
    (
        "rsqrt", "cbrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi", "gamma", "lgamma",
        "erf", "erfc", "atan2", "hypot", "asinpi", "acospi", "atanpi", "atan2pi", "**",
    )
)  # fmt: skip


class Failure(Exception):
    """The program fails, with this code."""


def name_of(x: Scalar) -> str:
    """The type of a scalar."""
    return NAMES[type(x)]


def zero(name: str) -> Scalar:
    """0 or false of a type."""
    return TYPES[name](0)


def literal(name: str, value: float) -> Scalar:
    """A literal at a type."""
    if name in FLOATS:
        return nearest(name, value)
    return bool(value) if name == "bool" else wrapped(name, int(value))


# ---- integers ------------------------------------------------------------------------------------------------------


def bits_of(name: str) -> int:
    """The width of a numeric type."""
    return int(name.lstrip("biuf"))


def wrapped(name: str, value: int) -> Scalar:
    """An integer of any size at a type."""
    bits = bits_of(name)
    value &= (1 << bits) - 1
    if name[0] == "i" and value >> (bits - 1):
        value -= 1 << bits
    return INTS[name](value)


def _unsigned(name: str, x: int) -> int:
    return x & ((1 << bits_of(name)) - 1)


def _quotient(x: int, y: int) -> int:
    """Rounded to zero."""
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def _divides(f: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def g(x: int, y: int) -> int:
        if y == 0:
            raise Failure("R0102")
        return f(x, y)

    return g


def _power(name: str) -> Callable[[int, int], int]:
    def power(x: int, y: int) -> int:
        if y < 0:
            raise Failure("R0102")
        return pow(x, y, 1 << bits_of(name))

    return power


def integer_operations(name: str) -> dict[str, Function]:
    """The operations of an integer type, on its scalars."""
    bits = bits_of(name)

    def shifted(f: Callable[[int, int], int], beyond: Callable[[int], int]) -> Callable[[int, int], int]:
        return lambda x, y: f(x, y) if 0 <= y < bits else beyond(x)

    plain: dict[str, Callable[..., Any]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": _divides(operator.floordiv),
        "%": _divides(operator.mod),
        "//": _divides(_quotient),
        "%%": _divides(lambda x, y: x - y * _quotient(x, y)),
        "**": _power(name),
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "<<": shifted(operator.lshift, lambda x: 0),
        ">>": shifted(operator.rshift, lambda x: -1 if x < 0 else 0),
        ">>>": shifted(lambda x, y: _unsigned(name, x) >> y, lambda x: 0),
        "min": min,
        "max": max,
        "neg": operator.neg,
        "abs": abs,
        "sgn": lambda x: (x > 0) - (x < 0),
        "!": operator.invert,
        "not": operator.invert,
        "mul_hi": lambda x, y: x * y >> bits,
        "mad_hi": lambda x, y, z: (x * y >> bits) + z,
        "mad": lambda x, y, z: x * y + z,
        "set_bit": lambda i, x, b: _with_bit(x, int(wrapped(name, i)), b, bits),
    }
    counts: dict[str, Callable[..., int]] = {
        "popc": lambda x: bin(_unsigned(name, x)).count("1"),
        "clz": lambda x: bits - _unsigned(name, x).bit_length(),
        "ctz": lambda x: next((k for k in range(bits) if _unsigned(name, x) >> k & 1), bits),
        "get_bit": lambda i, x: plain[">>>"](x, int(wrapped(name, i))) & 1,
    }
    return _wrapping(name, plain) | _wrapping("i32", counts)


def _with_bit(x: int, i: int, b: int, bits: int) -> int:
    """`set_bit`, with `b` shifted as it is."""
    if not 0 <= i < bits:
        return x
    return x & ~(1 << i) | b << i


def _wrapping(name: str, functions: dict[str, Callable[..., int]]) -> dict[str, Function]:
    def lifted(f: Callable[..., int]) -> Function:
        return lambda *args: wrapped(name, int(f(*map(int, args))))

    return {key: lifted(f) for key, f in functions.items()}


# ---- floats --------------------------------------------------------------------------------------------------------


def rounded(name: str, x: Fraction) -> Scalar:
    """A rational as the nearest float of a type; half to even."""
    if x == 0:
        return FLOATS[name](0)
    digits, least, most = {
        "f16": (11, -24, 16),
        "bf16": (8, -133, 128),
        "f32": (24, -149, 128),
        "f64": (53, -1074, 1024),
    }[name]
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    near = round(size / unit) * unit
    value = math.inf if near >= Fraction(2) ** most else float(near)
    return FLOATS[name](value if x > 0 else -value)


def nearest(name: str, x: float) -> Scalar:
    """An f64 as a float of a type, rounded once: the type of bf16 would go by f32."""
    return rounded(name, Fraction(x)) if name == "bf16" and x and math.isfinite(x) else FLOATS[name](x)


def _minimum(x: Scalar, y: Scalar) -> Scalar:
    if np.isnan(x) or np.isnan(y):
        return x if np.isnan(y) else y
    if x == y:
        return x if np.signbit(x) else y
    return min(x, y)


def _maximum(x: Scalar, y: Scalar) -> Scalar:
    if np.isnan(x) or np.isnan(y):
        return x if np.isnan(y) else y
    if x == y:
        return y if np.signbit(x) else x
    return max(x, y)


def _modulo(x: Scalar, y: Scalar) -> Scalar:
    """Of the sign of `y`, rounded once."""
    if not np.isfinite(x) or np.isnan(y) or y == 0:
        return type(x)(math.nan)
    if np.isinf(y):
        return type(x)(math.copysign(0.0, y)) if x == 0 else x if (x < 0) == (y < 0) else y
    exact = Fraction(float(x)) % Fraction(float(y))
    return type(x)(math.copysign(0.0, y)) if exact == 0 else rounded(name_of(x), exact)


def _fma(x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        if np.isfinite(x) and np.isfinite(y):
            return z
        return x * y + z
    product = Fraction(float(x)) * Fraction(float(y))
    exact = product + Fraction(float(z))
    if exact == 0:
        sign = np.signbit(x) != np.signbit(y)
        if product != 0 or sign != np.signbit(z):
            return type(x)(0)
        return type(x)(-0.0 if sign else 0.0)
    return rounded(name_of(x), exact)


def _ldexp(x: Scalar, n: Scalar) -> Scalar:
    if not np.isfinite(x) or x == 0:
        return x
    near = max(-3000, min(3000, int(n)))
    value = rounded(name_of(x), Fraction(float(x)) * Fraction(2) ** near)
    return np.copysign(value, x)


def _special(f: Callable[[float], float], edges: Callable[[float], float]) -> Function:
    """A function of `math` with its values outside of the domain, rounded to the argument's type."""

    def g(x: Scalar) -> Scalar:
        try:
            return type(x)(f(float(x)))
        except (ValueError, OverflowError):
            return type(x)(edges(float(x)))

    return g


def _gamma_edge(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.inf if x > 0 else math.nan


def _sinpi(x: float) -> float:
    """The sine of a number of half turns, exact where it is 0 or 1."""
    if not math.isfinite(x):
        return math.nan
    r = math.fmod(x, 2.0)
    if r == int(r):
        return math.copysign(0.0, x)
    r = r - math.copysign(2.0, r) if abs(r) > 1.5 else math.copysign(1.0, r) - r if abs(r) > 0.5 else r
    return math.sin(math.pi * r)


def _cospi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    r = math.fmod(abs(x), 2.0)
    if r in (0.5, 1.5):
        return 0.0
    return math.cos(math.pi * r) if r < 0.25 or r > 1.75 else _sinpi(0.5 - r)


def _tanpi(x: float) -> float:
    """Infinite between whole numbers, by the sign of the sine."""
    below = _cospi(x)
    return math.copysign(math.inf, _sinpi(x)) if below == 0 else _sinpi(x) / below


def _wide(f: Callable[..., Any]) -> Function:
    """A NumPy function computed in f64."""
    return lambda *args: type(args[0])(f(*map(np.float64, args)))


def float_operations(name: str) -> dict[str, Function]:
    """The operations of a float type, on its scalars."""
    kind, bits = FLOATS[name], f"u{bits_of(name)}"
    whole = INTS[bits]

    def to_bits(x: Scalar) -> Scalar:
        return np.array(x).view(whole)[()]

    def from_bits(x: Scalar) -> Scalar:
        return np.array(x).view(kind)[()]

    integer = integer_operations(bits)
    pi = nearest(name, math.pi)
    inverse = {f: _wide(getattr(np, f"arc{f[1:]}")) for f in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
    direct = {
        f: _wide(getattr(np, f))
        for f in (
            "cbrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
        )
    }
    return inverse | direct | {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "%": _modulo,
        "**": _wide(np.power),
        "min": _minimum,
        "max": _maximum,
        "neg": operator.neg,
        "abs": np.abs,
        "sgn": _wide(np.sign),
        "sqrt": np.sqrt,
        "rsqrt": _wide(lambda x: 1 / np.sqrt(x)),
        "exp10": _wide(lambda x: np.power(10.0, x)),
        "sinpi": _special(_sinpi, lambda x: math.nan),
        "cospi": _special(_cospi, lambda x: math.nan),
        "tanpi": _special(_tanpi, lambda x: math.nan),
        "gamma": _special(math.gamma, _gamma_edge),
        "lgamma": _special(math.lgamma, lambda x: math.inf),
        "erf": _special(math.erf, lambda x: math.nan),
        "erfc": _special(math.erfc, lambda x: math.nan),
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "round": np.rint,
        "isnan": lambda x: bool(np.isnan(x)),
        "isinf": lambda x: bool(np.isinf(x)),
        "atan2": _wide(np.arctan2),
        "hypot": _wide(np.hypot),
        "copysign": np.copysign,
        "nextafter": lambda x, y: y if x == y else np.nextafter(x, y),
        "ldexp": _ldexp,
        "fma": _fma,
        "mad": lambda x, y, z: x * y + z,
        "lerp": lambda x, y, t: x + (y - x) * t,
        "recip": lambda x: kind(1) / x,
        "asinpi": lambda x: inverse["asin"](x) / pi,
        "acospi": lambda x: inverse["acos"](x) / pi,
        "atanpi": lambda x: inverse["atan"](x) / pi,
        "atan2pi": lambda y, x: _wide(np.arctan2)(y, x) / pi,
        "from_fraction": lambda x, y: converted("i64", name, x) / converted("i64", name, y),
        "to_bits": to_bits,
        "from_bits": from_bits,
        "get_bit": lambda i, x: integer["get_bit"](i, to_bits(x)),
        "set_bit": lambda i, x, b: from_bits(integer["set_bit"](i, to_bits(x), b)),
    }  # fmt: skip


# ---- all types -----------------------------------------------------------------------------------------------------


def converted(source: str, target: str, x: Scalar) -> Scalar:
    """A scalar at another type."""
    if source == target:
        return x
    if target == "bool":
        return bool(x != 0)
    if source == "bool":
        return TYPES[target](int(x))
    if target in FLOATS:
        if source in FLOATS:
            return nearest(target, float(x))
        return rounded(target, Fraction(int(x)))
    if source in FLOATS:
        return _truncated(target, float(x))
    return wrapped(target, _unsigned(source, int(x)) if source[0] == "i" and target[0] == "u" else int(x))


def _truncated(target: str, x: float) -> Scalar:
    if not math.isfinite(x):
        return wrapped(target, 0)
    bits = bits_of(target)
    least, most = -(1 << bits - 1), (1 << bits - (target[0] == "i")) - 1
    return wrapped(target, max(least, min(most, int(x))))


COMPARISONS: dict[str, Function] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def constants(name: str) -> dict[str, Scalar]:
    """The members of a numeric module that are no functions."""
    kind = TYPES[name]
    if name in FLOATS:
        epsilon = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[name]
        values = {
            "inf": math.inf,
            "nan": math.nan,
            "pi": math.pi,
            "e": math.e,
            "highest": math.inf,
            "lowest": -math.inf,
            "epsilon": epsilon,
        }
        return {key: nearest(name, value) for key, value in values.items()} | {"num_bits": np.int32(bits_of(name))}
    if name == "bool":
        return {}
    info = np.iinfo(INTS[name])
    return {"highest": kind(info.max), "lowest": kind(info.min), "num_bits": np.int32(bits_of(name))}


def operations(name: str) -> dict[str, Function]:
    """The functions of the numeric module of a type, folds left out."""
    conversions: dict[str, Function] = {source: _conversion(source, name) for source in TYPES}
    compared = {key: _compared(f) for key, f in COMPARISONS.items()}
    if name == "bool":
        logic: dict[str, Function] = {
            "&&": operator.and_, "||": operator.or_, "&": operator.and_, "|": operator.or_, "^": operator.xor,
            "!": operator.not_, "not": operator.not_,
        }  # fmt: skip
        return conversions | compared | logic
    own = float_operations(name) if name in FLOATS else integer_operations(name)
    further = {"to_i64": _conversion(name, "i64"), "to_f64": _conversion(name, "f64")}
    return conversions | compared | own | further


def _compared(f: Function) -> Function:
    return lambda x, y: bool(f(x, y))


def _conversion(source: str, target: str) -> Function:
    return lambda x: converted(source, target, x)


OPERATIONS: dict[str, dict[str, Function]] = {name: operations(name) for name in TYPES}
_THREE = frozenset(("fma", "mad", "mad_hi", "lerp", "set_bit"))
_TWO = frozenset(
    (
        *"+-*/%&|^", "//", "%%", "**", "<<", ">>", ">>>", "&&", "||", *COMPARISONS, "min", "max", "mul_hi", "get_bit",
        "atan2", "atan2pi", "hypot", "copysign", "nextafter", "ldexp", "from_fraction",
    )
)  # fmt: skip


def arity(name: str) -> int:
    """How many arguments a member of a numeric module takes."""
    return 3 if name in _THREE else 2 if name in _TWO else 1
