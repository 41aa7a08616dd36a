"""Rules for SOACs: which operators are seen to commute once they are simple."""

from __future__ import annotations

import pytest

from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Screma
from soac.ir.traverse import all_exps

COMMUTE = {
    "i32": ("x + y", "y + x", "x * y", "i32.min x y", "i32.max x y", "x & y", "x | y", "x ^ y"),
    "f32": ("f32.min x y", "f32.max y x"),
}
DO_NOT = {"i32": ("x - y", "x", "y", "x + y - x + y", "x / (y + 1)"), "f32": ("x + y", "x * y")}


@pytest.mark.parametrize("commutes", [True, False])
def test_operators_that_commute_exactly_are_known_to(commutes: bool) -> None:
    operators = [(t, op) for t, ops in (COMMUTE if commutes else DO_NOT).items() for op in ops]
    entry = "entry e{0} [n] (xs: [n]{1}): {1} = reduce (\\x y -> let x = x * 1 in {2}) 0 xs"
    text = "\n".join(entry.format(k, t, op) for k, (t, op) in enumerate(operators))
    prog = simplify(compile_text(text, "soacs.soac"))
    for fun, (_, op) in zip(prog.functions, operators, strict=True):
        found = [red.comm for exp in all_exps(fun.body) if isinstance(exp, Screma) for red in exp.reds]
        assert found == [commutes], op
