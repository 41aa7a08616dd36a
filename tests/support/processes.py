"""The parts of a long run, each in a process of its own, so that none has what another left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")


def results(function: Callable[..., T], calls: Sequence[tuple[object, ...]], jobs: int) -> Iterator[tuple[int, T]]:
    """The number and the result of each call as it comes, `jobs` at a time. Raises what a call raises, and
    BrokenProcessPool if its process ends. A pool that renews its workers itself may wait for ever (Python 3.12)."""

    def one(number: int) -> tuple[int, T]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return number, pool.submit(function, *calls[number]).result()

    with ThreadPoolExecutor(jobs) as threads:
        for done in as_completed([threads.submit(one, number) for number in range(len(calls))]):
            yield done.result()
