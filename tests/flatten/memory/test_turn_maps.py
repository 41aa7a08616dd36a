"""What is done to columns goes by rows: values, failures, and that no map reads columns then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soac
from soac import pipeline
from soac.flatten.simplify.driver import simplify
from soac.frontend.compile import compile_text
from soac.ir.core import Rearrange, SegMap
from soac.ir.errors import SoacError
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, Mode
from soac.ir.rename import renumbered
from soac.ir.traverse import all_exps

COLUMN = "entry main [h][w] (k: i64) (x: [h][w]f32) = transpose (map (\\c -> {}) (transpose x))"
PROGRAMS = {
    "rolled": COLUMN.format("map (* 2) (rotate k c)"),
    "backwards": COLUMN.format("map (+ 1) (reverse c)"),
    "differences": COLUMN.format("tabulate h (\\i -> if i < k then 0 else c[i] - c[i - k])"),
    "of sums": COLUMN.format("[0] ++ scan (+) 0 c"),
    "windows of sums": COLUMN.format(
        "let s = scan (+) 0 c in tabulate h (\\i -> s[i] - (if i > k then s[i - k - 1] else 0))"
    ),
    "read as columns": """entry main [h][w] (k: i64) (x: [h][w]f32) =
       let t = map (\\c -> map (+ 1) (rotate k c)) (transpose x)
       in tabulate_2d h w (\\i j -> t[j, i] - t[j, 0])""",
    "in a cube": """entry main [h][w] (k: i64) (x: [h][w]f32) =
       map (\\y -> transpose (map (\\c -> map (* 2) (rotate k c)) (transpose y))) [x, x]""",
    "two of each": """entry main [h][w] (k: i64) (x: [h][w]f32) =
       let (a, b) = unzip (map unzip (map (\\c -> map (\\v -> (v, v * 2)) (rotate k c)) (transpose x)))
       in (transpose a, transpose b)""",
    "consumed": """entry main [h][w] (k: i64) (x: [h][w]f32) =
       let t = transpose (map (\\c -> map (* 2) (rotate k c)) (transpose x))
       in if h > 0 then copy t with [0] = replicate w 7 else t""",
}
VERSIONS = {"windows of sums"}
"""What chooses between versions, whose results are not turned."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    program = soac.compile(PROGRAMS[name])
    for h, w in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 17), (17, 2), (40, 33), (70, 130)):
        x = np.random.default_rng(h).integers(-9, 9, (h, w)).astype(np.float32)
        expected, _ = interpret(program.compiled.core, "main", [np.int64(1), x])
        for threads in (1, 2):
            found = program.call("main", [1, x], threads=threads)
            for one, other in zip(found, expected[-len(found) :], strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in VERSIONS])
def test_maps_go_by_rows(name: str) -> None:
    flat = soac.compile(PROGRAMS[name]).compiled.flat
    exps = [exp for fun in flat.functions for exp in all_exps(fun.body)]
    assert any(isinstance(exp, SegMap) for exp in exps)
    assert not any(isinstance(exp, Rearrange) for exp in exps)


@pytest.mark.parametrize("name", [*PROGRAMS, "adi"])
def test_nothing_is_left_to_simplify(name: str) -> None:
    """What comes behind has the turned results in their order; no view of them is left."""
    adi = Path(__file__).parents[3] / "benchmarks/npbench/programs/adi.soac"
    text = PROGRAMS.get(name) or adi.read_text(encoding="utf-8")
    stages = dict(pipeline.stages(compile_text(text, f"{name}.soac"), Mode.INCREMENTAL, CPU, checked=True))
    turned = stages["turn-maps"]
    assert (turned is stages["simplify-flat"]) == (name in VERSIONS)
    assert renumbered(simplify(turned)) == renumbered(turned)


def test_a_failure_is_the_same() -> None:
    program = soac.compile(COLUMN.format("tabulate h (\\i -> c[i + k])"))
    x = np.ones((5, 4), np.float32)
    assert np.array_equal(program.call("main", [0, x])[0], x)
    with pytest.raises(SoacError, match="out of bounds"):
        program.call("main", [1, x])
