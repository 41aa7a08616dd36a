"""Scatters along rows: a loop of a lane where these are short, values those of NumPy for each length."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import For
from soac.kernels.kernel_ir.traverse import statements

TEXT = """
entry f [n] (order: [n]i64) (xs: [n][M]T): []T =
  scatter (replicate (n * M) 0) (flatten (map (\\r -> map (\\j -> r * M + j) (iota M)) order)) (flatten xs)
"""


def program_of(prim: str, length: str, sizes: str) -> soac.Program:
    return soac.compile(TEXT.replace("T", prim).replace("M", length).replace("f [n]", f"f {sizes}"))


@pytest.mark.parametrize("prim", ["u8", "f32"])
def test_rows_to_places_by_number(prim: str) -> None:
    program = program_of(prim, "m", "[n][m]")
    random, dtype = np.random.default_rng(1), np.dtype({"u8": np.uint8, "f32": np.float32}[prim])
    for n, m in ((0, 3), (1, 1), (3, 0), (300, 3), (70, 7), (70, 8), (40, 65)):
        order, xs = random.permutation(n), random.integers(0, 100, (n, m)).astype(dtype)
        wanted = np.empty_like(xs)
        wanted[order] = xs
        np.testing.assert_array_equal(program.f(order, xs), wanted.ravel())


@pytest.mark.parametrize(("length", "loops"), [("m", 1), ("20", 0)])
def test_short_rows_are_loops_of_a_lane(length: str, loops: int) -> None:
    sizes = "[n][m]" if length == "m" else "[n]"
    kernels = program_of("u8", length, sizes).compiled.host.kernels
    assert sum(isinstance(stm, For) for kernel in kernels for stm in statements(kernel.body)) == loops
