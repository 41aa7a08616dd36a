"""Rows whose length counts with the points: lanes over their elements where that of the middle is long."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.pipeline import compile_core
from soac.reports.schedules import schedules_of

PROGRAM = """
entry past [n] (lags: i64) (xs: [n]i64): [lags]i64 = tabulate lags (\\l -> i64.sum (map2 (*) xs[:n - l] xs[l:]))
entry rest [n] (xs: [n]i32): [n]i32 = tabulate n (\\i -> i32.maximum (map (\\x -> x - xs[i]) xs[i:]))
entry near [n] (k: i64) (xs: [n]i64): [n]i64 =
  tabulate n (\\i -> i64.sum (map (\\x -> x * xs[i]) xs[i64.max 0 (i - k):i + 1]))
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("n", [0, 1, 40, 511, 513, 700])
def test_results(program: soac.Program, n: int) -> None:
    xs = np.random.default_rng(n).integers(-99, 99, n)
    lags = min(n, 70)
    assert np.array_equal(program.past(lags, xs), [np.sum(xs[: n - k] * xs[k:]) for k in range(lags)])
    assert np.array_equal(program.rest(xs.astype(np.int32)), [np.max(xs[i:]) - xs[i] for i in range(n)])
    for k in (0, 5, 300):
        assert np.array_equal(program.near(k, xs), [np.sum(xs[max(0, i - k) : i + 1]) * xs[i] for i in range(n)])


def test_the_host_asks_for_the_length_of_the_middle() -> None:
    flat = compile_core(compile_text(PROGRAM, "rows.soac"), Mode.INCREMENTAL, CPU).flat
    rows = [r for s in schedules_of(flat, CPU, ["past", "near"]) for r in s.rows if r.name == "block a point"]
    conditions = [row.condition for row in rows if row.condition is not None]
    assert conditions == ["n - lags//2 >= 256", "n//2 + 1 - max(0, n//2 - k) >= 256"]
