"""Our own elementary functions: within 2 or 4 ulp of mpmath, special values by the rules of C."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.ops import Op, operand_types
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KLet, KLoad, KOp, KStm, KVar, Space, Store, Threads
from soac.kernels.passes.choose_lanes import LaneSettings
from tests.support.compiled_kernels import compile_kernels
from tests.support.kernel_interpreter import NO_CACHE, Runner

INDEX, N, BLOCK = KVar("i", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
COUNT = 1500
REFERENCE = {
    Op.EXP: mpmath.exp, Op.LOG: mpmath.log, Op.SIN: mpmath.sin, Op.COS: mpmath.cos, Op.TANH: mpmath.tanh,
    Op.POW: mpmath.power, Op.SINPI: mpmath.sinpi, Op.COSPI: mpmath.cospi, Op.EXP2: lambda x: mpmath.mpf(2) ** x,
    Op.LOG2: lambda x: mpmath.log(x, 2), Op.LOG10: mpmath.log10, Op.EXPM1: mpmath.expm1, Op.LOG1P: mpmath.log1p,
    Op.SINH: mpmath.sinh, Op.COSH: mpmath.cosh, Op.ASINH: mpmath.asinh, Op.ACOSH: mpmath.acosh, Op.ATANH: mpmath.atanh,
    Op.TAN: mpmath.tan, Op.ATAN: mpmath.atan, Op.ATAN2: mpmath.atan2, Op.ASIN: mpmath.asin, Op.ACOS: mpmath.acos,
    Op.CBRT: lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), Op.HYPOT: mpmath.hypot,
}  # fmt: skip
WITHIN_4 = (
    Op.EXPM1, Op.LOG1P, Op.SINH, Op.COSH, Op.ASINH, Op.ACOSH, Op.ATANH, Op.TAN, Op.ATAN, Op.ATAN2, Op.ASIN, Op.ACOS,
    Op.CBRT, Op.HYPOT,
)  # fmt: skip
FUNCTIONS = [(op, prim) for op in REFERENCE for prim in (Prim.F32, Prim.F64)]


@cache
def runners() -> dict[tuple[Op, Prim], Runner]:
    """All functions, compiled together."""
    kernels = {(op, prim): kernel_of(op, prim) for op, prim in FUNCTIONS}
    settings = LaneSettings(unroll=1, peel_limit=0)
    compiled = compile_kernels(tuple(kernels.values()), settings, NO_CACHE)
    return {key: Runner(kernel, compiled) for key, kernel in kernels.items()}


def kernel_of(op: Op, prim: Prim) -> Kernel:
    arrays = [KArray(f"a{k}", t, Space.GLOBAL) for k, t in enumerate(operand_types(op, prim))]
    out, y = KArray("out", prim, Space.GLOBAL), KVar("y", prim)
    xs = tuple(KVar(f"x{k}", prim) for k in range(len(arrays)))
    loads: list[KStm] = [KLet(x, KLoad(a, INDEX)) for x, a in zip(xs, arrays, strict=True)]
    body = (*loads, KLet(y, KOp(op, prim, xs)), Store(out, INDEX, y))
    name = f"{op.value}_{prim.value}"
    return Kernel(name, BLOCK, (*arrays, out), (N,), (Threads(INDEX, i64(0), N, body),), (), Level.BLOCK)


def computed(op: Op, prim: Prim, *columns: np.ndarray) -> np.ndarray:
    dtype = scalar.DTYPES[prim]
    arrays = {f"a{k}": np.ascontiguousarray(c, dtype) for k, c in enumerate(columns)}
    arrays["out"] = np.zeros(len(columns[0]), dtype)
    runners()[op, prim](arrays, {"n": len(columns[0])}, 1)
    return arrays["out"]


def points(op: Op, prim: Prim) -> tuple[np.ndarray, ...]:
    """Arguments that matter: spread over the range, close to hard places, subnormal."""
    rng = np.random.default_rng(5)
    double = prim is Prim.F64
    dtype = scalar.DTYPES[prim]
    signs = rng.choice([-1.0, 1.0], COUNT)
    exponents = rng.uniform(-300 if double else -37, 300 if double else 37, COUNT)
    match op:
        case Op.EXP:
            x = np.concatenate([rng.uniform(-745 if double else -103, 709.7 if double else 88.7, COUNT), signs * 1e-5])
        case Op.SINH | Op.COSH | Op.EXPM1:
            top = (709.7 if double else 88.7) + 0.6 * (op is not Op.EXPM1)
            x = np.concatenate([rng.uniform(-top, top, COUNT), rng.uniform(-1, 1, COUNT), signs * 10.0**-9])
        case Op.EXP2:
            x = np.concatenate(
                [rng.uniform(-1074 if double else -149, 1023 if double else 127, COUNT), np.arange(-9, 9)]
            )
        case Op.LOG | Op.LOG2 | Op.LOG10:
            tiny = 10 ** rng.uniform(-323 if double else -45, -307 if double else -38, 50)
            x = np.concatenate([10**exponents, 1 + rng.uniform(-0.3, 0.4, COUNT), 1 + 1e-6 * signs, tiny])
        case Op.SIN | Op.COS | Op.TAN:
            near = np.arange(1, COUNT) * (math.pi / 2)
            x = np.concatenate(
                [rng.uniform(-30, 30, COUNT), near, rng.uniform(-29e3, 29e3, COUNT), 10 ** exponents[:99]]
            )
        case Op.TANH:
            x = np.concatenate([rng.uniform(-20, 20, COUNT), rng.uniform(-1, 1, COUNT), signs * 10.0**-9])
        case Op.LOG1P | Op.ACOSH | Op.ASINH | Op.ATAN | Op.CBRT:
            x = np.concatenate([signs * 10**exponents, signs * 10 ** rng.uniform(-4, 2, COUNT)])
            lowest = {Op.LOG1P: -1, Op.ACOSH: 1}.get(op, -math.inf)
            x = np.concatenate([x[x > lowest], rng.uniform(max(lowest, -1), 3, COUNT)])
        case Op.ASIN | Op.ACOS | Op.ATANH:
            x = np.concatenate(
                [rng.uniform(-1, 1, COUNT), signs * (1 - 10.0 ** rng.uniform(-6, -1, COUNT)), signs * 1e-9]
            )
            x = x[np.abs(x.astype(dtype)) < 1]
        case Op.ATAN2 | Op.HYPOT:
            x, y = signs * 10**exponents, rng.choice([-1.0, 1.0], COUNT) * 10 ** rng.uniform(-2, 2, COUNT)
            y[::2] *= np.abs(x[::2]) * 1e-3
            return x.astype(dtype), y.astype(dtype)
        case Op.POW:
            return power_points(rng, dtype, double)
        case _:
            x = np.concatenate([rng.uniform(-3, 3, COUNT), rng.uniform(-1000, 1000, COUNT), np.arange(-9, 9) / 2])
    return (x.astype(dtype),)


def power_points(rng: np.random.Generator, dtype: np.dtype, double: bool) -> tuple[np.ndarray, ...]:
    """Results over the whole range, bases close to 1 with large exponents among them."""
    base = 10 ** rng.uniform(-10, 10, COUNT)
    base[::3] = 1 + rng.uniform(-0.2, 0.2, len(base[::3]))
    base[1::9] = 1 + 10 ** rng.uniform(-6, -3, len(base[1::9]))
    base = base.astype(dtype)
    logs = np.log(base.astype(np.float64))
    limit = 700 if double else 85
    target = rng.uniform(-limit, limit, COUNT)
    exponent = target / np.where(logs == 0, 1, logs)
    return base, exponent.astype(dtype)


@pytest.mark.parametrize("op, prim", FUNCTIONS, ids=lambda x: x.value)
def test_within_a_few_ulp(op: Op, prim: Prim) -> None:
    columns = points(op, prim)
    got = computed(op, prim, *columns)
    digits = np.finfo(got.dtype)
    worst, limit = 0.0, 4.0 if op in WITHIN_4 else 2.0
    with mpmath.workprec(400 if op in (Op.SIN, Op.COS, Op.TAN, Op.POW, Op.HYPOT, Op.LOG1P) else 160):
        for *xs, y in zip(*columns, got, strict=True):
            want = REFERENCE[op](*(mpmath.mpf(float(x)) for x in xs))
            unit = max(mpmath.mpf(2) ** (_exponent(want) - digits.nmant), mpmath.mpf(float(digits.smallest_subnormal)))
            error = float(abs(mpmath.mpf(float(y)) - want) / unit)
            assert error <= limit, (xs, float(y), float(want), error)
            worst = max(worst, error)
    assert worst > 0.0


def _exponent(x) -> int:
    return mpmath.frexp(x)[1] - 1 if x else -2000


INF, NAN = math.inf, math.nan
SPECIALS = {
    Op.EXP: [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e5, INF), (-1e5, 0.0)],
    Op.LOG: [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (NAN, NAN), (1.0, 0.0)],
    Op.SIN: [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    Op.COS: [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (NAN, NAN)],
    Op.EXP2: [(0.0, 1.0), (3.0, 8.0), (-2.0, 0.25), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e5, INF), (-1e5, 0.0)],
    Op.LOG2: [(0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN), (1.0, 0.0), (8.0, 3.0), (0.125, -3.0)],
    Op.LOG10: [(0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN), (1.0, 0.0), (1000.0, 3.0)],
    Op.EXPM1: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN), (1e5, INF), (-1e5, -1.0)],
    Op.LOG1P: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, -INF), (-2.0, NAN), (NAN, NAN), (-INF, NAN)],
    Op.SINH: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e5, INF)],
    Op.COSH: [(0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (-1e5, INF)],
    Op.ASINH: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    Op.ACOSH: [(1.0, 0.0), (INF, INF), (0.5, NAN), (-1e9, NAN), (-INF, NAN), (NAN, NAN)],
    Op.ATANH: [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (NAN, NAN)],
    Op.TAN: [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    Op.ATAN: [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (NAN, NAN), (1.0, math.pi / 4)],
    Op.ASIN: [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, NAN), (INF, NAN), (NAN, NAN)],
    Op.ACOS: [(1.0, 0.0), (-1.0, math.pi), (1.5, NAN), (-INF, NAN), (NAN, NAN)],
    Op.CBRT: [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-8.0, -2.0), (27.0, 3.0)],
    Op.TANH: [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (30.0, 1.0)],
}


@pytest.mark.parametrize("prim", [Prim.F32, Prim.F64], ids=lambda p: p.value)
@pytest.mark.parametrize("op", list(SPECIALS), ids=lambda op: op.value)
def test_special_values(op: Op, prim: Prim) -> None:
    xs, exact = zip(*SPECIALS[op], strict=True)
    wanted = np.array(exact, scalar.DTYPES[prim]).tolist()
    got = computed(op, prim, np.array(xs))
    for x, want, y in zip(xs, wanted, got.tolist(), strict=True):
        assert (math.isnan(want) and math.isnan(y)) or (y == want and math.copysign(1, y) == math.copysign(1, want)), x


@pytest.mark.parametrize("prim", [Prim.F32, Prim.F64], ids=lambda p: p.value)
@pytest.mark.parametrize("op, library", [(Op.ATAN2, math.atan2), (Op.HYPOT, math.hypot)], ids=["atan2", "hypot"])
def test_two_arguments_follow_c_at_the_edges(op: Op, library: Callable[[float, float], float], prim: Prim) -> None:
    edge = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.5]
    xs, ys = (np.array(c) for c in zip(*[(x, y) for x in edge for y in edge], strict=True))
    wanted = np.array(list(map(library, xs, ys)), scalar.DTYPES[prim])
    got = computed(op, prim, xs, ys)
    np.testing.assert_allclose(got, wanted, rtol=2 * np.finfo(got.dtype).eps, atol=0)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(wanted)], np.signbit(wanted)[~np.isnan(wanted)])


@pytest.mark.parametrize("prim", [Prim.F32, Prim.F64], ids=lambda p: p.value)
def test_pow_follows_c_at_the_edges(prim: Prim) -> None:
    edge = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, INF, -INF, NAN, 1e30, -1e30, 2.5]
    xs, ys = (np.array(c) for c in zip(*[(x, y) for x in edge for y in edge], strict=True))
    got = computed(Op.POW, prim, xs, ys).tolist()
    with np.errstate(all="ignore"):
        wanted = np.power(xs.astype(scalar.DTYPES[prim]), ys.astype(scalar.DTYPES[prim])).tolist()
    for x, y, g, w in zip(xs, ys, got, wanted, strict=True):
        close = math.isclose(g, w, rel_tol=1e-6) if math.isfinite(w) else g == w
        assert (math.isnan(g) and math.isnan(w)) or (close and math.copysign(1, g) == math.copysign(1, w)), (x, y, g, w)
