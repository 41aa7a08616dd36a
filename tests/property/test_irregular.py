"""The law on random programs of nonuniform parallelism: in the interpreter, and every version on the CPU device.

At most $SOAC_PROPERTY_PROGRAMS (200) in at most $SOAC_PROPERTY_SECONDS (4), a quarter of both on the device.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest

from tests.support.property.device import check_device
from tests.support.property.generate import Case
from tests.support.property.irregular import check_program, in_versions
from tests.support.property.law import Tally
from tests.support.property.soak import record

pytestmark = pytest.mark.whole

PROGRAMS = int(os.environ.get("SOAC_PROPERTY_PROGRAMS", "200"))
SECONDS = float(os.environ.get("SOAC_PROPERTY_SECONDS", "4"))


def share(law: Callable[[Case], Tally], programs: int, seconds: float) -> tuple[int, Tally]:
    """As many of the first programs as there is time for."""
    end, tally, count = time.monotonic() + seconds, Tally(), 0
    while count < programs and time.monotonic() < end:
        tally.add(check_program(count, law))
        count += 1
    tally.programs = count
    return count, tally


def test_random_programs_keep_their_meaning(record_property: Callable[[str, object], None]) -> None:
    count, tally = share(in_versions, PROGRAMS, SECONDS)
    record(record_property, tally)
    assert count


def test_random_programs_keep_their_meaning_on_the_device() -> None:
    count, tally = share(check_device, PROGRAMS // 4, SECONDS / 4)
    print(f"\n{count} programs, {tally.versions} versions")
    assert count
