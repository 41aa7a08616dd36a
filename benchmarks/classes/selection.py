"""What a predicate selects: loops for one thread, as one would write them by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def sum_kept(xs: Array) -> Any:
    total = np.int64(0)
    for x in xs:
        total += np.int64(x) if x > 0 else np.int64(0)
    return total


@numba.njit
def mean_between(lo: float, hi: float, xs: Array) -> float:
    total, count = 0.0, 0
    for x in xs:
        if lo <= x < hi:
            total += x
            count += 1
    return total / count


@numba.njit
def box(xs: Array, ys: Array, r: float) -> Any:
    a = c = np.float32(np.inf)
    b = d = np.float32(-np.inf)
    for x, y in zip(xs, ys):
        if x * x + y * y <= r * r:
            a, b, c, d = min(a, x), max(b, x), min(c, y), max(d, y)
    return a, b, c, d


@numba.njit(fastmath={"reassoc"})
def rows_above(xss: Array) -> Array:
    n, m = xss.shape
    out = np.empty(n, np.int64)
    for i in range(n):
        total = np.float32(0)
        for j in range(m):
            total += xss[i, j]
        mean, count = total / np.float32(m), 0
        for j in range(m):
            count += xss[i, j] > mean
        out[i] = count
    return out


@numba.njit
def twice(xs: Array) -> Any:
    most = np.uint32(0)
    for x in xs:
        if x & np.uint32(7) != np.uint32(5) and x % np.uint32(3) != np.uint32(0):
            most = max(most, x)
    return most


@numba.njit
def kept(xs: Array) -> Array:
    out, k = np.empty(len(xs), xs.dtype), 0
    for x in xs:
        out[k] = x
        k += x > 0
    return out[:k]


@numba.njit
def roots(xs: Array) -> Array:
    out, k = np.empty(len(xs), xs.dtype), 0
    for x in xs:
        out[k] = np.sqrt(x)
        k += x > 0.5
    return out[:k]


@numba.njit
def squares(xs: Array) -> Array:
    out, k = np.empty(len(xs), xs.dtype), 0
    for x in xs:
        y = np.int16(x * x)
        out[k] = y
        k += (y & 3) == 1
    return out[:k]


@numba.njit
def points(t: float, xs: Array, ys: Array) -> tuple[Array, Array]:
    places, out, k = np.empty(len(xs), np.int64), np.empty(len(xs), xs.dtype), 0
    for i in range(len(xs)):
        places[k], out[k] = i, xs[i] * ys[i]
        k += xs[i] + ys[i] > t
    return places[:k], out[:k]


@numba.njit
def split(p: int, xs: Array) -> tuple[Array, Array]:
    n = len(xs)
    first, second, k = np.empty(n, xs.dtype), np.empty(n, xs.dtype), 0
    for i in range(n):
        first[k] = second[i - k] = xs[i]
        k += xs[i] < p
    return first[:k], second[: n - k]


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (sum_kept, mean_between, box, rows_above, twice, kept, roots, squares, points, split)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    n, random = 1 << (22 if large else 14), np.random.default_rng(0)
    ints, floats = random.integers(-100, 100, n).astype(np.int32), random.random(n)
    xs, ys = random.random(n, np.float32), random.random(n, np.float32)
    return {
        "sum_kept": (ints,),
        "mean_between": (0.2, 0.7, floats),
        "box": (xs - np.float32(0.5), ys - np.float32(0.5), np.float32(0.4)),
        "rows_above": (xs.reshape(-1, 256),),
        "twice": (random.integers(0, 1 << 32, n).astype(np.uint32),),
        "kept": (ints,),
        "roots": (floats,),
        "squares": (random.integers(-9999, 9999, n).astype(np.int16),),
        "points": (np.float32(0.8), xs, ys),
        "split": (np.int32(20), ints),
    }
