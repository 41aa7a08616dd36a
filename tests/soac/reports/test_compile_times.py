"""`soac compile --time`: every stage once, every kernel once."""

from __future__ import annotations

from soac.frontend.source.text import Reach
from soac.pipeline import CORE_PASSES, FLAT_PASSES
from soac.reports.compile_times import compile_times, time_lines

TEXT = "entry main [n] (xs: [n]f64): [n]f64 = map (+ 1) xs"


def test_stages_and_kernels() -> None:
    found, kernels = compile_times(TEXT, "plus.soac", Reach.PROJECT)
    names = [one.stage for one in found]
    between = [*(name for name, _ in CORE_PASSES), "flatten", *(name for name, _ in FLAT_PASSES), "tile", "lower"]
    assert names == ["front end", *between, "host functions"]
    assert [one.kernel for one in kernels] == ["main_ys_0"]
    lines = list(time_lines(found, kernels))
    assert len(lines) == len(names) + 4
    assert lines[-1].startswith("main_ys_0 ")
