"""Maps whose points copy arrays: lanes over their elements, or over the points, by both numbers."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.pipeline import compile_core
from soac.reports.schedules import schedules_of

PROGRAM = """
entry twice [a][b][c] (x: [a][b][c]f32): [a][][c]f32 = map (\\m -> m ++ m[::-1]) x
entry padded [a][b][c] (x: [a][b][c]u8) (n: i64): [a][][c]u8 = map (\\m -> m ++ replicate n (replicate c 7)) x
entry first [a][b][c] (x: [a][b][c]f64): [a][b][c]f64 = map (\\m -> copy m with [0] = replicate c 3) x
entry chosen [a][b][c] (x: [a][b][c]i32) (k: [a]i64): [a][b][c]i32 =
  map2 (\\m i -> if i < 0 then copy m else copy x[i]) x k
entry rows [a][b][c] (x: [a][b][c]i16): [a][b][]i16 = map (map (\\r -> r ++ r)) x
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 1, 0), (1, 40, 33), (3, 5, 17), (17, 2, 3), (40, 4, 4), (33, 1, 100)])
def test_results(program: soac.Program, shape: tuple[int, int, int]) -> None:
    x = np.random.default_rng(sum(shape)).integers(0, 99, shape)
    a, _, c = shape
    found = np.asarray(program.twice(x.astype(np.float32)))
    assert np.array_equal(found, np.concatenate((x, x[:, ::-1]), 1))
    found = np.asarray(program.padded(x.astype(np.uint8), 3))
    assert np.array_equal(found, np.concatenate((x, np.full((a, 3, c), 7)), 1))
    other = x.astype(np.float64)
    other[:, 0] = 3
    assert np.array_equal(program.first(x.astype(np.float64)), other)
    k = np.where(np.arange(a) % 2 == 0, -1, np.arange(a)[::-1])
    expected = np.where((k < 0)[:, None, None], x, x[k])
    assert np.array_equal(program.chosen(x.astype(np.int32), k), expected)
    assert np.array_equal(program.rows(x.astype(np.int16)), np.concatenate((x, x), 2))


def test_the_host_compares_sizes() -> None:
    """Few points go by their elements, many as lanes; what is chosen of large arrays always by elements."""
    flat = compile_core(compile_text(PROGRAM, "copies.soac"), Mode.INCREMENTAL, CPU).flat
    entries = ["twice", "padded", "first", "chosen"]
    rows = {s.entry: r for s in schedules_of(flat, CPU, entries) for r in s.rows if r.name == "block a point"}
    assert all("a" in (rows[entry].condition or "") for entry in entries[:3])
    assert rows["chosen"].why_not is rows["chosen"].condition is None
