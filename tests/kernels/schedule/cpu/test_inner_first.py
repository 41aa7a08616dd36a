"""Reductions whose points reduce something first: on sizes around those where the schedule changes."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.lower import lower
from soac.kernels.schedule.host_builder import Considered
from soac.pipeline import flat_core

PROGRAM = """
def dot [n] (a: [n]f64) (b: [n]f64) = f64.sum (map2 (*) a b)
entry logistic [m][n] (xs: [m][n]f64) (ys: [m]f64) (w: [n]f64): f64 =
  f64.sum (map2 (\\x y -> f64.log (1 + f64.exp (-(dot x w))) - y) xs ys)
entry kept [m][n] (xs: [m][n]f64) (ys: [m]f64) (w: [n]f64): ([m]f64, f64) =
  let zs = map2 (\\x y -> f64.exp (y - dot x w)) xs ys
  in (zs, f64.maximum zs)
entry softmaxes [m][n] (xs: [m][n]f64) (_ys: [m]f64) (w: [n]f64): f64 =
  f64.sum (map (\\x -> let most = f64.maximum x
                      in most + f64.log (1 + f64.sum (map2 (\\v u -> f64.exp (v - most) * u * u) x w))) xs)
entry nearest [m][n] (xs: [m][n]f64) (ys: [m]f64) (w: [n]f64): (f64, i64) =
  let nearer (a, i) (b, j) = if a < b || (a == b && i < j) then (a, i) else (b, j)
  in reduce_comm nearer (f64.inf, m) (zip (map2 (\\x y -> f64.abs (dot x w - y)) xs ys) (iota m))
entry batches [k][m][n] (xss: [k][m][n]f64) (_ys: [m]f64) (w: [n]f64): [k]f64 =
  map (\\xs -> f64.sum (map (\\x -> f64.exp (dot x w)) xs)) xss
entry pairs [m] (ys: [m]f64): f64 =
  f64.sum (map (\\i -> f64.sum (map (\\j -> f64.abs (ys[i] - ys[j])) (i+1..<m))) (iota m))
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize(
    ("m", "n"), [(1, 3), (63, 5), (64, 0), (64, 1), (65, 23), (700, 4), (64, 24), (63, 40), (70, 100)]
)
def test_results(program: soac.Program, m: int, n: int) -> None:
    source = np.random.default_rng(m + n)
    xs, ys, w = (source.standard_normal(shape) / 4 for shape in ((m, n), m, n))
    z, most = xs @ w, xs.max(1, initial=-np.inf)
    assert np.isclose(program.logistic(xs, ys, w), (np.log(1 + np.exp(-z)) - ys).sum())
    elements, largest = program.kept(xs, ys, w)
    assert np.allclose(elements, np.exp(ys - z))
    assert largest == elements.max()
    if n:
        softmaxes = most + np.log(1 + (np.exp(xs - most[:, None]) * w * w).sum(1))
        assert np.isclose(program.softmaxes(xs, ys, w), softmaxes.sum())
    far, place = program.nearest(xs, ys, w)
    assert place == np.argmin(abs(z - ys))
    assert np.isclose(far, abs(z - ys).min())
    pairs = abs(ys[:, None] - ys)
    assert np.isclose(program.pairs(ys), pairs.sum() / 2)
    batches = np.stack([xs, -xs, 2 * xs])
    assert np.allclose(program.batches(batches, ys, w), np.exp(batches @ w).sum(1))


PRODUCT = "map (\\x -> map (\\y -> f64.sum (map2 (*) x y)) xs) xs"


@pytest.mark.parametrize(
    ("mode", "body", "first"),
    [
        (Mode.OUTER, "f64 = f64.sum (map (\\x -> f64.exp (f64.sum (map2 (*) x w))) xs)", True),
        (Mode.OUTER, "f64 = f64.sum (map (\\i -> f64.sum (map (\\j -> w[i] * w[j]) (i+1..<n))) (iota n))", True),
        (Mode.OUTER, "f64 = f64.sum (map (\\i -> f64.sum w[:i]) (iota n))", True),
        (Mode.OUTER, "f64 = f64.sum (map (\\i -> f64.sum w[:i % 4]) (iota (n / 4 * 4)))", False),
        (Mode.OUTER, "f64 = f64.sum (map (\\x -> 2 * f64.sum (map2 (*) x w)) xs)", False),
        (Mode.OUTER, "f64 = f64.sum (map (\\x -> f64.exp (f64.product (map2 (*) w w) * x[0])) xs)", False),
        (Mode.OUTER, "f64 = f64.sum (map (\\x -> f64.exp (f64.sum (scan (+) 0 x))) xs)", False),
        (Mode.INCREMENTAL, f"([m][m]f64, [m]f64) = let zs = {PRODUCT} in (zs, map f64.minimum zs)", True),
        (Mode.INCREMENTAL, f"[m]f64 = map f64.minimum ({PRODUCT})", False),
    ],
    ids=["function", "triangle", "prefixes", "few", "cheap", "no-row", "scan", "kept-product", "product"],
)
def test_applies(mode: Mode, body: str, first: bool) -> None:
    considered: list[Considered] = []
    text = f"entry main [m][n] (xs: [m][n]f64) (w: [n]f64): {body}"
    lower(
        flat_core(compile_text(text, "rows.soac"), mode, CPU, False).flat,
        observe=lambda scheduled: considered.extend(scheduled.considered),
    )
    assert first is any(one.schedule == "inner first" and one.why_not is None for one in considered)
