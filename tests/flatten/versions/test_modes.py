"""Which parallelism each mode has, in which versions."""

from __future__ import annotations

import pytest

from soac.flatten.context.trace import Rule
from soac.flatten.flatten import flatten_traced
from soac.frontend.compile import compile_text
from soac.ir.core import Screma, SegMap, SegOp, SegRed
from soac.ir.machine import CPU, Mode
from soac.ir.traverse import all_exps
from soac.ir.version_tree import sites
from soac.pipeline import CORE_PASSES

VARYING = {
    "appended": "i64.sum (loop ys = [] for k < n do ys ++ iota k)",
    "scattered": "i64.sum (scatter (replicate n 0) (map (% 3) (iota n)) (iota n))",
    "counted": "i64.sum (reduce_by_index (replicate 3 0) (+) 0 (map (% 3) (iota n)) (iota n))",
    "added": "i64.sum (iota n)",
    "chosen": "if n > 2 then i64.sum (iota n) else 0",
}
FLAT = (Rule.SEGMENTS, Rule.FLAT_MAP, Rule.FLAT_SCAN, Rule.FLAT_RED, Rule.FLAT_SCATTER, Rule.VARYING_IF, Rule.APPEND)
"""What makes varying parallelism flat, here beside what is regular."""


@pytest.mark.parametrize("mode", Mode)
def test_what_varies_is_flat_only_beside_other_versions(mode: Mode) -> None:
    entries = (
        f"entry {name} (ns: []i64) = map (\\n -> i64.sum (map (* n) ns) + ({text})) ns"
        for name, text in VARYING.items()
    )
    prog = compile_text("\n".join(entries), "modes.soac")
    for _, run in CORE_PASSES:
        prog = run(prog)
    fired = {one.rule for one in flatten_traced(prog, mode, CPU).trail}
    if mode in (Mode.OUTER, Mode.FULL):
        assert fired.isdisjoint(FLAT)
    if mode is Mode.EVERY:
        assert fired.issuperset((Rule.APPEND, Rule.FLAT_SCATTER, Rule.FLAT_RED))


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
