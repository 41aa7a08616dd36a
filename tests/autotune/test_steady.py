"""Searches of the same truth through noise choose the same thresholds, and none that costs time."""

from __future__ import annotations

import random

import pytest

from soac.autotune.model import Guard, Side, seconds_of
from soac.autotune.solve import solve, weights_of
from soac.autotune.steady import GRAIN, MOST_GIVEN, TOLERANCE, is_clear, noise_of, steadied

DEFAULTS = {"outer": 8, "inner": 32}
NOISE = 0.05


def case(par: int, outer: float, block: float, full: float) -> Side:
    inside = Guard(("inner",), (32,), Side(block, ()), Side(full, ()))
    return Side(1e-3, (Guard(("outer",), (par,), Side(outer, ()), Side(0.0, (inside,))),))


TRUTHS = {
    "nothing matters": [(2, 0.1, 0.1, 0.1), (500, 0.1, 0.1, 0.1)],
    "outer from 500 on": [(2, 0.9, 0.1, 0.1), (40, 0.1, 0.1, 0.1), (500, 0.1, 0.9, 0.9)],
    "full, never outer": [(2, 0.9, 0.3, 0.1), (500, 0.9, 0.3, 0.1)],
    "a hundred nanoseconds": [(2, 3e-7, 2e-7, 1e-7), (0, 1e-7, 2e-7, 3e-7)],
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_searches_agree(truth: list[tuple[int, float, float, float]]) -> None:
    drawn, found, chance = random.Random(0), set(), set()
    for _ in range(40):
        seen = [case(par, *(x * drawn.uniform(1, 1 + 0.8 * NOISE) for x in times)) for par, *times in truth]
        weights = weights_of(seen)
        solution = solve(seen, weights)
        steady = steadied(seen, weights, solution, DEFAULTS, [NOISE] * len(seen)).solution
        chance.add(tuple(sorted(solution.thresholds.items())))
        found.add(tuple(sorted(steady.thresholds.items())))
        for one in seen:
            best = seconds_of(one, solution.thresholds)
            assert seconds_of(one, steady.thresholds) <= best * (1 + NOISE) + GRAIN
    assert len(found) == 1
    if truth == TRUTHS["nothing matters"]:
        assert found == {(("inner", 32), ("outer", 8))}
        assert len(chance) > 1


def test_what_does_not_matter_is_named() -> None:
    seen = [case(2, 0.9, 0.1, 0.1), case(500, 0.1, 0.9, 0.9)]
    weights = weights_of(seen)
    steady = steadied(seen, weights, solve(seen, weights), DEFAULTS, [NOISE] * 2)
    assert steady.indifferent == ("inner",)
    assert steady.solution.thresholds == DEFAULTS


def test_however_noisy_the_machine_is_a_quarter_is_the_most_that_is_given_away() -> None:
    seen = [case(2, 0.9, 0.1, 0.1 * (1 + 2 * MOST_GIVEN))]
    steady = steadied(seen, [1.0], solve(seen, [1.0]), {"outer": 8, "inner": 64}, [9.0])
    assert steady.solution.thresholds["inner"] <= 32
    assert steady.indifferent == ()


def test_gains_within_noise() -> None:
    assert is_clear(2.0, 0.9, 1.1, 0.1)
    assert is_clear(0.5, 0.9, 1.1, 0.1)
    assert not is_clear(1.2, 0.9, 1.1, 0.1)
    assert not is_clear(2e-6, 1.2e-6, 1.3e-6, TOLERANCE)
    assert noise_of([1, 1, 1]) == noise_of([1] * 9) == TOLERANCE
    assert noise_of([1, 2, 3, 4]) > 0.5
