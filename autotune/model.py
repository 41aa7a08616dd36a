"""What an entry costs, by thresholds: a tree of guards for each data set.

    time(side)  =  seconds of its own  +  sum of time(guard) over the guards reached in it
    time(guard) =  time(then) if every threshold <= its parallelism else time(orelse)

Executions of a guard with equal parallelism go the same way and are one `Guard`. Where a parallelism is negative the
version does not fit the machine: the guard is refused, whatever the thresholds are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .tuning import INFINITY

FAILS = float("inf")
"""The seconds of a side that cannot be run."""


@dataclass(frozen=True, slots=True)
class Side:
    """`seconds` of its own (infinite where it cannot be run), and the guards reached in it."""

    seconds: float
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """`if t1 <= par1 && .. then .. else ..`, all executions with these parallelisms together."""

    thresholds: tuple[str, ...]
    pars: tuple[int, ...]
    then: Side
    orelse: Side

    def takes(self, thresholds: Mapping[str, int]) -> bool:
        """Does it go to its first side? A threshold that is not set is infinite."""
        return all(0 <= par >= thresholds.get(t, INFINITY) for t, par in zip(self.thresholds, self.pars, strict=True))


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """How much fails, then weighted seconds: whatever runs is better than what fails."""

    failing: int
    seconds: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.failing + other.failing, self.seconds + other.seconds)


NOTHING = Cost(0, 0.0)


def own(side: Side, weight: float) -> Cost:
    return Cost(1, 0.0) if side.seconds == FAILS else Cost(0, weight * side.seconds)


def chosen(guard: Guard, thresholds: Mapping[str, int]) -> Side:
    return guard.then if guard.takes(thresholds) else guard.orelse


def cost_of(side: Side, weight: float, thresholds: Mapping[str, int]) -> Cost:
    """What a data set costs with these thresholds."""
    total = own(side, weight)
    for guard in side.guards:
        total += cost_of(chosen(guard, thresholds), weight, thresholds)
    return total


def seconds_of(side: Side, thresholds: Mapping[str, int]) -> float:
    """The time of a data set with these thresholds."""
    cost = cost_of(side, 1.0, thresholds)
    return FAILS if cost.failing else cost.seconds


def guards_taken(side: Side, thresholds: Mapping[str, int]) -> tuple[tuple[Guard, bool], ...]:
    """The guards reached with these thresholds, outermost first, and the sides that they take."""
    found: list[tuple[Guard, bool]] = []
    for guard in side.guards:
        found.append((guard, guard.takes(thresholds)))
        found.extend(guards_taken(chosen(guard, thresholds), thresholds))
    return tuple(found)


def all_guards(side: Side) -> Iterator[Guard]:
    """Every guard that some version meets."""
    for guard in side.guards:
        yield guard
        yield from all_guards(guard.then)
        yield from all_guards(guard.orelse)


def candidates(cases: Sequence[Side]) -> dict[str, list[int]]:
    """For each threshold the values that tell something apart: the parallelisms compared, and infinity."""
    found: dict[str, set[int]] = {}
    for case in cases:
        for guard in all_guards(case):
            for threshold, par in zip(guard.thresholds, guard.pars, strict=True):
                found.setdefault(threshold, set()).update({par} if par >= 0 else ())
    return {threshold: [*sorted(pars), INFINITY] for threshold, pars in found.items()}
