"""The default where loops vary over a nest: threads, whose schedule spreads what is long, but for a few points."""

from __future__ import annotations

import numpy as np
import pytest

import soac

ROUNDS = """
entry main [n][d] (ks: [n]i64) (xss: [n][d]i32): [n]i32 =
  map2 (\\k xs -> loop s = 0 for i < k do s / 2 + i32.sum (map (^ s) xs)) ks xss
"""


@pytest.mark.parametrize(("points", "collectives"), [(1, True), (3, True), (4, False), (40, False)])
def test_collectives_are_for_few_points(points: int, collectives: bool) -> None:
    rows = np.arange(5 * points, dtype=np.int32).reshape(points, 5)
    program, args = soac.compile(ROUNDS), [np.arange(points), rows]
    results, trace = program.trace("main", args)
    assert [(guard, taken) for guard, _, taken in trace] == [("main.ys.suff_intra_0", collectives)]
    other, _ = program.trace("main", args, forced={"main.ys.suff_intra_0": not collectives})
    assert np.array_equal(results[0], other[0])


ROWS = "map (\\x -> map (\\y -> y * x ^ y) ys) xs"
SUMS = f"map i64.sum ({ROWS})"


@pytest.mark.parametrize(
    ("body", "outer"),
    [
        (f"[i64.sum ({SUMS})]", True),
        (f"scan (+) 0 ({SUMS})", True),
        (f"reduce (map2 (+)) (replicate m 0) ({ROWS})", False),
        (f"flatten (scan (map2 (+)) (replicate m 0) ({ROWS}))", True),
    ],
)
def test_reductions_of_whole_rows_do_not_stay_in_threads(body: str, outer: bool) -> None:
    """Of many points those of numbers do, and scans."""
    program = soac.compile(f"entry main [n][m] (xs: [n]i64) (ys: [m]i64): []i64 = {body}")
    _, ((_, _, taken), *_) = program.trace("main", [np.arange(3000), np.arange(4)])
    assert taken is outer
