"""What people write who come from Futhark, Haskell, Python or C: the hint, and the program that follows it."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_source
from soac.frontend.source.text import Reach
from soac.ir.errors import CompileError

# wrong, a part of the hint, right
HABITS = [
    ("entry f (n: i32) = iota n", "`i64.i32 ..`", "entry f (n: i32) = iota (i64.i32 n)"),
    ("entry f (n: i64) (x: f32) = x * n", "`f32.i64 ..`", "entry f (n: i64) (x: f32) = x * f32.i64 n"),
    ("entry f [n] (xs: [n]i32): i32 = length xs", "`i32.i64 ..`",
     "entry f [n] (xs: [n]i32): i32 = i32.i64 (length xs)"),
    ("entry f [n] (is: [n]i32) (xs: [n]f32) = scatter (replicate 3 0) is xs", "`map i64.i32 ..`",
     "entry f [n] (is: [n]i32) (xs: [n]f32) = scatter (replicate 3 0) (map i64.i32 is) xs"),
    ("def g (x: i32) (y: i32) = x + y\nentry f (x: i32) = g(x, 2)", "`f x y`",
     "def g (x: i32) (y: i32) = x + y\nentry f (x: i32) = g x 2"),
    ("entry f (x: f32) = x ^ 2", "`**`", "entry f (x: f32) = x ** 2"),
    ("entry f (x: i32) = i32.abs -x", "`f (-x)`", "entry f (x: i32) = i32.abs (-x)"),
    ("entry f (x: i32) = x /= 2", "`!=`", "entry f (x: i32) = x != 2"),
    ("entry f (x: bool) = x == True", "`true`", "entry f (x: bool) = x == true"),
    ("entry f (n: i64) = range(n)", "`iota n`", "entry f (n: i64) = iota n"),
    ("entry f (x: float) = x", "f32", "entry f (x: f32) = x"),
    ("entry f [n][m] (xs: [n][m]i32) = xs.shape[0]", "`length xs`", "entry f [n][m] (xs: [n][m]i32) = length xs"),
    ("entry f [n] (xs: [n]i32) = map (\\x => x + 1) xs", "`->`", "entry f [n] (xs: [n]i32) = map (\\x -> x + 1) xs"),
    ("entry f (x: i32) = y where y = x + 1", "`let x = .. in ..`", "entry f (x: i32) = let y = x + 1 in y"),
    ("entry f (x: i32) = 1 if x > 0 else 2", "`if .. then .. else ..`", "entry f (x: i32) = if x > 0 then 1 else 2"),
    ("entry f (x: i32) = x > 0 ? 1 : 2", "`if .. then .. else ..`", "entry f (x: i32) = if x > 0 then 1 else 2"),
    ("entry f (x: i32) = case x of 0 -> 1", "`match x case ..`", "entry f (x: i32) = match x case 0 -> 1 case _ -> 2"),
    ("entry f [n] (xs: [n]i32) = for x in xs: x", "`loop y = 0 for x in xs do y + x`",
     "entry f [n] (xs: [n]i32) = loop y = 0 for x in xs do y + x"),
    ("entry f (x: i32) = x + 1;", "nothing stands between", "entry f (x: i32) = x + 1"),
    ("// twice\nentry f (x: i32) = x", "`--`", "-- twice\nentry f (x: i32) = x"),
    ("# twice\nentry f (x: i32) = x", "`--`", "-- twice\nentry f (x: i32) = x"),
    ("entry f [n] (a: [n]f32) (b: [n]f32) = a * b", "`map2 (*) xs ys`",
     "entry f [n] (a: [n]f32) (b: [n]f32) = map2 (*) a b"),
    ("entry f [n] (a: [n]f32) = 2 * a", "`map (\\x -> a * x) xs`", "entry f [n] (a: [n]f32) = map (\\x -> 2 * x) a"),
    ("entry f [n] (a: [n]f32) = a - 1", "`map (\\x -> a - x) xs`", "entry f [n] (a: [n]f32) = map (\\x -> x - 1) a"),
    ("entry f [n] (a: [n]i64) = map (\\x -> iota x) a", "`flatmap' f xs`",
     "entry f [n] (a: [n]i64) = (flatmap' iota a).3"),
    ("entry f [n] (a: [n]f32) = scan (+) a", "`reduce (+) 0 xs`", "entry f [n] (a: [n]f32) = scan (+) 0 a"),
    ("entry f (x: f32) = x + 1.0f", "f32", "entry f (x: f32) = x + 1.0f32"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, hint, right", HABITS)
def test_the_hint_leads_to_a_program(wrong: str, hint: str, right: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(wrong, "f.soac", Reach.PROJECT)
    assert hint in (caught.value.diagnostics[0].hint or "")
    compile_source(right, "f.soac", Reach.PROJECT)
