"""The search on made-up entries: how many runs it takes, what it finds, and that it goes on where it was cut off."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage

from benchmarks.synthetic import MadeUp, entry
from soac.autotune.measure import OutOfBudget, Record, Version
from soac.autotune.model import seconds_of
from soac.autotune.observe import Piece, Status
from soac.autotune.plan import most_versions
from soac.autotune.search import LEAST_LIMIT, SLOWEST, Problem, Search, Tuned, limit_of, requested
from soac.autotune.solve import solve, weights_of
from soac.autotune.store import Facts, Phase, Planned, Request, Timed, open_storage, open_study, storing
from soac.ir.errors import TuningError
from tests.support.killed_searches import check_end, start, torture

FACTS = Facts("program", "made up", "1")


def searched(seed: int, noise: float = 0.0, failing: float = 0.0) -> tuple[Problem, Search, MadeUp]:
    branches, truth = entry(seed, failing=failing)
    bench = MadeUp(truth, noise)
    return Problem(branches, tuple(f"#{k}" for k in range(len(truth))), {}), search(bench), bench


def search(bench: MadeUp) -> Search:
    sampler = Planned(1)
    study = open_study(None, "made up", FACTS, sampler)
    return Search(study, sampler, bench, math.inf, lambda progress: None)


def mean_regret(problem: Problem, bench: MadeUp, tuned: Tuned) -> float:
    """How much worse the thresholds are than the best ones, by the truth."""
    weights = weights_of(bench.truth)
    ours = sum(w * seconds_of(c, tuned.solution.thresholds) for w, c in zip(weights, bench.truth, strict=True))
    return ours / solve(bench.truth, weights).cost.seconds - 1


@pytest.mark.parametrize("seed", range(25))
def test_finds_the_best_within_the_bound(seed: int) -> None:
    """Runs <= most versions of a site × data sets, and the solution is that of the truth."""
    problem, run, bench = searched(seed)
    run.see_versions(problem)
    tuned = run.settle(problem)
    assert len(bench.requests) <= most_versions(problem.branches) * len(problem.labels)
    assert all(request.phase is Phase.VERSION for request in bench.requests)
    assert mean_regret(problem, bench, tuned) == pytest.approx(0, abs=1e-9)
    assert tuned.after == pytest.approx([seconds_of(case, tuned.solution.thresholds) for case in bench.truth])


@pytest.mark.parametrize("seed", range(100, 115))
def test_versions_that_fail_are_a_cost(seed: int) -> None:
    problem, run, bench = searched(seed, failing=0.4)
    run.see_versions(problem)
    tuned = run.settle(problem)
    ours = sum(seconds_of(c, tuned.solution.thresholds) == math.inf for c in bench.truth)
    assert ours == solve(bench.truth, weights_of(bench.truth)).cost.failing
    failed = [t for t in run.timed() if t.record.status is Status.FAILED]
    assert all(t.record.reason == "out of memory" for t in failed)


def test_noise_degrades_gracefully() -> None:
    """With noise of x % the thresholds are in the mean less than 2 x % off, although the machine swings by 5 x."""
    for noise in (0.02, 0.1):
        regrets = []
        for seed in range(200, 220):
            problem, run, bench = searched(seed, noise)
            run.see_versions(problem)
            regrets.append(mean_regret(problem, bench, run.settle(problem)))
        assert sum(regrets) / len(regrets) < 2 * noise


def test_a_search_that_is_over_times_nothing_more() -> None:
    problem, run, bench = searched(4)
    run.see_versions(problem)
    count = len(bench.requests)
    again = Search(run.study, run.sampler, bench, math.inf, lambda progress: None)
    again.see_versions(problem)
    assert len(bench.requests) == count
    assert again.settle(problem) == run.settle(problem)


def test_confirming_runs_are_made_once() -> None:
    problem, run, bench = searched(4)
    run.see_versions(problem)
    settings = dict(run.settle(problem).solution.thresholds)
    before = len(bench.requests)
    records = run.confirm(problem, settings)
    assert [record is not None for record in records] == [True] * len(problem.labels)
    assert run.confirm(problem, settings) == records
    assert len(bench.requests) == before + len(problem.labels)
    assert all(request.version == Version({}, settings) for request in bench.requests[before:])


def test_the_budget_ends_the_search() -> None:
    problem, run, _ = searched(4)
    run.until = time.monotonic() - 1
    with pytest.raises(OutOfBudget):
        run.see_versions(problem)


def test_searches_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    """`python -m tests.support.killed_searches --kills 200` is the same for longer."""
    torture(tmp_path, kills=5)


def test_what_optuna_shows_of_a_study_names_guards() -> None:
    """Trials have the sides that they force as parameters."""
    problem, run, _ = searched(3)
    run.see_versions(problem)
    names = {f"main.t{k}" for k in (1, 2, 3, 4)}
    assert set(optuna.importance.get_param_importances(run.study)) == {"data", "run", *names}
    for trial, timed in zip(run.study.trials, run.timed(), strict=True):
        forced = timed.request.version.forced
        assert {name: trial.params[name] for name in forced} == forced


def test_times_of_another_device_are_not_mixed(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path / 'db'}")
    open_study(storage, "made up", FACTS, Planned(1))
    with pytest.raises(TuningError, match=r"T0203.*`made up`, this is `another`"):
        open_study(storage, "made up", Facts("program", "another", "1"), Planned(1))


def test_a_storage_that_cannot_be_opened(tmp_path: Path) -> None:
    for url in ("nonsense", f"sqlite:///{tmp_path}/no/such/db"):
        with pytest.raises(TuningError, match="T0204"):
            open_storage(url)


def test_a_heartbeat_that_cannot_be_stored_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a thread of its own, whose traceback would stand beside the message of what is stored next."""

    def full(_: object, trial_id: int) -> None:
        raise StorageInternalError(f"no room for {trial_id}")

    monkeypatch.setattr(RDBStorage, "record_heartbeat", full)
    storage = open_storage(f"sqlite:///{tmp_path}/times.db")
    assert isinstance(storage, RDBStorage)
    storage.record_heartbeat(1)


def test_the_end_of_a_run_that_cannot_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna asserts that the run has ended, which hides why it is not stored."""

    def full(_: object, trial_id: int, **__: object) -> bool:
        raise StorageInternalError(f"no room for {trial_id}")

    sampler = Planned(1)
    study = open_study(open_storage(f"sqlite:///{tmp_path}/times.db"), "made up", FACTS, sampler)
    here = Search(study, sampler, MadeUp(entry(0)[1], 0.0), math.inf, lambda progress: None)
    monkeypatch.setattr(RDBStorage, "set_trial_state_values", full)
    with pytest.raises(TuningError, match=r"T0208.*no room for 1"), storing():
        here.run(Request(Phase.VERSION, 0, 0, Version({}, {}), None))
    with pytest.raises(AssertionError, match="another"), storing():
        raise AssertionError("another")


def test_what_another_process_times_is_waited_for(tmp_path: Path) -> None:
    """Two processes share a database: each run is made by one of them."""
    children = [start(tmp_path, 5, 0.02) for _ in range(2)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    check_end(tmp_path, 5)


def timed(case: int, seconds: float, status: Status = Status.ENDED, **settings: int) -> Timed:
    """A run of a version with these settings."""
    request = Request(Phase.VERSION, case, 0, Version({}, settings), None)
    return Timed(request, Record(status, (seconds,), Piece(seconds, 1, status, {}), (), None, ""))


def test_a_version_is_stopped_where_it_is_much_slower_than_the_best() -> None:
    assert limit_of([timed(0, 1.0, Status.STOPPED)]) is None
    assert limit_of([timed(0, 3.0), timed(0, 1.0), timed(0, 0.5, Status.STOPPED)]) == SLOWEST
    assert limit_of([timed(0, LEAST_LIMIT / SLOWEST / 2)]) == LEAST_LIMIT


def test_runs_with_other_sizes_or_data_are_not_those_of_a_problem() -> None:
    runs = [timed(0, 1.0), timed(0, 1.0, block=64), timed(1, 1.0), timed(0, 1.0, block=128)]
    for sizes, case, expected in (({}, 0, [0]), ({"block": 64}, 0, [1]), ({}, 1, [2]), ({"block": 64}, 1, [])):
        found = requested(runs, Problem((), ("a", "b"), sizes), case, Phase.VERSION)
        assert [runs.index(run) for run in found] == expected
        assert requested(runs, Problem((), ("a", "b"), sizes), case, Phase.CONFIRM) == []
