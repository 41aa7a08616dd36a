"""Powers with the same exponent in all lanes: within 2 ulp of mpmath, by the rules of C at the edges. Powers of one
base have the bits of any power."""

from __future__ import annotations

import math
import re
from functools import cache

import mpmath
import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KLet, KLoad, KOp, KVar, Space, Store, Threads
from soac.kernels.lanes.module import emit
from soac.kernels.passes.choose_lanes import LaneSettings
from soac.kernels.passes.pipeline import all_ready, cpu_passes
from tests.support.compiled_kernels import compile_kernels
from tests.support.kernel_interpreter import NO_CACHE, Runner

INDEX, N, BLOCK = KVar("i", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
FLOATS = [Prim.F32, Prim.F64]
INF, NAN = math.inf, math.nan


@cache
def runner(prim: Prim) -> Runner:
    """out[i] = xs[i] ** ys[0]"""
    xs, ys, out = (KArray(name, prim, Space.GLOBAL) for name in ("xs", "ys", "out"))
    x, y, z = (KVar(name, prim) for name in "xyz")
    body = (KLet(x, KLoad(xs, INDEX)), KLet(z, KOp(Op.POW, prim, (x, y))), Store(out, INDEX, z))
    stms = (KLet(y, KLoad(ys, i64(0))), Threads(INDEX, i64(0), N, body))
    kernel = Kernel(f"powers_{prim.value}", BLOCK, (xs, ys, out), (N,), stms, (), Level.BLOCK)
    return Runner(kernel, compile_kernels((kernel,), LaneSettings(unroll=1, peel_limit=0), NO_CACHE))


def powers(prim: Prim, xs: np.ndarray, exponent: float) -> np.ndarray:
    dtype = scalar.DTYPES[prim]
    arrays = {"xs": xs.astype(dtype), "ys": np.array([exponent], dtype), "out": np.zeros(len(xs), dtype)}
    runner(prim)(arrays, {"n": len(xs)}, 1)
    return arrays["out"]


@pytest.mark.parametrize("exponent", [2, 3, 5, 7, 12, 31, 63, 64, 65, -1, -2, -6, -12, -63, -64, 0.5, 2.5])
@pytest.mark.parametrize("prim", FLOATS, ids=lambda p: p.value)
def test_within_two_ulp(prim: Prim, exponent: float) -> None:
    """Results over the whole range, and where a product or its inverse is subnormal or infinite."""
    random = np.random.default_rng(3)
    top = (1020 if prim is Prim.F64 else 126) / max(1, abs(exponent))
    xs = np.concatenate([2 ** random.uniform(-top, top, 150), 1 + random.uniform(-0.1, 0.1, 150), 2.0 ** -np.arange(9)])
    if float(exponent).is_integer():
        xs[::2] *= -1
    xs = np.concatenate([xs, 2.0 ** (np.arange(-23, 8) / abs(exponent) - top)]).astype(scalar.DTYPES[prim])
    got, digits = powers(prim, xs, exponent), np.finfo(scalar.DTYPES[prim])
    with mpmath.workprec(400):
        for x, y in zip(xs, got, strict=True):
            want = mpmath.power(mpmath.mpf(float(x)), mpmath.mpf(exponent))
            if abs(want) > float(digits.max):
                assert abs(y) in (INF, digits.max), (x, y)
                continue
            unit = max(mpmath.mpf(2) ** (mpmath.frexp(want)[1] - 1 - digits.nmant), float(digits.smallest_subnormal))
            assert abs(mpmath.mpf(float(y)) - want) <= 2 * unit, (float(x), exponent, float(y), float(want))


@pytest.mark.parametrize("prim", FLOATS, ids=lambda p: p.value)
def test_follows_c_at_the_edges(prim: Prim) -> None:
    edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, INF, -INF, NAN, 1e30, -1e30, 2.5, 64.0, -64.0]
    xs = np.array(edges)
    for y in edges:
        with np.errstate(all="ignore"):
            wanted = np.power(xs.astype(scalar.DTYPES[prim]), np.full(len(xs), y, scalar.DTYPES[prim])).tolist()
        for x, g, w in zip(xs, powers(prim, xs, y).tolist(), wanted, strict=True):
            close = math.isclose(g, w, rel_tol=1e-6) if math.isfinite(w) else g == w
            signs = math.copysign(1, g) == math.copysign(1, w)
            assert (math.isnan(g) and math.isnan(w)) or (close and signs), (x, y, g, w)


@cache
def of_bases(prim: Prim) -> Runner:
    """out[i] = ys[0] ** xs[i], any[i] = zs[i] ** xs[i]"""
    xs, ys, zs, out, any_ = (KArray(name, prim, Space.GLOBAL) for name in ("xs", "ys", "zs", "out", "any"))
    x, y, z, p, q = (KVar(name, prim) for name in "xyzpq")
    body = (
        KLet(x, KLoad(xs, INDEX)),
        KLet(z, KLoad(zs, INDEX)),
        KLet(p, KOp(Op.POW, prim, (y, x))),
        KLet(q, KOp(Op.POW, prim, (z, x))),
        Store(out, INDEX, p),
        Store(any_, INDEX, q),
    )
    stms = (KLet(y, KLoad(ys, i64(0))), Threads(INDEX, i64(0), N, body))
    kernel = Kernel(f"bases_{prim.value}", BLOCK, (xs, ys, zs, out, any_), (N,), stms, (), Level.BLOCK)
    return Runner(kernel, compile_kernels((kernel,), LaneSettings(unroll=1, peel_limit=0), NO_CACHE))


@pytest.mark.parametrize("prim", FLOATS, ids=lambda p: p.value)
def test_powers_of_one_base_have_the_bits_of_any(prim: Prim) -> None:
    """Also for zeros, ones, infinities, nan, subnormal bases, and results over the whole range."""
    random, dtype, digits = np.random.default_rng(5), scalar.DTYPES[prim], np.finfo(scalar.DTYPES[prim])
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        0.5,
        -0.5,
        INF,
        -INF,
        NAN,
        1e30,
        -1e30,
        2.5,
        64.0,
        float(digits.tiny),
    ]
    xs = np.concatenate([edges, np.arange(-40, 40), random.uniform(-1100, 1100, 120)]).astype(dtype)
    for base in (*edges, float(digits.smallest_subnormal), 1.0001, 0.99, 1.5, -7.0, 10.0):
        for n in (0, 1, 17, len(xs)):
            arrays = {
                "xs": xs[:n],
                "ys": np.array([base], dtype),
                "zs": np.full(n, base, dtype),
                "out": np.zeros(n, dtype),
                "any": np.zeros(n, dtype),
            }
            of_bases(prim)(arrays, {"n": n}, 1)
            assert arrays["out"].tobytes() == arrays["any"].tobytes(), (base, n)


@pytest.mark.parametrize("prim", FLOATS, ids=lambda p: p.value)
def test_finds_the_logarithm_of_one_base_by_a_scalar(prim: Prim) -> None:
    text = emit(all_ready((of_bases(prim).kernel,), cpu_passes(LaneSettings(unroll=1, peel_limit=0))))
    (logs,) = re.findall(rf"call .* @soac.logs.{prim.value}\(.*\)", text)
    assert re.search(rf"\({'double' if prim is Prim.F64 else 'float'} %", logs)
