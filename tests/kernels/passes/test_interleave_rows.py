"""Neighbours at a stride are read as rows in loops, reductions and scans; the values at all lengths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import BlockReduce, BlockScan, LoadRow
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.interleave_rows import interleave_rows
from soac.kernels.passes.pipeline import CPU_PASSES, ready

PROGRAM = """
entry products [n] (p: [n][2]f32): f32 = f32.sum (map (\\q -> q[0] * q[1]) p)
entry turnover [n] (p: [n][2]f64): [n]f64 = scan (+) 0 (map (\\q -> q[0] * q[1]) p)
entry highest [n] (p: [n][3]i16): (i16, i16) =
  reduce_comm (\\(a, b) (c, d) -> (i16.max a c, i16.max b d)) (-32768, -32768) (map (\\q -> (q[0], q[2])) p)
entry luma [n] (p: [n][3]u8): i64 = i64.sum (map (\\q -> i64.u8 q[0] + 2 * i64.u8 q[1] + i64.u8 q[2]) p)
entry reversed [n] (p: [n][2]i32): bool = any (\\q -> q[0] > q[1]) p
entry every_other [n] (x: [n]i32): i32 = i32.sum x[1::2]
"""


@cache
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize(("entry", "kind"), [("products", BlockReduce), ("turnover", BlockScan)])
def test_reductions_and_scans_read_rows(entry: str, kind: type[BlockReduce | BlockScan]) -> None:
    kernels = [interleave_rows(kernel) for kernel in program().compiled.host.kernels if kernel.name.startswith(entry)]
    found = [
        inner for kernel in kernels for stm in kernel.body if isinstance(stm, kind) for inner in statements((stm,))
    ]
    assert any(isinstance(inner, LoadRow) for inner in found)


@pytest.mark.parametrize("n", [*range(20), 31, 32, 33, 63, 64, 65, 127, 130, 1000, 40_001])
def test_values(n: int) -> None:
    draw = np.random.default_rng(n)
    small = draw.integers(0, 9, (n, 2)).astype(np.float32)
    assert program().products(small) == (small[:, 0] * small[:, 1]).sum()
    assert program().turnover(small.astype(np.float64)).tolist() == np.cumsum(small[:, 0] * small[:, 1]).tolist()
    words = draw.integers(-32768, 32768, (n, 3)).astype(np.int16)
    assert tuple(map(int, program().highest(words))) == tuple(int(max(words[:, k], default=-32768)) for k in (0, 2))
    pixels = draw.integers(0, 256, (n, 3)).astype(np.uint8)
    assert program().luma(pixels) == int((pixels.astype(np.int64) * [1, 2, 1]).sum())
    pairs = np.sort(draw.integers(-9, 9, (n, 2)).astype(np.int32), axis=1)
    assert not program().reversed(pairs)
    if n:
        pairs[n // 2] = (5, 4)
        assert program().reversed(pairs)
    assert program().every_other(pairs.ravel()) == pairs[:, 1].sum()


APART = """
entry springs [v][e] (p: [v][2]f32) (ends: [e][2]i32): [e]f32 =
  map (\\q -> (p[q[0], 0] - p[q[1], 0]) + 3 * (p[q[0], 1] - p[q[1], 1])) ends
entry near [n][m] (t: [n]f64) (x: [m]f64): [m]f64 = map (\\x -> let i = i64.f64 x in t[i] + x * t[i + 2]) x
entry some [n][m] (p: [n][3]i32) (at: [m]i32): [m]i32 =
  map (\\i -> if p[i, 0] > 4 then p[i, 1] - p[i, 2] else i) at
entry total [n][m] (p: [n][5]i64) (at: [m]i32): i64 =
  i64.sum (map (\\i -> p[i, 0] + 2 * p[i, 1] + 3 * p[i, 2] + 5 * p[i, 3] + 7 * p[i, 4]) at)
entry firsts [n][k] (xs: [n][k]i32): [n]i32 = map (\\x -> x[0] - 2 * x[1] + 3 * x[3]) xs
"""


@cache
def apart() -> soac.Program:
    return soac.compile(APART)


@pytest.mark.parametrize("entry", ["springs", "near", "some", "total", "firsts"])
def test_places_of_the_lanes_own_are_rows(entry: str) -> None:
    kernels = [kernel for kernel in apart().compiled.host.kernels if kernel.name.startswith(entry)]
    assert any(isinstance(stm, LoadRow) for kernel in kernels for stm in statements(ready(kernel, CPU_PASSES).body))


@pytest.mark.parametrize("m", [*range(12), 15, 16, 17, 31, 33, 64, 65, 130, 1000, 20_001])
def test_values_at_places_of_the_lanes_own(m: int) -> None:
    draw = np.random.default_rng(m)
    at, small = draw.integers(0, 9, (m, 2)).astype(np.int32), draw.integers(0, 9, (9, 5))
    points = small[:, :2].astype(np.float32)
    a, b = points[at[:, 0]], points[at[:, 1]]
    assert apart().springs(points, at).tolist() == ((a - b) * np.float32([1, 3])).sum(axis=1).tolist()
    x = draw.integers(0, 7, m).astype(np.float64)
    places = x.astype(np.int64)
    table = small[:, 0].astype(np.float64)
    assert apart().near(table, x).tolist() == (table[places] + x * table[places + 2]).tolist()
    one, three = np.ascontiguousarray(at[:, 0]), small[:, :3].astype(np.int32)
    taken = three[one]
    assert apart().some(three, one).tolist() == np.where(taken[:, 0] > 4, taken[:, 1] - taken[:, 2], one).tolist()
    assert apart().total(small, one) == int((small[one] * [1, 2, 3, 5, 7]).sum())
    rows = draw.integers(0, 9, (m, 7)).astype(np.int32)
    assert apart().firsts(rows).tolist() == (rows[:, :4] @ [1, -2, 0, 3]).tolist()


def test_checks_that_move_are_made_in_their_order() -> None:
    x = np.zeros(100)
    for value, place in ((9, 9), (5, 7)):
        x[40] = value
        with pytest.raises(soac.RunError, match=rf"index \[{place}\] out of bounds for array of shape \[7\]"):
            apart().near(np.zeros(7), x)
