"""Uniqueness: what may be consumed, and nothing used afterwards."""

from __future__ import annotations

import pytest

from tests.support.infer_cases import infer_text, marked, only_error

RIGHT = [
    "def f (xs: *[]i32) = let xs[0] = 1 let ys = xs with [1] = 2 in ys",
    "def f (xs: *[]i32) = loop xs for i < 10 do xs with [i] = xs[i] + 1",
    "def f (n: i64) = loop (a, b) = (replicate n 0, replicate n 1) for i < 10 do (b with [0] = a[0], a)",
    "def f (xs: []i32) = scatter (copy xs) [0] [xs[0]]",
    "def f (xs: *[]i32) is = scatter xs is (map (+ 1) xs)",
    "def f (p: *([]i32, []i32)) = let (a, b) = p let a[0] = 1 in (a, b)",
    "def f (a: *[]i32, b: []i32) = (a with [0] = b[0], b)",
    "def f (xs: []i32) = let ys = map (+ 1) xs let ys[0] = 2 in map2 (+) xs ys",
    "def g (xs: []i32) = map (+ 1) xs def f (xs: []i32) = let ys = g xs let ys[0] = 2 in (xs, ys)",
    "def f (xs: []i32) = let g ys = map (+ 1) ys let zs = g xs let zs[0] = 2 in (xs, zs)",
    "def f (xss: *[][]i32) = loop xss for i < 10 do let row = map (+ 1) xss[i] in xss with [i] = row",
    "def f (xs: *[]i32) (b: bool) = if b then xs with [0] = 1 else xs",
    "def f (xs: *[]i32) = xs |> (\\(ys: *[]i32) -> ys with [0] = 1)",
    "def f (xss: [][]i32) = map (\\xs -> (copy xs) with [0] = 1) xss",
    "def f (r: *{a: []i32, b: []i32}) = let c = r with a[0] = 1 in (c, r.b)",
    "def f (xs: *[]i32) : *[]i32 = xs",
    "def f (n: i64) : *[]i64 = let xs = iota n let xs[0] = 1 in xs",
    "def f (n: i64) = map (\\i -> let xs = iota n let xs[0] = i in xs[1]) (iota 3)",
    "def f [n] (xs: *[n]i32) = let xs[n - 1] = xs[0] in (xs[0], xs)",
    "def f (xs: *[]i32) (x: #a | #b) = match x case #a -> xs with [0] = 1 case #b -> xs with [0] = 2",
    "def f (h: *[]i32) is vs = reduce_by_index h (+) 0 is vs",
]

WRONG = [
    ("def f (xs: *[]i32) = let ys = xs with [1] = 2 in (ys, xs)", "E0209", "xs"),
    ("def f (xs: *[]i32) = let ys = xs[1:] let xs[0] = 1 in ys[0] + xs[0]", "E0209", "ys"),
    ("def f (xs: *[]i32) = (scatter xs [0] [1], xs)", "E0209", "xs"),
    ("def f (xs: *[]i64) = scatter xs xs xs", "E0209", "xs"),
    ("def f (xs: *[]i32) (c: bool) = let ys = if c then xs with [0] = 1 else [1, 2] in (xs, ys)", "E0209", "xs"),
    ("def f (xs: *[]i32) = let ys = xs |> (\\(ys: *[]i32) -> ys with [0] = 1) in xs[0] + ys[0]", "E0209", "xs"),
    ("def f (r: *{a: []i32}) = let c = r with a[0] = 1 in (c, r.a)", "E0209", "r.a"),
    ("def f (xss: *[][]i32) = xss with [0] = xss[1]", "E0209", "xss[1]"),
    ("def f (xs: *[]i32) (zs: []i32) = loop xs for i < 10 do let ys = xs with [i] = 1 in zs", "E0209", None),
    ("def f (xs: *[]i32) = let a = loop xs for i < 10 do xs with [i] = 1 in (a, xs)", "E0209", "xs"),
    ("def f (xs: []i32) = xs with [0] = 1", "E0221", "xs with [0] = 1"),
    ("def f (xs: *[]i32) = map (\\i -> let ys = xs with [i] = 0 in ys[0]) (iota 3)", "E0221", "xs with [i] = 0"),
    ("def f (xs: *[]i32) = loop s = 0 for i < 10 do let ys = xs with [i] = 1 in s + ys[0]", "E0221", None),
    ("def f (xs: []i32) = loop xs for i < 10 do xs with [i] = 1", "E0221", "xs"),
    ("def f (xss: [][]i32) = map (\\xs -> xs with [0] = 1) xss", "E0221", None),
    ("def f (xss: [][]i32) = map (\\(xs: *[]i32) -> xs with [0] = 1) xss", "E0221", None),
    ("def g = [1, 2] def f = g with [0] = 3", "E0221", "g with [0] = 3"),
    ("def f (xs: []i32) : *[]i32 = xs", "E0222", "xs"),
    ("def f (xs: *[]i32) : *([]i32, []i32) = (xs, xs)", "E0222", "(xs, xs)"),
]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text: str) -> None:
    infer_text(text)


@pytest.mark.parametrize("text,code,place", WRONG, ids=[w[0] for w in WRONG])
def test_wrong(text: str, code: str, place: str | None) -> None:
    error = only_error(text)
    assert error.code == code, error
    if place is not None:
        assert marked(text, error) == place


def test_both_places_are_shown() -> None:
    error = only_error("def f (xs: *[]i32) = let ys = xs with [1] = 2 in (ys, xs)")
    assert error.message == "`xs` is used after it was consumed"
    assert [(label.loc.col, label.text) for label in error.others] == [(31, "`xs` is consumed here")]
