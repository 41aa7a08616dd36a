"""What passes and schedules are for, counted: a pass that is needed, one that is not, and a row that is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.without import count, show


@pytest.mark.quick
def test_a_pass_counts_where_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "ring.soac"
    path.write_text("def main [n] (xs: [n]f32) = tabulate n (\\i -> xs[(i + 1) % n] + xs[i])\n", encoding="utf-8")
    wrong = tmp_path / "wrong.soac"
    wrong.write_text("def main = x\n", encoding="utf-8")
    passes, rows = count([path, wrong])
    assert passes["peel-remainders"]["ring"] == 1
    assert not passes["join-writes"]
    assert rows["segmap: points / lanes"]["ring"] == 1
    lines = list(show(passes))
    assert lines[-1].split()[3:] == ["ring"]
    assert lines[0].split()[:2] == ["0", "0"]
