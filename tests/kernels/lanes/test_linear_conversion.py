"""Indices as floats: what NumPy gives, near zero, where an i32 ends, and far beyond."""

from __future__ import annotations

import numpy as np
import pytest

import soac

SOURCE = """
entry doubles (n: i64) (c: i64): [n]f64 = tabulate n (\\i -> f64.i64 (i + c))
entry singles (n: i64) (c: i64): [n]f32 = tabulate n (\\i -> f32.i64 (c - 3 * i))
entry longest (n: i64) (c: i64): [n]f64 = tabulate n (\\i -> f64.i64 (c + 1000000007 * i))
entry unsigned (n: i64) (c: i64): [n]f64 = tabulate n (\\i -> f64.u64 (u64.i64 (c - i)))
"""
NEAR = 1 << 30
STARTS = (
    0,
    5,
    -70,
    NEAR - 40,
    NEAR,
    NEAR + 1,
    -NEAR,
    -NEAR - 1,
    (1 << 31) - 30,
    1 << 32,
    (1 << 53) - 9,
    (1 << 62) + 513,
)


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE)


@pytest.mark.parametrize("c", STARTS)
def test_indices_as_floats(program: soac.Program, c: int) -> None:
    for n in (1, 40, 150):
        i = np.arange(n)
        assert np.array_equal(program.doubles(n, c), (i + c).astype(np.float64))
        assert np.array_equal(program.singles(n, c), (c - 3 * i).astype(np.float32))
        assert np.array_equal(program.longest(n, c), (c + 1000000007 * i).astype(np.float64))
        assert np.array_equal(program.unsigned(n, c), (c - i).astype(np.uint64).astype(np.float64))
