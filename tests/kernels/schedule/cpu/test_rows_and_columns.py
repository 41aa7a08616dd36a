"""Reductions of the rows and columns of a large matrix, in one pass, on sizes around groups and chunks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import soac
from soac.ir.version_tree import sites
from soac.kernels.host_ir.nodes import show_host
from soac.kernels.schedule.cpu import rows_and_columns, rows_side_by_side
from soac.kernels.schedule.cpu.rows_side_by_side import LEAST_SIDE
from soac.kernels.schedule.cpu.streamed_rows import LEAST_ROWS
from soac.kernels.schedule.cpu.unroll_and_jam import ROWS

PROGRAM = """
def dot [n] (x: [n]i32) (y: [n]i32): i32 = i32.sum (map2 (*) x y)
entry of_result [n][m] (a: [n][m]i32) (x: [m]i32): [m]i32 =
  let y = map (dot x) a in map (dot y) (transpose a)
entry of_others [n][m] (a: [n][m]i32) (x: [m]i32) (y: [n]i32): ([m]i32, [n]i32) =
  (map (dot y) (transpose a), map (dot x) a)
entry around [n][m] (a: [n][m]i32) (x: [m]i32) (y: [n]i32): ([n]i32, [m]i32) =
  let u = map2 (\\row y -> 3 * dot row x - y) a y
  let v = map2 (\\c x -> x + 2 * dot c (map (+ 1) u)) (transpose a) x
  in (u, v)
entry again [n][m] (a: [n][m]i32) (x: [m]i32): [m]i32 =
  loop x for k < 3i64 do
    let y = map (\\row -> dot row x & 7) a
    in map2 (\\c x -> (x + dot c y) & 7) (transpose a) x
entry places [n][m] (a: [n][m]i32): ([n]i32, [n]i64, [m]i32) =
  let larger (x, i) (y, j) = if x > y || (x == y && i < j) then (x, i) else (y, j)
  let (most, at) = unzip (map (\\row -> reduce_comm larger (i32.lowest, -1) (zip row (iota m))) a)
  in (most, at, map i32.minimum (transpose a))
entry spelled [n][m] (a: [n][m]i32) (x: [m]i32): ([n]i32, [m]i32) =
  (tabulate n (\\i -> i32.sum (tabulate m (\\j -> x[j] * a[i, j]))),
   tabulate m (\\j -> i32.sum (tabulate n (\\i -> a[i, j] * a[i, j]))))
"""
APART = """
def dot [n] (x: [n]i32) (y: [n]i32): i32 = i32.sum (map2 (*) x y)
entry backwards [n][m] (a: [n][m]i32) (x: [m]i32): [m]i32 =
  let y = map (dot x) a in map (dot (reverse y)) (transpose a)
entry between [n][m] (a: *[n][m]i32) (x: [m]i32): ([n]i32, [m]i32) =
  let y = map (dot x) a
  let a[0, 0] = 100
  in (y, map i32.sum (transpose a))
entry divided [n][m] (a: [n][m]i32) (x: [m]i32): ([n]i32, [m]i32) =
  (map (\\row -> dot row x / x[0]) a, map i32.sum (transpose a))
entry scaled [n][m] (a: [n][m]i32) (x: [m]i32): [m]i32 =
  let y = map (dot x) a in map (\\c -> dot c y * y[0]) (transpose a)
entry others [n][m] (a: [n][m]i32) (x: [m]i32): [m]i32 =
  let y = map (dot x) a
  in map (\\c -> i32.sum (map2 (\\e i -> e * y[i] * y[i / 2]) c (iota n))) (transpose a)
entry overwritten [n][m] (a: [n][m]i32) (x: *[m]i32): ([n]i32, [m]i32, [m]i32) =
  let y = map (dot x) a
  let x[0] = 100
  in (y, x, map i32.sum (transpose a))
entry indexed [n][m] (a: [n][m]i32) (x: [m]i32) (k: i64): ([n]i32, i32, [m]i32) =
  (map (\\row -> dot row x + x[k]) a, assert (k == 0) 1, map i32.sum (transpose a))
"""
SIDES = """
entry product [n][m] (a: [n][m]i32) (x: [m]i32) (y: [n]i32): [n]i32 =
  map2 (\\row y -> y - i32.sum (map2 (*) row x)) a y
entry both [n][m] (a: [n][m]i32): ([n]i32, [n]i32) = unzip (map (\\row -> (i32.sum row, i32.maximum row)) a)
entry deep [l][n][m] (a: [l][n][m]i32) (x: [m]i32): [l][n]i32 = map (map (\\row -> i32.sum (map2 (*) row x))) a
"""
HEIGHTS = [LEAST_SIDE, LEAST_SIDE + 1, 2 * LEAST_ROWS, 2 * LEAST_ROWS + ROWS + 3]
WIDTHS = [LEAST_SIDE, LEAST_SIDE + 5, 300]


def compiled(text: str) -> Iterator[soac.Program]:
    """The program, for which small matrices are large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_side_by_side, "LEAST_BYTES", 1 << 8)
        patch.setattr(rows_side_by_side, "LEAST_ROW_BYTES", 4 * LEAST_SIDE)
        yield soac.compile(text)


@pytest.fixture(scope="module")
def program() -> Iterator[soac.Program]:
    yield from compiled(PROGRAM)


@pytest.fixture(scope="module")
def apart() -> Iterator[soac.Program]:
    yield from compiled(APART)


@pytest.fixture(scope="module")
def sides() -> Iterator[soac.Program]:
    yield from compiled(SIDES)


def numbers(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    source = np.random.default_rng(8)
    a, x, y = (source.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (m,), (n,)))
    return a, x, y


@pytest.mark.parametrize("n", [0, 1, *HEIGHTS])
@pytest.mark.parametrize("m", [0, 1, *WIDTHS])
@pytest.mark.parametrize(("outer", "threads"), [(True, 1), (True, 2), (False, 2)])
def test_rows_and_columns(program: soac.Program, n: int, m: int, outer: bool, threads: int) -> None:
    a, x, y = numbers(n, m)
    forced = {site.name: outer for site in sites(program.compiled.flat)}

    def call(entry: str, *args: np.ndarray) -> list[np.ndarray]:
        return program.call(entry, list(args), forced=forced, threads=threads)

    np.testing.assert_array_equal(call("of_result", a, x)[0], (a @ x) @ a)
    columns, rows = call("of_others", a, x, y)
    np.testing.assert_array_equal(columns, y @ a)
    np.testing.assert_array_equal(rows, a @ x)
    u, v = call("around", a, x, y)
    np.testing.assert_array_equal(u, 3 * (a @ x) - y)
    np.testing.assert_array_equal(v, x + 2 * ((u + 1) @ a))
    z = x
    for _ in range(3):
        z = (z + ((a @ z) & 7) @ a) & 7
    np.testing.assert_array_equal(call("again", a, x)[0], z)
    most, at, least = call("places", a)
    np.testing.assert_array_equal(most, a.max(1, initial=-(2**31)))
    np.testing.assert_array_equal(at, a.argmax(1) if m else np.full(n, -1))
    np.testing.assert_array_equal(least, a.min(0, initial=2**31 - 1))
    rows, columns = call("spelled", a, x)
    np.testing.assert_array_equal(rows, a @ x)
    np.testing.assert_array_equal(columns, (a * a).sum(0))


def test_rows_too_long_for_a_cache(program: soac.Program) -> None:
    a, x, _ = numbers(LEAST_SIDE, rows_and_columns.MOST_COLUMNS + 1)
    np.testing.assert_array_equal(program.call("of_result", [a, x])[0], (a @ x) @ a)


def test_every_pair_has_one_pass_and_others_none(program: soac.Program, apart: soac.Program) -> None:
    functions = [text for text in show_host(program.compiled.host).split("\n\n") if text.startswith("host ")]
    assert len(functions) == 6
    assert all("one_pass" in text for text in functions)
    assert "one_pass" not in show_host(apart.compiled.host)


def test_what_is_no_pair(apart: soac.Program) -> None:
    a, x, _ = numbers(100, 90)
    x[0], b = 3, a.copy()
    b[0, 0] = 100
    y = a @ x
    np.testing.assert_array_equal(apart.call("backwards", [a, x])[0], y[::-1] @ a)
    np.testing.assert_array_equal(apart.call("between", [a.copy(), x])[1], b.sum(0))
    np.testing.assert_array_equal(apart.call("divided", [a, x])[0], y // 3)
    np.testing.assert_array_equal(apart.call("scaled", [a, x])[0], (y @ a) * y[0])
    np.testing.assert_array_equal(apart.call("others", [a, x])[0], (y * y[np.arange(100) // 2]) @ a)
    for found, wanted in zip(apart.call("overwritten", [a, x.copy()]), (y, [100, *x[1:]], a.sum(0)), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(soac.SoacError, match="index \\[90\\]"):
        apart.call("indexed", [a, x, np.int64(90)])


@pytest.mark.parametrize("n", [0, 1, *HEIGHTS])
@pytest.mark.parametrize("m", [0, 1, *WIDTHS])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_side_by_side(sides: soac.Program, n: int, m: int, threads: int) -> None:
    a, x, y = numbers(n, m)
    np.testing.assert_array_equal(sides.call("product", [a, x, y], threads=threads)[0], y - a @ x)
    total, most = sides.call("both", [a], threads=threads)
    np.testing.assert_array_equal(total, a.sum(1))
    np.testing.assert_array_equal(most, a.max(1, initial=-(2**31)))
    several = np.stack([a, a + 1, a - 2])
    np.testing.assert_array_equal(sides.call("deep", [several, x], threads=threads)[0], several @ x)
