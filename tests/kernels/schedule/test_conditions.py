"""Conditions: what the rules make of them holds for the same values, and the code too."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.ops import Op
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir.nodes import KVar
from soac.kernels.schedule.conditions import All, Any, Comparison, Condition, chosen, every, in_order, negated, some

X, Y = KVar("x", Prim.F32), KVar("y", Prim.F32)
PLACE, COUNT = KVar("i", Prim.I64), KVar("j", Prim.I64)
NAN = float("nan")

GREATER, EQUAL = Comparison(Op.GT, Prim.F32, (X, Y), True), Comparison(Op.EQ, Prim.F32, (X, Y), True)
NONE, BEFORE = Comparison(Op.LT, Prim.I64, (PLACE, i64(0)), True), Comparison(Op.LT, Prim.I64, (PLACE, COUNT), True)
TESTS = st.sampled_from([GREATER, EQUAL, NONE, BEFORE, True, False])
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.builds(negated, inner), st.builds(every, inner, inner), st.builds(some, inner, inner),
        st.builds(chosen, inner, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip
VALUES = list(product((-1.0, 0.0, 1.0, NAN), (0.0, 1.0, NAN), (-2, -1, 0, 1, 2, 3), (0, 1, 2)))


def holds(c: Condition, x: float, y: float, i: int, j: int) -> bool:
    match c:
        case bool():
            return c
        case Comparison(op, prim, args, positive):
            values = {X: x, Y: y, PLACE: i, COUNT: j}
            left, right = (a.value if isinstance(a, Const) else values[a] for a in args)
            if prim is Prim.U64:
                left, right = left % 2**64, right % 2**64
            found = {Op.GT: left > right, Op.GE: left >= right, Op.EQ: left == right, Op.LT: left < right}[op]
            return found == positive
        case All(terms):
            return all(holds(t, x, y, i, j) for t in terms)
        case Any(terms):
            return any(holds(t, x, y, i, j) for t in terms)
        case _:
            raise AssertionError(c)


@given(CONDITIONS)
@settings(max_examples=300)
def test_an_order_of_tests_keeps_the_meaning(c: Condition) -> None:
    for values in VALUES:
        assert holds(in_order(c, frozenset({COUNT})), *values) == holds(c, *values)
        assert holds(negated(c), *values) != holds(c, *values)


@given(CONDITIONS, CONDITIONS, CONDITIONS)
@settings(max_examples=100)
def test_connectives(c: Condition, x: Condition, y: Condition) -> None:
    for values in VALUES:
        of_c, of_x, of_y = (holds(z, *values) for z in (c, x, y))
        assert holds(every(x, y), *values) == (of_x and of_y)
        assert holds(some(x, y), *values) == (of_x or of_y)
        assert holds(chosen(c, x, y), *values) == (of_x if of_c else of_y)


def test_the_largest_with_its_place_is_two_tests_mostly() -> None:
    """`new = i < 0 or not (x > y or x = y and i < j)`"""
    new = some(NONE, negated(some(GREATER, every(EQUAL, BEFORE))))
    beside = Comparison(Op.GE, Prim.F32, (X, Y), False)
    before = Comparison(Op.LT, Prim.U64, (PLACE, COUNT), False)
    assert in_order(new, frozenset({COUNT})) == Any((beside, All((before, Any((NONE, negated(GREATER)))))))
    assert in_order(new, frozenset()) != in_order(new, frozenset({COUNT}))
