"""Thresholds against brute force over all of them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.synthetic import entry
from soac.autotune.model import FAILS, NOTHING, Cost, Guard, Side, all_guards, candidates, cost_of
from soac.autotune.solve import Solution, descend, solve, weights_of
from soac.autotune.tuning import INFINITY
from soac.ir.version_tree import Branch

MOST_THRESHOLDS, MOST_PARS = 4, 4
"""Of an entry: brute force has at most 5^4 choices."""


def together(cases: tuple[Side, ...], weights: tuple[float, ...], thresholds: dict[str, int]) -> Cost:
    return sum((cost_of(c, w, thresholds) for c, w in zip(cases, weights, strict=True)), NOTHING)


def brute_force(cases: tuple[Side, ...], weights: tuple[float, ...]) -> Cost:
    values = candidates(cases)
    choices = itertools.product(*values.values())
    return min(together(cases, weights, dict(zip(values, choice, strict=True))) for choice in choices)


@dataclass(frozen=True, slots=True)
class Entries:
    """Draws a tree of guards, and what each of some data sets costs in it: conjunctions, loops that meet a guard
    several times, versions that do not fit, and versions that fail."""

    draw: st.DrawFn
    pars: tuple[int, ...]

    def branches(self, left: list[str], depth: int) -> tuple[Branch, ...]:
        made: list[Branch] = []
        for _ in range(self.draw(st.integers(0 if depth else 1, 2))):
            if left and depth < 3:
                names = tuple(left.pop() for _ in range(min(len(left), self.draw(st.integers(1, 2)))))
                made.append(Branch(names, self.branches(left, depth + 1), self.branches(left, depth + 1)))
        return tuple(made)

    def side(self, branches: tuple[Branch, ...], may_fail: bool) -> Side:
        seconds = self.draw(st.integers(-1 if may_fail else 0, 20))
        if seconds < 0:
            return Side(FAILS, ())
        reached = [branch for branch in branches for _ in range(self.draw(st.integers(1, 2)))]
        guards = {(guard.thresholds, guard.pars): guard for guard in map(self.guard, reached)}
        return Side(seconds / 8, tuple(guards.values()))

    def guard(self, branch: Branch) -> Guard:
        fits = self.draw(st.integers(0, 9)) > 0
        pars = tuple(self.draw(st.sampled_from(self.pars)) if fits else -2000 for _ in branch.thresholds)
        return Guard(branch.thresholds, pars, self.side(branch.then, True), self.side(branch.orelse, False))


@st.composite
def entries(draw: st.DrawFn) -> tuple[Side, ...]:
    """What each data set of an entry costs."""
    numbers = draw(st.lists(st.integers(0, 2500), min_size=1, max_size=MOST_PARS, unique=True))
    maker = Entries(draw, tuple(numbers))
    branches = maker.branches([f"main.t{k}" for k in range(MOST_THRESHOLDS)], 0)
    return tuple(maker.side(branches, False) for _ in range(draw(st.integers(1, 3))))


def test_equals_brute_force() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=50)
    @given(entries())
    def equal(cases: tuple[Side, ...]) -> None:
        weights = weights_of(cases)
        solution, best = solve(cases, weights), brute_force(cases, weights)
        reached = together(cases, weights, dict(solution.thresholds))
        assert solution.proved
        for cost in (solution.cost, reached):
            assert cost.failing == best.failing
            assert cost.seconds == pytest.approx(best.seconds)
        reached_guards = [guard for case in cases for guard in all_guards(case)]
        seen["conjunction"] += any(len(guard.thresholds) > 1 for guard in reached_guards)
        seen["loop"] += any(len({m.thresholds for m in case.guards}) < len(case.guards) for case in cases)
        seen["failing"] += any(guard.then.seconds == FAILS for guard in reached_guards)
        seen["unfit"] += any(min(guard.pars) < 0 for guard in reached_guards)
        seen["nested"] += any(guard.then.guards or guard.orelse.guards for guard in reached_guards)
        seen["untuned is worse"] += best < together(cases, weights, {})

    equal()
    assert len(seen) == 6
    assert min(seen.values()) > 3, seen


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
