"""What is read stays before what overwrites it and behind what says that it may be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.interpret import interpret

XS = np.array([1, 2, 3])
CASES: dict[str, tuple[str, tuple[Any, ...], list[int]]] = {
    "a row of replicated rows whose source is overwritten": (
        "(xs: *[3]i64): []i64 = let rows = replicate 3 xs let ys = xs with [0] = 9 in [rows[1][0], ys[0]]",
        (XS,),
        [1, 9],
    ),
    "a slice of replicated rows whose source is overwritten": (
        "(xs: *[3]i64): []i64 = let rows = replicate 3 xs let ys = xs with [0] = 9 in [i64.sum rows[2, 0:2], ys[0]]",
        (XS,),
        [3, 9],
    ),
    "an index that is promised in a branch of a map without points": (
        "[n] (xs: [n]i64) (m: i64) (k: i64) (c: bool): []i64 ="
        " map (\\i -> i + (if c then #[unsafe] xs[k] else 0)) (iota m)",
        (XS, np.int64(0), np.int64(99), np.bool_(True)),
        [],
    ),
    "a quotient by at least 0 in a map without points": (
        "[n] (xs: [n]i64) (m: i64) (k: i64): []i64 = map (\\i -> i + n / i64.max k 0) (iota m)",
        (XS, np.int64(0), np.int64(0)),
        [],
    ),
    "a remainder by at least 0 in a map without points": (
        "[n] (xs: [n]i64) (m: i64) (k: i64): []i64 = map (\\i -> i + n % i64.max 0 k) (iota m)",
        (XS, np.int64(0), np.int64(0)),
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_is_what_was_there(name: str) -> None:
    text, args, expected = CASES[name]
    prog = simplify(inline(compile_text(f"entry main {text}", "places.soac")))
    check(prog, Stage.CORE)
    ((found,), _) = interpret(prog, "main", [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args])
    assert np.asarray(found).tolist() == expected
