"""What is known of loops in their middles."""

from __future__ import annotations

import itertools

import pytest

from soac.ir.ops import Op
from soac.ir.scalar import apply
from soac.ir.types import Const, Prim
from soac.kernels.kernel_ir.nodes import KVar, Operand
from soac.kernels.passes.loop_middles import Middle, folded

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
