"""Which parallelism each mode has, in which versions."""

from __future__ import annotations

import pytest

from soac.flatten.flatten import flatten_traced
from soac.frontend.compile import compile_text
from soac.ir.core import Screma, SegMap, SegOp, SegRed
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.pipeline import CORE_PASSES

ROWS = "entry main [n][m] (xss: [n][m]i32) = map (\\xs -> i32.sum (map (\\x -> x * i32.sum xs) xs)) xss"


@pytest.mark.parametrize("mode", Mode)
def test_what_is_parallel(mode: Mode) -> None:
    prog = compile_text(ROWS, "modes.soac")
    for _, run in CORE_PASSES:
        prog = run(prog)
    flat = flatten_traced(prog, mode, CPU).prog
    (fun,) = flat.functions
    segops = [exp for exp in all_exps(fun.body) if isinstance(exp, SegOp)]
    in_threads = sum(isinstance(exp, Screma) for exp in all_exps(fun.body))
    assert bool(sites(flat)) == (mode in (Mode.INCREMENTAL, Mode.EVERY))
    if mode is Mode.OUTER:
        assert [type(exp) for exp in segops] == [SegMap]
        assert in_threads == 2
    if mode is Mode.FULL:
        assert [type(exp) for exp in segops] == [SegRed, SegRed]
        assert in_threads == 0
