"""Searches of several processes in a database on a server, one of them killed: the work is shared, nothing is lost.

`SOAC_TEST_STORAGE` names the server (`postgresql://user@host/db`, `mysql+pymysql://user@host/db`); what the test makes
there it removes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import optuna
import pytest
from optuna.trial import TrialState

from soac.autotune.store import open_storage, open_study
from tests.support.killed_searches import FACTS, check_trials, search_in, start_child

URL = os.environ.get("SOAC_TEST_STORAGE", "")
SEED, SECONDS = 5, 0.1

pytestmark = pytest.mark.skipif(not URL, reason="SOAC_TEST_STORAGE names no database server")


@pytest.fixture
def name() -> Iterator[str]:
    """A study of its own."""
    made = f"test {os.getpid()} {time.time()}"
    yield made
    optuna.delete_study(study_name=made, storage=open_storage(URL))


def start(name: str) -> int:
    """A process that searches; its number."""
    return start_child(lambda: search_in(open_storage(URL), name, SEED, SECONDS, lambda progress: None))


def trials_of(name: str) -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name=name, storage=open_storage(URL)).get_trials()


def test_two_processes_share_the_work(name: str) -> None:
    children = [start(name) for _ in range(2)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    check_trials(open_storage(URL), name, SEED)


def test_what_a_killed_process_ran_is_run_by_another(name: str) -> None:
    """Its heart has stopped; what it had finished counts."""
    open_study(open_storage(URL), name, FACTS, optuna.samplers.RandomSampler())
    victim, other = start(name), start(name)
    deadline = time.monotonic() + 60
    while sum(t.state.is_finished() for t in trials_of(name)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(victim, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(victim, 0)[1])
    assert os.waitpid(other, 0)[1] == 0
    assert not [t for t in trials_of(name) if t.state is TrialState.RUNNING]
    check_trials(open_storage(URL), name, SEED)
