"""The table of scalar meaning against definitions that share nothing with it: exhaustively in 8 bits, by machine
arithmetic of numpy, by exact fractions, and by mpmath."""

from __future__ import annotations

import itertools
import math
import struct
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from soac.ir.errors import IRError
from soac.ir.floats import LARGEST, bits_of, of_bits, rounding
from soac.ir.ops import EXPENSES, Expense, Op, arity, operand_types, result_type
from soac.ir.scalar import (
    DTYPES,
    ScalarFailure,
    apply,
    constant,
    convert,
    defined,
    elements_as,
    int_range,
    prim_of,
    text_of,
)
from soac.ir.types import Prim
from tests.support.prims import PRIMS

INTS = [p for p in Prim if p.is_int]
FLOATS = [p for p in PRIMS if p.is_float]
BYTES = [Prim.I8, Prim.U8]


def values(prim: Prim) -> range:
    lowest, highest = int_range(prim)
    return range(lowest, highest + 1)


def fits(x: int, prim: Prim) -> int:
    """The value of the low bits of x, read as `prim`: by way of bytes."""
    return int.from_bytes((x % (1 << prim.bits)).to_bytes(prim.bytes, "little"), "little", signed=prim.is_signed)


def same_float(x: float, y: float) -> bool:
    return struct.pack("<d", x) == struct.pack("<d", y) or (math.isnan(x) and math.isnan(y))


# ---- integers -------------------------------------------------------------------------------------------------------

BINARY = {
    Op.ADD: lambda x, y, p: x + y,
    Op.SUB: lambda x, y, p: x - y,
    Op.MUL: lambda x, y, p: x * y,
    Op.MIN: lambda x, y, p: min(x, y),
    Op.MAX: lambda x, y, p: max(x, y),
    Op.AND: lambda x, y, p: x & y,
    Op.OR: lambda x, y, p: x | y,
    Op.XOR: lambda x, y, p: x ^ y,
    Op.SHL: lambda x, y, p: x * 2 ** (y % 256) if y % 256 < 8 else 0,
    Op.SHR: lambda x, y, p: math.floor(x / 2 ** (y % 256)),
    Op.USHR: lambda x, y, p: (x % 256) // 2 ** (y % 256),
    Op.MULHI: lambda x, y, p: math.floor(x * y / 256),
    Op.EQ: lambda x, y, p: x == y,
    Op.NE: lambda x, y, p: x != y,
    Op.LT: lambda x, y, p: x < y,
    Op.LE: lambda x, y, p: x <= y,
    Op.GT: lambda x, y, p: x > y,
    Op.GE: lambda x, y, p: x >= y,
}
DIVISION = {  # floating division is exact enough for eight bits
    Op.DIV: lambda x, y: math.floor(x / y),
    Op.MOD: lambda x, y: x - y * math.floor(x / y),
    Op.QUOT: lambda x, y: math.trunc(x / y),
    Op.REM: lambda x, y: x - y * math.trunc(x / y),
}
UNARY = {
    Op.NOT: lambda x, p: -x - 1,
    Op.NEG: lambda x, p: -x,
    Op.ABS: lambda x, p: abs(x),
    Op.SGN: lambda x, p: 0 if x == 0 else 1 if x > 0 else -1,
    Op.POPC: lambda x, p: format(x % 256, "08b").count("1"),
    Op.CLZ: lambda x, p: 8 if x == 0 else format(x % 256, "08b").index("1"),
    Op.CTZ: lambda x, p: 8 if x == 0 else format(x % 256, "08b")[::-1].index("1"),
}


@pytest.mark.parametrize("prim", BYTES)
@pytest.mark.parametrize("op", BINARY)
def test_binary_operations_in_eight_bits(op: Op, prim: Prim) -> None:
    result = result_type(op, prim)
    for x, y in itertools.product(values(prim), repeat=2):
        expected = BINARY[op](x, y, prim)
        found = apply(op, prim, (x, y))
        assert found == (expected if result is Prim.BOOL else fits(expected, prim)), (x, y)
        assert isinstance(found, bool) == (result is Prim.BOOL)


@pytest.mark.parametrize("prim", BYTES)
@pytest.mark.parametrize("op", DIVISION)
def test_division_in_eight_bits(op: Op, prim: Prim) -> None:
    for x, y in itertools.product(values(prim), repeat=2):
        if y:
            assert apply(op, prim, (x, y)) == fits(DIVISION[op](x, y), prim), (x, y)
        else:
            with pytest.raises(ScalarFailure, match="R0102: division by zero"):
                apply(op, prim, (x, y))


@pytest.mark.parametrize("prim", BYTES)
@pytest.mark.parametrize("op", UNARY)
def test_unary_operations_in_eight_bits(op: Op, prim: Prim) -> None:
    for x in values(prim):
        expected = UNARY[op](x, prim)
        assert apply(op, prim, (x,)) == (expected if result_type(op, prim) is Prim.I32 else fits(expected, prim))


@pytest.mark.parametrize("prim", BYTES)
def test_powers_in_eight_bits(prim: Prim) -> None:
    powers = {x: [1] for x in values(prim)}
    for x, row in powers.items():
        for _ in range(256):
            row.append(fits(row[-1] * x, prim))
    for x, y in itertools.product(values(prim), repeat=2):
        if y < 0:
            with pytest.raises(ScalarFailure, match=f"R0102: negative exponent {y}"):
                apply(Op.POW, prim, (x, y))
        else:
            assert apply(Op.POW, prim, (x, y)) == powers[x][y], (x, y)


def test_divisions_cost_alike() -> None:
    assert {EXPENSES[op] for op in (Op.DIV, Op.MOD, Op.QUOT, Op.REM)} == {Expense.DIVISION}


@pytest.mark.parametrize("prim", INTS)
def test_the_smallest_divided_by_minus_one(prim: Prim) -> None:
    lowest, _ = int_range(prim)
    if prim.is_signed:
        assert [apply(op, prim, (lowest, -1)) for op in DIVISION] == [lowest, 0, lowest, 0]


def test_a_tower_of_powers_stays_small() -> None:
    assert apply(Op.POW, Prim.I64, (2, 2**62)) == 0
    assert apply(Op.POW, Prim.I64, (3, 2**62 - 1)) == fits(pow(3, 2**62 - 1, 2**64), Prim.I64)


NUMPY = {Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.AND: np.bitwise_and, Op.XOR: np.bitwise_xor,
         Op.DIV: np.floor_divide, Op.MOD: np.mod}  # fmt: skip


@pytest.mark.parametrize("prim", INTS)
@pytest.mark.parametrize("op", NUMPY)
def test_wide_integers_wrap_as_the_machine_does(op: Op, prim: Prim) -> None:
    rng = np.random.default_rng(7)
    edges = np.array([*int_range(prim), 0, 1, 2], DTYPES[prim])
    lowest, highest = int_range(prim)
    xs = np.concatenate([rng.integers(lowest, highest, 200, DTYPES[prim], endpoint=True), np.repeat(edges, 5)])
    ys = np.concatenate([rng.integers(lowest, highest, 200, DTYPES[prim], endpoint=True), np.tile(edges, 5)])
    ys = np.where((ys == 0) & (op in (Op.DIV, Op.MOD)), DTYPES[prim].type(1), ys)
    with np.errstate(all="ignore"):
        expected = NUMPY[op](xs, ys)
    assert [apply(op, prim, (x, y)) for x, y in zip(xs.tolist(), ys.tolist())] == expected.tolist()


# ---- floats ---------------------------------------------------------------------------------------------------------


def floats(prim: Prim) -> st.SearchStrategy[float]:
    return st.floats(width=16 if prim is Prim.F16 else 32 if prim is Prim.F32 else 64).map(rounding(prim))


def nearest(exact: Fraction, prim: Prim) -> float:
    """The value of `prim` nearest to `exact` (not zero), ties to even: by counting digits."""
    digits, lowest, highest = {
        Prim.BF16: (8, -133, 128),
        Prim.F16: (11, -24, 16),
        Prim.F32: (24, -149, 128),
        Prim.F64: (53, -1074, 1024),
    }[prim]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, lowest)
    rounded = round(size / unit) * unit
    magnitude = math.inf if rounded >= Fraction(2) ** highest else float(rounded)
    return -magnitude if exact < 0 else magnitude


EXACT = {
    Op.ADD: lambda x, y: x + y,
    Op.SUB: lambda x, y: x - y,
    Op.MUL: lambda x, y: x * y,
    Op.DIV: lambda x, y: x / y if y else Fraction(0),
}


@pytest.mark.parametrize("prim", FLOATS)
@pytest.mark.parametrize("op", EXACT)
def test_arithmetic_rounds_once(op: Op, prim: Prim) -> None:
    @given(floats(prim), floats(prim))
    @settings(max_examples=60)
    def law(x: float, y: float) -> None:
        found = apply(op, prim, (x, y))
        assert isinstance(found, float)
        if math.isfinite(x) and math.isfinite(y) and (exact := EXACT[op](Fraction(x), Fraction(y))) != 0:
            assert found == nearest(exact, prim)
        else:
            with np.errstate(all="ignore"):
                ufunc = {Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.DIV: np.divide}[op]
                assert same_float(found, float(ufunc(DTYPES[prim].type(x), DTYPES[prim].type(y))))

    law()


@pytest.mark.parametrize("prim", FLOATS)
def test_behind_the_largest_number_is_infinity(prim: Prim) -> None:
    assert LARGEST[prim] == of_bits(prim)(bits_of(prim)(math.inf) - 1)


@pytest.mark.parametrize("source", [Prim.I64, Prim.U64, Prim.I8, Prim.F16, Prim.F32, Prim.F64])
def test_arrays_are_converted_as_their_elements_are(source: Prim) -> None:
    numbers = [0, 3, 127] if source.bits == 8 else [0, -0.0, 1.00390625, 1.01171875, 65280, 7]
    xs = np.array([*numbers, *(int_range(source) if source.is_int else ())], DTYPES[source])
    for target in FLOATS:
        with np.errstate(over="ignore"):
            found = elements_as(xs, target)
        assert found.dtype == DTYPES[target]
        assert found.tolist() == [convert(source, target, x) for x in xs.tolist()]


@pytest.mark.parametrize("prim", FLOATS)
def test_fma_rounds_once(prim: Prim) -> None:
    @given(floats(prim), floats(prim), floats(prim))
    @settings(max_examples=150)
    @example(1.0009765625, 1.0009765625, -1.0)
    @example(1.0, 1.0, 2.0**-30)
    @example(0.0, -1.0, 0.0)
    @example(0.0, -1.0, -0.0)
    def law(x: float, y: float, z: float) -> None:
        found = apply(Op.FMA, prim, (x, y, z))
        if not all(map(math.isfinite, (x, y, z))):
            finite_product = math.isfinite(x) and math.isfinite(y)
            assert same_float(found, z if finite_product else x * y + z)
        elif (exact := Fraction(x) * Fraction(y) + Fraction(z)) != 0:
            assert found == nearest(exact, prim)
            assert math.copysign(1.0, found) == (1.0 if exact > 0 else -1.0)
        else:
            both_negative = math.copysign(1.0, x) * math.copysign(1.0, y) < 0 and math.copysign(1.0, z) < 0
            assert same_float(found, -0.0 if both_negative and z == 0.0 else 0.0)

    law()


@pytest.mark.parametrize(("prim", "digits"), [(Prim.F32, 24), (Prim.BF16, 8), (Prim.F64, 53)])
def test_an_integer_in_the_middle_of_two_floats_is_the_even_one(prim: Prim, digits: int) -> None:
    half = 2 ** (62 - digits)
    for odd, even in ((1, 0), (3, 4), (5, 4)):
        assert convert(Prim.I64, prim, 2**62 + odd * half) == 2**62 + even * half


@pytest.mark.parametrize("prim", FLOATS)
def test_fma_of_what_is_not_finite(prim: Prim) -> None:
    """A product of numbers is one, however large."""
    numbers = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan]
    for x, y, z in itertools.product(numbers, repeat=3):
        if not all(map(math.isfinite, (x, y, z))):
            assert same_float(apply(Op.FMA, prim, (x, y, z)), x * y + z), (x, y, z)


def test_a_sum_that_would_round_twice() -> None:
    """The exact sum is just above the middle of two f32; rounded to f64 first it is the middle, and goes down."""
    x, y, z = 1.0 + 2.0**-12, 1.0 + 2.0**-12, 2.0**-60
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    assert apply(Op.FMA, Prim.F32, (x, y, z)) == nearest(exact, Prim.F32)
    assert nearest(Fraction(float(exact)), Prim.F32) != nearest(exact, Prim.F32)


SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, math.inf, -math.inf, math.nan, 6e-8, -6e-8, 65504.0]


@pytest.mark.parametrize("prim", FLOATS)
def test_minimum_and_maximum(prim: Prim) -> None:
    for x, y in itertools.product(SPECIAL, repeat=2):
        if math.isnan(x) or math.isnan(y):
            other = y if math.isnan(x) else x
            assert same_float(apply(Op.MIN, prim, (x, y)), other)
            assert same_float(apply(Op.MAX, prim, (x, y)), other)
        else:
            order = sorted([x, y], key=lambda v: (v, math.copysign(1.0, v)))
            assert same_float(apply(Op.MIN, prim, (x, y)), order[0])
            assert same_float(apply(Op.MAX, prim, (x, y)), order[1])


@pytest.mark.parametrize("prim", FLOATS)
def test_comparisons_with_nan(prim: Prim) -> None:
    for op in (Op.EQ, Op.LT, Op.LE, Op.GT, Op.GE):
        assert apply(op, prim, (math.nan, math.nan)) is False
    assert apply(Op.NE, prim, (math.nan, math.nan)) is True
    assert apply(Op.EQ, prim, (0.0, -0.0)) is True


ROUNDINGS = {Op.FLOOR: np.floor, Op.CEIL: np.ceil, Op.TRUNC: np.trunc, Op.ROUND: np.rint, Op.ABS: np.abs,
             Op.NEG: np.negative, Op.SQRT: np.sqrt, Op.ISNAN: np.isnan, Op.ISINF: np.isinf}  # fmt: skip


@pytest.mark.parametrize("prim", FLOATS)
@pytest.mark.parametrize("op", ROUNDINGS)
def test_unary_operations_that_numpy_has(op: Op, prim: Prim) -> None:
    xs = np.array([*SPECIAL, 0.5, -0.5, 1.5, 3.5, 0.3, 7.9, -7.9, 1e4, 2048.5], DTYPES[prim])
    with np.errstate(all="ignore"):
        expected = ROUNDINGS[op](xs)
    for x, y in zip(xs.tolist(), expected.tolist()):
        assert same_float(float(apply(op, prim, (x,))), float(y)), x


@pytest.mark.parametrize("prim", FLOATS)
def test_float_modulo_has_the_sign_of_the_divisor(prim: Prim) -> None:
    finite = [x for x in SPECIAL if math.isfinite(x)] + [7.5, -7.5, 0.1, 3.0, -3.0]
    for x, y in itertools.product([float(DTYPES[prim].type(v)) for v in finite], repeat=2):
        found = apply(Op.MOD, prim, (x, y))
        if y == 0.0:
            assert math.isnan(found)
            continue
        exact = Fraction(x) - Fraction(y) * math.floor(Fraction(x) / Fraction(y))
        assert found == (nearest(exact, prim) if exact else 0.0)
        assert math.copysign(1.0, found) == math.copysign(1.0, y)


ELEMENTARY = {
    Op.EXP: mpmath.exp, Op.EXP2: lambda x: mpmath.power(2, x), Op.EXP10: lambda x: mpmath.power(10, x),
    Op.EXPM1: mpmath.expm1, Op.LOG: mpmath.log, Op.LOG2: lambda x: mpmath.log(x, 2), Op.LOG10: mpmath.log10,
    Op.LOG1P: mpmath.log1p, Op.SIN: mpmath.sin, Op.COS: mpmath.cos, Op.TAN: mpmath.tan, Op.ASIN: mpmath.asin,
    Op.ACOS: mpmath.acos, Op.ATAN: mpmath.atan, Op.SINH: mpmath.sinh, Op.COSH: mpmath.cosh, Op.TANH: mpmath.tanh,
    Op.ASINH: mpmath.asinh, Op.ACOSH: mpmath.acosh, Op.ATANH: mpmath.atanh, Op.SINPI: mpmath.sinpi,
    Op.COSPI: mpmath.cospi, Op.TANPI: lambda x: mpmath.sinpi(x) / mpmath.cospi(x), Op.SQRT: mpmath.sqrt,
    Op.RSQRT: lambda x: 1 / mpmath.sqrt(x), Op.CBRT: lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    Op.GAMMA: mpmath.gamma, Op.LGAMMA: lambda x: mpmath.log(abs(mpmath.gamma(x))), Op.ERF: mpmath.erf,
    Op.ERFC: mpmath.erfc,
}  # fmt: skip
POINTS = [0.1, 0.25, 0.7, -0.3, 1.25, 2.75, -2.2, 5.625, -9.3, 11.125, 0.001]


@pytest.mark.parametrize("op", ELEMENTARY)
def test_elementary_functions(op: Op) -> None:
    with mpmath.workprec(200):
        for x in POINTS:
            exact = ELEMENTARY[op](mpmath.mpf(x))
            found = apply(op, Prim.F64, (x,))
            if mpmath.im(exact):
                assert math.isnan(found), x
            else:
                size = max(abs(exact), 1) if op is Op.LGAMMA else abs(exact)  # lgamma crosses zero steeply
                assert abs(mpmath.mpf(found) - exact) <= size * mpmath.mpf(2) ** -49, x


def test_multiples_of_half_a_turn_are_exact() -> None:
    for k in range(-9, 10):
        sine, cosine = (apply(op, Prim.F64, (k / 2,)) for op in (Op.SINPI, Op.COSPI))
        assert (sine, cosine) == ((0, 1, 0, -1)[k % 4], (1, 0, -1, 0)[k % 4]), k
    with mpmath.workprec(200):
        for k in range(-40, 40):
            for op in (Op.SINPI, Op.COSPI):
                exact = ELEMENTARY[op](mpmath.mpf(k) / 16 + mpmath.mpf(2) ** -20)
                found = apply(op, Prim.F64, (k / 16 + 2.0**-20,))
                assert abs(mpmath.mpf(found) - exact) <= abs(exact) * mpmath.mpf(2) ** -50, (op, k)


EDGES = [
    (Op.LOG, (0.0,), -math.inf), (Op.LOG, (-1.0,), math.nan), (Op.LOG1P, (-1.0,), -math.inf),
    (Op.LOG2, (-0.0,), -math.inf), (Op.EXP, (1e9,), math.inf), (Op.EXP, (-1e9,), 0.0), (Op.EXP2, (5000.0,), math.inf),
    (Op.EXP10, (400.0,), math.inf), (Op.SIN, (math.inf,), math.nan), (Op.SQRT, (-1.0,), math.nan),
    (Op.SQRT, (-0.0,), -0.0), (Op.RSQRT, (0.0,), math.inf), (Op.RSQRT, (-0.0,), -math.inf),
    (Op.RSQRT, (math.inf,), 0.0), (Op.ACOS, (2.0,), math.nan), (Op.ATANH, (1.0,), math.inf),
    (Op.ATANH, (-1.0,), -math.inf), (Op.COSH, (1e4,), math.inf), (Op.SINH, (-1e4,), -math.inf),
    (Op.SINPI, (1.0,), 0.0), (Op.SINPI, (0.5,), 1.0), (Op.COSPI, (0.5,), 0.0), (Op.TANPI, (0.5,), math.inf),
    (Op.SINPI, (math.inf,), math.nan), (Op.COSPI, (math.inf,), math.nan),
    (Op.GAMMA, (0.0,), math.inf), (Op.GAMMA, (-0.0,), -math.inf),
    (Op.GAMMA, (-1.0,), math.nan), (Op.GAMMA, (200.0,), math.inf), (Op.LGAMMA, (-1.0,), math.inf),
    (Op.LGAMMA, (0.0,), math.inf), (Op.POW, (0.0, -1.0), math.inf), (Op.POW, (-0.0, -1.0), -math.inf),
    (Op.POW, (-1.0, 0.5), math.nan), (Op.POW, (2.0, 5000.0), math.inf), (Op.POW, (-2.0, 5001.0), -math.inf),
    (Op.POW, (math.nan, 0.0), 1.0), (Op.DIV, (0.0, 0.0), math.nan), (Op.DIV, (-1.0, 0.0), -math.inf),
    (Op.DIV, (1.0, -0.0), -math.inf), (Op.HYPOT, (math.inf, math.nan), math.inf), (Op.ATAN2, (0.0, -0.0), math.pi),
    (Op.SGN, (-0.0,), 0.0), (Op.SGN, (-3.5,), -1.0), (Op.SGN, (math.nan,), math.nan), (Op.LDEXP, (1.0, 2000), math.inf),
    (Op.LDEXP, (-1.0, -2000), -0.0), (Op.COPYSIGN, (2.0, -0.0), -2.0), (Op.NEXTAFTER, (0.0, 1.0), 5e-324),
    (Op.FLOOR, (-0.0,), -0.0), (Op.CEIL, (-0.5,), -0.0), (Op.ROUND, (2.5,), 2.0), (Op.ROUND, (-0.5,), -0.0),
    (Op.MOD, (1.0, 0.0), math.nan), (Op.MOD, (-1.0, math.inf), math.inf), (Op.CBRT, (-0.0,), -0.0),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args", "expected"), EDGES, ids=lambda v: getattr(v, "value", str(v)))
def test_edges_of_f64(op: Op, args: tuple[float, ...], expected: float) -> None:
    assert same_float(apply(op, Prim.F64, args), expected)


def test_narrow_floats_are_rounded_to_their_width() -> None:
    assert apply(Op.EXP, Prim.F32, (1.0,)) == float(np.float32(math.e))
    assert apply(Op.MUL, Prim.F32, (1e30, 1e30)) == math.inf
    assert apply(Op.ADD, Prim.F16, (65504.0, 32.0)) == math.inf
    assert apply(Op.ADD, Prim.F16, (65504.0, 15.0)) == 65504.0
    assert apply(Op.NEXTAFTER, Prim.F32, (1.0, 2.0)) == 1.0 + 2.0**-23
    assert apply(Op.NEXTAFTER, Prim.F16, (1.0, 2.0)) == 1.0 + 2.0**-10


@pytest.mark.parametrize("prim", [Prim.F16, Prim.F32])
def test_the_next_number_of_narrow_floats_is_that_of_numpy(prim: Prim) -> None:
    to = DTYPES[prim].type
    tiny, most = float(np.finfo(to).smallest_subnormal), float(np.finfo(to).max)
    ends = (0.0, -0.0, 1.0, -1.0, most, math.inf, -math.inf, tiny, math.nan)
    for x, y in itertools.product(ends, repeat=2):
        with np.errstate(over="ignore"):
            wanted = y if x == y else float(np.nextafter(to(x), to(y)))
        assert same_float(apply(Op.NEXTAFTER, prim, (x, y)), wanted), (x, y)


@pytest.mark.parametrize("prim", FLOATS)
def test_bits(prim: Prim) -> None:
    @given(floats(prim).filter(lambda x: not math.isnan(x)))
    @settings(max_examples=40)
    def law(x: float) -> None:
        bits = apply(Op.TO_BITS, prim, (x,))
        assert bits == int(np.array(x, DTYPES[prim]).view(f"u{prim.bytes}"))
        assert same_float(apply(Op.FROM_BITS, prim, (bits,)), x)

    law()


# ---- bools, select, conversions -------------------------------------------------------------------------------------


def test_bools() -> None:
    both = [(False, False), (False, True), (True, False), (True, True)]
    assert [apply(Op.AND, Prim.BOOL, p) for p in both] == [False, False, False, True]
    assert [apply(Op.OR, Prim.BOOL, p) for p in both] == [False, True, True, True]
    assert [apply(Op.XOR, Prim.BOOL, p) for p in both] == [False, True, True, False]
    assert [apply(Op.LT, Prim.BOOL, p) for p in both] == [False, True, False, False]
    assert apply(Op.NOT, Prim.BOOL, (True,)) is False
    assert apply(Op.SELECT, Prim.BOOL, (True, False, True)) is False
    assert apply(Op.SELECT, Prim.F32, (False, 1.0, 2.0)) == 2.0


def test_operations_that_do_not_exist() -> None:
    for op, prim in [(Op.AND, Prim.F32), (Op.SQRT, Prim.I32), (Op.ADD, Prim.BOOL), (Op.FMA, Prim.I64),
                     (Op.QUOT, Prim.F64)]:  # fmt: skip
        assert not defined(op, prim)
        with pytest.raises(IRError):
            apply(op, prim, (1, 1))


def sample(prim: Prim) -> tuple[bool | int | float, ...]:
    if prim is Prim.BOOL:
        return (False, True)
    return (1.5, -0.25, 3.0) if prim.is_float else (1, int_range(prim)[1], 3)


@pytest.mark.parametrize("prim", Prim)
def test_every_operation_gives_a_value_of_its_result_type(prim: Prim) -> None:
    for op in (op for op in Op if defined(op, prim)):
        prims = operand_types(op, prim)
        assert len(prims) == arity(op)
        for args in itertools.product(*[sample(p)[:2] for p in prims]):
            result = result_type(op, prim)
            found = apply(op, prim, args)
            assert type(found) is (bool if result is Prim.BOOL else float if result.is_float else int), (op, args)
            if result.is_int:
                assert int_range(result)[0] <= found <= int_range(result)[1]
            elif result.is_float and math.isfinite(found):
                assert float(DTYPES[result].type(found)) == found


@pytest.mark.parametrize("source", INTS)
@pytest.mark.parametrize("target", INTS)
def test_integers_to_integers_keep_the_low_bits(source: Prim, target: Prim) -> None:
    lowest, highest = int_range(source)
    for x in (lowest, lowest + 1, -1 if lowest else 0, 0, 1, highest - 1, highest):
        assert convert(source, target, x) == fits(x, target)


@pytest.mark.parametrize("source", INTS)
@pytest.mark.parametrize("target", FLOATS)
def test_integers_to_floats_round_once(source: Prim, target: Prim) -> None:
    @given(st.integers(*int_range(source)))
    @settings(max_examples=25)
    @example(int_range(source)[1])
    def law(x: int) -> None:
        assert convert(source, target, x) == (nearest(Fraction(x), target) if x else 0.0)

    law()


def test_an_integer_that_would_round_twice() -> None:
    x = 2**60 + 2**36 + 1  # just above the middle of two f32
    assert convert(Prim.I64, Prim.F32, x) == 2.0**60 + 2.0**37
    assert convert(Prim.I64, Prim.F32, -x) == -(2.0**60 + 2.0**37)


@pytest.mark.parametrize("target", INTS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers_saturate(source: Prim, target: Prim) -> None:
    lowest, highest = -(1 << (target.bits - 1)), int_range(target)[1]
    for x in (math.nan, math.inf, -math.inf):
        assert convert(source, target, x) == 0
    for x in (0.9, -0.9, 1.5, -1.5, 100.75, 65504.0, -65504.0, 1e30, -1e30, 2.0**63, -(2.0**63)):
        saturated = min(max(math.trunc(Fraction(x)), lowest), highest)
        assert convert(source, target, x) == (saturated % (1 << target.bits) if target.is_unsigned else saturated)


@pytest.mark.parametrize("target", FLOATS)
def test_floats_to_floats_round(target: Prim) -> None:
    for x in (0.1, 1e5, 70000.0, 65520.0, 65519.9, 1e-8, 3.4028235677973366e38, 1e300, -1e300, 5e-324):
        assert convert(Prim.F64, target, x) == nearest(Fraction(x), target)
    assert math.isnan(convert(Prim.F64, target, math.nan))
    assert same_float(convert(Prim.F64, target, -0.0), -0.0)


def test_conversions_with_bool() -> None:
    assert [convert(Prim.BOOL, p, True) for p in (Prim.I8, Prim.U64, Prim.F16)] == [1, 1, 1.0]
    assert type(convert(Prim.BOOL, Prim.F32, True)) is float
    assert type(convert(Prim.BOOL, Prim.I32, True)) is int
    assert [convert(Prim.F32, Prim.BOOL, x) for x in (0.0, -0.0, 0.5, math.nan)] == [False, False, True, True]


def test_constants_have_the_width_of_their_type() -> None:
    assert constant(Prim.F32, 0.1).value == float(np.float32(0.1))
    assert constant(Prim.U8, -1).value == 255
    assert constant(Prim.BOOL, 1).value is True
    assert type(constant(Prim.F64, 1).value) is float


def test_texts_and_dtypes() -> None:
    assert text_of(Prim.F32, float(np.float32(0.1))) == "0.1"
    assert text_of(Prim.F64, 0.1) == "0.1"
    assert [text_of(Prim.BOOL, True), text_of(Prim.I8, -5), text_of(Prim.F16, math.inf)] == ["true", "-5", "inf"]
    assert all(prim_of(DTYPES[p]) is p for p in PRIMS)
    assert all(DTYPES[p].itemsize == p.bytes for p in PRIMS)
    assert prim_of(np.dtype("complex128")) is None


# ---- operators of one operation --------------------------------------------------------------------------------------

SOME = {
    Prim.BOOL: (False, True),
    Prim.I8: (-128, -3, -1, 0, 1, 2, 5, 127),
    Prim.U8: (0, 1, 2, 5, 128, 255),
    Prim.F32: (0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan),
}


@pytest.mark.parametrize("prim", SOME)
def test_an_operation_that_is_associative_commutes(prim: Prim) -> None:
    """If it has a neutral element (`copysign` has none): a collective may exchange the operands of one operation."""

    def holds(law, count: int) -> bool:
        return all(law(*args) for args in itertools.product(SOME[prim], repeat=count))

    def of(op: Op, x, y):
        return apply(op, prim, (x, y))

    def same(x, y) -> bool:
        return same_float(x, y) if prim.is_float else x == y

    found = set()
    for op in (op for op in Op if arity(op) == 2 and operand_types(op, prim) == (prim, prim)):
        if result_type(op, prim) is not prim:
            continue
        try:
            associative = holds(lambda x, y, z: same(of(op, of(op, x, y), z), of(op, x, of(op, y, z))), 3)  # noqa: B023
            commutes = holds(lambda x, y: same(of(op, x, y), of(op, y, x)), 2)  # noqa: B023
        except (ScalarFailure, KeyError, TypeError, IRError, OverflowError, ValueError):
            continue
        neutral = [e for e in SOME[prim] if all(same(of(op, e, x), x) and same(of(op, x, e), x) for x in SOME[prim])]
        found |= {op} if associative and neutral else set()
        assert commutes or op not in found, op
    assert {Op.MIN, Op.MAX} <= found or prim is Prim.BOOL
