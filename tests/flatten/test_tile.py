"""Tiling (golden 4.6): what is tiled and what is not, and the values for sizes that no tile divides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from soac.flatten.levels import CPU, CUDA, Machine
from soac.flatten.structure import structure
from soac.flatten.tile import REGISTERS
from soac.flatten.tree import combinations, sites, size_params
from soac.ir.core import Prog
from soac.ir.interpret import Thresholds, interpret
from soac.ir.parse import parse_prog
from soac.ir.show import show
from soac.pipeline import compile_prog

SUMS = """
entry main [n] (xs: [n]i32) : [n]i32 =
  let zs = map (\\x -> i32.sum (map (+x) xs)) xs in zs
"""
MATMUL = """
entry main [n][m][p] (xss: [n][p]i32) (yss: [p][m]i32) : [n][m]i32 =
  let zss = map (\\xs -> map (\\ys -> i32.sum (map2 (*) xs ys)) (transpose yss)) xss in zss
"""


def flat(text: str, machine: Machine = CUDA) -> Prog:
    return compile_prog(text, "tile.soac", machine=machine, checked=True).flat


def counts(prog: Prog, *paths: str) -> tuple[int, ...]:
    found = structure(prog)
    return tuple(found.get(path, 0) for path in paths)


def assert_value(prog: Prog, tile: int, args: Sequence[Any], expected: np.ndarray) -> None:
    """The result on every leaf, with tiles of this edge, and of register tiles of each edge."""
    names = ("main.zs.tile_0", "main.zss.tile_0", "main.zsss.tile_0")
    registers = [name.replace("tile", "registers") for name in names]
    in_registers = any("registers" in name for name in size_params(prog))
    for leaf, each in product(combinations(sites(prog)), (*REGISTERS, 1) if in_registers else (1,)):
        sizes = dict.fromkeys(names, tile) | dict.fromkeys(registers, each)
        (found,), _ = interpret(prog, "main", args, Thresholds(sizes, leaf))
        np.testing.assert_array_equal(found, expected)


def test_one_dimension() -> None:
    """4.6: a block copies a tile of the shared row, its threads reduce over it."""
    prog = flat(SUMS)
    assert counts(prog, "SegMap/Loop/SegMap", "SegMap/Loop/Copy", "/If/True/SegMap", "SegRed") == (1, 1, 1, 1)
    assert counts(prog, "SegMap/Loop/SegMap/Redomap", "Redomap") == (1, 1)


@pytest.mark.parametrize("n", [0, 1, 5, 8, 37, 40])
@pytest.mark.parametrize("tile", [8, 1, 64])
def test_one_dimension_gives(n: int, tile: int) -> None:
    xs = np.arange(n, dtype=np.int32) * 7 - 11
    assert_value(flat(SUMS), tile, [xs], (xs[:, None] + xs[None, :]).sum(1, dtype=np.int32))


def test_two_dimensions() -> None:
    """4.3: both operands of a product are tiled, for 4 x 4, 2 x 2 and one result of a thread."""
    prog = flat(MATMUL)
    assert counts(prog, "SegMap/Loop/SegMap/Redomap", "SegMap/Loop/Copy") == (3, 6)
    several, one = "If/True/SegMap/Loop", "If/False/If/False/SegMap/Loop"
    assert counts(prog, f"{several}/SegMap/ArrayLit", f"{one}/Copy", f"{one}/SegMap") == (5 + 3, 2, 1)


@pytest.mark.parametrize(("n", "p", "m"), [(2, 3, 2), (9, 20, 17), (8, 8, 8), (0, 3, 4), (3, 0, 4), (1, 25, 1)])
def test_two_dimensions_give(n: int, p: int, m: int) -> None:
    source = np.random.default_rng(1)
    xss, yss = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((n, p), (p, m)))
    assert_value(flat(MATMUL), 8, [xss, yss], xss @ yss)


def test_batches_keep_their_dimension() -> None:
    text = """
    entry main [b][n][m][p] (xsss: [b][n][p]i64) (yss: [p][m]i64) : [b][n][m]i64 =
      let zsss = map (\\xss -> map (\\xs -> map (\\ys -> i64.sum (map2 (*) xs ys) * 2) (transpose yss)) xss) xsss
      in zsss
    """
    prog = flat(text)
    assert counts(prog, "SegMap/Loop/Copy", "SegMap/SegMap") == (6, 3)
    source = np.random.default_rng(2)
    xsss, yss = source.integers(-9, 9, (3, 5, 11)), source.integers(-9, 9, (11, 6))
    assert_value(prog, 4, [xsss, yss], xsss @ yss * 2)


def test_the_order_of_a_reduction_stays() -> None:
    """Composition of linear functions: associative, not commutative, on pairs."""
    text = """
    def compose (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a * c, b * c + d)
    entry main [n][m] (xs: [n]i32) (fs: [m]i32) (gs: [m]i32) : [n]i32 =
      let zs = map (\\x -> let (a, b) = reduce compose (1, 0) (map2 (\\f g -> (f + x, g)) fs gs) in a * x + b) xs in zs
    """
    prog = flat(text)
    assert counts(prog, "SegMap/Loop/Copy", "SegMap/SegMap") == (2, 1)
    source = np.random.default_rng(3)
    xs, fs, gs = (source.integers(-3, 4, k).astype(np.int32) for k in (13, 21, 21))
    with np.errstate(over="ignore"):
        expected = xs.copy()
        for f, g in zip(fs, gs, strict=True):
            expected = expected * (f + xs) + g
    assert_value(prog, 8, [xs, fs, gs], expected)


def test_rows_that_threads_read_by_themselves() -> None:
    """One row is shared, the other is the thread's own."""
    text = """
    entry main [n][m] (xss: [n][m]i32) (ys: [m]i32) : [n]i32 =
      let zs = map (\\xs -> i32.sum (map2 (*) xs ys)) xss in zs
    """
    prog = flat(text)
    assert counts(prog, "SegMap/Loop/Copy", "SegMap/Loop/SegMap/Redomap") == (1, 1)
    source = np.random.default_rng(4)
    xss, ys = source.integers(-9, 9, (19, 30)).astype(np.int32), source.integers(-9, 9, 30).astype(np.int32)
    assert_value(prog, 8, [xss, ys], xss @ ys)


@pytest.mark.parametrize(
    "body",
    [
        "map (\\xs -> i32.sum xs) xss",
        "map (\\xs -> i32.sum (map2 (*) xs[:4] (xs[1:5] :> [4]i32))) xss",
        "map (\\xs -> last (scan (+) 0 xs)) xss",
    ],
    ids=["own rows only", "short", "a scan"],
)
def test_nothing_to_share(body: str) -> None:
    prog = flat(f"entry main [n][m] (xss: [n][m]i32) : [n]i32 = {body}")
    assert counts(prog, "SizeParam") == (0,)


def test_machines_without_tiles() -> None:
    assert counts(flat(MATMUL, CPU), "SizeParam") == (0,)


def test_tiled_programs_parse_back() -> None:
    prog = flat(MATMUL)
    assert show(parse_prog(show(prog))) == show(prog)


def test_a_tile_has_a_size() -> None:
    prog = flat(SUMS)
    xs = np.ones(3, np.int32)
    (found,), _ = interpret(prog, "main", [xs], Thresholds({"main.zs.tile_0": 2}, {"main.zs.suff_outer_0": True}))
    np.testing.assert_array_equal(found, [6, 6, 6])
