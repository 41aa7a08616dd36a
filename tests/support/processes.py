"""The parts of a long run, each in a process of its own, so that none has what another left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def results(function: Callable[..., T], calls: Sequence[tuple[object, ...]], jobs: int) -> Iterator[tuple[int, T]]:
    """The number and the result of each call as it comes, `jobs` at a time. Raises what a call raises, and
    BrokenProcessPool if its process ends; then, and where it is interrupted, all processes end: one that went on while
    its tree is edited would find faults that there are not. A pool that renews its workers itself may wait for ever
    (Python 3.12)."""

    def one(number: int) -> tuple[int, T]:
        with ProcessPoolExecutor(1, get_context("spawn"), _end_with_parent) as pool:
            return number, pool.submit(function, *calls[number]).result()

    with ThreadPoolExecutor(jobs) as threads:
        waiting = [threads.submit(one, number) for number in range(len(calls))]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            while not all(call.done() for call in waiting):
                for child in active_children():
                    child.terminate()
                time.sleep(0.05)


def _end_with_parent() -> None:
    """In a process: it ends with the one that began it, however that ends."""

    def wait() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
