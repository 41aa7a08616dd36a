"""What runs on a worker: tasks of programs, and the few things that are done with rows.

A program comes as data (`soac/plain.py`), and is compiled for the worker's own processor, once while it is remembered.
An argument of a task is a value; a list of arrays, which are one after the other; or a tuple of values, stacked.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..ir.core import Prog
from ..ir.depth import allow_depth
from ..ir.machine import CPU, Mode
from ..kernels.devices.cpu.executable import Executable
from ..kernels.devices.cpu.runtime import thread_pool
from ..plain import from_plain, plain
from ..program_cache import classes

PROGRAMS = 256
"""How many programs a worker remembers."""
GLANCE = 0.2
GRACE = 2.0
"""Seconds between looks at whether a task is wanted, and that it has to stop."""
Settings = tuple[Mapping[str, int], int | None]
"""Thresholds and sizes inside of tasks; threads."""


def text_of(prog: Prog) -> str:
    """A program as text that a worker reads."""
    return json.dumps(plain(prog, classes()))


def prog_of(text: str) -> Prog:
    """The program of a text."""
    allow_depth()
    return from_plain(json.loads(text), classes())


@lru_cache(PROGRAMS)
def executable(text: str) -> Executable:
    """A program compiled for this processor."""
    from ..pipeline import compile_core

    compiled = compile_core(prog_of(text), Mode.INCREMENTAL, CPU)
    return Executable.build(compiled.host, compiled.core.functions)


def run(text: str, args: Sequence[Any], settings: Settings) -> Any:
    """The result of a task, or a tuple of its results."""
    with watched() as is_wanted:
        program = executable(text)
        (entry,) = program.functions
        thresholds, threads = settings
        values = [value_of(arg) for arg in args]
        while True:
            try:
                results, _ = program.run(entry, values, thresholds, threads=threads)
            except KeyboardInterrupt:
                if is_wanted():
                    continue  # another task was to stop
                raise
            return results[0] if len(results) == 1 else tuple(results)


class Stopped(Exception):
    """A task that nothing waits for any more."""


@contextmanager
def watched() -> Iterator[Callable[[], bool]]:
    """Stops the launches of the task of this thread once it is cancelled, or its client gone; where they go on after a
    grace period, and a nanny starts another process, this one ends. Gives whether the task is wanted."""
    here: Any = worker_of_dask()
    if here is None:
        yield lambda: False
        return
    key, ended = here.get_current_task(), threading.Event()

    def is_wanted() -> bool:
        task = here.state.tasks.get(key)
        return task is not None and task.state == "executing"

    def watch() -> None:
        last = math.inf
        while not ended.wait(GLANCE):
            if is_wanted():
                continue
            if time.monotonic() > last and here.nanny is not None:
                os._exit(1)
            last = min(last, time.monotonic() + GRACE)
            thread_pool.request_stop()

    if not is_wanted():  # since its arguments were read
        raise Stopped
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield is_wanted
    except KeyboardInterrupt:
        raise Stopped from None
    finally:
        ended.set()
        watcher.join()
        if not is_wanted():
            thread_pool.forget_stop()


def worker_of_dask() -> Any:
    """The worker whose task this thread runs, if it does."""
    worker = sys.modules.get("distributed.worker")
    try:
        return None if worker is None else worker.get_worker()
    except ValueError:
        return None


def value_of(arg: Any) -> Any:
    """An argument in one piece. An array is a sequence for patterns since NumPy 2.5."""
    match arg:
        case list([one]):
            return one
        case list():
            return np.concatenate(arg)
        case tuple():
            return np.stack(arg)
        case _:
            return arg


def same(value: Any) -> Any:
    """What is to be on a worker."""
    return value


def pick(values: Sequence[Any], position: int) -> Any:
    """One of the results of a task."""
    return values[position]


def cut(array: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Some rows."""
    return array[start:stop].copy()


def indexed(array: np.ndarray, index: Any) -> np.ndarray:
    """The elements of a slice."""
    return np.ascontiguousarray(array[index])


def written(array: np.ndarray, start: int, stop: int, index: Any, value: Any) -> np.ndarray:
    """Some rows, with other elements in a slice of them."""
    rows = array[start:stop].copy()
    rows[index] = value_of(value)
    return rows


def reshaped(arrays: list[np.ndarray], skip: int, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of another shape, from the elements after the first `skip`."""
    return value_of(arrays).reshape(-1)[skip : skip + math.prod(shape)].reshape(shape).copy()


def span(places: np.ndarray) -> tuple[int, int]:
    """The least and the greatest of some numbers of rows."""
    return (int(places.min()), int(places.max())) if places.size else (0, -1)


def addressed(places: list[np.ndarray], values: np.ndarray, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray]:
    """What a scatter writes to the rows `lo .. hi`: places, counted from `lo`, and values."""
    (inside,) = np.nonzero((places[0] >= lo) & (places[0] < hi))
    return np.stack([places[0][inside] - lo, *(column[inside] for column in places[1:])]), values[inside]


def scattered(array: np.ndarray, start: int, stop: int, parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Some rows after the writes of a scatter, in the order in which they come."""
    rows = array[start:stop].copy()
    for places, values in parts:
        inside = np.all([(column >= 0) & (column < size) for column, size in zip(places, rows.shape)], axis=0)
        rows[tuple(places[:, inside])] = values[inside]
    return rows


def turned(array: np.ndarray, perm: Sequence[int]) -> np.ndarray:
    """An array with its dimensions in another order."""
    return np.ascontiguousarray(array.transpose(perm))


def split(array: np.ndarray, perm: Sequence[int], bounds: Sequence[int]) -> list[np.ndarray]:
    """The parts of an array that each of the blocks gets of it with its dimensions in another order."""
    after = array.transpose(perm)
    return [np.ascontiguousarray(after[lo:hi]) for lo, hi in pairwise(bounds)]


def gathered(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The parts of a block, side by side along a dimension."""
    return np.concatenate(parts, axis)


def write(path: str, start: int, arrays: list[np.ndarray]) -> None:
    """Rows of a file of NumPy's format that is there."""
    rows = value_of(arrays)
    np.lib.format.open_memmap(path, mode="r+")[start : start + len(rows)] = rows


def read(path: str, start: int, stop: int) -> np.ndarray:
    """Rows of a file of NumPy's format."""
    return np.array(np.load(path, mmap_mode="r")[start:stop], order="C")


def write_zarr(path: str, start: int, arrays: list[np.ndarray]) -> None:
    """Rows of a Zarr array that is there: chunks of it, each of which one task writes."""
    import zarr

    rows = value_of(arrays)
    zarr.open_array(path, mode="r+")[start : start + len(rows)] = rows


def read_zarr(path: str, start: int, stop: int) -> np.ndarray:
    """Rows of a Zarr array."""
    import zarr

    return np.ascontiguousarray(zarr.open_array(path, mode="r")[start:stop])
