"""Histograms with a copy of the bins for each thread, and sparse matrices by rows."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel

Array = NDArray[Any]


@parallel
def counts_of(h: int, bins: Array, copies: int) -> Array:
    n = len(bins)
    parts = np.zeros((copies, h), np.int32)
    for t in prange(copies):
        own = parts[t]
        for i in range(t * n // copies, (t + 1) * n // copies):
            if 0 <= bins[i] < h:
                own[bins[i]] += 1
    return parts


def counts(h: int, bins: Array) -> Array:
    parts = counts_of(h, bins, numba.get_num_threads())
    return parts[0] if len(parts) == 1 else parts.sum(axis=0, dtype=np.int32)


@parallel
def sums_of(h: int, bins: Array, values: Array, copies: int) -> Array:
    n = len(bins)
    parts = np.zeros((copies, h), np.float32)
    for t in prange(copies):
        own = parts[t]
        for i in range(t * n // copies, (t + 1) * n // copies):
            if 0 <= bins[i] < h:
                own[bins[i]] += values[i]
    return parts


def sums(h: int, bins: Array, values: Array) -> Array:
    parts = sums_of(h, bins, values, numba.get_num_threads())
    return parts[0] if len(parts) == 1 else parts.sum(axis=0)


@parallel
def largest_of(h: int, bins: Array, values: Array, copies: int) -> tuple[Array, Array]:
    n = len(bins)
    most, places = np.full((copies, h), np.float32(-np.inf)), np.full((copies, h), -1)
    for t in prange(copies):
        own, own_places = most[t], places[t]
        for i in range(t * n // copies, (t + 1) * n // copies):
            b = bins[i]
            if 0 <= b < h and (own_places[b] < 0 or values[i] > own[b]):
                own[b] = values[i]
                own_places[b] = i
    return most, places


def largest(h: int, bins: Array, values: Array) -> tuple[Array, Array]:
    most, places = largest_of(h, bins, values, numba.get_num_threads())
    copy = np.argmax(most, axis=0)
    all_bins = np.arange(h)
    return most[copy, all_bins], places[copy, all_bins]


@parallel
def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    n = len(off) - 1
    out = np.empty(n, np.float32)
    for i in prange(n):
        total = np.float32(0)
        for k in range(off[i], off[i + 1]):
            total += value[k] * x[col[k]]
        out[i] = total
    return out
