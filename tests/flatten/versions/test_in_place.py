"""Loops at the top level whose rounds change arrays in place: which have such a version, and that it means the same,
whatever its points read of each other."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Index, SegScatter, Update
from soac.ir.interpret import Thresholds, interpret
from soac.ir.traverse import all_exps
from soac.ir.version_tree import combinations, sites
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.pipeline import flat_prog

ONE = "entry main [n] (p: i64) (a: [n][n]i64): [n][n]i64 = "
TWO = "entry main [n] (p: i64) (a: [n][n]i64): ([n][n]i64, [n][n]i64) = "

CHANGED = {
    "own elements": "loop a for k < n do let s = a[0, 0] in map (map (\\x -> x * 3 - s + k)) a",
    "a row and a column": "loop a for k < n do tabulate_2d n n (\\i j -> a[i, j] - a[i, k] * a[k, j])",
    "rows below": "loop a for k < n do "
    "map2 (\\i row -> if i <= k then row else map2 (\\x u -> x - row[k] * u) row a[k]) (iota n) a",
    "rows above": "loop a for k < n do "
    "map2 (\\i row -> if i >= k then row else map2 (\\x u -> x - row[k] * u) row a[k]) (iota n) a",
    "the row itself is another": "loop a for k < n do let q = map (* 2) a[k] in "
    "map2 (\\i row -> if i == k then q else map2 (\\x u -> x - row[k] * u) row q) (iota n) a",
    "below and to the right": "loop a for k < n do tabulate_2d n n (\\i j -> "
    "if i > k && j > k then a[i, j] - a[i, k] * a[k, j] else if i > k && j == k then a[i, k] * 2 else a[i, j])",
    "rows swapped": "loop a for k < n do let q = n - 1 - k in "
    "map2 (\\i row -> if i == k then a[q] else if i == q then a[k] else row) (iota n) a",
    "rows swapped by their numbers": "loop a for k < n do let q = n - 1 - k in tabulate_2d n n (\\i j -> "
    "let s = if i == q then k else i in if i == k then a[q, j] * 2 else a[s, j] - a[s, k] * a[k, j])",
    "columns swapped by their numbers": "loop a for k < n do let (q, s) = (n - 1 - k, a[0, 0]) in "
    "tabulate_2d n n (\\i j -> a[i, if j == q then k else if j == 0 then k else j] + s)",
    "a row that may not be there": "loop a for k < n do "
    "tabulate_2d n n (\\i j -> if k > 0 then a[i, j] + a[k - 1, j] else a[i, j] * 2)",
    "a column as a row": "loop a for k < n do tabulate_2d n n (\\i j -> a[i, j] + a[k, i] * a[j, k])",
    "any bound": "loop a for k < n do map2 (\\i row -> if i <= p then row else map (+ k) row) (iota n) a",
    "any bound, and one": "loop a for k < n do map2 (\\i row -> if i < p + 1 then row else map (+ k) row) (iota n) a",
    "an index and one": "loop a for k < n do map2 (\\i row -> if i + 1 > p then row else map (+ k) row) (iota n) a",
    "less a number": "loop a for k < n do map2 (\\i row -> if i - p > 0 then row else map (+ k) row) (iota n) a",
    "not either": "loop a for k < n do "
    "tabulate_2d n n (\\i j -> if i < k || !(j >= k) then a[i, j] else a[i, j] + a[k, k])",
    "one element": "loop a for k < n do tabulate_2d n n (\\i j -> if i == k && j == p then a[k, k] else a[i, j])",
    "while": "(loop (a, k) = (a, 0) while k < n do (tabulate_2d n n (\\i j -> a[i, j] + a[k, j]), k + 1)).0",
    "behind updates": "loop a = copy a for k < n do let r = copy a[n - 1 - k] let a[k] = r in "
    "map (\\row -> map2 (\\x u -> x + u) row a[k]) a",
    "what was given is kept": "let b = loop b = a for k < n do "
    "map (\\row -> map2 (-) row b[k]) b in map2 (map2 (+)) a b",
    "loops in loops": "loop a for _r < n do loop a for k < n do "
    "map (\\row -> map2 (\\x u -> x - row[k] * u) row a[k]) a",
}
"""Loops that have such a version; every element of an array is a matter of which values it was computed from."""

CHECKED = {
    "a row": "loop a for _k < 2 * n do map (\\row -> map2 (+) row a[p]) a",
    "an element": "loop a for _k < 2 * n do map (\\row -> map (\\x -> x + a[p, p]) row) a",
    "a column": "loop a for k < 2 * n do let s = a[0, 0] in tabulate_2d n n (\\i j -> a[i, j] + a[i, k + p] * s)",
}
"""Such loops, whose reads may be out of bounds."""

NOT_CHANGED = {
    "transposed": "loop a for k < n do tabulate_2d n n (\\i j -> a[i, j] + a[j, i] * k)",
    "a neighbour": "loop a for k < n do tabulate_2d n n (\\i j -> a[i, j] + a[i, i64.max 0 (j - 1)] * k)",
    "the diagonal": "loop a for k < n do tabulate_2d n n (\\i j -> a[i, j] + a[i, i] * a[j, j] * k)",
    "a neighbour, or itself": "loop a for k < n do tabulate_2d n n (\\i j -> a[if i > k then i - 1 else i, j] + k)",
    "chosen rows": "loop a for k < n do map2 (\\i row -> map2 (+) row a[(i * 7 + k) % n]) (iota n) a",
    "reversed rows": "loop a for k < n do map (\\row -> map2 (\\x y -> x + y * k) row (reverse row)) a",
    "a view that is turned": "loop a for k < n do let t = transpose a in map2 (map2 (\\x y -> x + y * k)) a t",
    "read later": "(loop (a, s) = (a, 0) for k < n do "
    "let b = map (map (+ s)) a in (b, s + i64.sum (map2 (\\x y -> x[0] * y[0] + k) a b))).0",
    "an element read later": "(loop (a, s) = (a, 0) for k < n do let b = map (map (+ s)) a in (b, s + a[k, 0])).0",
    "what it was goes on": "(loop (a, b) = (a, a) for k < n do (map2 (map2 (\\x y -> x + y * k)) a b, a)).0",
    "its rows written by an inner loop": "loop a = copy a for k < n do "
    "map (map (+ k)) (loop a for i < n do a with [i] = map (* 2) a[i])",
    "a row of what it becomes goes on": "(loop (a, v) = (a, iota n) for k < n do "
    "let b = map2 (\\i row -> if i <= k then map2 (+) row v else row) (iota n) a in (b, b[0])).0",
    "sums before each element": "loop a for k < n do map (\\row -> scan (+) 0 (map (+ k) row)) a",
    "rows of two parts": "loop a for k < n do map (\\row -> (row[k:] ++ row[:k]) :> [n]i64) a",
    "sums of rows": "loop a for k < n do map (\\row -> let s = i64.sum row in map (\\x -> x * k + s) row) a",
}

TWO_CHANGED = {
    "two that exchange": "loop (a, b) = (a, map (map (* 2)) a) for k < n do "
    "let s = a[0, 0] in unzip (map unzip (map2 (map2 (\\x y -> (x + y * k + s, y - x))) a b))",
    "two whose rows are swapped": "loop (a, b) = (a, map (map (* 2)) a) for k < n do let q = n - 1 - k in "
    "let of (x: [n][n]i64) = tabulate_2d n n (\\i j -> "
    "let s = if i == q then k else i in if i == k then x[q, j] else x[s, j] - a[s, k] * x[q, j]) in (of a, of b)",
    "two from one": "loop (a, b) = (a, a) for k < n do "
    "unzip (map unzip (tabulate_2d n n (\\i j -> (a[i, j] + b[k, j], b[i, j] - a[i, k]))))",
}

RANKS = """
entry main [n] (p: i64) (a: [n][n]i64): ([n][n]i64, [n]i64) =
  loop (a, b) = (a, iota n) for k < n do
    let f = map (\\i -> if i > k then a[i, k] + p else 0) (iota n)
    in (map2 (\\g row -> map2 (\\x u -> x - g * u) row a[k]) f a, map2 (\\g x -> x - g * b[k]) f b)
"""

EVERY = {
    **{name: (ONE + text, True) for name, text in CHANGED.items()},
    **{name: (ONE + text, False) for name, text in NOT_CHANGED.items()},
    **{name: (TWO + text, True) for name, text in TWO_CHANGED.items()},
    "of different ranks": (RANKS, True),
}


@pytest.mark.parametrize("name", EVERY)
def test_which_loops_have_such_a_version(name: str) -> None:
    text, has_version = EVERY[name]
    guards = [name for site in sites(flat_prog(text, "in_place.soac").flat) for name in site.thresholds]
    assert any("suff_in_place" in name for name in guards) == has_version


@pytest.mark.parametrize("where", ["i > k + 1", "i < k + 2", "i > k - 2", "i < k - 1", "i <= k", "i > k", "i >= n - k"])
def test_bounds_of_what_changes_are_inside(where: str) -> None:
    """Those by the counter of the loop: nothing is written out of bounds, and the values are right, in a nest too."""
    loop = (
        f"loop a for k < n do map2 (\\i row -> if {where} then row else map2 (\\x u -> x * 3 + u) row a[k]) (iota n) a"
    )
    made = flat_prog(
        f"entry main [n] (as: [2][n][n]i64) (a: [n][n]i64) = (map (\\a -> {loop}) as, {loop})", "bounds.soac"
    )
    forced = {name: "in_place" in name for site in sites(made.flat) for name in site.thresholds}
    for n in (1, 2, 5):
        args = [np.arange(2 * n * n).reshape(2, n, n), np.arange(n * n).reshape(n, n)]
        expected, _ = interpret(made.core, "main", args)
        found, _ = interpret(made.flat, "main", args, Thresholds(forced=forced))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name, (_, has_version) in EVERY.items() if has_version])
def test_in_place(name: str) -> None:
    """Also where the array is empty, of which no row can be taken: then the version is never taken. No thread reads
    what another one writes."""
    text, _ = EVERY[name]
    program = soac.compile(text)
    guards = [name for site in sites(program.compiled.flat) for name in site.thresholds]
    found, rounds = ([name for name in guards if kind in name] for kind in ("suff_in_place", "suff_rounds"))
    bounds = (0, 2, -1, 2**63 - 1, -(2**63)) if "p " in text.split("=", 1)[1] else (1,)
    for n in (0, 1, 4, 9):
        for p in bounds:
            args = [np.int64(p), np.random.default_rng(n).integers(-3, 4, (n, n))]
            before = args[1].copy()
            expected, _ = interpret(program.compiled.core, "main", [arg.copy() for arg in args])
            for side in (True, False):
                got, _ = program.trace(
                    "main", args, forced={**dict.fromkeys(rounds, False), **dict.fromkeys(found, side)}
                )
                for one, other in zip(got, expected, strict=True):
                    np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(args[1], before)
    args = [np.int64(1), np.random.default_rng(1).integers(-3, 4, (9, 9))]
    forced = {**dict.fromkeys(rounds, False), **dict.fromkeys(found, True)}
    assert trace_program(program.compiled, "main", args, forced, TraceSettings(threads=8, warp=4)).is_clean


@pytest.mark.parametrize("name", CHECKED)
def test_checks(name: str) -> None:
    """What every point reads is checked before; of an empty array nothing is read."""
    program = soac.compile(ONE + CHECKED[name])
    guards = [name for site in sites(program.compiled.flat) for name in site.thresholds]
    found, rounds = ([name for name in guards if kind in name] for kind in ("suff_in_place", "suff_rounds"))
    assert len(found) == 1
    for n, p in ((0, 3), (4, 4), (4, -5), (4, -3), (4, 1)):
        said: list[str] = []
        for side in (True, False):
            args = [np.int64(p), np.arange(n * n).reshape(n, n)]
            try:
                got, _ = program.trace("main", args, forced={**dict.fromkeys(rounds, False), found[0]: side})
                said.append(str(got[0]))
            except soac.RunError as failure:
                said.append("out of bounds" if "R0101" in str(failure) else str(failure))
        assert ("out of bounds" in said[0]) == (n > 0 and (p != 1 or name == "a column"))
        assert said[0] == said[1]


def test_what_stays_as_it_is_is_not_touched() -> None:
    """Points in the part that changes alone: neither the rows above, nor the columns to the left."""
    program = soac.compile(ONE + CHANGED["below and to the right"])
    scatters = [exp for exp in all_exps(program.compiled.flat.functions[0].body) if isinstance(exp, SegScatter)]
    assert len(scatters) == 1
    sizes = {param.type.shape[0] for param in program.compiled.flat.functions[0].params if param.type.shape}
    assert sizes.isdisjoint(scatters[0].space.widths)


@pytest.mark.parametrize(("n", "m", "taken"), [(8, 400, False), (64, 64, True), (400, 8, False), (2000, 8, False)])
def test_default(n: int, m: int, taken: bool) -> None:
    """From 32 KiB on, if rows are not short."""
    source = "entry main [n][m] (a: [n][m]f64): [n][m]f64 = loop a for _r < 40 do let s = a[0, 0] in map (map (+ s)) a"
    _, trace = soac.compile(source).trace("main", [np.ones((n, m))])
    assert [on for name, _, on in trace if "in_place" in name] == [taken]


CELL = "i > k && j > k"


@pytest.mark.parametrize(
    ("where", "n", "taken"), [("i > k", 44, False), ("i > k", 48, True), (CELL, 31, False), (CELL, 33, True)]
)
def test_default_of_parts(where: str, n: int, taken: bool) -> None:
    """Half as many bytes for each dimension that changes in part, and what all points read is a number."""
    source = f"""entry main [n] (a: [n][n]f64): [n][n]f64 = loop a for k < n do
      tabulate_2d n n (\\i j -> if {where} then a[i, j] / a[k, k] else a[i, j])"""
    program = soac.compile(source)
    _, trace = program.trace("main", [np.ones((n, n))])
    assert any(on for name, _, on in trace if "in_place" in name) == taken
    scatters = [exp for exp in all_exps(program.compiled.flat.functions[0].body) if isinstance(exp, SegScatter)]
    assert not any(
        isinstance(exp, Index) and exp.dims[0] == exp.dims[1] for one in scatters for exp in all_exps(one.body)
    )


NESTS = {
    "rows below": "map2 (\\i row -> if i <= k then row else map2 (\\x u -> x - row[k] * u) row a[k]) (iota n) a",
    "a triangle": "tabulate_2d n n (\\i j -> if i > k && j > k then a[i, j] - a[i, k] * a[k, j] else a[i, j])",
    "columns before": "tabulate_2d n n (\\i j -> if j < k then a[i, j] + a[i, k] * a[j, k] else a[i, j])",
    "one row": "map2 (\\i row -> if i == k then map2 (+) row a[n - 1 - k] else row) (iota n) a",
    "transposed": "tabulate_2d n n (\\i j -> if i > k then a[i, j] + a[j, i] else a[i, j])",
    "any bound": "map2 (\\i row -> if i <= p then row else map (+ k) row) (iota n) a",
}
"""Rounds of loops in a map: all but the last two update the part that changes."""


@pytest.mark.parametrize("name", NESTS)
def test_in_nests(name: str) -> None:
    """In every version, where there is an update."""
    text = "entry main [m][n] (p: i64) (as: [m][n][n]i64): [m][n][n]i64 = map (\\a -> loop a = copy a for k < n do "
    program = soac.compile(text + NESTS[name] + ") as")
    exps = all_exps(program.compiled.flat.functions[0].body)
    updates = [exp for exp in exps if isinstance(exp, SegScatter | Update) and exp.safe]
    assert bool(updates) == (name not in ("transposed", "any bound"))
    for m, n in ((0, 2), (2, 5), (9, 4)) if updates else ():
        args = [np.int64(2), np.random.default_rng(n).integers(-3, 4, (m, n, n))]
        (expected,), _ = interpret(program.compiled.core, "main", [arg.copy() for arg in args])
        for version in combinations(sites(program.compiled.flat)):
            np.testing.assert_array_equal(program.trace("main", args, forced=version)[0][0], expected)


PAIR = "([b][n][n]i64, [b][n][n]i64)"

ALL_OF_IT = {
    **{name: (CHANGED[name], "[b][n][n]i64", "") for name in ("rows swapped by their numbers", "a column as a row")},
    **{name: (TWO_CHANGED[name], PAIR, "unzip ") for name in ("two whose rows are swapped", "two from one")},
    "rows that may be empty": (
        "(loop (a, y) = (a, map (\\row -> map (+ row[0]) (iota (p % 2))) a) for k < n do "
        "let y1 = map2 (\\i row -> map2 (\\j x -> if i == k then x * 3 else x - a[i, k] * y[k, j] + y[i, 0]) "
        "(iota (p % 2)) row) (iota n) y in (map (\\row -> map2 (\\x u -> x - u * row[k]) row a[k]) a, y1)).0",
        "[b][n][n]i64",
        "",
    ),
}
"""Rounds of loops in a map that change all of one array, or of two."""


@pytest.mark.parametrize("name", ALL_OF_IT)
def test_all_of_it_in_nests(name: str) -> None:
    """In every version, and what was given stays as it was."""
    text, results, apart = ALL_OF_IT[name]
    head = f"entry main [b][n] (p: i64) (as: [b][n][n]i64): {results} = "
    program = soac.compile(f"{head}{apart}(map (\\(a: [n][n]i64) -> {text}) as)")
    exps = list(all_exps(program.compiled.flat.functions[0].body))
    assert any(isinstance(exp, SegScatter | Update) and exp.safe for exp in exps)
    for b, n, p in ((0, 2, 1), (2, 0, 1), (2, 1, 2), (3, 5, 1), (17, 9, 2)):
        args = [np.int64(p), np.random.default_rng(n).integers(-3, 4, (b, n, n))]
        before = args[1].copy()
        expected, _ = interpret(program.compiled.core, "main", [arg.copy() for arg in args])
        for version in combinations(sites(program.compiled.flat)):
            for got, one in zip(program.trace("main", args, forced=version)[0], expected, strict=True):
                np.testing.assert_array_equal(got, one)
        np.testing.assert_array_equal(args[1], before)
