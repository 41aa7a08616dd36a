"""Statistics of columns: a map of several reductions, each of which is one of rows that pass by."""

from __future__ import annotations

import numpy as np
import pytest

import soac

PROGRAM = """
entry moments [n][d] (xs: [n][d]f64): ([d]f64, [d]f64, [d]f64) =
  unzip3 (map (\\col ->
                 let mean = f64.sum col / f64.i64 (i64.max 1 n)
                 let centred = map (\\x -> x - mean) col
                 let most = f64.maximum (map f64.abs centred)
                 in (mean, f64.sum (map (\\x -> x * x * x) centred), most))
              (transpose xs))
entry correlated [n][d] (xs: [n][d]f64) (y: [n]f64): [d]f64 =
  map (\\col -> f64.sum (map2 (*) col y) + f64.minimum col) (transpose xs)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize(
    ("n", "d"), [(0, 9), (1, 8), (63, 9), (64, 8), (64, 7), (700, 16), (5000, 1), (4096, 3), (200, 300)]
)
def test_results(program: soac.Program, n: int, d: int) -> None:
    source = np.random.default_rng(n + d)
    xs, y = source.standard_normal((n, d)), source.standard_normal(n)
    means, cubes, most = program.moments(xs)
    mean = xs.sum(0) / max(1, n)
    assert np.allclose(means, mean)
    assert np.allclose(cubes, ((xs - mean) ** 3).sum(0))
    assert np.array_equal(most, abs(xs - means).max(0, initial=-np.inf))
    assert np.allclose(program.correlated(xs, y), xs.T @ y + xs.min(0, initial=np.inf))
