"""Windows `xs[i:i + w]`: in bounds where the width is, and the start is at most what that leaves; nothing wraps."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.errors import RunError
from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.kernel_ir.nodes import KLet, KOp
from soac.kernels.kernel_ir.traverse import all_statements

LEAST, MOST = -(1 << 63), (1 << 63) - 1
TEXT = """
entry sums [n][m] (w: i64) (xs: [n]i32) (is: [m]i64): [m]i32 = map (\\i -> i32.sum xs[i:i+w]) is
entry moving [n] (w: i64) (xs: [n]i32): []i32 = tabulate (n - w + 1) (\\i -> i32.sum xs[i:i+w])
def chosen [m] (s: i64) (bound: i64) (xs: [3]i64) (is: [m]i64): [m]i64 =
  map (\\i -> if i < bound then (if i <= s then xs[i % 2] else xs[2]) else xs[i & 1]) is
entry below [m] (s: i64) (xs: [3]i64) (is: [m]i64): [m]i64 = chosen s (s - 1) xs is
entry under [m] (s: i64) (xs: [3]i64) (is: [m]i64): [m]i64 = chosen s (s + 1) xs is
"""


@pytest.fixture(scope="module")
def program() -> soac.Program:
    return soac.compile(TEXT)


@pytest.mark.parametrize("w", [LEAST, LEAST + 1, -2, -1, 0, 1, 2, 5, 6, MOST - 1, MOST])
def test_windows_in_bounds_have_sums_and_others_fail(program: soac.Program, w: int) -> None:
    xs = np.arange(1, 6, dtype=np.int32)
    for i in (LEAST, LEAST + 5, -6, -5, -1, 0, 1, 3, 4, 5, 6, MOST - 4, MOST):
        if w == 0 or (0 <= w <= 5 and 0 <= i <= 5 - w):
            assert program.sums(w, xs, np.array([0, i])).tolist() == [xs[:w].sum(), xs[i : i + w].sum() if w else 0]
        else:
            with pytest.raises(RunError, match=r"out of bounds|no room for"):
                program.sums(w, xs, np.array([i]))


def test_all_windows_of_an_array_are_checked_once(program: soac.Program) -> None:
    xs = np.arange(100, dtype=np.int32) % 7
    for w in (0, 1, 2, 99, 100):
        assert np.array_equal(program.moving(w, xs), np.convolve(xs, np.ones(w, int))[w - 1 : 100] if w else [0] * 101)
    with pytest.raises(RunError, match="out of bounds"):
        program.moving(-1, xs)
    kernels = [kernel for kernel in program.compiled.host.kernels if "moving_ys" in kernel.name]
    lets = [s.rhs for k in kernels for s in all_statements(k.body) if isinstance(s, KLet) and isinstance(s.rhs, KOp)]
    assert lets
    assert not any(rhs.op is Op.LE and rhs.prim is Prim.I64 for rhs in lets)


def test_a_bound_that_wraps_around_decides_nothing(program: soac.Program) -> None:
    numbers = np.array([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST])
    for s in map(int, numbers):
        wrapped = {k: (s + k + (1 << 63)) % (1 << 64) - (1 << 63) for k in (-1, 1)}
        for name, k in (("below", -1), ("under", 1)):
            wanted = [2 if s < i < wrapped[k] else i % 2 for i in numbers.tolist()]
            assert program.call(name, [s, np.arange(3), numbers])[0].tolist() == wanted
