"""The search: runs that see every version, thresholds solved exactly, sizes, and a run that confirms.

The next step always follows from the trials in the study alone, so that a search that was cut off goes on where it
ended, and machines that share a study share the work: a data set is timed by one of them at a time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import optuna
from optuna.study import Study

from ..ir.version_tree import Branch
from .measure import OutOfBudget, Record, Version, drift, record_to_data
from .model import FAILS, Guard, Side, seconds_of
from .observe import Piece, Status, is_guess, scaled, seen, side_of
from .plan import most_versions, next_versions
from .solve import Solution, solve, weights_of
from .steady import Steady, noise_of, steadied
from .store import (
    GRACE,
    MOST_RUNS,
    Phase,
    Planned,
    Request,
    Timed,
    fail_stale,
    is_taken,
    note,
    request_to_data,
    running_cases,
    timed_of,
)

SLOWEST = 10.0
"""A version that takes this many times as long as the best one is stopped."""

LEAST_LIMIT = 0.25
"""Seconds below which no version is stopped."""

WAIT = 0.5
GLANCE = 0.01
"""Seconds between looks at what other processes run, and at what they are about to run."""


class Bench(Protocol):
    """Times a run, or finds it among stored ones."""

    def __call__(self, request: Request) -> Record: ...


@dataclass(frozen=True, slots=True)
class Problem:
    """An entry with guards and the names of its data sets; `sizes` that are set while it is timed; what thresholds are
    by default, where a choice that makes no difference is to be left to that."""

    branches: tuple[Branch, ...]
    labels: tuple[str, ...]
    sizes: Mapping[str, int]
    defaults: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """What is reported after each run: runs done, and the most there may be."""

    done: int
    most: int


@dataclass(slots=True)
class Search:
    """A search under way. `until`: when it must end, on the monotonic clock."""

    study: Study
    sampler: Planned
    bench: Bench
    until: float
    tell: Callable[[Progress], None]
    most: int = 0

    # ---- trials ---------------------------------------------------------------------------------------------------

    def timed(self) -> list[Timed]:
        return timed_of(self.study.get_trials(deepcopy=False))

    def run(self, request: Request) -> Record | None:
        """One trial. A version that fails is a failed trial, one that is stopped a pruned one; None, and a pruned trial
        without a record, if another process was faster."""
        if time.monotonic() > self.until:
            raise OutOfBudget
        made: list[Record] = []

        def objective(trial: optuna.Trial) -> float:
            for name in self.sampler.plan:
                trial.suggest_int(name, 0, self.sampler.highest.get(name, MOST_RUNS))
            note(trial, "request", request_to_data(request))
            if self._is_taken(request, trial.number):
                raise optuna.TrialPruned
            record = self.bench(request)
            note(trial, "record", record_to_data(record))
            made.append(record)
            if record.status is Status.STOPPED:
                raise optuna.TrialPruned
            if record.status is not Status.ENDED:
                raise VersionFailed(record.reason)
            return record.seconds

        sides = {name: int(side) for name, side in request.version.forced.items()}
        self.sampler.plan = {"data": request.case, "run": request.number, **sides}
        self.sampler.highest = dict.fromkeys(sides, 1)
        self.study.optimize(objective, n_trials=1, catch=(VersionFailed,))
        if not made:
            return None
        done = len(self.timed())
        self.most = max(self.most, done)
        self.tell(Progress(done, self.most))
        return made[0]

    def _is_taken(self, request: Request, number: int) -> bool:
        """Waits for trials before it to say what they are; one that does not within the grace period is dead."""
        until = time.monotonic() + GRACE
        while (taken := is_taken(self.study.get_trials(deepcopy=False), request, number)) is None:
            if time.monotonic() > until:
                return False
            time.sleep(GLANCE)
        return taken

    # ---- the versions -----------------------------------------------------------------------------------------------

    def see_versions(self, problem: Problem) -> None:
        """Time what is missing of every data set, until nothing is."""
        bound = most_versions(problem.branches) * len(problem.labels)
        self.most = max(self.most, len(self.timed()) + bound - self._version_runs(problem) + len(problem.labels))
        while (request := self.next_of(lambda timed: pending(timed, problem))) is not None:
            self.run(request)

    def _version_runs(self, problem: Problem) -> int:
        return sum(len(requested(self.timed(), problem, case, Phase.VERSION)) for case in range(len(problem.labels)))

    def next_of(self, wanted: Callable[[Sequence[Timed]], Iterable[Request]]) -> Request | None:
        """The next of the runs that are wanted after those that were made, of a data set that no other process is
        timing; waits if there are only such."""
        while True:
            trials = self.study.get_trials(deepcopy=False)
            left, busy = list(wanted(timed_of(trials))), running_cases(trials)
            free = [request for request in left if request.case not in busy]
            if free or not left:
                return free[0] if free else None
            self.wait()

    def wait(self) -> None:
        """For other processes to end what they are at."""
        if time.monotonic() > self.until:
            raise OutOfBudget
        time.sleep(WAIT)
        fail_stale(self.study)

    def settle(self, problem: Problem) -> Tuned:
        """Solve; where the solution wants a side that was stopped, time it to the end and solve again."""

        def wanted(timed: Sequence[Timed]) -> Iterable[Request]:
            return islice(unfinished(problem, timed, tune(problem, timed).solution), 1)

        while (request := self.next_of(wanted)) is not None:
            self.run(request)
        return tune(problem, self.timed())

    def confirm(self, problem: Problem, settings: Mapping[str, int]) -> tuple[Record | None, ...]:
        """Time every data set once with these settings."""
        version, cases = Version({}, dict(settings)), range(len(problem.labels))

        def wanted(timed: Sequence[Timed]) -> Iterator[Request]:
            for case in cases:
                if confirmed(timed, case, version) is None:
                    yield Request(Phase.CONFIRM, case, count(timed, case), version, None)

        while (request := self.next_of(wanted)) is not None:
            self.run(request)
        return tuple(confirmed(self.timed(), case, version) for case in cases)


class VersionFailed(Exception):
    """A version that does not run with a data set."""


def confirmed(timed: Sequence[Timed], case: int, version: Version) -> Record | None:
    """The last confirming run of a data set."""
    found = [
        t.record
        for t in timed
        if t.request.phase is Phase.CONFIRM and t.request.case == case and t.request.version == version
    ]
    return found[-1] if found else None


# ---- what is missing --------------------------------------------------------------------------------------------


def count(timed: Sequence[Timed], case: int) -> int:
    """How many runs of a data set were made."""
    return sum(t.request.case == case for t in timed)


def requested(timed: Sequence[Timed], problem: Problem, case: int, phase: Phase) -> list[Timed]:
    """The runs of a data set for a reason, with the sizes of the problem."""
    return [
        t
        for t in timed
        if t.request.phase is phase and t.request.case == case and t.request.version.settings == problem.sizes
    ]


def pending(timed: Sequence[Timed], problem: Problem) -> Iterator[Request]:
    """For each data set the next run that sees something new, if one does."""
    for case in range(len(problem.labels)):
        runs = requested(timed, problem, case, Phase.VERSION)
        ran = [(dict(run.request.version.forced), run.record.piece) for run in runs]
        ran += [({}, run.record.untuned_piece) for run in runs if run.record.untuned_piece and not problem.sizes]
        if (forced := next_versions(problem.branches, ran)) is not None:
            version = Version(forced, dict(problem.sizes))
            if all(run.request.version != version for run in runs):
                yield Request(Phase.VERSION, case, count(timed, case), version, limit_of(runs))


def limit_of(runs: Sequence[Timed]) -> float | None:
    """When to stop a version: when it is much slower than the best so far."""
    ended = [run.record.seconds for run in runs if run.record.status is Status.ENDED]
    ended += [statistics.median(run.record.untuned) for run in runs if run.record.untuned]
    return max(LEAST_LIMIT, SLOWEST * min(ended)) if ended else None


def unfinished(problem: Problem, timed: Sequence[Timed], solution: Solution) -> Iterator[Request]:
    """Runs of sides that the solution wants but that were stopped."""
    for case in range(len(problem.labels)):
        pieces = pieces_of(timed, problem, case)
        for path, guard, taken in paths(side_of(pieces), solution.thresholds):
            if is_guess(_down(pieces, path, guard, taken)):
                forced = {t: side for m, side in (*path, (guard, taken)) for t in m.thresholds}
                yield Request(Phase.VERSION, case, count(timed, case), Version(forced, dict(problem.sizes)), None)


Path = tuple[tuple[Guard, bool], ...]


def paths(side: Side, thresholds: Mapping[str, int], path: Path = ()) -> Iterator[tuple[Path, Guard, bool]]:
    """The guards that are reached with these thresholds, each with the way to it."""
    for guard in side.guards:
        taken = guard.takes(thresholds)
        yield path, guard, taken
        yield from paths(guard.then if taken else guard.orelse, thresholds, (*path, (guard, taken)))


def _down(pieces: Sequence[Piece], path: Path, guard: Guard, taken: bool) -> list[Piece]:
    found = list(pieces)
    for step, side in (*path, (guard, taken)):
        found = seen(found, step.thresholds, step.pars, side)
    return found


# ---- what is known ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tuned:
    """The cost of each data set, the solution, and seconds of each with it, untuned, and at its own best;
    `indifferent`: thresholds that make no difference beyond the noise."""

    cases: tuple[Side, ...]
    solution: Solution
    after: tuple[float, ...]
    before: tuple[float, ...]
    best: tuple[float, ...]
    indifferent: tuple[str, ...] = ()


def tune(problem: Problem, timed: Sequence[Timed]) -> Tuned:
    """The best thresholds by what the runs so far saw."""
    numbers = range(len(problem.labels))
    cases = tuple(side_of(pieces_of(timed, problem, case)) for case in numbers)
    weights = weights_of(cases)
    steady = Steady(solve(cases, weights), ())
    if problem.defaults:
        noises = [noise_of(untuned_samples(timed, case)) for case in numbers]
        steady = steadied(cases, weights, steady.solution, problem.defaults, noises)
    solution = steady.solution
    after = tuple(seconds_of(case, solution.thresholds) for case in cases)
    alone = [solve([case], [1.0]).cost for case in cases]
    best = tuple(FAILS if cost.failing else cost.seconds for cost in alone)
    before = tuple(untuned(timed, case) for case in numbers)
    return Tuned(cases, solution, after, before, best, steady.indifferent)


def untuned(timed: Sequence[Timed], case: int) -> float:
    """The median time of the program as it is without tuning; infinite if it does not run."""
    times = untuned_samples(timed, case)
    return statistics.median(times) if times else FAILS


def untuned_samples(timed: Sequence[Timed], case: int) -> list[float]:
    return [seconds for t in timed if t.request.case == case for seconds in t.record.untuned]


def pieces_of(timed: Sequence[Timed], problem: Problem, case: int) -> list[Piece]:
    """All that the runs saw of a data set: of the versions, and of the untuned program; without the drift of the
    machine between them. The untuned program has other sizes once these are set."""
    usual = untuned_samples(timed, case)
    found: list[Piece] = []
    for run in requested(timed, problem, case, Phase.VERSION):
        factor = drift(usual, run.record.untuned)
        found.append(scaled(run.record.piece, factor))
        if run.record.untuned_piece is not None and not problem.sizes:
            found.append(scaled(run.record.untuned_piece, factor))
    return found
