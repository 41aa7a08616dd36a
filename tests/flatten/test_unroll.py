"""`#[unroll]`: loops whose number of iterations is known are written out, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Loop
from soac.ir.traverse import all_exps


def loops(text: str) -> int:
    compiled = soac.compile(text).compiled
    return sum(isinstance(exp, Loop) for fun in compiled.flat.functions for exp in all_exps(fun.body))


SUM = "def main (xs: [5]i32): i32 = {attr} loop s = 1 for i < {n} do s * 3 + xs[i % 5]"
UPDATES = (
    "def main [n] (xs: *[n]i32): *[n]i32 = {attr} loop xs for i < 4 do if n > i then xs with [i] = xs[0] + 1 else xs"
)


@pytest.mark.parametrize(("n", "left"), [("5", 0), ("64", 0), ("65", 1), ("i64.i32 xs[0]", 1)])
def test_loops_are_written_out(n: str, left: int) -> None:
    assert loops(SUM.format(attr="#[unroll]", n=n)) == left
    assert loops(SUM.format(attr="", n=n)) == 1


@pytest.mark.parametrize("n", ["0", "1", "5", "64", "65"])
def test_they_mean_the_same(n: str) -> None:
    xs = np.arange(5, dtype=np.int32) - 2
    unrolled, plain = (soac.compile(SUM.format(attr=attr, n=n)) for attr in ("#[unroll]", ""))
    assert unrolled.main(xs) == plain.main(xs)


@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_updates_in_place(n: int) -> None:
    xs = np.arange(n, dtype=np.int32)
    unrolled, plain = (soac.compile(UPDATES.format(attr=attr)) for attr in ("#[unroll]", ""))
    np.testing.assert_array_equal(unrolled.main(xs), plain.main(xs))
    np.testing.assert_array_equal(xs, np.arange(n))
