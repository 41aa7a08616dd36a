"""Packed panels: products with many rows, on sizes around the tiles, steps and chunks of a block."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.core import Screma
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, ready
from soac.kernels.schedule.cpu.columns import elements_of
from soac.kernels.schedule.cpu.packed_panels import DEPTH, PITCH
from soac.kernels.schedule.cpu.products import (
    CHUNK,
    LEAST_BLOCKS,
    LEAST_COLUMNS,
    LEAST_DEPTH,
    LEAST_PIECE,
    LEAST_ROWS,
    MOST_TILES,
    TILES,
)
from soac.kernels.schedule.cpu.unroll_and_jam import ROWS
from soac.kernels.tracer.run import TraceSettings, show_finding, trace_program
from soac.pipeline import compile_core

PROGRAM = """
entry ints [n][p][m] (xss: [n][p]i32) (yss: [p][m]i32): [n][m]i32 =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose yss)) xss
entry batch [b][n][p][m] (xsss: [b][n][p]f64) (ysss: [b][p][m]f64): [b][n][m]f64 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys -> f64.sum (map2 (*) xs ys)) (transpose yss)) xss) xsss ysss
entry pairs [n][p][m] (xss: [n][p]i32) (yss: [p][m]i32): ([n][m]i32, [n][m]i32) =
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in unzip (map unzip (map (\\xs -> map (\\ys -> reduce compose (1, 0) (zip xs ys)) (transpose yss)) xss))
entry rows [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32): [n][m]i32 =
  map (\\xs -> map (\\ys -> i32.sum (map2 (*) xs ys)) yss) xss
entry scaled [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32): ([n][m]i32, [n]i32) =
  unzip (map (\\xs -> let zs = map (\\ys -> 2 * i32.sum (map2 (*) xs ys)) yss in (zs, i32.maximum zs)) xss)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def call(program: soac.Program, entry: str, *args: np.ndarray) -> list:
    outer = {site.name: True for site in sites(program.compiled.flat) if site.entry == entry}
    return program.call(entry, list(args), forced=outer)


def test_a_product_has_a_kernel_with_panels(program: soac.Program) -> None:
    kernels = [kernel for kernel in program.compiled.host.kernels if "narrow" not in kernel.name]
    made = [stm for kernel in kernels for stm in kernel.body if isinstance(stm, kir.Alloc)]
    assert (
        sum("panel" in stm.array.name for stm in made) == 8
    )  # sums whole and cut; those of `scaled` are those of `rows`


@pytest.mark.parametrize("n", [LEAST_ROWS - 1, LEAST_ROWS, 8 * TILES - 1, 8 * TILES + 1, 300])
@pytest.mark.parametrize("p", [0, 1, DEPTH - 1, DEPTH, DEPTH + 1])
def test_products(program: soac.Program, n: int, p: int) -> None:
    source = np.random.default_rng(1)
    for m in (1, 17, CHUNK - 1, CHUNK, CHUNK + 33):
        xss, yss = (source.integers(-99, 99, shape).astype(np.int32) for shape in ((n, p), (p, m)))
        np.testing.assert_array_equal(call(program, "ints", xss, yss)[0], xss @ yss)


@pytest.mark.parametrize("tiles", [TILES + 1, MOST_TILES - 1, 2 * MOST_TILES])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_many_rows_share_a_panel(program: soac.Program, tiles: int, more: int) -> None:
    source, n, m = np.random.default_rng(7), ROWS * LEAST_BLOCKS * tiles // 3 + more, 2 * CHUNK + 1
    xss, yss = (source.integers(-99, 99, shape).astype(np.int32) for shape in ((n, 9), (9, m)))
    np.testing.assert_array_equal(call(program, "ints", xss, yss)[0], xss @ yss)


def test_batches(program: soac.Program) -> None:
    source = np.random.default_rng(2)
    xsss, ysss = (source.integers(-9, 9, shape).astype(np.float64) for shape in ((3, 40, 300), (3, 300, 50)))
    np.testing.assert_array_equal(call(program, "batch", xsss, ysss)[0], xsss @ ysss)


def test_the_order_of_a_reduction_stays(program: soac.Program) -> None:
    """Composition of linear functions: associative, not commutative."""
    source = np.random.default_rng(3)
    xss, yss = (source.integers(-2, 3, shape).astype(np.int32) for shape in ((40, 600), (600, 9)))
    a, b = np.ones((40, 9), np.int32), np.zeros((40, 9), np.int32)
    with np.errstate(over="ignore"):
        for k in range(600):
            a, b = a * xss[:, k, None], b * xss[:, k, None] + yss[k]
    found = call(program, "pairs", xss, yss)
    np.testing.assert_array_equal(found[0], a)
    np.testing.assert_array_equal(found[1], b)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    program = soac.load(Path(__file__).parents[4] / "programs" / "matmul.soac")
    source = np.random.default_rng(4)
    xss, yss = source.random((200, 333), dtype=np.float32), source.random((333, 150), dtype=np.float32)
    forced = {"main.ys.suff_outer_0": True}
    assert len({program.call("main", [xss, yss], forced=forced, threads=t)[0].tobytes() for t in (1, 2, 3)}) == 1


LONG = (2 * LEAST_PIECE - 1, 2 * LEAST_PIECE, 2 * LEAST_PIECE + 1, 3 * LEAST_PIECE - DEPTH, 40 * LEAST_PIECE + 7)


@pytest.mark.parametrize("p", LONG)
def test_long_sums_of_few_results_are_cut(program: soac.Program, followed: soac.Program, p: int) -> None:
    """Pieces of the sums, on sizes around those of a piece; what follows a product; an operator that does not commute;
    symmetric results. The bits are the same for any number of threads."""
    source, (n, m) = np.random.default_rng(12), (LEAST_ROWS + 1, CHUNK + 1)

    def ints(*shape: int) -> np.ndarray:
        return source.integers(-9, 9, shape).astype(np.int32)

    xss, yss, cs, ds = ints(n, p), ints(m, p), ints(m), ints(n)
    turned = np.ascontiguousarray(yss.T)
    assert_equal(call(program, "ints", xss, turned), xss @ yss.T)
    sums = (xss @ yss.T + cs + ds[:, None]).astype(np.int64)
    np.testing.assert_array_equal(call(followed, "biased", xss, yss, cs, ds)[0], np.where(sums > 5, 2 * sums, sums))
    old, pair = ints(2, n, m), (np.stack([xss, xss + 1]), np.stack([turned, turned]))
    np.testing.assert_array_equal(call(followed, "batch", *pair, old)[0], 7 * (pair[0] @ pair[1]) - old)
    a, b = np.ones((n, m), np.int32), np.zeros((n, m), np.int32)
    with np.errstate(over="ignore"):
        for k in range(p):
            a, b = a * xss[:, k, None], b * xss[:, k, None] + turned[k]
    for found, want in zip(call(program, "pairs", xss, turned), (a, b), strict=True):
        np.testing.assert_array_equal(found, want)


def test_cut_sums_have_the_same_bits_on_any_number_of_threads() -> None:
    program, source = soac.compile(FLOATS), np.random.default_rng(13)
    xss = np.ascontiguousarray(source.random((LEAST_ROWS + 3, 5 * LEAST_PIECE + 9)).T)
    grams = {t: program.call("gram", [xss], forced={"gram.ys.suff_outer_0": True}, threads=t)[0] for t in (1, 2, 3)}
    assert len({gram.tobytes() for gram in grams.values()}) == 1
    np.testing.assert_array_equal(grams[1], grams[1].T)
    np.testing.assert_allclose(grams[1], xss.T @ xss / 2)


@pytest.mark.parametrize("n", [LEAST_ROWS - 1, LEAST_ROWS, 8 * TILES + 1])
@pytest.mark.parametrize("m", [LEAST_COLUMNS - 1, LEAST_COLUMNS, CHUNK + 33])
def test_rows_by_rows(program: soac.Program, n: int, m: int) -> None:
    """Both operands by rows; and a reduction that also gives the elements of the product that it reduces."""
    source = np.random.default_rng(4)
    for p in (0, 3, DEPTH + 1):
        xss, yss = (source.integers(-99, 99, shape).astype(np.int32) for shape in ((n, p), (m, p)))
        want = xss @ yss.T
        np.testing.assert_array_equal(call(program, "rows", xss, yss)[0], want)
        forced = {"scaled.ys.suff_outer_0": False, "scaled.ys.suff_intra_0": False, "scaled.ys.suff_outer_1": True}
        scaled, most = program.call("scaled", [xss, yss], forced=forced)
        np.testing.assert_array_equal(scaled, want * 2)
        np.testing.assert_array_equal(most, (want * 2).max(1))


FOLLOWED = """
def dot [n] (xs: [n]i32) (ys: [n]i32): i32 = i32.sum (map2 (*) xs ys)
entry biased [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32) (cs: [m]i32) (ds: [n]i32): [n][m]i64 =
  map2 (\\xs d -> map2 (\\ys c -> let s = d + c + dot xs ys in
    if s > 5 then i64.i32 s * 2 else i64.i32 s) yss cs) xss ds
entry two [n][p][q][m] (xss: [n][p]i32) (yss: [p][m]i32) (vss: [n][q]i32) (wss: [m][q]i32): ([n][m]i32, [n][m]i32) =
  unzip (map unzip (map2 (\\xs vs -> map2 (\\ys ws -> let a = dot xs ys in let b = dot vs ws in (a - b, a * b))
    (transpose yss) wss) xss vss))
entry in_turn [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32): [n][m]i32 =
  tabulate_2d n m (\\i j ->
    let largest = i32.maximum (tabulate p (\\k -> xss[i, k] * yss[j, k]))
    in largest + 3 * i32.sum (tabulate p (\\k -> (xss[i, k] * yss[j, k]) ^ largest)))
entry batch [b][n][p][m] (xsss: [b][n][p]i32) (ysss: [b][p][m]i32) (old: [b][n][m]i32): [b][n][m]i32 =
  tabulate_3d b n m (\\c i j -> 7 * i32.sum (tabulate p (\\k -> xsss[c, i, k] * ysss[c, k, j])) - old[c, i, j])
entry triangle [n][m] (xss: [n][n]i32) (yss: [n][m]i32): [n][m]i32 =
  tabulate_2d n m (\\i j -> 1 + i32.sum (map (\\k -> xss[i, k] * yss[k, j]) (iota i)))
"""


@pytest.fixture(scope="module")
def followed() -> soac.Program:
    return soac.compile(FOLLOWED)


@pytest.mark.parametrize("n", [0, 1, 17, LEAST_ROWS + 1, 8 * TILES + 3])
@pytest.mark.parametrize("m", [1, 3, LEAST_COLUMNS, CHUNK + 33])
def test_what_follows_products(followed: soac.Program, n: int, m: int) -> None:
    """Several reductions, also such as need each other's results, and what is made of them; on all sizes of a width."""
    source = np.random.default_rng(5)

    def ints(*shape: int) -> np.ndarray:
        return source.integers(-9, 9, shape).astype(np.int32)

    for p in (0, 2, DEPTH + 3):
        xss, yss, cs, ds = ints(n, p), ints(m, p), ints(m), ints(n)
        sums = (xss @ yss.T + cs + ds[:, None]).astype(np.int64)
        np.testing.assert_array_equal(call(followed, "biased", xss, yss, cs, ds)[0], np.where(sums > 5, 2 * sums, sums))
        vss, wss = ints(n, 5), ints(m, 5)
        a, b = xss @ yss.T, vss @ wss.T
        found = call(followed, "two", xss, np.ascontiguousarray(yss.T), vss, wss)
        np.testing.assert_array_equal(found[0], a - b)
        np.testing.assert_array_equal(found[1], a * b)
        products = xss[:, None, :] * yss
        largest = products.max(2, initial=-(2**31)).astype(np.int32)
        with np.errstate(over="ignore"):
            want = largest + 3 * (products ^ largest[:, :, None]).sum(2, dtype=np.int32)
        np.testing.assert_array_equal(call(followed, "in_turn", xss, yss)[0], want)
        xsss, ysss, old = ints(2, n, p), ints(2, p, m), ints(2, n, m)
        np.testing.assert_array_equal(call(followed, "batch", xsss, ysss, old)[0], 7 * (xsss @ ysss) - old)
    square, yss = ints(n, n), ints(n, m)
    np.testing.assert_array_equal(call(followed, "triangle", square, yss)[0], 1 + np.tril(square, -1) @ yss)


def test_each_reduction_has_a_panel(followed: soac.Program) -> None:
    made = [[s.array.name for s in k.body if isinstance(s, kir.Alloc)] for k in followed.compiled.host.kernels]
    panels = [sum("panel" in name for name in names) for names in made if "narrow" not in names]
    assert panels.count(2) >= 2, "two, in_turn"
    assert panels.count(1) >= 2, "biased, batch"


COMPUTED = """
entry weighted [p][n] (ws: [p]i32) (xss: [p][n]i32): [n][n]i32 =
  tabulate_2d n n (\\i j -> i32.sum (tabulate p (\\k -> (ws[k] + 1) * xss[k, i] * (xss[k, j] ^ ws[k]))))
entry shifted [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32) (cs: [n]i32) (ds: [m]i32): [n][m]i32 =
  map2 (\\xs c -> map2 (\\ys d ->
    i32.sum (map2 (\\x y -> let z = y * y - d in (x - c) * z + (x % 3 + 3) * i32.bool (z > 0)) xs ys)) yss ds) xss cs
entry both [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32) (zsss: [n][m][p]i32): [n][m]i32 =
  map2 (\\xs zss -> map2 (\\ys zs -> i32.sum (map3 (\\x y z -> (x * 2) * (y + 1) + z) xs ys zs)) yss zss) xss zsss
entry cosines [n][p][m] (xss: [n][p]i32) (yss: [m][p]i32): [n][m]i32 =
  let dot [k] (xs: [k]i32) (ys: [k]i32) = i32.sum (map2 (*) xs ys)
  in tabulate_2d n m (\\i j ->
    let mean = i32.sum yss[j] / 5
    let own = i32.sum (map (\\x -> (x - i32.i64 i) ^ 3) xss[i])
    in dot xss[i] (map (\\y -> y - mean) yss[j]) - 2 * dot yss[j] yss[j] + own)
entry columns [n][p][m] (yss: [p][m]i32) (cs: [n]i32): [n][m]i32 =
  map (\\c -> map (\\ys -> c + i32.sum (map (* 3) ys)) (transpose yss)) cs
"""


@pytest.mark.parametrize("n", [1, LEAST_ROWS + 1, 8 * TILES + 3])
@pytest.mark.parametrize("m", [0, 2, LEAST_COLUMNS + 1, CHUNK + 33])
def test_computed_operands(n: int, m: int) -> None:
    """What depends on a row or a column alone is computed in its panel, what depends on both is not."""
    program, source = soac.compile(COMPUTED), np.random.default_rng(6)

    def ints(*shape: int) -> np.ndarray:
        return source.integers(-9, 9, shape).astype(np.int32)

    for p in (0, 3, DEPTH + 1):
        xss, yss, zsss, ws, cs, ds = ints(n, p), ints(m, p), ints(n, m, p), ints(p), ints(n), ints(m)
        turned, square = np.ascontiguousarray(yss.T), ints(p, n)
        assert_equal(call(program, "weighted", ws, square), ((ws + 1)[:, None] * square).T @ (square ^ ws[:, None]))
        z = yss * yss - ds[:, None]
        assert_equal(call(program, "shifted", xss, yss, cs, ds), (xss - cs[:, None]) @ z.T + (xss % 3 + 3) @ (z > 0).T)
        assert_equal(call(program, "both", xss, yss, zsss), 2 * xss @ (yss + 1).T + zsss.sum(2))
        means, owns = yss.sum(1) // 5, ((xss - np.arange(n)[:, None]) ^ 3).sum(1)
        want = xss @ (yss - means[:, None]).T - 2 * (yss * yss).sum(1) + owns[:, None]
        assert_equal(call(program, "cosines", xss, yss), want)
        assert_equal(call(program, "columns", turned, cs), cs[:, None] + 3 * turned.sum(0))


SYMMETRIC = """
entry gram [p][n] (xss: [p][n]i32): [n][n]i32 =
  map (\\xs -> map (\\ys -> i32.sum (map2 (*) xs ys)) (transpose xss)) (transpose xss)
entry squares [n][p] (xss: [n][p]i32): [n][n]i64 =
  map (\\xs -> map (\\ys -> i64.i32 (i32.sum (map2 (\\x y -> (x - y) * (x - y)) xs ys)) + 1) xss) xss
entry kernel [b][n][p] (xsss: [b][n][p]i32): ([b][n][n]i32, [b][n][n]i32) =
  let dot [k] (xs: [k]i32) (ys: [k]i32) = i32.sum (map2 (*) xs ys)
  let pair xs ys = (dot xs xs + dot ys ys - 2 * dot xs ys, i32.sum (map2 (\\x y -> i32.abs (x - y)) xs ys))
  in unzip (map unzip (map (map unzip) (map (\\xss -> map (\\xs -> map (pair xs) xss) xss) xsss)))
entry ordered [n][p] (xss: [n][p]i32): [n][n]i32 =
  map (\\xs -> map (\\ys -> i32.sum (map2 (\\x y -> i32.max 0 (x - y)) xs ys)) xss) xss
"""


@pytest.fixture(scope="module")
def symmetric() -> soac.Program:
    return soac.compile(SYMMETRIC)


@pytest.mark.parametrize("n", [LEAST_ROWS, CHUNK, 2 * CHUNK + 5])
def test_symmetric_results(symmetric: soac.Program, n: int) -> None:
    """Half of a symmetric matrix is computed, all of one that is not."""
    program, source = symmetric, np.random.default_rng(7)
    for p in (0, LEAST_DEPTH, DEPTH + 1):
        xss = source.integers(-9, 9, (n, p)).astype(np.int32)
        apart = xss[:, None] - xss
        assert_equal(call(program, "gram", np.ascontiguousarray(xss.T)), xss @ xss.T)
        np.testing.assert_array_equal(call(program, "squares", xss)[0], (apart**2).sum(2) + 1)
        assert_equal(call(program, "ordered", xss), apart.clip(0).sum(2))
        found = call(program, "kernel", np.stack([xss, xss + 1]))
        np.testing.assert_array_equal(found[0], np.stack([(apart**2).sum(2)] * 2))
        np.testing.assert_array_equal(found[1], np.stack([abs(apart).sum(2)] * 2))


FLOATS = """
entry gram [n][p] (xss: [p][n]f64): [n][n]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 (*) xs ys) / 2) (transpose xss)) (transpose xss)
entry between [n][p] (xss: [n][p]f64): [n][n]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 (\\x y -> f64.abs (x - y)) xs ys)) xss) xss
entry similar [n][p] (xss: [n][p]f64): [n][n]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 f64.min xs ys) / f64.sum (map2 f64.max xs ys)) xss) xss
entry apart [n][p] (xss: [n][p]f64) (yss: [n][p]f64): [n][n]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 (*) xs ys)) yss) xss
entry turned [n][m][p] (xss: [p][n]f64) (yss: [m][p]f64): [n][m]f64 =
  map (\\xs -> map (\\ys -> f64.sum (map2 (\\x y -> (x + 1) * y) xs ys)) yss) (transpose xss)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_several_squares(threads: int) -> None:
    """Blocks of more rows than columns, of which those on the diagonal end within one; rows that lie as columns."""
    program, source, n, p = soac.compile(FLOATS), np.random.default_rng(8), 6 * CHUNK + 5, DEPTH + 3
    xss, yss = (source.integers(1, 9, (n, p)).astype(np.float64) for _ in range(2))
    xss[7], xss[n - 2, 3], xss[200, 0], xss[300] = -0.0, np.nan, np.inf, 0
    turned = np.ascontiguousarray(xss.T)

    def found(entry: str, *args: np.ndarray) -> np.ndarray:
        outer = {site.name: True for site in sites(program.compiled.flat) if site.entry == entry}
        return program.call(entry, list(args), forced=outer, threads=threads)[0]

    with np.errstate(invalid="ignore"):
        whole = program.call("apart", [xss, xss.copy()])[0] / 2
        wanted = {"gram": whole, "between": [abs(xs - xss).sum(1) for xs in xss]}
        wanted["similar"] = [np.fmin(xs, xss).sum(1) / np.fmax(xs, xss).sum(1) for xs in xss]
        others = {"apart": xss @ yss.T, "turned": (xss + 1) @ yss.T}
    for entry, want in wanted.items():
        got = found(entry, turned if entry == "gram" else xss)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(got.view(np.int64), got.T.view(np.int64))
    for entry, want in others.items():
        np.testing.assert_array_equal(found(entry, xss if entry == "apart" else turned, yss), want)


@pytest.mark.parametrize(("entry", "n"), [("gram", 3 * CHUNK // 2 + 6), ("turned", 4 * PITCH + 11)])
def test_blocks_write_what_is_theirs(entry: str, n: int) -> None:
    """Parts are even: blocks have rows that fill no panel, and a square on the diagonal begins within a tile."""
    program, source = soac.compile(FLOATS), np.random.default_rng(9)
    xss = [source.integers(1, 9, (LEAST_DEPTH, n)).astype(np.float64)]
    args = (
        xss if entry == "gram" else [*xss, source.integers(1, 9, (LEAST_COLUMNS + 5, LEAST_DEPTH)).astype(np.float64)]
    )
    outer = {site.name: True for site in sites(program.compiled.flat) if site.entry == entry}
    report = trace_program(program.compiled, entry, args, outer, TraceSettings(threads=8, warp=4))
    assert report.is_clean, [show_finding(f) for launch in report.launches for f in launch.findings]
    assert any(launch.blocks > 1 for launch in report.launches)


def test_panels_are_as_wide_as_a_group_of_lanes() -> None:
    """Their width is known when code is made; loops over them take in some elements in a round."""
    program = soac.compile(PROGRAM.partition("entry pairs")[0])
    texts = {kernel.name: (kernel, show_kernel(kernel)) for kernel in program.compiled.host.kernels}
    packed = [(kernel, text) for kernel, text in texts.values() if re.search(r"\bgroup\b", text)]
    assert len(packed) == 4, "two products, their sums whole and cut"
    for kernel, text in packed:
        assert show_kernel(parse_kernel(text)) == text
        assert "llvm.loop.unroll.count" in emit((ready(kernel, CPU_PASSES),))


def assert_equal(found: list, want: np.ndarray) -> None:
    np.testing.assert_array_equal(found[0], want.astype(np.int32))


@pytest.mark.parametrize(("factor", "columns"), [("ys[j]", 1), ("ys[k]", 0)])
def test_columns_are_taken_at_places_that_all_rows_share(factor: str, columns: int) -> None:
    text = f"""entry main [n][m] (xss: [n][m]i32) (yss: [m][m]i32): [n][m]i32 =
      tabulate_2d n m (\\i j -> i32.sum (map3 (\\x ys k -> x * ys[j] * {factor}) xss[i] yss (iota m)))"""
    flat = compile_core(compile_text(text, "main.soac"), Mode.INCREMENTAL, CPU).flat
    sums = [exp for exp in all_exps(flat.functions[0].body) if isinstance(exp, Screma)]
    rows = {(exp, row) for exp in sums for row in exp.map.params if row.type.shape}
    assert {len(elements_of(exp.map, row)) for exp, row in rows} == {columns}
