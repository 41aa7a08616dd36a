"""Lanes construct by construct: accesses, collectives in order, scratch memory, atomics, failure records."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.errors import NOWHERE
from soac.ir.ops import Op
from soac.ir.scalar import DTYPES
from soac.ir.types import Const, Prim, i64
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.kernel_ir.nodes import (
    Alloc,
    Assign,
    Atomic,
    BlockReduce,
    BlockScan,
    BoundsCheck,
    Check,
    Declare,
    FailureSite,
    Fence,
    For,
    KArray,
    KConvert,
    Kernel,
    KIf,
    KLambda,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    LaneShape,
    LoadRow,
    Operand,
    Space,
    Store,
    StoreRow,
    Threads,
)
from soac.kernels.lanes.module import emit
from soac.kernels.passes.choose_lanes import (
    LONG_ROW,
    LONG_ROW_OF_BYTES,
    LaneSettings,
    choose_lanes,
    fitted,
    has_long_rows,
)
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from tests.support.kernel_interpreter import ARENA_BYTES, compiled, failure_of, interpret
from tests.support.prims import PRIMS

I64, I32, U32, F32, BOOL = Prim.I64, Prim.I32, Prim.U32, Prim.F32, Prim.BOOL
B, N, IX = KVar("b", I64), KVar("n", I64), KVar("i", I64)
SIZES = (0, 1, 3, 8, 9, 15, 16, 17, 32, 33, 63, 64, 65, 129)
SHAPES = [
    LaneSettings(width=16, unroll=1),
    LaneSettings(width=8, unroll=4),
    LaneSettings(width=4, unroll=2),
    LaneSettings(width=16, unroll=2, peel_limit=0),
]
shapes = pytest.mark.parametrize(
    "settings", SHAPES, ids=lambda s: f"{s.width}x{s.unroll}{'m' if s.peel_limit == 0 else ''}"
)


def glob(name: str, prim: Prim) -> KArray:
    return KArray(name, prim, Space.GLOBAL)


def var(name: str, prim: Prim = I64) -> KVar:
    return KVar(name, prim)


def op(name: KVar, op_: Op, *args: Operand, at: Prim | None = None) -> KLet:
    return KLet(name, KOp(op_, at or name.prim, args))


def kernel(arrays: tuple[KArray, ...], *body: KStm, scalars: tuple[KVar, ...] = (N,)) -> Kernel:
    return Kernel("k", B, arrays, scalars, body, (), Level.BLOCK)


def agree(k: Kernel, settings: LaneSettings, make, sizes=SIZES, blocks: int = 1) -> None:
    """Lanes equal the interpreter for every size; `make` gives the arrays for a size."""
    run = compiled(k, settings)
    for n in sizes:
        ours = make(n)
        theirs = {name: a.copy() for name, a in ours.items()}
        assert interpret(k, theirs, {"n": n}, blocks) == set()
        assert run(ours, {"n": n}, blocks)[0] == 0
        for name, want in theirs.items():
            np.testing.assert_array_equal(ours[name], want, f"{name}, n = {n}")


def random(prim: Prim, count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 100, max(1, count)).astype(DTYPES[prim])


# ---- accesses -------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("prim", [Prim.F32, Prim.BOOL, Prim.F16, Prim.U8], ids=lambda p: p.value)
def test_reversed_and_strided_accesses(settings: LaneSettings, prim: Prim) -> None:
    """y[i] = x[n-1-i]; z[n-1-i] = x[3i+1]; w[i] = x[i] at odd i"""
    x, y, z, w = (glob(c, prim) for c in "xyzw")
    last, back, step, at, bit, odd = var("last"), var("back"), var("step"), var("at"), var("bit"), var("odd", BOOL)
    a, b, c = (var(f"v{k}", prim) for k in range(3))
    body = (
        op(last, Op.SUB, N, i64(1)),
        op(back, Op.SUB, last, IX),
        op(step, Op.MUL, IX, i64(3)),
        op(at, Op.ADD, step, i64(1)),
        KLet(a, KLoad(x, back)),
        Store(y, IX, a),
        KLet(b, KLoad(x, at)),
        Store(z, back, b),
        op(bit, Op.AND, IX, i64(1)),
        op(odd, Op.EQ, bit, i64(1), at=I64),
        KIf(odd, (KLet(c, KLoad(x, back)), Store(w, back, c)), ()),
    )
    make = lambda n: {"x": random(prim, 3 * n + 2)} | {c: np.zeros(max(1, n), DTYPES[prim]) for c in "yzw"}  # noqa: E731
    agree(kernel((x, y, z, w), Threads(IX, i64(0), N, body)), settings, make)


def test_contiguous_code_has_no_gathers() -> None:
    """y[2n + i] = x[(b*n + i)*1 + 5] is a plain load and store."""
    x, y = glob("x", F32), glob("y", F32)
    row, at, moved, to, two, v = var("row"), var("at"), var("moved"), var("to"), var("two"), var("v", F32)
    body = (
        op(row, Op.MUL, B, N),
        op(at, Op.ADD, IX, row),
        op(moved, Op.ADD, at, i64(5)),
        op(two, Op.MUL, N, i64(2)),
        op(to, Op.ADD, two, IX),
        KLet(v, KLoad(x, moved)),
        Store(y, to, v),
    )
    text = emit(all_ready((kernel((x, y), Threads(IX, i64(0), N, body)),), CPU_PASSES))
    assert "gather" not in text
    assert "scatter" not in text


def test_rows_of_a_last_group_have_no_gathers() -> None:
    """y[2i], y[2i + 1] = x[3i], x[3i + 2]: the group in which lanes are off loads and stores vectors too."""
    x, y = glob("x", F32), glob("y", F32)
    names = three, last, two, odd = var("three"), var("last"), var("two"), var("odd")
    a, b = var("a", F32), var("b", F32)
    sums = ((Op.MUL, IX, i64(3)), (Op.ADD, three, i64(2)), (Op.MUL, IX, i64(2)), (Op.ADD, two, i64(1)))
    body = (
        *(op(name, *made) for name, made in zip(names, sums, strict=True)),
        KLet(a, KLoad(x, three)),
        KLet(b, KLoad(x, last)),
        Store(y, two, a),
        Store(y, odd, b),
    )
    rows = kernel((x, y), Threads(IX, i64(0), N, body))
    text = emit(all_ready((rows,), CPU_PASSES))
    assert "masked.load" in text
    assert "gather" not in text
    assert "scatter" not in text
    agree(rows, LaneSettings(), lambda n: {"x": random(F32, 3 * n), "y": np.zeros(max(1, 2 * n), np.float32)})


@shapes
def test_indices_through_narrower_integers(settings: LaneSettings) -> None:
    """x[i64(i32(i))] for the thread index, and x[i64(u8(i*7))], which wraps."""
    x, y, z = glob("x", I32), glob("y", I32), glob("z", I32)
    small, wide, seven = var("small", I32), var("wide"), var("seven")
    byte, back, v, w = var("byte", Prim.U8), var("back"), var("v", I32), var("w", I32)
    body = (
        KLet(small, KConvert(I64, I32, IX)),
        KLet(wide, KConvert(I32, I64, small)),
        KLet(v, KLoad(x, wide)),
        Store(y, IX, v),
        op(seven, Op.MUL, IX, i64(7)),
        KLet(byte, KConvert(I64, Prim.U8, seven)),
        KLet(back, KConvert(Prim.U8, I64, byte)),
        KLet(w, KLoad(x, back)),
        Store(z, IX, w),
    )
    make = lambda n: {"x": random(I32, 300), "y": np.zeros(n + 1, np.int32), "z": np.zeros(n + 1, np.int32)}  # noqa: E731
    agree(kernel((x, y, z), Threads(IX, i64(0), N, body)), settings, make)


def test_scalars_of_every_type_arrive() -> None:
    values = {
        "i8": -3, "i16": -300, "i32": -70000, "i64": -(1 << 40), "u8": 200, "u16": 60000, "u32": 4_000_000_000,
        "u64": (1 << 64) - 5, "f16": 0.5, "f32": 1.25, "f64": 1e-300, "bool": True,
    }  # fmt: skip
    scalars = tuple(var(f"s_{name}", Prim(name)) for name in values)
    outs = tuple(glob(f"o_{name}", Prim(name)) for name in values)
    k = kernel(outs, *(Store(o, i64(0), s) for o, s in zip(outs, scalars, strict=True)), scalars=scalars)
    arrays = {f"o_{name}": np.zeros(1, DTYPES[Prim(name)]) for name in values}
    compiled(k, LaneSettings())(arrays, {f"s_{name}": x for name, x in values.items()}, 1)
    assert {name: arrays[f"o_{name}"][0].item() for name in values} == values


# ---- collectives ----------------------------------------------------------------------------------------------------


def affine_composition() -> KLambda:
    """(a, b) then (c, d): x -> c(ax + b) + d, modulo 2^32; not commutative. With control, to see it work in lanes."""
    a, b, c, d = (var(f"m{k}", U32) for k in "abcd")
    p, q, r, zero = var("p", U32), var("q", U32), var("r", U32), var("zero", BOOL)
    body = (
        op(p, Op.MUL, a, c),
        Declare(r, d),
        op(zero, Op.EQ, c, Const(U32, 0), at=U32),
        KIf(zero, (), (op(q, Op.MUL, b, c), op(var("s", U32), Op.ADD, q, d), Assign(r, var("s", U32)))),
    )
    return KLambda((a, b), (c, d), body, (p, r))


ONE_ZERO = (Const(U32, 1), Const(U32, 0))
XA, XB, OA, OB = glob("xa", U32), glob("xb", U32), glob("oa", U32), glob("ob", U32)
VA, VB = var("va", U32), var("vb", U32)
LOADS = (KLet(VA, KLoad(XA, IX)), KLet(VB, KLoad(XB, IX)))


def affine_inputs(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    ins = {c: rng.integers(0, 1 << 32, max(1, n), dtype=np.uint32) for c in ("xa", "xb")}
    ins["xa"] |= 1
    return ins | {c: np.zeros(n + 1, np.uint32) for c in ("oa", "ob")}


@shapes
def test_reductions_keep_the_order_of_the_threads(settings: LaneSettings) -> None:
    ra, rb = var("ra", U32), var("rb", U32)
    reduce = BlockReduce((ra, rb), IX, i64(0), N, LOADS, (VA, VB), affine_composition(), ONE_ZERO, False)
    k = kernel((XA, XB, OA, OB), reduce, Store(OA, i64(0), ra), Store(OB, i64(0), rb))
    agree(k, settings, affine_inputs)


@shapes
def test_scans_keep_the_order_and_carry_on(settings: LaneSettings) -> None:
    """Two scans, the second from the carry of the first."""
    sa, sb, ca, cb = (var(f"t{k}", U32) for k in range(4))
    after = (Store(OA, IX, sa), Store(OB, IX, sb))
    half = var("half")
    first = BlockScan(
        (sa, sb), (ca, cb), IX, i64(0), half, LOADS, (VA, VB), affine_composition(), ONE_ZERO, ONE_ZERO, after
    )
    s2 = tuple(var(f"z{k}", U32) for k in range(4))
    second = BlockScan(
        s2[:2], s2[2:], var("j"), half, N,
        (KLet(var("wa", U32), KLoad(XA, var("j"))), KLet(var("wb", U32), KLoad(XB, var("j")))),
        (var("wa", U32), var("wb", U32)), affine_composition_named("n"), (ca, cb), ONE_ZERO,
        (Store(OA, var("j"), s2[0]), Store(OB, var("j"), s2[1])),
    )  # fmt: skip
    last = (Store(OA, N, s2[2]), Store(OB, N, s2[3]))
    k = kernel((XA, XB, OA, OB), op(half, Op.QUOT, N, i64(2)), first, second, *last)
    agree(k, settings, affine_inputs)


def affine_composition_named(prefix: str) -> KLambda:
    a, b, c, d, p, q, r = (var(f"{prefix}{k}", U32) for k in range(7))
    return KLambda((a, b), (c, d), (op(p, Op.MUL, a, c), op(q, Op.MUL, b, c), op(r, Op.ADD, q, d)), (p, r))


@shapes
def test_argmin_of_rows_in_a_uniform_loop(settings: LaneSettings) -> None:
    """for r < 5: reduce (value, index) by smaller value, then smaller index; constant bounds inside."""
    x, best, where = glob("x", F32), glob("best", F32), glob("where", I64)
    v, w, p, q = var("v", F32), var("w", F32), var("p"), var("q")
    less, equal, before, tie, first = (var(f"c{k}", BOOL) for k in range(5))
    rv, rp = var("rv", F32), var("rp")
    choose = KLambda(
        (v, p), (w, q),
        (
            op(less, Op.LT, v, w, at=F32), op(equal, Op.EQ, v, w, at=F32), op(before, Op.LT, p, q, at=I64),
            op(tie, Op.AND, equal, before), op(first, Op.OR, less, tie), KLet(rv, KOp(Op.SELECT, F32, (first, v, w))),
            KLet(rp, KOp(Op.SELECT, I64, (first, p, q))),
        ),
        (rv, rp),
    )  # fmt: skip
    row, at, y, r, ov, oi = var("row"), var("at"), var("y", F32), var("r"), var("ov", F32), var("oi")
    neutral = Const(F32, float("inf")), i64(1 << 60)
    inner = (op(at, Op.ADD, row, IX), KLet(y, KLoad(x, at)))
    body = (
        op(row, Op.MUL, r, N),
        BlockReduce((ov, oi), IX, i64(0), N, inner, (y, IX), choose, neutral, True),
        Store(best, r, ov),
        Store(where, r, oi),
    )
    k = kernel((x, best, where), For(r, i64(5), body))
    make = lambda n: {"x": random(F32, 5 * n), "best": np.zeros(5, np.float32), "where": np.zeros(5, np.int64)}  # noqa: E731
    agree(k, settings, make)


# ---- scratch memory -------------------------------------------------------------------------------------------------


@shapes
def test_shared_arrays_are_seen_by_the_whole_block(settings: LaneSettings) -> None:
    """Threads fill an array of dynamic size, then read it backwards; the same memory serves the next iteration."""
    y, tmp = glob("y", I64), KArray("tmp", I64, Space.SHARED)
    r, v, last, back, w, at, row = (var(c) for c in ("r", "v", "last", "back", "w", "at", "row"))
    j = var("j")
    fill = (op(v, Op.MUL, IX, r), Store(tmp, IX, v))
    read = (
        op(back, Op.SUB, last, j),
        KLet(w, KLoad(tmp, back)),
        op(at, Op.ADD, row, j),
        Store(y, at, w),
    )
    body = (
        Alloc(tmp, N),
        Threads(IX, i64(0), N, fill),
        Fence(),
        op(last, Op.SUB, N, i64(1)),
        op(row, Op.MUL, r, N),
        Threads(j, i64(0), N, read),
    )
    k = kernel((y,), For(r, i64(100), body))
    agree(k, settings, lambda n: {"y": np.zeros(100 * n + 1, np.int64)}, sizes=(0, 1, 33, 100))


@shapes
def test_private_arrays_of_varying_size(settings: LaneSettings) -> None:
    """Each thread has i+1 elements, filled in one loop and summed in another under a varying bound."""
    y, mine = glob("y", I32), KArray("mine", I32, Space.PRIVATE)
    count, k1, k2, x = var("count"), var("k1"), var("k2"), var("x", I32)
    total, total2, v = var("total", I32), var("total2", I32), var("v", I32)
    body = (
        op(count, Op.ADD, IX, i64(1)),
        Alloc(mine, count),
        For(k1, count, (KLet(x, KConvert(I64, I32, k1)), Store(mine, k1, x))),
        Declare(total, Const(I32, 0)),
        For(k2, count, (KLet(v, KLoad(mine, k2)), op(total2, Op.ADD, total, v), Assign(total, total2))),
        Store(y, IX, total),
    )
    k = kernel((y,), Threads(IX, i64(0), N, body))
    agree(k, settings, lambda n: {"y": np.zeros(n + 1, np.int32)})


def test_memory_that_is_not_there_is_a_failure() -> None:
    tmp = KArray("tmp", I64, Space.SHARED)
    k = kernel((), Alloc(tmp, N), Store(tmp, i64(0), i64(1)))
    run = compiled(k, LaneSettings())
    assert run({}, {"n": 100}, 3)[0] == 0
    assert run({}, {"n": ARENA_BYTES // 8}, 3)[0] == 0
    for count in (ARENA_BYTES // 8 + 1, 1 << 60, (1 << 63) - 1):
        assert run({}, {"n": count}, 3)[0] == -1


# ---- atomics --------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("prim", [I32, Prim.U64, F32, Prim.F64, Prim.F16, Prim.U8], ids=lambda p: p.value)
def test_atomics_count_every_thread(settings: LaneSettings, prim: Prim) -> None:
    """Sum, maximum and a count at one place, of threads with a bin above 2."""
    x, total, largest = glob("x", I64), glob("total", prim), glob("largest", prim)
    bin_, value, big = var("bin"), var("value", prim), var("big", BOOL)
    body = (
        KLet(bin_, KLoad(x, IX)),
        op(big, Op.GT, bin_, i64(2), at=I64),
        KIf(
            big,
            (
                KLet(value, KConvert(I64, prim, bin_)),
                Atomic(Op.ADD, prim, total, bin_, value),
                Atomic(Op.MAX, prim, largest, i64(0), value),
                Atomic(Op.ADD, prim, total, i64(0), Const(prim, 1.0 if prim.is_float else 1)),
            ),
            (),
        ),
    )
    k = kernel((x, total, largest), Threads(IX, i64(0), N, body))

    def make(n: int) -> dict[str, np.ndarray]:
        bins = random(I64, n) % 8
        return {"x": bins, "total": np.zeros(9, DTYPES[prim]), "largest": np.zeros(1, DTYPES[prim])}

    agree(k, settings, make, sizes=(0, 1, 17, 64, 100))


# ---- control and failures -------------------------------------------------------------------------------------------


@shapes
def test_collatz(settings: LaneSettings) -> None:
    """A loop that each thread leaves at its own time, with a counter that is read afterwards."""
    x, y = glob("x", I64), glob("y", I32)
    a, c, more = var("a"), var("c", I32), var("more", BOOL)
    start, rest, half, three, next_ = (var(f"q{k}") for k in range(5))
    is_odd, count = var("is_odd", BOOL), var("count", I32)
    loop = KWhile(
        (op(more, Op.GT, a, i64(1), at=I64),),
        more,
        (
            op(rest, Op.MOD, a, i64(2)),
            op(is_odd, Op.EQ, rest, i64(1), at=I64),
            KIf(
                is_odd,
                (op(three, Op.MUL, a, i64(3)), op(next_, Op.ADD, three, i64(1)), Assign(a, next_)),
                (op(half, Op.DIV, a, i64(2)), Assign(a, half)),
            ),
            op(count, Op.ADD, c, Const(I32, 1)),
            Assign(c, count),
        ),
    )
    body = (KLet(start, KLoad(x, IX)), Declare(a, start), Declare(c, Const(I32, 0)), loop, Store(y, IX, c))
    make = lambda n: {"x": random(I64, n) + 1, "y": np.zeros(n + 1, np.int32)}  # noqa: E731
    agree(kernel((x, y), Threads(IX, i64(0), N, body)), settings, make)


@shapes
def test_failures_report_the_values_of_a_thread_that_failed(settings: LaneSettings) -> None:
    prims = [p for p in PRIMS if p is not BOOL]
    bad = glob("bad", BOOL)
    values = tuple(var(f"v{p.value}", p) for p in prims)
    flag, negated = var("flag", BOOL), var("negated")
    body = (
        op(negated, Op.NEG, IX),
        *(KLet(v, KConvert(I64, v.prim, negated)) for v in values),
        KLet(flag, KLoad(bad, IX)),
        Check(flag, 4, (IX, *values, flag)),
    )
    k = kernel((bad,), Threads(IX, i64(0), N, body))
    run, sites = compiled(k, settings), {4: (I64, *prims, BOOL)}
    for n, at in ((1, 0), (40, 39), (100, 7), (100, 64), (129, 128)):
        flags = np.ones(n, np.bool_)
        flags[at] = False
        failures = interpret(k, {"bad": flags}, {"n": n}, 1)
        found = failure_of(run({"bad": flags}, {"n": n}, 1), sites)
        assert found in failures
        flags[at:] = False
        assert failure_of(run({"bad": flags}, {"n": n}, 1), sites) == found, "not the first thread that fails"


@shapes
@pytest.mark.parametrize("offset", [-1, 0, 1, 1 << 62, -(1 << 63)])
def test_bounds_are_checked_exactly(settings: LaneSettings, offset: int) -> None:
    """Index i + offset against size n: all lanes pass, or the first that fails is named."""
    at = var("at")
    body = (op(at, Op.ADD, IX, i64(offset)), BoundsCheck(at, N, 0, (at, N)))
    k = kernel((), Threads(IX, i64(0), N, body))
    run = compiled(k, settings)
    for n in SIZES:
        failures = interpret(k, {}, {"n": n}, 1)
        record = run({}, {"n": n}, 1)
        assert failure_of(record, {0: (I64, I64)}) in failures if failures else record[0] == 0


def test_division_by_a_checked_divisor_under_a_mask() -> None:
    """if d[i] != 0 then y[i] = x[i] / d[i]: zeros in lanes that are off do not trap, nor does min / -1."""
    for prim in (Prim.I8, I32, I64, U32, Prim.U64):
        x, d, y = glob("x", prim), glob("d", prim), glob("y", prim)
        u, v, w, nonzero = var("u", prim), var("v", prim), var("w", prim), var("nz", BOOL)
        body = (
            KLet(u, KLoad(x, IX)),
            KLet(v, KLoad(d, IX)),
            op(nonzero, Op.NE, v, Const(prim, 0), at=prim),
            KIf(nonzero, (op(w, Op.DIV, u, v), Store(y, IX, w)), ()),
        )
        lowest = np.iinfo(DTYPES[prim]).min

        def make(n: int, prim: Prim = prim, lowest: int = lowest) -> dict[str, np.ndarray]:
            divisors = (random(prim, n) % 5).astype(DTYPES[prim])
            dividends = random(prim, n)
            if n > 3 and prim.is_signed:
                dividends[2], divisors[2] = lowest, -1
            return {"x": dividends, "d": divisors, "y": np.zeros(n + 1, DTYPES[prim])}

        agree(kernel((x, d, y), Threads(IX, i64(0), N, body)), SHAPES[0], make, sizes=(1, 17, 40))


def test_blocks_are_a_half_open_range() -> None:
    y = glob("y", I64)
    run = compiled(kernel((y,), Store(y, B, B)), LaneSettings())
    out = {"y": np.full(10, -1)}
    run(out, {"n": 0}, 4, 3)
    assert out["y"].tolist() == [-1, -1, -1, 3, 4, 5, 6, -1, -1, -1]


def test_a_kernel_may_be_called_like_a_function_of_the_library() -> None:
    x = glob("x", Prim.F64)
    v, w = var("v", Prim.F64), var("w", Prim.F64)
    body = (KLet(v, KLoad(x, IX)), op(w, Op.TAN, v), Store(x, IX, w))
    k = Kernel("tan", B, (x,), (N,), (Threads(IX, i64(0), N, body),), (FailureSite("R0103", NOWHERE, ()),), Level.BLOCK)
    data = {"x": np.array([0.5, 1.0])}
    compiled(k, LaneSettings())(data, {"n": 2}, 1)
    np.testing.assert_allclose(data["x"], np.tan([0.5, 1.0]), rtol=1e-15)


def test_the_lanes_of_a_kernel_depend_on_its_types_and_size() -> None:
    def shape(prim: Prim, statements: int) -> tuple[int, int]:
        x = glob("x", prim)
        vs = [var(f"v{k}", prim) for k in range(statements)]
        body: list[KStm] = [KLet(vs[0], KLoad(x, IX))]
        body += [op(b, Op.ADD, a, a) for a, b in itertools.pairwise(vs)]
        found = choose_lanes(kernel((x,), Threads(IX, i64(0), N, tuple(body))), LaneSettings()).lanes
        assert found is not None
        return found.width, found.unroll

    assert shape(Prim.F32, 10) == (16, 4)
    assert shape(Prim.F64, 80) == (8, 2)
    assert shape(Prim.U8, 200) == (64, 1)


@pytest.mark.parametrize(
    "triple, cpu", [("aarch64-unknown-linux-gnu", "neoverse-n1"), ("x86_64-unknown-linux-gnu", "x86-64-v3")]
)
def test_other_machines_can_be_compiled_for(triple: str, cpu: str) -> None:
    llvm = jit.llvm
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    ra, rb = var("ra", U32), var("rb", U32)
    reduce = BlockReduce((ra, rb), IX, i64(0), N, LOADS, (VA, VB), affine_composition(), ONE_ZERO, False)
    k = kernel((XA, XB, OA, OB), reduce, Store(OA, i64(0), ra), Store(OB, i64(0), rb))
    assert jit.compile_object((emit(all_ready((k,), CPU_PASSES)),), jit.Host(triple, cpu, ""))


@pytest.mark.parametrize(("rows", "groups"), [(1, (2, 2)), (3, (2, 2)), (4, (1, 2)), (8, (1, 2)), (13, (1, 1))])
def test_groups_leave_registers_for_accumulators(rows: int, groups: tuple[int, int]) -> None:
    """Two groups of 8 x 64 bits are four registers of AVX2 for each accumulator, of which there are 16."""
    kernel = replace(sums_of_rows(rows), lanes=LaneShape(8, 2, True))
    found = tuple(fitted(kernel, registers, 64).lanes for registers in (16 * 32, 32 * 64))
    assert found == tuple(LaneShape(8, unroll, True) for unroll in groups)


def test_groups_stay_where_results_depend_on_them() -> None:
    """On the order in which elements are added."""
    out, acc, v = KVar("out", Prim.F64), KVar("acc", Prim.F64), KVar("v", Prim.F64)
    total = KVar("total", Prim.F64)
    add = KLambda((acc,), (v,), (KLet(total, KOp(Op.ADD, Prim.F64, (acc, v))),), (total,))
    zero = Const(Prim.F64, 0.0)
    reduce = BlockReduce((out,), IX, i64(0), N, (), (zero,), add, (zero,), False)
    k = replace(sums_of_rows(8), lanes=LaneShape(8, 2, True))
    assert fitted(k, 16 * 32, 32) != k
    sums = glob("sums", Prim.F64)
    atomic = Threads(IX, i64(0), N, (Atomic(Op.ADD, Prim.F64, sums, i64(0), Const(Prim.F64, 0.1)),))
    for stm in (reduce, atomic):
        other = replace(k, arrays=(*k.arrays, sums), body=(*k.body, stm))
        assert fitted(other, 16 * 32, 32) == other


@pytest.mark.parametrize(("prim", "op", "groups"), [(I64, Op.ADD, 2), (Prim.F64, Op.ADD, 4), (Prim.F64, Op.LT, 2)])
def test_scans_of_several_numbers_leave_registers_for_their_steps(prim: Prim, op: Op, groups: int) -> None:
    """Two numbers of 64 bits in 8 lanes are four of the 16 registers of AVX2. Groups stay where sums are rounded."""
    xs, ys, carried, scanned = (tuple(KVar(f"{name}{k}", prim) for k in (0, 1)) for name in ("x", "y", "c", "s"))
    made = KVar("made", BOOL if op is Op.LT else prim)
    results = (ys[0], xs[0]) if op is Op.LT else (made, made)
    both = KLambda(xs, ys, (KLet(made, KOp(op, prim, (xs[0], ys[0]))),), results)
    zeros = (Const(prim, 0.0 if prim.is_float else 0),) * 2
    scan = BlockScan(scanned, carried, IX, i64(0), N, (), zeros, both, zeros, zeros, ())
    wide = replace(sums_of_rows(1), body=(scan,), lanes=LaneShape(8, 4, True))
    assert fitted(wide, 16 * 32, 32).lanes == LaneShape(8, groups, True)
    assert fitted(wide, 32 * 64, 64) == wide


def test_bytes_have_no_more_lanes_than_a_register_has_truth_values() -> None:
    """But those that are combined without branches."""
    x, on = var("x", Prim.U8), KVar("on", Prim.BOOL)
    here, out = glob("here", Prim.U8), glob("out", Prim.U8)
    load, test = KLet(x, KLoad(here, IX)), KLet(on, KOp(Op.LT, Prim.U8, (x, Const(Prim.U8, 9))))
    put = Store(out, IX, x)
    one, other, most = (KVar(name, Prim.U8) for name in ("one", "other", "most"))
    greatest = KLambda((one,), (other,), (KLet(most, KOp(Op.MAX, Prim.U8, (one, other))),), (most,))
    found, zero = KVar("found", Prim.U8), Const(Prim.U8, 0)
    combined = BlockReduce((found,), IX, i64(0), N, (load,), (x,), greatest, (zero,), True)
    for stm, width in (
        (Threads(IX, i64(0), N, (load, put)), 32),
        (Threads(IX, i64(0), N, (load, test, KIf(on, (put,), ()))), 32),
        (combined, 64),
        (replace(combined, body=(load, test, KIf(on, (put,), ()))), 32),
    ):
        k = replace(kernel((here, out), stm), lanes=LANES_64)
        assert fitted(k, 16 * 32, 32).lanes == replace(LANES_64, width=width)
        assert fitted(k, 32 * 64, 64) == k


def test_lanes_are_those_of_the_first_side_that_has_any() -> None:
    """Of a choice of the block: a side without loops says nothing of branches."""
    x, on, out = var("x", Prim.U8), KVar("on", Prim.BOOL), glob("out", Prim.U8)
    load, test = KLet(x, KLoad(out, IX)), KLet(on, KOp(Op.LT, Prim.U8, (x, Const(Prim.U8, 9))))
    one, other, most = (KVar(name, Prim.U8) for name in ("one", "other", "most"))
    greatest = KLambda((one,), (other,), (KLet(most, KOp(Op.MAX, Prim.U8, (one, other))),), (most,))
    zero, put = Const(Prim.U8, 0), KIf(on, (Store(out, IX, x),), ())
    plain = BlockReduce((KVar("found", Prim.U8),), IX, i64(0), N, (load,), (x,), greatest, (zero,), True)
    many, ask = KVar("many", Prim.BOOL), KLet(KVar("many", Prim.BOOL), KOp(Op.LT, Prim.I64, (i64(9), N)))
    branching = replace(plain, body=(load, test, put))
    for then, width in (((plain,), 64), ((ask,), 32)):
        k = replace(kernel((out,), ask, KIf(many, then, (branching,))), lanes=LANES_64)
        assert fitted(k, 16 * 32, 32).lanes == replace(LANES_64, width=width)


@pytest.mark.parametrize(("prim", "length"), [(Prim.F32, LONG_ROW), (Prim.U8, LONG_ROW_OF_BYTES)])
def test_rows_are_long_from_some_length_on(prim: Prim, length: int) -> None:
    """Of bytes and of others, read or written."""
    xs = glob("xs", prim)
    for count in (2, length - 1, length):
        variables = tuple(var(f"x{k}", prim) for k in range(count))
        for row in (LoadRow(variables, xs, i64(0)), StoreRow(xs, i64(0), variables)):
            assert has_long_rows((row,)) == (count == length)


LANES_64 = LaneShape(64, 2, True)


def sums_of_rows(rows: int) -> Kernel:
    """Threads that add up 9 numbers for each of some rows."""
    accs = [KVar(f"acc_{r}", Prim.F64) for r in range(rows)]
    sums = [KVar(f"sum_{r}", Prim.F64) for r in range(rows)]
    step: list[KStm] = []
    for acc, total in zip(accs, sums, strict=True):
        step += [KLet(total, KOp(Op.ADD, Prim.F64, (acc, Const(Prim.F64, 1.5)))), Assign(acc, total)]
    begin = [Declare(acc, Const(Prim.F64, 0.0)) for acc in accs]
    return kernel((), Threads(IX, i64(0), N, (*begin, For(KVar("k", I64), i64(9), tuple(step)))))
