"""The study of an entry: every timed run is a trial of it, in a database that survives the process.

A database beside the program is SQLite with a write-ahead log and a lock (`open_beside`): what was running when a
process was killed is failed at once when the next one starts. In a database that machines share, a heartbeat
tells which trials still run; Optuna fails the others. A trial stores its request when it begins and its record before
it ends, so that a finished trial is never repeated.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Any

import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from ..ir.errors import Diagnostic, TuningError
from .measure import Record, Version, record_from_data

HEARTBEAT = 5
GRACE = 20
"""Seconds between heartbeats, and after which a trial without them is dead."""

WAITS = (0.1, 0.3, 0.6)
"""Seconds between tries to open a database."""

MOST_RUNS = 1 << 20

TRIALS = 3
"""The format of what a trial stores; part of the name of a study, so that those of other formats are not read."""


class Phase(Enum):
    """Why a run is timed: to see a version, to try sizes, to confirm the solution."""

    VERSION = "version"
    SIZES = "sizes"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Request:
    """A run to be timed: data set, version, and seconds after which it is stopped. `number`: which run of the data set
    it is."""

    phase: Phase
    case: int
    number: int
    version: Version
    limit: float | None


@dataclass(frozen=True, slots=True)
class Timed:
    """A finished trial."""

    request: Request
    record: Record


@dataclass(frozen=True, slots=True)
class Facts:
    """What all trials of a study have in common: the digest of the program and its data, the device and its driver."""

    program: str
    device: str
    driver: str


# ---- the database -----------------------------------------------------------------------------------------------


def open_storage(url: str) -> BaseStorage:
    """The database at `url` (`sqlite:///..`, `postgresql://..`), made if need be; T0204 where that cannot be."""
    for wait in (*WAITS, None):
        try:
            return _storage(url)
        except (SQLAlchemyError, OSError, ImportError, ValueError, RuntimeError) as fault:
            if wait is None:
                text = f"cannot open the storage: {str(fault).splitlines()[0]}"
                raise TuningError(Diagnostic("T0204", text)) from None
            time.sleep(wait)  # another process may be making the same tables
    raise AssertionError


class _Storage(RDBStorage):
    """A heartbeat that cannot be stored, on a full disk, is none: what is stored next says so."""

    def record_heartbeat(self, trial_id: int) -> None:
        with suppress(SQLAlchemyError, StorageInternalError):
            super().record_heartbeat(trial_id)


def _storage(url: str) -> RDBStorage:
    is_sqlite = url.startswith("sqlite:")
    arguments: dict[str, Any] = {"connect_args": {"timeout": 60}} if is_sqlite else {"pool_pre_ping": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        storage = _Storage(url, arguments, heartbeat_interval=HEARTBEAT, grace_period=GRACE)
    if is_sqlite:
        event.listen(storage.engine, "connect", _write_ahead)
        storage.engine.dispose()
    return storage


def _write_ahead(connection: Any, _: Any) -> None:
    """Survives the end of the process at any moment, without a wait for the disk at each step."""
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=normal")


@contextmanager
def storing() -> Iterator[None]:
    """What fails in a database (a full disk, a connection that ends) is T0208. Of a trial whose end is not stored
    Optuna asserts that it has ended, which hides why it is not stored."""
    try:
        yield
    except (SQLAlchemyError, StorageInternalError, AssertionError) as found:
        fault = found.__context__ if isinstance(found, AssertionError) else found
        if not isinstance(fault, (SQLAlchemyError, StorageInternalError)):
            raise
        why = str(fault.__cause__ or fault).strip().splitlines()[0]
        hint = "the times stored so far are kept; the search goes on there when there is room, or with `--storage`"
        raise TuningError(Diagnostic("T0208", f"cannot store times: {why}", hint=hint)) from None


@contextmanager
def open_beside(path: Path) -> Iterator[BaseStorage]:
    """The SQLite database at `path`. Who uses it shares a lock; who is the first to have it fails what was running when
    the last one was killed."""
    path.parent.mkdir(exist_ok=True)
    with path.with_name(path.name + ".lock").open("a") as file:
        is_alone = _try_lock(file)
        if not is_alone:
            fcntl.flock(file, fcntl.LOCK_SH)
        if is_alone and not path.exists():
            _make_tables(path)
        storage = open_storage(f"sqlite:///{path}")
        if is_alone:
            fail_running(storage)
            fcntl.flock(file, fcntl.LOCK_SH)
        yield storage


def _make_tables(path: Path) -> None:
    """A database without studies, there as a whole or not at all: one whose making was cut off may lack the index that
    keeps the names of studies apart."""
    new = path.with_name(path.name + ".new")
    for suffix in ("", "-wal", "-shm", "-journal"):
        new.with_name(new.name + suffix).unlink(missing_ok=True)
    storage = _storage(f"sqlite:///{new}")
    storage.remove_session()
    storage.engine.dispose()
    new.replace(path)


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def fail_running(storage: BaseStorage) -> None:
    """No process is left that runs a trial. All of them are read; T0204 where one is no trial any more."""
    try:
        for name in optuna.get_all_study_names(storage):
            study = optuna.load_study(study_name=name, storage=storage)
            for trial in study.get_trials(deepcopy=False):
                if trial.state is TrialState.RUNNING:
                    study.tell(trial.number, state=TrialState.FAIL)
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError) as fault:
        why = (str(fault).splitlines() or [type(fault).__name__])[0]
        hint = "remove the database: what it holds is timed again"
        raise TuningError(Diagnostic("T0204", f"the storage is damaged: {why}", hint=hint)) from None


def open_study(storage: BaseStorage | None, name: str, facts: Facts, sampler: BaseSampler) -> Study:
    """The study `name`, made if need be; T0203 if it has times of another device."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=storage or InMemoryStorage(), study_name=name, sampler=sampler, load_if_exists=True
    )
    for key, value in (("device", facts.device), ("driver", facts.driver), ("program", facts.program)):
        found = study.user_attrs.get(key)
        if found is None:
            study.set_user_attr(key, value)
        elif found != value:
            raise TuningError(_mixed(key, found, value))
    return study


def _mixed(key: str, found: str, value: str) -> Diagnostic:
    text = f"the study holds times of another {key}: `{found}`, this is `{value}`"
    return Diagnostic("T0203", text, hint="name another storage with --storage, or pass --fresh")


# ---- trials -----------------------------------------------------------------------------------------------------


class Planned(BaseSampler):
    """Gives the parameters of the run that is planned (`plan`); what else a trial asks for is left to TPE. `highest`:
    of parameters that are no numbers of data sets, blocks or runs."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.plan: dict[str, int] = {}
        self.highest: dict[str, int] = {}
        self.reseed(0)

    def reseed(self, count: int) -> None:
        """Draw what comes after this number of trials: the same after a restart."""
        self.others = TPESampler(seed=self.seed + count, n_startup_trials=4)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {name: IntDistribution(0, self.highest.get(name, MOST_RUNS)) for name in self.plan}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return dict(self.plan)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self.others.sample_independent(study, trial, param_name, param_distribution)


def request_to_data(request: Request) -> dict[str, Any]:
    """For JSON."""
    version = request.version
    return {
        "phase": request.phase.value,
        "case": request.case,
        "number": request.number,
        "forced": dict(version.forced),
        "settings": dict(version.settings),
        "limit": request.limit,
    }


def note(trial: optuna.Trial, key: str, data: Mapping[str, Any]) -> None:
    """Stores what is to be known of a trial, with its digest."""
    text = json.dumps(data)
    trial.set_user_attr(key, f"{_digest(text)} {text}")


def noted(trial: FrozenTrial, key: str) -> Mapping[str, Any] | None:
    """What was stored under `key`; None where nothing was, or where a damaged database gives something else."""
    digest, _, text = str(trial.user_attrs.get(key, "")).partition(" ")
    return json.loads(text) if digest == _digest(text) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def timed_of(trials: Sequence[FrozenTrial]) -> list[Timed]:
    """The finished runs among trials, in order."""
    return [found for trial in trials if trial.state.is_finished() and (found := _timed(trial)) is not None]


def _timed(trial: FrozenTrial) -> Timed | None:
    request, record = noted(trial, "request"), noted(trial, "record")
    return None if request is None or record is None else Timed(request_of(request), record_from_data(record))


def request_of(data: Mapping[str, Any]) -> Request:
    version = Version(data["forced"], data["settings"])
    return Request(Phase(data["phase"]), data["case"], data["number"], version, data["limit"])


def running_cases(trials: Sequence[FrozenTrial]) -> frozenset[int]:
    """The data sets that some process is timing now."""
    return frozenset(t.params["data"] for t in trials if t.state is TrialState.RUNNING and "data" in t.params)


def is_taken(trials: Sequence[FrozenTrial], request: Request, number: int) -> bool | None:
    """Whether another process has made this run, or began one of the same data set before trial `number`; None while a
    trial before it has not said of which data set it is, so that of two that begin together one alone goes on."""
    begun = [t for t in trials if t.state is TrialState.RUNNING and t.number < number]
    if any(t.params.get("data") == request.case for t in begun):
        return True
    made = (t.request for t in timed_of(trials))
    same = (r for r in made if (r.phase, r.case, r.version) == (request.phase, request.case, request.version))
    if any(r.limit is None or request.limit is not None for r in same):
        return True
    return None if any("data" not in t.params for t in begun) else False


def fail_stale(study: Study) -> None:
    """Fail the trials of processes whose heart has stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
