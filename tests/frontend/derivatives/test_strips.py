"""`#[stripmine(d)]` changes no value, and keeps about (d + 1) n^(1 / (d + 1)) states of a loop of n iterations."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.simplify.driver import simplify
from soac.frontend.accumulators.lower import lower_accumulators
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps, types_in
from soac.ir.types import Const

LOOPS = {
    "for": "loop y = x for i < n do y + x * f64.i64 i",
    "small index": "loop y = x for i < i32.i64 n do y + x * f64.i32 i",
    "while": "(loop (y, i) = (x, 0) while i < n do (y + x * f64.i64 i, i + 1)).0",
    "in a row": "f64.sum (map (\\a -> loop y = a for i < n do y * xs[i % 3]) (map (+ x) xs))",
    "in place": "f64.sum (loop ys = map (* x) xs for i < n do ys with [i % 3] = ys[(i + 1) % 3] * x)",
}


def reverse(loop: str, attribute: str) -> Prog:
    text = f"entry f (n: i64) (x: f64) = vjp (\\x -> let xs = [x, 1, x * x] in {loop}) x 1"
    prog = compile_text(text.replace("loop ", f"{attribute} loop "), "t.soac")
    check(prog, Stage.CORE)
    return lower_accumulators(prog)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("depth", [1, 3])
def test_values(name: str, depth: int) -> None:
    stripped, plain = reverse(LOOPS[name], f"#[stripmine({depth})]"), reverse(LOOPS[name], "")
    check(stripped, Stage.CORE)
    assert len([*all_exps(stripped.functions[0].body)]) > len([*all_exps(plain.functions[0].body)])
    for n in (-1, 0, 1, 2, 9, 28):
        (expected,), (found,) = (interpret(prog, "f", [np.int64(n), np.float64(1.01)])[0] for prog in (plain, stripped))
        assert found == pytest.approx(expected, rel=1e-12)


def test_states() -> None:
    text = "entry f (x: f64) = vjp (\\x -> {} loop y = x for i < 1000 do y * x + f64.i32 i) x 1"
    for attribute, most in (("", 1000), ("#[stripmine(1)]", 32), ("#[stripmine(2)]", 10)):
        prog = simplify(compile_text(text.format(attribute), "t.soac"))
        sizes = [size.value for t in types_in(prog).values() for size in t.shape if isinstance(size, Const)]
        assert max(sizes) == most
