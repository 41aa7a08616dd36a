"""What is computed twice is computed once, compound expressions too; what differs is not."""

from __future__ import annotations

import pytest

from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import If, Loop, Screma
from soac.ir.traverse import all_exps

TWICE = {
    "a branch": (
        If,
        "(if c then loop s = x for i < x do s * 3 else x)",
        "(if c then loop s = x for i < x do s * 5 else x)",
    ),
    "a loop": (Loop, "(loop s = x for i < x do s * 3 + i)", "(loop s = x for i < x do s * 5 + i)"),
    "a sum": (Screma, "(i64.sum (map (\\y -> y * x) xs))", "(i64.sum (map (\\y -> y - x) xs))"),
}


@pytest.mark.parametrize("what", TWICE)
def test_what_is_computed_twice_is_shared(what: str) -> None:
    kind, one, other = TWICE[what]

    def count(first: str, second: str) -> int:
        text = f"entry main [n] (xs: [n]i64) (x: i64) (c: bool): (i64, i64) = ({first}, {second} + 1)"
        prog = simplify(compile_text(text, "sharing.soac"))
        return sum(isinstance(exp, kind) for fun in prog.functions for exp in all_exps(fun.body))

    assert count(one, one) == count(one, "x")
    assert count(one, other) == 2 * count(one, "x")
