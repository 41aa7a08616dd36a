"""Random kernels that come from no program: scalar code of threads with variables that change, branches, loops, checks,
clamped and divided indices, and reductions; and what a pass must leave as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KLet, KOp, KStm, KVar, Operand, Space
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes
from soac.kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES
from soac.kernels.passes.vectorise_accesses import row_width
from tests.support.block_kernels import BLOCK, BOOL, I64, OUT, XS, N, var
from tests.support.kernel_interpreter import interpret

M, K = KVar("m", I64), KVar("k", I64)
PASSES = {name: run for name, run in (*CPU_PASSES, *CUDA_PASSES) if name != "place-fences"}
SHIFTS = (i64(0), i64(1), i64(2), i64(3), i64(-1), i64(-2))
DIVISORS = (M, M, i64(1), i64(3), i64(32), i64(40))
ARITHMETIC = (Op.ADD, Op.ADD, Op.SUB, Op.MIN, Op.MAX, Op.MUL)
DIVISIONS = (Op.DIV, Op.MOD, Op.QUOT, Op.REM)
COMPARISONS = (Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE)


@dataclass(slots=True)
class Writer:
    """Statements under construction, and the variables in scope: those of `changing` are assigned, those that are
    `near` count with the threads, and those that are `uniform` are the same for all."""

    random: Random
    numbers: list[Operand]
    uniform: tuple[Operand, ...]
    near: tuple[Operand, ...] = SHIFTS
    tests: list[Operand] = field(default_factory=list[Operand])
    changing: list[KVar] = field(default_factory=list[KVar])
    out: list[KStm] = field(default_factory=list[KStm])

    def let(self, op: Op, *args: Operand, prim: Prim = I64) -> KVar:
        made = var("x", BOOL if op in COMPARISONS else prim)
        self.out.append(KLet(made, KOp(op, prim, args)))
        (self.tests if made.prim is BOOL else self.numbers).append(made)
        return made

    def number(self) -> Operand:
        choices = (self.numbers[-4:], self.numbers, self.changing or self.numbers, self.near)
        return self.random.choice(self.random.choice(choices))

    def test(self) -> Operand:
        if self.tests and self.random.random() < 0.4:
            return self.random.choice(self.tests)
        x = self.random.choice((*self.near, self.number()))
        y = self.random.choice((*SHIFTS, *self.uniform, self.number()))
        return self.let(self.random.choice(COMPARISONS), *((x, y) if self.random.random() < 0.8 else (y, x)))

    def everything(self) -> Operand:
        """A number in which all that is in scope counts."""
        total: Operand = i64(0)
        for x in dict.fromkeys((*self.numbers, *self.changing, *self.tests)):
            one = self.let(Op.SELECT, x, i64(5), i64(7)) if x.prim is BOOL else x
            total = self.let(Op.ADD, self.let(Op.MUL, total, i64(3)), one)
        return total

    def element(self, index: Operand) -> None:
        """A load, in bounds by clamps."""
        last = self.let(Op.SUB, N, i64(1))
        at = self.let(Op.MAX, i64(0), self.let(Op.MIN, *self.random.sample((last, index), 2)))
        self.loaded(at)

    def loaded(self, at: Operand) -> None:
        x = var("x")
        self.out.append(KLet(x, kir.KLoad(XS, at)))
        self.numbers.append(x)

    def statement(self, depth: int) -> None:
        random = self.random
        match random.randrange(14 if depth else 11):
            case 0 | 1 | 2:
                self.let(random.choice(ARITHMETIC), self.number(), random.choice((self.number(), *SHIFTS)))
            case 3:
                self.let(random.choice(DIVISIONS), random.choice((*self.near, self.number())), random.choice(DIVISORS))
            case 4:
                self.test()
            case 5:
                op, args = random.choice(((Op.AND, 2), (Op.OR, 2), (Op.NOT, 1)))
                self.let(op, *(self.test() for _ in range(args)), prim=BOOL)
            case 6:
                self.let(Op.SELECT, self.test(), self.number(), self.number())
            case 7:
                self.element(random.choice((*self.near, self.number())))
            case 8 if random.random() < 0.3:
                at = self.number()
                self.out.append(kir.BoundsCheck(at, N, random.randrange(3), ()))
                self.loaded(at)
            case 8 | 9:
                self.out.append(kir.Declare(changing := var("v"), self.number()))
                self.changing.append(changing)
            case 10:
                self.assign()
            case 11 | 12:
                cond = self.test()
                then, orelse = (self.inner(depth - 1, random.randrange(5)) for _ in range(2))
                self.out.append(kir.KIf(cond, then, orelse))
            case _:
                j = var("j")
                self.out.append(kir.For(j, i64(random.randrange(3)), self.inner(depth - 1, 3, j)))

    def assign(self) -> None:
        if self.changing:
            value = self.number()
            if isinstance(value, KVar) and self.random.random() < 0.5:
                copied = var("c")
                self.out.append(KLet(copied, kir.KConvert(I64, I64, value)))
                self.numbers.append(copied)
                value = copied
            self.out.append(kir.Assign(self.random.choice(self.changing), value))

    def inner(self, depth: int, count: int, *made: Operand) -> tuple[KStm, ...]:
        numbers, tests, changing = [*self.numbers, *made], [*self.tests], [*self.changing]
        inside = Writer(self.random, numbers, self.uniform, self.near, tests, changing)
        for _ in range(count):
            inside.statement(depth)
        inside.assign()
        return tuple(inside.out)


def sum_of(op: Op) -> kir.KLambda:
    x, y, z = var("x"), var("y"), var("z")
    return kir.KLambda((x,), (y,), (KLet(z, KOp(op, I64, (x, y))),), (z,))


def random_kernel(random: Random) -> Kernel:
    scalars: list[Operand] = [N, M, K, BLOCK]
    before = Writer(random, scalars, (N, M, K, BLOCK))
    for _ in range(random.randrange(1, 4)):
        before.let(random.choice((Op.ADD, Op.SUB)), random.choice(scalars), random.choice((BLOCK, *SHIFTS)))
    i, lo = var("i"), random.choice((i64(0), i64(0), i64(2), K))
    inside = Writer(random, [*before.numbers, i], tuple(before.numbers))
    near = [inside.let(random.choice((Op.ADD, Op.SUB)), i, x) for x in random.sample((*SHIFTS, *inside.uniform), 2)]
    inside.near = (i, *near)
    for _ in range(random.randrange(2, 7)):
        inside.statement(2)
    value, body = inside.everything(), inside.out
    if random.random() < 0.3:
        op, neutral = random.choice(((Op.ADD, 0), (Op.MIN, 2**63 - 1), (Op.MAX, -(2**63))))
        found = var("found")
        made: KStm = kir.BlockReduce((found,), i, lo, N, tuple(body), (value,), sum_of(op), (i64(neutral),), True)
        after: list[KStm] = [kir.Store(OUT, BLOCK, found)]
    else:
        place = inside.let(Op.ADD, i, i64(2))
        store = [kir.Store(OUT, place, value)]
        made, after = kir.Threads(i, lo, N, (*body, *store)), []
    kernel = Kernel("k", BLOCK, (XS, OUT), (N, M, K), (*before.out, made, *after), (), Level.BLOCK)
    return choose_lanes(kernel, LaneSettings())


# ---- rows ----------------------------------------------------------------------------------------------------------

YS = KArray("ys", I64, Space.GLOBAL)


def kernel_of_rows(random: Random) -> Kernel:
    """A loop that goes in rows if it may. All threads touch an array at one distance from their index, so that none
    touches what another one writes."""
    i, lo, beside = var("i"), random.choice((i64(0), i64(1), i64(2), K)), {}
    inside = Writer(random, [i, M], (N, M, K))
    for array in (XS, YS, OUT):
        shift = random.choice((i64(0), i64(1), i64(2), i64(3)))
        beside[array] = i if shift == i64(0) else inside.let(Op.ADD, i, shift)
    arrays = random.choices((XS, YS, OUT), k=random.randrange(2, 6))
    for array in arrays:
        if random.random() < 0.5:
            value = inside.let(random.choice(ARITHMETIC), inside.number(), inside.number())
            inside.out.append(kir.Store(array, beside[array], value))
        else:
            x = var("x")
            inside.out.append(KLet(x, kir.KLoad(array, beside[array])))
            inside.numbers.append(x)
    inside.out.append(kir.Store(OUT, beside[OUT], inside.everything()))
    loop = kir.Threads(i, lo, N, tuple(inside.out))
    kernel = Kernel("k", BLOCK, (XS, YS, OUT), (N, M, K), (loop,), (), Level.BLOCK)
    return replace(kernel, body=(replace(loop, row=row_width(kernel)),))


def kernel_of_row_scans(random: Random) -> Kernel:
    """A loop over rows, each scanned: mostly whole rows of a matrix from the neutral element on."""

    def some(usual: Operand, *others: Operand) -> Operand:
        return usual if random.random() < 0.85 else random.choice(others)

    row, j, s, out = var("row"), var("j"), var("s"), var("total")
    before, body = Writer(random, [row], ()), Writer(random, [], (N, M, K))
    start = before.let(Op.MUL, row, some(M, N, i64(3)))
    if random.random() < 0.3:
        start = before.let(Op.ADD, start, random.choice((K, i64(2))))
    at = body.let(Op.ADD, start, some(j, M))
    body.loaded(some(at, j, start))
    if random.random() < 0.3:
        x = var("x")
        place = body.let(Op.ADD, at, body.numbers[-1]) if random.random() < 0.3 else some(at, j)
        body.out.append(KLet(x, kir.KLoad(random.choice((YS, OUT)), place)))
        body.numbers.append(x)
    value = body.let(random.choice(ARITHMETIC), body.numbers[-1], some(body.numbers[-1], N, j, row))
    after: list[KStm] = [kir.Store(OUT, at, s)]
    if random.random() < 0.2:
        after.append(kir.Store(YS, some(at, j), value))
    op, ne = random.choice(((Op.ADD, i64(0)), (Op.MIN, i64(2**63 - 1)), (Op.MAX, i64(-(2**63)))))
    lo, carry = some(i64(0), i64(1)), some(ne, i64(5), K)
    scan = kir.BlockScan(
        (s,), (out,), j, lo, some(M, i64(3)), tuple(body.out), (value,), sum_of(op), (carry,), (ne,), tuple(after)
    )
    return Kernel("k", BLOCK, (XS, YS, OUT), (N, M, K), (kir.For(row, N, (*before.out, scan)),), (), Level.BLOCK)


def kernel_of_nest(random: Random) -> Kernel:
    """Loops around a loop of threads: mostly over all elements of a matrix, or of several, as they lie."""

    def some(usual: Operand, *others: Operand) -> Operand:
        return usual if random.random() < 0.93 else random.choice(others)

    plane, row, j, outer = var("plane"), var("row"), var("j"), random.random() < 0.5
    before, body = Writer(random, [row], ()), Writer(random, [], (N, M, K))
    start = before.let(Op.MUL, row, some(M, N, i64(3)))
    if outer:
        start = before.let(Op.ADD, start, before.let(Op.MUL, before.let(Op.MUL, plane, some(M, K)), N))
    if random.random() < 0.3:
        start = before.let(Op.ADD, start, random.choice((K, i64(2))))
    at = body.let(Op.ADD, start, some(j, M))
    beside = body.let(Op.ADD, at, random.choice((i64(1), i64(0))))
    body.numbers.clear()
    for array in random.sample((XS, YS, OUT), random.randrange(1, 3)):
        x = var("x")
        body.out.append(KLet(x, kir.KLoad(array, some(at, j, start, beside))))
        body.numbers.append(x)
    value = body.let(random.choice(ARITHMETIC), body.numbers[-1], some(body.numbers[0], N, j, row))
    if random.random() < 0.3:
        then, orelse = (kir.Store(array, some(at, j, beside), value) for array in random.choices((YS, OUT), k=2))
        body.out.append(kir.KIf(body.let(Op.LT, value, i64(5)), (then,), (orelse,)))
    body.out.append(kir.Store(OUT, some(at, beside), value))
    loop: KStm = kir.For(row, N, (*before.out, kir.Threads(j, i64(0), some(M, i64(3)), tuple(body.out))))
    if outer:
        loop = kir.For(plane, i64(2), (loop,))
    return Kernel("k", BLOCK, (XS, YS, OUT), (N, M, K), (loop,), (), Level.BLOCK)


Scalars = dict[str, int]
SCALARS: list[Scalars] = [{"n": n, "m": m, "k": k} for n, m, k in ((1, 1, 0), (6, 2, 1), (38, 33, -1))]


def run(kernel: Kernel, scalars: Scalars) -> tuple[list[int], set]:
    out, ys = np.zeros(80, np.int64), np.arange(80) % 5
    xs = np.arange(80 if YS in kernel.arrays else scalars["n"]) * 7 % 11
    failures = interpret(kernel, {"xs": xs, "ys": ys, "out": out}, dict(scalars), 1 if YS in kernel.arrays else 2)
    return [*xs.tolist(), *ys.tolist(), *out.tolist()], failures


def check(kernel: Kernel, given: Iterable[Scalars] = SCALARS, passes: Iterable[str] = PASSES) -> set[str]:
    """Each pass on a kernel, by itself, against the kernel as it was; gives those that have changed it."""
    changed = set[str]()
    found = [(scalars, *run(kernel, scalars)) for scalars in given]
    for name in passes:
        after = PASSES[name](kernel)
        if after == kernel:
            continue
        changed.add(name)
        for scalars, expected, failures in found:
            out, failed = run(after, scalars)
            if failures or failed:
                assert failures >= failed, (name, scalars, show_kernel(kernel))
                assert failed, (name, scalars, show_kernel(kernel))
            else:
                assert out == expected, (name, scalars, show_kernel(kernel))
    return changed
