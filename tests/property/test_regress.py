"""Programs that once broke the law keep it now, in every mode and on the CPU device."""

from __future__ import annotations

from pathlib import Path

import pytest

from soac.cli import run_cli
from soac.ir.machine import Mode
from tests.property.device import check_device
from tests.property.law import check_law
from tests.property.saved import load
from tests.property.soak import REGRESS


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.ir")), ids=lambda path: path.stem)
def test_the_law_holds_now(path: Path) -> None:
    case = load(path)
    for mode in Mode:
        check_law(case, mode)
    check_device(case)


@pytest.mark.parametrize("path", sorted(REGRESS.glob("*.soac")), ids=lambda path: path.stem)
def test_every_version_gives_what_is_said(path: Path) -> None:
    assert run_cli(["test", "--all-versions", str(path)]) == 0
