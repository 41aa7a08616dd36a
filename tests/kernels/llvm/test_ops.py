"""Every operation and conversion at every type against `ir/scalar.py`, on vectors and on scalars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.floats import DIGITS, LARGEST
from soac.ir.ops import DIVISIONS, Op, operand_types, result_type
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KConvert, KLet, KLoad, KOp, KStm, KVar, Operand, Space, Store
from soac.kernels.llvm.integers import divide
from soac.kernels.llvm.text import SCALAR, Code, Module, Vec
from soac.kernels.passes.choose_lanes import LaneSettings
from tests.support.compiled_kernels import compile_kernels
from tests.support.kernel_interpreter import NO_CACHE, Runner
from tests.support.prims import EACH, PRIMS

Value = bool | int | float
Row = tuple[Value, ...]
RhsOf = Callable[[tuple[Operand, ...]], kir.Rhs]

INDEX, N, BLOCK = KVar("i", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
GO = KArray("go", Prim.BOOL, Space.GLOBAL)
LANES = LaneSettings(width=8, unroll=1, peel_limit=0)

ELEMENTARY = frozenset(
    {
        Op.POW, Op.RSQRT, Op.CBRT, Op.EXP, Op.EXP2, Op.EXP10, Op.EXPM1, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P, Op.SIN,
        Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.SINH, Op.COSH, Op.TANH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.SINPI,
        Op.COSPI, Op.TANPI, Op.ATAN2, Op.HYPOT, Op.GAMMA, Op.LGAMMA, Op.ERF, Op.ERFC,
    }
)  # fmt: skip
"""Operations that are right within 4 ulp; the others are exact."""


def samples(prim: Prim) -> list[Value]:
    if prim is Prim.BOOL:
        return [False, True]
    if prim.is_int:
        lowest, highest = scalar.int_range(prim)
        near = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, 127, (1 << 24) + 1, (1 << 53) + 1]
        values = [*near, *(-x for x in near), lowest, lowest + 1, highest, highest - 1, highest // 3, lowest // 3]
        return [x for x in dict.fromkeys(values) if lowest <= x <= highest]
    values = [0.0, 1.0, 0.5, 0.1, 2.0, 2.5, 3.5, 1.5, 7.25, 88.0, 300.7, 1e4, 1e-3, 6e-8, 65504.0, 1e30, 1e-40, 1e308]
    values += [math.inf, 2.0**31, 2.0**63, 127.5, 255.5, 1 + 2.0**-10, 1 + 2.0**-23, 5e-324]
    both = [scalar.convert(Prim.F64, prim, s * x) for x in values for s in (1.0, -1.0)]
    return [*both, math.nan]


def convertible(source: Prim) -> list[Row]:
    """Samples, and small and large numbers in the middle between two of each float type, and beside them."""
    values = samples(source)
    for digits in (DIGITS[target] for target in PRIMS if target.is_float):
        for odd in (1 << digits | 1, 1 << digits | 3):
            if source.is_float:
                tiny = 2.0 ** -DIGITS[source]
                values += [scalar.convert(Prim.F64, source, odd / 2.0**digits + d * tiny) for d in (-2, -1, 0, 1, 2)]
            elif source is not Prim.BOOL:
                most = scalar.int_range(source)[1].bit_length() - digits - 1
                tops = [odd << s for s in {0, 1, most} if s >= 0]
                values += [x + d for x in tops for d in (-1, 0, 1) if x + d <= scalar.int_range(source)[1]]
    return [(x,) for x in dict.fromkeys(values)]


def arguments(op: Op, prim: Prim) -> list[Row]:
    """Combinations of samples that have a value; thinned out for three operands."""
    columns = [samples(t) for t in operand_types(op, prim)]
    if op is Op.LDEXP:
        columns[1] = [0, 1, -1, 5, -5, 24, -30, 127, -149, 160, -160, 1023, -1022, -1074, -1080, 2000, -2000, 2**31 - 1]
    rows = list(itertools.product(*columns))
    if len(rows) > 3000:
        keep = np.random.default_rng(0).permutation(len(rows))[:3000]
        rows = [rows[k] for k in sorted(keep)]
    if prim.is_int and op in DIVISIONS:
        rows += beside_multiples(prim)
    return [row for row in rows if _has_value(op, prim, row)]


def beside_multiples(prim: Prim) -> list[Row]:
    """Numbers beside multiples of others, of all lengths: their quotients are beside integers."""
    (lowest, highest), rows = scalar.int_range(prim), list[Row]()
    random = np.random.default_rng(0)
    for of_divisor, length in itertools.combinations(range(highest.bit_length() + 1), 2):
        y = (1 << of_divisor) | int(random.integers(1 << of_divisor))
        x = ((1 << length) - 1) // y * y + int(random.integers(-1, 2))
        rows += [(s * x, t * y) for s, t in ((1, 1), (-1, 1), (1, -1)) if prim.is_signed or s * t > 0]
    return [row for row in rows if all(lowest <= v <= highest for v in row)]


def _has_value(op: Op, prim: Prim, row: Row) -> bool:
    try:
        scalar.apply(op, prim, row)
    except scalar.ScalarFailure:
        return False
    return True


def operations(prim: Prim) -> list[Op]:
    return [op for op in Op if scalar.defined(op, prim)]


def kernel_of(name: str, rhss: Sequence[RhsOf], types: tuple[Prim, ...], results: Sequence[Prim]) -> kir.Kernel:
    """`out_k[i] = rhs_k(a_0[i], ..)` for i < n: block 0 in lanes, block 1 one after the other (with a check in the
    loop, so that LLVM makes no vectors of it)."""
    arrays = tuple(KArray(f"{name}_a{k}", t, Space.GLOBAL) for k, t in enumerate(types))
    outs = tuple(KArray(f"{name}_out{k}", t, Space.GLOBAL) for k, t in enumerate(results))

    def body(prefix: str) -> tuple[KStm, ...]:
        operands = tuple(KVar(f"{prefix}{k}", array.prim) for k, array in enumerate(arrays))
        stms: list[KStm] = [KLet(x, KLoad(a, INDEX)) for x, a in zip(operands, arrays, strict=True)]
        for k, (rhs_of, out) in enumerate(zip(rhss, outs, strict=True)):
            value = KVar(f"{prefix}y{k}", out.prim)
            stms += [KLet(value, rhs_of(operands)), Store(out, INDEX, value)]
        return tuple(stms)

    lanes = kir.Threads(INDEX, i64(0), N, body("x"))
    go = KVar("go", Prim.BOOL)
    slow = kir.For(INDEX, N, (KLet(go, KLoad(GO, INDEX)), kir.Check(go, 0, ()), *body("u")))
    first = KVar("first", Prim.BOOL)
    choice = kir.KIf(first, (lanes,), (slow,))
    which = KLet(first, KOp(Op.EQ, Prim.I64, (BLOCK, i64(0))))
    return kir.Kernel(name, BLOCK, (GO, *arrays, *outs), (N,), (which, choice), (), Level.BLOCK)


def run_both(runner: Runner, inputs: int, rows: list[Row]) -> list[list[list[Value]]]:
    """For both blocks the values of each output."""
    _, *arrays = runner.kernel.arrays
    data = {"go": np.ones(len(rows), np.bool_)}
    for array, column in zip(arrays[:inputs], zip(*rows, strict=True), strict=True):
        data[array.name] = np.array(column, scalar.DTYPES[array.prim])
    found = []
    for block in (0, 1):
        for out in arrays[inputs:]:
            data[out.name] = np.zeros(len(rows), scalar.DTYPES[out.prim])
        record = runner(data, {"n": len(rows)}, 1, block)
        assert record[0] == 0
        found.append([data[out.name].tolist() for out in arrays[inputs:]])
    return found


def same(got: Value, want: Value, prim: Prim, ulps: float, scale: float = 0.0) -> bool:
    """Equal, or within `ulps` of `want` (or of `scale`, if that is larger)."""
    if not prim.is_float:
        return got == want
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if got == want:
        return got != 0.0 or math.copysign(1.0, got) == math.copysign(1.0, want)
    if not ulps:
        return False
    largest = LARGEST[prim]
    if math.isinf(want) or math.isinf(got):
        return min(abs(want), largest) == min(abs(got), largest) and want * got > 0
    size = max(abs(want), scale)
    unit = scalar.apply(Op.NEXTAFTER, prim, (scalar.convert(Prim.F64, prim, size), math.inf)) - size
    return abs(got - want) <= ulps * unit


@pytest.mark.parametrize("prim", EACH)
def test_operations(prim: Prim) -> None:
    ops = operations(prim)
    kernels = tuple(
        kernel_of(op.value, [lambda xs, op=op: KOp(op, prim, xs)], operand_types(op, prim), [result_type(op, prim)])
        for op in ops
    )
    compiled = compile_kernels(kernels, LANES, NO_CACHE)
    wrong: list[str] = []
    for op, kernel in zip(ops, kernels, strict=True):
        wrong += disagreements(op, prim, Runner(kernel, compiled))
    assert not wrong, "\n".join(wrong[:40])


def disagreements(op: Op, prim: Prim, runner: Runner) -> list[str]:
    rows, wrong = arguments(op, prim), []
    ulps = 4.0 if op in ELEMENTARY else 0.0
    scale = 1.0 if op is Op.LGAMMA else 0.0  # near its zeros Python's own lgamma is not better
    wanted = [scalar.apply(op, prim, row) for row in rows]
    for (values,), how in zip(run_both(runner, len(rows[0]), rows), ("lanes", "scalars"), strict=True):
        for row, want, got in zip(rows, wanted, values, strict=True):
            if op is Op.NEXTAFTER and row == (0.0, 0.0):
                continue  # C gives the second zero, NumPy's half the first
            if not same(got, want, result_type(op, prim), ulps, scale):
                wrong.append(f"{op.value}_{prim.value}{row} = {want}, {how} say {got}")
    return wrong[:6]


@pytest.mark.parametrize("source", PRIMS, ids=lambda p: p.value)
def test_conversions(source: Prim) -> None:
    rows = convertible(source)
    if source.is_float:
        ties = (65519.9, 65520.0, 2049.0, 2051.0, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 3 * 2.0**-25, 2.0**-25)
        rows += [(scalar.convert(Prim.F64, source, x),) for x in ties]
    targets = PRIMS
    kernel = kernel_of("to", [lambda xs, t=t: KConvert(source, t, xs[0]) for t in targets], (source,), targets)
    runner = Runner(kernel, compile_kernels((kernel,), LANES, NO_CACHE))
    for columns in run_both(runner, 1, rows):
        for target, column in zip(targets, columns, strict=True):
            for row, got in zip(rows, column, strict=True):
                want = scalar.convert(source, target, row[0])
                assert same(got, want, target, 0.0), (source, target, row, want, got)


@pytest.mark.parametrize("prim", [Prim.I32, Prim.U32, Prim.I64, Prim.U64])
def test_rests_of_counters_that_wrap_around_are_not_divided(prim: Prim) -> None:
    """A branch and a difference stand before the division of a scalar."""
    code = Code(Module())
    divide(Vec(code, SCALAR), Op.MOD, prim, "%x", "%n")
    branch, division = (next(k for k, line in enumerate(code.lines) if word in line) for word in ("br i1", "rem i"))
    assert branch < division
    assert any("@llvm.umin" in line for line in code.lines[:branch])
