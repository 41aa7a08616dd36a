"""Sizes with Optuna: those of a version where it is within twice some data set's best, then those of the whole entry.

A *block* is a set of sizes that matter for the same runs: those behind the same sides of guards, or those of the whole
entry, the number of threads among them. Blocks are searched one after another, the defaults first, then all values
if there are few, else by TPE; a trial that is clearly slower than the best one on the first data sets is pruned.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from .measure import OutOfBudget, Record, Version, record_from_data, record_to_data
from .model import Guard, Side
from .observe import Status
from .search import Search, Tuned
from .store import MOST_RUNS, Phase, Request, Timed, note, noted

WITHIN = 2.0
"""A version within this factor of some data set's best is worth the search of its sizes."""

SLOWER = 1.3
"""A trial that is so much slower than the best one is pruned."""

BETTER = 0.97
"""Of the time with the defaults, that other sizes may take at most to be worth it."""

STEPS = range(-4, 5)
"""A size is tried at its default times these powers of two."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A size: its name, the values to try, and which of these is the default."""

    name: str
    values: tuple[int, ...]
    default: int


@dataclass(frozen=True, slots=True)
class Block:
    """Sizes searched together, and the sides of guards that they are behind."""

    dimensions: tuple[Dimension, ...]
    path: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial of sizes: the mean over data sets of time over best, and the means after each data set."""

    settings: Mapping[str, int]
    steps: tuple[float, ...]
    ended: bool


def size_dimension(name: str, default: int) -> Dimension:
    values = tuple(dict.fromkeys(max(1, int(default * 2.0**step)) for step in STEPS))
    return Dimension(name, values, values.index(default))


def listed_dimension(name: str, values: Sequence[int], default: int) -> Dimension:
    """A size of the back end, which knows what is worth trying."""
    return Dimension(name, tuple(values), tuple(values).index(default))


def thread_dimension(name: str, most: int) -> Dimension:
    """1, 2, 4 .. and all threads; all are the default."""
    values = [1 << k for k in range(most.bit_length()) if 1 << k < most]
    return Dimension(name, (*values, most), len(values))


def defaults_of(block: Block) -> dict[str, int]:
    return {d.name: d.values[d.default] for d in block.dimensions}


# ---- which data sets --------------------------------------------------------------------------------------------


def eligible(block: Block, tuned: Tuned) -> list[int]:
    """The data sets for which the versions of a block are within twice their best, if it is reached there at all."""
    return [
        case
        for case, side in enumerate(tuned.cases)
        if is_reached(side, block.path) and least_through(side, block.path) <= WITHIN * tuned.best[case]
    ]


def is_reached(side: Side, path: Mapping[str, bool]) -> bool:
    """Does some execution take the last of these sides?"""
    if not path:
        return True
    *_, last = path
    return any(last in guard.thresholds for guard in _all_taken(side, path))


def _all_taken(side: Side, path: Mapping[str, bool]) -> Iterator[Guard]:
    for guard in side.guards:
        fits = min(guard.pars) >= 0
        if fits or not all(path.get(t, False) for t in guard.thresholds):
            yield guard
        for inner in _sides(guard, path):
            yield from _all_taken(inner, path)


def _sides(guard: Guard, path: Mapping[str, bool]) -> tuple[Side, ...]:
    """The sides of a guard that are left by the path."""
    if min(guard.pars) < 0:
        return (guard.orelse,)
    wanted = {path[t] for t in guard.thresholds if t in path}
    return (guard.then, guard.orelse) if not wanted else (guard.then,) if wanted == {True} else (guard.orelse,)


def least_through(side: Side, path: Mapping[str, bool]) -> float:
    """The least time of a data set whose guards on the path go where it says."""
    return side.seconds + sum(min(least_through(s, path) for s in _sides(guard, path)) for guard in side.guards)


# ---- the search -------------------------------------------------------------------------------------------------


def search_sizes(search: Search, tuned: Tuned, blocks: Sequence[Block], most: int) -> tuple[dict[str, int], bool]:
    """The best sizes of all blocks, those that are their default left out; at most `most` trials for each block. And
    whether there was time enough: if not, these are the best so far."""
    found: dict[str, int] = {}
    for number, block in enumerate(blocks):
        cases = eligible(block, tuned)
        try:
            if cases:
                found |= _search_block(search, number, block, cases, tuned, found, most)
        except OutOfBudget:
            return found | _choice(block, tried(search.study.get_trials(deepcopy=False), number)), False
    return found, True


def _search_block(
    search: Search, number: int, block: Block, cases: Sequence[int], tuned: Tuned,
    found: Mapping[str, int], most: int,
) -> dict[str, int]:  # fmt: skip
    thresholds, few = dict(tuned.solution.thresholds), combinations_of(block, most)

    def version(settings: Mapping[str, int]) -> Version:
        return Version(dict(block.path), {**thresholds, **found, **settings})

    while True:
        trials = search.study.get_trials(deepcopy=False)
        tries, others = tried(trials, number), _running(trials, number, block)
        planned = _next_values(block, tries, others, few, most)
        if planned is None and not others:
            return _choice(block, tries)
        if planned is None:
            search.wait()
            continue
        search.sampler.reseed(len(tries))
        best = min((one.steps for one in tries if one.ended), key=lambda steps: steps[-1], default=None)
        _trial(search, Plan(number, block, cases, tuned.best, planned, best, version))


def _next_values(
    block: Block,
    tries: Sequence[Tried],
    others: Sequence[Mapping[str, int]],
    few: Sequence[Mapping[str, int]],
    most: int,
) -> Mapping[str, int] | None:
    """The numbers of the values to try next, those left out by TPE, while other processes try `others`; then what seems
    better than the defaults once more, and these too, for the best of many is easily one that was lucky. None if
    nothing is left to do now."""
    done = [*(_numbers(block, one.settings) for one in tries), *others]
    if few and (left := [one for one in few if one not in done]):
        return left[0]
    if not few and len(done) < most:
        return {} if done else _numbers(block, defaults_of(block))
    if others:
        return None
    contender = _choice(block, tries)
    settings = {**defaults_of(block), **contender}
    again = [which for which in (settings, defaults_of(block)) if contender and _times(tries, which) < 2]
    return _numbers(block, again[0]) if again else None


def _numbers(block: Block, settings: Mapping[str, int]) -> dict[str, int]:
    return {d.name: d.values.index(settings[d.name]) for d in block.dimensions}


def _running(trials: Sequence[FrozenTrial], number: int, block: Block) -> list[dict[str, int]]:
    """The numbers of the values that other processes are trying now, of a block that they have chosen."""
    names = [d.name for d in block.dimensions]
    running = [t.params for t in trials if t.state is TrialState.RUNNING and t.params.get("block") == number]
    return [{name: params[name] for name in names} for params in running if all(name in params for name in names)]


def _times(tries: Sequence[Tried], settings: Mapping[str, int]) -> int:
    return sum(one.settings == settings for one in tries)


def combinations_of(block: Block, most: int) -> list[dict[str, int]]:
    """All choices of values, those near the defaults first; none if there are more than `most`."""
    if math.prod(len(d.values) for d in block.dimensions) > most:
        return []
    choices = product(*(range(len(d.values)) for d in block.dimensions))
    found = [dict(zip((d.name for d in block.dimensions), choice, strict=True)) for choice in choices]
    return sorted(found, key=lambda choice: sum(abs(choice[d.name] - d.default) for d in block.dimensions))


@dataclass(frozen=True, slots=True)
class Plan:
    """A trial of a block: on which data sets, what their best times are, values that are not left to TPE, and the best
    trial so far."""

    number: int
    block: Block
    cases: Sequence[int]
    bests: Sequence[float]
    planned: Mapping[str, int]
    best: Sequence[float] | None
    version: Callable[[Mapping[str, int]], Version]


def _trial(search: Search, plan: Plan) -> None:
    if time.monotonic() > search.until:
        raise OutOfBudget

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("block", 0, MOST_RUNS)
        settings = {d.name: d.values[trial.suggest_int(d.name, 0, len(d.values) - 1)] for d in plan.block.dimensions}
        return _timed(search, trial, plan, settings)

    search.sampler.plan = {"block": plan.number, **plan.planned}
    search.sampler.highest = {d.name: len(d.values) - 1 for d in plan.block.dimensions}
    search.study.optimize(objective, n_trials=1)


def _timed(search: Search, trial: optuna.Trial, plan: Plan, settings: Mapping[str, int]) -> float:
    """The mean over data sets of time over best."""
    ratios: list[float] = []
    records: list[Record] = []
    for step, case in enumerate(plan.cases):
        record = search.bench(Request(Phase.SIZES, case, trial.number, plan.version(settings), None))
        records.append(record)
        ratios.append(record.seconds / plan.bests[case])
        trial.report(statistics.mean(ratios), step)
        _note(trial, plan, settings, ratios, records)
        if record.status is not Status.ENDED or _is_slow(ratios, plan.best):
            raise optuna.TrialPruned
    return statistics.mean(ratios)


def _is_slow(ratios: Sequence[float], best: Sequence[float] | None) -> bool:
    return best is not None and statistics.mean(ratios) > SLOWER * best[len(ratios) - 1]


def _note(
    trial: optuna.Trial, plan: Plan, settings: Mapping[str, int], ratios: Sequence[float], records: Sequence[Record]
) -> None:
    steps = [statistics.mean(ratios[: k + 1]) for k in range(len(ratios))]
    version = plan.version(settings)
    data = {
        "block": plan.number,
        "settings": dict(settings),
        "steps": steps,
        "ended": len(ratios) == len(plan.cases),
        "cases": list(plan.cases),
        "version": {"forced": dict(version.forced), "settings": dict(version.settings)},
        "records": [record_to_data(record) for record in records],
    }
    note(trial, "sizes", data)


def timed_sizes(trials: Sequence[FrozenTrial]) -> list[Timed]:
    """The runs of the finished trials of sizes."""
    found: list[Timed] = []
    for trial in trials:
        if trial.state.is_finished() and (data := noted(trial, "sizes")) is not None:
            version = Version(data["version"]["forced"], data["version"]["settings"])
            for case, record in zip(data["cases"], data["records"], strict=False):  # a pruned trial has fewer
                request = Request(Phase.SIZES, case, trial.number, version, None)
                found.append(Timed(request, record_from_data(record)))
    return found


def tried(trials: Sequence[FrozenTrial], block: int) -> list[Tried]:
    """The finished trials of a block."""
    found: list[Tried] = []
    for trial in trials:
        data = noted(trial, "sizes") if trial.state in (TrialState.COMPLETE, TrialState.PRUNED) else None
        if data is not None and data["block"] == block:
            ended = data["ended"] and trial.state is TrialState.COMPLETE
            found.append(Tried(data["settings"], tuple(data["steps"]), ended))
    return found


def _choice(block: Block, tries: Sequence[Tried]) -> dict[str, int]:
    """The sizes of the best trial that are not the default, if it is better than the defaults by more than noise: its
    worse time, where it was tried twice, than the better one of these."""
    defaults = defaults_of(block)
    usual = min((one.steps[-1] for one in tries if one.ended and one.settings == defaults), default=math.inf)
    others = [one.settings for one in tries if one.settings != defaults]
    best = min(others, key=lambda settings: _worst(tries, settings), default=defaults)
    worst = _worst(tries, best)
    if worst == math.inf or worst > BETTER * usual:
        return {}
    return {name: value for name, value in best.items() if value != defaults[name]}


def _worst(tries: Sequence[Tried], settings: Mapping[str, int]) -> float:
    return max(
        (one.steps[-1] if one.ended else math.inf for one in tries if one.settings == settings), default=math.inf
    )


def count_tried(study: Study) -> int:
    """How many trials of sizes there are."""
    return sum("sizes" in t.user_attrs and t.state.is_finished() for t in study.get_trials(deepcopy=False))
