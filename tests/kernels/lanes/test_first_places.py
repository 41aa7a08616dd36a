"""`all`, `any` and searches for the first that fits, over one long array: values, wherever the first one is."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.passes.search_first import LEAST_PIECES, PIECE

CHUNK = 1 << 16
TEXT = """
entry some [n] (k: i64) (xs: [n]i8): bool = any (== 1) xs
entry every [n] (k: i64) (xs: [n]i8): bool = all (!= 1) xs
entry first [n] (k: i64) (xs: [n]i8): i64 =
  i64.minimum (map2 (\\i x -> if x == 1 then i else i64.highest) (iota n) xs)
entry below [n] (k: i64) (xs: [n]i8): i64 = i64.minimum (map2 (\\i x -> if x != 1 then k else i) (iota n) xs)
entry ordered [n] (k: i64) (xs: [n]i8): i64 =
  let (f, i) = reduce (\\(f, i) (g, j) -> if f then (f, i) else (g, j)) (false, -1)
                      (map2 (\\i x -> (x == 1, i ^ k)) (iota n) xs)
  in if f then i else -1
entry counted [n] (k: i64) (xs: [n]i8): i64 = loop r = -1 for i < n do if r < 0 && xs[i] == 1 then i else r
entry until [n] (k: i64) (xs: [n]i8): bool = loop ok = true for x in xs do if x == 1 then false else ok
entry late [n] (k: i64) (xs: [n]i8): i64 =
  (loop (found, r) = (false, k) for i < n do if found then (found, r) else (xs[i] == 1, r + i)).1
entry rows [n] (k: i64) (xs: [n]i8): [3]i64 =
  map (\\j -> i64.minimum (map2 (\\i x -> if x == 1 && i >= j then i + j else n) (iota n) xs)) (iota 3)
"""
"""Where the first 1 is, in several forms; `k` is another number, which may be one of the places."""


def wanted(entry: str, k: int, xs: np.ndarray) -> object:
    n, (places,) = len(xs), np.nonzero(xs == 1)
    most = np.iinfo(np.int64).max
    first = int(places[0]) if len(places) else None
    match entry:
        case "some":
            return first is not None
        case "every" | "until":
            return first is None
        case "first":
            return most if first is None else first
        case "below":
            return min(k if len(places) < n else most, most if first is None else first)
        case "ordered":
            return -1 if first is None else first ^ k
        case "counted":
            return -1 if first is None else first
        case "late":
            rounds = n if first is None else first + 1
            return k + rounds * (rounds - 1) // 2
        case _:
            found = [[p for p in places if p >= j] for j in range(3)]
            return [min(int(p[0]) + j, n) if p else (n if n else most) for j, p in enumerate(found)]


def arrays(n: int) -> list[np.ndarray]:
    """The first one at both ends, and about the bounds of pieces and chunks; more than one, nearly all; none, all."""
    places = {0, 1, PIECE - 1, PIECE, LEAST_PIECES * PIECE, CHUNK - 1, CHUNK, CHUNK + 70, n // 2, n - 1}
    made = []
    for place in sorted(p for p in places if 0 <= p < n):
        xs = np.zeros(n, np.int8)
        xs[place] = 1
        made.append(xs)
    several = np.zeros(n, np.int8)
    several[n // 3 :: 7] = 1
    late = np.ones(n, np.int8)
    late[n - n // 50 :] = 0
    return [*made, several, late, np.zeros(n, np.int8), np.ones(n, np.int8)]


@pytest.mark.parametrize("n", [0, 1, 100, LEAST_PIECES * PIECE - 1, LEAST_PIECES * PIECE + 5, 3 * CHUNK + 100])
def test_values(n: int) -> None:
    program = soac.compile(TEXT)
    for threads in (1, 2):
        for entry in program.entries:
            call = program.prepare(entry, threads=threads)
            for xs in arrays(n):
                for k in (-5, n // 2, 1 << 40):
                    (found,) = call([k, xs])
                    assert np.array_equal(found, wanted(entry, k, xs)), (entry, threads, k, np.nonzero(xs)[0])


def test_what_is_behind_may_fail() -> None:
    """An element behind the one that decides need not be looked at, the one before it is."""
    program = soac.compile("entry main [n] (xs: [n]i64): bool = any (\\x -> 6 / x == 3) xs")
    xs = np.ones(3 * CHUNK, np.int64)
    xs[5], xs[-1] = 2, 0
    assert program.main(xs)
    xs[2] = 0
    with pytest.raises(soac.RunError):
        program.main(xs)
