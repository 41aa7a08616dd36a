"""Scalar operations as C expressions over `cuda_prelude.h`; the meaning is that of `ir/scalar.py`.

Halves have sums, products and `fma` of their own; all else is computed in f32 and rounded, which has more than twice
their digits.
"""

from __future__ import annotations

import math

from ...ir.ops import COMPARISONS, Op
from ...ir.scalar import apply
from ...ir.types import Const, Prim
from ..kernel_ir.nodes import KVar, Operand


def c_type(prim: Prim) -> str:
    """The name of the type in the prelude, which is that of the language."""
    return prim.value


def operand(x: Operand) -> str:
    """A variable by its name, a constant as a literal."""
    return x.name if isinstance(x, KVar) else constant(x)


def constant(x: Const) -> str:
    """A literal that means the same bits."""
    value, prim = x.value, x.prim
    match prim:
        case Prim.BOOL:
            return "true" if value else "false"
        case Prim.F16 | Prim.BF16:
            return f"{prim.value}{{0x{int(apply(Op.TO_BITS, prim, (value,))):04x}}}"
        case Prim.F32 | Prim.F64:
            return _float_text(float(value), prim)
        case Prim.I64 | Prim.U64:
            return _wide_text(int(value), prim)
        case Prim.I32:
            return f"{value}" if value != -(1 << 31) else "(-2147483647 - 1)"
        case Prim.U32:
            return f"{value}u"
        case _:
            return f"({prim.value}){value}"


def _wide_text(value: int, prim: Prim) -> str:
    if prim is Prim.U64:
        return f"{value}ull"
    return f"{value}ll" if value != -(1 << 63) else "(-9223372036854775807ll - 1)"


def _float_text(value: float, prim: Prim) -> str:
    suffix = "f" if prim is Prim.F32 else ""
    if math.isnan(value):
        return "bit_cast<f32>(0x7fc00000u)" if prim is Prim.F32 else "bit_cast<f64>(0x7ff8000000000000ull)"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}infinity({prim.value}())"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:.1f}{suffix}"
    return f"{value.hex()}{suffix}"


def expression(op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    """`op` at `prim` on argument texts that bind tightly."""
    if op is Op.SELECT:
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if op in COMPARISONS:
        return f"{_plain(prim, args[0])} {_COMPARE[op]} {_plain(prim, args[1])}"
    if prim is Prim.BOOL:
        return f"!{args[0]}" if op is Op.NOT else f"{args[0]} {_BOOL[op]} {args[1]}"
    if prim.is_int:
        return _int(op, prim, args)
    if prim.is_half:
        return _half(op, prim, args)
    return _float(op, prim, args)


def _plain(prim: Prim, text: str) -> str:
    return f"wide({text})" if prim.is_half else text


_COMPARE = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}
_BOOL = {Op.AND: "&&", Op.OR: "||", Op.XOR: "!="}
_INT_CALLS = {
    Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.DIV: "floor_div", Op.MOD: "floor_mod", Op.QUOT: "quot",
    Op.REM: "rem", Op.POW: "power", Op.MIN: "least", Op.MAX: "greatest", Op.SHL: "shift_left", Op.SHR: "shift_right",
    Op.USHR: "shift_right_logical", Op.POPC: "popcount", Op.CLZ: "leading_zeros", Op.CTZ: "trailing_zeros",
    Op.MULHI: "mul_high", Op.NEG: "neg", Op.ABS: "absolute", Op.SGN: "sign",
}  # fmt: skip
_BITWISE = {Op.AND: "&", Op.OR: "|", Op.XOR: "^"}


def _int(op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    if op in _BITWISE:
        return f"({prim.value})({args[0]} {_BITWISE[op]} {args[1]})"
    if op is Op.NOT:
        return f"({prim.value})~{args[0]}"
    return f"{_INT_CALLS[op]}({', '.join(args)})"


_SIGNS = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.DIV: "/"}
_FLOAT_CALLS = {
    Op.MIN: "float_min", Op.MAX: "float_max", Op.MOD: "float_mod", Op.SGN: "float_sign",
    Op.COPYSIGN: "with_sign", Op.ISNAN: "is_nan", Op.ISINF: "is_inf",
}  # fmt: skip
_MATH = {
    Op.FMA: "fma", Op.POW: "pow", Op.ABS: "fabs", Op.SQRT: "sqrt", Op.RSQRT: "rsqrt", Op.CBRT: "cbrt", Op.EXP: "exp",
    Op.EXP2: "exp2", Op.EXP10: "exp10", Op.EXPM1: "expm1", Op.LOG: "log", Op.LOG2: "log2", Op.LOG10: "log10",
    Op.LOG1P: "log1p", Op.SIN: "sin", Op.COS: "cos", Op.TAN: "tan", Op.ASIN: "asin", Op.ACOS: "acos", Op.ATAN: "atan",
    Op.SINH: "sinh", Op.COSH: "cosh", Op.TANH: "tanh", Op.ASINH: "asinh", Op.ACOSH: "acosh", Op.ATANH: "atanh",
    Op.SINPI: "sinpi", Op.COSPI: "cospi", Op.ATAN2: "atan2", Op.HYPOT: "hypot", Op.GAMMA: "tgamma",
    Op.LGAMMA: "lgamma", Op.ERF: "erf", Op.ERFC: "erfc", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.TRUNC: "trunc",
    Op.ROUND: "rint", Op.NEXTAFTER: "nextafter", Op.LDEXP: "ldexp",
}  # fmt: skip
"""Functions of CUDA's and C's libraries; those on f32 end in `f`."""


LIBRARY = frozenset(name + suffix for name in _MATH.values() for suffix in ("", "f"))


def _float(op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    match op:
        case Op.NEG:
            return f"-{args[0]}"
        case Op.TO_BITS:
            return f"bit_cast<u{prim.bits}>({args[0]})"
        case Op.FROM_BITS:
            return f"bit_cast<f{prim.bits}>({args[0]})"
        case Op.TANPI:
            f = "f" if prim is Prim.F32 else ""
            return f"sinpi{f}({args[0]}) / cospi{f}({args[0]})"
        case _ if op in _SIGNS:
            return f"{args[0]} {_SIGNS[op]} {args[1]}"
        case _ if op in _FLOAT_CALLS:
            return f"{_FLOAT_CALLS[op]}({', '.join(args)})"
        case _:
            return f"{_MATH[op]}{'f' if prim is Prim.F32 else ''}({', '.join(args)})"


_HALF = {Op.ADD: "half_add", Op.SUB: "half_sub", Op.MUL: "half_mul", Op.FMA: "half_fma", Op.NEXTAFTER: "half_after"}


def _half(op: Op, prim: Prim, args: tuple[str, ...]) -> str:
    wide = tuple(f"wide({a})" for a in args)
    match op:
        case Op.TO_BITS:
            return f"half_bits({args[0]})"
        case Op.FROM_BITS:
            return f"{prim.value}{{{args[0]}}}"
        case Op.ISNAN | Op.ISINF:
            return _float(op, Prim.F32, wide)
        case Op.LDEXP:
            return f"half_of<{prim.value}>(ldexp((f64){wide[0]}, {args[1]}))"
        case _ if op in _HALF:
            return f"{_HALF[op]}({', '.join(args)})"
        case _:
            return f"half_of<{prim.value}>({_float(op, Prim.F32, wide)})"


def conversion(source: Prim, target: Prim, text: str) -> str:
    """A conversion of a text that binds tightly: of floats to integers, nan and infinities give 0, the rest
    saturates; integers go to halves by way of f64, those of 64 bits rounded to odd."""
    if source is target:
        return text
    if source.is_half:
        return conversion(Prim.F32, target, f"wide({text})")
    match target:
        case Prim.BOOL:
            return f"{text} != 0"
        case _ if target.is_half:
            wide = text if source.is_float else f"(f64){text}" if source.bits < 64 else f"to_odd({text})"
            return f"half_of<{target.value}>({wide})"
        case _ if target.is_int and source.is_float:
            return f"to_int<{target.value}>({text})"
        case _:
            return f"({target.value}){text}"
