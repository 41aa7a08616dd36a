"""The form that simplification, fusion and maps in place give: one golden pair for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.flatten.fusion.driver import fuse
from soac.flatten.invariant_parts import hoist_invariant_parts
from soac.flatten.memory.fuse_points import fuse_points
from soac.flatten.memory.fuse_stencils import fuse_stencils
from soac.flatten.memory.in_place import in_place
from soac.flatten.memory.interior_updates import interior_updates
from soac.flatten.memory.merge_writes import merge_writes
from soac.flatten.memory.turn_maps import turn_maps
from soac.flatten.simplify.driver import simplify
from soac.flatten.unroll import unroll
from soac.ir.check import Stage
from tests.support.golden_pairs import assert_pair, pairs

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("path", pairs("simplify"), ids=lambda path: path.stem)
def test_simplify_gives(path: Path, update: bool) -> None:
    assert_pair(path, simplify, update)


@pytest.mark.parametrize("path", pairs("fuse"), ids=lambda path: path.stem)
def test_fuse_gives(path: Path, update: bool) -> None:
    assert_pair(path, lambda prog: fuse(simplify(prog)), update)


@pytest.mark.parametrize("path", pairs("inplace"), ids=lambda path: path.stem)
def test_in_place_gives(path: Path, update: bool) -> None:
    assert_pair(path, in_place, update, Stage.FLAT)


@pytest.mark.parametrize("path", pairs("turned"), ids=lambda path: path.stem)
def test_turn_maps_gives(path: Path, update: bool) -> None:
    assert_pair(path, turn_maps, update, Stage.FLAT)


@pytest.mark.parametrize("path", pairs("interior"), ids=lambda path: path.stem)
def test_interior_updates_gives(path: Path, update: bool) -> None:
    assert_pair(path, interior_updates, update, Stage.FLAT)


@pytest.mark.parametrize("path", pairs("parts"), ids=lambda path: path.stem)
def test_hoist_invariant_parts_gives(path: Path, update: bool) -> None:
    assert_pair(path, lambda prog: simplify(hoist_invariant_parts(prog)), update)


@pytest.mark.parametrize("path", pairs("unroll"), ids=lambda path: path.stem)
def test_unroll_gives(path: Path, update: bool) -> None:
    assert_pair(path, unroll, update)


@pytest.mark.parametrize("path", pairs("writes"), ids=lambda path: path.stem)
def test_merge_writes_gives(path: Path, update: bool) -> None:
    assert_pair(path, lambda prog: simplify(merge_writes(prog)), update, Stage.FLAT)


@pytest.mark.parametrize("path", pairs("points"), ids=lambda path: path.stem)
def test_fuse_points_gives(path: Path, update: bool) -> None:
    assert_pair(path, fuse_points, update, Stage.FLAT)


@pytest.mark.parametrize("path", pairs("stencils"), ids=lambda path: path.stem)
def test_fuse_stencils_gives(path: Path, update: bool) -> None:
    assert_pair(path, fuse_stencils, update, Stage.FLAT)
