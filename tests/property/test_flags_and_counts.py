"""Loops and reductions that carry flags beside counts, sums and places: one that ends early gives what all rounds give.

Each expression is drawn twice, as source and as Python, which carries all rounds out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soac
from soac.kernels.lanes.for_loops import STRIP

EXAMPLES = [2, 100]
"""In CI, and at night."""
Exp = tuple[str, str]
FLAGS, NUMBERS = ("f", "g"), ("a", "b", "i")
TESTS = st.sampled_from(["x == 0", "x == 1", "x > 90", "x > 3", "a < 0", "b >= 7", "a == i", "a == b", "b < a"])


def flags() -> st.SearchStrategy[Exp]:
    """Of the state (f, g, a, b), the round i and the element x."""
    leaves = TESTS.map(lambda text: (f"({text})", f"({text})")) | st.sampled_from(FLAGS).map(lambda f: (f, f))
    return st.recursive(leaves, lambda e: negations(e) | pairs(e) | choices(leaves, e), max_leaves=3)


def negations(e: st.SearchStrategy[Exp]) -> st.SearchStrategy[Exp]:
    return e.map(lambda x: (f"(!{x[0]})", f"(not {x[1]})"))


def pairs(e: st.SearchStrategy[Exp], other: st.SearchStrategy[Exp] | None = None) -> st.SearchStrategy[Exp]:
    def made(op: Exp, x: Exp, y: Exp) -> Exp:
        return f"({x[0]} {op[0]} {y[0]})", f"({x[1]} {op[1]} {y[1]})"

    return st.builds(made, st.sampled_from([("&&", "and"), ("||", "or")]), e, other or e)


def choices(
    c: st.SearchStrategy[Exp], e: st.SearchStrategy[Exp], other: st.SearchStrategy[Exp] | None = None
) -> st.SearchStrategy[Exp]:
    return st.builds(chosen, c, e, other or e)


def chosen(c: Exp, x: Exp, y: Exp) -> Exp:
    return f"(if {c[0]} then {x[0]} else {y[0]})", f"({x[1]} if {c[1]} else {y[1]})"


def numbers() -> st.SearchStrategy[Exp]:
    texts = [*NUMBERS, "0", "(0 - 1)", "x", "(a + 1)", "(b + x)"]
    leaves = st.sampled_from(
        [*((text, text) for text in texts), ("(i64.min a b)", "min(a, b)"), ("(i64.max b i)", "max(b, i)")]
    )
    return st.recursive(leaves, lambda e: choices(flags(), e), max_leaves=3)


def next_flag(old: str) -> st.SearchStrategy[Exp]:
    """A flag that often stays, once it has a value."""
    this = st.just((old, old))
    return pairs(this, flags()) | choices(this, flags() | this, flags()) | flags()


def next_number(old: str) -> st.SearchStrategy[Exp]:
    """A number that often stays, once a flag or its sign says so."""
    this, found = st.just((old, old)), st.just((f"({old} >= 0)", f"({old} >= 0)"))
    return choices(flags() | found, this, numbers())


@st.composite
def states(draw: st.DrawFn) -> tuple[Exp, ...]:
    """What a round makes of the state: of two programs in three, nothing once a flag is true or false."""
    made = [draw(next_flag(old)) for old in FLAGS] + [draw(next_number(old)) for old in "ab"]
    ends = draw(st.sampled_from([(f, True) for f in FLAGS] + [(f, False) for f in FLAGS] + [None, None]))
    if ends is None:
        return tuple(made)
    kept = [(old, old) for old in (*FLAGS, "a", "b")]
    sides = [(x, y) if ends[1] else (y, x) for x, y in zip(kept, made, strict=True)]
    return tuple(chosen((ends[0], ends[0]), x, y) for x, y in sides)


FIRST = st.tuples(st.booleans(), st.booleans(), st.sampled_from([-1, 0]), st.sampled_from([-1, 0, 100]))
LENGTHS = st.sampled_from([0, 1, 17, 40, STRIP, STRIP + 1, 2 * STRIP + 800])
MARKS = st.lists(st.tuples(st.integers(0, 9_000), st.sampled_from([0, 1, 99])), max_size=3)
SEEDS = st.integers(0, 2**31)
LOOPS = """
def rounds [n] (xs: [n]i64): (bool, bool, i64, i64) =
  loop (f, g, a, b) = {first} for i < n do
    let x = xs[i]
    in {states}

entry one xs = rounds xs
entry rows [m][n] (xss: [m][n]i64) = unzip4 (map rounds xss)
entry until [n] (xs: [n]i64) =
  let (f, g, a, b, _) = loop (f, g, a, b, i) = {open} while i < n && !(f && g) do
    let x = xs[i]
    in {stepped}
  in (f, g, a, b)
"""


def elements(length: int, seed: int, marks: Iterable[tuple[int, int]]) -> np.ndarray:
    """Numbers that tests look for at a few places alone, or at some in a hundred."""
    xs = np.random.default_rng(seed).integers(0 if seed % 4 else 6, 90, length)
    for place, x in marks:
        xs[place % length if length else 0 : place % length + 1 if length else 0] = x
    return xs


def tuple_of(parts: Iterable[str]) -> str:
    return f"({', '.join(parts)})"


@pytest.mark.parametrize("examples", EXAMPLES)
def test_loops(examples: int) -> None:
    @settings(max_examples=examples)
    @given(states(), FIRST, LENGTHS, SEEDS, MARKS)
    def law(made: tuple[Exp, ...], first: tuple, length: int, seed: int, marks: list[tuple[int, int]]) -> None:
        texts, inits = [text for text, _ in made], [f"({x})" if x < 0 else str(x).lower() for x in first]
        rounds = {"states": tuple_of(texts), "stepped": tuple_of([*texts, "i + 1"])}
        program = soac.compile(LOOPS.format(first=tuple_of(inits), open=tuple_of([*inits, "0"]), **rounds))
        step = compile(tuple_of(text for _, text in made), "step", "eval")

        def expected(xs: Iterable[int], ends: bool) -> tuple:
            f, g, a, b = first
            for i, x in enumerate(xs):
                if ends and f and g:
                    break
                f, g, a, b = eval(step, {"f": f, "g": g, "a": a, "b": b, "i": i, "x": x})  # noqa: S307  text of ours
            return f, g, a, b

        xs = elements(length, seed, marks)
        assert tuple(program.one(xs)) == expected(xs.tolist(), False)
        assert tuple(program.until(xs)) == expected(xs.tolist(), True)
        rows = np.stack([elements(length % STRIP, seed + k, marks[k:]) for k in range(5)])
        wanted = [expected(row.tolist(), False) for row in rows]
        assert list(zip(*(part.tolist() for part in program.rows(rows)), strict=True)) == wanted

    law()


REDUCTIONS: dict[str, tuple[str, str, Callable[[np.ndarray], int]]] = {
    "any": ("any (\\x -> x == 1) xs", "bool", lambda xs: (xs == 1).any()),
    "all": ("all (\\x -> x != 5) xs", "bool", lambda xs: (xs != 5).all()),
    "count": ("i64.sum (map (\\x -> i64.bool (x == 0)) xs)", "i64", lambda xs: (xs == 0).sum()),
    "sum": ("i64.sum (map i64.T xs)", "i64", lambda xs: xs.sum(dtype=np.int64)),
    "greatest": ("reduce i64.max (-1) (map i64.T xs)", "i64", lambda xs: xs.max(initial=-1)),
    "first place": (
        "reduce i64.min 77777 (map2 (\\i x -> if x == 1 then i else 77777) (iota n) xs)",
        "i64",
        lambda xs: next(iter(np.nonzero(xs == 1)[0]), 77777),
    ),
    "first pair": (
        "(reduce (\\(f, i) (g, j) -> if f then (f, i) else (g, j)) (false, -1)"
        " (map2 (\\i x -> (x == 0, if x == 0 then i else -1)) (iota n) xs)).1",
        "i64",
        lambda xs: next(iter(np.nonzero(xs == 0)[0]), -1),
    ),
    "flag and count": (
        "(reduce_comm (\\(f, c) (g, d) -> (f || g, c + d)) (false, 0) (map (\\x -> (x == 1, i64.bool (x == 0))) xs)).1",
        "i64",
        lambda xs: (xs == 0).sum(),
    ),
    "count that a flag keeps": (
        "(reduce (\\(f, c) (g, d) -> if f then (f, c) else (g, c + d)) (false, 0) (map (\\x -> (x == 1, 1)) xs)).1",
        "i64",
        lambda xs: next(iter(np.nonzero(xs == 1)[0] + 1), len(xs)),
    ),
}


ENDING = ["any", "all", "first pair", "flag and count", "count that a flag keeps"]


@pytest.mark.parametrize("examples", EXAMPLES)
def test_reductions(examples: int) -> None:
    others = st.lists(
        st.sampled_from([kind for kind in REDUCTIONS if kind not in ENDING]), min_size=1, max_size=2, unique=True
    )
    kinds = st.builds(lambda one, more: [one, *more], st.sampled_from(ENDING), others)

    @settings(max_examples=examples)
    @given(kinds, st.sampled_from(["i8", "i16", "i64"]), st.sampled_from([0, 33, 700, 140_000]), SEEDS, MARKS)
    def law(kinds: list[str], prim: str, length: int, seed: int, marks: list[tuple[int, int]]) -> None:
        texts, types, wanted = zip(*map(REDUCTIONS.__getitem__, kinds), strict=True)
        body, back = tuple_of(texts).replace("T", prim), {2: "unzip", 3: "unzip3"}[len(kinds)]
        rows_type = tuple_of(f"[m]{t}" for t in types)
        program = soac.compile(
            f"entry one [n] (o: {prim}) (xs: [n]{prim}): {tuple_of(types)} =\n  let xs = map (+ o) xs in {body}\n"
            f"entry rows [m][n] (xss: [m][n]{prim}): {rows_type} = {back} (map (\\xs -> {body}) xss)\n"
        )
        xs = elements(length, seed, marks).astype(prim.replace("i", "int"))
        for threads in (1, 2):
            assert list(program.call("one", [0, xs], threads=threads)) == [f(xs) for f in wanted]
        rows = np.stack([elements(length % 1_000, seed + k, marks[k:]) for k in range(5)]).astype(xs.dtype)
        expected = [[f(row) for row in rows] for f in wanted]
        assert [np.asarray(part).tolist() for part in program.call("rows", [rows])] == expected

    law()
