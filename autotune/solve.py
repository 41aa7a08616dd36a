"""Thresholds solved exactly, with no further runs.

An entry is a sequence of guards, each with two sides that hold further guards (`model.py`). Times add up, so that every
guard is solved by itself, for the set S of the executions that reach it:

    best(S)  =  min over t of  sum of cost(then of m) over m in S with t <= par(m)  +  the same of orelse for the rest
    cost(side) = its own time + best of the guards in it

where t ranges over the parallelisms in S and infinity: no other threshold splits S differently. The thresholds of a
conjunction are searched together. Solving guard by guard, the deepest first over all data sets, is not exact: data sets
that an enclosing guard takes away still vote. A choice leaves an interval for t; where neighbouring choices cost the
same it is all of theirs. Its geometric middle is taken.

Where a threshold guards in more than one place of the tree, or there is too much to search (`Limit`), thresholds are
improved one by one instead (`descend`), and the solution is not proved to be best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from .model import NOTHING, Cost, Guard, Side, all_guards, candidates, cost_of, own
from .tuning import INFINITY

WORK = 200_000
"""Splits that are looked at before the search is given up."""

SAME = 1e-9
"""Costs that differ by less, relatively, are equal: sums are taken in different orders."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Weighted cost, and the thresholds that matter: a guard that no data set meets has none."""

    cost: Cost
    thresholds: Mapping[str, int]
    proved: bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """The executions of a guard with equal parallelism in a data set of this weight."""

    weight: float
    guard: Guard


class TooMuch(Exception):
    """There is more to search than the limit allows."""


@dataclass(slots=True)
class Limit:
    """How many splits may still be looked at."""

    left: int
    memo: dict[tuple[int, ...], tuple[Cost, dict[str, int]]] = field(default_factory=dict)

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooMuch


def solve(cases: Sequence[Side], weights: Sequence[float], work: int = WORK) -> Solution:
    """The thresholds of least weighted time."""
    if has_shared_thresholds(cases):
        return descend(cases, weights)
    try:
        cost, thresholds = _sides(tuple(zip(weights, cases, strict=True)), Limit(work))
    except TooMuch:
        return descend(cases, weights)
    return Solution(cost, thresholds, True)


def weights_of(cases: Sequence[Side]) -> tuple[float, ...]:
    """What makes the weighted sum the mean over data sets of time over that data set's best."""
    bests = [solve([case], [1.0]).cost.seconds for case in cases]
    return tuple(1.0 / (len(cases) * max(best, 1e-9)) for best in bests)


def has_shared_thresholds(cases: Sequence[Side]) -> bool:
    """Does a threshold guard in more than one place of the tree, or in more than one conjunction?"""
    places: dict[str, set[tuple[tuple[str, ...], ...]]] = {}
    for case in cases:
        _note_places(case, (), places)
    return any(len(found) > 1 for found in places.values())


def _note_places(side: Side, path: tuple[tuple[str, ...], ...], places: dict[str, set]) -> None:
    for guard in side.guards:
        for threshold in guard.thresholds:
            places.setdefault(threshold, set()).add((*path, guard.thresholds))
        _note_places(guard.then, (*path, guard.thresholds, ("then",)), places)
        _note_places(guard.orelse, (*path, guard.thresholds, ("else",)), places)


# ---- the exact search -------------------------------------------------------------------------------------------


def _sides(sides: Sequence[tuple[float, Side]], limit: Limit) -> tuple[Cost, dict[str, int]]:
    """The least cost of these sides together: their own, and that of the guards in them, each solved by itself."""
    total, thresholds = NOTHING, {}
    guards: dict[tuple[str, ...], list[Weighed]] = {}
    for weight, side in sides:
        total += own(side, weight)
        for guard in side.guards:
            guards.setdefault(guard.thresholds, []).append(Weighed(weight, guard))
    for group in guards.values():
        cost, found = _guard(group, limit)
        total += cost
        thresholds |= found
    return total, thresholds


def _guard(group: Sequence[Weighed], limit: Limit) -> tuple[Cost, dict[str, int]]:
    """The least cost of a guard and all below it, for the executions that reach it."""
    key = tuple(sorted(id(one.guard) for one in group))
    if key not in limit.memo:
        names = group[0].guard.thresholds
        limit.memo[key] = _single(group, names[0], limit) if len(names) == 1 else _joint(group, limit)
    return limit.memo[key]


def _single(group: Sequence[Weighed], name: str, limit: Limit) -> tuple[Cost, dict[str, int]]:
    """A guard with one threshold: of the choices that cost the least, the widest interval of neighbours."""
    pars = sorted({one.guard.pars[0] for one in group if one.guard.pars[0] >= 0})
    choices = [*pars, INFINITY]
    costs = [_split(group, {name: t}, limit)[0] for t in choices]
    low, high = widest(choices, [is_same(cost, min(costs)) for cost in costs])
    value = middle(low, high)
    cost, below = _split(group, {name: value}, limit)
    return cost, {name: value, **below}


def widest(choices: Sequence[int], best: Sequence[bool]) -> tuple[int, int]:
    """The interval low < t <= high of the longest row of neighbouring choices that are best, on a scale of ratios."""
    rows: list[tuple[int, int]] = []
    for k, is_best in enumerate(best):
        low = choices[k - 1] if k else -1
        if is_best and rows and rows[-1][1] == low:
            rows[-1] = (rows[-1][0], choices[k])
        elif is_best:
            rows.append((low, choices[k]))
    return max(rows, key=lambda row: math.log((row[1] + 1) / max(row[0] + 1, 0.5)))


def _joint(group: Sequence[Weighed], limit: Limit) -> tuple[Cost, dict[str, int]]:
    """A conjunction: all thresholds together, then each into the middle of what the others leave it."""
    names = group[0].guard.thresholds
    columns = [sorted({one.guard.pars[k] for one in group if min(one.guard.pars) >= 0}) for k in range(len(names))]
    cheapest: tuple[Cost, dict[str, int]] | None = None
    for values in product(*([*column, INFINITY] for column in columns)):
        thresholds = dict(zip(names, values, strict=True))
        cost, below = _split(group, thresholds, limit)
        if cheapest is None or (cost < cheapest[0] and not is_same(cost, cheapest[0])):
            cheapest = cost, {**thresholds, **below}
    assert cheapest is not None
    cost, thresholds = cheapest
    return cost, thresholds | _centred(group, {name: thresholds[name] for name in names})


def _centred(group: Sequence[Weighed], thresholds: Mapping[str, int]) -> dict[str, int]:
    """Thresholds that split a group as these do, each in the middle of its interval while the others stay."""
    made = dict(thresholds)
    taken = {id(one.guard) for one in group if one.guard.takes(thresholds)}
    for k, name in enumerate(group[0].guard.thresholds):
        others = {other: value for other, value in made.items() if other != name}
        against = [
            one.guard.pars[k] for one in group if id(one.guard) not in taken and one.guard.takes({**others, name: 0})
        ]
        having = [one.guard.pars[k] for one in group if id(one.guard) in taken]
        made[name] = middle(max(against, default=-1), min(having, default=INFINITY))
    return made


def _split(group: Sequence[Weighed], thresholds: Mapping[str, int], limit: Limit) -> tuple[Cost, dict[str, int]]:
    """The least cost below a guard with these thresholds."""
    limit.spend(len(group))
    taken = tuple((one.weight, one.guard.then) for one in group if one.guard.takes(thresholds))
    refused = tuple((one.weight, one.guard.orelse) for one in group if not one.guard.takes(thresholds))
    (first, above), (second, below) = _sides(taken, limit), _sides(refused, limit)
    return first + second, {**above, **below}


def is_same(cost: Cost, other: Cost) -> bool:
    close = math.isclose(cost.seconds, other.seconds, rel_tol=SAME, abs_tol=1e-15)
    return cost.failing == other.failing and close


def middle(low: int, high: int) -> int:
    """The geometric middle of the thresholds t with low < t <= high; 0 where nothing else takes an empty data set."""
    if high <= 0:
        return 0
    low = max(low, 0)
    return min(max(math.isqrt((low + 1) * high), low + 1), high)


# ---- one by one -------------------------------------------------------------------------------------------------


def descend(cases: Sequence[Side], weights: Sequence[float]) -> Solution:
    """Improve one guard's thresholds after another until none gets better, from all refused and from all taken."""
    values = candidates(cases)
    guards = list(dict.fromkeys(guard.thresholds for case in cases for guard in all_guards(case)))

    def cost(thresholds: Mapping[str, int]) -> Cost:
        parts = (cost_of(case, weight, thresholds) for weight, case in zip(weights, cases, strict=True))
        return sum(parts, NOTHING)

    def improved(thresholds: dict[str, int]) -> dict[str, int]:
        now, changed = cost(thresholds), True
        while changed:
            changed = False
            for names in guards:
                for choice in product(*(values[name] for name in names)):
                    there = thresholds | dict(zip(names, choice, strict=True))
                    if (after := cost(there)) < now and not is_same(after, now):
                        thresholds, now, changed = there, after, True
        return thresholds

    best = min((improved(dict.fromkeys(values, start)) for start in (INFINITY, 0)), key=cost)
    return Solution(cost(best), {name: _free(name, best, values[name], cost) for name in best}, False)


def _free(
    name: str, thresholds: Mapping[str, int], values: Sequence[int], cost: Callable[[Mapping[str, int]], Cost]
) -> int:
    """The middle between the neighbouring parallelisms, which is the same choice."""
    high = next(value for value in values if value >= thresholds[name])
    low = max((value for value in values if value < thresholds[name]), default=-1)
    value = middle(low, high)
    return value if is_same(cost({**thresholds, name: value}), cost(thresholds)) else thresholds[name]
