"""Short rows that have ends: rotated, padded, repeated, clamped, cut off by their number."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.schedule.cpu.short_rows import ENDED_BYTES, SHORT_BYTES, SHORT_ROW
from soac.pipeline import compile_core
from soac.reports.schedules import schedules_of

PROGRAM = """
entry rotated [a][b][c] (x: [a][b][c]f32): [a][b][c]f32 = map (map (rotate 1)) x
entry padded [a][b][c] (x: [a][b][c]f32): [][][]f32 =
  tabulate_3d a (b + 2) (c + 2) (\\i j k -> if j >= 1 && j <= b && k >= 1 && k <= c then x[i, j-1, k-1] else 0)
entry larger [a][b][c] (x: [a][b][c]f32): [][][]f32 = tabulate_3d a (2*b) (2*c) (\\i j k -> x[i, j/2, k/2])
entry smooth [a][b][c] (x: [a][b][c]f64): [a][b][c]f64 =
  map (map (\\r -> tabulate c (\\k -> r[i64.max 0 (k-1)] + r[i64.min (c-1) (k+1)]))) x
entry lower [a][b][c] (x: [a][b][c]u8): [a][b][c]u8 =
  map (\\m -> tabulate_2d b c (\\j k -> if k <= j then m[j, k] else 0)) x
entry plain [a][b] (x: [a][b]f32) (y: [a]f32): [a][b]f32 = map2 (\\r v -> map (+ v) r) x y
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("c", [0, 1, 2, 5, 7, 8, 13, 14, 15, 16, 17])
@pytest.mark.parametrize(("a", "b"), [(0, 3), (1, 2), (2, 70), (40, 3)])
def test_rows(program: soac.Program, a: int, b: int, c: int) -> None:
    """Of the many rows of a plane, and of few rows of many planes."""
    x = np.random.default_rng(c).integers(0, 99, (a, b, c))
    single = x.astype(np.float32)
    assert np.array_equal(program.rotated(single), np.roll(x, -1, 2))
    assert np.array_equal(program.padded(single), np.pad(x, ((0, 0), (1, 1), (1, 1))))
    assert np.array_equal(program.larger(single), x.repeat(2, 1).repeat(2, 2))
    k = np.arange(c)
    expected = x[:, :, np.maximum(0, k - 1)] + x[:, :, np.minimum(c - 1, k + 1)]
    assert np.array_equal(program.smooth(x.astype(np.float64)), expected)
    assert np.array_equal(program.lower(x.astype(np.uint8)), np.tril(x))


def test_rows_with_ends_are_short_for_longer() -> None:
    """Up to as many elements as twice the lanes' least, by the bytes that they move; where elements have lanes, by
    those that are stored."""
    flat = compile_core(compile_text(PROGRAM, "ends.soac"), Mode.INCREMENTAL, CPU).flat
    entries = ["padded", "rotated", "smooth", "plain"]
    short = {s.entry: r.condition for s in schedules_of(flat, CPU, entries) for r in s.rows if "over rows" in r.name}
    lengths = {"padded": min(2 * SHORT_ROW, ENDED_BYTES // 8), "plain": SHORT_BYTES // 8}
    lengths |= {"rotated": ENDED_BYTES // 4 + 1, "smooth": ENDED_BYTES // 8 + 1}
    for entry, length in lengths.items():
        assert f"< {length}" in (short[entry] or ""), entry
