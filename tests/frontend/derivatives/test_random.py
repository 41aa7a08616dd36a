"""A sample of `python -m tests.support.gradients`: reverse mode agrees with forward mode on random programs."""

from __future__ import annotations

import pytest

from tests.support.gradients import program, wrong


@pytest.mark.parametrize("number", range(6))
def test_reverse_agrees_with_forward(number: int) -> None:
    assert not wrong(program(number, 11, 2)[0], number, 11, versions=False)


def test_kinks_that_cancel_are_no_fault() -> None:
    """Where two numbers are equal, their minimum and maximum have derivatives of one side each, the difference of both
    sides that of the sum."""
    text, _ = program(0, 11, 0)
    body = text.split("= ", 1)[1].split("\n", 1)[0]
    ties = text.replace(f"= {body}\n", "= map2 (\\a b -> f64.min a b + f64.max a b) xs xss[0]\n", 1)
    assert all(wrong(ties, number, 11, versions=False) is None for number in range(8))
    twice = ties.replace(" = f (xs, xss, x)", " = map (* 2) (f (xs, xss, x))")
    assert any(wrong(twice, number, 11, versions=False) for number in range(4))
