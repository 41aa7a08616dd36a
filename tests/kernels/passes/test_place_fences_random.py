"""Random programs of a block: with the placed fences they are clean, and without any one of them they are not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KStm
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_kernel
from tests.support.block_kernels import BLOCK, I64, XS, copy, kernel, let, load, shared, threads, var
from tests.support.fences import count_fences, without_fence
from tests.support.kernel_interpreter import interpret

T = 6  # elements of an array, and threads
ARRAYS = (shared("a"), shared("b"), KArray("out", I64, kir.Space.GLOBAL))
arrays = st.sampled_from(ARRAYS)


def rotated(source: KArray, target: KArray, by: int) -> KStm:
    """threads i: target[i] = source[(i + by) mod T]."""
    i = var("i")
    moved, plus = let(Op.ADD, i, i64(by))
    at, wrap = let(Op.REM, moved, i64(T))
    x, read = load(source, at)
    return threads(i, i64(T), plus, wrap, read, kir.Store(target, i, x))


def rows(source: KArray, target: KArray) -> KStm:
    """Three threads, each with two neighbouring elements."""
    i, j = var("i"), var("j")
    row, scale = let(Op.MUL, i, i64(2))
    at, plus = let(Op.ADD, row, j)
    x, read = load(source, at)
    return threads(i, i64(3), scale, kir.For(j, i64(2), (plus, read, kir.Store(target, at, x))))


def uniform(source: KArray, target: KArray, at: int, to: int) -> tuple[KStm, ...]:
    x, read = load(source, i64(at))
    return (read, kir.Store(target, i64(to), x))


def alone(source: KArray, target: KArray) -> KStm:
    """A loop of the first thread."""
    i = var("i")
    x, read = load(source, i)
    return kir.For(i, i64(T), (read, kir.Store(target, i, x)))


def adding() -> kir.KLambda:
    x, y, z = var("x"), var("y"), var("z")
    return kir.KLambda((x,), (y,), (kir.KLet(z, kir.KOp(Op.ADD, I64, (x, y))),), (z,))


def total(source: KArray, target: KArray) -> tuple[KStm, ...]:
    """target[0] = sum of source."""
    i, out = var("i"), var("sum")
    x, read = load(source, i)
    reduce = kir.BlockReduce((out,), i, i64(0), i64(T), (read,), (x,), adding(), (i64(0),), True)
    return (reduce, kir.Store(target, i64(0), out))


def scanned(source: KArray, target: KArray) -> tuple[KStm, ...]:
    i, out, carry = var("i"), var("s"), var("c")
    x, read = load(source, i)
    zero = (i64(0),)
    after = (kir.Store(target, i, out),)
    return (kir.BlockScan((out,), (carry,), i, i64(0), i64(T), (read,), (x,), adding(), zero, zero, after),)


@st.composite
def phases(draw: st.DrawFn, known: bool) -> tuple[KStm, ...]:
    """One phase from one array to another; a thread loop never reads what it writes, so that the phase is in order.
    `known`: all indices are polynomials."""
    source = draw(arrays)
    target = draw(arrays.filter(lambda a: a != source))
    match draw(st.integers(1 if known else 0, 7)):
        case 0:
            return (rotated(source, target, draw(st.integers(1, T - 1))),)
        case 1 | 2:
            return (copy(source, target, T, mirrored=draw(st.booleans())),)
        case 3:
            return (rows(source, target),)
        case 4:
            return uniform(source, target, draw(st.integers(0, T - 1)), draw(st.integers(0, T - 1)))
        case 5:
            return (alone(source, target),)
        case 6:
            return total(source, target)
        case _:
            return scanned(source, target)


@st.composite
def bodies(draw: st.DrawFn, known: bool, depth: int = 2) -> tuple[KStm, ...]:
    stms: list[KStm] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.integers(0, 5)) if depth else 0
        if kind == 4:
            stms.append(kir.For(var("n"), i64(draw(st.integers(2, 3))), draw(bodies(known, depth - 1))))
        elif kind == 5:
            cond, test = let(Op.EQ, BLOCK, i64(draw(st.integers(0, 1))), prim=Prim.BOOL)
            stms += [test, kir.KIf(cond, draw(bodies(known, depth - 1)), draw(bodies(known, depth - 1)))]
        else:
            stms += draw(phases(known))
    return tuple(stms)


def program(body: tuple[KStm, ...]) -> Kernel:
    """All arrays hold something at the start; at the end a collective reads all of `out`."""
    starts = tuple(copy(XS, array, T) for array in ARRAYS)
    allocs = tuple(kir.Alloc(array, i64(T)) for array in ARRAYS if array.space is kir.Space.SHARED)
    return kernel(*allocs, *starts, *body, arrays=(XS, ARRAYS[-1]))


def traced(k: Kernel, threads_of_block: int) -> KernelTrace:
    xs, out = np.arange(T) + 1, np.zeros(T, np.int64)
    again = out.copy()
    report = trace_kernel(k, [xs, out], [T], 1, TraceSettings(threads_of_block, 2))
    interpret(k, {"xs": xs, "out": again}, {"n": T}, 1)
    assert np.array_equal(out, again)
    return report


@settings(max_examples=120, deadline=None)
@given(bodies(known=False), st.sampled_from((2, 4, 6)))
def test_placed_fences_suffice(body: tuple[KStm, ...], block: int) -> None:
    k = place_fences(program(body))
    assert check_collectives(k, 64) == ()
    assert traced(k, block).is_clean


def runs_everything(stms: tuple[KStm, ...]) -> bool:
    return not any(isinstance(s, kir.KIf) for s in stms)


@settings(max_examples=120, deadline=None)
@given(bodies(known=True, depth=1).filter(runs_everything))
def test_no_placed_fence_is_redundant(body: tuple[KStm, ...]) -> None:
    """Where everything is executed and every index is known."""
    k = place_fences(program(body))
    for number in range(count_fences(k)):
        assert not traced(without_fence(k, number), T).is_clean, number
