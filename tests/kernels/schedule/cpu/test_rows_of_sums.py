"""A few short sums for each row, on sizes around those where the schedule changes."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.kernel_ir.nodes import Alloc, Space
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.schedule.cpu.rows_of_sums import OF_COLUMNS, OF_COPIES
from soac.pipeline import compile_core

PROGRAM = """
entry products [n][m][d] (xs: [n][d]f32) (ys: [m][d]f32): [n][m]f32 =
  map (\\x -> map (\\y -> f32.sum (map2 (*) x y)) ys) xs
entry mixed [n][m][d] (gains: [m][d]f32) (xs: [d][n]i16): [n][m]i16 =
  map (\\x -> map (\\g -> i16.f32 (f32.sum (map2 (\\a b -> a * f32.i16 b) g x))) gains) (transpose xs)
entry nearest [n][m][d] (xs: [n][d]i16) (ys: [m][d]i16): ([n][m]i32, [n][m]i32) =
  let far (x: [d]i16) (y: [d]i16) = map2 (\\a b -> i32.abs (i32.i16 a - i32.i16 b)) x y
  in unzip (map unzip (map (\\x -> map (\\y -> (i32.sum (far x y), i32.maximum (far x y))) ys) xs))
entry planes [k][n][m][d] (xs: [k][n][d]f64) (ys: [k][m][d]f64): [k][n][m]f64 =
  map2 (\\xs ys -> map (\\x -> map (\\y -> f64.sum (map2 (\\a b -> (a - b) * (a - b)) x y)) ys) xs) xs ys
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize(
    ("n", "m", "d"),
    [
        (0, 3, 2),
        (63, 3, 4),
        (64, 1, 1),
        (70, 15, OF_COPIES - 1),
        (70, 16, 5),
        (65, 15, OF_COPIES),
        (64, 0, 3),
        (64, 3, 0),
        (67, 2, OF_COLUMNS - 1),
        (64, 2, OF_COLUMNS),
    ],
)
def test_results(program: soac.Program, n: int, m: int, d: int) -> None:
    source = np.random.default_rng(n + m + d)
    xs, ys = source.integers(-9, 9, (n, d)), source.integers(-9, 9, (m, d))
    f32, i16, far = np.float32, np.int16, np.abs(xs[:, None] - ys)
    assert np.array_equal(program.products(xs.astype(f32), ys.astype(f32)), xs @ ys.T)
    assert np.array_equal(program.mixed(ys.astype(f32), np.ascontiguousarray(xs.T.astype(i16))), xs @ ys.T)
    sums, most = program.nearest(xs.astype(i16), ys.astype(i16))
    assert np.array_equal(sums, far.sum(2))
    assert np.array_equal(most, far.max(2) if d else np.full((n, m), np.iinfo(np.int32).min))
    squares = ((xs[:, None] - ys) ** 2).sum(2).astype(float)
    assert np.array_equal(program.planes([xs.astype(float)] * 3, [ys.astype(float)] * 3), [squares] * 3)


def test_columns_are_not_copied() -> None:
    """Nor is what is the same for all lanes."""
    kernels = compile_core(compile_text(PROGRAM, "sums.soac"), Mode.OUTER, CPU).host.kernels

    def copies(entry: str) -> int:
        own = (stm for k in kernels if k.name.startswith(entry) for stm in all_statements(k.body))
        return sum(isinstance(stm, Alloc) and stm.array.space is Space.PRIVATE for stm in own)

    assert (copies("products"), copies("mixed")) == (1, 0)
