"""Thread loops are cut where their ends differ, and only there; `conformance/map/neighbours` has the values."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soac
from soac.ir.ops import Op
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, KIf, KLet, KOp, KStm, PeeledThreads, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes import pipeline
from soac.kernels.passes.loop_middles import FAR, LARGEST
from soac.kernels.passes.peel_boundaries import LANES, peel_boundaries

CLAMPS = {Op.MIN, Op.MAX}


def kernels_of(text: str) -> list[Kernel]:
    return [peel_boundaries(kernel) for kernel in soac.compile(text).compiled.host.kernels]


def cuts(kernels: list[Kernel]) -> list[tuple[PeeledThreads, tuple[KStm, ...]]]:
    """Cut loops, with the loops as they were."""
    found = [stm for kernel in kernels for stm in statements(kernel.body) if isinstance(stm, KIf)]
    return [(loop, stm.orelse) for stm in found for loop in stm.then if isinstance(loop, PeeledThreads)]


def clamps(stms: tuple[KStm, ...]) -> int:
    return sum(isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and stm.rhs.op in CLAMPS for stm in statements(stms))


def test_clamps_are_gone_from_the_middle() -> None:
    text = "entry f [n] (xs: [n]i32) = tabulate n (\\i -> xs[i64.max 0 (i - 1)] + xs[i64.min (n - 1) (i + 1)])"
    ((loop, before),) = cuts(kernels_of(text))
    assert clamps(loop.middle) == 0
    assert clamps(loop.body) == clamps(before) == 2


def test_clamps_that_no_index_needs_are_gone_from_the_ends() -> None:
    """Of clamps from both sides one may bite; the index itself is within. So are their checks gone, and that of the
    line."""
    text = "entry f [n][m] (xss: [n][m]i32) = let at i j = xss[i, i64.max 0 (i64.min (m - 1) j)]"
    text += " in tabulate_2d n m (\\i j -> at i j + at i (j - 1) + at i (j + 1))"
    ((loop, before),) = cuts(kernels_of(text))
    assert (clamps(loop.middle), clamps(loop.body), clamps(before)) == (0, 2, 6)
    assert (checks(loop.middle), checks(loop.body)) == (0, 0)
    assert checks(before) >= 3


def test_an_interval_of_something_else_says_nothing_of_the_index() -> None:
    """That elements are compared with 0 leaves the clamps at 0 to what is known of the index."""
    text = "entry f [n] (xs: [n]i64) (ks: [n]i64) = let at i = xs[i64.max 0 (i64.min (n - 1) i)] in"
    text += " map2 (\\i k -> (if k >= 0 && k < n then 1 else 0) + at i + at (i + 1)) (iota n) ks"
    ((loop, before),) = cuts(kernels_of(text))
    assert (clamps(loop.middle), clamps(loop.body), clamps(before)) == (0, 1, 4)


def test_conditions_are_gone_from_the_middle() -> None:
    text = "entry f [n] (xs: [n]i32) = map (\\i -> if i == 0 then 0 else if i < n - 1 then xs[i + 1] else 7) (iota n)"
    ((loop, _),) = cuts(kernels_of(text))
    assert not any(isinstance(stm, KIf) for stm in statements(loop.middle))


def checks(stms: tuple[KStm, ...]) -> int:
    return sum(isinstance(stm, kir.BoundsCheck) for stm in statements(stms))


def test_checks_are_gone_from_the_middle() -> None:
    """Those of the line, which is the same for all threads, and those of the places in it."""
    text = "entry f [n][m] (xss: [n][m]i32) (k: i64) = "
    text += "tabulate_2d n m (\\i j -> xss[i + k, i64.max 0 (j - 1)] + xss[i, j + 1])"
    ((loop, before),) = cuts(kernels_of(text))
    assert checks(loop.middle) == 0
    assert checks(before) >= 3


@pytest.mark.parametrize(("far", "left"), [(1, 0), (9, 1)])
def test_checks_that_some_threads_make_stay_if_they_are_of_far_elements(far: int, left: int) -> None:
    text = "entry f [n] (xs: [n]i32) = tabulate n (\\i -> xs[i64.max 0 (i - 1)] + (if xs[i] > 0 then xs[i + "
    ((loop, _),) = cuts(kernels_of(f"{text}{far}] else 0))"))
    assert checks(loop.middle) == left


def test_checks_alone_cut_nothing() -> None:
    text = "entry f [n] (xs: [n]i32) = tabulate n (\\i -> xs[i + 0 * n + 1])"
    assert cuts(kernels_of(text)) == []


def test_other_loops_stay() -> None:
    text = "entry f [n] (k: i64) (xs: [n]i32) = map (\\x -> i32.max 0 (x - 1) + xs[i64.min k (i64.i32 x)]) xs"
    assert cuts(kernels_of(text)) == []


def test_what_the_kernel_has_written_is_read_without_masks() -> None:
    """They would wait for stores under masks: rounds over 32 elements take 20 ns, or 70."""
    text = "entry f [n] (xs: [n]f32) = loop xs for _t < 31 do tabulate n (\\i -> xs[i64.max 0 (i - 1)] + xs[i])"
    kernels = kernels_of(text)
    alone = [
        stm for kernel in kernels for stm in statements(kernel.body) if isinstance(stm, KIf) and len(stm.then) == 2
    ]
    assert alone
    assert all(isinstance(middle, Threads) and isinstance(ends, kir.For) for middle, ends in (s.then for s in alone))


def test_lengths_around_those_of_vectors() -> None:
    text = "entry f [n] (xs: [n]i64) = tabulate n (\\i -> 100 * xs[i64.max 0 (i - 2)] + i64.min (n - 1) (i + 3))"
    program = soac.compile(text)
    for n in range(40):
        assert program.f(list(range(n))).tolist() == [100 * max(0, i - 2) + min(n - 1, i + 3) for i in range(n)]


INTERVALS = """
entry padded [n] (k: i64) (xs: [n]i32): []i32 =
  tabulate (n + 2 * k) (\\i -> if i >= k && i < n + k then xs[i - k] else 7)
entry outside [n] (k: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> if i < k || i + 1 > n - k then xs[i] else xs[i - k] + xs[i + k])
entry summed [n] (k: i64) (xs: [n]i64): i64 =
  reduce_comm (+) 0 (tabulate n (\\i -> if k <= i && i < n - k then xs[i] * xs[i - k] else 1))
"""


def test_of_an_interval_the_middle_is_inside() -> None:
    """Where both ends are found at run time."""
    found = cuts(kernels_of(INTERVALS))
    assert len(found) == 2
    middles = [tuple(statements(loop.middle)) for loop, _ in found]
    assert not any(isinstance(stm, KIf) for middle in middles for stm in middle)
    assert all(any(isinstance(stm, KLet) and isinstance(stm.rhs, kir.KLoad) for stm in middle) for middle in middles)


def test_intervals_of_all_lengths() -> None:
    program = soac.compile(INTERVALS)
    for n, k in itertools.product((*range(0, 24, 3), 70), (0, 1, 3, 4, 5, 11)):
        xs = np.arange(1, n + 1)
        assert np.array_equal(program.padded(k, xs.astype(np.int32)), np.pad(xs, k, constant_values=7))
        i = np.arange(n)
        inside = (i >= k) & (i < n - k)
        below, above = xs.take(i - k, mode="wrap") if n else xs, xs.take(i + k, mode="wrap") if n else xs
        assert np.array_equal(program.outside(k, xs.astype(np.int32)), np.where(inside, below + above, xs))
        assert program.summed(k, xs) == np.where(inside, xs * below, 1).sum()


EVERY_OTHER = """
def at [n] (xs: [n]f32) (i: i64): f32 = xs[i64.max 0 (i64.min (n - 1) i)]
entry coarse [n] (xs: [n]f32): []f32 =
  tabulate (n / 2) (\\i -> at xs (2 * i - 2) + 2 * at xs (2 * i) + at xs (2 * i + 1))
entry third [n] (m: i64) (xs: [n]f32): []f32 =
  tabulate m (\\i -> if 3 * i + 1 < n then xs[3 * i] - xs[3 * i + 1] else 7)
entry late [n] (m: i64) (xs: [n]f32): f32 = f32.sum (tabulate m (\\i -> if 2 * i - 3 >= 0 then xs[2 * i - 3] else 1))
entry sums [n] (xs: [n]f32): []f32 = scan (+) 0 (tabulate (n / 2) (\\i -> at xs (2 * i - 1) + at xs (2 * i + 1)))
entry bounded [n] (low: i64) (high: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> if low <= 2 * i && 2 * i - 1 < high then xs[i64.max 0 (2 * i - n)] else -1)
"""


@cache
def every_other() -> soac.Program:
    return soac.compile(EVERY_OTHER)


def test_multiples_of_the_index_are_cut() -> None:
    text = "entry f [n] (xs: [n]f32) = "
    text += "tabulate (n / 2) (\\i -> xs[i64.max 0 (2 * i - 1)] + xs[i64.min (n - 1) (2 * i + 1)])"
    ((loop, before),) = cuts(kernels_of(text))
    assert (clamps(loop.middle), clamps(before)) == (0, 2)


def test_multiples_of_the_index_that_are_not_negative_cut_nothing() -> None:
    """The checks of windows at a step, `xs[4 * i : 4 * i + k]`."""
    text = "entry f [n][k] (taps: [k]f32) (xs: [n]f32): []f32 = "
    text += "tabulate ((n - k) / 4 + 1) (\\i -> f32.sum (map2 (*) taps (xs[4 * i : 4 * i + k] :> [k]f32)))"
    assert cuts(kernels_of(text)) == []


@given(st.integers(0, 70) | st.integers(500, 530) | st.just(70_000))
def test_multiples_of_the_index_at_all_lengths(n: int) -> None:
    xs = np.arange(1, n + 1, dtype=np.float32) % 1000
    i, clamped = np.arange(n // 2), lambda at: xs[np.clip(at, 0, max(0, n - 1))] if n else xs
    np.testing.assert_array_equal(
        every_other().coarse(xs), clamped(2 * i - 2) + 2 * clamped(2 * i) + clamped(2 * i + 1)
    )
    wanted = np.cumsum(clamped(2 * i - 1) + clamped(2 * i + 1), dtype=np.float64)
    np.testing.assert_allclose(every_other().sums(xs), wanted, rtol=1e-4)
    for m in {0, max(0, n // 3 - 1), (n + 1) // 3, n // 3 + 2, n // 3 + 20}:
        inside = 3 * np.arange(m) + 1 < n
        found = every_other().third(m, xs)
        assert (found[inside] == -1).sum() + (found[inside] == 999).sum() == inside.sum()
        assert (found[~inside] == 7).all()
    m = (n + 3) // 2
    early = np.arange(m) * 2 - 3
    np.testing.assert_allclose(
        every_other().late(m, xs), np.where(early < 0, 1, clamped(np.maximum(early, 0))).sum() if n else m, rtol=1e-4
    )


@pytest.mark.parametrize("n", [1, 4, 9, 100])
def test_multiples_of_the_index_beside_bounds_that_are_far(n: int) -> None:
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    xs = np.arange(n, dtype=np.int32)
    for a, b in itertools.product((low, low + 1, -1, 0, 3, n, high), repeat=2):
        wanted = [int(xs[max(0, 2 * i - n)]) if a <= 2 * i and 2 * i - 1 < b else -1 for i in range(n)]
        assert every_other().bounded(a, b, xs).tolist() == wanted


@pytest.mark.parametrize(("by", "shift"), [(1, FAR - 1), (2, FAR - 1), (1, LARGEST - 1), (2, LARGEST - 1)])
def test_large_shifts_of_indices_beside_bounds_that_are_further(by: int, shift: int) -> None:
    """A sum that does not wrap, and a constant that is brought near enough for their difference not to wrap."""
    xs = np.arange(100, dtype=np.int32)
    text = f"entry f [n] (xs: [n]i32) = map (\\i -> if i64.highest > {by} * i + {shift} then xs[i] else 7) (iota n)"
    program = soac.compile(text)
    for _ in range(2):  # code of little effort, then of full
        assert np.array_equal(program.f(xs), xs)


AT_A_DISTANCE = """
def clamp (n: i64) (i: i64) = i64.max 0 (i64.min (n - 1) i)
entry apart [n] (k: i64) (xs: [n]i32): [n]i32 =
  map (\\i -> (if i + k < n && i + k >= 0 then xs[i + k] else 7) - xs[clamp n (i - k - 1)]) (iota n)
entry nearer [n] (k: i64) (m: i64) (xs: [n]i32): [n]i32 =
  map (\\i -> if k - m + i >= 0 && i - m + k < n - 2 then xs[i + (k - m)] else xs[i]) (iota n)
entry around [n] (r: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> loop s = 0 for d < 2 * r + 1 do
    loop s for e < 2 do s + xs[clamp n (i + d - r)] * xs[clamp n (i - e - d)])
entry inside [n] (r: i64) (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> loop s = 0 for d < 2 * r + 1 do let j = i - r + d in if 0 <= j && j < n then s + xs[j] else s - 1)
entry total [n] (r: i64) (xs: [n]i32): i32 = i32.sum (tabulate n (\\i -> xs[clamp n (i + r)] - xs[clamp n (i - r)]))
"""


@cache
def at_a_distance() -> soac.Program:
    return soac.compile(AT_A_DISTANCE)


@pytest.mark.parametrize("entry", ["apart", "around", "inside"])
def test_neighbours_at_a_distance_are_cut(entry: str) -> None:
    helper, *entries = AT_A_DISTANCE.split("entry ")
    (chosen,) = (one for one in entries if one.startswith(entry))
    ((loop, before),) = cuts(kernels_of(f"{helper}entry {chosen}"))
    assert clamps(loop.middle) == sum(isinstance(stm, KIf) for stm in statements(loop.middle)) == 0
    assert clamps(before) + sum(isinstance(stm, KIf) for stm in statements(before)) > 0


FAR_AWAY = (2**61 - 1, 2**61, 2**62, 2**63 - 1, -(2**61), -(2**63))


@given(st.integers(0, 70) | st.integers(500, 530), st.integers(-3, 90))
def test_distances_of_all_kinds(n: int, r: int) -> None:
    xs, i, program = np.arange(1, n + 1, dtype=np.int32) % 101, np.arange(n), at_a_distance()

    def clamped(at: np.ndarray) -> np.ndarray:
        return xs[np.clip(at, 0, n - 1)] if n else xs

    with np.errstate(over="ignore"):
        for k in (r, *FAR_AWAY):
            there, k = i + np.int64(k), np.int64(k)
            wanted = np.where((there < n) & (there >= 0), clamped(there), 7) - clamped(i - k - 1)
            assert np.array_equal(program.apart(k, xs), wanted)
            for m in (np.int64(3), np.int64(2**62)):
                there = k - m + i
                wanted = np.where((there >= 0) & (there < n - 2), clamped(there), xs)
                assert np.array_equal(program.nearer(k, m, xs), wanted)
            assert program.total(k, xs) == (clamped(i + k) - clamped(i - k)).sum()
    d = range(2 * r + 1)
    sums = [clamped(i + k - r) * (clamped(i - k) + clamped(i - 1 - k)) for k in d]
    assert np.array_equal(program.around(r, xs), sum(sums, np.zeros(n, np.int32)))
    terms = [np.where((i - r + k >= 0) & (i - r + k < n), clamped(i - r + k), -1) for k in d]
    assert np.array_equal(program.inside(r, xs), sum(terms, np.zeros(n, np.int32)))


SCANS = """
entry steps [n] (xs: [n]f32): [n]f32 = scan (+) 0 (tabulate n (\\i -> if i == 0 then 0 else xs[i] * xs[i - 1]))
entry means [n] (xs: [n]f32): [n]f32 =
  scan (+) 0 (tabulate n (\\i -> if i == 0 || i == n - 1 then xs[i] else xs[i - 1] + xs[i + 1]))
entry clamped [n] (xs: [n]f32): [n]f32 = scan f32.max (-1) (tabulate n (\\i -> xs[i64.min (i + 2) (n - 1)]))
entry heads [n] (xs: [n]f32): []f32 = map (\\i -> xs[i]) (filter (\\i -> i == 0 || xs[i] > xs[i - 1]) (iota n))
"""


def boundary_scans() -> soac.Program:
    """With kernels compiled by the passes that there are now."""
    program = soac.compile(SCANS)
    for entry, n in itertools.product(program.entries, (3, 3, 3, 1000, 70_000)):
        program.call(entry, [np.ones(n, np.float32)])
    return program


@cache
def with_and_without() -> tuple[soac.Program, soac.Program]:
    with pytest.MonkeyPatch.context() as patch:
        whole = tuple((name, run) for name, run in pipeline.CPU_PASSES if name != "peel-boundaries")
        patch.setattr("soac.kernels.devices.cpu.build.CPU_PASSES", whole)
        plain = boundary_scans()
    return boundary_scans(), plain


def test_scans_are_cut() -> None:
    kernels = [kernel for kernel in soac.compile(SCANS).compiled.host.kernels if kernel != peel_boundaries(kernel)]
    counts = [sum(isinstance(stm, kir.BlockScan) for stm in peel_boundaries(kernel).body) for kernel in kernels]
    assert sorted(counts) == [2, 2, 3, 3]


@given(st.integers(0, 3) | st.integers(LANES - 2, LANES + 3) | st.integers(2 * LANES - 2, 1100) | st.just(70_000))
def test_scans_have_the_same_bits(n: int) -> None:
    xs = np.random.default_rng(n).random(n, np.float32)
    for entry in with_and_without()[0].entries:
        found, wanted = (program.call(entry, [xs])[0] for program in with_and_without())
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
    products = np.concatenate([xs[:1] * 0, xs[1:] * xs[:-1]])
    np.testing.assert_allclose(with_and_without()[0].steps(xs), np.cumsum(products, dtype=np.float64), rtol=1e-3)
