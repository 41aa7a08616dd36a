"""Thresholds against brute force over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from soac.autotune.solve import Guard, Side, solve
from soac.autotune.tuning import INFINITY

Pars = dict[str, list[tuple[int, int] | None]]


@st.composite
def forests(draw: st.DrawFn, cases: int, names: Iterator[str], depth: int) -> tuple[Guard, ...]:
    """Up to two independent guards, each with further ones below."""
    count = draw(st.integers(0 if depth else 1, 2)) if depth < 2 else 0
    extra = st.lists(st.integers(-9, 9).map(float), min_size=cases, max_size=cases).map(tuple)
    return tuple(
        Guard(
            next(names),
            Side(draw(extra), draw(forests(cases, names, depth + 1))),
            Side((0.0,) * cases, draw(forests(cases, names, depth + 2))),
        )
        for _ in range(count)
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[tuple[Guard, ...], Pars, int]:
    cases = draw(st.integers(1, 3))
    guards = draw(forests(cases, (f"t{k}" for k in itertools.count()), 0))
    values = st.integers(-2, 4).map(lambda n: (n, n))  # a version of negative parallelism does not fit
    return guards, {name: draw(st.lists(values, min_size=cases, max_size=cases)) for name in names(guards)}, cases


def names(guards: Sequence[Guard]) -> list[str]:
    return [n for g in guards for n in (g.threshold, *names(g.then.guards), *names(g.orelse.guards))]


def total(guards: Sequence[Guard], thresholds: dict[str, int], pars: Pars, case: int) -> float:
    cost = 0.0
    for guard in guards:
        interval = pars[guard.threshold][case]
        assert interval is not None
        side = guard.then if thresholds.get(guard.threshold, INFINITY) <= interval[0] else guard.orelse
        cost += side.extra[case] + total(side.guards, thresholds, pars, case)
    return cost


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems())
def test_equals_brute_force(problem: tuple[tuple[Guard, ...], Pars, int]) -> None:
    guards, pars, cases = problem
    if len(pars) > 6:
        return
    candidates = [[*sorted({i[0] for i in pars[name] if i and i[0] >= 0}), INFINITY] for name in pars]
    best = min(
        sum(total(guards, dict(zip(pars, choice)), pars, case) for case in range(cases))
        for choice in itertools.product(*candidates)
    )
    solution = solve(guards, pars, cases)
    assert solution.extra == best
    assert sum(total(guards, dict(solution.thresholds), pars, case) for case in range(cases)) == best


def guard(extra: tuple[float, ...]) -> Guard:
    return Guard("t", Side(extra, ()), Side((0.0,) * len(extra), ()))


def test_takes_the_geometric_middle() -> None:
    solution = solve([guard((9.0, -9.0))], {"t": [(4, 4), (64, 64)]}, 2)
    assert solution.thresholds == {"t": 17}


def test_a_version_that_cannot_run_is_avoided() -> None:
    assert solve([guard((float("inf"),))], {"t": [(8, 8)]}, 1).thresholds["t"] > 8


def test_a_guard_that_no_case_meets_keeps_its_default() -> None:
    assert solve([guard((1.0,))], {"t": [None]}, 1).thresholds == {}


def test_does_not_split_the_sizes_of_one_run() -> None:
    solution = solve([guard((-1.0, 2.0))], {"t": [(1, 100), (50, 50)]}, 2)
    assert solution.extra == 0.0
    assert solution.thresholds["t"] > 100
