"""The default where points share matrices: a version that keeps a point together only where its products are small."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import soac
from soac.ir.core import Body, GuardCmp, If
from soac.ir.parse import parse_prog
from soac.ir.show import show, without_locations
from soac.ir.traverse import bodies
from soac.ir.types import Const
from soac.kernels.devices.cpu.executable import Executable, Runner
from soac.pipeline import flat_prog

SCORES = """
entry main [b][n][h] (xs: [b][n]i32) (w: [h][n]i32): [b][h]i32 =
  map (\\x -> let ys = map (\\r -> i32.sum (map2 (*) x r)) w
             let top = i32.maximum ys
             in map (\\y -> top - y) ys) xs
"""
NO_PRODUCT = """
entry main [b][n] (xs: [b][n]i32) (w: [n]i32): [b][n]i32 =
  map (\\x -> let s = i32.sum (map2 (*) x w) in map (* s) (scan (+) 0 x)) xs
"""
NEAREST = """
entry main [b][n][h] (xs: [b][n]i32) (w: [h][n]i32): [b]i32 =
  map (\\x -> i32.minimum (map (\\r -> i32.sum (map2 (*) x r)) w)) xs
"""
OWN_MATRIX = """
entry main [b][n][h] (xs: [b][n]i32) (ws: [b][h][n]i32): [b][h]i32 =
  map2 (\\x w -> let ys = map (\\r -> i32.sum (map2 (*) x r)) w
                let top = i32.maximum ys
                in map (\\y -> top - y) ys) xs ws
"""
NEAREST_AND_MORE = """
entry main [b][n][h] (xs: [b][n]i32) (w: [h][n]i32): [b]i32 =
  map (\\x -> let least = i32.minimum (map (\\r -> i32.sum (map2 (*) x r)) w) in i32.sum (map (* least) x)) xs
"""
OWN_ROWS = """
entry main [b][n] (xs: [b][n]i64) (ks: [b]i64): [b]i64 =
  map (\\k -> let w = map (\\i -> map (+ i) (scan (+) 0 (iota n))) (iota k)
             in i64.sum (map (\\x -> let ys = map (\\r -> i64.sum (map2 (*) x r)) w
                                   let top = i64.maximum ys
                                   in i64.sum (map (\\y -> top - y) ys)) xs)) ks
"""


def guards(body: Body) -> Iterator[GuardCmp]:
    for stm in body.stms:
        if isinstance(stm.exp, GuardCmp):
            yield stm.exp
        for inner in bodies(stm.exp) if isinstance(stm.exp, If) else ():
            yield from guards(inner)


def conditional(text: str) -> list[str]:
    """The kinds of the guards that hold by default only where something else holds too."""
    (fun,) = flat_prog(text, "products.soac").flat.functions
    return [g.threshold.removeprefix("main.") for g in guards(fun.body) if not isinstance(g.pays, Const)]


def test_a_product_asks() -> None:
    assert conditional(SCORES) == ["ys.suff_outer_0", "ys.suff_intra_0"]


@pytest.mark.parametrize("text", [NO_PRODUCT, NEAREST, NEAREST_AND_MORE, OWN_MATRIX, OWN_ROWS])
def test_what_is_no_product_of_rows_that_points_share_asks_nothing(text: str) -> None:
    assert "ys.suff_outer_0" not in conditional(text)


@pytest.mark.parametrize(
    ("points", "rows", "depth", "outer"),
    [(8, 16, 16, False), (8, 15, 16, True), (8, 16, 15, True), (40, 130, 3, True)],
)
def test_both_runners_take_the_same_default(points: int, rows: int, depth: int, outer: bool) -> None:
    program = soac.compile(SCORES)
    by_python = Executable.build(program.compiled.host, program.compiled.core.functions, runner=Runner.PYTHON)
    rng = np.random.default_rng(points)
    xs, w = (rng.integers(-9, 9, shape).astype(np.int32) for shape in ((points, depth), (rows, depth)))
    products = xs @ w.T
    name = "main.ys.suff_outer_0"
    for thresholds, forced, taken in (
        ({}, {}, outer),
        ({name: points}, {}, True),
        ({name: points + 1}, {}, False),
        ({}, {name: True}, True),
        ({}, {name: False}, False),
    ):
        results, reached = program.trace("main", [xs, w], thresholds, forced)
        assert reached[0] == (name, points, taken)
        assert tuple(by_python.run("main", [xs, w], thresholds, forced)[1]) == tuple(reached)
        assert (results[0] == products.max(axis=1, keepdims=True) - products).all()


@pytest.mark.quick
def test_text() -> None:
    flat = without_locations(soac.compile(SCORES).compiled.flat)
    assert " where pays_" in show(flat)
    assert show(parse_prog(show(flat))) == show(flat)
