"""Rows that are written where they are read, of every length: their last elements are stored without a mask."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.devices.cpu.build import kernel_text
from soac.kernels.devices.cpu.runtime.jit import host
from soac.kernels.passes.pipeline import CPU_PASSES, ready

PROGRAM = """
entry main [n][m] (rounds: i64) (a: *[n][m]t) (v: [m]t): [n][m]t =
  #[flattening(full)] loop a for _r < rounds do map (\\row -> map2 (\\x y -> 3 * x + y) row v) a
"""
TYPES = {"i8": np.int8, "u16": np.uint16, "i32": np.int32, "f32": np.float32, "f64": np.float64, "i64": np.int64}


@pytest.mark.parametrize("name", TYPES)
def test_each_row_ends_where_it_ends(name: str) -> None:
    program, random = soac.compile(PROGRAM.replace("]t", f"]{name}")), np.random.default_rng(0)
    run = program.prepare("main", threads=1)
    for m in (1, 2, 3, 5, 7, 8, 9, 12, 15, 17, 23, 31, 33, 47, 63, 65, 79, 127, 129):
        a, v = (random.integers(0, 3, shape).astype(TYPES[name]) for shape in ((5, m), (m,)))
        expected = a
        for _ in range(3):
            expected = (3 * expected + v).astype(TYPES[name])
        np.testing.assert_array_equal(run((3, a.copy(), v))[0], expected, err_msg=f"rows of {m}")


def test_only_what_is_read_is_stored_in_pieces() -> None:
    """An update of rows; not a map to rows of its own."""
    apart = "entry main [n][m] (a: [n][m]f64): [n][m]f64 = map (map f64.sqrt) a"
    for text, wanted in ((PROGRAM.replace("]t", "]f64"), True), (apart, False)):
        kernels = soac.compile(text).compiled.host.kernels
        texts = [kernel_text(ready(kernel, CPU_PASSES), host()) for kernel in kernels]
        assert any("piece" in one for one in texts) == wanted
