"""Scans whose operands are computed: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def by_key(keys: Array, xs: Array) -> Array:
    out, total = np.empty_like(xs), 0.0
    for i in range(len(xs)):
        total = xs[i] if i == 0 or keys[i] != keys[i - 1] else total + xs[i]
        out[i] = total
    return out


@numba.njit
def by_rotate(keys: Array, xs: Array) -> Array:
    out, most = np.empty_like(xs), np.float32(-np.inf)
    for i in range(len(xs)):
        most = xs[i] if keys[i] != keys[i - 1] else max(most, xs[i])
        out[i] = most
    return out


@numba.njit
def streak(xs: Array) -> Array:
    out, count = np.empty(len(xs), np.int32), np.int32(0)
    for i in range(len(xs)):
        count = np.int32(0) if xs[i] == 0 else np.int32(count + 1)
        out[i] = count
    return out


@numba.njit
def number(keys: Array) -> Array:
    out, count = np.empty(len(keys), np.int64), 0
    for i in range(len(keys)):
        count += i > 0 and keys[i] != keys[i - 1]
        out[i] = count
    return out


@numba.njit
def rows_by_key(keys: Array, xs: Array) -> Array:
    out = np.empty_like(xs)
    for r in range(len(xs)):
        total = 0.0
        for i in range(xs.shape[1]):
            total = xs[r, i] if i == 0 or keys[r, i] != keys[r, i - 1] else total + xs[r, i]
            out[r, i] = total
    return out


PEERS: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (by_key, by_rotate, streak, number, rows_by_key)}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    n, random = 1 << (21 if large else 14), np.random.default_rng(0)
    keys, xs = np.sort(random.integers(0, n // 16, n)), random.random(n)
    return {
        "by_key": (keys, xs),
        "by_rotate": (keys.astype(np.int32), xs.astype(np.float32)),
        "streak": (random.integers(0, 9, n).astype(np.int8),),
        "number": (keys.astype(np.int32),),
        "rows_by_key": (keys.astype(np.int32).reshape(-1, 512), xs.reshape(-1, 512)),
    }
