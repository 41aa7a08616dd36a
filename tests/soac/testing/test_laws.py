"""Laws of operators on random values (`soac test --laws`), and what `soac check` sees of them (W0305)."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.frontend.compile import compile_source, compile_text
from soac.frontend.source.text import Reach
from soac.testing.laws import Verdict, verdicts
from soac.testing.outcomes import START, Outcome, Status
from soac.testing.run import events
from tests.support.command_line import under

LAWFUL = (
    "entry f (xs: []i32) = reduce (+) 0 xs",
    "entry f (xs: []f32) = scan (*) 1 xs",
    "entry f (xs: []bool) = reduce (||) false xs",
    "entry f (xs: [][3]f64) = reduce (map2 (+)) (replicate 3 0) xs",
    "entry f (xs: []f32) = reduce (\\x y -> f32.log (f32.exp x + f32.exp y)) (-f32.inf) xs",
    "entry f [n] (is: [n]i64) (xs: [n]u8) = hist (^) 0 9 is xs",
    "entry f (fs: []bool) (xs: []f32) ="
    " scan (\\(f, x) (g, y) -> (f || g, if g then y else x + y)) (false, 0) (zip fs xs)",
    "def t: [2]i32 = [0, 7] entry f (xs: []i32) = reduce (\\x y -> x + y + t[0]) t[0] xs",
    # Neutral for the indices that an `iota` has, and for the values that a `map` gives, but not for all there are.
    "entry f [n] (xs: [n]f32) ="
    " reduce_comm (\\(x, i) (y, j) -> if j < 0 then (x, i) else if i < 0 then (y, j)"
    " else if x > y || (x == y && i < j) then (x, i) else (y, j)) (-f32.inf, -1) (zip xs (iota n))",
    "entry f (xs: []i32) = reduce i32.max 0 (map i32.abs xs)",
    "entry f (xs: []u8) = reduce (\\x y -> u8.i32 (i32.min 255 (i32.u8 x + i32.u8 y))) 0 xs",
    "entry f (xs: []i64) = reduce (\\x y -> (x + y) % 1000000007) 0 (map (% 1000000007) xs)",
)
BROKEN = (
    ("entry f (xs: []i32) = reduce (-) 0 xs", "0i32 is not neutral: op 0i32 "),
    ("entry f (xs: []i32) = reduce (+) 1 xs", "1i32 is not neutral: op 1i32 "),
    ("entry f (xs: []i32) = reduce i32.max 0 xs", "0i32 is not neutral"),
    ("entry f (xs: []f32) = scan (\\x y -> (x + y) / 2 + f32.abs (x - y) / 2) 0 xs", "0.0f32 is not neutral"),
    ("entry f (xs: []f32) = scan (\\x y -> if x == 0 then y else if y == 0 then x else (x + y) / 2) 0 xs", "associ"),
    ("entry f (xs: []i32) = reduce_comm (\\x y -> if y == 0 then x else y) 0 xs", "not commutative"),
    ("entry f (is: []i64) (xs: []i32) = hist (\\x y -> if y == 0 then x else y) 0 9 is xs", "not commutative"),
    ("entry f (xs: []f32) = reduce f32.min 1000 xs", "1000.0f32 is not neutral"),
    (
        "entry f (xs: []i8) = reduce (\\x y -> i8.i32 (i32.max (-128) (i32.min 127 (i32.i8 x + i32.i8 y)))) 0 xs",
        "not associative",
    ),
    ("entry f (xs: [][2]i32) = reduce (map2 (\\x y -> x + 2 * y)) [0, 0] xs", "[0i32, 0i32] is not neutral"),
)  # fmt: skip


def verdict(text: str) -> Verdict:
    (one,) = verdicts(compile_text(text, "a.soac"))
    return one


@pytest.mark.parametrize("text", LAWFUL)
def test_laws_that_hold(text: str) -> None:
    one = verdict(text)
    assert (one.broken, one.untried) == (None, None)


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_laws_that_do_not(text: str, why: str) -> None:
    assert why in (verdict(text).broken or "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("entry f (k: i32) (xs: []i32) = reduce (\\x y -> x + y + k) 0 xs", "it depends on what only a run knows"),
        ("entry f (xs: []i32) = #[lawful] reduce (-) 0 xs", "it is `#[lawful]`"),
        ("entry f (xs: []i32) = reduce (\\x y -> x // 0 + y) 0 xs", "it fails on all random values"),
        ("entry f (xs: []i32) = reduce (+) (1 // 0) xs", "its neutral element fails: division by zero"),
    ],
)
def test_laws_that_are_not_tried(text: str, why: str) -> None:
    assert verdict(text).untried == why


def test_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "a.soac"
    path.write_text(
        "-- ==\n-- input { [4, 1] } output { 5 }\n" + BROKEN[1][0].replace(" f ", " main ").replace(" 1 ", " 0 ")
    )
    outcomes = [e for e in events(path, under(laws=True), START) if isinstance(e, Outcome)]
    assert [(o.name.partition(" at")[0], o.status) for o in outcomes][-1] == ("law of `reduce`", Status.PASSED)
    path.write_text(BROKEN[0][0])
    *_, last = (e for e in events(path, under(laws=True), START) if isinstance(e, Outcome))
    assert last.status is Status.FAILED
    assert "not neutral" in (last.why or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reduce (+) 1 xs", ["the initial value is not neutral"]),
        ("reduce (-) 0 xs", ["the operator is not associative"]),
        ("scan (*) 0 xs", ["the initial value is not neutral"]),
        ("reduce (&) 0 xs", ["the initial value is not neutral"]),
        ("redomap (+) (\\x -> x + 1) 1000 xs", ["the initial value is not neutral"]),
        ("reduce (\\(a, b) (c, d) -> (a + c, b - d)) (0, 0) (zip xs xs)", ["the operator is not associative"]),
        ("reduce (&) (-1) xs", []),
        ("reduce i32.max 0 xs", []),
        ("reduce (\\x y -> x + y - 0) 0 xs", []),
        ("foldl (-) 0 xs", []),
        ("(\\acc -> reduce (+) acc xs) xs[0]", []),
    ],
)
def test_what_a_check_sees(text: str, expected: list[str]) -> None:
    warnings = compile_source(f"entry f (xs: []i32) = {text}", "a.soac", Reach.PROJECT).warnings
    assert [one.code for one in warnings] == ["W0305"] * len(expected)
    assert [one.message.partition(":")[0] for one in warnings] == expected
