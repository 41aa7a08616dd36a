"""The last lanes of a loop go on in scalar code, with the bits that lanes give."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import soac
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready

COUNTED = """entry f [n] (ks: [n]i64) (xs: [n]f64): [n]f64 =
  map2 (\\k x -> loop x = x for _i < k do if x < 0.5 then 3.7 * x * (1 - x) else f64.sqrt (x - 0.25)) ks xs"""
SHARED_COUNT = """entry f [n] (ks: [n]i64) (xs: [n]f64): [n]f64 =
  map2 (\\k x -> (loop (x, i) = (x, 0i16) while i64.i16 i < k && x < 1e300 do
    (if x < 0.5 then 3.7 * x * (1 - x) else f64.sqrt (x - 0.25), i + 1)).0) ks xs"""
TEXTS = {"for": COUNTED, "while": SHARED_COUNT}
PROGRAMS = {name: soac.compile(text) for name, text in TEXTS.items()}
TURNS = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7, 40, 3000]), max_size=300)


def path(k: int, x: float) -> float:
    for _ in range(k):
        x = 3.7 * x * (1 - x) if x < 0.5 else math.sqrt(x - 0.25)
    return x


@pytest.mark.parametrize("name", TEXTS)
@given(turns=TURNS, seed=st.integers(0, 1 << 30))
@example(turns=[3000] + [0] * 299, seed=1)
@example(turns=[7] * 100 + [3000, 2999] + [7] * 100, seed=2)
@settings(deadline=None, max_examples=25)
def test_paths_of_any_length(name: str, turns: list[int], seed: int) -> None:
    xs = np.random.default_rng(seed).random(len(turns))
    (found,) = PROGRAMS[name].call("f", [np.array(turns, np.int64), xs])
    assert found.tolist() == [path(k, float(x)) for k, x in zip(turns, xs, strict=True)]


@given(st.lists(st.integers(1, 1 << 20), max_size=200))
@settings(deadline=None, max_examples=25)
def test_numbers_divided_by_constants(numbers: list[int]) -> None:
    def steps(x: int) -> int:
        count = 0
        while x > 1:
            x, count = x // 2 if x % 2 == 0 else 3 * x + 1, count + 1
        return count

    program = soac.compile("""entry f [n] (xs: [n]i64): [n]i32 = map (\\x -> (loop (x, c) = (x, 0i32) while x > 1 do
      (if x % 2 == 0 then x / 2 else 3 * x + 1, c + 1)).1) xs""")
    assert program.f(np.array(numbers, np.int64)).tolist() == [steps(x) for x in numbers]


LEFT_AT = {
    "products": ("while y > 1 do y * 0.5", 4),
    "quotients": ("while y > 1 do y / 1.5", 1),
    "a call": ("while y > 1 do f64.log y", 1),
    "rounds": ("for i < i64.f64 x do y * 0.5", 4),
    "loads": ("while y > 1 do xs[i64.f64 y % n]", 0),
}


@pytest.mark.parametrize("name", LEFT_AT)
def test_how_many_are_left(name: str) -> None:
    """No loop that reads or may fail leaves lanes, and fewer lanes are left where a turn of each takes long."""
    loop, count = LEFT_AT[name]
    kernels = soac.compile(f"entry f [n] (xs: [n]f64) = map (\\x -> loop y = x {loop}) xs").compiled.host.kernels
    text = emit(all_ready(list(kernels), CPU_PASSES))
    assert ("llvm.ctpop.i64" in text) == (count > 0)
    assert not count or re.search(rf"icmp ugt i64 %t\d+, {count}\n", text)
