"""Calls in a nest are one call of the function over the nest; loops that append are a dimension of it."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Apply, Loop, Prog
from soac.ir.errors import RunError
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps

LEVELS = """
def levels (n: i64): i64 = if n == 0 then 0 else 1 + i64.maximum (map levels (iota n))
entry main (ns: []i64) = map levels ns
"""
APPENDED = "entry main (ns: []i64) = (flatmap' (\\n -> map (* n) (iota n)) ns).3"


CHECKED = """
#[depth(8)] def levels (c: i64) (n: i64): i64 = if n == 0 then c else 1 + i64.maximum (map (levels c) (iota n))
entry main (c: i64) (ns: []i64) = map (\\n -> assert (n < 6) (levels c n)) ns
"""


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


def test_what_is_the_same_for_all_calls_relies_on_no_check_of_one() -> None:
    prog, rules = flat(CHECKED)
    assert Rule.CALL in rules
    results, _ = interpret(prog, "main", [np.int64(2), np.array([0, 5, 3, 1])])
    assert results[0].tolist() == [2, 7, 5, 3]
    with pytest.raises(RunError, match="assert"):
        interpret(prog, "main", [np.int64(2), np.array([0, 7])])


def test_rows_are_appended_at_once() -> None:
    prog, rules = flat(APPENDED)
    assert Rule.APPEND in rules
    assert not any(isinstance(exp, Loop) for fun in prog.functions for exp in all_exps(fun.body))
    results, _ = interpret(prog, "main", [np.array([2, 0, 3])])
    assert results[0].tolist() == [0, 2, 0, 3, 6]


PARTS = """
#[depth(6)] def parts [n] (xs: [n]i64): i64 =
  if n <= 1 then i64.sum xs else i64.sum (map (\\k -> (k + 1) * parts xs[k * (n / 2):(k + 1) * (n / 2)]) (iota 2))
entry main (ns: []i64) = map (\\n -> parts (map (\\i -> n * i + 1) (iota n))) ns
"""


def test_arrays_whose_size_differs_by_call_are_passed_flat() -> None:
    """With the sum of their sizes, and the lengths of each."""
    prog, rules = flat(PARTS)
    assert Rule.CALL in rules
    ns = np.array([0, 1, 4, 7, 8])
    assert interpret(prog, "main", [ns])[0][0].tolist() == [parts(n * np.arange(n) + 1) for n in ns]


def parts(xs: np.ndarray) -> int:
    half = len(xs) // 2
    return sum((k + 1) * parts(xs[k * half : (k + 1) * half]) for k in range(2)) if half else int(xs.sum())
