"""Where native host programs put arrays: large ones at different places of a page."""

from __future__ import annotations

import gc

import soac

PAGE = 4096
FOUR = """
entry f (n: i64): ([n]i64, [n]i64, [n]i64, [n]i64) =
  (iota n, map (+ 1) (iota n), map (* 2) (iota n), replicate n 7)
"""


def test_large_arrays_begin_at_different_places_of_a_page() -> None:
    arrays = soac.compile(FOUR).f(40_961)
    places = [array.ctypes.data % PAGE for array in arrays]
    assert len(set(places)) > 1
    assert all(place % 64 == 0 for place in places)


def test_buffers_of_all_sizes_come_and_go() -> None:
    """What the system gave is what it gets back: sizes around the least large one, several times, some kept."""
    program, kept = soac.compile(FOUR), []
    for n in (0, 1, 7, 8000, 8183, 8184, 8191, 8192, 8193, 70_000, 600_000) * 3:
        arrays = program.f(n)
        kept.append((n, arrays[n % 4]))
        del arrays
        gc.collect()
    for n, array in kept:
        expected = (range(n), range(1, n + 1), range(0, 2 * n, 2), [7] * n)[n % 4]
        assert len(array) == n
        assert array[:: max(1, n // 5)].tolist() == list(expected)[:: max(1, n // 5)]
