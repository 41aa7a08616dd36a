"""Kernels by hand as versions: which guards they get, and where they get none."""

from __future__ import annotations

import numpy as np

from soac.ir.core import Apply
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import Compiled, compile_prog
from soac.versions import named_versions, runs_of
from tests.support.by_hand import text_of

TWICE = """
def twice [n] (xs: [n]f32): [n]f32 = map (* 2) xs
#[implements(twice)]
def one [n] (xs: [n]f32) (ys: *[n]f32) = fully par i < n in thread { ys[i] = 2 * xs[i]; }
"""


def compiled(entry: str, mode: Mode = Mode.INCREMENTAL) -> Compiled:
    return compile_prog(TWICE + entry, "twice.soac", mode, CPU, checked=True)


def test_two_kernels_are_two_versions() -> None:
    (site,) = sites(compile_prog(text_of("block_sum"), "block_sum.soac", checked=True).flat)
    assert tuple(named_versions(site)) == ("sums_tree", "sums_collective", "outer", "full")
    assert site.thresholds == (
        "main.sums.by_hand_sums_tree_0", "main.sums.by_hand_sums_collective_0", "main.sums.suff_outer_0",
    )  # fmt: skip


def test_each_call_at_the_top_or_in_a_loop_has_its_own() -> None:
    entry = "entry main [n] (xs: [n]f32) (k: i64) = loop xs = twice xs for _i < k do twice xs"
    assert len(sites(compiled(entry).flat)) == 2


def test_a_call_inside_of_a_map_has_none() -> None:
    flat = compiled("entry main [n][m] (xss: [n][m]f32) = map twice xss").flat
    assert not any(isinstance(exp, Apply) for fun in flat.functions for exp in all_exps(fun.body))


def test_calls_of_other_functions_stay() -> None:
    down = "def down (n: i64): i64 = if n < 1 then 0 else 1 + down (n - 1)\n"
    flat = compiled(down + "entry main [n] (xs: [n]f32) (k: i64) = (twice xs, down k)").flat
    assert len(sites(flat)) == 1
    assert sum(isinstance(exp, Apply) for fun in flat.functions for exp in all_exps(fun.body)) >= 2


def test_one_version_is_the_compilers() -> None:
    assert sites(compiled("entry main [n] (xs: [n]f32) = twice xs", Mode.FULL).flat) == ()


def test_entry_points_and_several_results() -> None:
    text = """
entry main [n] (xs: [n]f32): ([n]f32, [n](i64, bool)) = (xs, map (\\i -> (i, true)) (iota n))
#[implements(main)]
def k [n] (xs: [n]f32) (ys: *[n]f32) (is: *[n](i64, bool)) =
  fully par i < n in thread { ys[i] = xs[i]; is[i] = (i, true); }
"""
    compiled = compile_prog(text, "k.soac", checked=True)
    executable = Executable.build(compiled.host, compiled.core.functions)
    xs = np.arange(300, dtype=np.float32)
    for forced in runs_of(compiled.flat, "main"):
        ys, indices, truths = executable.run("main", [xs], forced=forced)[0]
        assert (ys == xs).all()
        assert (indices == np.arange(300)).all()
        assert np.asarray(truths).all()
