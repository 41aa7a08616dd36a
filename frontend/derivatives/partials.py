"""The partial derivatives of all operations of `ir/ops.py`: one table.

A row takes the calculator, the result and the operands, and gives one factor for each operand; None is zero. Those of
`STEPS` have derivative zero wherever they have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...ir.core import PrimOp
from ...ir.ops import Op
from ...ir.scalar import constant
from ...ir.types import Atom, Const, Prim, one, scalar, zero
from ..building.code import Code

Factors = Sequence[Atom | None]


class Calc:
    """Operations on scalars of one type, emitted as they are asked for."""

    __slots__ = ("code", "prim")

    def __init__(self, code: Code, prim: Prim) -> None:
        self.code = code
        self.prim = prim

    def __call__(self, op: Op, *args: Atom | float) -> Atom:
        return self.code.op(op, *[self.number(a) if isinstance(a, int | float) else a for a in args])

    def number(self, value: float) -> Const:
        return constant(self.prim, value)

    def where(self, cond: Atom, yes: Atom | float, no: Atom | float) -> Atom:
        return self(Op.SELECT, cond, yes, no)


Row = Callable[..., Factors]


def partials(code: Code, op: Op, prim: Prim, args: Sequence[Atom], result: Atom) -> Factors:
    """The factors of the operands of `result = op args`."""
    if op in STEPS or (prim.is_int and op not in ON_INTEGERS):
        return [None] * len(args)
    return ROWS[op](Calc(code, prim), result, *args)


STEPS = frozenset(
    {
        Op.REM, Op.AND, Op.OR, Op.XOR, Op.NOT, Op.SHL, Op.SHR, Op.USHR, Op.POPC, Op.CLZ, Op.CTZ, Op.MULHI, Op.EQ,
        Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.SGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND, Op.ISNAN, Op.ISINF,
        Op.TO_BITS, Op.FROM_BITS,
    }
)  # fmt: skip
"""Constant but for steps, or not of real numbers."""
ON_INTEGERS = frozenset(
    {Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.QUOT, Op.POW, Op.MIN, Op.MAX, Op.NEG, Op.ABS, Op.SELECT}
)  # fmt: skip


def _reciprocal(k: Calc, x: Atom) -> Atom:
    return k(Op.DIV, 1.0, x)


def _square(k: Calc, x: Atom) -> Atom:
    return k(Op.MUL, x, x)


def _root_of_one_minus_square(k: Calc, x: Atom) -> Atom:
    """sqrt((1 - x) (1 + x)): accurate near 1 too."""
    return k(Op.SQRT, k(Op.MUL, k(Op.SUB, 1.0, x), k(Op.ADD, 1.0, x)))


def _div(k: Calc, r: Atom, x: Atom, y: Atom) -> Factors:
    one_ = one(k.prim)
    return [k(Op.DIV, one_, y), k(Op.NEG, k(Op.DIV, r, y))]


def _mod(k: Calc, r: Atom, x: Atom, y: Atom) -> Factors:
    return [one(k.prim), k(Op.NEG, k(Op.FLOOR, k(Op.DIV, x, y)))]


def _pow(k: Calc, r: Atom, x: Atom, y: Atom) -> Factors:
    """y x^(y-1), and r log x; zero where they would be infinite or nan at a base of zero or less."""
    if k.prim.is_int:
        exponent = k(Op.MAX, k(Op.SUB, y, 1), 0)
        return [k(Op.MUL, y, k(Op.POW, x, exponent)), None]
    steep = k(Op.AND, k(Op.EQ, x, 0.0), k(Op.LT, y, 1.0))
    base = k.where(steep, 0.0, k(Op.MUL, y, k(Op.POW, x, k(Op.SUB, y, 1.0))))
    return [base, k.where(k(Op.LE, x, 0.0), 0.0, k(Op.MUL, r, k(Op.LOG, x)))]


def _chosen(op: Op) -> Row:
    """The derivative goes to the operand that `op` holds for; to the first of two equal ones."""

    def row(k: Calc, r: Atom, x: Atom, y: Atom) -> Factors:
        first = k(op, x, y)
        return [k.where(first, one(k.prim), zero(k.prim)), k.where(first, zero(k.prim), one(k.prim))]

    return row


def _select(k: Calc, r: Atom, c: Atom, x: Atom, y: Atom) -> Factors:
    return [None, k.where(c, one(k.prim), zero(k.prim)), k.where(c, zero(k.prim), one(k.prim))]


def _atan2(k: Calc, r: Atom, y: Atom, x: Atom) -> Factors:
    square = k(Op.ADD, _square(k, x), _square(k, y))
    return [k(Op.DIV, x, square), k(Op.NEG, k(Op.DIV, y, square))]


def _copysign(k: Calc, r: Atom, x: Atom, y: Atom) -> Factors:
    return [k(Op.MUL, k(Op.COPYSIGN, 1.0, x), k(Op.COPYSIGN, 1.0, y)), None]


def _power_of_two(k: Calc, n: Atom) -> Atom:
    return k.code.let("ldexp", PrimOp(Op.LDEXP, k.prim, (k.number(1.0), n)), scalar(k.prim))


def _tanpi(k: Calc, r: Atom, x: Atom) -> Factors:
    return [k(Op.MUL, math.pi, k(Op.ADD, 1.0, _square(k, r)))]


def _gaussian(factor: float) -> Row:
    return lambda k, r, x: [k(Op.MUL, factor * 2.0 / math.sqrt(math.pi), k(Op.EXP, k(Op.NEG, _square(k, x))))]


def _times(factor: float, op: Op) -> Row:
    return lambda k, r, x: [k(Op.MUL, factor, k(op, x))]


SHIFT = 8
BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _digamma(k: Calc, x: Atom) -> Atom:
    """The logarithmic derivative of gamma: shifted up by eight, then the asymptotic series; reflected below zero."""
    low = k(Op.LT, x, 0.5)
    z = k.where(low, k(Op.SUB, 1.0, x), x)
    terms: Atom = zero(k.prim)
    for i in range(SHIFT):
        terms = k(Op.ADD, terms, _reciprocal(k, k(Op.ADD, z, float(i))))
    w = k(Op.ADD, z, float(SHIFT))
    inverse = _reciprocal(k, _square(k, w))
    series: Atom = zero(k.prim)
    for b in reversed(BERNOULLI):
        series = k(Op.MUL, inverse, k(Op.ADD, b, series))
    value = k(Op.SUB, k(Op.LOG, w), k(Op.DIV, 0.5, w))
    value = k(Op.SUB, k(Op.SUB, value, series), terms)
    return k.where(low, k(Op.SUB, value, k(Op.DIV, math.pi, k(Op.TANPI, x))), value)


ROWS: dict[Op, Row] = {
    Op.ADD: lambda k, r, x, y: [one(k.prim), one(k.prim)],
    Op.SUB: lambda k, r, x, y: [one(k.prim), k.number(-1)],
    Op.MUL: lambda k, r, x, y: [y, x],
    Op.DIV: _div,
    Op.QUOT: _div,
    Op.MOD: _mod,
    Op.POW: _pow,
    Op.MIN: _chosen(Op.LE),
    Op.MAX: _chosen(Op.GE),
    Op.FMA: lambda k, r, x, y, z: [y, x, one(k.prim)],
    Op.NEG: lambda k, r, x: [k.number(-1)],
    Op.ABS: lambda k, r, x: [k(Op.SGN, x)],
    Op.SQRT: lambda k, r, x: [k(Op.DIV, 0.5, r)],
    Op.RSQRT: lambda k, r, x: [k(Op.MUL, -0.5, k(Op.DIV, r, x))],
    Op.CBRT: lambda k, r, x: [_reciprocal(k, k(Op.MUL, 3.0, _square(k, r)))],
    Op.EXP: lambda k, r, x: [r],
    Op.EXP2: lambda k, r, x: [k(Op.MUL, math.log(2.0), r)],
    Op.EXP10: lambda k, r, x: [k(Op.MUL, math.log(10.0), r)],
    Op.EXPM1: lambda k, r, x: [k(Op.ADD, r, 1.0)],
    Op.LOG: lambda k, r, x: [_reciprocal(k, x)],
    Op.LOG2: lambda k, r, x: [k(Op.DIV, 1.0 / math.log(2.0), x)],
    Op.LOG10: lambda k, r, x: [k(Op.DIV, 1.0 / math.log(10.0), x)],
    Op.LOG1P: lambda k, r, x: [_reciprocal(k, k(Op.ADD, 1.0, x))],
    Op.SIN: lambda k, r, x: [k(Op.COS, x)],
    Op.COS: lambda k, r, x: [k(Op.NEG, k(Op.SIN, x))],
    Op.TAN: lambda k, r, x: [k(Op.ADD, 1.0, _square(k, r))],
    Op.ASIN: lambda k, r, x: [_reciprocal(k, _root_of_one_minus_square(k, x))],
    Op.ACOS: lambda k, r, x: [k(Op.DIV, -1.0, _root_of_one_minus_square(k, x))],
    Op.ATAN: lambda k, r, x: [_reciprocal(k, k(Op.ADD, 1.0, _square(k, x)))],
    Op.SINH: lambda k, r, x: [k(Op.COSH, x)],
    Op.COSH: lambda k, r, x: [k(Op.SINH, x)],
    Op.TANH: lambda k, r, x: [k(Op.SUB, 1.0, _square(k, r))],
    Op.ASINH: lambda k, r, x: [_reciprocal(k, k(Op.SQRT, k(Op.ADD, 1.0, _square(k, x))))],
    Op.ACOSH: lambda k, r, x: [_reciprocal(k, k(Op.SQRT, k(Op.MUL, k(Op.SUB, x, 1.0), k(Op.ADD, x, 1.0))))],
    Op.ATANH: lambda k, r, x: [_reciprocal(k, k(Op.MUL, k(Op.SUB, 1.0, x), k(Op.ADD, 1.0, x)))],
    Op.SINPI: _times(math.pi, Op.COSPI),
    Op.COSPI: _times(-math.pi, Op.SINPI),
    Op.TANPI: _tanpi,
    Op.ATAN2: _atan2,
    Op.HYPOT: lambda k, r, x, y: [k(Op.DIV, x, r), k(Op.DIV, y, r)],
    Op.GAMMA: lambda k, r, x: [k(Op.MUL, r, _digamma(k, x))],
    Op.LGAMMA: lambda k, r, x: [_digamma(k, x)],
    Op.ERF: _gaussian(1.0),
    Op.ERFC: _gaussian(-1.0),
    Op.COPYSIGN: _copysign,
    Op.NEXTAFTER: lambda k, r, x, y: [one(k.prim), None],
    Op.LDEXP: lambda k, r, x, n: [_power_of_two(k, n), None],
    Op.SELECT: _select,
}
