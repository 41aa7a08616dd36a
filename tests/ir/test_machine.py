"""Which kinds of guards are of versions inside of a collective, and at which level."""

from __future__ import annotations

import pytest

from soac.ir.core import Level
from soac.ir.machine import CPU, CUDA, EVEN, IN_PLACE, ROUNDS, is_inside, level_of
from soac.ir.thresholds import Threshold

LEVELS = {
    **{row.guard: row.level for machine in (CPU, CUDA) for row in machine.higher},
    ROUNDS: Level.BLOCK,
    EVEN: None,
    IN_PLACE: None,
    "suff_outer": None,
}


@pytest.mark.parametrize("kind", LEVELS)
def test_levels_of_guards(kind: str) -> None:
    name = str(Threshold("main", "ys", kind, 0))
    assert level_of(name) is LEVELS[kind]
    assert is_inside(name) == (LEVELS[kind] is not None)
