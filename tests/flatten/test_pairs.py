"""The form that simplification and fusion give: one golden pair for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.flatten.fuse import fuse
from soac.flatten.simplify import simplify

from .pairs import assert_pair, pairs


@pytest.mark.parametrize("path", pairs("simplify"), ids=lambda path: path.stem)
def test_simplify_gives(path: Path, update: bool) -> None:
    assert_pair(path, simplify, update)


@pytest.mark.parametrize("path", pairs("fuse"), ids=lambda path: path.stem)
def test_fuse_gives(path: Path, update: bool) -> None:
    assert_pair(path, lambda prog: fuse(simplify(prog)), update)
