"""Where native host programs put arrays: large ones at different places of a page; what turns of a loop leave each
other."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import llvmlite.binding as llvm
from hypothesis import given
from hypothesis import strategies as st

import soac
from soac.kernels.devices.cpu.runtime.assembly import Word
from soac.kernels.devices.cpu.runtime.functions import FUNCTIONS, runtime

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


TYPES = {"void": None, "ptr": ctypes.c_void_p, "i64": ctypes.c_int64}
CAPACITY = 2
"""The word of a buffer's header."""
STATE = (ctypes.c_int64 * Word.FIRST)()


def function(name: str) -> Callable[..., int]:
    runtime()
    result, params = FUNCTIONS[name]
    return ctypes.CFUNCTYPE(TYPES[result], *map(TYPES.__getitem__, params))(llvm.address_of_symbol(name))


@given(
    st.lists(st.sampled_from([0, 1, 7, 8, 9, 10, 15, 16, 17, 18, 79, 80, 81, 1 << 14, 1 << 20])),
    st.sampled_from([1, 4, 8]),
)
def test_the_memory_of_the_turn_before_is_large_enough(sizes: list[int], width: int) -> None:
    again, put_by, release = map(function, ("soac_host_again", "soac_host_put_by", "soac_host_release"))
    array = (ctypes.c_int64 * 4)()  # buffer, data, size, stride
    for size in sizes:
        array[2], before = size, array[0]
        kept = before and ctypes.c_int64.from_address(before + 8 * CAPACITY).value >= size * width
        assert again(STATE, array, 1, width) == 0
        assert ctypes.c_int64.from_address(array[0] + 8 * CAPACITY).value >= size * width
        assert not kept or array[0] == before
        put_by(array)
    release(array)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 8, 9, 80, 1 << 10, 1 << 14, 1 << 20]))))
def test_what_loops_put_by_is_taken_once(steps: list[tuple[int, int]]) -> None:
    """Six arrays that are made and released in some order: no two have the same memory, and all have room."""
    scratch, spare, end = map(function, ("soac_host_scratch", "soac_host_spare", "soac_host_end"))
    arrays = [(ctypes.c_int64 * 4)() for _ in range(6)]
    for k, size in steps:
        spare(STATE, arrays[k])
        assert arrays[k][0] == 0
        arrays[k][2] = size
        assert scratch(STATE, arrays[k], 1, 8) == 0
        assert ctypes.c_int64.from_address(arrays[k][0] + 8 * CAPACITY).value >= 8 * size
        live = [array[0] for array in arrays if array[0]]
        waiting = list(STATE[Word.SPARES : Word.SPARES + STATE[Word.SPARED]])
        assert len({*live, *waiting}) == len(live) + len(waiting)
    for array in arrays:
        spare(STATE, array)
    end(STATE)
    assert STATE[Word.SPARED] == 0


def test_loops_take_the_buffer_that_they_put_by_last() -> None:
    scratch, spare, end = map(function, ("soac_host_scratch", "soac_host_spare", "soac_host_end"))
    array = (ctypes.c_int64 * 4)(0, 0, 10, 0)
    assert scratch(STATE, array, 1, 8) == 0
    buffer = array[0]
    spare(STATE, array)
    assert scratch(STATE, array, 1, 8) == 0
    assert array[0] == buffer
    spare(STATE, array)
    end(STATE)
