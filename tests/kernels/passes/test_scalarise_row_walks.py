"""Threads that walk along rows of varying length take turns where a step gathers and computes little;
`conformance/nests/walks_of_all_lengths` has the values."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.kernel_ir.nodes import Kernel, Threads
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, all_ready
from soac.kernels.passes.scalarise_row_walks import scalarise_row_walks

WALK = """
entry f [n][m][k] (off: [n]i64) (at: [m]i64) (xs: [k]f32) (len: i64) =
  tabulate (n - 1) (\\i -> loop {start} for q < {bound} do {step})
"""


def walk(start: str = "s = 0f32", bound: str = "off[i + 1] - off[i]", step: str = "s + xs[at[off[i] + q]]") -> str:
    return WALK.format(start=start, bound=bound, step=step)


def threads_of(kernels: list[Kernel]) -> list[Threads]:
    return [stm for kernel in kernels for stm in statements(kernel.body) if isinstance(stm, Threads)]


def kernels_of(text: str) -> list[Kernel]:
    return list(soac.compile(text).compiled.host.kernels)


TAKEN = {
    "a gather": walk(),
    "a quotient of each row": walk(bound="(off[i + 1] - off[i]) / i64.max 1 len"),
    "a branch": walk(step="if xs[off[i] + q] > 0 then s + xs[at[off[i] + q]] else s"),
    "a running sum": """entry f [n][m] (off: [n]i64) (xs: [m]f32) =
       tabulate (n - 1) (\\i -> f32.maximum (scan (+) 0 xs[off[i]:off[i + 1]]))""",
    "rows by list": """entry f [n][m] (first: [n]i64) (size: [n]i64) (xs: [m]i16) =
       map2 (\\a k -> loop s = 0i16 for q < k do s + xs[a + q]) first size""",
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN.keys())
def test_rows_are_taken_in_turn(text: str) -> None:
    kernels = [scalarise_row_walks(kernel) for kernel in kernels_of(text)]
    walks = [new for new, old in zip(kernels, kernels_of(text), strict=True) if new != old]
    assert len(walks) == 1
    assert not threads_of(walks)
    assert "gather" not in emit(all_ready(walks, CPU_PASSES))


LEFT = {
    "much is computed": walk(step="f32.exp (s + xs[at[off[i] + q]])"),
    "nothing is gathered": walk(step="s * 0.5 + 1"),
    "the address is carried": walk(start="s = 0", step="at[s]"),
    "all rows are as long": walk(bound="len", step="s + xs[at[i * len + q]]"),
    "the next row is one longer": walk(bound="i", step="s + xs[i + q]"),
    "a column": walk(step="s + xs[q * n + i]"),
    "a loop that ends when it may": """entry f [n][m] (off: [n]i64) (xs: [m]f32) =
       tabulate (n - 1) (\\i -> loop k = off[i] while k < off[i + 1] && xs[k] < 1 do k + 1)""",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT.keys())
def test_lanes_keep_the_rest(text: str) -> None:
    kernels = kernels_of(text)
    assert threads_of(kernels)
    assert all(scalarise_row_walks(kernel) == kernel for kernel in kernels)


def test_many_rows_in_several_blocks() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(0, 9, 10_000)
    first, xs = rng.integers(0, 1000, 10_000), rng.integers(-1000, 1000, 1010).astype(np.int16)
    (sums,) = soac.compile(TAKEN["rows by list"]).call("f", [first, sizes, xs])
    assert np.array_equal(sums, [xs[a : a + k].sum(dtype=np.int16) for a, k in zip(first, sizes, strict=True)])
