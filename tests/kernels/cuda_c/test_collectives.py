"""Reductions and scans of a block in CUDA C: right in every order of threads, with one barrier for a reduction; without
it, or without the two halves of its memory, the orders tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from soac.frontend.source.numeric_modules import Arg, Node, Scalar, meanings
from soac.ir.ops import BINARY, Op, result_type
from soac.ir.types import Const, Prim, i64
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import TraceSettings, trace_kernel
from soac.kernels.tracer.visibility import Kind
from tests.support.block_kernels import OUT, XS, N, copy, kernel, let, load, shared, threads, var
from tests.support.emulator import emulate
from tests.support.emulator.emulate import COMPILER, build
from tests.support.fences import count_fences
from tests.support.kernel_interpreter import interpret

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: nothing is emulated")
ORDERS = (0, 1, 5)
TIMES, T = 4, 128
KINDS = ["any order", "in order", "staged"]


def plus() -> kir.KLambda:
    x, y = var("x"), var("y")
    total, add = let(Op.ADD, x, y)
    return kir.KLambda((x,), (y,), (add,), (total,))


def composed() -> kir.KLambda:
    """Of functions x -> a x + b, the left one first; it keeps order."""
    a, b, c, d = (var("f") for _ in range(4))
    slope, times = let(Op.MUL, c, a)
    moved, scaled = let(Op.MUL, c, b)
    start, add = let(Op.ADD, moved, d)
    return kir.KLambda((a, b), (c, d), (times, scaled, add), (slope, start))


def reduction(kind: str, k: kir.Operand, count: kir.Operand) -> tuple[kir.BlockReduce, kir.KVar]:
    """Of the numbers xs[i] + k, or of the functions x -> 3 x + xs[i] + k."""
    i, slope, start = var("i"), var("slope"), var("start")
    x, read = load(XS, i)
    y, add = let(Op.ADD, x, k)
    if kind == "any order":
        return kir.BlockReduce((start,), i, i64(0), count, (read, add), (y,), plus(), (i64(0),), True), start
    outs, values, neutral = (slope, start), (i64(3), y), (i64(1), i64(0))
    long = kind == "staged"
    return kir.BlockReduce(outs, i, i64(0), count, (read, add), values, composed(), neutral, False, long), start


def repeated(kind: str) -> Kernel:
    """out[k * T + t] = the k-th reduction, as thread t has it."""
    k, i = var("k"), var("i")
    reduce, found = reduction(kind, k, N)
    row, scaled = let(Op.MUL, k, i64(T))
    at, to_at = let(Op.ADD, row, i)
    return kernel(kir.For(k, i64(TIMES), (reduce, scaled, threads(i, i64(T), to_at, kir.Store(OUT, at, found)))))


def wrong_orders(k: Kernel, of_block: int, n: int) -> list[int]:
    """The orders of threads in which the emulated values are not the oracle's."""
    xs, wanted, wrong = np.arange(n) % 7, np.zeros(TIMES * T, np.int64), []
    interpret(k, {"xs": xs, "out": wanted}, {"n": n}, 1)
    emulator = build((k,), of_block)
    for order in ORDERS:
        out = np.zeros(TIMES * T, np.int64)
        emulator.launch("k", 1, [xs, out], [n], order)
        wrong += [] if np.array_equal(out, wanted) else [order]
    return wrong


@needs_compiler
@pytest.mark.parametrize("of_block", [32, 64, 128])
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_one_after_the_other(kind: str, of_block: int) -> None:
    for n in (1, 31, 130):
        assert wrong_orders(repeated(kind), of_block, n) == [], n


@needs_compiler
@pytest.mark.parametrize("of_block", [32, 64, 128])
def test_scans_one_after_the_other(of_block: int) -> None:
    """Of functions, over several tiles of several warps; the second scan begins with what the first one gives."""
    stms: list[kir.KStm] = []
    carry: tuple[kir.Operand, ...] = (i64(1), i64(0))
    for k in range(2):
        i, slope, start = var("i"), var("slope"), var("start")
        x, read = load(XS, i)
        row, scaled = let(Op.MUL, i64(k), N)
        at, add = let(Op.ADD, row, i)
        ends = var("slope"), var("start")
        scan = kir.BlockScan(
            (slope, start), ends, i, i64(0), N, (read,), (i64(3), x), composed(), carry, (i64(1), i64(0)),
            (scaled, add, kir.Store(OUT, at, start)),
        )  # fmt: skip
        stms.append(scan)
        carry = ends
    for n in (1, 31, 33, 130, 200):
        assert wrong_orders(kernel(*stms), of_block, n) == [], n


@pytest.mark.parametrize(("kind", "barriers"), [("any order", 1), ("in order", 2), ("staged", 3)])
def test_barriers(kind: str, barriers: int) -> None:
    """One for the values of the warps; one where there is nothing to reduce; one between the filling of a tile and its
    reading."""
    assert cuda_kernel(place_fences(repeated(kind))).text.count("__syncthreads();") == barriers


# ---- who comes to a shuffle --------------------------------------------------------------------------------------

SHUFFLE = re.compile(r"\b(?:value_(?:below|above|at)|__shfl\w*|__any_sync|__ballot_sync)\(")
DECIDES = re.compile(r"&&|\|\||\?")


def conditional_shuffles(text: str) -> list[str]:
    """The lines in which a shuffle is evaluated if something before it in its expression says so."""
    lines = (line.split(";") for line in text.splitlines() if not line.lstrip().startswith(("//", "#", "for", "while")))
    parts = (part for line in lines for part in line)
    return [part for part in parts if any(DECIDES.search(part[: found.start()]) for found in SHUFFLE.finditer(part))]


def of_one_operation(op: Op, prim: Prim, swapped: bool) -> kir.KLambda:
    x, y, z = (kir.KVar(name, prim) for name in ("x_a", "y_a", "z_a"))
    args = (y, x) if swapped else (x, y)
    return kir.KLambda((x,), (y,), (kir.KLet(z, kir.KOp(op, prim, args)),), (z,))


def operators() -> Iterator[kir.KLambda]:
    """Those that a numeric module has."""
    for prim in (Prim.BOOL, Prim.I32, Prim.U8, Prim.F32):
        formulas = [m.formula for m in meanings(prim).values() if isinstance(m, Scalar)]
        for formula in formulas:
            match formula:
                case Node(op, _, (Arg(), Arg())) if op in BINARY and result_type(op, prim) is prim:
                    yield from (of_one_operation(op, prim, swapped) for swapped in (False, True))
                case _:
                    pass


def test_all_threads_come_to_shuffles() -> None:
    """Operators of one operation, whose operands are shuffles where they are written down."""
    for op in operators():
        (x,), i = op.left, var("i")
        value, s, total, carry = (kir.KVar(name, x.prim) for name in ("v_b", "s_b", "t_b", "c_b"))
        ne = Const(x.prim, False if x.prim is Prim.BOOL else 0)
        array = kir.KArray("ys", x.prim, kir.Space.GLOBAL)
        read, store = kir.KLet(value, kir.KLoad(array, i)), kir.Store(array, i, s)
        scan = kir.BlockScan((s,), (carry,), i, i64(0), N, (read,), (value,), op, (ne,), (ne,), (store,))
        for commutes in (False, True):
            reduce = kir.BlockReduce((total,), i, i64(0), N, (read,), (value,), op, (ne,), commutes)
            made = replace(kernel(reduce, scan), arrays=(array,))
            assert conditional_shuffles(cuda_kernel(place_fences(made), T).text) == [], op


# ---- mutants -----------------------------------------------------------------------------------------------------


def without_halves(kernel: CudaKernel) -> CudaKernel:
    changed = re.sub(r"\w+ \^= \d+;", "", kernel.text)
    assert changed != kernel.text
    return replace(kernel, text=changed)


def without_barrier(kernel: CudaKernel) -> CudaKernel:
    """The one before the values of the warps are read."""
    before, after = kernel.text.split("? partial", 1)
    head, _, tail = before.rpartition("__syncthreads();")
    return replace(kernel, text=f"{head}{tail}? partial{after}")


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "mutant"),
    [*((kind, without_barrier) for kind in KINDS), *((kind, without_halves) for kind in KINDS if kind != "staged")],
)
def test_the_orders_tell(
    kind: str, mutant: Callable[[CudaKernel], CudaKernel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two tiles that are staged there is a barrier in any case."""
    monkeypatch.setattr(emulate, "cuda_kernel", lambda k, threads: mutant(cuda_kernel(k, threads)))
    assert wrong_orders(repeated(kind), 64, 130) != []


def alternating(halves: int, fence: bool) -> Kernel:
    """A reduction's exchange as kernel IR: each thread writes its value into the half of this turn, and all meet; then
    each reads all of them."""
    s, k, i, j = shared("s"), var("k"), var("i"), var("j")
    turn, which = let(Op.REM, k, i64(halves))
    half, scaled = let(Op.MUL, turn, i64(T))
    to, to_add = let(Op.ADD, half, i)
    back, mirror = let(Op.SUB, i64(T - 1), j)
    at, at_add = let(Op.ADD, half, back)
    x, read = load(s, at)
    write = threads(i, i64(T), to_add, kir.Store(s, to, k))
    use = threads(j, i64(T), mirror, at_add, read, kir.Store(OUT, j, x))
    body = (which, scaled, write, *((kir.Fence(),) if fence else ()), use)
    return kernel(kir.Alloc(s, i64(2 * T)), kir.For(k, i64(TIMES), body))


@pytest.mark.parametrize(
    ("halves", "fence", "hazards"), [(2, True, set()), (1, True, {Kind.WAR}), (2, False, {Kind.RAW, Kind.WAR})]
)
def test_two_halves_need_one_barrier(halves: int, fence: bool, hazards: set[Kind]) -> None:
    """The tracer's word: between two uses of a half is the barrier of the other one."""
    k = alternating(halves, fence)
    assert count_fences(k) == fence
    report = trace_kernel(k, [np.zeros(1, np.int64), np.zeros(T, np.int64)], [1], 1, TraceSettings(T, 32))
    assert {kind for kind, count in report.counts.items() if count} == hazards


# ---- nothing to reduce -------------------------------------------------------------------------------------------


def scan(long: bool, count: kir.Operand) -> kir.BlockScan:
    i, s, carry = var("i"), var("s"), var("carry")
    x, read = load(XS, i)
    zero = (i64(0),)
    return kir.BlockScan((s,), (carry,), i, i64(0), count, (read,), (x,), plus(), zero, zero, (), long)


EMPTY: dict[str, kir.KStm] = {
    **{kind: reduction(kind, i64(0), var("none"))[0] for kind in KINDS},
    "scan": scan(False, var("none")),
    "staged scan": scan(True, var("none")),
}


@needs_compiler
@pytest.mark.parametrize("meets", [True, False])
@pytest.mark.parametrize("name", EMPTY)
def test_a_collective_of_nothing_orders(name: str, meets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around it threads write, and read what others have written. Where tiles are combined there is no tile."""
    if not meets:
        for module in ("collectives", "ordered_collectives"):
            monkeypatch.setattr(f"soac.kernels.cuda_c.{module}.meet_if_empty", lambda *_: None)
    s, none = shared("s"), var("none")
    stm = EMPTY[name]
    assert isinstance(stm, (kir.BlockReduce, kir.BlockScan))
    collective = replace(stm, hi=none)
    first, read = load(XS, i64(0))
    nothing = kir.KLet(none, kir.KOp(Op.SUB, kir.Prim.I64, (first, first)))
    around = (kir.Alloc(s, i64(T)), copy(XS, s, T), collective, copy(s, OUT, T, mirrored=True))
    k = kernel(read, nothing, *around)
    assert (wrong_orders(k, 64, T) == []) is (meets or name == "any order")
