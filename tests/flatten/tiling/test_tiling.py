"""Tiling (golden 4.6): what is tiled and what is not, and the values for sizes that no tile divides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from soac.flatten.tiling.choose import REGISTERS, tiled_with
from soac.ir.core import Body, If, PrimOp, Prog, SizeParam
from soac.ir.interpret import Thresholds, interpret
from soac.ir.machine import CPU, CUDA, Machine
from soac.ir.parse import parse_prog
from soac.ir.scalar import apply
from soac.ir.show import show
from soac.ir.traverse import bodies
from soac.ir.types import Atom, Const, Name
from soac.ir.version_tree import combinations, sites, size_params
from soac.pipeline import compile_prog
from soac.testing.structure import structure

SUMS = """
entry main [n] (xs: [n]i32) : [n]i32 =
  let zs = map (\\x -> i32.sum (map (+x) xs)) xs in zs
"""
MATMUL = """
entry main [n][m][p] (xss: [n][p]i32) (yss: [p][m]i32) : [n][m]i32 =
  let zss = map (\\xs -> map (\\ys -> i32.sum (map2 (*) xs ys)) (transpose yss)) xss in zss
"""


SMALL = replace(CUDA, tile=8)


def flat(text: str, machine: Machine = CUDA) -> Prog:
    return compile_prog(text, "tile.soac", machine=machine, checked=True).flat


def counts(prog: Prog, *paths: str) -> tuple[int, ...]:
    found = structure(prog)
    return tuple(found.get(path, 0) for path in paths)


def assert_value(prog: Prog, args: Sequence[Any], expected: np.ndarray) -> None:
    """The result on every version, with each number of results of a thread."""
    names = list(size_params(prog))
    in_registers = any("registers" in name for name in names)
    for version, each in product(combinations(sites(prog)), REGISTERS if in_registers else (1,)):
        sizes = {name: each if "registers" in name else 1 for name in names}
        (found,), _ = interpret(prog, "main", args, Thresholds(sizes, version))
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
    assert_value(flat(SUMS, replace(CUDA, tile=tile)), [xs], (xs[:, None] + xs[None, :]).sum(1, dtype=np.int32))


def test_two_dimensions() -> None:
    """4.3: a product is computed with R x R results of a thread, for each R that there is code for."""
    prog = flat(MATMUL)
    assert tilings(prog) == [8, 4, 2, 1]
    assert counts(prog, "If/True/If/True/SegMap/Redomap", "SegMap/Loop") == (1, 0)


def tilings(prog: Prog) -> list[int]:
    """R of each segmap that is tiled in two dimensions, in the order of the text."""

    def inside(body: Body) -> Iterator[int]:
        for stm in body.stms:
            each = tiled_with(stm)
            yield from (each,) if each is not None else ()
            for inner in bodies(stm.exp):
                yield from inside(inner)

    return [each for fun in prog.functions for each in inside(fun.body)]


def test_long_code_is_not_repeated() -> None:
    steps = " |> ".join(f"(\\x -> (x * {k} + 1) % 7)" for k in range(2, 40))
    text = MATMUL.replace("map2 (*) xs ys", f"map2 (\\x y -> x * y |> {steps}) xs ys")
    assert tilings(flat(text)) == [2, 1]


def test_as_many_results_as_leave_blocks_enough() -> None:
    """By default the largest R with 128 blocks of 16R x 16R."""
    prog = flat(MATMUL)
    cases = [(16, 1), (16 * 11, 1), (16 * 12, 1), (32 * 12, 2), (64 * 12, 4), (128 * 12, 8)]
    assert [taken(prog, n) for n, _ in cases] == [each for _, each in cases]
    assert taken(prog, 128 * 12, {"main.ys.registers_0": 4}) == 4
    assert taken(prog, 128, {"main.ys.blocks_0": 1}) == 8


@pytest.mark.parametrize(("length", "each"), [(511, 1), (8 * 512 - 1, 1), (8 * 512, 4)])
def test_long_products_count_their_shares(length: int, each: int) -> None:
    """A share is 512 elements at least; 16 blocks of 64 x 64 with 8 shares are 128."""
    assert taken(flat(MATMUL), 256, length=length) == each


def taken(prog: Prog, n: int, sizes: dict[str, int] | None = None, length: int | None = None) -> int | None:
    """R where n x n results are computed, of `length` products each or of n."""
    (fun,) = prog.functions
    (stm,) = (s for s in fun.body.stms if isinstance(s.exp, If))
    assert isinstance(stm.exp, If)
    known: dict[Name, int] = {p.name: n for p in fun.params if not p.type.shape}
    known |= {name: length for name in known if length is not None and name.base == "p"}

    def value(atom: Atom) -> int:
        return int(atom.value) if isinstance(atom, Const) else known[atom.name]

    def side(body: Body) -> int | None:
        for s in body.stms:
            match s.exp:
                case SizeParam(name, default):
                    known[s.pat[0].name] = (sizes or {}).get(name, default)
                case PrimOp(op, prim, args):
                    known[s.pat[0].name] = int(apply(op, prim, tuple(map(value, args))))
                case If(cond, then, orelse):
                    return side(then if value(cond) else orelse)
                case _:
                    return tiled_with(s)
        return None

    return side(stm.exp.then)


@pytest.mark.parametrize(("n", "p", "m"), [(2, 3, 2), (9, 20, 17), (8, 8, 8), (0, 3, 4), (3, 0, 4), (1, 25, 1)])
def test_two_dimensions_give(n: int, p: int, m: int) -> None:
    source = np.random.default_rng(1)
    xss, yss = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((n, p), (p, m)))
    assert_value(flat(MATMUL), [xss, yss], xss @ yss)


def test_batches_keep_their_dimension() -> None:
    text = """
    entry main [b][n][m][p] (xsss: [b][n][p]i64) (yss: [p][m]i64) : [b][n][m]i64 =
      let zsss = map (\\xss -> map (\\xs -> map (\\ys -> i64.sum (map2 (*) xs ys) * 2) (transpose yss)) xss) xsss
      in zsss
    """
    prog = flat(text)
    assert (counts(prog, "SegMap/Loop/Copy"), tilings(prog)) == ((0,), [8, 4, 2, 1])
    source = np.random.default_rng(2)
    xsss, yss = source.integers(-9, 9, (3, 5, 11)), source.integers(-9, 9, (11, 6))
    assert_value(prog, [xsss, yss], xsss @ yss * 2)


def test_the_order_of_a_reduction_stays() -> None:
    """Composition of linear functions: associative, not commutative, on pairs."""
    text = """
    def compose (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a * c, b * c + d)
    entry main [n][m] (xs: [n]i32) (fs: [m]i32) (gs: [m]i32) : [n]i32 =
      let zs = map (\\x -> let (a, b) = reduce compose (1, 0) (map2 (\\f g -> (f + x, g)) fs gs) in a * x + b) xs in zs
    """
    prog = flat(text, SMALL)
    assert counts(prog, "SegMap/Loop/Copy", "SegMap/SegMap") == (2, 2)
    source = np.random.default_rng(3)
    xs, fs, gs = (source.integers(-3, 4, k).astype(np.int32) for k in (13, 21, 21))
    with np.errstate(over="ignore"):
        expected = xs.copy()
        for f, g in zip(fs, gs, strict=True):
            expected = expected * (f + xs) + g
    assert_value(prog, [xs, fs, gs], expected)


def test_rows_that_threads_read_by_themselves() -> None:
    """One row is shared, the other is the thread's own."""
    text = """
    entry main [n][m] (xss: [n][m]i32) (ys: [m]i32) : [n]i32 =
      let zs = map (\\xs -> i32.sum (map2 (*) xs ys)) xss in zs
    """
    prog = flat(text, SMALL)
    assert counts(prog, "SegMap/Loop/Copy", "SegMap/Loop/SegMap/Redomap") == (1, 1)
    source = np.random.default_rng(4)
    xss, ys = source.integers(-9, 9, (19, 30)).astype(np.int32), source.integers(-9, 9, 30).astype(np.int32)
    assert_value(prog, [xss, ys], xss @ ys)


@pytest.mark.parametrize(
    "body",
    [
        "map (\\xs -> i32.sum xs) xss",
        "map (\\xs -> i32.sum (map2 (*) xs[:4] (xs[1:5] :> [4]i32))) xss",
        "map (\\xs -> last (scan (+) 0 xs)) xss",
        "map (\\xs -> i32.sum (map (* xs[0]) zs)) xss",
        "map (\\xs -> i32.sum (map (\\ws -> ws[0] * xs[0] + ws[1]) wss)) xss",
        "map (\\xs -> let ws = map (* xs[0]) ys in i32.sum ws * ws[i64.i32 xs[1]]) xss",
        "map (\\xs -> reduce (\\a b -> a + b + xs[1]) 0 (map (* xs[0]) ys)) xss",
        "map (\\xs -> reduce (+) xs[1] (map (* xs[0]) ys)) xss",
    ],
    ids=[
        "own rows only",
        "short",
        "a scan",
        "a short row that all share",
        "rows that all share",
        "what is summed is read",
        "an operator of the nest",
        "a neutral element of the nest",
    ],
)
def test_nothing_to_share(body: str) -> None:
    prog = flat(f"entry main [n][m] (xss: [n][m]i32) (ys: [m]i32) (zs: [7]i32) (wss: [m][m]i32) : [n]i32 = {body}")
    assert counts(prog, "SizeParam", "Copy") == (0, 0)


def test_machines_without_tiles() -> None:
    assert counts(flat(MATMUL, CPU), "SizeParam") == (0,)
    assert counts(flat(SUMS, CPU), "Copy") == (0,)


def test_tiled_programs_parse_back() -> None:
    prog = flat(MATMUL)
    assert show(parse_prog(show(prog))) == show(prog)
