"""Kernels as a compiler for blocks of threads would make them, without their fences; for tests."""

from __future__ import annotations

from itertools import count

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KStm, KVar, Operand, Space

I64, BOOL = Prim.I64, Prim.BOOL
ZERO = i64(0)
BLOCK, N = KVar("block", I64), KVar("n", I64)
XS, OUT = KArray("xs", I64, Space.GLOBAL), KArray("out", I64, Space.GLOBAL)
_numbers = count()


def var(base: str, prim: Prim = I64) -> KVar:
    return KVar(f"{base}_{next(_numbers)}", prim)


def shared(name: str) -> KArray:
    return KArray(name, I64, Space.SHARED)


def let(op: Op, *args: Operand, prim: Prim = I64) -> tuple[KVar, KStm]:
    x = var("x", prim)
    return x, kir.KLet(x, kir.KOp(op, I64, args))


def load(array: KArray, index: Operand) -> tuple[KVar, KStm]:
    x = var("x")
    return x, kir.KLet(x, kir.KLoad(array, index))


def copied(x: KVar) -> tuple[KVar, KStm]:
    y = var("y")
    return y, kir.KLet(y, kir.KConvert(I64, I64, x))


def kernel(*body: KStm, arrays: tuple[KArray, ...] = (XS, OUT)) -> Kernel:
    return Kernel("k", BLOCK, arrays, (N,), body, (), Level.BLOCK)


def threads(i: KVar, hi: Operand, *body: KStm, lo: Operand = ZERO) -> KStm:
    return kir.Threads(i, lo, hi, body)


def tiled(t: int) -> Kernel:
    """out[i] = sum over j of (xs[j] + xs[i]), one block per t elements, xs staged through a tile of shared memory; the
    accumulators are an array of which each thread has its own element."""
    ys, accs = shared("ys"), shared("accs")
    first, last = var("first"), var("last")
    a, d, e, f, g, h = (var("i") for _ in range(6))
    tile, j = var("tile"), var("j")
    tiles, round_up = let(Op.ADD, N, i64(t - 1))
    number, divide = let(Op.QUOT, tiles, i64(t))
    start, here, end = var("start"), var("here"), var("end")
    x_at, x_mine = load(XS, d)
    y, y_load = load(ys, j)
    both, plus = let(Op.ADD, x_at, y)
    acc, acc_load = load(accs, f)
    more, add = let(Op.ADD, acc, both)
    staged, staged_load = load(XS, e)
    spot, minus = let(Op.SUB, e, start)
    mine, to_mine = let(Op.ADD, first, f)
    final, final_load = load(accs, g)
    place, to_place = let(Op.ADD, first, g)
    count_here, sub_here = let(Op.SUB, last, first)
    return kernel(
        round_up,
        divide,
        kir.KLet(first, kir.KOp(Op.MUL, I64, (BLOCK, i64(t)))),
        kir.KLet(h, kir.KOp(Op.ADD, I64, (first, i64(t)))),
        kir.KLet(last, kir.KOp(Op.MIN, I64, (h, N))),
        sub_here,
        kir.Alloc(ys, i64(t)),
        kir.Alloc(accs, i64(t)),
        threads(a, count_here, kir.Store(accs, a, i64(0))),
        kir.For(
            tile,
            number,
            (
                kir.KLet(start, kir.KOp(Op.MUL, I64, (tile, i64(t)))),
                kir.KLet(end, kir.KOp(Op.ADD, I64, (start, i64(t)))),
                kir.KLet(here, kir.KOp(Op.MIN, I64, (end, N))),
                threads(e, here, staged_load, minus, kir.Store(ys, spot, staged), lo=start),
                kir.KLet(KVar("length", I64), kir.KOp(Op.SUB, I64, (here, start))),
                threads(
                    f,
                    count_here,
                    to_mine,
                    kir.KLet(d, kir.KConvert(I64, I64, mine)),
                    x_mine,
                    kir.For(j, KVar("length", I64), (y_load, plus, acc_load, add, kir.Store(accs, f, more))),
                ),
            ),
        ),
        threads(g, count_here, final_load, to_place, kir.Store(OUT, place, final)),
    )


def tree_reduction(t: int) -> Kernel:
    """out[i] = sum of xs (t of them) for all i < t: halving in shared memory, then every thread reads the total."""
    s = shared("s")
    i, j, k, half = var("i"), var("j"), var("k"), var("half")
    x, x_load = load(XS, i)
    width, width_copy = copied(half)
    near, near_load = load(s, j)
    far_at, far_index = let(Op.ADD, j, width)
    far, far_load = load(s, far_at)
    total, add = let(Op.ADD, near, far)
    less, halve = let(Op.QUOT, width, i64(2))
    goes_on = var("more", BOOL)
    result, result_load = load(s, i64(0))
    return kernel(
        kir.Alloc(s, i64(t)),
        threads(i, i64(t), x_load, kir.Store(s, i, x)),
        kir.Declare(half, i64(t // 2)),
        kir.KWhile(
            (kir.KLet(goes_on, kir.KOp(Op.GT, I64, (half, i64(0)))),),
            goes_on,
            (
                width_copy,
                threads(j, width, near_load, far_index, far_load, add, kir.Store(s, j, total)),
                halve,
                kir.Assign(half, less),
            ),
        ),
        threads(k, i64(t), result_load, kir.Store(OUT, k, result)),
    )


def step_of_scan(source: KArray, target: KArray, distance: Operand, t: int) -> KStm:
    """threads i: target[i] = source[i - distance] + source[i], the first `distance` as they are."""
    i, total = var("i"), var("total")
    x, x_load = load(source, i)
    far_at, far_index = let(Op.SUB, i, distance)
    far, far_load = load(source, far_at)
    both, add = let(Op.ADD, far, x)
    inside, test = let(Op.GE, i, distance, prim=BOOL)
    branch = kir.KIf(inside, (far_index, far_load, add, kir.Assign(total, both)), ())
    out, out_copy = copied(total)
    return threads(
        i, i64(t), x_load, kir.Declare(total, x), test, branch, out_copy, kir.Store(target, i, out)
    )  # fmt: skip


def copy(source: KArray, target: KArray, t: int, mirrored: bool = False) -> KStm:
    i = var("i")
    at, index = let(Op.SUB, i64(t - 1), i)
    x, x_load = load(source, at if mirrored else i)
    return threads(i, i64(t), *((index,) if mirrored else ()), x_load, kir.Store(target, i, x))


def hillis_steele(t: int) -> Kernel:
    """out = inclusive scan of xs, mirrored; in place, with a value of its own for each thread between reading and
    writing."""
    a, v = shared("a"), shared("v")
    distance, twice = var("distance"), var("twice")
    now, now_copy = copied(distance)
    goes_on = var("more", BOOL)
    return kernel(
        kir.Alloc(a, i64(t)),
        kir.Alloc(v, i64(t)),
        copy(XS, a, t),
        kir.Declare(distance, i64(1)),
        kir.KWhile(
            (kir.KLet(goes_on, kir.KOp(Op.LT, I64, (distance, i64(t)))),),
            goes_on,
            (
                now_copy,
                step_of_scan(a, v, now, t),
                copy(v, a, t),
                kir.KLet(twice, kir.KOp(Op.MUL, I64, (now, i64(2)))),
                kir.Assign(distance, twice),
            ),
        ),
        copy(a, OUT, t, mirrored=True),
    )


def double_buffered(t: int, swapped: bool = False) -> Kernel:
    """The same with two buffers, for t = 8; `swapped`: the second step writes into the buffer that it reads."""
    a, b = shared("a"), shared("b")
    second = step_of_scan(b, b if swapped else a, i64(2), t)
    return kernel(
        kir.Alloc(a, i64(t)),
        kir.Alloc(b, i64(t)),
        copy(XS, a, t),
        step_of_scan(a, b, i64(1), t),
        second,
        step_of_scan(a, b, i64(4), t),
        copy(b, OUT, t, mirrored=True),
    )


def histogram(t: int, bins: int, atomic: bool) -> Kernel:
    """out[i mod bins] += xs[i]; or, wrongly, a plain store of the sum."""
    i = var("i")
    x, x_load = load(XS, i)
    at, index = let(Op.REM, i, i64(bins))
    old, old_load = load(OUT, at)
    new, add = let(Op.ADD, old, x)
    if atomic:
        return kernel(threads(i, i64(t), x_load, index, kir.Atomic(Op.ADD, I64, OUT, at, x)))
    return kernel(threads(i, i64(t), x_load, index, old_load, add, kir.Store(OUT, at, new)))


def plain_stores(t: int, bins: int) -> Kernel:
    """out[i mod bins] = xs[i]."""
    i = var("i")
    x, x_load = load(XS, i)
    at, index = let(Op.REM, i, i64(bins))
    return kernel(threads(i, i64(t), x_load, index, kir.Store(OUT, at, x)))


TRUE = Const(BOOL, True)
