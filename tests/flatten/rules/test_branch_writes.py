"""Branches that write elements in place: programs where the rule fires, and for each of its conditions one that lacks
it alone, where it does not. All of them mean the same on every version."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CUDA, Mode

ROWS = "let zs = scan (+) 0 xs in "
FIRES = {
    "an element on one side": f"{ROWS} if y > 3 then copy zs with [1] = y else zs",
    "on the other side": f"{ROWS} if y > 3 then zs else copy zs with [1] = y",
    "on both sides": f"{ROWS} if y > 3 then copy zs with [1] = y else copy zs with [0] = y",
    "with scalars": f"{ROWS} let (zs, s) = if y > 3 then (copy zs with [1] = y, y * y) else (zs, 0) in map (+ s) zs",
    "of a copy of what is read again": (
        f"{ROWS} let us = if y > 3 then copy zs with [1] = y else copy zs in map2 (*) us zs"
    ),
}
DOES_NOT_FIRE = {
    "nothing is written": f"{ROWS} let us = map (+ y) zs in if y > 3 then us else zs",
    "two elements of one side": f"{ROWS} if y > 3 then (copy zs with [1] = y) with [0] = y else zs",
    "a part": f"{ROWS} if y > 3 then copy zs with [0:2] = [y, y] else zs",
    "another array on the other side": f"{ROWS} let us = map (+ y) zs in if y > 3 then copy zs with [1] = y else us",
    "an array that the side makes": f"{ROWS} if y > 3 then map (* 2) zs with [1] = y else zs",
    "a side that makes arrays": f"{ROWS} if y > 3 then copy zs with [1] = i32.sum (map (* y) (scan (+) 0 zs)) else zs",
    "what was written is read": (
        f"{ROWS} let (us, s) = if y > 3 then let us = copy zs with [1] = y in (us, us[2] * us[1]) else (zs, 0)"
        " in map (+ s) us"
    ),
    "one array twice": (
        f"{ROWS} let (us, vs) = if y > 3 then (copy zs with [1] = y, copy zs with [0] = y) else (copy zs, copy zs)"
        " in map2 (*) us vs"
    ),
    "rows of constant size": (
        "let zs = scan (+) 0 (xs[:4] :> [4]i32) let us = if y > 3 then copy zs with [1] = y else zs in (us ++ xs[4:])"
        " :> [m]i32"
    ),
    "much work": (
        f"{ROWS} if y > 3 then copy zs with [1] = (loop a = y for _i < 1000 do a * a + y) else zs"
    ),
}  # fmt: skip
XSS, YS = np.arange(15, dtype=np.int32).reshape(3, 5), np.array([2, 9, 4], np.int32)


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[Prog, Prog, bool]]:
    """Each program, what it becomes, and whether the rule fires."""
    found = {}
    for name, body in (FIRES | DOES_NOT_FIRE).items():
        head = "[n][m] (xss: [n][m]i32) (ys: [n]i32): [n][m]i32"
        text = f"entry main {head} = map2 (\\xs y -> {body}) xss ys"
        prog = simplify(fuse(simplify(inline(compile_text(text, "branches.soac")))))
        flattened = flatten_traced(prog, Mode.FULL, CUDA)
        found[name] = prog, flattened.prog, any(one.rule is Rule.BRANCH_WRITE for one in flattened.trail)
    return found


@pytest.mark.parametrize("name", [*FIRES, *DOES_NOT_FIRE])
def test_branches_of_writes(made: dict[str, tuple[Prog, Prog, bool]], name: str) -> None:
    prog, flat, fires = made[name]
    assert fires is (name in FIRES)
    before, after = (prepare(one).run("main", (XSS, YS), Thresholds())[0] for one in (prog, flat))
    np.testing.assert_array_equal(before[0], after[0])
