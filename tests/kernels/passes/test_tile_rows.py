"""Loops along rows, a row to a lane, go in tiles where nothing forbids it, and give what they gave."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import soac
from soac.kernels.analysis.uniformity import find_facts
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import LaneShape
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.tile_rows import tile_rows, tiled_accesses

PROGRAM = """
entry f64s [n][m] (xss: [n][m]f64): [n]f64 = map (\\xs -> #[sequential] f64.sum xs) xss
entry bytes [n][m] (xss: [n][m]u8): [n]u8 = map (\\xs -> #[sequential] u8.sum xs) xss
entry some [n][m] (xss: [n][m]bool): [n]bool = map (\\xs -> #[sequential] or xs) xss
entry mixed [n][m] (xss: [n][m]i64) (yss: [n][m]f32): [n]f32 =
  map2 (\\xs ys -> #[sequential] f32.sum (map2 (\\x y -> f32.i64 x * y) xs ys)) xss yss
entry shorts [n][m] (xss: [n][m]i16): [n][m]i16 = map (\\xs -> #[sequential] scan (+) 0 xs) xss
entry prefixes [n][m] (xss: [n][m]i64): ([n][m]i64, [n]i64) =
  unzip (map (\\xs -> #[sequential] let ys = scan (+) 0 xs in (ys, i64.sum (map (* 2) ys))) xss)
"""


LANES = LaneShape(16, 1, True)


def tiles(text: str) -> tuple[int, int]:
    """Tiles loaded and stored by all kernels of a program."""
    kernels = [tile_rows(replace(k, lanes=LANES)) for k in soac.compile(text).compiled.host.kernels]
    found = [s for k in kernels for s in statements(k.body)]
    return sum(isinstance(s, kir.LoadTile) for s in found), sum(isinstance(s, kir.StoreTile) for s in found)


@pytest.mark.parametrize("rows", [1, 3, 13, 16, 63, 64, 130])
def test_every_length_of_rows(rows: int) -> None:
    program = soac.compile(PROGRAM)
    for m in (*range(20), 31, 32, 33):
        xss = np.random.default_rng(m).integers(-9, 9, (rows, m))
        np.testing.assert_array_equal(program.f64s(xss.astype(np.float64)), xss.sum(1))
        np.testing.assert_array_equal(program.bytes(xss.astype(np.uint8)), xss.sum(1).astype(np.uint8))
        np.testing.assert_array_equal(program.some(xss > 7), (xss > 7).any(1))
        squares = (xss * xss).sum(1)
        np.testing.assert_array_equal(program.mixed(xss, xss.astype(np.float32)), squares)
        np.testing.assert_array_equal(program.shorts(xss.astype(np.int16)), xss.cumsum(1))
        prefixes, twice = program.prefixes(xss)
        np.testing.assert_array_equal(prefixes, xss.cumsum(1))
        np.testing.assert_array_equal(twice, 2 * xss.cumsum(1).sum(1))


def test_rows_are_read_and_written_in_tiles() -> None:
    assert tiles("entry f [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> #[sequential] f32.sum xs) xss") == (1, 0)
    text = "entry f [n][m] (xss: [n][m]f32): [n][m]f32 = map (\\xs -> #[sequential] scan (+) 0 xs) xss"
    assert tiles(text) == (1, 1)


def test_columns_are_no_rows() -> None:
    text = "entry f [n][m] (xss: [n][m]f32) = map (\\xs -> loop s = 0 for x in xs do f32.sqrt s - x) ("
    assert tiles(text + "xss)") == (1, 0)
    assert tiles(text + "transpose xss)") == (0, 0)


def test_what_is_behind_a_check_is_not_read_ahead() -> None:
    """`xs[j + k]` is in bounds only where its check has passed."""
    text = """
    entry f [n][m] (k: i64) (xss: [n][m]i32): [n]i32 =
      map (\\xs -> loop s = 0 for j < m - 1 do s + xs[j + k]) xss
    """
    assert tiles(text) == (0, 0)
    program = soac.compile(text)
    with pytest.raises(soac.SoacError, match="out of bounds"):
        program.f(1000, np.ones((64, 8), np.int32))


def test_what_a_loop_changes_is_not_read_ahead() -> None:
    """Each step reads what the one before has written."""
    text = """
    entry f [n][m] (xss: *[n][m]i32): [n][m]i32 =
      map (\\xs -> loop ys = copy xs for j < m - 1 do ys with [j + 1] = ys[j] + ys[j + 1]) xss
    """
    xss = np.random.default_rng(0).integers(-9, 9, (70, 9)).astype(np.int32)
    np.testing.assert_array_equal(soac.compile(text).f(xss), xss.cumsum(1))


def test_the_estimate_knows_them() -> None:
    text = "entry f [n][m] (xss: [n][m]f32): [n][m]f32 = map (\\xs -> #[sequential] scan (+) 0 xs) xss"
    found = [tiled_accesses(kernel, find_facts(kernel.body)) for kernel in soac.compile(text).compiled.host.kernels]
    assert any(len(tiled) == 2 for tiled in found)


SEGMENTED = """
entry scans [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (+) 0) xss
entry both [n][m] (xss: [n][m]i32): ([n][m]i32, [n]i32, [n][m]i32) =
  let yss = map (scan i32.max i32.lowest) xss
  in (yss, map i32.sum yss, map2 (map2 (+)) xss yss)
entry cubes [k][n][m] (xss: [k][n][m]i32): [k][n][m]i32 = map (map (scan (+) 0)) xss
entry arrays [n][m] (xss: [n][m][3]i32): [n][3]i32 = map (reduce (map2 (+)) [0, 0, 0]) xss
"""


def test_segmented_operators_have_a_row_to_a_lane() -> None:
    """Around the number of rows and the length at which blocks take over."""
    program = soac.compile(SEGMENTED)
    for n, m in [(1, 5), (63, 9), (64, 1), (64, 9), (90, 40), (70, 300), (300, 0), (0, 9), (200, 17)]:
        xss = np.random.default_rng(n + m).integers(-9, 9, (n, m)).astype(np.int32)
        np.testing.assert_array_equal(program.scans(xss), xss.cumsum(1, dtype=np.int32))
        largest, sums, added = program.both(xss)
        expected = np.maximum.accumulate(xss, 1)
        np.testing.assert_array_equal(largest, expected)
        np.testing.assert_array_equal(sums, expected.sum(1, dtype=np.int32))
        np.testing.assert_array_equal(added, xss + expected)
        cubes = np.stack([xss, -xss, xss // 2])
        np.testing.assert_array_equal(program.cubes(cubes), cubes.cumsum(2, dtype=np.int32))
        triples = np.stack([xss, -xss, xss // 2], 2)
        np.testing.assert_array_equal(program.arrays(triples), triples.sum(1, dtype=np.int32))


def test_the_sizes_decide_who_walks_a_row() -> None:
    """A scan of rows is launched in two ways, and compares how many and how long rows are."""
    text = "entry f [n][m] (xss: [n][m]i64): [n][m]i64 = map (\\xs -> scan (+) 0 (map2 (*) xs (iota m))) xss"
    kernels = soac.compile(text).compiled.host.kernels
    assert sum(bool(tiled_accesses(kernel, find_facts(kernel.body))) for kernel in kernels) == 1
    assert any(isinstance(s, kir.BlockScan) for kernel in kernels for s in statements(kernel.body))


EMITTING = """
from soac.ir.machine import CPU, Mode
from soac.frontend.compile import compile_text
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.pipeline import compile_core
text = "entry main [n][m][k] (xsss: [n][m][k]i32) = map (map (scan (+) 0)) xsss"
print(emit(all_ready(compile_core(compile_text(text, "rows.soac"), Mode.EVERY, CPU).host.kernels, CPU_PASSES)))
"""


def test_code_is_the_same_in_every_process() -> None:
    """Whatever order sets of strings have there: stored machine code is found again by the text it was made from."""
    texts = {
        subprocess.run(
            [sys.executable, "-c", EMITTING],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert b"kernel.main" in texts.pop()
