"""The numeric modules `i8` .. `f64` and `bool`: the type and the meaning of every member.

A scalar member (`f32.sqrt`, `i64.+`, `u8.f32`, `f64.pi`) is a formula over its arguments, so that whoever elaborates
a use needs no table of names: a plain operation is one `Node`, a conversion one `Cast`, a constant a `Value`.
A fold (`i32.sum`) states its operator and neutral element; its type has a size parameter `n`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from ...ir.floats import DIGITS, rounding
from ...ir.ops import Op, result_type, unsigned_of
from ...ir.records import dataclass
from ...ir.types import Prim
from .types import SizeVar, TArray, TPrim, Ty, arrow


@dataclass(frozen=True, slots=True)
class Arg:
    """The argument at `index`, counted from 0."""

    index: int


@dataclass(frozen=True, slots=True)
class Value:
    """A constant of type `prim`."""

    prim: Prim
    value: bool | int | float


@dataclass(frozen=True, slots=True)
class Node:
    """`op` of the table of scalar operations, at operand type `prim`."""

    op: Op
    prim: Prim
    args: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion from `source` to `target`."""

    source: Prim
    target: Prim
    arg: Formula


Formula = Arg | Value | Node | Cast


@dataclass(frozen=True, slots=True)
class Scalar:
    """A function from scalars to a scalar (a constant has no parameters)."""

    params: tuple[Prim, ...]
    result: Prim
    formula: Formula


@dataclass(frozen=True, slots=True)
class Fold:
    """`[n]prim -> prim`: reduction by `op` with its neutral element."""

    op: Op
    prim: Prim
    neutral: bool | int | float


Member = Scalar | Fold

FOLD_SIZE = SizeVar("n", -3)

# Names of modules as users write them; the type of the same name is another matter.
MODULES = {prim.value: prim for prim in Prim}

ARITHMETIC = {"+": Op.ADD, "-": Op.SUB, "*": Op.MUL, "/": Op.DIV, "%": Op.MOD, "**": Op.POW}
COMPARISON = {"==": Op.EQ, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
BITWISE = {"&": Op.AND, "|": Op.OR, "^": Op.XOR}
INTEGRAL = {"//": Op.QUOT, "%%": Op.REM, "<<": Op.SHL, ">>": Op.SHR, ">>>": Op.USHR}
FLOAT_UNARY = (
    Op.SQRT, Op.RSQRT, Op.CBRT, Op.EXP, Op.EXP2, Op.EXP10, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P, Op.SIN,
    Op.COS, Op.TAN,
    Op.ASIN, Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.TANH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.SINPI, Op.COSPI,
    Op.TANPI, Op.GAMMA, Op.LGAMMA, Op.ERF, Op.ERFC, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND, Op.ISNAN, Op.ISINF,
)  # fmt: skip
FLOAT_BINARY = (Op.ATAN2, Op.HYPOT, Op.COPYSIGN, Op.NEXTAFTER)


def types(prim: Prim) -> dict[str, Prim]:
    """The types that module `prim` has: its own, and for floats the integers that hold their bits."""
    return {"t": prim, "int_t": unsigned_of(prim)} if prim.is_float else {"t": prim}


@cache
def members(prim: Prim) -> dict[str, Ty]:
    """The types of the members of module `prim`, by name. A `SizeVar` in one is a size parameter of that member."""
    return {name: _type(member) for name, member in meanings(prim).items()}


@cache
def meanings(prim: Prim) -> dict[str, Member]:
    """What the members of module `prim` mean, by name."""
    if prim is Prim.BOOL:
        return _conversions(prim) | _bool()
    return _conversions(prim) | _number(prim) | (_float(prim) if prim.is_float else _integer(prim))


def _type(member: Member) -> Ty:
    match member:
        case Fold(_, prim, _):
            return arrow(TArray(FOLD_SIZE, TPrim(prim)), TPrim(prim))
        case Scalar(params, result, _):
            ty: Ty = TPrim(result)
            for param in reversed(params):
                ty = arrow(TPrim(param), ty)
            return ty


# ---- ways to write a member -----------------------------------------------------------------------------------------

X, Y, Z = Arg(0), Arg(1), Arg(2)


def _unary(op: Op, prim: Prim) -> Scalar:
    return Scalar((prim,), result_type(op, prim), Node(op, prim, (X,)))


def _binary(op: Op, prim: Prim) -> Scalar:
    return Scalar((prim, prim), result_type(op, prim), Node(op, prim, (X, Y)))


def _constant(prim: Prim, value: bool | int | float) -> Scalar:
    return Scalar((), prim, Value(prim, _rounded(prim, value)))


def _rounded(prim: Prim, value: bool | int | float) -> bool | int | float:
    """`value` as the nearest one that a float type has."""
    if not prim.is_float:
        return value
    return rounding(prim)(value)


def _at(prim: Prim) -> Callable[..., Node]:
    """`_at(p)(op, a, b)`: a node at operand type `p`."""
    return lambda op, *args: Node(op, prim, args)


def _convert(source: Prim, target: Prim, arg: Formula) -> Formula:
    return arg if source is target else Cast(source, target, arg)


def _conversions(prim: Prim) -> dict[str, Member]:
    """`i32.f64 x`: from every scalar type. A wider unsigned type takes the bits of a signed number, not its sign."""
    return {source.value: Scalar((source,), prim, _convert(*_by_bits(source, prim))) for source in Prim}


def _by_bits(source: Prim, target: Prim) -> tuple[Prim, Prim, Formula]:
    if source.is_signed and source.is_int and target.is_unsigned:
        return unsigned_of(source), target, Cast(source, unsigned_of(source), X)
    return source, target, X


# ---- the modules ----------------------------------------------------------------------------------------------------


def _bool() -> dict[str, Member]:
    both = COMPARISON | {"&&": Op.AND, "||": Op.OR} | BITWISE
    plain: dict[str, Member] = {name: _binary(op, Prim.BOOL) for name, op in both.items()}
    return plain | {"not": _unary(Op.NOT, Prim.BOOL), "!": _unary(Op.NOT, Prim.BOOL)}


def _number(prim: Prim) -> dict[str, Member]:
    """What integers and floats share."""
    plain: dict[str, Member] = {name: _binary(op, prim) for name, op in (ARITHMETIC | COMPARISON).items()}
    low, high = lowest(prim), highest(prim)
    return plain | {
        "min": _binary(Op.MIN, prim),
        "max": _binary(Op.MAX, prim),
        "neg": _unary(Op.NEG, prim),
        "abs": Scalar((prim,), prim, X) if prim.is_unsigned else _unary(Op.ABS, prim),
        "sgn": Scalar((prim,), prim, _at(prim)(Op.MIN, X, Value(prim, 1)))
        if prim.is_unsigned
        else _unary(Op.SGN, prim),
        "to_i64": Scalar((prim,), Prim.I64, _convert(prim, Prim.I64, X)),
        "to_f64": Scalar((prim,), Prim.F64, _convert(prim, Prim.F64, X)),
        "highest": _constant(prim, high),
        "lowest": _constant(prim, low),
        "num_bits": _constant(Prim.I32, prim.bits),
        "get_bit": _get_bit(prim),
        "set_bit": _set_bit(prim),
        "mad": Scalar((prim,) * 3, prim, _at(prim)(Op.ADD, _at(prim)(Op.MUL, X, Y), Z)),
        "sum": Fold(Op.ADD, prim, _one_or_zero(prim, 0)),
        "product": Fold(Op.MUL, prim, _one_or_zero(prim, 1)),
        "maximum": Fold(Op.MAX, prim, low),
        "minimum": Fold(Op.MIN, prim, high),
    }


def _integer(prim: Prim) -> dict[str, Member]:
    plain: dict[str, Member] = {name: _binary(op, prim) for name, op in (BITWISE | INTEGRAL).items()}
    at = _at(prim)
    return plain | {
        "!": _unary(Op.NOT, prim),
        "not": _unary(Op.NOT, prim),
        "popc": _unary(Op.POPC, prim),
        "clz": _unary(Op.CLZ, prim),
        "ctz": _unary(Op.CTZ, prim),
        "mul_hi": _binary(Op.MULHI, prim),
        "mad_hi": Scalar((prim,) * 3, prim, at(Op.ADD, at(Op.MULHI, X, Y), Z)),
    }


def _float(prim: Prim) -> dict[str, Member]:
    at, bits = _at(prim), unsigned_of(prim)
    one, pi = Value(prim, 1.0), Value(prim, _rounded(prim, math.pi))
    plain: dict[str, Member] = {op.value: _unary(op, prim) for op in FLOAT_UNARY}
    plain |= {op.value: _binary(op, prim) for op in FLOAT_BINARY}
    arcs = {f"{op.value}pi": Scalar((prim,), prim, at(Op.DIV, at(op, X), pi)) for op in (Op.ASIN, Op.ACOS, Op.ATAN)}
    fraction = at(Op.DIV, Cast(Prim.I64, prim, X), Cast(Prim.I64, prim, Y))
    return plain | arcs | {
        "atan2pi": Scalar((prim, prim), prim, at(Op.DIV, at(Op.ATAN2, X, Y), pi)),
        "recip": Scalar((prim,), prim, at(Op.DIV, one, X)),
        "from_fraction": Scalar((Prim.I64, Prim.I64), prim, fraction),
        "fma": Scalar((prim,) * 3, prim, at(Op.FMA, X, Y, Z)),
        "lerp": Scalar((prim,) * 3, prim, at(Op.ADD, X, at(Op.MUL, at(Op.SUB, Y, X), Z))),
        "ldexp": Scalar((prim, Prim.I32), prim, at(Op.LDEXP, X, Y)),
        "to_bits": Scalar((prim,), bits, at(Op.TO_BITS, X)),
        "from_bits": Scalar((bits,), prim, at(Op.FROM_BITS, X)),
        "inf": _constant(prim, math.inf),
        "nan": _constant(prim, math.nan),
        "pi": _constant(prim, math.pi),
        "e": _constant(prim, math.e),
        "epsilon": _constant(prim, 2.0 ** (1 - DIGITS[prim])),
    }  # fmt: skip


def _get_bit(prim: Prim) -> Scalar:
    """`get_bit i x = (x >>> i) & 1`, as an i32; a float by its bits."""
    word, x = _as_bits(prim, Y)
    shifted = Node(Op.USHR, word, (x, _convert(Prim.I32, word, X)))
    return Scalar((Prim.I32, prim), Prim.I32, _convert(word, Prim.I32, Node(Op.AND, word, (shifted, Value(word, 1)))))


def _set_bit(prim: Prim) -> Scalar:
    """`set_bit i x b`: x with bit i made b (an i32, 0 or 1)."""
    word, x = _as_bits(prim, Y)
    at, index = _at(word), _convert(Prim.I32, word, X)
    cleared = at(Op.AND, x, at(Op.NOT, at(Op.SHL, Value(word, 1), index)))
    done = at(Op.OR, cleared, at(Op.SHL, _convert(Prim.I32, word, Z), index))
    return Scalar((Prim.I32, prim, Prim.I32), prim, Node(Op.FROM_BITS, prim, (done,)) if prim.is_float else done)


def _as_bits(prim: Prim, arg: Formula) -> tuple[Prim, Formula]:
    return (unsigned_of(prim), Node(Op.TO_BITS, prim, (arg,))) if prim.is_float else (prim, arg)


def _one_or_zero(prim: Prim, value: int) -> int | float:
    return float(value) if prim.is_float else value


def lowest(prim: Prim) -> int | float:
    """The least value: minus infinity for floats."""
    if prim.is_float:
        return -math.inf
    return -(2 ** (prim.bits - 1)) if prim.is_signed else 0


def highest(prim: Prim) -> int | float:
    """The greatest value: infinity for floats."""
    if prim.is_float:
        return math.inf
    return 2 ** (prim.bits - 1) - 1 if prim.is_signed else 2**prim.bits - 1
