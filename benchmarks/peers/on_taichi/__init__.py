"""Taichi: kernels over NumPy arrays, whose outermost loops are parallel."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import taichi as ti

THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
ti.init(arch=ti.cpu, cpu_max_num_threads=THREADS, log_level=ti.WARN)

from . import kernels  # noqa: E402 - kernels are made after `init`

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("blackscholes", "main"): kernels.blackscholes,
    ("hotspot", "main"): kernels.hotspot,
    ("mandelbrot", "main"): kernels.mandelbrot,
    ("nbody", "systems"): kernels.nbody_systems,
    ("rowreduce", "sum_squares"): kernels.sum_squares,
}


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """A call with these arguments; the first one compiles."""
    return lambda: function(*args)


def fetch(results: Any) -> list[Any]:
    """The results one by one."""
    return list(results) if isinstance(results, tuple) else [results]
