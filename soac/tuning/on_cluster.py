"""`soac autotune --cluster`: the versions of a device timed on all workers, one run at a time on each, in one study;
then the guards `suff_node`, by runs on the cluster as a whole.

A worker stands for a device. Each has a thread here that searches for it: the search of `autotune/search.py` in a
study that several share, whose runs are tasks of that worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api import Program, Source, build
from ..autotune.measure import Record, Version, measure
from ..autotune.search import Problem, Search, Tuned
from ..autotune.store import Request
from ..cluster.api import Cluster
from ..cluster.plan import groups
from ..cluster.worker import GLANCE, watched
from ..devices import described
from ..ir.errors import Diagnostic, TuningError
from ..ir.version_tree import Branch
from ..kernels.devices.cpu.runtime.thread_pool import is_stopping
from ..kernels.host_ir.timing_events import Begin, End, Event, Note
from ..session import Session
from .runs import Subject, sets_of, subject_of

if TYPE_CHECKING:
    from distributed import Client

SUBJECTS = 4
"""How many programs with their data a worker remembers."""


class WorkerLost(Exception):
    """A worker that has ended, or is started again as another one."""


@dataclass(frozen=True, slots=True)
class Job:
    """An entry that workers time: the program, where data files are looked for, threads, repetitions of a run."""

    source: Source
    path: Path
    entry: str
    threads: int | None
    runs: int


# ---- on a worker --------------------------------------------------------------------------------------------------


@lru_cache(SUBJECTS)
def subject(job: Job) -> Subject:
    """The entry with its data sets."""
    program = build(job.source)
    session = Session(job.source.text, program, program.facts.sites, {})
    return subject_of(job.path, session, job.entry, sets_of(job.path, session, job.entry), job.threads)


def timed(job: Job, request: Request, seconds: float) -> Record:
    """A run, of which some seconds are left for the search."""
    with watched():
        one = replace(subject(job), until=time.monotonic() + seconds)
        return measure(one, request.case, request.version, job.runs, request.limit, one.until)


# ---- for the workers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remote:
    """Times requests on one worker."""

    client: Client
    at: str
    job: Job
    until: float

    def __call__(self, request: Request) -> Record:
        from distributed import wait

        left = self.until - time.monotonic()
        handle: Any = self.client.submit(timed, self.job, request, left, workers=[self.at], pure=False)
        while not handle.done():
            with suppress(TimeoutError):
                wait([handle], timeout=GLANCE)
            if is_stopping():
                self.client.cancel([handle], force=True)
                raise KeyboardInterrupt
            if self.at not in self.client.scheduler_info(n_workers=-1)["workers"]:
                raise WorkerLost
        return handle.result()


def remotes(cluster: Cluster, job: Job, until: float) -> list[Remote]:
    """One for each worker."""
    client: Any = cluster.client
    return [Remote(client, at, job, until) for at in sorted(client.scheduler_info(n_workers=-1)["workers"])]


def device_of(cluster: Cluster, device: str) -> str:
    """The device of all workers, in words; T0203 if they have different ones."""
    client: Any = cluster.client
    found = sorted(set(client.run(described, device).values()))
    if len(found) > 1:
        text = f"the workers have different devices: {', '.join(f'`{one}`' for one in found)}"
        raise TuningError(Diagnostic("T0203", text, hint="tune on workers with one kind of device"))
    return found[0]


def shared(benches: Sequence[Remote], search: Callable[[Remote], object]) -> Remote:
    """Searches for all workers at once; one of those that are left. Raises what a search raises."""
    with ThreadPoolExecutor(len(benches)) as pool:
        ended = [pool.submit(search, bench) for bench in benches]
    left: list[Remote] = []
    for bench, one in zip(benches, ended, strict=True):
        try:
            one.result()
            left.append(bench)
        except WorkerLost:
            continue
    if not left:
        raise TuningError(Diagnostic("T0202", "all workers were lost"))
    return left[0]


# ---- the guards of the cluster ------------------------------------------------------------------------------------


@dataclass(slots=True)
class OnCluster:
    """An entry on its data sets, run on the cluster as a whole. Its guards are timed as one, called by the first: tasks
    of several groups run at the same time. `works`: the largest work that any of them compares."""

    cluster: Cluster
    program: Program
    entry: str
    names: Sequence[str]
    placed: Sequence[list[Any]]
    works: dict[int, int] = field(default_factory=dict)

    def run(self, case: int, version: Version, log: list[Event]) -> list[Any]:
        name = self.names[0]
        side = version.forced.get(name)
        begun = time.monotonic()
        results = self._call(case, version, side)
        taken = any(taken for _, _, taken in self.cluster.reached) if side is None else side
        log += [Note(name, self._work(case), taken), Begin((name,), begun), End(time.monotonic())]
        return results

    def prepare(self, case: int, version: Version) -> Callable[[], object]:
        return lambda: self._call(case, version, version.forced.get(self.names[0]))

    def check(self, case: int, version: Version, results: Any) -> None:
        """Results stay on the workers."""

    def _call(self, case: int, version: Version, side: bool | None) -> list[Any]:
        sides = {} if side is None else dict.fromkeys(self.names, side)
        return self.cluster.run(self.program, self.placed[case], self.entry, together(self.names, version), sides)

    def _work(self, case: int) -> int:
        if case not in self.works:
            self._call(case, Version({}, {}), True)
            self.works[case] = max((abs(work) for _, work, _ in self.cluster.reached), default=0)
        return self.works[case]


def together(names: Sequence[str], version: Version) -> dict[str, int]:
    """Thresholds for all guards as the first has it."""
    return dict.fromkeys(names, version.settings[names[0]]) if names[0] in version.settings else {}


def on_cluster(cluster: Cluster, subject: Subject) -> OnCluster | None:
    """The entry of a subject with its arrays on the workers; none where nothing of it is partitioned."""
    names = list(dict.fromkeys(group.threshold for group in groups(cluster.plan(subject.program, subject.entry).block)))
    placed = [[cluster.array(arg) if getattr(arg, "ndim", 0) else arg for arg in args] for args in subject.args]
    return OnCluster(cluster, subject.program, subject.entry, names, placed) if names else None


def node_problem(one: OnCluster, labels: Sequence[str]) -> Problem:
    return Problem((Branch((one.names[0],), (), ()),), tuple(labels), {}, {one.names[0]: one.cluster.default})


def node_search(search: Search, one: OnCluster, labels: Sequence[str]) -> Tuned:
    """Times both sides of the guards on every data set, and solves."""
    problem = node_problem(one, labels)
    search.see_versions(problem)
    tuned = search.settle(problem)
    search.confirm(problem, dict(tuned.solution.thresholds))
    return tuned
