"""Rows of a few elements that read neighbours: a lane for each element, with ends in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import soac
from soac.frontend.compile import compile_text
from soac.ir.machine import CPU, Mode
from soac.kernels.kernel_ir.show import show_kernel
from soac.pipeline import compile_core

PROGRAM = """
entry cross [n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j ->
  if i > 0 && i < n - 1 && j > 0 && j < m - 1 then x[i-1, j] + x[i+1, j] + x[i, j-1] - x[i, j+1] else x[i, j])
entry torus [n][m] (x: [n][m]T): [n][m]T =
  tabulate_2d n m (\\i j -> x[i, j] - x[(i+1) % n, (j+1) % m] + x[(i+n-1) % n, (j+m-1) % m])
entry clamped [n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j ->
  x[i, i64.max 0 (j-1)] + x[i, i64.min (m-1) (j+1)] - x[i64.max 0 (i-1), j] - x[i64.min (n-1) (i+1), j])
entry rotated [n][m] (x: [n][m]T): [n][m]T = map (\\r -> map2 (-) (rotate (-1) r) (rotate 1 r)) x
entry zeros [a][n][m] (x: [a][n][m]T): [a][n][m]T = tabulate_3d a n m (\\k i j ->
  (if j > 1 then x[k, i, j-2] else 0) - x[k, i, j] + (if i < n - 3 && j < m - 1 then x[k, i+3, j+1] else 0))
entry chosen [n][m] (x: [n][m]T) (k: i64): [n][m]T =
  tabulate_2d n m (\\i j -> if i >= k && j != k then x[i, j] else #[unsafe] x[i, if j < k && j > 0 then j - 1 else j])
entry cut [n][m][p] (x: [n][m]T) (_: [p]bool): [p][m]T =
  tabulate_2d p m (\\i j -> if i < n && j > 0 then x[i, j] else 7)
entry numbered [n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j -> if j > 0 then x[i, j-1] else T.i64 (i + j))
entry beyond [n][m] (x: [n][m]T): [n][m]T = tabulate_2d n m (\\i j -> x[i, j] + x[i, j+1])
"""
"""`T` is a type of elements."""
FLAT = "mod_u64"
"""The remainder that kernels with lanes over the elements of short rows have."""
SIZES = [(0, 3), (64, 0), (64, 1), (65, 2), (70, 3), (64, 5), (100, 8), (64, 13), (90, 16), (64, 31), (70, 33)]
TYPES = {"u8": np.uint8, "f64": np.float64}
Array = NDArray[Any]


def wanted(entry: str, x: Array) -> Array:
    n, m = x.shape[-2:]
    i, j = np.arange(n), np.arange(m)
    match entry:
        case "cross":
            y = x.copy()
            y[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] - x[1:-1, 2:]
            return y
        case "torus":
            return x - np.roll(x, (-1, -1), (0, 1)) + np.roll(x, (1, 1), (0, 1))
        case "clamped":
            columns = x[:, np.maximum(0, j - 1)] + x[:, np.minimum(m - 1, j + 1)]
            return columns - x[np.maximum(0, i - 1)] - x[np.minimum(n - 1, i + 1)]
        case "rotated":
            return np.roll(x, 1, 1) - np.roll(x, -1, 1)
        case "zeros":
            before, behind = np.zeros_like(x), np.zeros_like(x)
            before[:, :, 2:] = x[:, :, :-2] if m > 1 else 0
            behind[:, :-3, :-1] = x[:, 3:, 1:] if n > 2 else 0
            return before - x + behind
        case "chosen":
            other = x[:, np.where((j < 3) & (j > 0), j - 1, j)]
            return np.where((i[:, None] >= 3) & (j != 3), x, other)
        case "cut":
            return np.concatenate((np.where(j > 0, x, x.dtype.type(7)), np.full((5, m), 7, x.dtype)))
        case _:
            return np.where(j > 0, np.roll(x, 1, 1), (i[:, None] + j).astype(x.dtype))


def arguments(entry: str, x: Array) -> tuple[Any, ...]:
    more: dict[str, tuple[Any, ...]] = {"chosen": (3,), "cut": (np.zeros(len(x) + 5, bool),)}
    return (np.stack([x, x + 1, x[::-1]]) if entry == "zeros" else x, *more.get(entry, ()))


@pytest.mark.parametrize("prim", TYPES)
@pytest.mark.parametrize("entry", ["cross", "torus", "clamped", "rotated", "zeros", "chosen", "cut", "numbered"])
def test_values(prim: str, entry: str) -> None:
    """Rows of short lengths and of longer ones, few and many."""
    program = soac.compile(PROGRAM.replace("T", prim))
    for n, m in SIZES:
        args = arguments(entry, np.random.default_rng(n + m).integers(0, 99, (n, m)).astype(TYPES[prim]))
        for threads in (1, 2):
            (found,) = program.prepare(entry, threads=threads)(list(args))
            assert np.array_equal(found, wanted(entry, args[0])), (n, m)


@pytest.mark.parametrize("entry", ["cross", "torus", "clamped", "rotated", "zeros", "chosen", "cut"])
def test_elements_that_read_neighbours_have_lanes(entry: str) -> None:
    assert any(FLAT in text for text in kernels(entry))


@pytest.mark.parametrize("entry", ["numbered", "beyond"])
def test_rows_of_which_more_is_computed_or_checked_have_a_lane(entry: str) -> None:
    assert not any(FLAT in text for text in kernels(entry))


def kernels(entry: str) -> list[str]:
    prog = compile_core(compile_text(PROGRAM.replace("T", "f32"), "rows.soac"), Mode.INCREMENTAL, CPU)
    return [show_kernel(kernel) for kernel in prog.host.kernels if kernel.name.startswith(entry)]


def test_an_element_that_is_not_there_is_reported() -> None:
    program = soac.compile(PROGRAM.replace("T", "i32"))
    with pytest.raises(soac.SoacError, match="out of bounds"):
        program.beyond(np.zeros((100, 4), np.int32))
