"""Modules with parameters, module expressions and signatures, run by the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text, load_modules
from soac.frontend.modules.program import infer
from soac.frontend.source.text import Reach
from soac.ir.check import Stage, check
from soac.ir.errors import CompileError
from soac.ir.interpret import interpret

SUMS = """
module type monoid = { type t val add: t -> t -> t val zero: t }
module sums (M: monoid) = { def sum (xs: []M.t) = reduce M.add M.zero xs }
module A = sums { type t = i32 def add (x: i32) y = x + y def zero = 0i32 }
module B = sums { type t = f32 def add (x: f32) y = x * y def zero = 1f32 }
def main (xs: []i32) (ys: []f32) = (A.sum xs, B.sum ys)
"""
NUMERIC = """
module type real = { type t val +: t -> t -> t val i32: i32 -> t }
module next (R: real) = { def inc (x: R.t) = x R.+ R.i32 1 }
module next_f32 = next f32
module next_f64 = next f64
def main (x: f32) (y: f64) = (next_f32.inc x, next_f64.inc y)
"""
RECORDS = """
module vectors (T: { type t }) = { type vec = {x: T.t, y: T.t}  def mk x y: vec = {x, y} }
module v = vectors { type t = i32 }
def main (a: i32) = let r: v.vec = v.mk a 3 in (r.x, r.y)
"""


def results(text: str, *args: np.ndarray | np.generic) -> list[object]:
    prog = compile_text(text, "m.soac")
    check(prog, Stage.CORE)
    return [r.tolist() for r in interpret(prog, "main", args)[0]]


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        (SUMS, (np.arange(4, dtype=np.int32), np.array([2, 3], np.float32)), [6, 6.0]),
        (NUMERIC, (np.float32(1), np.float64(2)), [2.0, 3.0]),
        (RECORDS, (np.int32(1),), [1, 3]),
        ("module m = { def k = 10i32  module f (X: {val a: i32}) = { def g x = x + X.a + k } }\n"
         "module r = m.f { def a = 1i32 }\ndef main (x: i32) = r.g x", (np.int32(1),), [12]),
        ("module a = { def x = 1i32 }  module b = a  open b  def main = b.x + x", (), [2]),
        ("open { def y = 3i32 }  def main = y", (), [3]),
        ("module f (X: {val a: i32}) (Y: {val b: i32}) = { def s = X.a * 10 + Y.b }\n"
         "module g = f { def a = 1i32 } { def b = 2i32 }\ndef main = g.s", (), [12]),
        ("module f (X: {val a: i32}) (Y: {val b: i32}) = { def s = X.a * 10 + Y.b }\n"
         "module h = f { def a = 4i32 }\nmodule g = h { def b = 2i32 }\ndef main = g.s", (), [42]),
        ("module m = { local def x = 1i32  def y = x + 1 } : { val y: i32 }\ndef main = m.y", (), [2]),
        ("module m: { val x: i32 } = { def x = 5i32 }\ndef main = m.x", (), [5]),
        ("module n = i32\ndef main (x: i32) = n.max x 4", (np.int32(1),), [4]),
        ("module f = \\(X: {val a: i32}) -> { def b = X.a * 2 }\n"
         "module r = f { def a = 4i32 }\ndef main = r.b", (), [8]),
    ],
)  # fmt: skip
def test_gives(text: str, args: tuple, expected: list[object]) -> None:
    assert results(text, *args) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("module m = n { }\ndef main = 1i32", "E0220"),
        ("module m = { def x = 1i32 }\nmodule r = m { def a = 1i32 }\ndef main = 1i32", "E0220"),
        ("module m = nowhere\ndef main = 1i32", "E0220"),
    ],
)
def test_refuses(text: str, code: str) -> None:
    with pytest.raises(CompileError) as error:
        compile_text(text, "m.soac")
    assert error.value.diagnostics[0].code == code


def chain(depth: int) -> str:
    """Functors of three parameters, each of which applies the one before it."""
    takes = "(A: {val a: i32}) (B: {val a: i32}) (C: {val a: i32})"
    one = "{ def a = 1i32 }"
    first = f"module f0 {takes} = {{ def s = A.a + B.a * C.a }}"
    others = [f"module f{i} {takes} = {{ module m = f{i - 1} A B C  def s = m.s + A.a }}" for i in range(1, depth + 1)]
    return "\n".join([first, *others, f"module r = f{depth} {one} {one} {one}", "def main = r.s"])


def applications(depth: int) -> int:
    typed, _ = infer(load_modules(chain(depth), "m.soac", Reach.PROJECT))
    return len(typed.applied)


def test_a_functor_of_several_parameters_is_checked_once() -> None:
    """The bodies that are looked at grow as the square of the depth, not by a factor for each parameter and level."""
    assert results(chain(4)) == [6]
    assert applications(8) <= 4 * applications(4)
