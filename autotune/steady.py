"""Thresholds that the next search finds too: choices within the noise of the times are made by a rule, not by chance.

What the search has chosen is compared with other thresholds, one after another in the order of their names. One whose
default serves every data set as well keeps its default; of the other choices that serve as well, the widest interval of
neighbours counts, and its middle is taken.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .model import NOTHING, Side, candidates, cost_of, guards_taken, seconds_of
from .solve import Solution, middle, widest

TOLERANCE = 0.02
"""Of a time, by which others always may differ."""

GRAIN = 1e-6
"""Seconds by which the times of two calls may differ whatever they do."""

MOST_GIVEN = 0.25
"""Of a time: more is not given away for a threshold that stays the same, however noisy the machine is."""


@dataclass(frozen=True, slots=True)
class Steady:
    """A solution, and those of its thresholds that do not matter for the data sets: any value serves as well."""

    solution: Solution
    indifferent: tuple[str, ...]


def steadied(
    cases: Sequence[Side],
    weights: Sequence[float],
    solution: Solution,
    defaults: Mapping[str, int],
    noises: Sequence[float],
) -> Steady:
    """The solution with the thresholds that a rule chooses among those that are no slower on any data set. `noises`: by
    how much times of each data set differ, relatively."""
    best = [seconds_of(case, solution.thresholds) for case in cases]
    limits = [seconds * (1 + min(noise, MOST_GIVEN)) + GRAIN for seconds, noise in zip(best, noises, strict=True)]

    def serves(thresholds: Mapping[str, int]) -> bool:
        return all(seconds_of(case, thresholds) <= limit for case, limit in zip(cases, limits, strict=True))

    indifferent, values = [], candidates(cases)
    now = {name: default for name, default in defaults.items() if name in values} | dict(solution.thresholds)
    for name in sorted(solution.thresholds):
        fine = [serves({**now, name: value}) for value in values[name]]
        if all(fine):
            indifferent.append(name)
        if name in defaults and serves({**now, name: defaults[name]}):
            now[name] = defaults[name]
        elif any(fine):
            now[name] = middle(*widest(values[name], fine))
    cost = sum((cost_of(case, weight, now) for weight, case in zip(weights, cases, strict=True)), NOTHING)
    reached = {name for case in cases for guard, _ in guards_taken(case, now) for name in guard.thresholds}
    kept = {name: value for name, value in now.items() if name in reached}
    return Steady(replace(solution, cost=cost, thresholds=kept), tuple(indifferent))


def noise_of(samples: Sequence[float]) -> float:
    """How much two times of a data set may differ by chance: the spread of the middle half of one version's."""
    if len(samples) < 4:
        return TOLERANCE
    first, median, third = statistics.quantiles(samples, n=4)
    return max(TOLERANCE, (third - first) / median)


def is_clear(before: float, low: float, high: float, noise: float) -> bool:
    """Whether a time and another one, which is between `low` and `high`, differ by more than by chance."""
    return before > high * (1 + noise) + GRAIN or before < low * (1 - noise) - GRAIN
