"""`#[warn(safety_checks)]`: what is reported, and where."""

from __future__ import annotations

import pytest

from soac.ir.machine import CPU, Mode
from soac.pipeline import compile_prog

INDEX = "this index may be out of bounds"
DIVISION = "this may be a division by zero or a negative power"


def warned_at(source: str) -> list[tuple[int, str]]:
    """The column and the label of each warning."""
    warnings = compile_prog(source, "t.soac", Mode.INCREMENTAL, CPU).warnings
    assert all(one.code == "W0303" for one in warnings)
    return [(one.primary.loc.col, one.primary.text) for one in warnings]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("map (\\i -> xs[i]) is", [INDEX]),
        ("(xs[0:2], 1)", ["this may fail"]),
        ("map (/ xs[0]) xs", [DIVISION, INDEX]),
        ("map (/ 2) xs", []),
        ("map (+ 1) xs", []),
        ("(#[unsafe] xs[0])", []),
        ("map (\\i -> xs[i]) (indices xs)", []),
        ("(if xs[0] > 0 then 1 else is[1])", [INDEX, INDEX]),
    ],
)
def test_checks_that_are_left(source: str, said: list[str]) -> None:
    found = warned_at(f"def main (xs: []i64) (is: []i64) = #[warn(safety_checks)] {source}\n")
    assert [label for _, label in found] == said


def test_of_a_definition() -> None:
    source = "#[warn(safety_checks)]\nentry f (xs: []i32) = xs[0]\nentry g (xs: []i32) = xs[0]\n"
    assert warned_at(source) == [(23, INDEX)]


def test_nothing_unless_asked() -> None:
    assert warned_at("def main (xs: []i32) = xs[0] / xs[1]") == []


def test_nothing_of_constants() -> None:
    """They have no attributes."""
    assert warned_at("def table = map (\\i -> 7 / (i % 3)) (iota 9)\ndef main (xs: []i64) = map (+ table[4]) xs") == []
