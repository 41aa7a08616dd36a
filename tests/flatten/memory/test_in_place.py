"""Maps in place on the device: what they give, and that no thread sees what another one writes."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.ir.core import Copy, Loop, SegScatter, Update
from soac.ir.interpret import interpret
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.kernels.tracer.run import TraceSettings, trace_program

PARTS = """
entry main [n] (t: i64) (a: *[n]i32): *[n]i32 =
  #[flattening(no_intra)] loop a for k < t do
    let a[:n/2] = map2 (\\x y -> x + y * i32.i64 k) a[:n/2] (a[n/2:2*(n/2)] :> [n/2]i32)
    let a[n/2:] = map (* 3) a[n/2:]
    in a
"""
ELIMINATION = """
entry main [n] (t: i64) (a: *[n][n]i32): *[n][n]i32 =
  #[flattening(no_intra)] loop a for k < i64.min t n do
    let rest = n - 1 - k
    let above = a[k, k+1:] :> [rest]i32
    let factors = map (+ a[k, k]) (a[k+1:, k] :> [rest]i32)
    let block = map2 (\\f row -> map2 (\\x u -> x - f * u) row above) factors (a[k+1:, k+1:] :> [rest][rest]i32)
    let a[k+1:, k] = factors
    let a[k+1:, k+1:] = block
    in a
"""
ROWS = """
entry main [n] (t: i64) (a: *[n][n]i32): *[n][n]i32 =
  loop a for k < t do
    let i = k % i64.max 1 n
    in if n == 0 then a else a with [i] = map2 (\\x y -> x * 2 + y) a[i] a[(i + 1) % n]
"""
IN_PLACE = {"parts": PARTS, "elimination": ELIMINATION}
PROGRAMS = {**IN_PLACE, "rows": ROWS}
SIZES = (0, 1, 2, 7, 40)


def argument(text: str, n: int) -> np.ndarray:
    shape = (n, n) if "[n][n]" in text else (n,)
    return np.random.default_rng(n).integers(-9, 9, shape, dtype=np.int32)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    program = soac.compile(PROGRAMS[name])
    for n in SIZES:
        a = argument(PROGRAMS[name], n)
        (expected,), _ = interpret(program.compiled.core, "main", [np.int64(3), a])
        np.testing.assert_array_equal(program.main(3, a), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_do_not_see_each_other(name: str) -> None:
    program = soac.compile(PROGRAMS[name])
    for n in (7, 40):
        settings = TraceSettings(threads=8, warp=4)
        report = trace_program(program.compiled, "main", [np.int64(3), argument(PROGRAMS[name], n)], {}, settings)
        assert report.is_clean


@pytest.mark.parametrize("name", IN_PLACE)
def test_nothing_is_copied(name: str) -> None:
    """What is left of updates: one column."""
    (fun,) = soac.compile(PROGRAMS[name]).compiled.flat.functions
    exps = list(all_exps(fun.body))
    assert sum(isinstance(exp, Update) for exp in exps) <= (name != "parts")
    assert sum(isinstance(exp, SegScatter) for exp in exps) == (1 if name == "elimination" else 2)


NESTS = """
entry main [b] [n] (as: [b][n][n]i32): [b][n][n]i32 =
  map (\\a -> loop a = copy a for k < n do
         let rest = n - (k + 1)
         let factors = map (+ a[k, k]) (a[k+1:, k] :> [rest]i32)
         let above = a[k, k+1:] :> [rest]i32
         let below = a[k+1:, k+1:] :> [rest][rest]i32
         let block = map2 (\\f row -> map2 (\\x u -> x - f * u) row above) factors below
         in a with [k+1:, k+1:] = block) as
entry turned [b] [n] (as: [b][n][n]i32): [b][n][n]i32 =
  map (\\a -> let a = map (map (+ 1)) a
              let corner = #[unsafe] (transpose a)[0, n - 1]
              let a = #[unsafe] (a with [:, 0] = map (\\x -> x * x) a[0])
              in map (map (+ corner)) a) as
"""


def test_a_nest_overwrites_what_it_made() -> None:
    """Flattened, each round updates the matrices of all points in place; views of them do not stand in the way."""
    program = soac.compile(NESTS)
    (main,) = [fun for fun in program.compiled.flat.functions if fun.name.base == "main"]
    rounds = [exp.body for exp in all_exps(main.body) if isinstance(exp, Loop)]
    flat = [exp for body in rounds for exp in all_exps(body) if isinstance(exp, SegScatter)]
    assert len(flat) == 1
    assert not any(isinstance(exp, Copy) for body in rounds for exp in all_exps(body))
    forced = {"main.ys.suff_even_0": False}
    for b, n in ((1, 1), (0, 3), (2, 7), (3, 20)):
        a = np.random.default_rng(n).integers(-9, 9, (b, n, n), dtype=np.int32)
        (expected,), _ = interpret(program.compiled.core, "main", [a])
        np.testing.assert_array_equal(program.call("main", [a], forced=forced)[0], expected)
        report = trace_program(program.compiled, "main", [a], forced, TraceSettings(threads=8, warp=4))
        assert report.is_clean


def test_a_nest_keeps_what_is_still_read() -> None:
    """An element, seen through a view, of what a nest overwrites is needed behind the update."""
    program = soac.compile(NESTS)
    a = np.arange(50, dtype=np.int32).reshape(2, 5, 5)
    expected = a + 1
    expected[:, :, 0] = (a[:, 0] + 1) ** 2
    expected += (a[:, 4, 0] + 1)[:, None, None]
    names = [site.name for site in sites(program.compiled.flat) if site.name.startswith("turned")]
    for forced in ({}, *({name: side} for name in names for side in (True, False))):
        np.testing.assert_array_equal(program.call("turned", [a], forced=forced)[0], expected)
