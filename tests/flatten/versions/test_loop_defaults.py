"""The default where few points have loops: the threads of the points, unless a round is worth more threads."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.version_tree import sites

LU = """
entry main [b][n] (as: [b][n][n]f64): [b][n][n]f64 =
  map (\\a -> loop a = copy a for k < n do
         let m = n - (k + 1)
         let row = a[k, k+1:] :> [m]f64
         in a with [k+1:, k+1:] = map (\\r -> map2 (\\x y -> x - 0.5 * y) r row) (a[k+1:, k+1:] :> [m][m]f64)) as
"""
STEPS = """
entry main [b][n] (xs: [b][n]f64): [b][n]f64 =
  map (\\x -> loop x for _i < 3 do
         let s = f64.sum x
         in map (\\e -> e / 2 + s) x) xs
"""
READ = """
entry main [b][n] (xs: [b][n]i64) (m: i64): [b][n]i64 =
  map (\\x -> loop x for i < 3 do
         let k = i64.max 0 (i64.min (n - 1) (m - i))
         let s = i64.sum (x[:k] :> [k]i64)
         in map (+ s) x) xs
"""
SUM = """
entry main [b][n] (xs: [b][n]f64): f64 =
  f64.sum (map (\\x -> let ys = loop x for _i < 3 do (let s = f64.sum x in map (\\e -> e / 2 + s) x) in f64.sum ys) xs)
"""
PAIRS = """
entry main [b][n] (xs: [b][n]f32): [b][n]f32 =
  map (\\x -> loop x for _i < 2 do map (\\e -> f32.sum (map (\\d -> (e - d) / 8) x)) x) xs
"""
SCAN = STEPS.replace("map (\\e -> e / 2 + s) x", "map (/ s) (scan (+) 0 x)")
NO_LOOP = "entry main [b][n] (xs: [b][n]f64): [b][n]f64 = map (\\x -> map (/ f64.sum x) (scan (+) 0 x)) xs"


def test_kinds() -> None:
    """Threads are compared where loops hold maps and reductions; elsewhere points."""
    for text, kind in ((LU, "even"), (STEPS, "even"), (READ, "even"), (SCAN, "outer"), (NO_LOOP, "outer")):
        first = sites(soac.compile(text).compiled.flat)[0].thresholds[0]
        assert first.split(".")[-1] == f"suff_{kind}_0"


@pytest.mark.parametrize(
    ("points", "n", "threads", "outer"),
    [
        (1, 40, 1, True),
        (1, 40, 64, True),  # rounds of 39 * 39 elements are over before threads are woken
        (1, 140, 8, True),
        (1, 140, 16, False),
        (2, 140, 16, True),
        (1, 300, 2, True),
        (1, 300, 4, False),
        (1, 530, 1, False),  # rounds are worth launches
        (8, 300, 16, True),
    ],
)
def test_defaults(points: int, n: int, threads: int, outer: bool) -> None:
    program, args = soac.compile(LU), [np.zeros((points, n, n))]
    with program.settings(threads=threads):
        _, trace = program.trace("main", args)
    assert trace[0][2] == outer


def test_long_rows_are_for_all_threads() -> None:
    """Two rows of 2^21 elements, eight of 2^19."""
    program = soac.compile(STEPS)
    for points, n, outer in ((2, 1 << 21, False), (8, 1 << 19, True)):
        for threads in (1, 4, 16):
            with program.settings(threads=threads):
                assert program.trace("main", [np.zeros((points, n))])[1][0][2] == outer


@pytest.mark.parametrize(("points", "n", "inside"), [(1, 400, True), (1, 600, False), (3, 500, True), (3, 600, False)])
def test_no_core_has_a_turn_of_long_work(points: int, n: int, inside: bool) -> None:
    """Rounds of n * n elements: by default a core has a whole point where these are many or its rounds are short."""
    program = soac.compile(PAIRS)
    with program.settings(threads=1 + points):
        _, trace = program.trace("main", [np.zeros((points, n), np.float32)])
    taken = {guard.split(".")[-1]: choice for guard, _, choice in trace}
    assert not taken["suff_even_0"]
    assert taken["suff_intra_0"] == inside


def test_below_a_sum() -> None:
    """The lanes of a reduction are points: for few points the map is apart, in their threads."""
    program, args = soac.compile(SUM), [np.ones((2, 9))]
    _, trace = program.trace("main", args)
    assert [(guard.split(".")[-1], taken) for guard, _, taken in trace] == [
        ("suff_outer_0", False),
        ("suff_even_0", True),
    ]


@pytest.mark.parametrize("text", [LU, STEPS, SUM])
def test_versions_agree(text: str) -> None:
    program = soac.compile(text)
    name = sites(program.compiled.flat)[0].thresholds[-1]
    for points, n in ((0, 3), (1, 0), (1, 1), (3, 2), (2, 17)):
        arg = np.random.default_rng(n).integers(0, 9, (points, n, n) if text == LU else (points, n)).astype(np.float64)
        one, other = (program.trace("main", [arg], forced={name: side})[0][0] for side in (True, False))
        np.testing.assert_array_equal(one, other)
