"""What `pytest -m quick` takes: something of every package, every flattening rule and every pass with golden pairs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from soac.flatten.context.trace import Rule
from soac.pipeline import KERNEL_PASSES
from tests.support.collected import COLLECTED
from tests.test_layers import LAYERS

ROOT = Path(__file__).parent
pytestmark = pytest.mark.quick
OPTIONAL = re.compile(r"^(\w+(: \w+)? = )?pytest\.importorskip\(", re.MULTILINE)  # wants more than CI installs
LONG = {"G0", "alias", "append", "call", "fission", "iota"}
"""Rules that no example of the guide shows: random programs reach them, for seconds, and goldens by the way."""


@cache
def _all() -> tuple[Path, ...]:
    """The files of tests that run with what CI installs."""
    return tuple(path for path in ROOT.rglob("test_*.py") if not OPTIONAL.search(path.read_text(encoding="utf-8")))


def _always(folder: Path) -> list[Path]:
    """Those of a folder."""
    return [path for path in _all() if path.is_relative_to(folder)]


@pytest.fixture(scope="module")
def quick(request: pytest.FixtureRequest) -> list[pytest.Item]:
    """The quick tests of a run of all tests."""
    items = request.config.stash[COLLECTED]
    if not {item.path for item in items}.issuperset(_always(ROOT)):
        pytest.skip("only some of the tests were collected")
    return [item for item in items if item.get_closest_marker("quick") is not None]


@pytest.fixture(scope="module")
def folders(quick: list[pytest.Item]) -> set[Path]:
    """Those that have a quick test in them."""
    return {folder for path in {item.path for item in quick} for folder in path.parents}


@pytest.mark.parametrize("package", [package for row in LAYERS for package in row])
def test_every_package_has_a_quick_test(package: str, folders: set[Path]) -> None:
    """In its own folder; in that of the package around it, if it has none that CI runs."""
    folder = ROOT.joinpath(*package.split("."))
    while not _always(folder):
        folder = folder.parent
    assert folder in folders


def test_every_rule_has_a_quick_test(quick: list[pytest.Item]) -> None:
    cases = {item.name for item in quick}
    assert {rule.value for rule in Rule if f"test_rule_fires_and_keeps_the_meaning[{rule.value}]" not in cases} == LONG


def test_every_pass_has_a_quick_test(quick: list[pytest.Item]) -> None:
    cases = {item.name for item in quick}
    passes = {name for listed in KERNEL_PASSES.values() for name, _ in listed}
    assert {one for one in passes if not any(name.startswith(f"test_pass[{one}/") for name in cases)} == set()
    for folder in ("simplify", "fuse", "inplace"):
        assert any(name.startswith(f"test_a_pass_gives[{folder}/") for name in cases)
