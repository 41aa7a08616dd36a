"""What tests of all floors share."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# The pull-request run draws the same examples each time; `pytest --hypothesis-profile=random` draws new ones.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.load_profile("fixed")

ROOT = Path(__file__).parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write what comes out into the golden files; read the diff")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled kernels of a test run go to a directory of its own, one for all its processes, unless one is named."""
    if "SOAC_CACHE_DIR" not in os.environ:
        os.environ["SOAC_CACHE_DIR"] = tempfile.mkdtemp(prefix="soac-tests-")
        config.add_cleanup(_remove_cache)


def _remove_cache() -> None:
    shutil.rmtree(os.environ.pop("SOAC_CACHE_DIR"), ignore_errors=True)


def pytest_collection_finish() -> None:
    """What is there now stays, and the collector of cycles need not walk it again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many random programs the run has tested, and how often each rule has fired in them."""
    counts: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    for report in terminalreporter.getreports(""):
        given = dict(report.user_properties)
        if "fired" in given:
            fired.update(given["fired"])
            counts.update({kind: given[kind] for kind in ("programs", "versions")})
    if fired:
        terminalreporter.section("random programs")
        terminalreporter.line(f"{counts['programs']} programs, {counts['versions']} versions; rules fired:")
        for name, times in fired.items():
            terminalreporter.line(f"{times:9d}  {name}")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten (`pytest --update`)."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session")
def published() -> Path:
    """Data sets of published benchmarks, which are not part of the project: $SOAC_DATA, or `shared/data` beside it."""
    place = Path(os.environ.get("SOAC_DATA", ROOT.parent / "shared" / "data"))
    if not place.is_dir():
        pytest.skip("the published data sets are not on this machine (set SOAC_DATA)")
    return place
