"""`#[opaque]`: what is marked is neither fused with others nor simplified by looking into it."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Exp, PrimOp, Screma
from soac.ir.traverse import all_exps


def fused(text: str) -> list[Exp]:
    return [exp for fun in soac.compile(text).compiled.fused.functions for exp in all_exps(fun.body)]


MAPS = "def main [n] (xs: [n]i32): i32 = let ys = {attr} map (* 2) xs in i32.sum ys"


@pytest.mark.parametrize(("attr", "soacs"), [("", 1), ("#[opaque]", 2)])
def test_soacs_stay_apart(attr: str, soacs: int) -> None:
    assert sum(isinstance(exp, Screma) for exp in fused(MAPS.format(attr=attr))) == soacs


@pytest.mark.parametrize(("attr", "operations"), [("", 0), ("#[opaque]", 2)])
def test_scalars_are_not_looked_into(attr: str, operations: int) -> None:
    text = f"def main (x: i32): i32 = let y = {attr} (-x) in -y"
    assert sum(isinstance(exp, PrimOp) for exp in fused(text)) == operations


@pytest.mark.parametrize("n", [0, 1, 100])
def test_the_meaning_stays(n: int) -> None:
    xs = np.arange(n, dtype=np.int32)
    assert soac.compile(MAPS.format(attr="#[opaque]")).main(xs) == 2 * xs.sum()
