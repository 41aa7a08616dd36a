"""Small programs through the elaborator and the core interpreter: what they give is in `programs/*.txt`."""

from __future__ import annotations

import pytest

from tests.support.elaborate_cases import CASES, Case, run_case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_program_gives(case: Case) -> None:
    run_case(case)
