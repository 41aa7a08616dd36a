"""Processor time of this process that counts what a call set off for the call itself.

    seconds(run) = clock() after run - clock() before       clock() = process_time() once all other threads rest

A library may give its result while threads of its own still work, on freeing what was only needed on the way: without
the wait that would be counted for whoever comes next.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

THREADS = Path("/proc/self/task")
AT_REST = frozenset("SITtXZ")  # asleep, idle, stopped or dead; not running, nor about to write or free pages
PATIENCE = 1.0  # seconds; threads that never rest are no reason to wait for ever


def processor_clock() -> Callable[[], float]:
    """A clock for runs that take turns; what it needs to look at the threads does not count."""
    looking = 0.0

    def now() -> float:
        nonlocal looking
        begin = time.thread_time()
        wait_for_rest()
        looking += time.thread_time() - begin
        return time.process_time() - looking

    return now


def wait_for_rest() -> None:
    """Until no other thread runs; at once where the system does not say."""
    limit = time.monotonic() + PATIENCE
    while any(state not in AT_REST for state in states_of_others()) and time.monotonic() < limit:
        time.sleep(0.0005)


def states_of_others() -> Iterator[str]:
    """The letters that the system has for what the other threads of this process do."""
    own = str(threading.get_native_id())
    for name in os.listdir(THREADS) if THREADS.exists() else ():
        if name != own:
            try:
                line = (THREADS / name / "stat").read_text(encoding="utf-8")
            except OSError:
                continue  # it has ended
            yield line.rpartition(")")[2].split()[0]
