"""`#[opaque]`: what is marked is neither fused with others nor simplified by looking into it."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Exp, PrimOp, Scatter, Screma
from soac.ir.traverse import all_exps


def fused(text: str) -> list[Exp]:
    return [exp for fun in soac.compile(text).compiled.fused.functions for exp in all_exps(fun.body)]


MAPS = "def main [n] (xs: [n]i32): i32 = let ys = {attr} map (* 2) xs in i32.sum ys"


@pytest.mark.parametrize(("attr", "soacs"), [("", 1), ("#[opaque]", 2)])
def test_soacs_stay_apart(attr: str, soacs: int) -> None:
    assert sum(isinstance(exp, Screma) for exp in fused(MAPS.format(attr=attr))) == soacs


LAST = "def main [n] (xs: [n]i32): i32 = let ys = {attr} scan (+) 0 xs in if n > 0 then ys[n - 1] else 0"
PARTS = "def main [n] (xs: [n]i64): []i64 = {attr} scatter (replicate 9 0) (xs ++ map (+ 1) xs) (xs ++ xs)"


@pytest.mark.parametrize(("attr", "scans", "scatters"), [("", 0, 2), ("#[opaque]", 1, 1)])
def test_scans_and_scatters_stay_as_they_are(attr: str, scans: int, scatters: int) -> None:
    """The last element of a scan is that of a reduction, and a scatter of two parts is two."""
    assert sum(isinstance(exp, Screma) and bool(exp.scans) for exp in fused(LAST.format(attr=attr))) == scans
    assert sum(isinstance(exp, Scatter) for exp in fused(PARTS.format(attr=attr))) == scatters


@pytest.mark.parametrize(("attr", "operations"), [("", 0), ("#[opaque]", 2)])
def test_scalars_are_not_looked_into(attr: str, operations: int) -> None:
    text = f"def main (x: i32): i32 = let y = {attr} (-x) in -y"
    assert sum(isinstance(exp, PrimOp) for exp in fused(text)) == operations


@pytest.mark.parametrize("n", [0, 1, 100])
def test_the_meaning_stays(n: int) -> None:
    xs = np.arange(n, dtype=np.int32)
    assert soac.compile(MAPS.format(attr="#[opaque]")).main(xs) == 2 * xs.sum()
