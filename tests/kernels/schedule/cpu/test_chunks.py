"""How many points of small elements a block takes, which the host decides by how many there are."""

from __future__ import annotations

import numpy as np
import pytest

import soac
from soac.kernels.schedule.cpu.lanes_kernel import BLOCKS, GROUPS
from soac.kernels.schedule.space import OPEN_LENGTH

HASHES = "entry f [t][k] (x: [t][k]{0}): [k]{0} = map (\\c -> loop v = 1 for y in c do (v + y) * 31 + 7) (transpose x)"
ROUNDS = HASHES.replace("(v + y) * 31 + 7", "loop w = v for i < 40 do w * 31 + y")
"""Columns that do not go by rows, of which the host says the length whatever their elements are."""
WIDE = GROUPS // 8


@pytest.mark.parametrize(("prim", "open"), [("u8", True), ("i8", True), ("i32", False), ("f32", False)])
def test_the_host_decides_where_elements_are_small(prim: str, open: bool) -> None:
    """The elements of wider types that a block has are worth one as they are."""
    kernels = soac.compile(ROUNDS.format(prim)).compiled.host.kernels
    assert any(OPEN_LENGTH in kernel.scalars for kernel in kernels) == open


@pytest.mark.parametrize("threads", [1, 3])
def test_points_of_all_numbers(threads: int) -> None:
    program, most = soac.compile(HASHES.format("u8")), BLOCKS * WIDE
    for count in (0, 1, 63, 65, WIDE - 1, most - 1, most, most + 1, most + WIDE + 3, 9 * WIDE - 1):
        x = np.random.default_rng(count).integers(0, 256, (20, count)).astype(np.uint8)
        wanted = np.ones(count, np.uint8)
        for row in x:
            wanted = (wanted + row) * np.uint8(31) + np.uint8(7)
        np.testing.assert_array_equal(program.call("f", [x], threads=threads)[0], wanted)
