"""Numba for CUDA: kernels by hand. `NUMBA_ENABLE_CUDASIM=1` runs them without a GPU, very slowly, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import cuda

from . import kernels

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("blackscholes", "main"): kernels.blackscholes,
    ("histogram", "counts"): kernels.counts,
    ("lavamd", "main"): kernels.lavamd,
    ("mandelbrot", "main"): kernels.mandelbrot,
    ("nbody", "systems"): kernels.nbody_systems,
    ("nw", "main"): kernels.nw,
    ("pathfinder", "main"): kernels.pathfinder,
    ("spmv", "main"): kernels.spmv,
}


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """A call with the arrays on the device, scalars as Python numbers. It waits for the results."""
    given = [cuda.to_device(np.ascontiguousarray(arg)) if np.ndim(arg) else np.asarray(arg).item() for arg in args]

    def call() -> Any:
        results = function(*given)
        cuda.synchronize()
        return results

    return call


def fetch(results: Any) -> list[Any]:
    """The results as NumPy arrays."""
    return [part.copy_to_host() for part in (results if isinstance(results, tuple) else [results])]
