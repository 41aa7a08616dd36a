"""Products whose elements are kept and reduced, on sizes around those where the schedule changes."""

from __future__ import annotations

import numpy as np
import pytest

import soac

PROGRAM = """
def product [n][m][k] (x: [n][m]f64) (w: [m][k]f64) = map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose w)) x
entry layer [n][m][k] (x: [n][m]f64) (w: [m][k]f64) (b: [k]f64): [n][k]f64 =
  map (\\row ->
         let zs = map2 (+) row b
         let most = f64.maximum zs
         in map (\\z -> z - most) zs) (product x w)
entry scores [n][m][k] (x: [n][m]f64) (w: [m][k]f64): ([n][k]f64, [n]f64) =
  let zs = product x w
  in (zs, map f64.minimum zs)
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize(
    ("n", "m", "k"),
    [(0, 4, 20), (1, 3, 16), (5, 9, 17), (6, 9, 15), (6, 9, 16), (7, 1, 40), (24, 10, 16), (6, 0, 16), (2, 530, 1000)],
)
def test_results(program: soac.Program, n: int, m: int, k: int) -> None:
    source = np.random.default_rng(n + m + k)
    x, w, b = (source.integers(-9, 9, shape).astype(float) for shape in ((n, m), (m, k), k))
    z = x @ w + b
    assert np.array_equal(program.layer(x, w, b), z - z.max(1, keepdims=True))
    elements, least = program.scores(x, w)
    assert np.array_equal(elements, x @ w)
    assert np.array_equal(least, (x @ w).min(1))
