"""Loops as one would write them by hand for one thread: sums of rows, prefix sums of rows, maps."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .compiled import ASSOCIATIVE

Array = NDArray[Any]
GROUP = 256  # results of `streams` that are made together

single = numba.njit(fastmath=ASSOCIATIVE, boundscheck=False)


@single
def sums(xss: Array, out: Array) -> None:
    """Row after row."""
    for i in range(xss.shape[0]):
        total = xss.dtype.type(0)
        for j in range(xss.shape[1]):
            total += xss[i, j]
        out[i] = total


@single
def streams(xs: Array, out: Array) -> None:
    """Reads as many elements in order as sums of rows do, adds as often and writes as many results; they are not the
    sums of rows, but what can be had without moving elements across lanes."""
    m = xs.shape[0] // out.shape[0]
    part = np.empty(GROUP, xs.dtype)
    for first in range(0, out.shape[0] // GROUP * GROUP, GROUP):
        part[:] = 0
        for k in range(m):
            row = xs[first * m + k * GROUP : first * m + (k + 1) * GROUP]
            for lane in range(GROUP):
                part[lane] += row[lane]
        out[first : first + GROUP] = part
    for i in range(out.shape[0] // GROUP * GROUP, out.shape[0]):
        out[i] = xs[i * m : (i + 1) * m].sum()


@single
def scans(xss: Array, out: Array) -> None:
    """Row after row, in one pass."""
    for i in range(xss.shape[0]):
        total = xss.dtype.type(0)
        for j in range(xss.shape[1]):
            total += xss[i, j]
            out[i, j] = total


@single
def copy(xs: Array, out: Array) -> None:
    for i in range(xs.shape[0]):
        out[i] = xs[i]


@single
def increments(xs: Array, out: Array) -> None:
    for i in range(xs.shape[0]):
        out[i] = xs[i] + xs.dtype.type(1)


@single
def additions(xs: Array, ys: Array, out: Array) -> None:
    for i in range(xs.shape[0]):
        out[i] = xs[i] + ys[i]


@single
def sums_and_differences(xs: Array, ys: Array, out: Array, other: Array) -> None:
    for i in range(xs.shape[0]):
        out[i] = xs[i] + ys[i]
        other[i] = xs[i] - ys[i]


@single
def transposed(xss: Array, out: Array) -> None:
    """In tiles of a line of the cache by as many."""
    n, m, side = xss.shape[0], xss.shape[1], 64 // xss.itemsize
    for first in range(0, n, side):
        for start in range(0, m, side):
            for i in range(first, min(n, first + side)):
                for j in range(start, min(m, start + side)):
                    out[j, i] = xss[i, j]


@single
def triad(x: Array, y: Array, z: Array) -> None:
    for i in range(x.shape[0]):
        x[i] = y[i] + np.float64(3) * z[i]
