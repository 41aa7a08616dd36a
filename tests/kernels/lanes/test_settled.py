"""Loops that end when their flag has settled: which they are, that they are left, and that values stay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import soac
from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.analysis.settled import is_costly, keeping, settling
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import For, KArray, KStm, KVar, Operand, Space
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, ready
from tests.support.block_kernels import XS, kernel, let, threads, var

FLAG, COUNTER, SEVEN, ZERO = var("flag", Prim.BOOL), KVar("i", Prim.I64), i64(7), i64(0)
TEXT = """
entry every (m: i64) (xs: []i64) = map (\\x -> #[sequential] all (\\j -> !({condition})) (iota ({rounds}))) xs
entry some (m: i64) (xs: []i64) = map (\\x -> #[sequential] any (\\j -> {condition}) (iota ({rounds}))) xs
"""


CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "(j * 3 & 7) == x": lambda x, j: (j * 3 & 7) == x,
    "(x + 24) % (j + 2) == x": lambda x, j: (x + 24) % (j + 2) == x,
}


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS, ids=["lanes", "one by one"])
def test_values_are_those_of_all_rounds(condition: str, varies: bool) -> None:
    program = soac.compile(TEXT.format(condition=condition, rounds="m + x" if varies else "m"))
    xs = [k % 9 for k in range(67)]
    for m in (0, 1, 2, 5, 6, 7, 40):
        holds = [any(CONDITIONS[condition](x, j) for j in range(m + x * varies)) for x in xs]
        assert np.array_equal(program.some(m, xs), holds)
        assert np.array_equal(program.every(m, xs), np.logical_not(holds))


def test_a_loop_of_more_than_a_few_rounds_is_left() -> None:
    """The flag is tested where the next round begins."""
    assert [len(flags_tested(rounds)) > 0 for rounds in (16, 17)] == [False, True]


def flags_tested(rounds: int) -> list[str]:
    t, x = var("t"), KVar("x", Prim.I64)
    init = kir.Declare(FLAG, Const(Prim.BOOL, True))
    one = kernel(threads(t, i64(64), kir.KLet(x, kir.KLoad(XS, t)), init, loop(rounds=rounds, below=x)))
    return [line for line in emit([ready(one, CPU_PASSES)]).splitlines() if "= and i1" in line]


def loop(*stms: KStm, op: Op = Op.AND, rounds: int = 100, below: Operand = SEVEN, read: Operand = FLAG) -> For:
    """`for i < rounds { stms; flag := read op i < below }`"""
    test, old, new = var("test", Prim.BOOL), var("old", Prim.BOOL), var("new", Prim.BOOL)
    found = (
        kir.KLet(test, kir.KOp(Op.LT, Prim.I64, (COUNTER, below))),
        kir.KLet(old, kir.KConvert(Prim.BOOL, Prim.BOOL, read)),
        kir.KLet(new, kir.KOp(op, Prim.BOOL, (old, test))),
    )
    return For(COUNTER, i64(rounds), (*stms, *found, kir.Assign(FLAG, new)))


def settles_at(one: For) -> bool | None:
    settled = settling(one)
    return None if settled is None else settled.value


def test_what_a_flag_ends() -> None:
    own, other = var("own"), var("other")
    assert settles_at(loop()) is False
    assert settles_at(loop(op=Op.OR)) is True
    assert settles_at(loop(kir.Declare(own, i64(0)), kir.Assign(own, COUNTER))) is False
    assert settling(loop(kir.Assign(other, COUNTER))) is None
    assert settling(loop(kir.Assign(FLAG, Const(Prim.BOOL, True)))) is None
    assert settling(loop(op=Op.XOR)) is None
    assert settling(loop(kir.KIf(FLAG, (kir.Assign(other, COUNTER),), ()))) is None
    assert settling(loop(read=var("other", Prim.BOOL))) is None


@pytest.mark.parametrize("own", [False, True])
def test_what_a_round_stores(own: bool) -> None:
    array = KArray("a", Prim.I64, Space.PRIVATE)
    made = (kir.Alloc(array, i64(1)),) if own else ()
    assert (settling(loop(*made, kir.Store(array, i64(0), COUNTER))) is not None) is own


def test_what_an_operator_keeps() -> None:
    """The first of pairs, whatever follows; not where the right one may be taken as well, and not a sum."""
    f, i, g, j = var("f", Prim.BOOL), var("i"), var("g", Prim.BOOL), var("j")
    either, chosen, total = var("either", Prim.BOOL), var("chosen"), var("total")
    flag = kir.KLet(either, kir.KOp(Op.OR, Prim.BOOL, (f, g)))
    first, last = (kir.KLet(chosen, kir.KOp(Op.SELECT, Prim.I64, (by, i, j))) for by in (f, either))
    adds = kir.KLet(total, kir.KOp(Op.ADD, Prim.I64, (i, j)))
    kept = keeping(kir.KLambda((f, i), (g, j), (flag, first), (either, chosen)))
    assert kept is not None
    assert (kept.flag, kept.value) == (f, True)
    assert keeping(kir.KLambda((f, i), (g, j), (flag, last), (either, chosen))) is not None
    assert keeping(kir.KLambda((f, i), (g, j), (flag, adds), (either, total))) is None
    assert keeping(kir.KLambda((g, i), (f, j), (flag, first), (either, chosen))) is None


def test_what_is_costly() -> None:
    assert not is_costly(loop())
    assert is_costly(loop(let(Op.MOD, COUNTER, COUNTER)[1]))
    assert is_costly(loop(loop()))


BEST, COUNT, OLD, ROUND = var("best"), var("count"), var("old"), var("round")


def guarded(
    *then: KStm,
    of: KVar = BEST,
    than: Operand = ZERO,
    orelse: tuple[KStm, ...] = (),
    behind: tuple[tuple[KVar, KStm], tuple[KStm, ...]] | None = None,
) -> For:
    """`for i < 100 { if of < than { then } else { orelse }; behind }`, which is a branch, too"""
    test = var("test", Prim.BOOL)
    read = kir.KLet(OLD, kir.KConvert(of.prim, of.prim, of))
    made = kir.KLet(test, kir.KOp(Op.LT, Prim.I64, (OLD, than)))
    more = (behind[0][1], kir.KIf(behind[0][0], (), behind[1])) if behind else ()
    return For(COUNTER, i64(100), (read, made, kir.KIf(test, then, orelse), *more))


def test_a_round_behind_a_test_of_what_it_changes() -> None:
    found = settling(guarded(kir.Assign(BEST, COUNTER), kir.Store(XS, COUNTER, SEVEN)))
    assert found is not None
    assert (found.flag.name.split("_")[0], found.value, len(found.test)) == ("test", False, 2)


@pytest.mark.parametrize(
    "one",
    [
        guarded(kir.Assign(BEST, COUNTER), orelse=(kir.Assign(BEST, COUNTER),)),
        guarded(kir.Assign(BEST, COUNTER), orelse=(kir.Assign(COUNT, COUNTER),)),
        guarded(kir.Assign(BEST, COUNTER), orelse=(kir.Store(XS, COUNTER, SEVEN),)),
        guarded(kir.Assign(BEST, COUNTER), of=COUNTER),
        guarded(kir.Assign(BEST, COUNTER), than=COUNTER),
        guarded(kir.Assign(BEST, COUNTER), behind=(let(Op.EQ, COUNTER, SEVEN), (kir.Assign(BEST, SEVEN),))),
        guarded(kir.Assign(BEST, COUNTER), of=ROUND),
    ],
)
def test_rounds_that_go_on(one: For) -> None:
    """The other side changes something, in an inner loop too; or the test is not of what the round changes."""
    assert settling(one) is None
    inner = For(var("j"), i64(3), (one,))
    assert settling(For(ROUND, i64(9), (inner,))) is None
