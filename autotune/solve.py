"""Thresholds solved exactly, with no further runs.

The versions of an entry form a tree: a guard has two sides, and a side holds further guards, independent of each
other. The *reference* run refuses every guard. For each guard and side, one run differs from the run of its enclosing
side by that choice alone, so the difference of their times is what the choice costs (`Side.extra`; zero for refusing).
For independent guards costs add up; the best thresholds follow by dynamic programming over sets S of cases:

    cost(side, S)  = sum of extra[j] over j in S  +  sum of best(guard, S) over the guards of the side
    best(guard, S) = min over t of  cost(then, {j in S | t <= par[j]}) + cost(else, {j in S | t > par[j]})

where t ranges over the values of par[j] and infinity: no other threshold splits S differently. Where par[j] is negative
the version does not fit, and no threshold, which is never negative, takes it. A choice leaves an interval for t, of
which the geometric middle is taken. Solving guard by guard, the deepest first over all cases, is not exact: cases that
an enclosing guard takes away still vote.

A guard in a loop may compare several values in one run; par[j] is then an interval, and only thresholds that do not
fall inside an interval are considered, since a run cannot tell what a mixture costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .tuning import INFINITY

Case = int
Interval = tuple[int, int]  # least and greatest parallelism that a guard compared in a run
Pars = Mapping[str, Sequence[Interval | None]]  # by threshold, for each case; None where the guard was not met


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a guard: what it costs above the run of the enclosing side, for each case (infinite where it cannot
    run), and the guards on it."""

    extra: tuple[float, ...]
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """`if threshold <= par then .. else ..`"""

    threshold: str
    then: Side
    orelse: Side


@dataclass(frozen=True, slots=True)
class Solution:
    """Time above the reference, and the thresholds that matter; a guard that no case meets has none."""

    extra: float
    thresholds: Mapping[str, int]


def solve(guards: Sequence[Guard], pars: Pars, cases: int) -> Solution:
    """The thresholds of least total time for the outermost guards of an entry and all guards below them."""
    return _all(guards, frozenset(range(cases)), pars)


def _all(guards: Sequence[Guard], cases: frozenset[Case], pars: Pars) -> Solution:
    solutions = [_best(guard, cases, pars) for guard in guards]
    merged = {name: t for solution in solutions for name, t in solution.thresholds.items()}
    return Solution(math.fsum(solution.extra for solution in solutions), merged)


def _best(guard: Guard, cases: frozenset[Case], pars: Pars) -> Solution:
    par = {j: interval for j in cases if (interval := pars[guard.threshold][j]) is not None}
    if not par:
        return Solution(0.0, {})
    splits = [t for t in (*sorted({low for low, _ in par.values() if low >= 0}), INFINITY + 1) if _is_clean(t, par)]
    return min((_split(guard, t, par, pars) for t in splits), key=lambda solution: solution.extra)


def _is_clean(t: int, par: Mapping[Case, Interval]) -> bool:
    return all(t <= low or t > high for low, high in par.values())


def _split(guard: Guard, t: int, par: Mapping[Case, Interval], pars: Pars) -> Solution:
    """The best solution below `guard` that sends the cases with parallelism t or more to its first side."""
    taken = frozenset(j for j, (low, _) in par.items() if t <= low)
    refused = frozenset(par) - taken
    first, second = _cost(guard.then, taken, pars), _cost(guard.orelse, refused, pars)
    value = _middle(
        max((par[j][1] for j in refused if par[j][1] > 0), default=0),
        min((par[j][0] for j in taken), default=INFINITY),
    )
    return Solution(first.extra + second.extra, {guard.threshold: value, **first.thresholds, **second.thresholds})


def _cost(side: Side, cases: frozenset[Case], pars: Pars) -> Solution:
    inner = _all(side.guards, cases, pars)
    return Solution(math.fsum(side.extra[j] for j in cases) + inner.extra, inner.thresholds)


def _middle(refused: int, taken: int) -> int:
    """The geometric middle of the thresholds t with refused < t <= taken; 0 where nothing else takes an empty case."""
    if taken == 0:
        return 0
    return min(max(math.isqrt((refused + 1) * taken), refused + 1), max(taken, refused + 1))
