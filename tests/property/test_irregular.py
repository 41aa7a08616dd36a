"""The law on random programs of nonuniform parallelism: in the interpreter, and every version on the CPU device.

At most $SOAC_PROPERTY_PROGRAMS (200) in at most $SOAC_PROPERTY_SECONDS (40), a quarter of both on the device; it says
how many there were and how often each rule has fired.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from soac.flatten.trace import Rule
from tests.property.device import check_device
from tests.property.generate import Case
from tests.property.irregular import check_program, in_versions
from tests.property.law import Tally

PROGRAMS = int(os.environ.get("SOAC_PROPERTY_PROGRAMS", "200"))
SECONDS = float(os.environ.get("SOAC_PROPERTY_SECONDS", "40"))
RULES = (
    Rule.BALANCE, Rule.SEGMENTS, Rule.FLAT_MAP, Rule.FLAT_SCAN, Rule.FLAT_RED, Rule.FLAT_SCATTER, Rule.VARYING_IF,
    Rule.VARYING_LOOP,
)  # fmt: skip
ENOUGH = 100
"""From so many programs on every rule must have fired."""


def share(law: Callable[[Case], Tally], programs: int, seconds: float) -> tuple[int, Tally]:
    """As many of the first programs as there is time for."""
    end, tally, count = time.monotonic() + seconds, Tally(), 0
    while count < programs and time.monotonic() < end:
        tally.add(check_program(count, law))
        count += 1
    return count, tally


def test_random_programs_keep_their_meaning() -> None:
    count, tally = share(in_versions, PROGRAMS, SECONDS)
    fired = ", ".join(f"{rule.value} {tally.fired[rule]}" for rule in RULES)
    print(f"\n{count} programs, {tally.leaves} versions: {fired}")
    if count >= ENOUGH:
        assert not [rule.value for rule in RULES if tally.fired[rule] == 0]


def test_random_programs_keep_their_meaning_on_the_device() -> None:
    count, tally = share(check_device, PROGRAMS // 4, SECONDS / 4)
    print(f"\n{count} programs, {tally.leaves} versions")
    assert count
