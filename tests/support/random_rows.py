"""Random kernels of a kind each, which take the form that a pass looks for, or nearly: short rows with their
neighbours, and rounds over an array of which some elements are read in the end."""

from __future__ import annotations

from random import Random

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KConvert, Kernel, KLet, KStm, KVar, Operand, Space
from tests.support.block_kernels import BLOCK, BOOL, I64, OUT, XS, N, var
from tests.support.random_kernels import COMPARISONS, K, M, Writer


def neighbour(w: Writer, index: KVar, size: Operand) -> Operand:
    """An index beside another one that is less than a size, within it by a clamp or a remainder; rarely two off."""
    far = i64(1 if w.random.random() < 0.9 else 2)
    after, before = w.let(Op.ADD, index, far), w.let(Op.SUB, index, far)
    divide = w.random.choice((Op.MOD, Op.REM))
    match w.random.randrange(6):
        case 0:
            return w.let(Op.MIN, *w.random.sample((after, w.let(Op.SUB, size, i64(1))), 2))
        case 1:
            return w.let(Op.MAX, *w.random.sample((before, i64(0)), 2))
        case 2:
            return w.let(divide, after, size)
        case 3:
            return w.let(divide, w.let(Op.ADD, *w.random.sample((before, size), 2)), size)
        case 4:
            return w.let(Op.MOD, before, size)
        case _:
            return index


def kernel_of_short_rows(random: Random) -> Kernel:
    """A loop over rows of a matrix, of which each element is made of its neighbours, also of some behind a branch; some
    compare the indices alone."""
    i, j, near = var("i"), var("j"), random.random() < 0.7
    early, w = Writer(random, [], ()), Writer(random, [], ())
    lo = early.let(Op.MUL, BLOCK, i64(6))
    hi = early.let(Op.MIN, N, early.let(Op.ADD, lo, i64(6)))
    found: list[Operand] = []

    def loaded(row: Operand, column: Operand, out: list[KStm]) -> KVar:
        x, at = var("x"), Writer(random, [], ())
        place = at.let(Op.ADD, at.let(Op.MUL, row, M), column)
        out += [*at.out, KLet(x, kir.KLoad(XS, place))]
        return x

    for _ in range(random.randrange(1, 3)):
        row, column = (neighbour(w, i, N), neighbour(w, j, M)) if near else (i, j)
        for index, size in ((row, N), (column, M)):
            if random.random() < 0.5:
                w.out.append(kir.BoundsCheck(index, size, 0, ()))
        found.append(loaded(row, column, w.out))
    for _ in range(random.randrange(1, 3)):
        index, size = random.choice(((i, N), (j, M)))
        shift, op = random.choice((-2, -1, 0, 1, 1)), random.choice(COMPARISONS[:4])
        place, end = w.let(Op.ADD, index, i64(shift)), random.choice((size, size, i64(0), i64(1), i64(5), K))
        args = [place, end] if random.random() < 0.7 else [end, place]
        v, inside = var("v"), list[KStm]()
        w.out.append(kir.Declare(v, i64(3)))
        if near and random.random() < 0.5:
            inside.append(kir.Assign(v, loaded(place, j, inside) if index == i else loaded(i, place, inside)))
        w.out.append(kir.KIf(w.let(op, *args), tuple(inside), (kir.Assign(v, random.choice(found)),)))
        copied = var("c")
        w.out.append(KLet(copied, KConvert(I64, I64, v)))
        found.append(copied)
    w.numbers, w.tests = found, []
    value, at = w.everything(), w.let(Op.ADD, w.let(Op.MUL, i, M), j)
    along: tuple[KStm, ...] = (kir.For(j, M, (*w.out, kir.Store(OUT, at, value))),)
    if random.random() < 0.3:
        asked = Writer(random, [], ())
        cond = asked.let(Op.LT, i64(0), M)
        along = (*asked.out, kir.KIf(cond, along, ()))
    loop = kir.Threads(i, lo, hi, along)
    return Kernel("k", BLOCK, (XS, OUT), (N, M, K), (*early.out, loop), (), Level.BLOCK)


VS = KArray("vs", I64, Space.SHARED)


def kernel_of_rounds(random: Random) -> Kernel:
    """Rounds over an array of two halves that take turns, each element made of some beside it and of one at a fixed
    place, where these are there; of the last round some elements are read. Behind some conditions there are checks."""
    i, c, r, turn = var("i"), var("c"), var("r"), var("turn")
    beside = random.choice(((1, 2), (1, 2), (-2, -1), (-1, 1)))

    def half(w: Writer) -> tuple[Operand, Operand]:
        """Where this half begins, and the other one."""
        this = var("this")
        w.out.append(KLet(this, KConvert(I64, I64, turn)))
        return w.let(Op.MUL, this, N), w.let(Op.MUL, w.let(Op.SUB, i64(1), this), N)

    def loaded(w: Writer, out: list[KStm], at: Operand, here: Operand) -> KVar:
        x, place = var("x"), Writer(random, [], ())
        at = place.let(Op.ADD, here, at)
        out += [*place.out, KLet(x, kir.KLoad(VS, at))]
        return x

    first = Writer(random, [], ())
    first.loaded(c)
    fill = kir.Threads(c, i64(0), N, (*first.out, kir.Store(VS, c, first.numbers[0])))
    w, inside, after = Writer(random, [], ()), Writer(random, [], ()), Writer(random, [], ())
    here, there = half(w)
    left = w.let(Op.SUB, K, r)
    inside.numbers = [loaded(inside, inside.out, i, here)] if random.random() < 0.7 else [i64(1)]
    for _ in range(random.randrange(1, 3)):
        at, v = inside.let(Op.ADD, i, i64(random.choice(beside))), var("v")
        if random.random() < 0.2:
            at = i64(random.randrange(4))
        low, high = inside.let(Op.GE, at, i64(0)), inside.let(Op.LT, at, N)
        cond, then = inside.let(Op.AND, low, high, prim=BOOL), list[KStm]()
        if random.random() < 0.6:
            last = inside.let(Op.LT, random.choice((i, i, i64(0))), random.choice((left, M, left)))
            checked = random.choice((at, at, at, inside.let(Op.ADD, at, r), inside.let(Op.SUB, i, i64(1))))
            size = random.choice((N, N, M))
            is_there = checked == at and size == N
            cond = last if is_there and random.random() < 0.7 else inside.let(Op.AND, cond, last, prim=BOOL)
            then.append(kir.BoundsCheck(checked, size, 0, ()))
        inside.out.append(kir.Declare(v, i64(3)))
        then.append(kir.Assign(v, loaded(inside, then, at, here)))
        inside.out.append(kir.KIf(cond, tuple(then), ()))
        inside.changing.append(v)
    inside.tests = []
    value, place = inside.everything(), inside.let(Op.ADD, there, i)
    rounds = kir.Threads(i, i64(0), N, (*inside.out, kir.Store(VS, place, value)))
    copied, w.numbers = var("c"), []
    w.out += [rounds, KLet(copied, KConvert(I64, I64, turn))]
    w.out.append(kir.Assign(turn, w.let(Op.SUB, i64(1), copied)))
    last, _ = half(after)
    for number in range(random.randrange(1, 3)):
        x = loaded(after, after.out, i64(random.choice((0, 0, 1, 3))), last)
        after.out.append(kir.Store(OUT, after.let(Op.ADD, BLOCK, i64(2 * number)), x))
    double = Writer(random, [], ())
    size = double.let(Op.MUL, i64(2), N)
    body = (*double.out, kir.Alloc(VS, size), fill, kir.Declare(turn, i64(0)), kir.For(r, K, tuple(w.out)), *after.out)
    return Kernel("k", BLOCK, (XS, OUT), (N, M, K), body, (), Level.BLOCK)
