"""The law of the project on random programs: the share of a pull request.

Programs are numbered, so that every run takes the same ones: at most $SOAC_PROPERTY_PROGRAMS (2000) in at most
$SOAC_PROPERTY_SECONDS (6). At the end of the run stand how many there were and how often each rule has fired; printed
is how common each feature of programs was. `python -m tests.support.property.soak` runs more.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from soac.ir.machine import Mode
from tests.support.property.features import Feature, features
from tests.support.property.generate import Case, cases
from tests.support.property.law import Tally, check_law
from tests.support.property.soak import Found, program, record, run_part, table

pytestmark = pytest.mark.whole

PROGRAMS = int(os.environ.get("SOAC_PROPERTY_PROGRAMS", "2000"))
SECONDS = float(os.environ.get("SOAC_PROPERTY_SECONDS", "6"))
SEED = 0
PART = 20

ACCEPTED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example),
)


def test_every_version_means_the_same(record_property: Callable[[str, object], None]) -> None:
    tally, found = share(PROGRAMS, SECONDS)
    print(f"\n{tally.programs} programs, {tally.versions} versions, {tally.skipped} left out\n{table(tally)}")
    record(record_property, tally)
    assert not found, "\n".join(f"program {one.number}, {one.path}: {one.message}" for one in found)


def share(programs: int, seconds: float) -> tuple[Tally, list[Found]]:
    """As many of the first programs as there is time for, in two processes."""
    end = time.monotonic() + seconds
    tally, found = Tally(), []
    parts = iter([range(first, min(first + PART, programs)) for first in range(0, programs, PART)])
    with ProcessPoolExecutor(2) as pool:
        running = [pool.submit(run_part, SEED, part, False) for part in (next(parts), next(parts))]
        while running:
            some, broken = running.pop(0).result()
            tally.add(some)
            found += broken
            if time.monotonic() < end and (part := next(parts, None)) is not None:
                running.append(pool.submit(run_part, SEED, part, False))
    return tally, found


@pytest.mark.slow  # of the generator
def test_programs_have_all_features() -> None:
    count = 400
    found: Counter[Feature] = Counter()
    for number in range(count):
        found.update(features(program(SEED, number)))
    for feature in Feature:
        print(f"{100 * found[feature] / count:6.1f} %  {feature.value}")
    assert not [feature.value for feature in Feature if found[feature] < 0.05 * count]


@pytest.mark.slow  # the law and the programs of the first test, drawn by Hypothesis
@settings(ACCEPTED, max_examples=6)
@given(cases())
def test_the_law_on_examples_of_hypothesis(case: Case) -> None:
    for mode in Mode:
        check_law(case, mode)
