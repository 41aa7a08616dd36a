"""The first element of a filter, and whether there is one, are found without the filter."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.machine import Mode
from tests.flatten.test_goldens import counts, flat

FIRST = """
entry bare [n] (xs: [n]i32): i32 = (filter (> 5) xs)[0]
entry spot [n] (xs: [n]i32): i64 = let is = filter (\\i -> xs[i] > 5) (iota n) in if null is then -1 else is[0]
entry both [n] (xs: [n]i32): (i32, i64) = let ys = filter (> 5) xs in (if null ys then -1 else ys[0], length ys)
entry some [n] (xs: [n]i32): [4]bool = let k = length (filter (> 5) xs) in [k > 0, 0 < k, k == 0, 0 >= k]
entry beside [n] (xs: [n]i32): [n]i32 =
  let ys = filter (> 5) xs in map (\\x -> if length ys > 0 then x + ys[0] else x) xs
entry rows [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> let ys = filter (> 5) xs in if length ys != 0 then ys[0] else -1) xss
entry count [n] (xs: [n]i32): i64 = let k = length (filter (> 5) xs) in if k > 0 then k else -7
entry twice [n] (xs: [n]i32): i32 =
  let ys = filter (> 5) xs
  let zs = filter (> (if null ys then 0 else ys[0])) xs
  in if null zs then -2 else zs[0]
entry overwritten [n] (xs: *[n]i32): (i32, *[n]i32) =
  let ys = filter (> 5) xs let xs = xs with [0] = 9 in (ys[0], xs)
"""


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 5000, 70000])
@pytest.mark.parametrize("greatest", [3, 7, 30])
def test_values_are_those_of_the_filter(n: int, greatest: int) -> None:
    rng, prog = np.random.default_rng(n), soac.compile(FIRST)
    xs = np.where(rng.random(n) < 0.99, -3, rng.integers(-20, greatest, n)).astype(np.int32)
    at = np.flatnonzero(xs > 5).tolist()
    ys = xs[at].tolist()
    first = ys[0] if ys else -1
    assert prog.call("spot", [xs])[0] == (at[0] if at else -1)
    assert tuple(prog.call("both", [xs])) == (first, len(ys))
    assert prog.call("some", [xs])[0].tolist() == [bool(ys), bool(ys), not ys, not ys]
    assert prog.call("beside", [xs])[0].tolist() == (xs + (ys[0] if ys else 0)).tolist()
    rows = xs.reshape(-1, n if n < 64 else n // 8)
    assert prog.call("rows", [rows])[0].tolist() == [next((x for x in row if x > 5), -1) for row in rows.tolist()]
    assert prog.call("count", [xs])[0] == (len(ys) or -7)
    assert prog.call("twice", [xs])[0] == next((x for x in xs.tolist() if x > (ys[0] if ys else 0)), -2)
    if ys:
        assert prog.call("bare", [xs])[0] == first
        assert prog.call("overwritten", [xs.copy()])[0] == first


@pytest.mark.parametrize("n", [0, 3, 3000])
def test_the_first_of_nothing_fails_as_it_did(n: int) -> None:
    prog = soac.compile(FIRST)
    with pytest.raises(soac.RunError, match=r"index \[0\] out of bounds for array of shape \[0\]"):
        prog.call("bare", [np.zeros(n, np.int32)])


def test_nothing_is_scanned_or_stored() -> None:
    text = (
        "def main [n] (xs: [n]i32): i64 = let is = filter (\\i -> xs[i] > 5) (iota n) in if null is then -1 else is[0]"
    )
    assert counts(flat(text, Mode.INCREMENTAL), "SegRed", "SegScan", "SegScatter") == (1, 0, 0)
