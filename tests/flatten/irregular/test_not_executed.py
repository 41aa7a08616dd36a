"""What a program does not execute does not fail in flat code, and what it writes out of range, or into a copy, changes
nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.frontend.compile import compile_text
from soac.ir.machine import Mode
from tests.support.property.generate import Case
from tests.support.property.law import check_law

CASES: dict[str, tuple[Rule, str]] = {
    "the other branch divides": (
        Rule.VARYING_IF,
        "if n > 0 then i64.sum (map (\\i -> 12 / (n + i)) (iota n))"
        " else i64.sum (map (\\i -> 12 / (n - 1 - i)) (iota (1 - n)))",
    ),
    "the first branch divides": (
        Rule.VARYING_IF,
        "if n == 0 then 7 else i64.sum (map (\\i -> (12 + i) / n) (iota n))",
    ),
    "an operator that divides, at the start of a row": (
        Rule.FLAT_SCAN,
        "i64.sum (scan (\\a b -> a + b + 0 / (50 - a)) 0 (replicate n (if n == 2 then 25 else 1)))",
    ),
    "indices out of range of a row": (
        Rule.FLAT_SCATTER,
        "let written = scatter (replicate n 1) (map (\\i -> i * 2 - 1) (iota (n + 2))) (map (+ 5) (iota (n + 2)))"
        " in i64.sum (map2 (*) written (map (+ 1) (iota n)))",
    ),
    "bins out of range of a row": (
        Rule.FLAT_SCATTER,
        "let bins = hist (+) 0 n (map (\\i -> i - 1) (iota (n + 2))) (map (+ 5) (iota (n + 2)))"
        " in i64.sum (map2 (*) bins (map (+ 1) (iota n)))",
    ),
    "a copy of a row": (
        Rule.FLAT_MAP,
        "let ys = map (* 3) (iota n) let zs = scatter (copy ys) [0] [9] in i64.sum ys * 100 + i64.sum zs",
    ),
    "a row in two loops": (
        Rule.FLAT_MAP,
        "let ys = map (* 3) (iota n) let f k = loop zs = copy ys for i < n do zs with [i] = zs[i] + k"
        " in i64.sum (f 1) * 1000 + i64.sum (f 2)",
    ),
    "rows added up beside their elements": (
        Rule.IRWIM,
        "let rows = map (\\i -> map (+ i) (iota n)) (iota 2)"
        " let (a, b) = (reduce (map2 (+)) (replicate n 0) rows, i64.sum (map i64.sum rows))"
        " in i64.sum a * 100 + b",
    ),
    "rows that a later loop reads again": (
        Rule.FLAT_MAP,
        "let ys = map (* 3) (iota n) let zs = loop ws = ys for i < n do map2 (+) ws ys"
        " in i64.sum zs * 100 + i64.sum (map2 (*) ys zs)",
    ),
    "elements of rows that are overwritten": (
        Rule.FLAT_RED,
        "let rows = map (\\i -> map (+ i) (iota 2)) (iota n) let firsts = map (\\row -> row[0]) rows"
        " let others = map (\\row -> i64.sum (copy row with [0] = 7)) rows"
        " in i64.sum (map2 (*) firsts others) + i64.sum (map (\\row -> row[0] * row[1]) rows)",
    ),
    "a row that is carried and overwritten": (
        Rule.FLAT_MAP,
        "let ys = map (* 3) (iota n) let (a, b) = loop (a, b) = (ys, ys) for i < n do"
        " (map (+ 1) a, copy b with [i] = a[i]) in i64.sum a * 1000 + i64.sum b * 10 + i64.sum ys",
    ),
    "rows of rows that a point does not have": (
        Rule.FLAT_MAP,
        "i64.sum (map (\\k -> i64.sum (map (\\i -> i64.sum (iota i)) (iota k))) (iota n))",
    ),
    "rows of varying size that are none": (
        Rule.FLAT_MAP,
        "let rows = map (\\k -> map (* k) (iota n)) (iota (n - 2)) "
        " in i64.sum (map i64.sum rows) + i64.sum (flatten rows)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_flat_code_gives_what_the_program_gives(name: str) -> None:
    rule, body = CASES[name]
    prog = compile_text(f"entry main [k] (ns: [k]i64) = map (\\n -> {body}) ns", "not_executed.soac")
    tally = check_law(Case(prog, (np.array([2, 0, 3, 2, 0]),)), Mode.EVERY)
    assert tally.fired[rule], tally.fired
