"""Rows taken by their numbers, and maps over short rows, on sizes around those where the schedule changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import COLUMNS, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.one_by_one import one_by_one
from soac.kernels.schedule.cpu.segmap import FEW
from soac.kernels.schedule.cpu.short_rows import SHORT_ROW

PROGRAM = """
entry taken [n][d][k] (table: [n][d]f32) (is: [k]i64): [k][d]f32 = map (\\i -> table[i]) is
entry pairs [n][d][k] (table: [n][d]f32) (keys: [n]i32) (is: [k]i64): ([k][d]f32, [k]i32, [k][d]f32) =
  unzip3 (map (\\i -> (table[i], keys[i] + 1, copy table[n - 1 - i])) is)
entry parts [n][d][e][k] (table: [n][d][e]i16) (is: [k]i64): [k][e][d]i16 = map (\\i -> transpose table[i]) is
entry nested [n][d][k] (table: [n][d]f32) (iss: [k][2]i64): [k][2][d]f32 = map (\\is -> map (\\i -> table[i]) is) iss
entry summed [n][d][k] (table: [n][d]f32) (iss: [k][2]i64): [k]f32 =
  map (\\is -> f32.sum (flatten (map (\\i -> table[i]) is))) iss
entry chosen [n][d][k] (table: [n][d]f32) (other: [k][d]f32) (is: [k]i64): [k][d]f32 =
  map2 (\\i row -> if i < 0 then row else table[i]) is other
entry far [n][d][k] (table: [n][d]f32) (xs: [k]f32): [k][d]f32 =
  map (\\x -> table[i64.f32 (f32.exp (f32.log (f32.sin x + 2))) % n]) xs
entry scaled [n][d] (table: [n][d]f32) (ws: [n]f32) (vs: [d]f32): [n][d]f32 =
  map2 (\\row w -> map2 (\\x v -> if x > 0.5 then x * w else v) row vs) table ws
entry filled [k] (d: i64) (is: [k]i64): [k][d]f32 = map (\\i -> replicate d (f32.i64 i)) is
entry marked [k] (d: i64) (is: [k]i64): [k][]u8 =
  map (\\i -> replicate (d + 1) 7 with [i % (d + 1)] = u8.i64 i) is
entry blocks [k][d] (e: i64) (us: [k][d]f32): [k][d][e]f32 = map (map (\\u -> tabulate e (\\j -> u + f32.i64 j))) us
entry patches [k][d] (e: i64) (us: [k][d]f32): [][d][e]f32 =
  tabulate_3d (k - e) d e (\\i a b -> us[i+b, a])
entry squares [k][d] (us: [k][d]f32): [k][d][2][2]f32 = map (map (\\u -> [[u, u * u], [u + 1, 1]])) us
entry columns [k][d] (us: [d][k]f32): [k][d][2]f32 = tabulate_2d k d (\\i a -> [us[a, i], us[d - 1 - a, i]])
entry shared [n][d][k] (table: *[n][d]f32) (is: [k]i64): ([k][d]f32, *[n][d]f32) =
  let rows = map (\\i -> table[i]) is
  in (rows, if n > 0 && d > 0 then table with [0, 0] = -1 else table)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("d", [0, 1, 2, 4, 5, SHORT_ROW, 9, 10, 17])
@pytest.mark.parametrize("k", [0, 1, 2 * FEW - 1, 2 * FEW, 300])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows(program: soac.Program, d: int, k: int, threads: int) -> None:
    source = np.random.default_rng(7)
    n = 50
    table, other = (source.random(shape).astype(np.float32) for shape in ((n, d), (k, d)))
    keys, numbers = np.arange(n, dtype=np.int32), source.integers(0, n, k)
    blocks, pairs = source.integers(-99, 99, (n, 3, d)).astype(np.int16), source.integers(0, n, (k, 2))
    ws, vs, xs = (
        source.random(n).astype(np.float32),
        source.random(d).astype(np.float32),
        np.arange(k, dtype=np.float32),
    )

    def check(entry: str, args: list[Any], *want: np.ndarray) -> None:
        for found, wanted in zip(program.call(entry, args, threads=threads), want, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=entry)

    check("taken", [table, numbers], table[numbers])
    check("pairs", [table, keys, numbers], table[numbers], keys[numbers] + 1, table[n - 1 - numbers])
    check("parts", [blocks, numbers], blocks[numbers].transpose(0, 2, 1))
    check("nested", [table, pairs], table[pairs])
    check("summed", [table, pairs], table[pairs].sum((1, 2)))
    mixed = np.where(numbers < 25, -1, numbers)
    check("chosen", [table, other, mixed], np.where(mixed[:, None] < 0, other, table[mixed]))
    check("far", [table, xs], table[(np.sin(xs) + 2).astype(int)])
    check("scaled", [table, ws, vs], np.where(table > 0.5, table * ws[:, None], vs))
    check("filled", [d, numbers], np.repeat(numbers[:, None], d, axis=1))
    marked = np.full((k, d + 1), 7, np.uint8)
    marked[np.arange(k), numbers % (d + 1)] = numbers
    check("marked", [d, numbers], marked)
    for e in (1, 4):
        check("blocks", [e, other], other[:, :, None] + np.arange(e))
        if k >= e:
            check("patches", [e, other], np.stack([other[b : k - e + b] for b in range(e)], 2))
    ones = np.ones_like(other)
    check("squares", [other], np.stack([other, other * other, other + 1, ones], 2).reshape(k, d, 2, 2))
    check("columns", [np.ascontiguousarray(other.T)], np.stack([other, other[:, ::-1]], 2))
    changed = table.copy()
    changed[:1, :1] = -1
    check("shared", [table.copy(), numbers], table[numbers], changed)


@pytest.mark.parametrize("d", [1, 3, 17])
@pytest.mark.parametrize("k", [1, 300])
def test_a_number_out_of_bounds(program: soac.Program, d: int, k: int) -> None:
    table, numbers = np.zeros((5, d), np.float32), np.zeros(k, np.int64)
    numbers[k - 1] = 5
    with pytest.raises(soac.SoacError, match=r"index \[5"):
        program.call("taken", [table, numbers])


WINDOWS = """
entry windows [n] (xs: [n]T): [][W]T = map (\\i -> xs[i:i+W] :> [W]T) (iota (n - W + 1))
entry patches [h][w] (xs: [h][w]T): [][][W][W]T =
  tabulate_2d (h - W + 1) (w - W + 1) (\\i j -> xs[i:i+W, j:j+W] :> [W][W]T)
"""


@pytest.mark.parametrize(("prim", "width"), [("f64", 5), ("f32", 12), ("i32", 16), ("u8", 7), ("f64", 17)])
def test_windows_are_copied_by_threads_that_go_alone(prim: str, width: int) -> None:
    windows = soac.compile(WINDOWS.replace("T", prim).replace("W", str(width)))
    number = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "u8": np.uint8}[prim]
    made = [one_by_one(kernel) for kernel in windows.compiled.host.kernels]
    alone = [kernel for kernel in made if not any(isinstance(stm, Threads) for stm in statements(kernel.body))]
    assert bool(alone) == (width <= COLUMNS)
    for n in (width - 1, width, width + SHORT_ROW - 2, width + SHORT_ROW - 1, width + 70):
        xs = (np.arange(n) * 7 % 251).astype(number)
        wanted = [xs[i : i + width] for i in range(n - width + 1)]
        assert np.array_equal(windows.windows(xs), np.array(wanted, number).reshape(-1, width))
    for h, w in ((width, width), (width + 1, width + SHORT_ROW - 1), (width + 2, width + 2 * FEW)):
        image = (np.arange(h * w) * 7 % 251).astype(number).reshape(h, w)
        assert np.array_equal(windows.patches(image), np.lib.stride_tricks.sliding_window_view(image, (width, width)))
