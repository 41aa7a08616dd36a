"""Programs that once broke the law keep it now, in every mode and on the CPU device, and all of them is kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.machine import CPU, CUDA, Mode
from soac.kernels.host_ir.nodes import show_host
from soac.pipeline import compile_core
from soac.testing.outcomes import Outcome, Status
from soac.testing.run import test_program
from tests.conftest import DURATIONS
from tests.support.programs import DEFAULTS
from tests.support.property.device import check_device
from tests.support.property.law import check_law
from tests.support.property.saved import load
from tests.support.property.soak import REGRESS

# All versions of a few programs take much longer than those of all others together: scripts/nightly has them.
AT_NIGHT = 1.0
"""Seconds of all versions from which on CI runs the default versions alone."""
WHOLLY_AT_NIGHT = 2.0
"""Seconds of all versions from which on CI runs none."""
LEDGER = Path(__file__).parents[1] / "conformance" / "in_ci.txt"

pytestmark = pytest.mark.whole(below=AT_NIGHT)


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.ir")), ids=lambda path: path.stem)
def test_the_law_holds_now(path: Path) -> None:
    case = load(path)
    for mode in Mode:
        check_law(case, mode)
    check_device(case)
    assert interpreted(case.prog) == []


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.soac")), ids=lambda path: path.stem)
def test_every_version_gives_what_is_said(path: Path) -> None:
    assert wrong(path, every_version=True) == []
    assert interpreted(compile_text(path.read_text(encoding="utf-8"), str(path))) == []


def long_ones() -> list[Path]:
    """Programs of which CI runs the default versions, but those of the ledger of CI, which says what they become."""
    took = json.loads(DURATIONS.read_text(encoding="utf-8"))
    name = "tests/property/test_regress.py::test_every_version_gives_what_is_said[{}]"
    seconds = {path: took.get(name.format(path.stem), 0.0) for path in sorted(REGRESS.glob("*.soac"))}
    said = {name.partition("/")[2] for name in LEDGER.read_text(encoding="utf-8").split()}
    return [path for path, each in seconds.items() if AT_NIGHT <= each < WHOLLY_AT_NIGHT and path.stem not in said]


@pytest.mark.whole
@pytest.mark.parametrize("path", long_ones(), ids=lambda path: path.stem)
def test_the_default_version_of_a_long_one_gives_what_is_said(path: Path) -> None:
    assert wrong(path, every_version=False) == []


def wrong(path: Path, every_version: bool) -> list[Outcome]:
    """What `soac test` would say, without a process of its own, which would take longer than most programs."""
    outcomes = list(test_program(path, DEFAULTS, every_version))
    assert any(outcome.status is Status.PASSED for outcome in outcomes)
    return [outcome for outcome in outcomes if outcome.fault is not None]


def interpreted(prog: Prog) -> list[str]:
    """What the host leaves to the interpreter, which is a thousand times slower than a kernel."""
    hosts = (show_host(compile_core(prog, Mode.INCREMENTAL, machine).host) for machine in (CPU, CUDA))
    return [line for host in hosts for line in host.splitlines() if "= interpret --" in line]
