"""Which bodies give the same, in all bits, when their names are exchanged."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.core import Lambda, Screma
from soac.ir.interpret import interpret
from soac.ir.symmetric import is_symmetric
from soac.ir.traverse import all_exps

ROWS = "let a = map (\\i -> i32.i64 i + x) (iota 3) let b = map (\\i -> i32.i64 i + y) (iota 3) in "
SYMMETRIC = {
    "i32": ("x * y + 3", "(x - y) * (y - x)", "(x - y) * (x - y)", "i32.abs (x - y)", "i32.max (x + 1) (1 + y)", "5"),
    "i32 of rows": (ROWS + "i32.sum a * i32.sum b", ROWS + "i32.maximum (map2 (*) a b)"),
    "u8": ("(x - y) * (x - y)", "x ^ y", "u8.i32 (i32.u8 x + i32.u8 y)"),
    "f32": ("f32.sqrt (x * y)", "f32.abs (x - y)", "if x == y then x + y else x * y", "f32.sum [x * y, y * x]"),
}
OTHERS = {
    "i32": ("x - y", "x", "2 * x + y", "if x < y then x else 2 * y", "i32.sum [x, y, x]", "(x - y) * (x + 1)"),
    "i32 of rows": (ROWS + "i32.maximum (map (\\p -> i32.sum (map (* p) b)) a)", ROWS + "i32.sum a - i32.sum b"),
    "u8": ("u8.abs (x - y)",),
    "f32": ("x / y", "f32.copysign x y", "f32.max x (x - y)"),
}


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("prim", SYMMETRIC)
def test_symmetric_bodies(prim: str, symmetric: bool) -> None:
    """What is said to be symmetric gives the same on exchanged numbers, what is not differs."""
    bodies, prim = (SYMMETRIC if symmetric else OTHERS)[prim], prim.partition(" ")[0]
    for body in bodies:
        text = f"entry main [n] (xs: [n]{prim}) (ys: [n]{prim}): [n]{prim} = map2 (\\x y -> {body}) xs ys"
        prog = compile_text(text, "symmetric.soac")
        function = next(f for f in map(_function, all_exps(prog.functions[0].body)) if f is not None)
        assert is_symmetric(function.body, [(function.params[0].name, function.params[1].name)]) == symmetric, body
        numbers = np.array([0, 1, 2, 3, 7, 100], {"i32": np.int32, "u8": np.uint8, "f32": np.float32}[prim])
        xs, ys = (side.ravel() for side in np.meshgrid(numbers, numbers))
        same = [repr(interpret(prog, "main", [a, b])) for a, b in ((xs, ys), (ys, xs))]
        assert (same[0] == same[1]) == symmetric, body


def _function(exp: object) -> Lambda | None:
    return exp.map if isinstance(exp, Screma) and len(exp.arrays) == 2 else None
