"""Calls in a thread are a loop with a stack: what functions it is made of, and that the flat program means the same."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.flatten import flatten
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.flatten.versions.call_stacks import with_stacks
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Apply, Loop, Prog, Scratch
from soac.ir.errors import RunError
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.types import Names

FIB = "def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)\n"
GCD = "def gcd (a: i64) (b: i64): i64 = if b == 0 then a else gcd b (a % b)\n"
DEPTH = "#[depth(5)] def depth (n: i64): i64 = if n == 0 then 0 else 1 + depth (n - 1)\n"


def core(text: str) -> Prog:
    return simplify(fuse(simplify(inline(compile_text(text, "a.soac")))))


def in_threads(text: str) -> Prog:
    """The flat program in which every nest has a thread for each point."""
    prog = simplify(flatten(core(text), Mode.OUTER, CPU))
    check(prog, Stage.FLAT)
    return prog


def exps_of_main(prog: Prog) -> list[object]:
    return [exp for fun in prog.functions if fun.entry is not None for exp in all_exps(fun.body)]


def test_two_calls_need_a_stack() -> None:
    prog = in_threads(FIB + "entry main (ns: []i64) = map fib ns")
    exps = exps_of_main(prog)
    assert any(isinstance(exp, Loop) for exp in exps)
    assert any(isinstance(exp, Scratch) for exp in exps)
    assert not any(isinstance(exp, Apply) for exp in exps)
    results, _ = interpret(prog, "main", [np.array([10, 0, 1, 7])])
    assert results[0].tolist() == [55, 0, 1, 13]


def test_a_call_in_tail_position_needs_none() -> None:
    prog = in_threads(GCD + "entry main (ns: []i64) = map (gcd 84) ns")
    assert not any(isinstance(exp, Scratch) for exp in exps_of_main(prog))
    results, _ = interpret(prog, "main", [np.array([36, 0, 5])])
    assert results[0].tolist() == [12, 84, 1]


def test_operators_call_nothing() -> None:
    prog = in_threads(GCD + "entry main (ns: []i64) = reduce gcd 0 ns")
    assert not any(isinstance(exp, Apply) for exp in exps_of_main(prog))
    results, _ = interpret(prog, "main", [np.array([36, 24, 60])])
    assert results[0] == 12


def test_as_many_calls_are_open_as_may_be() -> None:
    prog = in_threads(DEPTH + "entry main (ns: []i64) = map depth ns")
    assert interpret(prog, "main", [np.array([4, 0])])[0][0].tolist() == [4, 0]
    with pytest.raises(RunError, match="deeper than 5 calls"):
        interpret(prog, "main", [np.array([4, 5])])


@pytest.mark.parametrize(
    "text",
    [
        "def f (n: i64): i64 = if n < 1 then 0 else i64.sum (map f (iota n))\nentry main ns = map f ns",
        "def f (xs: []i64): i64 = if length xs < 1 then 0 else f xs[1:]\nentry main ns = map (\\n -> f (iota n)) ns",
        "def f (n: i64): []i64 = if n < 1 then [] else f (n - 1) ++ [n]\nentry main ns = map (\\n -> length (f n)) ns",
        "def f [k] (xs: [k]i64) (ys: [k]i64) (n: i64): i64 =\n"
        "  if n < 1 then xs[0] else f xs ys (n - 1) + f ys xs (n - 1)\n"
        "entry main ns = map (\\n -> f [1, 2] [3, 4] n) ns",
    ],
    ids=["in a map", "an array that changes", "an array as result", "an array that one call changes"],
)
def test_others_are_no_loops(text: str) -> None:
    prog = core(text)
    functions = {fun.name: fun for fun in prog.functions}
    assert all(with_stacks(fun.body, functions, Names(prog.next_name)) is None for fun in prog.functions)
