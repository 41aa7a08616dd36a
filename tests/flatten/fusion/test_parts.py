"""Scatters and histograms in parts: a program where they are, and for each condition one that lacks it alone; all of
them mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Hist, Prog, Scatter
from soac.ir.interpret import Thresholds, prepare
from soac.ir.traverse import all_exps
from soac.pipeline import CORE_PASSES

PARTS = {
    "concatenations": ("scatter (copy ds) (is ++ js) (xs ++ ys)", 2),
    "three of them": ("scatter (copy ds) (is ++ js ++ is) (xs ++ ys ++ xs)", 3),
    "columns of other widths": ("scatter (copy ds) (is ++ js) ((ys ++ xs) :> [n + m]i64)", 1),
    "columns of other numbers of parts": (
        "let h = m / 2 in scatter (copy ds) (is ++ js) ((xs ++ ys[:h] ++ ys[h:]) :> [n + m]i64)", 1,
    ),
    "one column alone": ("scatter (copy ds) (iota (n + m)) (xs ++ ys)", 1),
    "as many parts as there may be": (
        "scatter (copy ds) (is ++ is ++ is ++ is ++ is ++ is ++ is ++ is)"
        " (xs ++ xs ++ xs ++ xs ++ xs ++ xs ++ xs ++ xs)", 8,
    ),
    "too many parts": (
        "scatter (copy ds) (is ++ is ++ is ++ is ++ is ++ is ++ is ++ is ++ is)"
        " (xs ++ xs ++ xs ++ xs ++ xs ++ xs ++ xs ++ xs ++ xs)", 1,
    ),
    "an opaque one": ("#[opaque] (scatter (copy ds) (is ++ js) (xs ++ ys))", 1),
    "parts that are overwritten": (
        "let a = copy (xs ++ ys) in scatter a (is ++ js) (a[m:] ++ map (+ 1) (a[:m] :> [m]i64) :> [n + m]i64)", 1,
    ),
    "literals": (
        "reduce_by_index (copy ds) (+) 0 (flatten (map (\\i -> [i, i + 1]) is)) (flatten (map (\\x -> [x, 3]) xs))", 2,
    ),
    "literals of one number": (
        "reduce_by_index (copy ds) (+) 0 (flatten (map (\\i -> [i]) is)) (flatten (map (\\x -> [x * x]) xs))", 1,
    ),
    "literals of nine numbers": (
        "reduce_by_index (copy ds) (+) 0 (flatten (map (\\i -> [i, 1, 2, 3, 4, 5, 6, 7, 8]) is))"
        " (flatten (map (\\x -> [x, 1, 2, 3, 4, 5, 6, 7, 8]) xs))", 1,
    ),
    "an operator that does not commute": (
        "reduce_by_index (copy ds) (\\a b -> if b == 0 then a else b) 0 (flatten (map (\\i -> [i, i + 1]) is))"
        " (flatten (map (\\x -> [x, 3]) xs))", 1,
    ),
    "rows that are no literals": (
        "reduce_by_index (copy ds) (+) 0 (flatten (map (\\i -> scan (+) i js) is))"
        " (flatten (map (\\x -> map (+ x) js) xs))", 1,
    ),
    "literals of rows": (
        "reduce_by_index (copy ds) (+) 0 (flatten (flatten (map (\\i -> [is, map (+ i) is]) is)))"
        " (flatten (flatten (map (\\x -> [xs, map (* x) xs]) xs)))", 1,
    ),
    "elements that cost much": (
        "reduce_by_index (copy ds) (+) 0 (flatten (map (\\i -> [i, i + 1]) is))"
        " (flatten (map (\\x -> let y = loop y = x for _i < 100 do y * x + 1 in [y, y + 1]) xs))", 1,
    ),
    "elements beside others": (
        "let (ks, zs) = unzip (map (\\i -> ([i, i + 1], i * i)) is)"
        " in reduce_by_index (copy ds) (+) (i64.sum zs) (flatten ks) (flatten (map (\\x -> [x, 3]) xs))", 2,
    ),
}  # fmt: skip
ARGS = tuple(np.array(one, np.int64) for one in ([2, 0, 3], [1, 4], [5, 6, 7], [8, 9], range(10, 16)))


@pytest.fixture(scope="module")
def programs() -> tuple[Prog, Prog]:
    head = "[n][m][k] (is: [n]i64) (js: [m]i64) (xs: [n]i64) (ys: [m]i64) (ds: [k]i64)"
    text = "\n".join(f"entry e{number} {head} = {body}" for number, (body, _) in enumerate(PARTS.values()))
    made = prog = compile_text(text, "parts.soac")
    for _, run in CORE_PASSES:
        check(made := run(made), Stage.CORE)
    return prog, made


@pytest.mark.parametrize("name", PARTS)
def test_parts(programs: tuple[Prog, Prog], name: str) -> None:
    entry = f"e{list(PARTS).index(name)}"
    (fun,) = (fun for fun in programs[1].functions if fun.entry is not None and fun.entry.name == entry)
    assert sum(isinstance(exp, Scatter | Hist) for exp in all_exps(fun.body)) == PARTS[name][1]
    before, after = (prepare(prog).run(entry, ARGS, Thresholds())[0] for prog in programs)
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)
