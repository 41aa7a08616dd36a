"""The exact search against Optuna's TPE over raw thresholds, with the same timed runs: on made-up entries whose truth
is known, and on programs, where what the exact search saw stands for it.

TPE draws each threshold on a logarithmic scale; a trial runs every data set once. Its value is the mean of the times
over those of the untuned program; a run that takes ten times as long is stopped for both.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import optuna

from benchmarks.synthetic import MadeUp, entry, total
from soac.autotune.measure import Record, Version
from soac.autotune.model import Side, candidates, seconds_of
from soac.autotune.observe import Status
from soac.autotune.search import LEAST_LIMIT, SLOWEST, Problem, Search, Tuned
from soac.autotune.solve import solve, weights_of
from soac.autotune.store import Facts, Phase, Planned, Request, open_study
from soac.reports.svg import Chart, Curve, chart

FACTS = Facts("benchmark", "this machine", "")
ENTRIES = 40
NOISE = 0.05
TIMES = 4
"""How many times as many runs as the exact search TPE may make."""

HIGHEST = 1 << 31
PATIENCE = 120.0
"""Seconds that TPE may take for a program, beyond as many runs as the exact search made."""


@dataclass(frozen=True, slots=True)
class Contest:
    """What thresholds were worth after each run, as time over that of the best ones: by the exact search, by TPE; and
    the thresholds that TPE had after as many runs and at the end."""

    name: str
    exact: tuple[float, ...]
    tpe: tuple[float, ...]
    after_same: Mapping[str, int]
    after_all: Mapping[str, int]

    def at(self, share: float) -> float:
        """What TPE had reached after this many times the runs of the exact search."""
        return self.tpe[min(len(self.tpe), max(1, round(share * len(self.exact)))) - 1]


def regret(truth: Sequence[Side], thresholds: Mapping[str, int]) -> float:
    """Time over that of the best thresholds, by the truth."""
    weights = weights_of(truth)
    ours = sum(w * seconds_of(case, thresholds) for w, case in zip(weights, truth, strict=True))
    return ours / solve(truth, weights).cost.seconds


@dataclass(slots=True)
class Raw:
    """TPE over raw thresholds. `value` of a trial from its thresholds; `runs` that it took."""

    truth: Sequence[Side]
    highest: int
    value: Callable[[Mapping[str, int]], float]

    def search(self, runs: int, seed: int, until: float) -> tuple[list[float], list[dict[str, int]]]:
        """The regret after each run, and the best thresholds after each trial; at least as many runs as a trial has."""
        names = list(candidates(self.truth))
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        reached: list[float] = []
        bests: list[dict[str, int]] = []

        def objective(trial: optuna.Trial) -> float:
            thresholds = {name: trial.suggest_int(name, 1, self.highest, log=True) for name in names}
            value = self.value(thresholds)
            known = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
            is_best = all(value < (one.value or math.inf) for one in known)
            bests.append(thresholds if is_best else bests[-1])
            reached.extend([regret(self.truth, bests[-1])] * len(self.truth))
            return value

        for _ in range(math.ceil(runs / len(self.truth))):
            study.optimize(objective, n_trials=1)
            if time.monotonic() > until:
                break
        return reached, bests


# ---- made-up entries ----------------------------------------------------------------------------------------------


def made_up() -> list[Contest]:
    return [_made_up(seed) for seed in range(ENTRIES)]


def _made_up(seed: int) -> Contest:
    branches, truth = entry(seed, cases=4, failing=0.0)
    problem = Problem(branches, tuple(map(str, range(len(truth)))), {})
    bench, weights, reached = MadeUp(truth, NOISE), weights_of(truth), list[None]()
    sampler = Planned(1)
    study = open_study(None, "exact", FACTS, sampler)
    search = Search(study, sampler, bench, math.inf, lambda progress: reached.append(None))
    search.see_versions(problem)
    final = regret(truth, search.settle(problem).solution.thresholds)

    def value(thresholds: Mapping[str, int]) -> float:
        pieces = [bench.piece(case, Version({}, thresholds), 1.0) for case in truth]
        return sum(w * total(piece) for w, piece in zip(weights, pieces, strict=True))

    exact = (*[regret(truth, {})] * (len(reached) - 1), final)
    tpe, bests = Raw(truth, 1 << 12, value).search(TIMES * len(exact), seed, math.inf)
    return Contest(f"made up {seed}", exact, tuple(tpe), bests[0], bests[-1])


# ---- programs -----------------------------------------------------------------------------------------------------


def on_program(name: str, search: Search, tuned: Tuned) -> Contest:
    """The race of a program that was tuned, its bench used once more."""
    untuned = [tuned.before[case] for case in range(len(tuned.cases))]
    runs = len([t for t in search.timed() if t.request.phase is Phase.VERSION])

    def value(thresholds: Mapping[str, int]) -> float:
        version = Version({}, thresholds)
        limits = [max(LEAST_LIMIT, SLOWEST * seconds) for seconds in untuned]
        records = [search.bench(Request(Phase.VERSION, k, 0, version, limit)) for k, limit in enumerate(limits)]
        return statistics.mean(spent(r) / seconds for r, seconds in zip(records, untuned, strict=True))

    weights = weights_of(tuned.cases)
    at_first = sum(w * s for w, s in zip(weights, untuned, strict=True)) / solve(tuned.cases, weights).cost.seconds
    exact = (*[at_first] * (runs - 1), regret(tuned.cases, tuned.solution.thresholds))
    tpe, bests = Raw(tuned.cases, HIGHEST, value).search(TIMES * runs, 1, time.monotonic() + PATIENCE)
    same = max(1, round(runs / len(untuned)))
    return Contest(name, exact, tuple(tpe), bests[min(same, len(bests)) - 1], bests[-1])


def spent(record: Record) -> float:
    """The time of a run, as far as it came."""
    return record.seconds if record.status is Status.ENDED else sum(record.samples) * 2


# ---- what is shown ------------------------------------------------------------------------------------------------


def picture(title: str, contests: Sequence[Contest]) -> str:
    """The mean over contests of what was reached, by runs over those of the exact search."""
    share = [k / 20 for k in range(1, 20 * TIMES + 1)]
    tpe = tuple((s, statistics.mean(one.at(s) for one in contests)) for s in share)
    steps = [(s, [one.exact[max(1, round(s * len(one.exact))) - 1] for one in contests]) for s in share if s <= 1]
    curves = (Curve("TPE", tpe, False), Curve("exact", tuple((s, statistics.mean(v)) for s, v in steps), True))
    ticks = tuple((float(k), f"{k}×") for k in range(TIMES + 1))
    what = "runs, over those of the exact search", "time over best, mean"
    return chart(Chart(title, *what, curves, ticks, lambda ratio: f"{ratio:g}×"))


def summary(contests: Sequence[Contest]) -> dict[str, float]:
    """Means over contests: of the exact search at its end, of TPE after some shares of its runs."""
    found = {"exact": statistics.mean(one.exact[-1] for one in contests)}
    return found | {
        f"tpe {share:g}x": statistics.mean(one.at(share) for one in contests) for share in (1.0, 2.0, TIMES)
    }
