"""Random programs over large flat arrays: every version on one to four threads gives what NumPy gives.
`python -m tests.support.large_programs` runs more."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings

from tests.property.test_meaning import ACCEPTED
from tests.support.large_programs.check import check_program, program_of, programs
from tests.support.large_programs.generate import SMALL, Program
from tests.support.source_programs.stages import Reach

pytestmark = pytest.mark.whole

SEED = 16


@pytest.mark.parametrize("number", range(3))
def test_every_version_gives_what_numpy_gives(number: int) -> None:
    check_program(program_of(Random(f"{SEED} {number}")), Reach())


@settings(ACCEPTED, max_examples=3)
@given(programs(SMALL))
def test_programs_of_hypothesis(program: Program) -> None:
    check_program(program, Reach())


def test_a_program_is_always_the_same() -> None:
    assert program_of(Random("1 7")).text == program_of(Random("1 7")).text
