"""What is read at indices that a filter has kept, and beside them, is read in the pass of the filter."""

from __future__ import annotations

import numpy as np
import pytest

import soac

RUNS = """
entry runs [n] (xs: [n]i32) = map (\\i -> xs[i]) (filter (\\i -> i == 0 || xs[i] != xs[i - 1]) (iota n))
entry ends [n] (xs: [n]u8) (ps: [n]bool) = map (\\i -> xs[i] ^ xs[i + 1]) (filter (\\i -> ps[i]) (iota n))
entry halves [n] (xs: [n]i16) (ps: [n]bool) =
  let is = filter (\\i -> ps[i]) (iota n)
  in (map (\\i -> if i > 0 then xs[i - 1] / xs[i] else xs[i]) is, is)
"""


@pytest.mark.parametrize("n", [0, 1, 2, 63, 1000])
def test_indices_that_are_kept(n: int) -> None:
    """Nothing is read, divided or checked where nothing is kept."""
    rng = np.random.default_rng(n)
    prog = soac.compile(RUNS)
    xs = rng.integers(0, 3, n).astype(np.int32)
    assert prog.call("runs", [xs])[0].tolist() == [x for i, x in enumerate(xs) if i == 0 or x != xs[i - 1]]
    bytes_, keeps = rng.integers(0, 256, n).astype(np.uint8), rng.random(n) < 0.4
    keeps[n - 1 :] = False
    kept = np.flatnonzero(keeps)
    assert np.array_equal(prog.call("ends", [bytes_, keeps])[0], bytes_[kept] ^ bytes_[kept + 1])
    divisors = rng.integers(1, 9, n).astype(np.int16)
    divisors[~keeps & (rng.random(n) < 0.5)] = 0
    before = np.concatenate([[0], divisors])[:-1]
    want = [b // d if i > 0 else d for i, (b, d) in enumerate(zip(before, divisors, strict=True)) if keeps[i]]
    values, places = prog.call("halves", [divisors, keeps])
    assert values.tolist() == want
    assert np.array_equal(places, kept)


def test_reads_at_kept_indices_fail_as_they_did() -> None:
    prog = soac.compile(RUNS)
    keeps = np.zeros(100, np.bool_)
    keeps[99] = True
    with pytest.raises(soac.RunError, match=r"index \[100\] out of bounds"):
        prog.call("ends", [np.zeros(100, np.uint8), keeps])
    with pytest.raises(soac.RunError, match="division by zero"):
        prog.call("halves", [np.zeros(100, np.int16), keeps])
