"""Timing what the solver needs: one reference run of each case that refuses every guard, and one for each guard taken.

With independent guards on a side, a run differs from that of the enclosing side by one choice; so there are as many
runs of a case as guards, and one more. Each run is repeated, and the least time counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..flatten.tree import Branch
from ..ir.errors import SoacError
from .solve import Guard, Interval, Side

Met = Sequence[tuple[str, int, bool]]  # the guards of a run: threshold, parallelism, taken
Run = Callable[[Mapping[str, bool]], Met]
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Measured:
    """What `solve` takes, and for the report the seconds of each run, by the guards it took (`full`: none)."""

    guards: tuple[Guard, ...]
    pars: Mapping[str, Sequence[Interval | None]]
    reference: tuple[float, ...]
    times: Mapping[str, tuple[float, ...]]
    failures: tuple[str, ...]


@dataclass(slots=True)
class Tuner:
    """Runs cases with forced guards, and keeps what it sees."""

    runs: Sequence[Run]
    repetitions: int
    thresholds: tuple[str, ...]
    pars: dict[str, list[Interval | None]]
    times: dict[str, tuple[float, ...]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def time_all(self, taken: Mapping[str, bool]) -> tuple[float, ...]:
        """Seconds of every case with these guards decided, all others refused; infinite where it fails."""
        forced = {**dict.fromkeys(self.thresholds, False), **taken}
        name = " ".join(guard for guard, side in taken.items() if side) or "full"
        self.times[name] = tuple(self._time(case, forced, name) for case in range(len(self.runs)))
        return self.times[name]

    def _time(self, case: int, forced: Mapping[str, bool], name: str) -> float:
        run, best = self.runs[case], INFINITE
        try:
            self._note(case, run(forced))
            for _ in range(self.repetitions):
                start = time.perf_counter()
                run(forced)
                best = min(best, time.perf_counter() - start)
        except SoacError as error:
            self.failures.append(f"case {case}, {name}: {error}")
            return INFINITE
        return best

    def _note(self, case: int, met: Met) -> None:
        for threshold, par, _ in met:
            low, high = self.pars[threshold][case] or (par, par)
            self.pars[threshold][case] = (min(low, par), max(high, par))

    def guards(self, branches: Sequence[Branch], taken: Mapping[str, bool], base: Sequence[float]) -> tuple[Guard, ...]:
        """The guards of a side whose run has these guards taken and takes `base` seconds."""
        return tuple(self._guard(branch, taken, base) for branch in branches)

    def _guard(self, branch: Branch, taken: Mapping[str, bool], base: Sequence[float]) -> Guard:
        there = {**taken, branch.threshold: True}
        times = self.time_all(there)
        extra = tuple(t - b if t < INFINITE and b < INFINITE else t for t, b in zip(times, base))
        return Guard(
            branch.threshold,
            Side(extra, self.guards(branch.then, there, times)),
            Side((0.0,) * len(times), self.guards(branch.orelse, taken, base)),
        )


def measure(branches: Sequence[Branch], runs: Sequence[Run], repetitions: int) -> Measured:
    """Times every case on every version that the solver needs."""
    thresholds = tuple(_thresholds(branches))
    tuner = Tuner(runs, repetitions, thresholds, {name: [None] * len(runs) for name in thresholds})
    reference = tuner.time_all({})
    guards = tuner.guards(branches, {}, reference)
    return Measured(guards, tuner.pars, reference, tuner.times, tuple(tuner.failures))


def _thresholds(branches: Sequence[Branch]) -> list[str]:
    return [
        name
        for branch in branches
        for name in (branch.threshold, *_thresholds(branch.then), *_thresholds(branch.orelse))
    ]
