"""Results take the memory of operands that nothing uses afterwards, and of no others."""

from __future__ import annotations

import re

import numpy as np
import pytest

import soac
from soac.kernels.host_ir.nodes import show_host

PROGRAM = """
-- Every result may have the memory of what it is made of.
entry centred [n] (k: i64) (xs: [n]f64) : [n]f64 =
  loop xs for _i < k do
    let mean = f64.sum xs / f64.i64 n
    in map (\\x -> 1.5 * (x - mean)) xs

-- Rows of any width, in vectors that are not full, in tiles, or a row to a lane.
entry rows [n][m] (k: i64) (xss: [n][m]u8): [n][m]u8 =
  loop xss for _i < k do
    let top = u8.maximum (flatten xss)
    in map (\\xs -> map2 (\\j x -> x * 3 + top + u8.i64 j) (iota m) xs) xss

-- The neighbour's `x` is read, and one's own `v`.
entry waves [n] (k: i64) (xs: [n]f64) (vs: [n]f64) : ([n]f64, [n]f64) =
  loop (xs, vs) for _i < k do
    let vs = map3 (\\i x v -> if i == 0 then v else v + 0.25 * (xs[i-1] - x)) (iota n) xs vs
    in (map2 (+) xs vs, vs)

-- The neighbour is read after it was written, if the memory is the same.
entry neighbours [n] (k: i64) (xs: [n]i64) : [n]i64 =
  loop xs for i < k do tabulate n (\\j -> xs[j] * 3 + xs[(j + 1) % n] + i)

-- Each of the results is made of both.
entry crosswise [n] (k: i64) (xs: [n]i64) (ys: [n]i64) : ([n]i64, [n]i64) =
  loop (xs, ys) for _i < k do
    let zs = map2 (\\x y -> x ^ (y << 1)) xs (rotate 1 ys)
    in (map2 (\\x y -> x * 5 + y) xs ys, zs)

-- A turn keeps what it was given.
entry kept [n] (k: i64) (xs: [n]i64) : ([n]i64, [n]i64) =
  loop (xs: [n]i64, first: [n]i64) = (xs, xs) for i < k do
    (map2 (\\x y -> x * 5 + y + i) xs (rotate 1 xs), if i % 2 == 0 then xs else first)

-- One array under two names.
entry shared [n] (k: i64) (xs: [n]i64) : i64 =
  let (xs, ys) = loop (xs, ys) = (xs, xs) for i < k do
    let zs = rotate 1 (map (+ i) xs)
    in (zs, zs)
  let us = map2 (\\x y -> x * y) xs (rotate 2 ys)
  in i64.sum us + ys[0]
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def overwritten(program: soac.Program, entry: str) -> set[tuple[str, str]]:
    """The results of an entry that have the memory of an operand, with that."""
    (text,) = (t for t in show_host(program.compiled.host).split("\n\n") if t.startswith(f"host {entry} "))
    found = re.findall(r"let \((\w+?)_\d+: \S+\) = scratch \S+ over (\w+?)_\d+", text)
    return set(found)


def test_an_array_that_a_turn_uses_last(program: soac.Program) -> None:
    assert {operand for _, operand in overwritten(program, "centred")} == {"xs"}
    assert {operand for _, operand in overwritten(program, "rows")} == {"xss"}
    assert {operand for _, operand in overwritten(program, "waves")} == {"vs"}
    assert {operand for _, operand in overwritten(program, "crosswise")} == {"xs"}


@pytest.mark.parametrize("entry", ["neighbours", "kept", "shared"])
def test_an_array_that_others_need(program: soac.Program, entry: str) -> None:
    assert overwritten(program, entry) == set()


@pytest.mark.parametrize("n", [1, 3, 64, 5000, 200_000])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_values(program: soac.Program, n: int, k: int) -> None:
    random = np.random.default_rng(n + k)
    xs, vs = random.random(n), random.random(n)
    before = xs.copy(), vs.copy()
    x, v = xs, vs
    for _ in range(k):
        v = np.concatenate([v[:1], v[1:] + 0.25 * (x[:-1] - x[1:])])
        x = x + v
    for _ in range(2):  # in memory that was used before, too
        got = program.waves(k, xs, vs)
        np.testing.assert_allclose(got[0], x)
        np.testing.assert_allclose(got[1], v)
    again = program.waves(k, *got)
    np.testing.assert_array_equal(got[0], program.waves(k, xs, vs)[0])
    np.testing.assert_array_equal(again[0], program.waves(k, x.copy(), v.copy())[0])
    mean = xs
    for _ in range(k):
        mean = 1.5 * (mean - mean.mean())
    np.testing.assert_allclose(program.centred(k, xs), mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(xs, before[0])
    np.testing.assert_array_equal(vs, before[1])


@pytest.mark.parametrize("n", [3, 64, 5000])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_values_of_what_is_kept(program: soac.Program, n: int, k: int) -> None:
    random = np.random.default_rng(n + k)
    xs, ys = random.integers(-9, 9, n), random.integers(-9, 9, n)
    a = xs
    for i in range(k):
        a = a * 3 + np.roll(a, -1) + i
    np.testing.assert_array_equal(program.neighbours(k, xs), a)
    a, b = xs, ys
    for _ in range(k):
        a, b = a * 5 + b, a ^ (np.roll(b, -1) << 1)
    np.testing.assert_array_equal(program.crosswise(k, xs, ys), (a, b))
    a, first = xs, xs
    for i in range(k):
        a, first = a * 5 + np.roll(a, -1) + i, a if i % 2 == 0 else first
    np.testing.assert_array_equal(program.kept(k, xs), (a, first))
    a = xs
    for i in range(k):
        a = np.roll(a + i, -1)
    assert program.shared(k, xs) == (a * np.roll(a, -2)).sum() + a[0]


@pytest.mark.parametrize("m", [1, 3, 8, 17, 64, 130])
def test_rows(program: soac.Program, m: int) -> None:
    for n in (1, 70, 1000):
        xss = np.random.default_rng(m).integers(0, 255, (n, m)).astype(np.uint8)
        expected = xss
        for _ in range(4):
            expected = expected * np.uint8(3) + expected.max() + np.arange(m).astype(np.uint8)
        np.testing.assert_array_equal(program.rows(4, xss), expected)


def test_one_buffer_is_enough(program: soac.Program) -> None:
    """The turns of a loop do not change the place of a result: two buffers would take turns."""
    xs = np.ones(300_000)
    assert len({program.centred(k, xs).ctypes.data for k in (1, 2, 3, 4, 5)}) == 1
