"""Placing fences: the known numbers of fences of known kernels, each fence needed, none missing; and index forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, KVar
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_kernel
from tests.support.block_kernels import (
    I64,
    OUT,
    TRUE,
    XS,
    N,
    copied,
    copy,
    double_buffered,
    hillis_steele,
    histogram,
    kernel,
    let,
    load,
    plain_stores,
    shared,
    step_of_scan,
    threads,
    tiled,
    tree_reduction,
    var,
)
from tests.support.fences import count_fences, without_fence
from tests.support.kernel_interpreter import interpret

SOURCE = np.random.default_rng(7)


def traced(
    k: Kernel,
    n: int,
    t: int,
    blocks: int = 1,
    out: int | None = None,
    drop: frozenset[int] = frozenset(),
    warp: int = 4,
) -> tuple[KernelTrace, np.ndarray]:
    """One launch on n random numbers; the values are those of the oracle if nothing is reported."""
    xs, ys = SOURCE.integers(-50, 50, n), np.zeros(n if out is None else out, np.int64)
    again = ys.copy()
    report = trace_kernel(k, [xs, ys], [n], blocks, TraceSettings(t, warp, drop))
    interpret(k, {"xs": xs, "out": again}, {"n": n}, blocks)
    assert np.array_equal(ys, again)
    return report, ys


def found(report: KernelTrace) -> dict[str, int]:
    return {kind.name: n for kind, n in report.counts.items() if n}


def each(first: int, step: int, end: int) -> frozenset[int]:
    return frozenset(range(first, end, step))


# ---- known numbers ---------------------------------------------------------------------------------------------------


def test_tiled_redomap() -> None:
    """Two fences, executed ten times for five tiles; the even ones order reads before writes, the odd ones the other
    way round."""
    k = place_fences(tiled(8))
    assert count_fences(k) == 2
    one = [traced(k, 40, 8, drop=drop)[0] for drop in (frozenset(), each(1, 2, 10), each(0, 2, 10), each(0, 1, 10))]
    assert one[0].fences == 10
    assert [found(r) for r in one] == [{}, {"RAW": 280}, {"WAR": 224}, {"RAW": 280, "WAR": 224}]


@pytest.mark.parametrize("n", [0, 1, 5, 7, 8, 9, 26, 37, 40])
def test_tiled_redomap_at_every_size(n: int) -> None:
    xs = np.arange(n) ** 2
    out = np.zeros(n, np.int64)
    report = trace_kernel(place_fences(tiled(8)), [xs, out], [n], -(-n // 8), TraceSettings(8, 4))
    assert report.is_clean, report.findings
    assert np.array_equal(out, xs.sum() + n * xs)


def test_tree_reduction() -> None:
    k = place_fences(tree_reduction(16))
    report, values = traced(k, 16, 16)
    assert report.is_clean
    assert report.fences == 5
    assert len(set(values)) == 1
    dropped = [found(traced(k, 16, 16, drop=frozenset({f}))[0]) for f in range(5)]
    assert dropped == [{"RAW": x} for x in (8, 4, 2, 1, 15)]


def test_scan_in_place() -> None:
    """The write phase and the next read phase need one fence each per step."""
    k = place_fences(hillis_steele(8))
    report, values = traced(k, 8, 8)
    assert report.is_clean
    assert report.fences == 7
    assert len(values) == 8
    between = each(1, 2, 6)
    assert found(traced(k, 8, 8, drop=between)[0]) == {"WAR": 17}


def test_double_buffering_needs_fewer() -> None:
    k = place_fences(double_buffered(8))
    report, _ = traced(k, 8, 8)
    assert (report.fences, report.is_clean) == (4, True)


def test_a_swapped_buffer_is_found() -> None:
    """The fences of the right kernel, in the wrong one."""
    right, wrong = place_fences(double_buffered(8)), iter(double_buffered(8, swapped=True).body)
    body = tuple(s if isinstance(s, kir.Fence) else next(wrong) for s in right.body)
    assert found(traced(replace(right, body=body), 8, 8)[0]) == {"RAW": 6}


KINDS = ("read", "write", "atomic")


def phase_of(kind: str, at_next: bool) -> kir.KStm:
    """Threads that touch an element each: their own, or that of the next one."""
    i = var("i")
    after, one = let(Op.ADD, i, i64(1))
    at, index = let(Op.REM, after if at_next else i, i64(8))
    touch = {
        "read": load(OUT, at)[1],
        "write": kir.Store(OUT, at, i),
        "atomic": kir.Atomic(Op.ADD, I64, OUT, at, i64(1)),
    }
    return threads(i, i64(8), one, index, touch[kind])


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_two_phases_have_a_fence_unless_both_read_or_both_are_atomic(first: str, second: str) -> None:
    placed = place_fences(kernel(phase_of(first, at_next=False), phase_of(second, at_next=True)))
    needed = {first, second} not in ({"read"}, {"atomic"})
    assert count_fences(placed) == needed


def test_histogram() -> None:
    assert found(traced(histogram(16, 3, atomic=True), 16, 16, out=3)[0]) == {}
    assert found(traced(plain_stores(16, 3), 16, 16, out=3)[0]) == {"WAW": 13}
    lost = found(traced(histogram(16, 3, atomic=False), 16, 16, out=3)[0])
    assert lost == {"RAW": 13, "WAW": 13}


KERNELS = {
    "tiled": (tiled(8), 40, 5),
    "tree": (tree_reduction(16), 16, 1),
    "scan": (hillis_steele(8), 8, 1),
    "double": (double_buffered(8), 8, 1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_no_fence_is_redundant(name: str) -> None:
    bare, n, blocks = KERNELS[name]
    k = place_fences(bare)
    assert not check_collectives(k)
    for number in range(count_fences(k)):
        less = without_fence(k, number)
        assert count_fences(less) == count_fences(k) - 1
        assert not traced(less, n, 8, blocks)[0].is_clean, number


@pytest.mark.parametrize("name", KERNELS)
def test_placing_is_stable(name: str) -> None:
    once = place_fences(KERNELS[name][0])
    assert place_fences(once) == once


# ---- single cases ----------------------------------------------------------------------------------------------------

A, B = shared("a"), shared("b")
T = 8
ALLOCS = (kir.Alloc(A, i64(T)), kir.Alloc(B, i64(T)))


def fenced(*body: kir.KStm) -> str:
    """Where the fences go, as one letter per statement of the outermost list: F a fence, t threads, f w or f a
    loop with its own list in brackets, i an if, r a reduction, s a scan, . anything else."""
    return letters(place_fences(kernel(*ALLOCS, *body)).body[2:])


def letters(stms: tuple[kir.KStm, ...]) -> str:
    return "".join(letter(s) for s in stms)


def letter(stm: kir.KStm) -> str:
    match stm:
        case kir.Fence():
            return "F"
        case kir.Threads():
            return "t"
        case kir.For(_, _, body):
            return f"f({letters(body)})"
        case kir.KWhile(_, _, body):
            return f"w({letters(body)})"
        case kir.KIf(_, then, orelse):
            return f"i({letters(then)}|{letters(orelse)})"
        case kir.BlockReduce():
            return "r"
        case kir.BlockScan():
            return "s"
        case _:
            return "."


def reads_mirrored(source: kir.KArray) -> kir.KStm:
    return copy(source, OUT, T, mirrored=True)


def reduction() -> kir.KStm:
    """Of elements that other threads may have written."""
    x, y, z, i, out = (var("r") for _ in range(5))
    at, index = let(Op.SUB, i64(T - 1), i)
    value, read = load(A, at)
    op = kir.KLambda((x,), (y,), (kir.KLet(z, kir.KOp(Op.ADD, I64, (x, y))),), (z,))
    return kir.BlockReduce((out,), i, i64(0), i64(T), (index, read), (value,), op, (i64(0),), True)


def scan(target: kir.KArray) -> kir.KStm:
    """What is scanned goes to `target`, at its own place."""
    x, y, z, i, s, c = (var("s") for _ in range(6))
    op = kir.KLambda((x,), (y,), (kir.KLet(z, kir.KOp(Op.ADD, I64, (x, y))),), (z,))
    after = (kir.Store(target, i, s),)
    return kir.BlockScan((s,), (c,), i, i64(0), i64(T), (), (i,), op, (i64(0),), (i64(0),), after)


def test_own_elements_need_none() -> None:
    assert fenced(copy(XS, A, T), copy(A, B, T), copy(B, OUT, T)) == "ttt"


def test_elements_of_others_need_one() -> None:
    assert fenced(copy(XS, A, T), reads_mirrored(A)) == "tFt"


def test_one_fence_for_many() -> None:
    assert fenced(copy(XS, A, T), copy(XS, B, T), reads_mirrored(A), step_of_scan(B, OUT, i64(1), T)) == "ttFtt"


def test_reading_twice_needs_none() -> None:
    assert fenced(step_of_scan(XS, OUT, i64(1), T)) == "t"


def test_a_fence_stands_before_the_loop_that_only_reads() -> None:
    i, j = var("i"), var("j")
    inner = kir.For(i, N, (reads_mirrored(A),))
    assert fenced(copy(XS, A, T), inner) == "tFf(t)"
    assert fenced(copy(XS, A, T), kir.For(j, N, (kir.For(i, N, (reads_mirrored(A),)),))) == "tFf(f(t))"


def test_a_loop_that_writes_and_reads_has_two() -> None:
    assert fenced(kir.For(var("i"), N, (copy(XS, A, T), reads_mirrored(A)))) == "f(FtFt)"


def test_a_fence_is_in_the_branch_that_needs_it() -> None:
    assert fenced(copy(XS, A, T), kir.KIf(TRUE, (reads_mirrored(A),), (copy(A, OUT, T),))) == "ti(Ft|t)"


def test_a_fence_in_one_branch_orders_only_this_one() -> None:
    branch = kir.KIf(TRUE, (reads_mirrored(A),), (copy(A, OUT, T),))
    assert fenced(copy(XS, A, T), branch, step_of_scan(A, B, i64(1), T)) in ("ti(Ft|t)Ft", "tFi(t|t)t")


def test_a_collective_orders_what_comes_before() -> None:
    assert fenced(copy(XS, A, T), reduction(), reads_mirrored(A)) == "tFrt"
    assert fenced(copy(XS, B, T), reduction(), reads_mirrored(B)) == "trt"


def test_what_a_scan_stores_is_ordered_by_a_fence() -> None:
    assert fenced(scan(A), reads_mirrored(A)) == "sFt"
    assert fenced(scan(A), copy(A, OUT, T)) == "st"


def test_the_first_thread_writes_for_all() -> None:
    i = var("i")
    _, read = load(A, i64(0))
    everybody = threads(i, i64(T), kir.Store(OUT, i, i))
    assert fenced(kir.Store(A, i64(0), N), read, everybody) == ".F.t"
    assert fenced(kir.Store(A, i64(1), N), read, everybody) == "..t"
    assert fenced(kir.Store(A, i64(1), N), kir.Store(A, i64(1), i64(0)), everybody) == "..t"


def test_a_loop_of_the_first_thread_alone_needs_none_inside() -> None:
    i = var("i")
    x, read = load(A, i)
    alone = kir.For(i, i64(T), (read, kir.Store(A, i, x)))
    assert fenced(copy(XS, A, T), alone, copy(A, OUT, T)) == "tFf(..)Ft"


def test_rows_of_a_matrix_belong_to_their_threads() -> None:
    """The address i*w + j with j < w tells i; with another w it does not."""

    def rows(array: kir.KArray, width: kir.Operand, value: kir.Operand) -> kir.KStm:
        i, j = var("i"), var("j")
        row, scaled = let(Op.MUL, i, width)
        at, index = let(Op.ADD, row, j)
        return threads(i, i64(T), scaled, kir.For(j, width, (index, kir.Store(array, at, value))))

    other = KVar("block", I64)
    assert fenced(rows(A, N, i64(0)), rows(A, N, i64(1))) == "tt"
    assert fenced(rows(A, N, i64(0)), rows(A, other, i64(1))) == "tFt"


def test_a_row_belongs_to_its_threads_whichever_it_is() -> None:
    """The address k*w + j with j < w tells j for any k; with another w it does not."""

    def row(width: kir.Operand) -> tuple[kir.KStm, ...]:
        k, read = load(XS, i64(0))
        start, scaled = let(Op.MUL, k, width)
        j = var("j")
        at, index = let(Op.ADD, start, j)
        return read, scaled, threads(j, width, index, kir.Store(A, at, j))

    assert fenced(*row(N), *row(N)) == "..t..t"
    assert fenced(*row(N), *row(KVar("block", I64))) == "..t..Ft"


def test_what_a_skipped_loop_says() -> None:
    """The sum in the loop orders what is around it, unless there is no iteration: then `n` is 0."""

    def written(width: kir.Operand) -> kir.KStm:
        i = var("i")
        at, index = let(Op.SUB, width, i)
        return threads(i, width, index, kir.Store(A, at, i))

    sums = kir.For(var("k"), N, (sum_of(XS),))
    assert fenced(reads_mirrored(A), sums, written(N)) == "tf(r)t"
    assert fenced(reads_mirrored(A), sums, written(KVar("block", I64))) == "tf(r)Ft"


def sum_of(source: kir.KArray) -> kir.BlockReduce:
    x, y, z, i, out = (var("r") for _ in range(5))
    value, read = load(source, i)
    op = kir.KLambda((x,), (y,), (kir.KLet(z, kir.KOp(Op.ADD, I64, (x, y))),), (z,))
    return kir.BlockReduce((out,), i, i64(0), N, (read,), (value,), op, (i64(0),), True)


@pytest.mark.parametrize(
    ("room", "sum_of_turns", "width", "fences"),
    [
        (0, 1, N, 1),
        (256, 1, N, 1),
        (-1, 1, N, 2),  # the halves have an element in common
        (0, 2, N, 2),  # 2 - turn may be turn
        (0, 1, KVar("block", I64), 2),
    ],
)
def test_halves_of_any_width(room: int, sum_of_turns: int, width: kir.Operand, fences: int) -> None:
    """In a loop each thread reads of one half what others have written, and writes to the other half."""
    turn, i = var("turn"), var("i")
    distance, far = let(Op.ADD, width, i64(room))
    now, reading = copied(turn)
    other, turned = let(Op.SUB, i64(sum_of_turns), now)
    here, scaled = let(Op.MUL, now, distance)
    there, scaled_too = let(Op.MUL, other, distance)
    j = var("j")
    at, index = let(Op.ADD, here, j)
    x, read = load(A, at)
    of_others = threads(i, N, kir.For(j, N, (index, read, kir.Store(OUT, i, x))))
    k, (target, place) = var("k"), let(Op.ADD, there, i)
    own, again = load(OUT, i)
    of_own = threads(i, N, again, place, kir.Store(A, target, own))
    loop = kir.For(k, N, (reading, turned, scaled, scaled_too, of_others, of_own, kir.Assign(turn, other)))
    both = kernel(kir.Alloc(A, i64(1000)), kir.Declare(turn, i64(0)), far, copy(XS, A, T), loop)
    placed = place_fences(both)
    assert count_fences(placed) == fences
    if sum_of_turns == 1 and width == N:
        assert traced(placed, 8, 4)[0].is_clean
        assert not traced(without_fence(placed, 0), 8, 4)[0].is_clean


def test_shifted_ranges_are_other_threads() -> None:
    i = var("i")
    shifted = threads(i, i64(T), kir.Store(A, i, N), lo=i64(1))
    assert fenced(copy(XS, A, T), shifted) == "tFt"


def test_memory_of_a_loop_is_the_same_in_each_iteration() -> None:
    c = shared("c")
    body = (kir.Alloc(c, i64(T)), copy(XS, c, T), copy(c, OUT, T, mirrored=True))
    assert fenced(kir.For(var("i"), N, body)) == "f(.FtFt)"


def test_what_a_loop_changes_is_the_same_for_all_threads() -> None:
    """So that in one iteration each has elements of its own."""
    w = var("w")
    now, read = copied(w)
    later, add = let(Op.ADD, now, i64(1))
    i, j = var("i"), var("j")
    to, there = let(Op.ADD, i, now)
    at, here = let(Op.ADD, j, now)
    x, load_x = load(A, at)
    written = threads(i, i64(T), there, kir.Store(A, to, i))
    body = (read, written, threads(j, i64(T), here, load_x, kir.Store(OUT, j, x)), add, kir.Assign(w, later))
    go, test = let(Op.LT, w, N, prim=Prim.BOOL)
    start = kir.Declare(w, i64(0))
    assert fenced(start, kir.For(var("k"), N, body)) == ".f(.Ftt..)"
    assert fenced(start, kir.KWhile((test,), go, body)) == ".w(.Ftt..)"


def test_what_a_condition_reads_is_ordered() -> None:
    """By fences in the list that the condition is made in, and in the loop."""
    x, read = load(A, i64(0))
    go, test = let(Op.LT, x, N, prim=Prim.BOOL)
    for before, body, expected in (
        ((read, test), (copy(XS, A, T),), ("F..", "Ft")),
        ((copy(XS, A, T), read, test), (), ("FtF..", "")),
    ):
        (loop,) = place_fences(kernel(*ALLOCS, kir.KWhile(before, go, body))).body[2:]
        assert isinstance(loop, kir.KWhile)
        assert (letters(loop.before), letters(loop.body)) == expected


def test_a_kernel_without_conflicts_is_itself() -> None:
    k = kernel(copy(XS, OUT, T))
    assert place_fences(k) == k
    assert "fence" not in show_kernel(k)


def test_fences_that_were_there_and_are_not_needed_go() -> None:
    assert fenced(copy(XS, A, T), kir.Fence(), copy(A, B, T), kir.Fence(), reads_mirrored(B), kir.Fence()) == "ttFt"
