"""Updates of the interior of an array as maps over all of it: what they give, and that nothing is copied."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Update
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps

LINE = """
entry main [n] (t: i64) (a: *[n]i32): *[n]i32 =
  #[flattening(no_intra)] loop a for k < t do
    a with [2:n-1] = tabulate (n - 3) (\\i -> a[i] + a[i+1] * i32.i64 k - a[i+3])
"""
GRID = """
entry main [n] (t: i64) (a: *[n][n]i32): *[n][n]i32 =
  #[flattening(no_intra)] loop a for _k < t do
    a with [1:n-1, :n-2] = tabulate_2d (n - 2) (n - 2) (\\i j -> a[i, j] + 2 * a[i+2, j+1] - a[i+1, j+2])
"""
PART = """
entry main [n] (t: i64) (a: *[n]i32): *[n]i32 =
  #[flattening(no_intra)] loop a for _k < t do
    let m = n / 2
    in a with [1:m+1] = tabulate m (\\i -> a[i] + (if i + 2 < n then a[i+2] else 0))
"""
PROGRAMS = {"line": LINE, "grid": GRID, "part": PART}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n", [3, 4, 5, 17, 40, 70])
def test_values(name: str, n: int) -> None:
    program = soac.compile(PROGRAMS[name])
    shape = (n, n) if name == "grid" else (n,)
    a = np.random.default_rng(n).integers(-9, 9, shape, dtype=np.int32)
    (expected,), _ = interpret(program.compiled.core, "main", [np.int64(3), a.copy()])
    for threads in (1, 2):
        (found,) = program.call("main", [3, a.copy()], threads=threads)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_copied(name: str) -> None:
    flat = soac.compile(PROGRAMS[name]).compiled.flat
    updates = [exp for fun in flat.functions for exp in all_exps(fun.body) if isinstance(exp, Update)]
    assert bool(updates) == (name == "part")
