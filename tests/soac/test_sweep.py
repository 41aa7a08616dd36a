"""`soac.map`: an entry point on many data sets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import soac
from soac.sweep import program_of, result_of

ROOT = Path(__file__).parents[2]
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


SWEEP = f"""
import numpy as np
import soac
from mpi4py.futures import MPIPoolExecutor

if __name__ == "__main__":
    inputs = [(k, np.arange(3)) for k in range(6)]
    with MPIPoolExecutor() as pool:
        print([int(first) for first, _ in soac.map(soac.compile({TEXT!r}), inputs, executor=pool)])
"""


@pytest.mark.slow
def test_mpi(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec") or pytest.skip("there is no mpiexec")
    (tmp_path / "sweep.py").write_text(SWEEP, encoding="utf-8")
    words = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(tmp_path / "sweep.py")]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0, 0, 0, 1, 1, 1]"
