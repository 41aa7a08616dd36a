"""Sizes that branches of a loop choose among: those that one use makes equal, and those that stay different."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_text
from soac.ir.errors import CompileError

HEAD = "entry main [m] [n] (xs: [m]i64) (ys: [n]i64) (c: bool) ="
ONE_SIZE = {
    "beside what has it": "loop t = xs for i < 3i64 do let u = if c then t else xs in map2 (+) u xs",
    "beside, first": "loop t = xs for i < 3i64 do map2 (+) xs (if c then t else xs)",
    "written": "loop t = xs for i < 3i64 do let u: [m]i64 = if c then t else xs in map2 (+) u t",
    "in a map": "loop t = xs for i < 3i64 do (map (\\k -> if k == i then t else xs) (iota 3))[1]",
    "in a map over rows of it": "loop s = [xs, xs] for i < 3i64 do map (\\x -> if x[0] == i then x else xs) s",
    "the part itself": "(loop (t, u) = (xs, xs) for i < 3i64 do (u, map2 (+) (if c then t else u) u)).0",
    "chosen twice": "loop t = xs for i < 3i64 do"
    " let u = if c then t else xs let v = if i == 1 then u else t in map2 (+) (if c then v else u) xs",
    "of an inner loop": "loop t = xs for i < 3i64 do"
    " let u = loop u = t for j < 2i64 do if c then u else xs in map2 (+) u xs",
    "cases": "loop t = xs for i < 3i64 do map2 (+) (match i case 0 -> t case 1 -> xs case _ -> t) xs",
    "of two parameters": "map2 (\\x y -> if null x then y else x) [xs, xs] [xs, xs]",
    "it may change where nothing asks": "loop t = xs for i < 3i64 do let u = if c then t else xs in u ++ u",
    "another one where nothing asks": "loop t = xs for i < 3i64 do let u = if c then t else ys in map (+ 1) u",
}
OPERATORS = {
    "one of two rows": "reduce (\\a b -> if a[0] < b[0] then a else b) xs [xs, xs]",
    "the second": "foldl (\\a b -> if a[0] < b[0] then b else a) xs [xs, xs]",
    "cases": "(scan (\\a b -> match a[0] case 0 -> a case 1 -> b case _ -> map2 (+) a b) xs [xs, xs])[0]",
    "beside numbers": "(reduce (\\(a, i) (b, j) -> if a[0] < b[0] then (a, i) else (b, j)) (xs, 0) (zip [xs] [1])).0",
    "one is said": "reduce (\\(a: [m]i64) b -> if a[0] < b[0] then a else b) xs [xs, xs]",
    "piped": "[xs, xs] |> reduce (\\a b -> if a[0] < b[0] then a else b) xs",
}
"""Operators whose parameters have no types, but rows of one size."""
DIFFERENT = {
    "an operator that gives a part": "reduce (\\a b -> if a[0] < b[0] then a else b[1:]) xs [xs, xs]",
    "an operator beside another row": "reduce (\\a b -> if a[0] < b[0] then a else ys) xs [xs, xs]",
    "another one": "loop t = xs for i < 3i64 do let u = if c then t else ys in map2 (+) u xs",
    "one that changes": "loop t = xs for i < 3i64 do let u = map2 (+) (if c then t else xs) xs in t ++ u",
    "a part of it": "loop t = xs for i < 3i64 do map2 (+) (if c then t else t[1:]) xs",
    "what turns know": "loop t = xs for i < 3i64 do (map (\\k -> if k == i then filter (> 0) t else t) (iota 3))[1]",
    "no loop": "let u = if c then xs else ys in map2 (+) u xs",
}


@pytest.mark.parametrize("body", OPERATORS.values(), ids=OPERATORS)
def test_an_operator_gives_the_size_that_it_takes(body: str) -> None:
    compile_text(f"{HEAD.replace('=', ': [m]i64 =')} {body}", "f.soac")


@pytest.mark.parametrize("body", ONE_SIZE.values(), ids=ONE_SIZE)
def test_what_asks_for_one_size_gets_it(body: str) -> None:
    compile_text(f"{HEAD} {body}", "f.soac")


@pytest.mark.parametrize("body", DIFFERENT.values(), ids=DIFFERENT)
def test_sizes_that_differ_are_refused(body: str) -> None:
    with pytest.raises(CompileError, match=r"E0203|E0202|E0226|do not match|does not match|anonymous"):
        compile_text(f"{HEAD} {body}", "f.soac")
