"""A sample of `python -m tests.support.gradients`: reverse mode agrees with forward mode on random programs."""

from __future__ import annotations

import pytest

from tests.support.gradients import program, wrong


@pytest.mark.parametrize("number", range(6))
def test_reverse_agrees_with_forward(number: int) -> None:
    assert not wrong(program(number, 11, 2)[0], number, 11, versions=False)
