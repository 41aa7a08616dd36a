"""The law on the CPU device, on random programs: $SOAC_DEVICE_PROGRAMS of them (25)."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.property.test_meaning import ACCEPTED
from tests.support.property.device import SIZES, check_device, resized
from tests.support.property.generate import Case, cases
from tests.support.property.guards import Broken
from tests.support.property.law import NoMeaning, meaning_of
from tests.support.property.soak import LATE, within

pytestmark = pytest.mark.whole

SECONDS = 2
PROGRAMS = int(os.environ.get("SOAC_DEVICE_PROGRAMS", "25"))


@settings(ACCEPTED, max_examples=PROGRAMS)
@given(cases(), st.sampled_from(SIZES), st.sampled_from(SIZES), st.integers(0, 1 << 16))
def test_every_version_on_the_device_keeps_the_meaning(case: Case, n: int, k: int, seed: int) -> None:
    """Of programs whose oracle has an answer in short: nests of several levels have millions of points."""
    one = resized(case, n, k, seed)
    try:
        with within(SECONDS):
            meaning_of(one)
    except (Broken, NoMeaning) as error:
        if str(error) != LATE.format(SECONDS):
            raise
        reject()
    check_device(one)
