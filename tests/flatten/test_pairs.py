"""The form that simplification, fusion and maps in place give: one golden pair for each rule. No rule loses a check."""

from __future__ import annotations

from collections.abc import Callable
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
from soac.ir.check import Stage, check
from soac.ir.core import Prog
from tests.support.golden_pairs import assert_pair, is_checked, pairs, with_checks

pytestmark = pytest.mark.quick


PASSES: dict[str, tuple[Callable[[Prog], Prog], Stage]] = {
    "simplify": (simplify, Stage.CORE),
    "fuse": (lambda prog: fuse(simplify(prog)), Stage.CORE),
    "parts": (lambda prog: simplify(hoist_invariant_parts(prog)), Stage.CORE),
    "unroll": (unroll, Stage.CORE),
    "inplace": (in_place, Stage.FLAT),
    "turned": (turn_maps, Stage.FLAT),
    "interior": (interior_updates, Stage.FLAT),
    "writes": (lambda prog: simplify(merge_writes(prog)), Stage.FLAT),
    "points": (fuse_points, Stage.FLAT),
    "stencils": (fuse_stencils, Stage.FLAT),
}
"""What is done to the pairs of a folder, and what they are then."""
PAIRS = [pytest.param(path, id=f"{folder}/{path.stem}") for folder in PASSES for path in pairs(folder)]


@pytest.mark.parametrize("path", PAIRS)
def test_a_pass_gives(path: Path, update: bool) -> None:
    run, stage = PASSES[path.parent.name]
    assert_pair(path, run, update, stage)


@pytest.mark.parametrize("path", PAIRS)
def test_what_made_an_array_behind_a_check_is_still_checked(path: Path) -> None:
    """Whatever becomes of the array. A check of a scalar may go: sizes, and what need not be known any more."""
    run, stage = PASSES[path.parent.name]
    for array, prog in with_checks(path):
        found = run(prog)
        check(found, stage)
        assert is_checked(found), array
