"""Operators that break their contract (W0305)."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from soac.ir.contracts import NEUTRAL, contract_warnings
from soac.ir.ops import Op, arity, operand_types, result_type
from soac.ir.parse import parse_prog
from soac.ir.scalar import ScalarFailure, apply, defined, int_range, meaning
from soac.ir.types import Prim
from tests.support.prims import PRIMS

SUM = r"""next_name 9
fun main_0 (n_1: i64, xs_2: [n_1]PRIM) : (r_8: PRIM) = {
  let (r_3: PRIM) = redomap n_1 (xs_2) \(x_4: PRIM) : (PRIM) -> { in (x_4) }
    reduce (INITIALPRIM) \(a_5: PRIM, b_6: PRIM) : (PRIM) -> { let (c_7: PRIM) = OP_PRIM a_5 b_6 in (c_7) }
  in (r_3) }"""


@pytest.mark.parametrize("prim", [prim for prim in PRIMS if prim.is_int])
def test_an_initial_value_is_neutral_where_it_changes_nothing(prim: Prim) -> None:
    """Of `&` that is the highest number without a sign, and -1 with one."""
    lowest, highest = int_range(prim)
    for op in NEUTRAL:
        for initial in {0, 1, lowest, highest, max(lowest, -1)}:
            text = SUM.replace("OP", op.value).replace("INITIAL", str(initial)).replace("PRIM", prim.value)
            kept = all(apply(op, prim, (initial, x)) == x for x in (lowest, 0, 5, highest))
            assert (contract_warnings(parse_prog(text)) == ()) == kept, (op, initial)


@pytest.mark.parametrize("prim", [Prim.I8, Prim.U8, Prim.F64])
def test_an_operator_is_associative_where_it_makes_no_difference_what_comes_first(prim: Prim) -> None:
    """Of some numbers; sums and products of floats are taken to be."""
    numbers = [0, 1, 2, 3, 7, 100] if prim.is_int else [0.5, 1.0, -2.0, 3.0]
    ops = [op for op in Op if arity(op) == 2 and defined(op, prim) and operand_types(op, prim) == (prim, prim)]
    for op in ops:
        if result_type(op, prim) is not prim or op in (Op.HYPOT, Op.ADD, Op.MUL):
            continue
        f, differs = meaning(op, prim), False
        for a, b, c in itertools.product(numbers, repeat=3):
            with contextlib.suppress(ScalarFailure):
                differs |= f(f(a, b), c) != f(a, f(b, c))
        text = SUM.replace("OP", op.value).replace("INITIAL", "0.0" if prim.is_float else "0")
        warned = contract_warnings(parse_prog(text.replace("PRIM", prim.value)))
        assert any("not associative" in one.message for one in warned) == differs, op


def test_of_an_initial_value_from_outside_nothing_is_known() -> None:
    text = SUM.replace("INITIALPRIM", "n_1").replace("OP", "add").replace("PRIM", "i64")
    assert contract_warnings(parse_prog(text)) == ()
