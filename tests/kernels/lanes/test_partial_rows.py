"""Some elements of short rows at places of their own: NumPy's values, for elements of each kind, in range and not."""

from __future__ import annotations

import numpy as np
import pytest

import soac

TEXT = """
entry rows [n] (k: i64) (starts: [n]i64) (lengths: [n]i64) (xs: [n]T): [k]T =
  let is = flatten (map2 (\\s l -> map (\\j -> if j < l then s + j else -1) (iota N)) starts lengths)
  let vs = flatten (map (\\x -> map (\\j -> x ^ T.i64 j) (iota N)) xs)
  in scatter (replicate k 0) is vs

entry backwards [n] (k: i64) (ends: [n]i64) (lengths: [n]i64) (xs: [n]T): [k]T =
  let is = flatten (map2 (\\e l -> map (\\j -> if j >= l then -1 else e - j) (iota N)) ends lengths)
  let vs = flatten (map (\\x -> map (\\j -> x ^ T.i64 j) (iota N)) xs)
  in scatter (replicate k 0) is vs
"""


@pytest.mark.parametrize(("prim", "count"), [("u8", 5), ("i16", 4)])
def test_rows_of_varying_length(prim: str, count: int) -> None:
    prog = soac.compile(TEXT.replace("N", str(count)).replace("T", prim))
    dtype, random = np.dtype(f"{prim[0]}{int(prim[1:]) // 8}"), np.random.default_rng(count)
    for n in (0, 1, 15, 16, 33, 500):
        lengths = random.integers(0, count + 1, n)
        ends = lengths.cumsum()
        xs = random.integers(0, 100, n).astype(dtype)
        numbers = np.arange(count)
        taken = numbers < lengths[:, None]
        values = xs[:, None] ^ numbers.astype(dtype)
        for k in (int(lengths.sum()), int(lengths.sum()) // 2):
            for shift in (0, 3, -5):
                places = (ends - lengths)[:, None] + numbers + shift
                inside = taken & (places >= 0) & (places < k)
                wanted = np.zeros(k, dtype)
                wanted[places[inside]] = values[inside]
                np.testing.assert_array_equal(prog.rows(k, ends - lengths + shift, lengths, xs), wanted)
                places = (ends - 1)[:, None] - numbers + shift
                inside, wanted = taken & (places >= 0) & (places < k), np.zeros(k, dtype)
                wanted[places[inside]] = values[inside]
                np.testing.assert_array_equal(prog.backwards(k, ends - 1 + shift, lengths, xs), wanted)
