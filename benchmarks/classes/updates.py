"""Sequential loops that update elements, as one would write them in Numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def sweep(rounds: int, grid: Array) -> Array:
    grid, (n, m) = grid.copy(), grid.shape
    for _ in range(rounds):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                grid[i, j] = 0.25 * (grid[i - 1, j] + grid[i, j - 1] + grid[i, j + 1] + grid[i + 1, j])
    return grid


@numba.njit
def common(xs: Array, ys: Array) -> int:
    n, m = len(xs), len(ys)
    table = np.zeros((n + 1, m + 1), np.int32)
    for i in range(n):
        for j in range(m):
            table[i + 1, j + 1] = table[i, j] + 1 if xs[i] == ys[j] else max(table[i, j + 1], table[i + 1, j])
    return table[n, m]


@numba.njit
def knapsack(capacity: int, weights: Array, values: Array) -> int:
    best = np.zeros(capacity + 1, np.int64)
    for i in range(len(weights)):
        for room in range(capacity, -1, -1):
            if room >= weights[i]:
                best[room] = max(best[room], best[room - weights[i]] + values[i])
    return best[capacity]


@numba.njit
def eliminate(a: Array) -> Array:
    a, n = a.copy(), len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


@numba.njit
def sieve(n: int) -> Array:
    prime = np.full(n, True)
    for p in range(2, n):
        if prime[p] and p * p < n:
            for k in range(p * p, n, p):
                prime[k] = False
    return prime


@numba.njit
def sort_rows(rows: Array) -> Array:
    rows = rows.copy()
    for row in rows:
        for i in range(len(row)):
            x, k = row[i], i
            while k > 0 and row[k - 1] > x:
                row[k] = row[k - 1]
                k -= 1
            row[k] = x
    return rows


@numba.njit
def paths(d: Array) -> Array:
    d, n = d.copy(), len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


@numba.njit
def filtered(b: Array, a: Array, xs: Array) -> Array:
    ys = np.zeros_like(xs)
    for i in range(len(xs)):
        window = min(len(b), i + 1)
        y = 0.0
        for q in range(window):
            y += b[q] * xs[i - q]
        for q in range(1, window):
            y -= a[q] * ys[i - q]
        ys[i] = y
    return ys


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (sweep, common, knapsack, eliminate, sieve, sort_rows, paths, filtered)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones or large ones."""
    random = np.random.default_rng(0)
    n = 400 if large else 40
    square = random.random((n, n)) + n * np.eye(n)
    return {
        "sweep": (10, random.random((n, n + 5))),
        "common": (random.integers(0, 4, 5 * n).astype(np.uint8), random.integers(0, 4, 4 * n).astype(np.uint8)),
        "knapsack": (25 * n, random.integers(1, 50, n), random.integers(1, 1000, n)),
        "eliminate": (square,),
        "sieve": (2500 * n,),
        "sort_rows": (random.integers(0, 1000, (4 * n, 24)).astype(np.int32),),
        "paths": (random.random((n, n)).astype(np.float32),),
        "filtered": (random.random(5), 0.1 * random.random(5), random.random(250 * n)),
    }
