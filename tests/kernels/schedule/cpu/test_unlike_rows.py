"""Rows of varying length are spread over lanes where threads with them would go one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.autotune.tuning import INFINITY
from soac.ir.interpret import interpret
from soac.ir.show import show
from soac.ir.version_tree import sites
from soac.kernels.kernel_ir.nodes import BlockReduce
from soac.kernels.kernel_ir.traverse import statements

SLICES = "entry main [n][k] (off: [n]i64) (xs: [k]{t}) = tabulate (n - 1) (\\i -> {row})"
ROWS = {
    "affine maps": SLICES.format(
        t="i32",
        row="(reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (3, x)) xs[off[i]:off[i + 1]])).1",
    ),
    "the last that is positive": SLICES.format(
        t="i64", row="reduce (\\x y -> if y > 0 then y else x) 0 xs[off[i]:off[i + 1]]"
    ),
}
LENGTHS = [[], [0, 0], [1] * 40, [3, 0, 17, 1000, 2, 5, 4, 8], [2500, 1], list(range(40))]


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS.keys())
def test_every_version_of_rows_of_all_lengths(text: str) -> None:
    program = soac.compile(text)
    names = [site.name for site in sites(program.compiled.flat)]
    assert [name for name in names if "suff_even" in name]
    (spread,) = (kernel for kernel in program.compiled.host.kernels if kernel.name.startswith("main_ys"))
    assert any(isinstance(stm, BlockReduce) for stm in statements(spread.body))
    for lengths in LENGTHS:
        off = np.cumsum([0, *lengths])
        xs = np.random.default_rng(sum(lengths)).integers(-9, 9, sum(lengths)).astype("i4" if "i32" in text else "i8")
        (wanted,), _ = interpret(program.compiled.core, "main", [off, xs])
        for setting in (0, INFINITY):
            (found,) = program.call("main", [off, xs], dict.fromkeys(names, setting))
            np.testing.assert_array_equal(found, wanted)


def test_lanes_that_go_one_after_the_other_do_not_wait() -> None:
    """No version is measured by the longest row beside each, where threads count or scatter."""
    counts = "i64.maximum (hist (+) 0 8 (map (% 8) (iota k)) (replicate k 1))"
    loops = "i64.sum (loop ys = copy xs[:k] for i < k do let t = ys[i] in map (\\y -> y * t % 17) ys)"
    entry = "entry main [n][m] (xs: [m]i64) (ks: [n]i64) = map (\\k -> {}) ks"
    of_counts, of_loops = (show(soac.compile(entry.format(e)).compiled.flat) for e in (counts, loops))
    assert "padded" not in of_counts
    assert "padded" in of_loops
