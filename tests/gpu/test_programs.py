"""Every version of every program on a GPU, against the interpreter and against what the test blocks ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from soac.frontend.source.text import Reach
from soac.kernels.devices.cuda.gpu import Gpu
from soac.settings import Settings
from soac.testing.run import test_program as outcomes_of
from tests.support.emulator import checks, subjects

pytestmark = pytest.mark.gpu
SETTINGS = Settings("cuda", None, None, use_tuning=False, params=(), forces=(), reach=Reach.ANYWHERE)
PROGRAMS = sorted((subjects.ROOT / "programs").glob("*.soac"))
RANDOM = int(os.environ.get("SOAC_GPU_RANDOM", "300"))
PART = 50
THREADS = (32, 64, 256, 1024)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_blocks(gpu: Gpu, path: Path) -> None:
    """All cases of the test block, large ones too, on every version."""
    outcomes = list(outcomes_of(path, SETTINGS, every_version=True))
    assert [outcome for outcome in outcomes if outcome.fault is not None] == []


@pytest.mark.parametrize("path", subjects.corpus(), ids=lambda path: path.stem)
def test_equals_the_interpreter(gpu: Gpu, path: Path) -> None:
    found = checks.Outcome()
    faults = list(checks.run_on(gpu, 256, subjects.of_file(path), found))
    assert not faults, "\n".join(faults[:10])


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_blocks_of_any_size(gpu: Gpu, path: Path, threads: int) -> None:
    faults = list(checks.run_on(gpu, threads, subjects.of_file(path), checks.Outcome()))
    assert not faults, "\n".join(faults[:10])


@pytest.mark.parametrize("part", range(-(-RANDOM // PART)))
def test_random_programs(gpu: Gpu, part: int) -> None:
    """Each version of each is exact."""
    faults: list[str] = []
    for number in range(part * PART, min(RANDOM, (part + 1) * PART)):
        subject = subjects.of_number(2, number)
        faults += [f"{subject.name}: {fault}" for fault in checks.run_on(gpu, 256, subject, checks.Outcome())]
    assert not faults, "\n".join(faults[:10])
