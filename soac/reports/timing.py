"""Taking times: warm-up, rounds in which all runs take their turns, until the medians are known well enough.

The interval of a median is that of its order statistics (`autotune/measure.py`). Five times or fewer reach no 95 %:
then it goes from the least to the greatest.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..autotune.measure import interval

Run = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each timed call of a run, in the order they were made."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def interval(self) -> tuple[float, float]:
        """Encloses the median with 95 % confidence."""
        return interval(self.seconds)

    @property
    def spread(self) -> float:
        """Half the interval, relative to the median."""
        low, high = self.interval
        return (high - low) / 2 / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop: not before `rounds` rounds and `seconds` of them, then as soon as every spread is at most `spread`,
    and at the latest after `most_rounds` or `most_seconds`."""

    rounds: int
    seconds: float
    spread: float
    most_rounds: int
    most_seconds: float

    def is_done(self, found: Mapping[str, list[float]], spent: float) -> bool:
        rounds = min(map(len, found.values()))
        if rounds < self.rounds:
            return False
        if rounds >= self.most_rounds or spent >= self.most_seconds:
            return True
        return spent >= self.seconds and all(Times(tuple(seen)).spread <= self.spread for seen in found.values())


def race(
    runs: Mapping[str, Run], effort: Effort, clock: Clock = time.perf_counter, rest: float = 0.0
) -> dict[str, Times]:
    """The times of runs that take turns, so that other load falls on all of them; in another order each time, since a
    run finds the caches as the one before it has left them. `rest`: seconds before each, in which threads of the one
    before it may fall asleep."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    order, drawn = list(runs.items()), random.Random(0)
    for run in runs.values():
        warm_up(run)
    begin = time.perf_counter()
    while not effort.is_done(found, time.perf_counter() - begin):
        for name, run in drawn.sample(order, len(order)):
            time.sleep(rest)
            found[name].append(seconds_of(run, clock))
    return {name: Times(tuple(seen)) for name, seen in found.items()}


def warm_up(run: Run, most: int = 5) -> None:
    """Calls until a call is not clearly faster than the one before it; one that takes long is called twice at most."""
    before = seconds_of(run)
    for _ in range(most - 1):
        if before > 1.0:
            return
        now = seconds_of(run)
        if now > 0.9 * before:
            return
        before = now


def seconds_of(run: Run, clock: Clock = time.perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def seconds_text(seconds: float) -> str:
    """A time for people, with three digits; what fails takes for ever."""
    if seconds == math.inf:
        return "fails"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= 0.9995 * scale or unit == "ns":
            scaled = seconds / scale
            return f"{scaled:.3g} {unit}" if scaled < 999.5 else f"{scaled:.0f} {unit}"
    raise AssertionError


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))
