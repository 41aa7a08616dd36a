"""Scans of rows go over the elements as they lie where nothing forbids it, in an order that depends on the place of an
element in its row alone."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel, RowScan
from soac.kernels.passes.choose_lanes import LaneSettings
from soac.kernels.passes.flat_row_scans import flat_row_scans, row_scan_of
from tests.support.kernel_interpreter import Value, compiled, interpret

LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 167)


def kernels_of(text: str) -> tuple[Kernel, ...]:
    return soac.compile(text).compiled.host.kernels


def row_scans(text: str) -> list[RowScan]:
    return [scan for kernel in kernels_of(text) if (scan := row_scan_of(kernel)) is not None]


def scan_of(body: str, arguments: str = "", type_: str = "f32") -> str:
    return f"entry f [n][m]{arguments} (xss: [n][m]{type_}) = map (\\xs -> {body}) xss"


AS_THEY_LIE = (
    scan_of("scan (+) 0 xs"),
    scan_of("scan i64.max i64.lowest (map (* 3) xs)", type_="i64"),
    scan_of("scan (+) 0 (map (+ c) xs)", " (c: f32)"),
    scan_of("scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x, x)) xs) |> map (.1)"),
    "entry f [k][n][m] (xsss: [k][n][m]i16) = map (map (scan (+) 0)) xsss",
    """entry f [n][m] (xss: [n][m]u8) (yss: [n][m]bool) =
      map2 (\\xs ys -> scan (+) 0 (map2 (\\x y -> x * u8.bool y) xs ys)) xss yss""",
    "entry f [n] (xss: [n][300]f64) = map (scan (+) 0) xss",
)
OTHERWISE = (
    scan_of("scan (+) 0 (map2 (*) xs (iota m))", type_="i64"),
    scan_of("scan (+) 0 (map2 (*) xs ws)", " (ws: [m]f32)"),
    scan_of("scan (+) 0 (map (\\x -> ws[x]) xs)", " (ws: [m]i64)", "i64"),
    scan_of("scan (\\a b -> f32.log (f32.exp a + f32.exp b)) (-f32.inf) xs"),
    "entry f [n][m] (xss: [n][m]f32) (ws: [n]f32) = map2 (\\xs w -> scan (+) 0 (map (* w) xs)) xss ws",
    "entry f [n][m] (xss: [n][m]f32) = map (scan (+) 0) (transpose xss)",
)


@pytest.mark.parametrize("text", AS_THEY_LIE)
def test_rows_as_they_lie(text: str) -> None:
    (scan,) = row_scans(text)
    assert all(isinstance(stm, (kir.KLet, kir.Store)) for stm in (*scan.body, *scan.after))


@pytest.mark.parametrize("text", OTHERWISE)
def test_what_goes_another_way_stays(text: str) -> None:
    kernels = kernels_of(text)
    assert row_scans(text) == []
    assert all(flat_row_scans(kernel) is kernel for kernel in kernels)


EVERY_LENGTH = """
entry bytes [n][m] (xss: [n][m]i8): [n][m]i8 = map (scan (+) 0) xss
entry ints [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> scan (+) 0 (map (* 2) xs)) xss
entry doubles [n][m] (xss: [n][m]f64): [n][m]f64 = map (scan (+) 0) xss
entry both [n][m] (xss: [n][m]i32): ([n][m]i32, [n][m]bool) =
  let op (a, p) (b, q) = (i32.max a b, p && q)
  in unzip (map (\\xs -> unzip (scan op (i32.lowest, true) (map (\\x -> (x, x < 8)) xs))) xss)
entry cubes [k][n][m] (xsss: [k][n][m]i16): [k][n][m]i16 = map (map (scan (+) 0)) xsss
entry newest [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (\\a b -> if b == 0 then a else b) 0) xss
"""


@pytest.mark.parametrize("rows", [64, 65, 131])
def test_every_length_of_rows(rows: int) -> None:
    program = soac.compile(EVERY_LENGTH)
    for m in LENGTHS:
        xss = np.random.default_rng(m).integers(-9, 10, (rows, m))
        np.testing.assert_array_equal(program.bytes(xss.astype(np.int8)), xss.cumsum(1, dtype=np.int8))
        np.testing.assert_array_equal(program.ints(xss.astype(np.int32)), 2 * xss.cumsum(1))
        np.testing.assert_array_equal(program.doubles(xss.astype(np.float64)), xss.cumsum(1))
        largest, small = program.both(xss.astype(np.int32))
        np.testing.assert_array_equal(largest, np.maximum.accumulate(xss, 1))
        np.testing.assert_array_equal(small, np.logical_and.accumulate(xss < 8, 1))
        cubes = np.stack([xss, -xss, xss // 2]).astype(np.int16)
        np.testing.assert_array_equal(program.cubes(cubes), cubes.cumsum(2, dtype=np.int16))
        np.testing.assert_array_equal(program.newest(xss.astype(np.int32)), newest(xss))


def newest(xss: np.ndarray) -> np.ndarray:
    """The last element up to each that is not 0."""
    found, so_far = np.zeros_like(xss), np.zeros(len(xss), xss.dtype)
    for j in range(xss.shape[1]):
        so_far = np.where(xss[:, j] == 0, so_far, xss[:, j])
        found[:, j] = so_far
    return found


@pytest.mark.parametrize("m", LENGTHS)
def test_equal_rows_have_equal_bits(m: int) -> None:
    """Wherever a row is, and for any number of threads; also where the last vectors are masked."""
    program = soac.compile("entry f [n][m] (xss: [n][m]f32): [n][m]f32 = map (scan (+) 0) xss")
    row = np.random.default_rng(m).standard_normal(m, np.float32) * 1e3
    n = 70_001 // max(m, 1) + 64
    alone, several = (program.call("f", program.place("f", (np.tile(row, (n, 1)),)), threads=k) for k in (1, 3))
    assert (np.asarray(alone) == np.asarray(alone)[:1]).all()
    np.testing.assert_array_equal(np.asarray(alone), np.asarray(several))


SETTINGS = LaneSettings(), LaneSettings(width=4), LaneSettings(peel_limit=0), LaneSettings(width=2, unroll=1)


@pytest.mark.parametrize("settings", SETTINGS)
def test_lanes_store_rows_and_nothing_else(settings: LaneSettings) -> None:
    """In blocks of three rows, of which the last has fewer."""
    (kernel,) = (k for k in kernels_of("entry f [n][m] (xss: [n][m]i32) = map (scan (+) 0) xss") if row_scan_of(k))
    run = compiled(kernel, settings)
    for rows, m in [(0, 3), (1, 1), (7, 1), (7, 3), (8, 5), (4, 16), (5, 17), (1, 40), (4, 0)]:
        data = np.random.default_rng(m).integers(-9, 9, rows * m).astype(np.int32)
        out, source = (a.name for a in kernel.arrays)
        found, expected = ({out: np.full(rows * m + 40, 77, np.int32), source: data} for _ in range(2))
        sizes: dict[str, Value] = dict(zip((s.name for s in kernel.scalars), (m, 3, rows), strict=True))
        blocks = -(-rows // 3)
        assert not interpret(kernel, expected, sizes, blocks)
        assert not run(found, sizes, blocks).any()
        np.testing.assert_array_equal(found[out], expected[out])
