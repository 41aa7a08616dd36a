"""Histograms and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def counts(h: int, bins: Array) -> Array:
    return np.bincount(within(h, bins), minlength=h).astype(np.int32)


def sums(h: int, bins: Array, values: Array) -> Array:
    inside = (bins >= 0) & (bins < h)
    if not inside.all():
        bins, values = bins[inside], values[inside]
    return np.bincount(bins, values, minlength=h).astype(values.dtype)


def largest(h: int, bins: Array, values: Array) -> tuple[Array, Array]:
    """The largest value of each bin, then the first place that has it; -1 in an empty bin."""
    most, places = np.full(h, -np.inf, values.dtype), np.full(h, len(bins))
    np.maximum.at(most, bins, values)
    (top,) = np.nonzero(values == most[bins])
    np.minimum.at(places, bins[top], top)
    return most, np.where(places == len(bins), -1, places)


def within(h: int, bins: Array) -> Array:
    inside = (bins >= 0) & (bins < h)
    return bins if inside.all() else bins[inside]


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    """Rows may be empty: these take no part in the sums."""
    full = off[1:] > off[:-1]
    out = np.zeros(len(off) - 1, value.dtype)
    out[full] = np.add.reduceat(value * x[col], off[:-1][full])
    return out
