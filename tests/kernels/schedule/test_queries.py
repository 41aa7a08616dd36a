"""Which statements may be executed later than where they stand."""

from __future__ import annotations

import pytest

from soac.frontend.compile import compile_text
from soac.kernels.schedule.queries import may_wait

PROGRAM = """
def cleared [n] (k: i64) (xs: *[n]i64): *[n]i64 = if k <= 0 then xs else cleared (k - 1) (xs with [k - 1] = 0)

entry main [n] (xs: *[n]i64) (ys: *[n]i64) (k: i64) =
  let first = scan (+) 0 xs
  let between = %s
  in (first, between)
"""


@pytest.mark.parametrize(
    ("between", "may"),
    [
        ("map (+ 1) xs", True),
        ("if k > 3 then map (+ 1) xs else map (+ 2) ys", True),
        ("cleared k ys", False),
        ("ys with [0] = 7", False),
        ("loop ys for i < k do ys with [i] = 7", False),
        ("if k > 3 then ys with [0] = 7 else xs", False),
        ("scatter ys (map (% n) xs) xs", False),
        ("scan (+) 0 first", False),
    ],
)
def test_a_statement_waits_for_what_overwrites_and_reads_nothing(between: str, may: bool) -> None:
    (main,) = [fun for fun in compile_text(PROGRAM % between, "main.soac").functions if fun.entry is not None]
    stms = main.body.stms
    (at,) = [k for k, stm in enumerate(stms) if stm.pat and stm.pat[0].name.base.startswith("first")]
    assert may_wait(stms[at], stms[at + 1 :]) == may
    assert stms[at + 1 :], "nothing stands between"
