"""What fails stays where it fails: loops that do not run, branches not taken, maps of no rows, one in another."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.errors import RunError
from soac.ir.interpret import interpret

FAILING = {
    "index": "xs[k]",
    "first": "xs[0]",
    "quotient": "7 / k",
    "power": "2 ** k",
    "assertion": "assert (k > 0) 5",
}
AROUND = {
    "for": "(loop a = 1 for _i < t do a + {})",
    "while": "(loop a = 1 while a < t do a + 9 + {} * 0)",
    "if": "(if t > 1 then {} else 3)",
    "map": "i64.sum (map (\\i -> i + {}) (iota t))",
    "sure": "i64.sum (map (\\i -> i + {}) (iota 3))",
}
GIVEN: tuple[tuple[int, int, list[int]], ...] = (
    (0, -1, []), (0, 0, []), (1, 0, [4, 5]), (1, 5, []), (2, 0, []), (2, -1, [4, 5]), (2, 1, [4, 5]),
)  # fmt: skip
"""t, k and xs."""


@cache
def program(outer: str, inner: str) -> Prog:
    """All that may fail by itself, each an entry."""
    text = "".join(
        f"entry {name} [n] (xs: [n]i64) (t: i64) (k: i64): i64 =\n"
        f"  {AROUND[outer].format(AROUND[inner].format(failing))}\n"
        for name, failing in FAILING.items()
    )
    return inline(compile_text(text, "failing.soac"))


def outcome(prog: Prog, name: str, t: int, k: int, xs: list[int]) -> int | None:
    args = [np.array(xs, np.int64), np.int64(t), np.int64(k)]
    try:
        return int(interpret(prog, name, args)[0][0])
    except RunError:
        return None


@pytest.mark.parametrize(("outer", "inner"), [*itertools.product(AROUND, repeat=2)])
def test_what_is_not_reached_does_not_fail(outer: str, inner: str) -> None:
    before = program(outer, inner)
    after = fuse(simplify(before))
    for name, given in itertools.product(FAILING, GIVEN):
        expected = outcome(before, name, *given)
        assert expected is None or outcome(after, name, *given) == expected, (name, given)
