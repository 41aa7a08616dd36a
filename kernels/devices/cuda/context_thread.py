"""A thread that does jobs for others: a CUDA context belongs to the thread in which it was made current, and what is
made in it is given back there only."""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
Job = tuple[Callable[[], Any], "Future[Any]"]
PATIENCE = 5.0  # seconds that the last job of a process may take


class DriverThread:
    """Does jobs in their order, between `enter` and `leave`."""

    def __init__(self, enter: Callable[[], None], leave: Callable[[], None]) -> None:
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, args=(enter, leave), name="soac-gpu", daemon=True)
        self.thread.start()
        atexit.register(self.close)

    def call(self, job: Callable[[], T]) -> T:
        """What the job gives, or raises; a job of a job is done at once."""
        if threading.current_thread() is self.thread:
            return job()
        done: Future[T] = Future()
        self.jobs.put((job, done))
        try:
            return done.result()
        finally:
            del done  # an exception knows this frame: no circle may keep what its job held

    def close(self) -> None:
        """The thread leaves, after the jobs that it has."""
        self.jobs.put(None)
        self.thread.join(PATIENCE)

    def _run(self, enter: Callable[[], None], leave: Callable[[], None]) -> None:
        failed: BaseException | None = None
        try:
            enter()
        except BaseException as why:
            failed = why
        while (item := self.jobs.get()) is not None:
            job, done = item
            _settle(job, done, failed)
            del item, job, done  # what they hold must not live until the next job
        if failed is None:
            leave()


def _settle(job: Callable[[], Any], done: Future[Any], failed: BaseException | None) -> None:
    if failed is not None:
        done.set_exception(failed)
        return
    try:
        done.set_result(job())
    except BaseException as why:
        done.set_exception(why)
    finally:
        del done
