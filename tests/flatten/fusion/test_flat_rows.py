"""Reductions of matrices in one row, on every version: of what maps make, of windows, of arrays of more dimensions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.ir.interpret import interpret
from soac.kernels.host_ir.nodes import show_host
from soac.versions import runs_of

PROGRAMS = {
    "a map": "i32.sum (flatten (tabulate_2d n m (\\i j -> xss[i, j] * i32.i64 (i + j))))",
    "scans": "i32.maximum (flatten (map (scan (+) 0) xss))",
    "a window": "i32.sum (map (* 3) (flatten xss[n / 2:, :m / 2]))",
    "turned": "i32.maximum (map (* 3) (flatten (transpose xss)))",
    "an order": "reduce (\\a b -> if b == 0 then a else b) 0 (flatten (tabulate_2d n m (\\i j -> xss[n - 1 - i, j])))",
    "two at once": "let ys = flatten (map (map (% 5)) xss[:, m / 3:]) in i32.sum ys * 100 + i32.minimum ys",
    "three dimensions": "i32.sum (flatten (flatten (tabulate_3d 3 n m (\\k i j -> xss[i, j] * i32.i64 (k + i)))))",
    "windows in a nest": "i32.sum (flatten (tabulate_2d n m (\\i j -> "
    "i32.minimum (flatten xss[i64.max 0 (i - 1):i64.min n (i + 2), j:i64.min m (j + 2)]))))",
}
SHAPES = ((0, 3), (3, 0), (1, 1), (2, 7), (9, 3), (33, 65), (2, 300), (130, 2))


@cache
def compiled(name: str) -> soac.Program:
    return soac.compile(f"entry main [n][m] (xss: [n][m]i32): i32 =\n  {PROGRAMS[name]}\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    program = compiled(name)
    for shape in SHAPES:
        xss = np.random.default_rng(sum(shape)).integers(-2, 9, shape, dtype=np.int32)
        (expected,), _ = interpret(program.compiled.core, "main", [xss])
        for forced in runs_of(program.compiled.flat, "main"):
            assert program.call("main", [xss], forced=forced)[0] == expected, f"{shape} {forced}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_matrix_is_in_one_row(name: str) -> None:
    """What stands in one row elsewhere is a row of sums, or what was scanned."""
    rows = [line for line in show_host(compiled(name).compiled.host).splitlines() if "= reshape [nm_" in line]
    assert rows == []
