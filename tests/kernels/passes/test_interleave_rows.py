"""Neighbours at a stride are read as rows in loops, reductions and scans; the values at all lengths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import BlockReduce, BlockScan, LoadRow
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.interleave_rows import interleave_rows

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
