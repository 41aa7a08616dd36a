"""Indices that wrap around by `roll`; divisions of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def life(steps: int, start: Array) -> Array:
    a = start
    for _ in range(steps):
        columns = np.roll(a, 1, 1) + a + np.roll(a, -1, 1)
        n = np.roll(columns, 1, 0) + columns + np.roll(columns, -1, 0) - a
        a = ((n == 3) | ((n == 2) & (a == 1))).astype(a.dtype)
    return a


def ring(steps: int, start: Array) -> Array:
    t = start
    for _ in range(steps):
        t = t + 0.1 * (np.roll(t, 1) - 2 * t + np.roll(t, -1))
    return t


def drift(a: Array) -> Array:
    return (a + np.roll(a, -2, 1) + np.roll(a, -1, 0)) / np.float32(3)


def spread(a: Array) -> Array:
    return sum(np.roll(a, by, axis) for axis in range(3) for by in (1, -1)) - np.float32(6) * a


def repeat(n: int, pattern: Array) -> Array:
    i = np.arange(n)
    return pattern[i % len(pattern)] + (i // len(pattern)).astype(pattern.dtype)


def butterflies(k: int, xs: Array) -> Array:
    pairs = xs.reshape(-1, 2, 1 << k)
    return np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)


def buckets(size: int, xs: Array) -> Array:
    once, rest = np.divmod(xs, np.uint32(size))
    return once + rest


def digits(base: int, xs: Array) -> Array:
    once = xs // np.int32(base)
    return xs % np.int32(base) + once % np.int32(base) + once // np.int32(base)
