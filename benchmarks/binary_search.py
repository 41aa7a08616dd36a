"""The search for thresholds of the slides *Regular Flattening*, as a baseline: one threshold after the other, the
deepest comparison first, by binary search in each data set.

A threshold t of a guard `t <= par` is tuned with those below it as they were found, and those on the way to it set so
that it is reached. In a data set with the parallelisms p1 < .. < pk it tells k + 1 candidates apart; their times are
taken to fall to a least one and then to rise, so that two neighbours say on which side that is. The intervals of all
data sets are intersected; where nothing is left, a value counts that most of them contain. Source: Munksgaard, Breddam,
Henriksen, Gieseke, Oancea, TFP'21.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from soac.autotune.model import Side, guards_taken
from soac.autotune.tuning import INFINITY
from soac.ir.version_tree import Branch

Time = Callable[[int, Mapping[str, int]], float]
"""The seconds of a run of a data set with these thresholds."""

Interval = tuple[float, float]
"""The thresholds above the first and up to the second number."""


@dataclass(slots=True)
class BinarySearch:
    """`cases` say which parallelisms a run compares; `runs` counts those that were made."""

    cases: Sequence[Side]
    time: Time
    runs: int = 0
    found: dict[str, int] = field(default_factory=dict)

    def search(self, branches: Sequence[Branch]) -> dict[str, int]:
        """All thresholds below these guards."""
        for threshold, way in deepest_first(branches, {}):
            wanted = [self.interval(case, threshold, way) for case in range(len(self.cases))]
            self.found[threshold] = common([one for one in wanted if one is not None])
        return self.found

    def interval(self, case: int, threshold: str, way: Mapping[str, int]) -> Interval | None:
        """The best values in a data set; None where it does not come to the guard."""
        others = {**self.found, **way}
        reached = guards_taken(self.cases[case], {**others, threshold: 0})
        pairs = [(t, par) for guard, _ in reached for t, par in zip(guard.thresholds, guard.pars, strict=True)]
        pars = sorted({par for t, par in pairs if t == threshold and par >= 0})
        if not pars:
            return None
        values = [*pars, INFINITY]
        times: dict[int, float] = {}

        def seconds(k: int) -> float:
            if k not in times:
                self.runs += 1
                times[k] = self.time(case, {**others, threshold: values[k]})
            return times[k]

        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high) // 2
            if seconds(middle) <= seconds(middle + 1):
                high = middle
            else:
                low = middle + 1
        return (values[low - 1] if low else -math.inf, values[low])


def deepest_first(branches: Sequence[Branch], way: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Each threshold with what leads to its guard, those of a guard after all that are below it."""
    for branch in branches:
        taken = {**way, **dict.fromkeys(branch.thresholds, 0)}
        yield from deepest_first(branch.then, taken)
        yield from deepest_first(branch.orelse, {**way, **dict.fromkeys(branch.thresholds, INFINITY)})
        for threshold in branch.thresholds:
            yield threshold, {name: value for name, value in taken.items() if name != threshold}


def common(wanted: Sequence[Interval]) -> int:
    """A value in all intervals, the greatest; if there is none, one in most of them."""
    if not wanted:
        return INFINITY
    return int(max((high for _, high in wanted), key=lambda v: (sum(low < v <= high for low, high in wanted), v)))
