"""Loops over vectors of a few elements give what they gave; `golden/unroll` has what they become."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import soac
from soac.ir.core import Loop
from soac.ir.traverse import all_exps

PROGRAM = """
def product (a: [4]u32) (b: [4]u32): [4]u32 =
  [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]]
entry fibonacci [n] (ns: [n]i64): [n]u32 =
  map (\\n -> (loop p = [1, 0, 0, 1] for _i < n do product p [1, 1, 1, 0])[1]) ns
entry halved [n] (xs: [n][2]i32): [n][2]i32 =
  map (\\x -> loop x = x while x[0] > x[1] do [x[0] / 2, x[1]]) xs
entry updated [n] (xs: [n][3]f64) (k: i64): [n][3]f64 =
  map (\\x -> loop s = copy x for i < k do
    let s = s with [0] = s[1]
    let s = s with [1] = s[2] - f64.i64 i
    in s with [2] = -s[0]) xs
entry nested [n] (xs: [n]i64): [n]i64 =
  map (\\x ->
    let s = loop s = [x, 0] for i < 3 do
      let t = loop t = s for j < i do if t[0] % 2 == j then [t[0] + 1, t[1]] else [t[1], t[0]]
      in [t[1] + i, t[0]]
    in 10 * s[0] + s[1]) xs
"""


@cache
def program() -> soac.Program:
    return soac.compile(PROGRAM)


def test_no_arrays_are_left_in_loops() -> None:
    functions = {f.entry.name: f for f in program().compiled.flat.functions if f.entry}
    for name in ("fibonacci", "halved", "updated"):
        loops = [exp for exp in all_exps(functions[name].body) if isinstance(exp, Loop)]
        assert loops
        assert not any(param.type.shape for loop in loops for param in loop.params), name


def test_values() -> None:
    numbers = [0, 1]
    for _ in range(60):
        numbers.append(numbers[-1] + numbers[-2])
    assert program().fibonacci(np.arange(60)).tolist() == [x % 2**32 for x in numbers[:60]]
    pairs = np.array([[5, 7], [100, 7], [-3, -9], [1, 0]], np.int32)
    assert program().halved(pairs[[0, 1, 3]]).tolist() == [[5, 7], [6, 7], [0, 0]]


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_updates(rounds: int) -> None:
    xs = np.array([[0.0, -0.0, np.nan], [1, 2, 3], [np.inf, -np.inf, 0.5]])
    wanted = xs.copy()
    for i in range(rounds):
        for row in wanted:
            row[0] = row[1]
            row[1] = row[2] - i
            row[2] = -row[0]
    found = program().updated(xs, rounds)
    np.testing.assert_array_equal(found, wanted)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


def test_a_loop_in_a_loop() -> None:
    def nested(x: int) -> int:
        s = (x, 0)
        for i in range(3):
            t = s
            for j in range(i):
                t = (t[0] + 1, t[1]) if t[0] % 2 == j else (t[1], t[0])
            s = (t[1] + i, t[0])
        return 10 * s[0] + s[1]

    xs = np.arange(-20, 20)
    assert program().nested(xs).tolist() == [nested(int(x)) for x in xs]
