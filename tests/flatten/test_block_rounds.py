"""Loops in panels: which are, what they give for sizes around those of a panel, and which must stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from soac.api import compile
from soac.flatten import block_rounds as panels
from soac.flatten.block_rounds import block_rounds
from soac.flatten.fusion.driver import fuse
from soac.flatten.inline import inline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.check import Stage, check
from soac.ir.core import Loop, Prog
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps
from soac.versions import runs_of

CHOLESKY = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop a = copy a for j < n do
    let d = f64.sqrt (a[j, j] - f64.sum (map (\\x -> x * x) a[j, :j]))
    let a[j, j] = d
    let m = n - (j + 1)
    let column = tabulate m (\\i -> (a[j+1+i, j] - f64.sum (map2 (*) a[j+1+i, :j] a[j, :j])) / d)
    let a[j+1:, j] = column :> [n - (j+1)]f64
    in a
"""
LDL = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop a = copy a for j < n do
    let v = map (\\k -> a[j, k] * a[k, k]) (iota j)
    let d = a[j, j] - f64.sum (map2 (*) a[j, :j] v)
    let a[j, j] = d
    let column = map (\\i -> (a[j+1+i, j] - f64.sum (map2 (*) a[j+1+i, :j] v)) / d) (iota (n - (j + 1)))
    let a[j+1:, j] = column
    in a
"""
CROUT = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop a = copy a for j < n do
    let below = map (\\i -> a[j+i, j] - f64.sum (map (\\k -> a[j+i, k] * a[k, j]) (iota j))) (iota (n - j))
    let a[j:, j] = below
    let d = a[j, j]
    let r = n - (j + 1)
    let right = map (\\i -> (a[j, j+1+i] - f64.sum (map (\\k -> a[j, k] * a[k, j+1+i]) (iota j))) / d) (iota r)
    let a[j, j+1:] = right
    in a
"""
FORWARD = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop xs = replicate n (replicate n 0) for i < n do
    let row = map2 (\\b x -> (b - f64.sum (map2 (*) a[i, :i] x)) / a[i, i]) a[n - 1 - i] (transpose xs[:i])
    let xs[i] = row
    in xs
"""
PATHS = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop y = copy a for t < n do
    let now = map2 (\\x ys -> f64.min x (f64.minimum (map2 (+) a[t, :t] ys))) y[t] (transpose y[:t])
    let y[t] = now
    in y
"""
AGES = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop y = copy a for t < n do
    let now = map (\\c -> a[t, c] + f64.sum (map (\\s -> a[t - s - 1, 0] * y[s, c]) (iota t))) (iota n)
    let y[t] = now
    in y
"""
FIRST = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop y = copy a for t < n do
    let first = reduce (\\x z -> if x == 0 then z else x) 0
    let now = map (\\c -> 0.5 * a[t, c] + first (map2 (\\x z -> x - z) a[t, :t] y[:t, c])) (iota n)
    let y[t] = now
    in y
"""
LATER = """
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop y = copy a for t in 1..<n do
    let now = map (\\c -> a[t, c] + f64.sum (map (\\s -> a[t - s - 1, 0] * a[t, s] * y[s, c]) (iota t))) (iota n)
    let y[t] = now
    in y
"""
CASES = {
    "cholesky": CHOLESKY,
    "ldl": LDL,
    "crout": CROUT,
    "forward": FORWARD,
    "paths": PATHS,
    "ages": AGES,
    "first": FIRST,
    "later": LATER,
}


def fused(text: str) -> Prog:
    return simplify(fuse(simplify(inline(compile_text(text, "panels.soac")))))


def matrix(n: int) -> np.ndarray:
    a = np.random.default_rng(n).random((n, n))
    return (a + a.T) / 2 + n * np.eye(n)


def value(prog: Prog, n: int) -> np.ndarray:
    """What the interpreter gives for a matrix of n rows."""
    (result,), _ = interpret(prog, "main", [matrix(n)])
    return np.asarray(result)


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_panels_give_what_the_loop_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "ROUNDS", 3)
    monkeypatch.setattr(panels, "PANELS", 1)
    monkeypatch.setattr(panels, "LEAST", 1)
    before = fused(CASES[name])
    after = block_rounds(before)
    assert after is not before
    check(after, Stage.CORE)
    for n in (1, 2, 3, 4, 5, 6, 7, 11):
        np.testing.assert_allclose(value(after, n), value(before, n), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_panels_on_every_version(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "ROUNDS", 5)
    monkeypatch.setattr(panels, "PANELS", 1)
    monkeypatch.setattr(panels, "LEAST", 1)
    wanted = value(fused(CASES[name]), 17)
    prog = compile(CASES[name])
    for sides in runs_of(prog.compiled.flat, "main"):
        np.testing.assert_allclose(prog.call("main", (matrix(17),), forced=sides)[0], wanted, rtol=1e-10)


STAY = {
    "newer": "map (\\i -> f64.sum (map (\\k -> a[i, k] * y[k + 1, i]) (iota j))) (iota n)",
    "out of bounds": "map (\\i -> f64.sum (map (\\k -> a[i, k] * b[j, k]) (iota j))) (iota n)",
    "one row": "map (\\i -> f64.sum (map (\\k -> y[k, i]) (iota j))) (iota n)",
    "read once": "map (\\i -> f64.sum (map (\\k -> c[j, i, k] * y[k, i]) (iota j))) (iota n)",
    "may fail": "map (\\i -> f64.sum (map (\\k -> f64.i64 (i / (k - 2)) * a[j, k] * y[k, i]) (iota j))) (iota n)",
    "of this round": "let z = map (+ y[j, 0]) a[j] in map (\\i -> f64.sum (map2 (*) z[:j] y[:j, i])) (iota n)",
    "sums of columns": (
        "map (\\i -> let s = reduce (map2 (+)) (replicate n 0) (transpose c[i, :, :j]) in s[0] + y[i, j]) (iota n)"
    ),
    "fewer": "map (\\i -> f64.sum (map (\\k -> a[j, k] * y[k, i]) (iota (j / 2)))) (iota n)",
}


@pytest.mark.quick
@pytest.mark.parametrize("name", STAY)
def test_a_loop_stays(name: str) -> None:
    text = f"""
entry main [n][m] (a: [n][n]f64) (b: [m][m]f64) (c: [n][n][n]f64): [n][n]f64 =
  loop y = copy a for j < n do
    let row = {STAY[name]}
    let y[j] = row
    in y
"""
    prog = fused(text)
    assert block_rounds(prog) is prog


@pytest.mark.quick
def test_a_loop_that_writes_before_its_number_stays() -> None:
    for place, start, panels_ in (("j", 0, 3), ("j", 2, 3), ("j - 1", 1, 1)):
        prog = fused(f"""
entry main [n] (a: [n][n]f64): [n][n]f64 =
  loop y = copy a for j in {start}..<n do
    let row = map (\\i -> f64.sum (map (\\k -> a[j, k] * y[k, i]) (iota j))) (iota n)
    let y[{place}] = row
    in y
""")
        loops = [exp for fun in block_rounds(prog).functions for exp in all_exps(fun.body) if isinstance(exp, Loop)]
        assert len(loops) == panels_
