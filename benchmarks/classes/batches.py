"""Many small problems at once, rows that a loop adds up, and recurrences: loops for one thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def cholesky(a: Array) -> Any:
    b, n, _ = a.shape
    out = np.zeros_like(a)
    for q in range(b):
        for j in range(n):
            s = a[q, j, j]
            for k in range(j):
                s -= out[q, j, k] * out[q, j, k]
            d = math.sqrt(s)
            out[q, j, j] = d
            for i in range(j + 1, n):
                s = a[q, i, j]
                for k in range(j):
                    s -= out[q, i, k] * out[q, j, k]
                out[q, i, j] = s / d
    return out


@numba.njit
def thomas(a: Array, b: Array, c: Array, d: Array) -> Any:
    k, n = a.shape
    x, cs = np.empty_like(a), np.empty(n)
    for q in range(k):
        p, s = 0.0, 0.0
        for i in range(n):
            m = 1 / (b[q, i] - a[q, i] * p)
            s = (d[q, i] - a[q, i] * s) * m
            p = c[q, i] * m
            cs[i], x[q, i] = p, s
        for i in range(n - 2, -1, -1):
            x[q, i] -= cs[i] * x[q, i + 1]
    return x


@numba.njit
def weighted(ends: Array, rows: Array, ws: Array, table: Array) -> Any:
    n, d = len(ends) - 1, table.shape[1]
    out = np.zeros((n, d), table.dtype)
    for i in range(n):
        for p in range(ends[i], ends[i + 1]):
            w, r = ws[p], rows[p]
            for j in range(d):
                out[i, j] += w * table[r, j]
    return out


@numba.njit
def affine(many: Array, others: Array) -> Any:
    p, n = many.shape
    m = others.shape[1]
    out, h, e = np.empty(p, np.int32), np.empty(m + 1, np.int32), np.empty(m + 1, np.int32)
    for q in range(p):
        h[:], e[:] = 0, -1000
        top = 0
        for i in range(n):
            diag, f = 0, -1000
            for j in range(m):
                up = max(h[j + 1] - 5, e[j + 1] - 1)
                f = max(h[j] - 5, f - 1)
                s = max(0, max(diag + (2 if many[q, i] == others[q, j] else -3), max(up, f)))
                diag = h[j + 1]
                h[j + 1], e[j + 1] = s, up
                top = max(top, s)
        out[q] = top
    return out


@numba.njit
def adler(data: Array) -> Any:
    a, b, n = 1, 0, len(data)
    for i in range(0, n, 4096):
        for j in range(i, min(n, i + 4096)):
            a += data[j]
            b += a
        a, b = a % 65521, b % 65521
    return np.uint32(b << 16 | a)


@numba.njit
def crossings(close: Array) -> Any:
    out = np.zeros(len(close), np.int8)
    a = b = close[0]
    s, before = 0.0, False
    for i in range(len(close)):
        a = 2 / 13 * close[i] + (1 - 2 / 13) * a
        b = 2 / 27 * close[i] + (1 - 2 / 27) * b
        s = 0.2 * (a - b) + 0.8 * s
        above = a - b > s
        if i > 0 and above != before:
            out[i] = 1 if above else -1
        before = above
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (cholesky, thomas, weighted, affine, adler, crossings)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones of some microseconds or large ones."""
    random = np.random.default_rng(0)
    b, n = (4000, 8) if large else (20, 8)
    square = random.standard_normal((b, n, n))
    systems, t = (2000, 64) if large else (10, 20)
    r, d = (5000, 12) if large else (50, 8)
    ends = np.concatenate([[0], np.cumsum(random.integers(0, 21, r))]).astype(np.int64)
    p = 400 if large else 4
    return {
        "cholesky": (square @ square.transpose(0, 2, 1) + n * np.eye(n),),
        "thomas": tuple(random.random((systems, t)) + (4 if k == 1 else 0) for k in range(4)),
        "weighted": (
            ends,
            random.integers(0, r, ends[-1]).astype(np.int32),
            random.random(ends[-1]).astype(np.float32),
            random.random((r, d)).astype(np.float32),
        ),
        "affine": (
            random.integers(0, 4, (p, 60)).astype(np.int8),
            random.integers(0, 4, (p, 50)).astype(np.int8),
        ),
        "adler": (random.integers(0, 256, 1_000_000 if large else 2000).astype(np.uint8),),
        "crossings": (random.standard_normal(300_000 if large else 400).cumsum(),),
    }
