"""Every wrong rule of `faults.py` is found by the smallest program known to find it, and by nothing but the fault."""

from __future__ import annotations

import pytest

from tests.support.property.device import check_device
from tests.support.property.faults import FAULTS, ROOT, Fault
from tests.support.property.law import check_law
from tests.support.property.planted import path_of, replayed
from tests.support.property.saved import load
from tests.support.property.soak import MODES


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_is_found(fault: Fault) -> None:
    assert replayed(fault)
    case = load(path_of(fault))
    if fault.device:
        check_device(case)
    else:
        for mode in MODES:
            check_law(case, mode)


def test_faults_have_names_of_their_own() -> None:
    assert len({path_of(fault) for fault in FAULTS}) == len(FAULTS)


def test_the_guide_names_every_fault() -> None:
    guide = (ROOT / "docs" / "flattening.md").read_text(encoding="utf-8")
    assert [fault.name for fault in FAULTS if f"| {fault.group.value} | {fault.name} |" not in guide] == []


def test_faults_have_their_places() -> None:
    """Also those that are tried at night."""
    assert [fault.name for fault in FAULTS if fault.old not in (ROOT / fault.file).read_text(encoding="utf-8")] == []
