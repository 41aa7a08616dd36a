"""What is known of loops in their middles."""

from __future__ import annotations

import itertools

import pytest

from soac.ir.ops import Op
from soac.ir.scalar import apply
from soac.ir.types import Const, Prim
from soac.kernels.kernel_ir.nodes import Assign, Declare, KConvert, KLet, KOp, KVar, Operand
from soac.kernels.passes.loop_middles import Middle, Whole, first_ends, folded

X, Y = KVar("x", Prim.BOOL), KVar("y", Prim.BOOL)
OPERANDS: tuple[Operand, ...] = (X, Y, Const(Prim.BOOL, True), Const(Prim.BOOL, False))


@pytest.mark.parametrize(("op", "arity"), [(Op.AND, 2), (Op.OR, 2), (Op.NOT, 1), (Op.SELECT, 3)])
def test_what_constants_decide_is_what_the_operation_gives(op: Op, arity: int) -> None:
    decided = 0
    for args in itertools.product(OPERANDS, repeat=arity):
        found = folded(op, args)
        decided += found is not None
        for values in itertools.product((True, False), repeat=2):
            known = {X: values[0], Y: values[1]}
            of = [x.value if isinstance(x, Const) else known[x] for x in args]
            if found is not None:
                assert apply(op, Prim.BOOL, tuple(of)) == (found.value if isinstance(found, Const) else known[found])
    assert decided


def test_places_that_do_not_count_with_the_index_bound_nothing() -> None:
    middle = Middle(KVar("i", Prim.I64), frozenset({"i", "read"}))
    assert not middle.holds(KVar("read", Prim.I64), KVar("n", Prim.I64))
    assert not middle.below | middle.above


def test_a_remainder_of_a_neighbour_in_the_middle_alone_stays_elsewhere() -> None:
    """Of a clamped index, or by a clamped number of which the middle has another one."""
    i, k, n, x, y = (KVar(name, Prim.I64) for name in "iknxy")
    late, m = KVar("late", Prim.BOOL), KVar("m", Prim.I64)
    clamp = KLet(x, KOp(Op.MAX, Prim.I64, (i, k)))
    chosen = KLet(late, KOp(Op.LT, Prim.I64, (i, k))), KLet(m, KOp(Op.SELECT, Prim.I64, (late, n, k)))
    for stms, args in (((clamp,), (x, n)), (chosen, (i, m))):
        body = (*stms, KLet(y, KOp(Op.MOD, Prim.I64, args)))
        middle = Middle(i, frozenset({"i", "x", "y", "late", "m"}))
        middle.rewritten(body)
        assert y in middle.turned
        assert Whole(i, middle.inside, turned=middle.turned).rewritten(body) == body


def test_a_chosen_variable_is_read_before_it_changes() -> None:
    i, v, x = (KVar(name, Prim.I64) for name in "ivx")
    late = KVar("late", Prim.BOOL)
    first = Declare(v, i), KLet(late, KOp(Op.LT, Prim.I64, (i, Const(Prim.I64, 3))))
    chosen, then = KLet(x, KOp(Op.SELECT, Prim.I64, (late, i, v))), Assign(v, Const(Prim.I64, 7))
    found = Middle(i, frozenset({"i", "v", "x", "late"})).rewritten((*first, chosen, then))
    assert found == (first[0], KLet(x, KConvert(Prim.I64, Prim.I64, v)), then)


def test_the_first_ends_are_those_of_intervals_of_the_index() -> None:
    i, k, u, v = (KVar(name, Prim.I64) for name in "ikuv")
    late, early, both = (KVar(name, Prim.BOOL) for name in ("late", "early", "both"))
    for x, ends in ((i, {u}), (k, set[KVar]())):
        stms = (
            KLet(late, KOp(Op.GE, Prim.I64, (x, u))),
            KLet(early, KOp(Op.LT, Prim.I64, (x, v))),
            KLet(both, KOp(Op.AND, Prim.BOOL, (late, early))),
        )
        assert first_ends(i, stms) == ends
