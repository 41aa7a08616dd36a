"""Predicted sectors: the worked values of the access functions, and equal to the tracer's count on every program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from soac.ir.errors import RunError
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.analysis.sectors import EVERYTHING, SOME, Sample, predict, spread
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KVar, Space
from soac.kernels.kernel_ir.show import show_stm
from soac.kernels.tracer import run as trace
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_program
from tests.kernels.tracer.test_run import calls
from tests.support.block_kernels import kernel, let, threads, var
from tests.support.programs import PROGRAMS, opened

N, M, K = 64, 64, 128
A = KArray("a", Prim.F32, Space.GLOBAL)
NAMES = {name: KVar(name, Prim.I64) for name in "tijk"}
CALLS_EACH = 2
LEAST_EXACT = 0.3
"""Share of the places of a program where the prediction must be exact; of all places it is four fifths."""


def access(*index: kir.KStm, at: KVar) -> Kernel:
    """For each point (i, j) of [N][M], by threads t = i * M + j, and each k < K: `a[at]`."""
    t, i, j, k = NAMES.values()
    x = KVar("x", Prim.F32)
    here = (kir.KLet(i, kir.KOp(Op.QUOT, Prim.I64, (t, i64(M)))), kir.KLet(j, kir.KOp(Op.REM, Prim.I64, (t, i64(M)))))
    loop = kir.For(k, i64(K), (*index, kir.KLet(x, kir.KLoad(A, at))))
    return kernel(threads(t, i64(N * M), *here, loop), arrays=(A,))


def linear(x: str, scale: int, y: str) -> tuple[kir.KStm, kir.KStm, KVar]:
    """`at = x * scale + y`."""
    product, first = let(Op.MUL, NAMES[x], i64(scale))
    at, second = let(Op.ADD, product, NAMES[y])
    return first, second, at


@pytest.mark.parametrize(
    ("x", "scale", "y", "sectors"),
    [("i", K, "k", 1), ("k", M, "j", 4), ("i", M, "j", 4), ("j", N, "i", 32), ("j", K, "k", 32)],
    ids=["matmul A[i][k]", "matmul B[k][j]", "x[i][j]", "x[j][i]", "rows a[j][k]"],
)
@pytest.mark.parametrize("sample", [EVERYTHING, SOME], ids=["everything", "some"])
def test_worked_values(x: str, scale: int, y: str, sectors: int, sample: Sample) -> None:
    """SEEDS 5.4: sectors of a warp's load of f32."""
    *index, at = linear(x, scale, y)
    (site,) = predict(access(*index, at=at), [0], 1, 64, sample=Sample(1, 2, 3) if sample is SOME else Sample(rounds=4))
    assert not site.exact  # a part is left out
    assert site.requests == N * M // 32 * K
    assert site.units / site.requests == sectors


def ahead(depth: int) -> Kernel:
    """threads t { a[t]; for k < K { if k + 1 < K { a[(k + 1) * M + t] } } }, in loops of this depth."""
    t, more = NAMES["t"], var("more", Prim.BOOL)
    first, now = KVar("x", Prim.F32), KVar("y", Prim.F32)
    following, to_next = let(Op.ADD, NAMES["k"], i64(1))
    start, scaled = let(Op.MUL, following, i64(M))
    at, plus = let(Op.ADD, start, t)
    copied = kir.KIf(more, (scaled, plus, kir.KLet(now, kir.KLoad(A, at))), ())
    test = kir.KLet(more, kir.KOp(Op.LT, Prim.I64, (following, i64(K))))
    loop: kir.KStm = kir.For(NAMES["k"], i64(K), (to_next, test, copied))
    for _ in range(depth - 1):
        loop = kir.For(var("n"), i64(5), (loop,))
    return kernel(threads(t, i64(N), kir.KLet(first, kir.KLoad(A, t)), loop), arrays=(A,))


@pytest.mark.parametrize("depth", [1, 2])
def test_the_last_iteration_of_a_pipeline_copies_nothing(depth: int) -> None:
    """It counts for itself, in a sample too; which is no exact count, and says so."""
    whole, some = (predict(ahead(depth), [0], 1, 64, sample=sample) for sample in (EVERYTHING, SOME))
    counted = [(site.requests, site.units, site.lanes) for site in whole]
    times = 5 ** (depth - 1) * (K - 1)
    assert counted[1] == (2 * times, 8 * times, 64 * times)
    assert [(site.requests, site.units, site.lanes) for site in some] == counted
    assert [site.exact for site in (*whole, *some)] == [True, True, True, False]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 8, 100])
def test_samples_stand_for_all(count: int, most: int) -> None:
    chosen = list(spread(count, most))
    indices = [k for k, _ in chosen]
    assert indices == sorted(set(indices))
    assert set(indices) <= set(range(count))
    assert len(chosen) == min(count, most)
    assert sum(weight for _, weight in chosen) == pytest.approx(count)
    if most > 1 and count > 1:
        assert (indices[0], chosen[-1]) == (0, (count - 1, 1.0))


def test_a_last_block_that_is_short_stands_for_itself() -> None:
    """Blocks of 64 threads for 130 elements."""
    t, inside = NAMES["t"], var("inside", Prim.BOOL)
    start, scaled = let(Op.MUL, KVar("block", Prim.I64), i64(64))
    at, plus = let(Op.ADD, start, t)
    test = kir.KLet(inside, kir.KOp(Op.LT, Prim.I64, (at, i64(130))))
    read = kir.KIf(inside, (kir.KLet(KVar("x", Prim.F32), kir.KLoad(A, at)),), ())
    (site,) = predict(kernel(scaled, threads(t, i64(64), plus, test, read), arrays=(A,)), [0], 3, 64, sample=SOME)
    assert (site.requests, site.units, site.lanes) == (5, 17, 130)


def test_reversed_is_as_good() -> None:
    at, index = let(Op.SUB, i64(N * M - 1), NAMES["t"])
    (site,) = predict(access(index, at=at), [0], 1, 64, sample=SOME)
    assert site.units / site.requests == 4


def test_a_gather_costs_a_sector_for_each_lane() -> None:
    t, x = var("t"), KVar("x", Prim.F32)
    where, indices = var("where"), KArray("indices", Prim.I64, Space.GLOBAL)
    body = (kir.KLet(where, kir.KLoad(indices, t)), kir.KLet(x, kir.KLoad(A, where)))
    regular, gather = predict(kernel(threads(t, i64(64), *body), arrays=(A, indices)), [0], 1, 64)
    assert (regular.exact, regular.units) == (True, 16)
    assert (gather.exact, gather.requests, gather.units) == (False, 2, 64)


@pytest.mark.filterwarnings("error")
def test_a_place_that_wraps_around_is_no_warning() -> None:
    """A place that only a branch not taken reads may be any number."""
    below, own = KArray("below", Prim.I64, Space.PRIVATE), KArray("own", Prim.I64, Space.PRIVATE)
    size = KVar("n", Prim.I64)
    load = kir.KLet(KVar("x", Prim.I64), kir.KLoad(own, i64(2**60 - 1)))
    one = kernel(threads(NAMES["t"], i64(64), kir.Alloc(below, size), kir.Alloc(own, size), load), arrays=())
    (site,) = predict(one, [70], 1, 64)
    assert site.requests == 2


@pytest.mark.parametrize("varies", [False, True], ids=["one size", "sizes that differ"])
def test_arrays_on_the_stacks_of_threads(varies: bool) -> None:
    """Words of 8 bytes of 32 threads are neighbours: each access costs 8 sectors, also of f32, of which two share one;
    more where arrays below have other sizes. The tracer counts the same."""
    t, k, x, size = NAMES["t"], NAMES["k"], var("x", Prim.F32), var("size")
    below, above = KArray("below", Prim.I64, Space.PRIVATE), KArray("above", Prim.F32, Space.PRIVATE)
    grows = kir.KLet(size, kir.KOp(Op.ADD, Prim.I64, (i64(70), t if varies else KVar("n", Prim.I64))))
    wide, narrow = kir.Store(below, k, i64(1)), kir.Store(above, k, Const(Prim.F32, 1.0))
    loop = kir.For(k, i64(70), (wide, narrow, kir.KLet(x, kir.KLoad(above, k))))
    one = kernel(threads(t, i64(64), grows, kir.Alloc(below, size), kir.Alloc(above, i64(70)), loop), arrays=())
    stores, *others = predict(one, [5], 1, 64)
    assert (stores.exact, stores.requests, stores.units, stores.lanes) == (True, 2 * 70, 8 * 2 * 70, 64 * 70)
    assert [(site.exact, site.units > stores.units) for site in others] == [(True, varies)] * 2
    report = trace.trace_kernel(one, [], [5], 1, TraceSettings(64))
    assert sum(compare(one, [5], 1, report)) == 3


# ---- every launch of every program ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_predictions_are_what_the_tracer_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a prediction says that it is exact it is, at every size and for every version; and most are."""
    launches: list[tuple[Kernel, Sequence[Any], int, KernelTrace]] = []
    run = trace.trace_kernel

    def recorded(k: Kernel, arrays: Any, scalars: Any, blocks: int, settings: Any, known: Any) -> KernelTrace:
        report = run(k, arrays, scalars, blocks, settings, known)
        launches.append((k, scalars, blocks, report))
        return report

    monkeypatch.setattr(trace, "trace_kernel", recorded)
    for call in islice(calls(path), CALLS_EACH):
        try:
            trace_program(opened(path).program.compiled, call.entry, call.args, call.forced, TraceSettings(64))
        except RunError:
            continue
    exact = [one for k, scalars, blocks, report in launches for one in compare(k, scalars, blocks, report)]
    assert not exact or sum(exact) >= LEAST_EXACT * len(exact)


def compare(k: Kernel, scalars: Sequence[Any], blocks: int, report: KernelTrace) -> list[bool]:
    """For each place with accesses, whether its prediction is exact: then it is what the tracer counts."""
    threads = 32 if k.collective is kir.Level.WARP else 64
    wanted: dict[str, tuple[int, int, int]] = {s.place: (s.requests, s.units, s.lanes) for s in report.sites}
    got: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0])
    exact: dict[str, bool] = {}
    for site in predict(k, scalars, blocks, threads):
        place = show_stm(site.statement)
        got[place] = [a + b for a, b in zip(got[place], (site.requests, site.units, site.lanes))]
        exact[place] = exact.get(place, True) and site.exact
    for place, counts in got.items():
        if exact[place]:
            assert tuple(counts) == wanted.get(place, (0, 0, 0)), f"{k.name}: {place}"
    assert set(wanted) <= set(got)
    return list(exact.values())
