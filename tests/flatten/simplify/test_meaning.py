"""Simplification and fusion keep the meaning of random programs: every pass, and every rule by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings

from soac.arguments import Argument
from soac.flatten.fusion import driver as fuse_module
from soac.flatten.fusion.driver import fuse, fused_once
from soac.flatten.fusion.rules import VERTICAL, fuse_horizontally
from soac.flatten.inline import inline
from soac.flatten.simplify import driver as simplify_module
from soac.flatten.simplify.dead_code import remove_dead
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Loop, Prog
from soac.ir.errors import RunError
from soac.ir.interpret import interpret
from soac.ir.show import show
from tests.support.random_pipelines import Case, cases, program

RULE_TUPLES = ("EXPANSIONS", "SCALAR_RULES", "INPUT_RULES", "RESULT_RULES")
RULES = [(where, rule) for where in RULE_TUPLES for rule in getattr(simplify_module, where)]
BASIC = [("BASIC_RULES", rule) for rule in dict.fromkeys(chain.from_iterable(simplify_module.BASIC_RULES.values()))]


def results(prog: Prog, case: Case) -> list | None:
    """What the program gives; None if it fails."""
    try:
        return interpret(prog, "main", list(case.args))[0]
    except RunError:
        return None


def assert_same_meaning(before: list | None, prog: Prog, case: Case) -> None:
    """The law of failure: what had a value has the same; what failed may fail or not."""
    check(prog, Stage.CORE)
    if before is None:
        return
    after = results(prog, case)
    assert after is not None
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def assert_fusion_keeps_the_meaning(prog: Prog, once: Prog, args: Sequence[Argument]) -> None:
    """A program that has a value keeps it, where each rule has fired once, and where all have."""
    case = Case(prog, tuple(args))
    before = results(prog, case)
    assert before is not None
    for after in (once, fuse(prog)):
        assert_same_meaning(before, after, case)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_passes_keep_meaning(case: Case) -> None:
    before = results(case.prog, case)
    prog = case.prog
    for run in (remove_dead, simplify, fuse, simplify):
        prog = run(prog)
        assert_same_meaning(before, prog, case)


@pytest.mark.parametrize(("where", "rule"), RULES + BASIC, ids=lambda x: getattr(x, "__name__", None))
def test_rule_alone_keeps_meaning(where: str, rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RULE_TUPLES:
        monkeypatch.setattr(simplify_module, name, (rule,) if name == where else ())
    table = {kind: tuple(r for r in rules if r is rule) for kind, rules in simplify_module.BASIC_RULES.items()}
    monkeypatch.setattr(simplify_module, "BASIC_RULES", table)
    for seed in range(12):
        case = program(seed)
        assert_same_meaning(results(case.prog, case), simplify(case.prog), case)


@pytest.mark.parametrize("rule", (*VERTICAL, fuse_horizontally), ids=lambda rule: rule.__name__)
def test_fusion_rule_alone_keeps_meaning(rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    vertical = rule is not fuse_horizontally
    monkeypatch.setattr(fuse_module, "VERTICAL", (rule,) if vertical else ())
    if vertical:
        monkeypatch.setattr(fuse_module, "_with_neighbour", lambda node, scope: None)
    for seed in range(100, 125):
        case = program(seed)
        assert_same_meaning(results(case.prog, case), fuse(case.prog), case)


LOOPS = """
entry main [n][m] (xss: [n][m]i32) (ws: [n]i32) (t: i32): ([n]i32, [n][m]i32, i32) =
  let ys = map (\\xs -> i32.sum xs) xss
  let (as, bs) = loop (as, bs) = (map (+ 1) ys, ws) for i < t do (map2 (\\a b -> a * b - i) as bs, as)
  let zss = loop zss = xss for i < t do map2 (\\zs a -> map (\\z -> if z > a then z - i else a) zs) zss as
  in (map2 (+) as bs, zss, i32.sum (map i32.sum zss))
"""


@pytest.mark.parametrize("t", [-1, 0, 1, 5])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (4, 5)])
def test_loops_of_maps_keep_their_meaning(t: int, shape: tuple[int, int]) -> None:
    prog = simplify(inline(compile_text(LOOPS, "loops.soac")))
    once, rules = fused_once(prog)
    assert rules.count("loop_to_map") == 3
    xss = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape) % 7
    args = [xss, np.arange(shape[0], dtype=np.int32), np.int32(t)]
    assert_fusion_keeps_the_meaning(prog, once, args)
    assert not any(isinstance(stm.exp, Loop) for stm in fuse(prog).functions[0].body.stms)


GATHERS = """
entry main [n] (xs: [n]i32) (is: [n]i64) (t: i32): ([n]i32, [n]i32, [n]i32, [3]i32) =
  let back = map (* t) (reverse (map (+ 1) xs))
  let turned = map2 (-) (rotate 1 (map (\\x -> x * x + t) xs)) xs
  let half = let ys = map2 (*) xs xs in map (\\i -> if i % 2 == 0 then #[unsafe] ys[i] else 0) is
  let binned = hist (+) 0 3 (map (% 3) is) (let ys = map (+ t) xs in map (\\i -> ys[n - 1 - i]) (iota n))
  in (back, turned, half, binned)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_maps_read_at_an_index_keep_their_meaning(n: int) -> None:
    prog = simplify(inline(compile_text(GATHERS, "gathers.soac")))
    once, rules = fused_once(prog)
    assert rules.count("fuse_gather") >= 1
    args = [np.arange(n, dtype=np.int32) - 3, np.arange(n)[::-1].copy(), np.int32(5)]
    assert_fusion_keeps_the_meaning(prog, once, args)


JOINS = """
entry main [n][m] (xss: [n][m]i32) (t: i32): ([n]i32, [n][]i32, [n][]i32) =
  let wave = map (\\xs -> i32.sum (map (\\x -> x * x) ([t] ++ map (+ t) xs ++ replicate 2 xs[0] ++ map (* t) xs))) xss
  let turned = map (\\xs -> let (as, bs) = unzip (map (\\x -> (x - t, x * t)) xs) in bs ++ as) xss
  let steps = map (\\xs -> let ys = map (+ 1) xs in (xs ++ ys) ++ map (\\x -> x - t) xs) xss
  in (wave, turned, steps)
"""


@pytest.mark.parametrize("shape", [(0, 3), (3, 1), (4, 5)])
def test_joined_maps_keep_their_meaning(shape: tuple[int, int]) -> None:
    prog = simplify(inline(compile_text(JOINS, "joins.soac")))
    once, rules = fused_once(prog)
    assert rules.count("join") >= 2
    args = [np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape) - 3, np.int32(5)]
    assert_fusion_keeps_the_meaning(prog, once, args)


ENDS = """
entry main [n] (xs: [n]i32) (t: i32): ([n]i32, i32, []i32, [n]i32, [][]i32, [n]i32) =
  let differences = map2 (-) xs (take n ([t] ++ xs))
  let changes = i32.sum (map2 (\\x y -> x * y) ([t, 2] ++ xs) (xs ++ [3, t] :> [2 + n]i32))
  let before = scan (+) 0 ([0] ++ map (* t) xs ++ [1])
  let twice = let ys = take n ([t] ++ xs) in map2 (-) ys (reverse ys)
  let rows = map (\\x -> map2 (*) ([x] ++ xs) ([0] ++ map (+ x) xs)) xs
  let neighbours = let p = [t] ++ xs ++ [1] in map2 (*) (take n p) (take n (drop 2 p))
  in (differences, changes, before, twice, rows, neighbours)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_arrays_with_ends_keep_their_meaning(n: int) -> None:
    prog = simplify(inline(compile_text(ENDS, "ends.soac")))
    once, rules = fused_once(prog)
    assert rules.count("map_with_ends") >= 6
    args = [np.arange(n, dtype=np.int32) - 3, np.int32(5)]
    assert_fusion_keeps_the_meaning(prog, once, args)


FLAT = """
entry main [n] (xss: [n][n]i32): (i32, i32, i32, i32, [n]i32, i32) =
  let turned = tabulate_2d n n (\\i j -> xss[j, i] * i32.i64 i)
  let scans = map (scan (+) 0) xss
  let one = i32.sum (flatten turned)
  let pairs = i32.maximum (map2 (-) (flatten scans) (flatten (map (map (* 2)) xss)))
  let odd = reduce (\\a b -> if b == 0 then a else b) 0 (flatten (tabulate_2d n n (\\i j -> xss[i, n - 1 - j])))
  let kept = tabulate_2d n n (\\i j -> xss[j, i] + i32.i64 j)
  let window = i32.sum (map (* 2) (flatten xss[n / 2:, :n / 2]))
  in (one, pairs, odd, i32.sum (flatten kept), map i32.sum kept, window)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_reductions_of_flat_rows_keep_their_meaning(n: int) -> None:
    """One of an operator whose order matters, and one of a matrix that others need."""
    prog = simplify(inline(compile_text(FLAT, "flat.soac")))
    once, rules = fused_once(prog)
    assert rules.count("reduce_rows") >= 3
    assert_fusion_keeps_the_meaning(prog, once, [(np.arange(n * n, dtype=np.int32) % 5 - 2).reshape(n, n)])


SUMS = """
entry main [n] (k: i64) (is: [n]i64) (js: [n]i64) (xs: [n]f64) =
  let ks = map (% k) is
  let count = hist (+) 0 k ks (replicate n 1)
  let sum = hist (+) 0 k ks xs
  let squares = hist (+) 0 k ks (map (\\x -> x * x) xs)
  let least = hist f64.min f64.inf k ks xs
  let others = hist (+) 0 k js xs
  let late = reduce_by_index (copy sum) (+) 0 ks (map (\\i -> sum[i]) ks)
  in (count, sum, squares, least, others, late, map (\\i -> sum[i] + late[i]) ks)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_sums_into_the_same_bins_keep_their_meaning(n: int) -> None:
    """Three of the six have the same indices and need no other."""
    prog = simplify(inline(compile_text(SUMS, "sums.soac")))
    once, rules = fused_once(prog)
    assert rules.count("fuse_hists") == 3
    args = [np.int64(3), np.arange(n) * 5, np.arange(n)[::-1] - 1, np.arange(n) + 0.5]
    assert_fusion_keeps_the_meaning(prog, once, args)


def test_simplification_settles() -> None:
    """A second run finds nothing more to do."""
    for seed in range(20):
        once = simplify(program(seed).prog)
        assert simplify_module._round(once)[1] == 0


def test_no_array_is_joined_for_an_element() -> None:
    text = """
    entry main [n] (starts: [n]i64) (total: i64) (is: []i64) =
      map (\\i -> if i < 0 then 0 else let ends = starts ++ [total] in #[unsafe] (ends[i + 1] - ends[i])) is
    """
    prog = simplify(inline(compile_text(text, "ends.soac")))
    assert "concat" not in show(prog)
