"""Calls in a nest are one call of the function over the nest; loops that append are a dimension of it."""

from __future__ import annotations

import numpy as np

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Apply, Loop, Prog
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps

LEVELS = """
def levels (n: i64): i64 = if n == 0 then 0 else 1 + i64.maximum (map levels (iota n))
entry main (ns: []i64) = map levels ns
"""
APPENDED = "entry main (ns: []i64) = (flatmap' (\\n -> map (* n) (iota n)) ns).3"


def flat(text: str) -> tuple[Prog, list[Rule]]:
    prog = simplify(fuse(simplify(inline(compile_text(text, "a.soac")))))
    flattened = flatten_traced(prog, Mode.INCREMENTAL, CPU)
    check(flattened.prog, Stage.FLAT)
    return flattened.prog, [fired.rule for fired in flattened.trail]


def test_recursion_runs_level_by_level() -> None:
    """All calls of a level are one call: 5 levels of up to 2^4 calls are deep by 5."""
    prog, rules = flat(LEVELS.replace("def levels", "#[depth(6)] def levels"))
    assert rules.count(Rule.CALL) == 3  # in the function itself, the entry, the function over a nest
    results, _ = interpret(prog, "main", [np.array([0, 5, 3, 1])])
    assert results[0].tolist() == [0, 5, 3, 1]
    lifted = [fun for fun in prog.functions if fun.params[0].name.base == "points"]
    assert [sum(isinstance(exp, Apply) for exp in all_exps(fun.body)) for fun in lifted] == [1]


def test_rows_are_appended_at_once() -> None:
    prog, rules = flat(APPENDED)
    assert Rule.APPEND in rules
    assert not any(isinstance(exp, Loop) for fun in prog.functions for exp in all_exps(fun.body))
    results, _ = interpret(prog, "main", [np.array([2, 0, 3])])
    assert results[0].tolist() == [0, 2, 0, 3, 6]
