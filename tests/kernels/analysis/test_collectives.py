"""Collective algebra: worked vectors, laws on random tilings; and the collective check on kernels good and bad."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.analysis.collectives import (
    BLOCK,
    BLOCK_SIZE,
    THREAD,
    WARP,
    Ambiguous,
    Cluster,
    CollectiveType,
    Misaligned,
    NotEnoughThreads,
    Size,
    Tiling,
    Unit,
    aligned,
    choose,
    complete_tiling,
    complete_type,
    derive,
    linear,
    matches,
    over_threads,
    pitches,
    split_tiling,
    split_type,
    unit_type,
    whole,
)
from soac.kernels.kernel_ir import nodes as kir

WARPGROUP = Unit("warpgroup", (BLOCK_SIZE,), (Size(128),))


def loops(cluster: Cluster, *nest: tuple[str, Unit, int]) -> Tiling:
    tiling = whole(cluster)
    for iterator, unit, count in nest:
        tiling = over_threads(tiling, iterator, unit, count, cluster)
    return tiling


def interval(first: int, last: int) -> frozenset[int]:
    return frozenset(range(first, last + 1))


# ---- worked vectors ------------------------------------------------------------------------------------------------


def type_matches(type_: CollectiveType, threads: frozenset[int]) -> bool:
    """Is a thread collective one of an aligned type: the product of sets C_m of coordinates, one for B_m = 1, all for
    B_m = D_m, any for ⊤?"""
    assert all(b in (1, d, None) for d, b in zip(type_.domain, type_.box, strict=True)), "aligned"
    steps = list(zip(type_.domain, pitches(type_.domain), strict=True))
    coordinates = [{thread // p % d for thread in threads} for d, p in steps]
    sizes = zip(coordinates, type_.domain, type_.box, strict=True)
    if not threads or any(b is not None and len(c) != b for c, _, b in sizes):
        return False
    return threads == {linear(type_.domain, at) for at in product(*coordinates)}


def test_rows_of_sixteen_threads() -> None:
    rows = loops(Cluster(1, 128), ("m", 16 * THREAD, 8))
    assert rows.threads({"m": 2}) == interval(32, 47)
    single = loops(Cluster(1, 128), ("m", 16 * THREAD, 8), ("n", THREAD, 16))
    assert single.threads({"m": 2, "n": 15}) == {47}
    assert (single.pitch("m"), single.pitch("n")) == (16, 1)


def test_one_warp_of_each_warpgroup() -> None:
    cluster = Cluster(1, 256)
    chosen = choose(loops(cluster, ("wg", WARPGROUP, 2)), "w", WARP, 3, 4, cluster)
    assert chosen.threads({"wg": 0}) == interval(96, 127)
    assert chosen.threads({"wg": 1}) == interval(224, 255)
    assert matches(chosen, WARP, cluster)


def test_tiles_that_are_no_warps() -> None:
    cluster = Cluster(1, 256)
    tiles = loops(cluster, ("x", 23 * THREAD, 10))
    assert tiles.threads({"x": 9}) == interval(207, 229)
    assert not matches(tiles, WARP, cluster)
    inner = loops(cluster, ("x", 23 * THREAD, 10), ("y", THREAD, 20))
    assert inner.threads({"x": 9, "y": 19}) == {226}
    assert matches(inner, THREAD, cluster)
    assert not matches(loops(Cluster(1, 96), ("q", 24 * THREAD, 4)), WARP, Cluster(1, 96))


def test_splits_of_types() -> None:
    assert split_type(CollectiveType((4, 384), (1, 128)), 1, 32) == CollectiveType((4, 12, 32), (1, 4, 32))
    assert split_type(CollectiveType((256,), (8,)), 0, 32) == CollectiveType((8, 32), (1, 8))
    assert split_type(CollectiveType((256,), (None,)), 0, 32) == CollectiveType((8, 32), (None, None))


def test_aligned_forms() -> None:
    unit = unit_type(WARPGROUP, Cluster(2, 256), agnostic=False)
    assert aligned(unit) == CollectiveType((2, 2, 128), (1, 1, 128))
    assert aligned(CollectiveType((8, 384), (2, 128))) == CollectiveType((4, 2, 3, 128), (1, 2, 1, 128))


def test_not_enough_threads() -> None:
    cluster = Cluster(1, 256)
    warp = loops(cluster, ("w", WARP, 8))
    with pytest.raises(NotEnoughThreads, match=r"10 \* 4 = 40 > 32"):
        over_threads(warp, "i", 4 * THREAD, 10, cluster)
    with pytest.raises(NotEnoughThreads):
        over_threads(warp, "i", WARP, 2, cluster)


def test_one_warp_of_every_block() -> None:
    warps = loops(Cluster(4, 384), ("w", WARP, 12))
    assert warps.threads({"w": 2}) == frozenset().union(*(interval(384 * b + 64, 384 * b + 95) for b in range(4)))
    assert type_matches(CollectiveType((4, 12, 32), (4, 1, 32)), warps.threads({"w": 2}))
    assert not matches(warps, WARP, Cluster(4, 384))


def test_every_other_block() -> None:
    cluster = Cluster(8, 384)
    halves = Unit("blocks two apart", (Size(4), Size(2), BLOCK_SIZE), (Size(4), Size(1), BLOCK_SIZE))
    strided = over_threads(whole(cluster), "c", halves, 2, cluster)
    assert {t // 384 for t in strided.threads({"c": 1})} == {1, 3, 5, 7}
    assert len(strided.threads({"c": 1})) == 4 * 384
    assert strided.pitch("c") == 384


def test_pitches_of_distributed_tiles() -> None:
    tile = loops(Cluster(1, 512), ("m", 32 * THREAD, 16), ("n", THREAD, 32))
    assert (tile.pitch("m"), tile.pitch("n")) == (32, 1)
    warps = loops(Cluster(1, 256), ("mw", WARPGROUP, 2), ("nw", WARP, 4))
    assert (warps.pitch("mw"), warps.pitch("nw")) == (128, 32)


def test_scopes() -> None:
    cluster = Cluster(1, 256)
    top, warp = whole(cluster), loops(cluster, ("w", WARP, 8))
    assert [matches(top, u, cluster) for u in (THREAD, WARP, BLOCK)] == [False, False, True]
    assert [matches(warp, u, cluster) for u in (THREAD, WARP, BLOCK)] == [False, True, False]
    assert matches(whole(Cluster(1, 32)), WARP, Cluster(1, 32))


# ---- errors and corners --------------------------------------------------------------------------------------------


def test_ambiguous_tiling() -> None:
    square = CollectiveType((16, 16), (4, 4))
    with pytest.raises(Ambiguous, match="ambiguous"):
        derive(whole(Cluster(1, 256)), "i", square, 0, 4, 4)


def test_misaligned() -> None:
    thirds = loops(Cluster(1, 96), ("x", 24 * THREAD, 4))
    with pytest.raises(Misaligned, match="loop x: boxes of 24 threads"):
        split_tiling(thirds, 0, 16)
    singles = loops(Cluster(1, 96), ("y", THREAD, 96))
    with pytest.raises(Misaligned, match="do not stay within 32 threads"):
        split_tiling(singles, 0, 32)
    with pytest.raises(Misaligned):
        split_type(CollectiveType((96,), (48,)), 0, 32)
    with pytest.raises(Misaligned):
        unit_type(Unit("seven", (Size(7),), (Size(1),)), Cluster(1, 64), agnostic=True)


def test_trivial_loops() -> None:
    cluster = Cluster(1, 64)
    assert over_threads(whole(cluster), "b", BLOCK, 1, cluster) == whole(cluster)
    one = loops(cluster, ("w", 16 * THREAD, 1))
    assert one.threads({"w": 0}) == interval(0, 15)
    assert one.pitch("w") == 0
    assert loops(Cluster(1, 1), ("i", THREAD, 1)).threads({"i": 0}) == {0}


# ---- laws ----------------------------------------------------------------------------------------------------------


@st.composite
def tilings(draw: st.DrawFn) -> tuple[Cluster, Tiling, dict[str, int]]:
    """A nest of loops over threads whose counts and units fit: tiling, and how often each loop runs."""
    cluster = Cluster(draw(st.sampled_from((1, 2, 4))), draw(st.sampled_from((16, 48, 96, 128))))
    tiling, counts, room = whole(cluster), {}, cluster.block
    for depth in range(draw(st.integers(0, 3))):
        size = draw(st.sampled_from([s for s in (1, 2, 3, 4, 8, 12, 16, 24, 32) if s < room] or [1]))
        count = draw(st.integers(1, room // size))
        try:
            tiling = over_threads(tiling, f"i{depth}", size * THREAD, count, cluster)
        except (NotEnoughThreads, Misaligned):
            break
        counts[f"i{depth}"], room = count, size
    return cluster, tiling, counts


def iterations(counts: dict[str, int]) -> list[dict[str, int]]:
    ranges = [range(n) for n in counts.values()]
    return [dict(zip(counts, at, strict=True)) for at in product(*ranges)][:64]


@settings(max_examples=150, deadline=None)
@given(tilings())
def test_iterations_have_threads_of_their_own(case: tuple[Cluster, Tiling, dict[str, int]]) -> None:
    """Different iterations of the innermost loops have disjoint collectives of the size that the type says."""
    _, tiling, counts = case
    sets = [tiling.threads(at) for at in iterations(counts)]
    assert all(len(s) == tiling.count for s in sets)
    assert len(frozenset().union(*sets)) == sum(map(len, sets))


@settings(max_examples=150, deadline=None)
@given(tilings(), st.sampled_from((2, 3, 4, 8, 16)))
def test_a_split_changes_no_thread(case: tuple[Cluster, Tiling, dict[str, int]], factor: int) -> None:
    _, tiling, counts = case
    for m in range(len(tiling.dims)):
        try:
            split = split_tiling(tiling, m, factor)
        except Misaligned:
            continue
        assert all(split.threads(at) == tiling.threads(at) for at in iterations(counts))
        assert prod(split.domain) == prod(tiling.domain)


@settings(max_examples=150, deadline=None)
@given(tilings(), st.sampled_from((THREAD, 4 * THREAD, 8 * THREAD, 16 * THREAD, WARP, BLOCK)))
def test_matching_is_what_it_says(case: tuple[Cluster, Tiling, dict[str, int]], unit: Unit) -> None:
    """Where a tiling matches a unit, every collective that it gives is one of the unit's type."""
    cluster, tiling, counts = case
    if cluster.block % 32 and unit is WARP:
        return
    try:
        type_ = aligned(unit_type(unit, cluster, agnostic=False))
    except Misaligned:
        return
    if matches(tiling, unit, cluster):
        assert all(type_matches(type_, tiling.threads(at)) for at in iterations(counts))


def test_completion_keeps_meaning() -> None:
    tiling = loops(Cluster(1, 96), ("x", 48 * THREAD, 2))
    completed = complete_tiling(tiling, frozenset({24, 8, 1}))
    assert completed.domain == (4, 3, 8)
    assert completed.threads({"x": 1}) == tiling.threads({"x": 1})
    assert complete_type(CollectiveType((96,), (24,)), frozenset({8, 1})) == CollectiveType((12, 8), (3, 8))
    assert linear((4, 3, 8), (1, 2, 3)) == 43


# ---- kernels -------------------------------------------------------------------------------------------------------

I64 = Prim.I64
N, IX, J, X, Y = (kir.KVar(name, I64) for name in ("n", "i", "j", "x", "y"))
OUT = kir.KArray("out", I64, kir.Space.GLOBAL)
SHARED, PRIVATE = kir.KArray("tile", I64, kir.Space.SHARED), kir.KArray("mine", I64, kir.Space.PRIVATE)
TRUE = Const(Prim.BOOL, True)
A, B, R = kir.KVar("a", I64), kir.KVar("b", I64), kir.KVar("r", I64)
SUM = kir.KLambda((A,), (B,), (kir.KLet(R, kir.KOp(Op.ADD, I64, (A, B))),), (R,))


def kernel(*body: kir.KStm) -> kir.Kernel:
    return kir.Kernel("k", kir.KVar("block", I64), (OUT,), (N,), body, (), Level.BLOCK)


def threads(*body: kir.KStm, index: kir.KVar = IX) -> kir.Threads:
    return kir.Threads(index, i64(0), N, body)


def warps(*body: kir.KStm, count: int = 2) -> kir.Threads:
    return kir.Threads(J, i64(0), i64(count), body, unit=Level.WARP)


def lanes(*body: kir.KStm, count: int = 32) -> kir.Threads:
    return kir.Threads(IX, i64(0), i64(count), body)


def reduction(*body: kir.KStm, op: kir.KLambda = SUM, index: kir.KVar = J) -> kir.BlockReduce:
    return kir.BlockReduce((Y,), index, i64(0), N, body, (index,), op, (i64(0),), True)


def scanning(*after: kir.KStm, index: kir.KVar = J) -> kir.BlockScan:
    carry = kir.KVar("c", I64)
    return kir.BlockScan((X,), (carry,), index, i64(0), N, (), (index,), SUM, (i64(0),), (i64(0),), after)


def load(array: kir.KArray, index: kir.Operand) -> kir.KLet:
    return kir.KLet(kir.KVar("v", I64), kir.KLoad(array, index))


LET_X = kir.KLet(X, kir.KOp(Op.ADD, I64, (IX, N)))
STORE = kir.Store(OUT, IX, IX)
THREAD_SCOPE, WARP_SCOPE, BLOCK_SCOPE = "box (1): one thread", "box (32): 32 threads", "box (64): 64 threads"

ILL_FORMED = {
    "fence of one thread": (kernel(threads(STORE, kir.Fence())), "fence", THREAD_SCOPE, "a block"),
    "fence in a branch of a thread": (
        kernel(threads(kir.KIf(TRUE, (kir.Fence(),), ()))), "fence", THREAD_SCOPE, "a block",
    ),
    "fence in a loop of a thread": (kernel(threads(kir.For(J, IX, (kir.Fence(),)))), "fence", THREAD_SCOPE, "a block"),
    "fence in a reduction": (kernel(reduction(kir.Fence())), "fence", THREAD_SCOPE, "a block"),
    "fence under a condition of a thread": (
        kernel(
            threads(kir.KLet(X, kir.KOp(Op.LT, I64, (IX, N)))),
            kir.KIf(kir.KVar("x", Prim.BOOL), (kir.Fence(),), ()),
        ),
        "if x", BLOCK_SCOPE, "a thread",
    ),
    "threads in threads": (kernel(threads(threads(index=J))), "threads j", THREAD_SCOPE, "a block"),
    "threads in a reduction": (kernel(reduction(threads())), "threads i", THREAD_SCOPE, "a block"),
    "reduction of one thread": (kernel(threads(reduction())), "reduce", THREAD_SCOPE, "a block"),
    "scan of one thread": (kernel(threads(scanning())), "scan", THREAD_SCOPE, "a block"),
    "reduction behind a scan": (kernel(scanning(reduction(index=IX))), "reduce", THREAD_SCOPE, "a block"),
    "shared memory of one thread": (kernel(threads(kir.Alloc(SHARED, N))), "tile", THREAD_SCOPE, "a block"),
    "private memory of the block": (kernel(kir.Alloc(PRIVATE, N)), "mine", BLOCK_SCOPE, "a thread"),
    "private memory outside its threads": (
        kernel(threads(kir.Alloc(PRIVATE, N)), threads(load(PRIVATE, i64(0)), index=J)),
        "mine[0]", THREAD_SCOPE, "a thread",
    ),
    "private memory read by the block": (
        kernel(threads(kir.Alloc(PRIVATE, N)), load(PRIVATE, i64(0))), "mine[0]", BLOCK_SCOPE, "a thread",
    ),
    "global memory made by a kernel": (
        kernel(kir.Alloc(replace(OUT, name="new"), N)), "new", BLOCK_SCOPE, "the host",
    ),
    "variable of the block changed by threads": (
        kernel(kir.Declare(X, i64(0)), threads(kir.Assign(X, IX))), "x := i", THREAD_SCOPE, "a block",
    ),
    "value of a thread used by the block": (
        kernel(threads(LET_X), kir.Store(OUT, i64(0), X)), "out[0] := x", BLOCK_SCOPE, "a thread",
    ),
    "value of a thread used in another loop": (
        kernel(threads(LET_X), threads(kir.Store(OUT, J, X), index=J)), "out[j] := x", THREAD_SCOPE, "a thread",
    ),
    "range of threads known to a thread alone": (
        kernel(threads(LET_X), kir.Threads(J, i64(0), X, ())), "threads j", BLOCK_SCOPE, "a thread",
    ),
    "trips of a barrier known to a thread alone": (
        kernel(threads(LET_X), kir.For(J, X, (kir.Fence(),))), "for j < x", BLOCK_SCOPE, "a thread",
    ),
    "result of a reduction used in its body": (
        kernel(reduction(kir.Store(OUT, J, Y))), "out[j] := y", THREAD_SCOPE, "a thread",
    ),
    "scanned value used behind the scan": (
        kernel(scanning(), kir.Store(OUT, i64(0), X)), "out[0] := x", BLOCK_SCOPE, "a thread",
    ),
    "warps of a thread": (kernel(threads(warps())), "of warps", THREAD_SCOPE, "a block"),
    "warps of a warp": (kernel(warps(replace(warps(), index=IX))), "of warps", WARP_SCOPE, "a block"),
    "more threads than a warp has": (kernel(warps(lanes(STORE, count=33))), "0..33", WARP_SCOPE, "at most 32"),
    "warps of unknown number": (kernel(replace(warps(), hi=N)), "0..n of warps", BLOCK_SCOPE, "at most 2"),
    "memory written by a warp": (kernel(warps(kir.Store(OUT, J, J))), "out[j] := j", WARP_SCOPE, "a thread"),
    "memory read by a warp": (kernel(warps(load(OUT, J))), "out[j]", WARP_SCOPE, "a thread"),
    "reduction of a warp in a block": (kernel(warps(reduction(index=IX))), "reduce", WARP_SCOPE, "a block"),
    "fence of a thread of a warp": (kernel(warps(lanes(STORE, kir.Fence()))), "fence", THREAD_SCOPE, "a warp"),
    "loop that warps leave at different times": (
        kernel(warps(kir.For(IX, J, (kir.Fence(),)))), "for i < j", WARP_SCOPE, "a block",
    ),
    "operator that writes": (
        kernel(reduction(op=replace(SUM, body=(*SUM.body, kir.Store(OUT, A, B))))),
        "out[a] := b", THREAD_SCOPE, "straight code",
    ),
    "operator with a fence": (
        kernel(reduction(op=replace(SUM, body=(*SUM.body, kir.Fence())))), "fence", THREAD_SCOPE, "a block",
    ),
    "operator with a loop": (
        kernel(reduction(op=replace(SUM, body=(*SUM.body, kir.For(IX, N, ()))))),
        "for i < n", THREAD_SCOPE, "straight code",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ILL_FORMED)
def test_ill_formed_kernels_are_rejected(name: str) -> None:
    """With the statement, the collective found and the one expected."""
    wrong, statement, found, expected = ILL_FORMED[name]
    first, *_ = check_collectives(wrong, threads=64)
    assert statement in first.statement
    assert first.found == f"domain (64) {found}"
    assert expected in first.expected


@pytest.mark.parametrize("more", (False, True))
def test_exact_loops_have_a_unit_for_each_index(more: bool) -> None:
    both = (lanes(STORE, count=64 + more), "65 threads"), (warps(lanes(STORE), count=2 + more), "3 warps")
    for looped, unit in both:
        assert check_collectives(kernel(looped)) == ()
        whys = [found.why for found in check_collectives(kernel(looped), exact=True)]
        assert whys == [f"not enough threads for {unit}"] * more


def test_a_block_of_forty_threads_is_not_made_of_warps() -> None:
    (only,) = check_collectives(kernel(threads(STORE)), threads=40)
    assert "40 threads" in only.found
    assert "warp" in only.expected


def test_the_message_names_the_loop() -> None:
    (only,) = check_collectives(kernel(threads(STORE, kir.Fence())))
    assert str(only) == (
        "k: `fence`: a barrier that not all threads of the block reach; found domain (64) box (1): one thread, "
        "expected domain (64) box (64): a block, 64 threads, in the body of `threads i in 0..n`"
    )


WELL_FORMED = {
    "fence under a condition of the block": kernel(kir.KIf(TRUE, (threads(STORE), kir.Fence()), ())),
    "memory of both kinds": kernel(
        kir.Alloc(SHARED, N),
        threads(kir.Alloc(PRIVATE, N), kir.Store(PRIVATE, IX, IX), load(PRIVATE, IX), kir.Store(SHARED, IX, IX)),
        kir.Fence(),
        load(SHARED, i64(0)),
    ),
    "collectives in a loop": kernel(kir.For(IX, N, (reduction(), kir.Store(OUT, IX, Y), kir.Fence()))),
    "variable that a thread declares": kernel(
        threads(kir.Declare(X, i64(0)), kir.Assign(X, IX), kir.Store(OUT, IX, X))
    ),
    "fences of warps": kernel(warps(lanes(STORE), kir.Fence(), kir.For(X, N, (kir.Fence(),)))),
    "store of the block": kernel(kir.Store(OUT, i64(0), N)),
    "what a scan leaves": kernel(scanning(kir.Store(OUT, J, X)), kir.Store(OUT, i64(0), kir.KVar("c", I64))),
}


@pytest.mark.parametrize("name", WELL_FORMED)
def test_well_formed_kernels_pass(name: str) -> None:
    assert check_collectives(WELL_FORMED[name]) == ()
