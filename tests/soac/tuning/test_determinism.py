"""Bits of floats depend on the version alone: not on threads, nor on what `autotune` may set besides.

`python -m tests.support.determinism` is the same for ten programs, with two processes and searches.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.session import open_program
from soac.tuning.runs import blocks_of
from tests.support.determinism import same_bits, settings


@pytest.mark.parametrize("name", ["sum", "rows"])
def test_a_version_has_the_same_bits(tmp_path: Path, name: str) -> None:
    assert same_bits(tmp_path / "a.soac", name, 3)


@pytest.mark.parametrize(("kind", "is_tried"), [("f32", False), ("i32", True)])
def test_chunks_are_tuned_where_nothing_is_rounded(tmp_path: Path, kind: str, is_tried: bool) -> None:
    path = tmp_path / "a.soac"
    path.write_text(f"def main [n] (xs: [n]{kind}): {kind} = reduce (+) 0 xs\n")
    blocks = blocks_of(open_program(path, settings(path, tuned=False)), "main", "cpu", 2)
    names = {dimension.name for block in blocks for dimension in block.dimensions}
    assert ("main.chunk" in names) is is_tried
    assert "main.tasks" in names
