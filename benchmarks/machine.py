"""The machine: what it is called, and its limits, measured in the same run as the programs.

Bandwidth is that of the triad x = y + a z (three arrays of f64 well beyond the caches) and of reading one array;
arithmetic is that of a product of square matrices by the fastest library there is. A bound is the time that the bytes
and the operations of a problem take at these limits.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import soac
from soac.reports.timing import seconds_of

ELEMENTS = 1 << 24
SIDE = 1536
ROUNDS = 9


@dataclass(frozen=True, slots=True)
class Limits:
    """In GB/s and GFLOP/s, the best of some rounds."""

    triad: float
    read: float
    sgemm: float

    def bound_ms(self, bytes_moved: float, flops: float) -> float:
        """The least time in milliseconds."""
        return 1e3 * max(bytes_moved / (max(self.triad, self.read) * 1e9), flops / (self.sgemm * 1e9))


def measure_limits(threads: int) -> Limits:
    """Takes some seconds; with one thread by its processor time."""
    y, z = np.ones(ELEMENTS), np.ones(ELEMENTS)
    x = np.zeros(ELEMENTS)
    triad, read = _loops()
    return Limits(
        24e-9 * ELEMENTS / _least(lambda: triad(x, y, z), threads),
        8e-9 * ELEMENTS / _least(lambda: read(y), threads),
        max(2e-9 * SIDE**3 / _least(product, threads) for product in _products()),
    )


def _loops() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Triad and sum, compiled where Numba is there."""
    if importlib.util.find_spec("numba") is None:
        return _triad_of_numpy, np.sum
    loops = importlib.import_module(".peers.on_numba.limits", __package__)
    return loops.triad, loops.read


def _triad_of_numpy(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    """In pieces that stay in the cache between the two operations."""
    for first in range(0, len(x), 4096):
        part = slice(first, first + 4096)
        np.multiply(z[part], 3.0, out=x[part])
        x[part] += y[part]


def _products() -> Iterator[Callable[[], Any]]:
    a = np.ones((SIDE, SIDE), np.float32)
    yield lambda: a @ a
    if importlib.util.find_spec("jax") is not None:
        on_jax = importlib.import_module(".peers.on_jax", __package__)
        yield on_jax.bind(on_jax.PEERS["matmul", "main"], [a, a])


def _least(run: Callable[[], Any], threads: int) -> float:
    run()
    return min(seconds_of(run, time.process_time if threads == 1 else time.perf_counter) for _ in range(ROUNDS))


def describe_machine(threads: int) -> dict[str, Any]:
    """What times depend on, without anything that names the machine itself."""
    return {
        "cpu": llvm.get_host_cpu_name(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "soac": soac.__version__,
        "libraries": {name: version for name in LIBRARIES if (version := _version(name)) is not None},
    }


LIBRARIES = ("numpy", "numba", "jax", "llvmlite", "torch", "cupy", "triton", "numba-cuda", "taichi")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
