"""Thresholds against brute force over all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest

from benchmarks.synthetic import entry
from soac.autotune.model import NOTHING, Cost, Guard, Side, candidates, cost_of
from soac.autotune.solve import Solution, descend, solve, weights_of
from soac.autotune.tuning import INFINITY

SEQUENCES = 1000
MOST_CHOICES = 600  # of thresholds, for brute force


def together(cases: tuple[Side, ...], weights: tuple[float, ...], thresholds: dict[str, int]) -> Cost:
    return sum((cost_of(c, w, thresholds) for c, w in zip(cases, weights, strict=True)), NOTHING)


def brute_force(cases: tuple[Side, ...], weights: tuple[float, ...]) -> Cost:
    values = candidates(cases)
    choices = itertools.product(*values.values())
    return min(together(cases, weights, dict(zip(values, choice, strict=True))) for choice in choices)


def sequences() -> Iterator[tuple[int, tuple[Side, ...]]]:
    """Random entries that brute force can do."""
    for seed in itertools.count():
        _, cases = entry(seed)
        if math.prod(len(values) for values in candidates(cases).values()) <= MOST_CHOICES:
            yield seed, cases


def test_equals_brute_force_on_random_sequences_of_sites() -> None:
    """A thousand of them, with conjunctions, loops, versions that do not fit and versions that fail."""
    conjunctions = loops = failing = 0
    for seed, cases in itertools.islice(sequences(), SEQUENCES):
        weights = weights_of(cases)
        solution, best = solve(cases, weights), brute_force(cases, weights)
        reached = together(cases, weights, dict(solution.thresholds))
        assert solution.proved
        for cost in (solution.cost, reached):
            assert cost.failing == best.failing, seed
            assert cost.seconds == pytest.approx(best.seconds), seed
        conjunctions += any(len(guard.thresholds) > 1 for case in cases for guard in case.guards)
        loops += any(len({m.thresholds for m in case.guards}) < len(case.guards) for case in cases)
        failing += any(guard.then.seconds == math.inf for case in cases for guard in case.guards)
    assert min(conjunctions, loops, failing) > 100


def test_descent_is_never_better_and_says_so() -> None:
    worse = 0
    for seed in range(200):
        _, cases = entry(seed)
        weights = weights_of(cases)
        exact, found = solve(cases, weights), descend(cases, weights)
        assert not found.proved
        assert found.cost.failing >= exact.cost.failing
        assert together(cases, weights, dict(found.thresholds)).seconds == pytest.approx(found.cost.seconds)
        worse += found.cost.seconds > exact.cost.seconds * 1.0001
    assert worse < 40


def test_above_the_limit_it_descends() -> None:
    _, cases = entry(3)
    assert not solve(cases, weights_of(cases), work=1).proved


def test_a_threshold_in_two_places_is_solved_for_both() -> None:
    def twice(first: float, second: float) -> Side:
        inner = guard(8, second, 4.0, "t")
        return Side(0.0, (Guard(("u",), (1,), Side(9.0, ()), Side(0.0, (inner,))), guard(8, first, 1.0, "t")))

    solution = solve([twice(5.0, 1.0)], [1.0])
    assert not solution.proved
    assert solution.cost == Cost(0, 5.0)


def guard(par: int, then: float, orelse: float, name: str = "t") -> Guard:
    return Guard((name,), (par,), Side(then, ()), Side(orelse, ()))


def solved(*cases: Guard) -> Solution:
    return solve([Side(1.0, (case,)) for case in cases], [1.0] * len(cases))


def test_takes_the_geometric_middle() -> None:
    assert solved(guard(4, 9.0, 1.0), guard(64, 1.0, 9.0)).thresholds == {"t": 17}


def test_neighbouring_choices_that_cost_the_same_are_one_interval() -> None:
    """Parallelism 100 does not care: the middle is between 4 and 2500."""
    assert solved(guard(4, 9.0, 1.0), guard(100, 2.0, 2.0), guard(2500, 1.0, 9.0)).thresholds == {"t": 111}


def test_a_version_that_cannot_run_is_avoided() -> None:
    assert solved(guard(8, math.inf, 5.0)).thresholds["t"] > 8


def test_a_guard_that_no_case_meets_keeps_its_default() -> None:
    assert solve([Side(1.0, ())], [1.0]).thresholds == {}


def test_a_version_that_does_not_fit_is_never_taken() -> None:
    assert solved(guard(-5, 0.0, 5.0), guard(3, 1.0, 2.0)).cost == Cost(0, 8.0)


def test_equal_parallelism_goes_one_way() -> None:
    cost = solved(guard(8, 1.0, 4.0), guard(8, 6.0, 1.0)).cost
    assert cost == Cost(0, 7.0)


def test_a_conjunction_is_searched_jointly() -> None:
    def joint(pars: tuple[int, int], then: float) -> Side:
        return Side(0.0, (Guard(("t", "u"), pars, Side(then, ()), Side(5.0, ())),))

    cases = [joint((4, 1000), 1.0), joint((4, 3000), 9.0), joint((90, 3000), 1.0), joint((90, 1000), 1.0)]
    solution = solve(cases, [1.0] * 4)
    assert solution.cost == Cost(0, 12.0) == brute_force(tuple(cases), (1.0,) * 4)


def test_thresholds_are_numbers_of_the_file() -> None:
    solution = solved(guard(2**62, 9.0, 1.0))
    assert 2**62 < solution.thresholds["t"] <= INFINITY
