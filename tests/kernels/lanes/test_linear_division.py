"""Indices divided by a number that is known at run time: what NumPy gives, for divisors and dividends of all sizes, and
what is read there."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.pipeline import compile_core

SOURCE = """
def mixed [n] (f: i64 -> i64) (is: [n]i64): i64 = reduce_comm (^) 0 (map (\\i -> f i * (2 * i + 1)) is)
entry div (n: i64) (c: i64) (m: i64): i64 = mixed (\\i -> (i + c) / m) (iota n)
entry mod (n: i64) (c: i64) (m: i64): i64 = mixed (\\i -> (i + c) % m) (iota n)
entry quot (n: i64) (c: i64) (m: i64): i64 = mixed (\\i -> (i + c) // m) (iota n)
entry rem (n: i64) (c: i64) (m: i64): i64 = mixed (\\i -> (i + c) %% m) (iota n)
entry steps (n: i64) (c: i64) (m: i64): i64 = mixed (\\i -> (7 * i + c) / m + (7 * i + c) % m) (iota n)
entry taken [k] (n: i64) (c: i64) (m: i64) (xs: [k]f32): [n]f32 = tabulate n (\\i -> xs[(i + c) / m + 1] + xs[i % m])
entry doubles [k] (n: i64) (c: i64) (m: i64) (xs: [k]f64): [n]f64 = tabulate n (\\i -> xs[(i + c) / m + 1] + xs[i % m])
entry bytes [k] (n: i64) (c: i64) (m: i64) (xs: [k]u8): [n]u8 = tabulate n (\\i -> xs[(i + c) / m] - xs[m - 1 - i % m])
"""
DIVISORS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 63, 65, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 40, -1, -3)
STARTS = (0, 1, 5, (1 << 20) - 3, (1 << 40) + 7, (1 << 61) - 70, (1 << 61) - 1, -1, -64, -(1 << 61) - 5)


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(SOURCE)


@pytest.mark.parametrize("m", DIVISORS)
def test_quotients(program: soac.Program, m: int) -> None:
    for c in STARTS:
        i = np.arange(150)
        odd, at, far = 2 * i + 1, i + c, 7 * i + c
        sign = np.where((at < 0) != (m < 0), -1, 1)
        quotient = sign * (np.abs(at) // abs(m))
        expected = {
            "div": at // m, "mod": at % m, "quot": quotient, "rem": at - quotient * m, "steps": far // m + far % m
        }  # fmt: skip
        for entry, values in expected.items():
            assert program.call(entry, [150, c, m])[0] == np.bitwise_xor.reduce(values * odd), (entry, c)


@pytest.mark.parametrize("m", (1, 2, 3, 7, 8, 9, 16, 17, 40))
def test_what_is_read(program: soac.Program, m: int) -> None:
    for n, c in ((1, 0), (15, 3), (16, 0), (64, 1), (131, 6)):
        i = np.arange(n)
        k = max((n - 1 + c) // m + 2, m)
        xs, bytes_ = np.arange(k, dtype=np.float32) ** 2, (np.arange(k) * 37 % 256).astype(np.uint8)
        assert np.array_equal(program.taken(n, c, m, xs), xs[(i + c) // m + 1] + xs[i % m])
        assert np.array_equal(program.doubles(n, c, m, xs.astype(np.float64)), xs[(i + c) // m + 1] + xs[i % m])
        assert np.array_equal(program.bytes(n, c, m, bytes_), bytes_[(i + c) // m] - bytes_[m - 1 - i % m])
        if (n - 1 + c) // m + 1 >= m:
            with pytest.raises(soac.SoacError, match=rf"index \[{k - 1}\]"):
                program.taken(n, c, m, xs[: k - 1])


def test_neighbours_of_memory_are_a_table_in_registers() -> None:
    """16 elements by their numbers, for which each processor has its own instructions (`runtime/lookups.py`)."""
    source = "entry main [n][m] (xs: [n]f32) (ys: [m]f32): []f32 = tabulate (n * m) (\\i -> xs[i / m] * ys[i % m])"
    host = compile_core(compile_text(source, "main.soac"), Mode.INCREMENTAL, CPU).host
    assert "@soac.lookup.v16i32.16(ptr" in emit(all_ready(host.kernels, CPU_PASSES))
