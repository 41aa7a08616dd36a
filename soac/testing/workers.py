"""Test programs in other processes: several at once, and none can take the others down.

    parent ── (path, place, testing) ──▶ worker        a job: a program, and the step to begin with
           ◀── Begin | Outcome | Said | Ended ──

A worker tells of each step before it takes it. Where a step takes longer than it may, or the process dies, the parent
notes that as the step's outcome and has a new worker go on behind it.

Workers are started afresh (no fork: kernels run on threads), end when their pipe does, and never see Ctrl-C.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

from ..cli import STACK
from .checks import Testing
from .outcomes import START, Begin, Event, Outcome, Place, Status
from .run import events

RECYCLED = 100  # programs after which a worker is replaced: compiled code is never given back
GRACE = 2.0  # seconds that a worker has to be gone


@dataclass(frozen=True, slots=True)
class Job:
    """A program to be tested from a step on."""

    path: Path
    since: Place


@dataclass(frozen=True, slots=True)
class Ended:
    """A program has been tested."""


@dataclass(slots=True)
class _Worker:
    """A process, and what it is at: its job, the last step it began, and when that must be over."""

    process: BaseProcess
    connection: Connection
    jobs: int
    job: Job | None
    begun: Begin | None
    since: float

    def deadline(self) -> float | None:
        if self.begun is None or self.begun.seconds is None:
            return None
        return self.since + self.begun.seconds


def run_tests(paths: Sequence[Path], testing: Testing, processes: int) -> Iterator[tuple[Path, Event | Ended]]:
    """Everything that happens when programs are tested, as it happens; `Ended` is the last of each program."""
    todo = deque(Job(path, START) for path in paths)
    workers: list[_Worker] = []
    try:
        while todo or any(worker.job for worker in workers):
            _give_work(todo, workers, testing, processes)
            for worker in _worth_a_look(workers):
                yield from _news(worker, todo)
            workers = [worker for worker in workers if worker.job is not None or _keep(worker, todo)]
    finally:
        for worker in workers:
            _end(worker)


def _give_work(todo: deque[Job], workers: list[_Worker], testing: Testing, processes: int) -> None:
    while todo:
        idle = next((worker for worker in workers if worker.job is None), None)
        if idle is None:
            if len(workers) >= processes:
                return
            idle = _start()
            workers.append(idle)
        idle.job, idle.begun, idle.jobs = todo.popleft(), None, idle.jobs + 1
        with contextlib.suppress(OSError):  # a dead one is noticed by the end of its pipe
            idle.connection.send((idle.job, testing))


def _start() -> _Worker:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    with _without_interrupts():
        process.start()
    theirs.close()
    return _Worker(process, cast(Connection, ours), 0, None, None, 0.0)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile leave Ctrl-C to this one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worth_a_look(workers: Sequence[_Worker]) -> list[_Worker]:
    """Waits; the workers that have said something, died, or run out of time."""
    busy = [worker for worker in workers if worker.job is not None]
    deadlines = [deadline for worker in busy if (deadline := worker.deadline()) is not None]
    patience = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
    ready = wait([worker.connection for worker in busy], patience)
    now = time.monotonic()
    return [w for w in busy if w.connection in ready or ((end := w.deadline()) is not None and end <= now)]


def _news(worker: _Worker, todo: deque[Job]) -> Iterator[tuple[Path, Event | Ended]]:
    """What a worker has to say now, or what has to be said of it."""
    assert worker.job is not None
    path = worker.job.path
    while worker.job is not None and worker.connection.poll():
        try:
            event = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE)
            yield from _given_up(worker, todo, f"the process that ran it {_death(worker.process.exitcode)}")
            return
        if isinstance(event, Begin):
            worker.begun, worker.since = event, time.monotonic()
        elif isinstance(event, Ended):
            worker.job = None
        elif isinstance(event, Outcome):
            worker.begun = None
        if not isinstance(event, Begin):
            yield path, event
    deadline = worker.deadline()
    if worker.job is not None and deadline is not None and deadline <= time.monotonic():
        assert worker.begun is not None
        worker.process.kill()
        yield from _given_up(worker, todo, f"not done after {worker.begun.seconds:g} seconds")


def _given_up(worker: _Worker, todo: deque[Job], why: str) -> Iterator[tuple[Path, Event | Ended]]:
    """The outcome of the step that a worker did not survive; the rest of the program goes to another."""
    job, begun = worker.job, worker.begun
    assert job is not None
    name, version = (begun.name, begun.version) if begun else ("start", "")
    worker.job, worker.jobs = None, RECYCLED
    yield job.path, Outcome(name, version, Status.FAILED, why, time.monotonic() - worker.since if begun else 0.0)
    if begun is None or begun.place is None:
        yield job.path, Ended()
    else:
        todo.appendleft(Job(job.path, begun.place.following()))


def _death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended with exit code {code}"
    names = [name for name in signal.Signals if name == -code]
    return f"was ended by {names[0].name}" if names else f"was ended by signal {-code}"


def _keep(worker: _Worker, todo: deque[Job]) -> bool:
    """Whether an idle worker can take another job; if not, it is ended."""
    if todo and worker.jobs < RECYCLED:
        return True
    _end(worker)
    return False


def _end(worker: _Worker) -> None:
    worker.connection.close()
    if worker.job is not None:
        worker.process.kill()
    worker.process.join(GRACE)
    if worker.process.is_alive():
        worker.process.kill()


# ---- in the worker ------------------------------------------------------------------------------------------------


def serve(connection: Connection) -> None:
    """Does jobs until the pipe ends, and is then gone at once, whatever it is at."""
    jobs: queue.SimpleQueue[tuple[Job, Testing]] = queue.SimpleQueue()
    threading.stack_size(STACK)
    threading.Thread(target=_work, args=(connection, jobs), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            jobs.put(connection.recv())
    os._exit(0)


def _work(connection: Connection, jobs: queue.SimpleQueue[tuple[Job, Testing]]) -> None:
    while True:
        job, testing = jobs.get()
        if testing.every_version:
            os.environ.setdefault("SOAC_EFFORT", "full")  # what large inputs get: some passes are in that code alone
        try:
            for event in events(job.path, testing, job.since):
                connection.send(event)
            connection.send(Ended())
        except BaseException:
            os._exit(70)
