"""`soac.map`: an entry point on many data sets."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import soac
from soac.sweep import program_of, result_of

TEXT = "entry main [n] (k: i64) (xs: [n]i64) = (k / i64.sum xs, map (+ k) xs)"
INPUTS = [(k, np.arange(3)) for k in range(6)]


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(2)])
def test_results_are_in_order(executor: Executor | None) -> None:
    results = soac.map(soac.compile(TEXT), INPUTS, executor=executor)
    assert [int(first) for first, _ in results] == [0, 0, 0, 1, 1, 1]
    assert [int(xs[0]) for _, xs in results] == [0, 1, 2, 3, 4, 5]


def test_a_process_has_a_program_once() -> None:
    prog = soac.compile(TEXT)
    program_of.cache_clear()
    for args in INPUTS:
        result_of(prog.source, (), "main", args)
    assert program_of.cache_info().misses == 1


def test_a_failure_is_that_of_the_call() -> None:
    with pytest.raises(soac.SoacError, match="R0102"):
        soac.map(soac.compile(TEXT), [(1, np.zeros(2, np.int64))])
    with pytest.raises(soac.SoacError, match="E0001"):
        soac.map(soac.compile(TEXT), INPUTS, "other")


@pytest.mark.slow
def test_processes() -> None:
    with ProcessPoolExecutor(2) as pool:
        assert len(soac.map(soac.compile(TEXT), INPUTS, executor=pool)) == len(INPUTS)
        with pytest.raises(soac.SoacError, match="R0102"):
            soac.map(soac.compile(TEXT), [(1, np.zeros(2, np.int64))], executor=pool)
