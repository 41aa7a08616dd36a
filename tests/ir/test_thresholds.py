"""Names of tuning parameters: what is written is read back."""

from __future__ import annotations

import pytest

from soac.ir.thresholds import Threshold

NAMES = {
    "main.ys.suff_outer_0": Threshold("main", "ys", "suff_outer", 0),
    "main.ys.tasks_below_intra_warp_12": Threshold("main", "ys", "tasks_below_intra_warp", 12),
    "main.a.b.tile_1": Threshold("main", "a.b", "tile", 1),
    "main.tasks": Threshold("main", "", "tasks", None),
    "main.threads": Threshold("main", "", "threads", None),
    "other": Threshold("", "", "other", None),
}


@pytest.mark.parametrize("name", NAMES)
def test_read_back(name: str) -> None:
    assert Threshold.of(name) == NAMES[name]
    assert str(Threshold.of(name)).lstrip(".") == name
