"""The one meaning of every scalar operation and conversion, on Python values.

Integers are Python ints in the range of their type, floats are Python floats that already have the width of their
type, bools are bools. Everything that computes at compile time or interprets goes through this table, so the rules
stand here once:

* integers wrap at their width; `min / -1` is `min` and `min % -1` is 0; a shift by the width or more (the amount is
  read as unsigned) gives 0, or the sign for an arithmetic right shift;
* division by zero and a negative integer exponent are the only failures (`ScalarFailure`, code R0102);
* floats are IEEE with one rounding per operation. `+ - * / sqrt` of f16 and f32 are computed in f64 and rounded to
  the width, which gives the same as rounding once; `fma` rounds exactly once; an elementary function of f16 and f32
  is the f64 function rounded to the width;
* `min` and `max` give the other operand where one is nan, and hold +0 to be greater than -0; `sgn` of nan is nan, of
  a zero +0; float `%` has the sign of the divisor;
* a conversion from float to int truncates and saturates; nan and both infinities give 0, and a negative number to an
  unsigned type gives the bits that the signed type of its width gives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from .errors import Diagnostic, IRError, SystemFault
from .floats import Meaning, float_meaning, rounding
from .ops import Op
from .types import Const, Prim

Value = bool | int | float


class ScalarFailure(Exception):
    """An operation without a value: the message for the user, without the place."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


def apply(op: Op, prim: Prim, args: tuple[Value, ...]) -> Value:
    """`op` at operand type `prim` on `args`; raises `ScalarFailure`."""
    return meaning(op, prim)(*args)


def convert(source: Prim, target: Prim, value: Value) -> Value:
    """`value` of type `source` as a `target`."""
    return conversion(source, target)(value)


def constant(prim: Prim, value: Value) -> Const:
    """`value` as a constant of `prim`: brought into its range or rounded to its width, as every `Const` must be."""
    if prim is Prim.BOOL:
        return Const(prim, bool(value))
    return Const(prim, rounding(prim)(float(value)) if prim.is_float else wrapping(prim)(int(value)))


def defined(op: Op, prim: Prim) -> bool:
    """Whether the language has `op` at `prim`."""
    return _meaning_at(op, prim) is not None


@cache
def meaning(op: Op, prim: Prim) -> Meaning:
    """The function that `op` at `prim` denotes."""
    found = _meaning_at(op, prim)
    if found is None:
        raise IRError(f"there is no operation {op.value}_{prim.value}")
    return found


def _meaning_at(op: Op, prim: Prim) -> Meaning | None:
    if op is Op.SELECT:
        return _select
    if op in _COMPARE:
        return _COMPARE[op]
    if prim is Prim.BOOL:
        return _BOOL.get(op)
    return float_meaning(op, prim) if prim.is_float else _int_meaning(op, prim)


def _select(cond: bool, x: Value, y: Value) -> Value:
    return x if cond else y


_COMPARE: dict[Op, Meaning] = {
    Op.EQ: operator.eq, Op.NE: operator.ne,
    Op.LT: operator.lt, Op.LE: operator.le,
    Op.GT: operator.gt, Op.GE: operator.ge,
}  # fmt: skip

_BOOL: dict[Op, Callable[[bool], bool] | Callable[[bool, bool], bool]] = {
    Op.AND: lambda x, y: x & y,
    Op.OR: lambda x, y: x | y,
    Op.XOR: lambda x, y: x ^ y,
    Op.NOT: operator.not_,
}


# ---- integers ----------------------------------------------------------------------------------------------------


@cache
def wrapping(prim: Prim) -> Callable[[int], int]:
    """Any integer brought into the range of the integer type `prim`, two's complement."""
    mask, half, modulus = (1 << prim.bits) - 1, 1 << (prim.bits - 1), 1 << prim.bits
    if prim.is_unsigned:
        return lambda x: x & mask

    def wrap(x: int) -> int:
        if -half <= x < half:
            return x
        x &= mask
        return x - modulus if x >= half else x

    return wrap


def int_range(prim: Prim) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    if prim.is_unsigned:
        return 0, (1 << prim.bits) - 1
    return -(1 << (prim.bits - 1)), (1 << (prim.bits - 1)) - 1


def _int_meaning(op: Op, prim: Prim) -> Callable[[int], int] | Callable[[int, int], int] | None:
    wrap, bits, mask = wrapping(prim), prim.bits, (1 << prim.bits) - 1

    def divided(f: Callable[[int, int], int]) -> Callable[[int, int], int]:
        def g(x: int, y: int) -> int:
            if y == 0:
                raise ScalarFailure("R0102", "division by zero")
            return wrap(f(x, y))

        return g

    def power(x: int, y: int) -> int:
        if y < 0:
            raise ScalarFailure("R0102", f"negative exponent {y}")
        return wrap(pow(x, y, 1 << bits))

    def shift_left(x: int, y: int) -> int:
        return wrap(x << y) if 0 <= y < bits else 0

    def shift_right(x: int, y: int) -> int:
        return x >> (y if 0 <= y < bits else bits)

    def shift_right_logical(x: int, y: int) -> int:
        return wrap((x & mask) >> y) if 0 <= y < bits else 0

    match op:
        case Op.ADD:
            return lambda x, y: wrap(x + y)
        case Op.SUB:
            return lambda x, y: wrap(x - y)
        case Op.MUL:
            return lambda x, y: wrap(x * y)
        case Op.DIV:
            return divided(lambda x, y: x // y)
        case Op.MOD:
            return divided(operator.mod)
        case Op.QUOT:
            return divided(_quot)
        case Op.REM:
            return divided(lambda x, y: x - y * _quot(x, y))
        case Op.POW:
            return power
        case Op.MIN:
            return lambda x, y: x if x <= y else y
        case Op.MAX:
            return lambda x, y: x if x >= y else y
        case Op.AND:
            return lambda x, y: x & y
        case Op.OR:
            return lambda x, y: x | y
        case Op.XOR:
            return lambda x, y: x ^ y
        case Op.SHL:
            return shift_left
        case Op.SHR:
            return shift_right
        case Op.USHR:
            return shift_right_logical
        case Op.NOT:
            return lambda x: wrap(~x)
        case Op.POPC:
            return lambda x: (x & mask).bit_count()
        case Op.CLZ:
            return lambda x: bits - (x & mask).bit_length()
        case Op.CTZ:
            return lambda x: (x & -x).bit_length() - 1 if x else bits
        case Op.MULHI:
            return lambda x, y: (x * y) >> bits
        case Op.NEG:
            return lambda x: wrap(-x)
        case Op.ABS:
            return lambda x: wrap(abs(x))
        case Op.SGN:
            return lambda x: (x > 0) - (x < 0)
        case _:
            return None


def _quot(x: int, y: int) -> int:
    """The quotient rounded to zero."""
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


# ---- conversions -------------------------------------------------------------------------------------------------


@cache
def conversion(source: Prim, target: Prim) -> Meaning:
    """The function from values of `source` to values of `target`."""
    if target is Prim.BOOL:
        return bool
    if target.is_int:
        return _float_to_int(target) if source.is_float else _int_to_int(target)
    if source.is_float:
        return rounding(target)
    return _int_to_float(target)


def _int_to_int(target: Prim) -> Callable[[Value], int]:
    wrap = wrapping(target)
    return lambda x: wrap(int(x))


def _float_to_int(target: Prim) -> Callable[[float], int]:
    wrap = wrapping(target)
    lowest, highest = -(1 << (target.bits - 1)), int_range(target)[1]
    return lambda x: wrap(max(lowest, min(highest, int(x)))) if math.isfinite(x) else 0


def _int_to_float(target: Prim) -> Callable[[int], float]:
    """Rounded once: what f64 does not hold exactly is first rounded to odd at 53 bits, as in `ir/floats.py`."""
    rounded = rounding(target)

    def to_float(x: int) -> float:
        if target is not Prim.F64 and abs(x) >> 53 and x & 0x7FF:
            x = x - (x & 0x7FF) | 0x800
        return rounded(float(x))

    return to_float


def text_of(prim: Prim, value: Value) -> str:
    """A value as messages show it: the shortest text that means it at its width."""
    if prim is Prim.BOOL:
        return "true" if value else "false"
    if prim is not Prim.BF16:
        return str(DTYPES[prim].type(value))
    rounded = rounding(prim)
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((str(float(text)) for text in texts if rounded(float(text)) == value), str(value))


# ---- values in numpy ---------------------------------------------------------------------------------------------


class _Dtypes(dict[Prim, np.dtype]):
    """NumPy's types; that of bf16 is looked for where it is first used, in another package."""

    def __missing__(self, prim: Prim) -> np.dtype:
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            text, hint = "values of bf16 need the package ml_dtypes", "`pip install 'soac[bf16]'`"
            raise SystemFault(Diagnostic("S0101", text, hint=hint)) from None
        self[prim] = np.dtype(bfloat16)
        return self[prim]


DTYPES: Mapping[Prim, np.dtype] = _Dtypes(
    {
        prim: np.dtype(np.bool_ if prim is Prim.BOOL else f"{prim.value[0]}{prim.bytes}")
        for prim in Prim
        if prim is not Prim.BF16
    }
)
_PRIMS = {dtype: prim for prim, dtype in DTYPES.items()}


def elements_as(array: np.ndarray, prim: Prim) -> np.ndarray:
    """An array of numbers with elements of another type, floats rounded once; NumPy rounds an f64 twice to a bf16."""
    if prim is not Prim.BF16:
        return array.astype(DTYPES[prim])
    rounded = rounding(prim)
    if array.dtype.kind in "iu":
        exactly = conversion(Prim.I64, prim)
        return np.array([exactly(x) for x in array.ravel().tolist()], DTYPES[prim]).reshape(array.shape)
    if array.dtype != np.float64:
        return array.astype(DTYPES[prim])
    return np.array([rounded(x) for x in array.ravel().tolist()], DTYPES[prim]).reshape(array.shape)


def prim_of(dtype: np.dtype) -> Prim | None:
    """The scalar type that numpy calls `dtype`, or None if the language has none."""
    return Prim.BF16 if dtype.name == "bfloat16" else _PRIMS.get(dtype)
