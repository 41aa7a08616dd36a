"""Arrays of the block's stack have the bytes of those that were given back: where the fences go, that each is needed,
and that the tracer and the emulator tell where one is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KStm, Operand, Space
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_kernel
from soac.kernels.tracer.visibility import Kind, Missing
from tests.kernels.passes.test_place_fences import letters, reads_mirrored, sum_of
from tests.support.block_kernels import OUT, TRUE, XS, N, copy, kernel, let, load, shared, threads, var
from tests.support.emulator.emulate import COMPILER, build
from tests.support.fences import count_fences, without_fence
from tests.support.kernel_interpreter import interpret

T = 8
A, C, D = shared("a"), shared("c"), shared("d")
NARROW = KArray("narrow", Prim.I32, Space.SHARED)


def take(array: KArray, *body: KStm, count: Operand = N) -> tuple[KStm, ...]:
    """A list that takes an array of the stack."""
    return (kir.Alloc(array, count), *body)


def scope(*body: KStm) -> KStm:
    """A list of its own: what it takes is given back at its end."""
    return kir.KIf(TRUE, body, ())


def times(*body: KStm, index: kir.KVar | None = None) -> KStm:
    return kir.For(index or var("n"), i64(3), body)


def mirrored(array: KArray) -> tuple[KStm, ...]:
    """At the end of it, reads of what other threads have written are under way."""
    return copy(XS, array, T), reads_mirrored(array)


def own(array: KArray) -> tuple[KStm, ...]:
    """Each thread writes an element and reads it."""
    return copy(XS, array, T), copy(array, OUT, T)


def zeros(array: KArray) -> KStm:
    i = var("i")
    return threads(i, i64(T), kir.Store(array, i, Const(array.prim, 0)))


def alone(array: KArray) -> KStm:
    """A loop of the first thread, which takes an array for itself."""
    i = var("i")
    return kir.For(i, i64(T), take(array, kir.Store(array, i, i), kir.Store(OUT, i64(0), i)))


K = var("k")
BELOW, TIMES_THREE = let(Op.MUL, K, i64(3))
FIRST, READ = load(XS, i64(0))
ODD, IS_ODD = let(Op.EQ, FIRST, i64(1), prim=Prim.BOOL)
PLACED: dict[str, tuple[tuple[KStm, ...], str]] = {
    "reads of others": ((scope(*take(C, *mirrored(C))), scope(*take(D, *own(D)))), "i(.tFt|)i(.Ftt|)"),
    "own elements": ((scope(*take(C, *own(C))), scope(*take(D, *own(D)))), "i(.tt|)i(.tt|)"),
    "elements of other sizes": ((scope(*take(C, *own(C))), scope(*take(NARROW, zeros(NARROW)))), "i(.tt|)i(.Ft|)"),
    "iterations": ((times(*take(C, *mirrored(C))),), "f(.FtFt)"),
    "iterations of own elements": ((times(*take(C, *own(C))),), "f(.tt)"),
    "another place in each": (
        (times(TIMES_THREE, *take(D, *take(C, *own(C)), count=BELOW), index=K),), "f(...Ftt)"
    ),
    "one more below": (
        (scope(*take(C, *mirrored(C))), scope(*take(D, scope(*take(A, *own(A)))))), "i(.tFt|)i(.i(.tt|)|)"
    ),
    "still there": ((*take(D), scope(*take(C, *mirrored(C))), *own(D)), ".i(.tFt|)tt"),
    "a sum between": ((scope(*take(C, *mirrored(C))), sum_of(XS), scope(*take(D, *own(D)))), "i(.tFt|)ri(.tt|)"),
    "both sides": (
        (READ, IS_ODD, scope(*take(C, *mirrored(C))), kir.KIf(ODD, take(D, *own(D)), take(A, *own(A)))),
        "..i(.tFt|)i(.Ftt|.Ftt)",
    ),
    "before a loop": ((scope(*take(C, *mirrored(C))), times(*take(D, *own(D)))), "i(.tFt|)Ff(.tt)"),
    "the first thread": ((alone(C), scope(*take(D, *own(D)))), "f(...)i(.Ftt|)"),
    "the first thread twice": ((alone(C), alone(D)), "f(...)f(...)"),
    "constant size": ((scope(*take(C, *mirrored(C), count=i64(T))), scope(*take(D, *own(D)))), "i(.tFt|)i(.tt|)"),
}  # fmt: skip


def traced(k: Kernel, first: int = 1) -> KernelTrace:
    """With as many threads as there are elements; the values are those of the oracle."""
    xs, out = np.arange(T) + first, np.zeros(T, np.int64)
    again = out.copy()
    report = trace_kernel(k, [xs, out], [T], 1, TraceSettings(T, 2))
    interpret(k, {"xs": xs, "out": again}, {"n": T}, 1)
    assert np.array_equal(out, again)
    return report


@pytest.mark.parametrize("name", PLACED)
def test_where_fences_go(name: str) -> None:
    body, wanted = PLACED[name]
    assert letters(place_fences(kernel(*body)).body) == wanted


@pytest.mark.parametrize("name", PLACED)
def test_each_fence_is_needed(name: str) -> None:
    """With it the tracer finds nothing, without it something, on one side or the other."""
    k = place_fences(kernel(*PLACED[name][0]))
    assert all(traced(k, first).is_clean for first in (1, 2))
    for number in range(count_fences(k)):
        assert not all(traced(without_fence(k, number), first).is_clean for first in (1, 2)), number


# ---- the tracer --------------------------------------------------------------------------------------------------


def test_what_is_reported() -> None:
    """Thread 7 reads c[0] last; d[0], which has its bytes, is the first thread's."""
    k = kernel(scope(*take(C, copy(XS, C, T), kir.Fence(), reads_mirrored(C))), scope(*take(D, zeros(D))))
    report = traced(k)
    assert report.counts == {Kind.WAR: T}
    hazard = report.findings[0].hazard
    assert hazard.first is not None
    assert (hazard.array, hazard.index, hazard.first.thread, hazard.second.thread) == ("d", 0, T - 1, 0)
    assert hazard.missing is Missing.BLOCK


@pytest.mark.parametrize(("count", "hazards"), [(0, 8), (4, 8), (5, 7), (9, 3), (13, 0)])
def test_bytes_are_exact(count: int, hazards: int) -> None:
    """c has 64 bytes, narrow 32 that begin at a multiple of 16, behind `count` elements of 4; thread T-1-i reads c[i],
    and two elements of narrow are one of c."""
    first, below = KArray("first", Prim.I32, Space.SHARED), var("below")
    after = take(first, *take(NARROW, zeros(NARROW)), count=below)
    read = take(C, copy(XS, C, T), kir.Fence(), reads_mirrored(C))
    report = traced(kernel(kir.Declare(below, i64(count)), scope(*read), scope(*after)))
    assert report.counts == ({Kind.WAR: hazards} if hazards else {})


def test_a_history_is_handed_on() -> None:
    """Through a list that takes the memory and touches a part of it."""
    first = kir.Store(A, i64(0), i64(1))
    k = kernel(
        scope(*take(C, copy(XS, C, T), kir.Fence(), reads_mirrored(C))),
        scope(*take(A, first)),
        scope(*take(D, zeros(D))),
    )
    report = traced(k)
    assert report.counts[Kind.WAR] == T  # a[0] meets the read of c[0], d[1] .. d[7] those of c[1] .. c[7]
    assert traced(replace(k, body=(*k.body[:1], kir.Fence(), *k.body[1:]))).is_clean


def test_what_is_there_is_nothing() -> None:
    k = kernel(scope(*take(C, *own(C))), scope(*take(D, copy(D, OUT, T))))
    report = trace_kernel(k, [np.arange(T), np.zeros(T, np.int64)], [T], 1, TraceSettings(T, 2))
    assert report.counts[Kind.UNINIT] == T


# ---- random lists ------------------------------------------------------------------------------------------------

ARRAYS = (A, C, D, NARROW)


@st.composite
def lists(draw: st.DrawFn, depth: int = 3) -> tuple[KStm, ...]:
    """Lists that take arrays of any size, in loops and branches."""
    if depth == 0:
        return ()
    array = draw(st.sampled_from(ARRAYS))
    counts = st.sampled_from((N, i64(T + 3), i64(5000)))
    uses = st.sampled_from((mirrored, own) if array.prim is Prim.I64 else (lambda a: (zeros(a),),))
    before, after = draw(lists(depth - 1)), draw(lists(depth - 1))
    body = (*draw(uses)(array), *before, *(draw(uses)(array) if draw(st.booleans()) else ()))
    around: Callable[..., KStm] = draw(st.sampled_from((scope, times)))
    return (around(*take(array, *body, count=draw(counts))), *after)


@settings(max_examples=60, deadline=None)
@given(lists())
def test_random_lists_are_clean(body: tuple[KStm, ...]) -> None:
    k = place_fences(kernel(*body))
    assert place_fences(k) == k
    assert traced(k).is_clean


# ---- the emulator ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: nothing is emulated")
@pytest.mark.parametrize("dropped", [None, 0, 1])
def test_the_emulator_tells(dropped: int | None) -> None:
    """A fence that is left out of the kernel is left out of the CUDA text, and then the values are wrong."""
    k = place_fences(kernel(scope(*take(C, *mirrored(C))), scope(*take(D, zeros(D)))))
    emulator = build((k if dropped is None else without_fence(k, dropped),), passes=())
    right = []
    for order in (0, 1, 5):
        xs, out = np.arange(T) + 1, np.zeros(T, np.int64)
        emulator.launch("k", 1, [xs, out], [T], order)
        right.append(np.array_equal(out, xs[::-1]))
    assert right == [dropped is None] * 3
