"""The loops that the limits of the memory are measured with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel

Array = NDArray[Any]


@parallel
def triad(x: Array, y: Array, z: Array) -> None:
    for i in prange(x.shape[0]):
        x[i] = y[i] + 3.0 * z[i]


@parallel
def read(x: Array) -> float:
    total = np.float64(0)
    for i in prange(x.shape[0]):
        total += x[i]
    return total
