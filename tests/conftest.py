"""What tests of all packages share."""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import tempfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support.collected import COLLECTED

# The pull-request run draws the same examples each time; `pytest --hypothesis-profile=random` draws new ones. How long
# something takes says more about what else the machine does.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "random", hypothesis.settings.get_profile("fixed"), derandomize=False, print_blob=True
)
hypothesis.settings.load_profile("fixed")

ROOT = Path(__file__).parents[1]


DURATIONS = Path(__file__).with_name("durations.json")
LISTED = 0.1  # seconds from which on a test's duration is kept
SLOW = 0.2  # seconds from which on a test is `slow`
ALONE = 0.3  # seconds from which on the shortest case of a function is too, which is the only one then
QUICK, QUICK_FILE = 0.2, 0.3  # seconds that a `quick` test, and those of a file, take at most
QUICK_WORST = 1.0  # seconds that any other case of its function takes at most
UNLISTED = 0.02  # seconds that a test takes which is not listed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write what comes out into the golden files; read the diff")
    parser.addoption("--record", action="store_true", help=f"write how long tests took into {DURATIONS.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled kernels are kept between runs in `.cache`, those of a run in CI in a directory of its own; all unless
    SOAC_CACHE_DIR names one. No kernel has quick code first, but where a test says otherwise."""
    os.environ.setdefault("SOAC_EFFORT", "full")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each process that a test begins would compile all modules
    if "SOAC_CACHE_DIR" in os.environ:
        return
    if "CI" in os.environ:
        os.environ["SOAC_CACHE_DIR"] = tempfile.mkdtemp(prefix="soac-tests-")
        config.add_cleanup(_remove_cache)
    else:
        os.environ["SOAC_CACHE_DIR"] = str(ROOT / ".cache")


def _remove_cache() -> None:
    shutil.rmtree(os.environ.pop("SOAC_CACHE_DIR"), ignore_errors=True)


OF_VALUES = ("conformance", "flatten", "kernels/lanes", "kernels/passes", "kernels/schedule", "programs", "property")
"""Where tests look at what programs give, not at how fast."""
WHOLE = 8
"""Of that many of these tests one has kernels that went through all of LLVM's passes, which take most of the time of a
test; those of the others went through few."""


@pytest.fixture(autouse=True)
def few_passes_of_llvm(request: pytest.FixtureRequest) -> Iterator[None]:
    """For seven of eight tests of values; for none at night ($SOAC_LLVM=all)."""
    name = request.node.nodeid
    is_whole = zlib.crc32(name.encode()) % WHOLE == 0 or os.environ.get("SOAC_LLVM") == "all"
    if is_whole or not name.startswith(tuple([f"tests/{folder}/" for folder in OF_VALUES])):
        yield
        return
    from soac.kernels.devices.cpu import build
    from soac.kernels.devices.cpu.runtime.jit import Effort, load_text, source_of
    from tests.support import compiled_kernels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "source_of", lambda text, _: source_of(text, Effort.QUICK))
        patch.setattr(compiled_kernels, "load_text", lambda *given: load_text(*given, effort=Effort.QUICK))
        yield


# ---- which tests are quick, and which slow -----------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks by recorded durations: `slow` from SLOW seconds on, the shortest case of a function from ALONE on; `quick`
    what is quick itself, as much of each file as fits in QUICK_FILE seconds. `whole` stays in every full run,
    `whole(below=S)` if it takes less than S seconds. Marks in the source hold."""
    config.stash[COLLECTED] = list(items)
    seconds: dict[str, float] = json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}
    worst: defaultdict[str, float] = defaultdict(float)
    for name, took in seconds.items():
        worst[_function(name)] = max(took, worst[_function(name)])
    shortest: dict[str, tuple[float, str]] = {}
    for item in items:
        one = (seconds.get(item.nodeid, UNLISTED), item.nodeid)
        shortest[_function(item.nodeid)] = min(one, shortest.get(_function(item.nodeid), one))
    files: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        took = seconds.get(item.nodeid, UNLISTED)
        whole = item.get_closest_marker("whole")
        if whole is not None and took >= whole.kwargs.get("below", math.inf):
            item.add_marker(pytest.mark.slow)
        if whole is not None or any(item.get_closest_marker(mark) is not None for mark in ("quick", "slow")):
            continue
        limit = ALONE if shortest[_function(item.nodeid)][1] == item.nodeid else SLOW
        if took >= limit:
            item.add_marker(pytest.mark.slow)
        elif took <= QUICK and worst[_function(item.nodeid)] <= QUICK_WORST and item.get_closest_marker("gpu") is None:
            files[item.path].append(item)
    for tests in files.values():
        left = QUICK_FILE
        for item in _each_function_first(tests):
            took = seconds.get(item.nodeid, UNLISTED)
            if took <= left:
                item.add_marker(pytest.mark.quick)
                left -= took


def _each_function_first(tests: list[pytest.Item]) -> list[pytest.Item]:
    """One case of each function of a file, then a second one of each, .."""
    cases: Counter[str] = Counter()
    turn: dict[str, int] = {}
    for item in tests:
        turn[item.nodeid] = cases[_function(item.nodeid)]
        cases[_function(item.nodeid)] += 1
    return sorted(tests, key=lambda item: turn[item.nodeid])


def _function(nodeid: str) -> str:
    """A test without its parameters: its other cases are much the same, and one may pay for what they share."""
    return nodeid.partition("[")[0]


_took: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--record") and not hasattr(session.config, "workerinput"):
        quick = session.config.option.markexpr == "quick"
        DURATIONS.write_text(json.dumps(_recorded(quick), indent=0) + "\n", encoding="utf-8")


def _recorded(quick: bool) -> dict[str, float]:
    """Of this run; of a test that it left out, what was recorded before. In a run of `quick` tests a test pays for what
    others prepare for it in a full run: the longer of both counts, without making it slow."""
    before: dict[str, float] = json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}
    found = dict(_took)
    if quick:
        found = {name: max(min(took, SLOW - 0.1), before.get(name, 0.0)) for name, took in found.items()}
    found = {name: took for name, took in before.items() if name not in found} | found
    return {name: round(took, 1) for name, took in sorted(found.items()) if took >= LISTED}


def pytest_collection_finish() -> None:
    """What is there now stays, and the collector of cycles need not walk it again and again. It comes less often: with
    Python's own thresholds it takes a twentieth of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20)


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
