"""Flags between blocks, atomics with an order, asynchronous copies, turns: what they mean, what their lack costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KStm, Order, Space
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_kernel
from soac.kernels.tracer.visibility import Kind
from tests.support.block_kernels import BLOCK, I64, OUT, XS, ZERO, N, kernel, let, load, shared, threads, var
from tests.support.emulator.emulate import COMPILER, build
from tests.support.fences import count_fences, without_fence

T = 64
FLAGS, WORDS = KArray("flags", Prim.I32, Space.GLOBAL), KArray("words", Prim.U64, Space.GLOBAL)
PARTS = KArray("parts", I64, Space.GLOBAL)
ONE = Const(Prim.I32, 1)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")


def traced(k: Kernel, blocks: int, **arrays: np.ndarray) -> KernelTrace:
    given = [arrays[a.name] for a in k.arrays]
    return trace_kernel(k, given, [T], blocks, TraceSettings(threads=T))


def kinds(report: KernelTrace) -> set[Kind]:
    return {kind for kind, count in report.counts.items() if count}


# ---- what all threads of a block have written, for the block after it ----------------------------------------------


def handing_on(*missing: type) -> Kernel:
    """out[b*t + i] = xs[b*t + i] + parts[(b-1)*t + t-1-i]: each block uses, reversed, what the one before has left."""
    i, j = var("i"), var("j")
    first, to_first = let(Op.MUL, BLOCK, i64(T))
    at, to_at = let(Op.ADD, first, i)
    x, load_x = load(XS, at)
    later, test = let(Op.GT, BLOCK, ZERO, prim=Prim.BOOL)
    before, to_before = let(Op.SUB, BLOCK, i64(1))
    last, to_last = let(Op.SUB, first, i64(1))
    place, to_place = let(Op.SUB, last, j)
    y, load_y = load(PARTS, place)
    mine, to_mine = let(Op.ADD, first, j)
    z, load_z = load(XS, mine)
    both, add = let(Op.ADD, y, z)
    wait = kir.WaitFor(kir.KVar("seen", Prim.I32), FLAGS, before, ONE)
    head: tuple[KStm, ...] = (to_before, wait, to_last)
    reading = (to_place, load_y, to_mine, load_z, add, kir.Store(OUT, mine, both))
    body: tuple[KStm, ...] = (
        to_first,
        threads(i, i64(T), to_at, load_x, kir.Store(PARTS, at, x), kir.Store(OUT, at, x)),
        kir.Publish(FLAGS, BLOCK, ONE),
        test,
        kir.KIf(later, (*(s for s in head if not isinstance(s, missing)), threads(j, i64(T), *reading)), ()),
    )
    kept = tuple(s for s in body if not isinstance(s, missing))
    return kernel(*kept, arrays=(XS, OUT, PARTS, FLAGS))


def memory(blocks: int) -> dict[str, np.ndarray]:
    xs = np.arange(blocks * T, dtype=np.int64) * 3 + 1
    return {"xs": xs, "out": np.zeros_like(xs), "parts": np.zeros_like(xs), "flags": np.zeros(blocks, np.int32)}


def wanted(blocks: int) -> np.ndarray:
    xs = memory(blocks)["xs"].reshape(blocks, T)
    found = xs.copy()
    found[1:] += xs[:-1, ::-1]
    return found.reshape(-1)


def test_a_fence_is_placed_before_a_flag() -> None:
    """The first thread publishes what the others have written only after a barrier."""
    fenced, data = place_fences(handing_on()), memory(3)
    kinds_of_body = [type(stm) for stm in fenced.body]
    assert kinds_of_body[kinds_of_body.index(kir.Publish) - 1] is kir.Fence
    report = traced(fenced, 3, **data)
    assert report.is_clean, report.findings
    np.testing.assert_array_equal(data["out"], wanted(3))


def test_each_fence_of_it_is_needed() -> None:
    fenced = place_fences(handing_on())
    assert count_fences(fenced) > 0
    for number in range(count_fences(fenced)):
        assert kinds(traced(without_fence(fenced, number), 3, **memory(3)))


def test_no_flag_means_waiting_for_ever() -> None:
    assert Kind.STUCK in kinds(traced(place_fences(handing_on(kir.Publish)), 3, **memory(3)))


def test_no_wait_means_a_race() -> None:
    fenced = place_fences(handing_on(kir.WaitFor))
    assert Kind.RAW in kinds(traced(fenced, 3, **memory(3)))


@needs_compiler
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_blocks_wait_in_the_emulator(order: int) -> None:
    data = memory(7)
    build((handing_on(),)).launch("k", 7, list(data.values()), [T], order)
    np.testing.assert_array_equal(data["out"], wanted(7))


@needs_compiler
def test_the_emulator_ends_a_wait_in_vain() -> None:
    with pytest.raises(AssertionError, match="waits for a flag that no block sets"):
        build((handing_on(kir.Publish),)).launch("k", 3, list(memory(3).values()), [T], 1)


# ---- the last block to come ----------------------------------------------------------------------------------------


def last_adds(order: Order) -> Kernel:
    """Each block leaves its number plus one; the one that comes last, by a counter, adds them all up."""
    old, total = var("old"), var("total")
    value, plus = let(Op.ADD, BLOCK, i64(1))
    last, minus = let(Op.SUB, N, i64(1))
    is_last, test = let(Op.EQ, old, last, prim=Prim.BOOL)
    k, sofar = var("k"), var("sofar")
    x, load_x = load(PARTS, k)
    now = kir.KLet(sofar, kir.KConvert(I64, I64, total))
    more, add = let(Op.ADD, sofar, x)
    loop = kir.For(k, N, (load_x, now, add, kir.Assign(total, more)))
    body = (
        plus, kir.Store(PARTS, BLOCK, value), kir.Atomic(Op.ADD, I64, XS, ZERO, i64(1), old, order), minus, test,
        kir.KIf(is_last, (kir.Declare(total, ZERO), loop, kir.Store(OUT, ZERO, total)), ()),
    )  # fmt: skip
    return kernel(*body, arrays=(XS, OUT, PARTS))


@pytest.mark.parametrize("order", list(Order), ids=lambda order: order.value)
def test_only_an_atomic_of_both_orders_hands_on_what_the_others_left(order: Order) -> None:
    xs, out, parts = (np.zeros(n, np.int64) for n in (1, 1, 5))
    k = place_fences(last_adds(order))
    report = trace_kernel(k, [xs, out, parts], [5], 5, TraceSettings(threads=T))
    assert out[0] == 15
    assert kinds(report) == (set() if order is Order.BOTH else {Kind.RAW})


@needs_compiler
def test_the_old_value_of_an_atomic_reaches_all_threads() -> None:
    for order in (0, 1, 3):
        xs, out, parts = (np.zeros(n, np.int64) for n in (1, 1, 5))
        build((last_adds(Order.BOTH),)).launch("k", 5, [xs, out, parts], [5], order)
        assert out[0] == 15


# ---- asynchronous copies --------------------------------------------------------------------------------------------


def pipelined(latest: int = 1, waits: bool = True) -> Kernel:
    """out[r*t + i] = xs[r*t + t-1-i] for r < n rows: row r+1 is copied while row r is used; two buffers take turns."""
    tile = shared("tile")
    row, i, j, k = (var(base) for base in ("row", "i", "j", "k"))

    def copy(index: kir.KVar, to: kir.Operand, start: kir.Operand) -> tuple[KStm, ...]:
        at, to_at = let(Op.ADD, to, index)
        source, to_source = let(Op.ADD, start, index)
        return to_at, to_source, kir.AsyncCopy(tile, at, XS, source)

    number, plus = let(Op.ADD, row, i64(1))
    more, test = let(Op.LT, number, N, prim=Prim.BOOL)
    half, parity = let(Op.REM, row, i64(2))
    here, to_here = let(Op.MUL, half, i64(T))
    other, flip = let(Op.SUB, i64(T), here)
    next_start, to_next = let(Op.MUL, number, i64(T))
    row_start, to_row = let(Op.MUL, row, i64(T))
    far, mirror = let(Op.SUB, i64(T - 1), j)
    place, to_place = let(Op.ADD, here, far)
    y, load_y = load(tile, place)
    target, to_target = let(Op.ADD, row_start, j)
    inner = (
        plus, test, parity, to_here, flip, to_next, to_row,
        kir.KIf(more, (threads(k, i64(T), *copy(k, other, next_start)),), ()),
        kir.CommitCopies(),
        *((kir.WaitCopies(latest),) if waits else ()),
        kir.Fence(),
        threads(j, i64(T), mirror, to_place, load_y, to_target, kir.Store(OUT, target, y)),
        kir.Fence(),
    )  # fmt: skip
    head = (kir.Alloc(tile, i64(2 * T)), threads(i, i64(T), *copy(i, ZERO, ZERO)), kir.CommitCopies())
    return kernel(*head, kir.For(row, N, inner))


def rows(k: Kernel, count: int) -> tuple[KernelTrace, np.ndarray, np.ndarray]:
    xs = np.arange(count * T, dtype=np.int64)
    out = np.zeros_like(xs)
    return trace_kernel(k, [xs, out], [count], 1, TraceSettings(threads=T)), out, xs.reshape(count, T)[:, ::-1].ravel()


def test_a_pipeline_of_copies_is_clean() -> None:
    report, out, expected = rows(pipelined(), 4)
    assert report.is_clean, report.findings
    np.testing.assert_array_equal(out, expected)


def test_a_fence_alone_does_not_end_a_copy() -> None:
    assert Kind.RAW in kinds(rows(pipelined(waits=False), 4)[0])
    assert Kind.RAW in kinds(rows(pipelined(latest=2), 4)[0])


def test_fences_of_the_pipeline_are_needed() -> None:
    """After the wait, since others have copied; at the end, since the buffer is filled again."""
    first, second = (kinds(rows(without_fence(pipelined(), number), 4)[0]) for number in (0, 1))
    assert Kind.RAW in first
    assert Kind.WAR in second


@needs_compiler
@pytest.mark.parametrize("order", [0, 1, 3])
def test_copies_in_the_emulator(order: int) -> None:
    xs = np.arange(4 * T, dtype=np.int64)
    out = np.zeros_like(xs)
    build((pipelined(),)).launch("k", 1, [xs, out], [4], order)
    np.testing.assert_array_equal(out, xs.reshape(4, T)[:, ::-1].ravel())


@needs_compiler
def test_the_emulator_tells_a_copy_that_no_thread_waits_for() -> None:
    xs = np.arange(4 * T, dtype=np.int64)
    out = np.zeros_like(xs)
    build((pipelined(waits=False),)).launch("k", 1, [xs, out], [4], 1)
    assert not np.array_equal(out, xs.reshape(4, T)[:, ::-1].ravel())


# ---- rows of elements ------------------------------------------------------------------------------------------------


def in_fours(offset: int = 0) -> Kernel:
    """out[4*i ..] = xs[4*i + offset ..] for i < n: rows where they are aligned, else one element after the other."""
    i, k = var("i"), var("k")
    xs = tuple(var("x") for _ in range(4))
    start, to_start = let(Op.MUL, i, i64(4))
    source, to_source = let(Op.ADD, start, i64(offset))
    good = var("good", Prim.BOOL)
    test = kir.KLet(good, kir.KAligned(XS, i64(offset), 2))
    one, to_one = let(Op.ADD, k, i64(offset))
    x, load_x = load(XS, one)
    end, to_end = let(Op.MUL, N, i64(4))
    row = (to_start, to_source, kir.LoadRow(xs[:2], XS, source), kir.StoreRow(OUT, start, xs[:2]))
    rest, to_rest = let(Op.ADD, source, i64(2))
    place, to_place = let(Op.ADD, start, i64(2))
    second = (to_rest, to_place, kir.LoadRow(xs[2:], XS, rest), kir.StoreRow(OUT, place, xs[2:]))
    plain = (to_end, threads(k, end, to_one, load_x, kir.Store(OUT, k, x)))
    return kernel(test, kir.KIf(good, (threads(i, N, *row, *second),), plain))


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_rows_are_single_requests(offset: int) -> None:
    xs, out = np.arange(4 * T + 2, dtype=np.int64), np.zeros(4 * T, np.int64)
    report = trace_kernel(in_fours(offset), [xs, out], [T], 1, TraceSettings(threads=T))
    assert report.is_clean, report.findings
    np.testing.assert_array_equal(out, xs[offset : offset + 4 * T])
    (loads,) = {site.requests for site in report.sites if site.array == XS}
    assert loads == (4 * T // 32 if offset % 2 else T // 32)


@needs_compiler
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_rows_in_the_emulator(offset: int) -> None:
    memory = np.zeros(4 * T + 4, np.int64)
    xs = memory[1:] if memory.ctypes.data % 16 else memory[:-1]
    xs[:] = np.arange(len(xs))
    out = np.zeros(4 * T + 1, np.int64)
    out = out[1:] if out.ctypes.data % 16 else out[:-1]
    build((in_fours(offset),)).launch("k", 1, [xs, out], [T], 0)
    np.testing.assert_array_equal(out, xs[offset : offset + 4 * T])


# ---- what stands where ---------------------------------------------------------------------------------------------

IX = kir.KVar("i", I64)
SEEN = kir.KVar("seen", Prim.I32)
SUM = kir.KLambda(
    (kir.KVar("a", I64),), (kir.KVar("b", I64),),
    (kir.KLet(kir.KVar("c", I64), kir.KOp(Op.ADD, I64, (kir.KVar("a", I64), kir.KVar("b", I64)))),),
    (kir.KVar("c", I64),),
)  # fmt: skip
LOOK = kir.LookBack((kir.KVar("l", I64),), WORDS, BLOCK, ZERO, (N,), SUM, (ZERO,))
TEAMS = kir.TeamReduce(
    (kir.KVar("r", I64),), i64(8), kir.KVar("s", I64), ZERO, N, kir.KVar("e", I64), N, (), (kir.KVar("e", I64),), SUM,
    (ZERO,), True, (kir.Store(OUT, kir.KVar("s", I64), kir.KVar("r", I64)),),
)  # fmt: skip
TURNS = kir.WarpTurns(kir.KVar("w", I64), kir.KVar("e", I64), ZERO, N, (), kir.KVar("e", I64), ())
TILE = shared("tile")
MISPLACED = {
    "waiting of one thread": (kir.WaitFor(SEEN, FLAGS, ZERO, ONE), "wait together"),
    "looking back of one thread": (LOOK, "look back together"),
    "teams inside of a thread": (TEAMS, "teams subdivide"),
    "turns inside of a thread": (TURNS, "turns of warps subdivide"),
}


@pytest.mark.parametrize("case", MISPLACED.values(), ids=MISPLACED)
def test_a_collective_inside_of_threads_is_refused(case: tuple[KStm, str]) -> None:
    stm, why = case
    right = kernel(stm, arrays=(XS, OUT, PARTS, FLAGS, WORDS))
    assert check_collectives(right) == ()
    found = check_collectives(replace(right, body=(kir.Threads(IX, ZERO, N, (stm,)),)))
    assert any(why in one.why for one in found)


def test_copies_that_cannot_be_asynchronous_are_refused() -> None:
    block = check_collectives(kernel(kir.Alloc(TILE, i64(T)), kir.AsyncCopy(TILE, ZERO, XS, ZERO)))
    assert [one.why for one in block] == ["each element is copied by one thread"]
    wrong = check_collectives(kernel(kir.Threads(IX, ZERO, N, (kir.AsyncCopy(OUT, IX, XS, IX),))))
    assert [one.why for one in wrong] == ["a copy of this kind cannot be asynchronous"]


def test_what_a_team_has_found_is_not_the_block_s() -> None:
    found = check_collectives(kernel(TEAMS, kir.Store(OUT, ZERO, kir.KVar("r", I64))))
    assert len(found) == 1
    assert sum(1 for _ in statements((TEAMS,))) == 2
