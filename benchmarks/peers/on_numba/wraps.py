"""Indices that wrap around, the ends apart; divisions by what only the call knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel

Array = NDArray[Any]


@parallel
def life(steps: int, start: Array) -> Array:
    h, w = start.shape
    a, new = start.copy(), np.empty_like(start)
    for _ in range(steps):
        for i in prange(h):
            above, here, below = a[i - 1], a[i], a[i + 1 - h]
            for j in range(1, w - 1):
                n = above[j - 1] + above[j] + above[j + 1] + here[j - 1] + here[j + 1]
                n += below[j - 1] + below[j] + below[j + 1]
                new[i, j] = (n == 3) | ((n == 2) & (here[j] == 1))
            for j in (0, w - 1):
                k = j + 1 - w
                n = above[j - 1] + above[j] + above[k] + here[j - 1] + here[k]
                n += below[j - 1] + below[j] + below[k]
                new[i, j] = (n == 3) | ((n == 2) & (here[j] == 1))
        a, new = new, a
    return a


@parallel
def ring(steps: int, start: Array) -> Array:
    n = len(start)
    t, new = start.copy(), np.empty_like(start)
    for _ in range(steps):
        new[0] = t[0] + 0.1 * (t[n - 1] - 2 * t[0] + t[1 % n])
        for i in prange(1, n - 1):
            new[i] = t[i] + 0.1 * (t[i - 1] - 2 * t[i] + t[i + 1])
        new[n - 1] = t[n - 1] + 0.1 * (t[n - 2] - 2 * t[n - 1] + t[0])
        t, new = new, t
    return t


@parallel
def drift(a: Array) -> Array:
    h, w = a.shape
    out = np.empty_like(a)
    third = np.float32(3)
    for i in prange(h):
        here, below = a[i], a[(i + 1) % h]
        for j in range(w - 2):
            out[i, j] = (here[j] + here[j + 2] + below[j]) / third
        for j in range(max(0, w - 2), w):
            out[i, j] = (here[j] + here[(j + 2) % w] + below[j]) / third
    return out


@parallel
def spread(a: Array) -> Array:
    d, h, w = a.shape
    out = np.empty_like(a)
    for k in prange(d):
        for i in range(h):
            here, down, up = a[k, i], a[(k + 1) % d, i], a[k - 1, i]
            below, above = a[k, (i + 1) % h], a[k, i - 1]
            for j in range(1, w - 1):
                sides = here[j + 1] + here[j - 1]
                out[k, i, j] = down[j] + up[j] + below[j] + above[j] + sides - np.float32(6) * here[j]
            for j in (0, w - 1):
                sides = here[(j + 1) % w] + here[j - 1]
                out[k, i, j] = down[j] + up[j] + below[j] + above[j] + sides - np.float32(6) * here[j]
    return out


@parallel
def repeat(n: int, pattern: Array) -> Array:
    m = len(pattern)
    out = np.empty(n, pattern.dtype)
    for k in prange((n + m - 1) // m):
        for j in range(min(m, n - k * m)):
            out[k * m + j] = pattern[j] + np.float32(k)
    return out


@parallel
def butterflies(k: int, xs: Array) -> Array:
    out = np.empty_like(xs)
    span = 1 << k
    for b in prange(len(xs) // (2 * span)):
        low, high = xs[2 * b * span : (2 * b + 1) * span], xs[(2 * b + 1) * span : (2 * b + 2) * span]
        sums, differences = out[2 * b * span :], out[(2 * b + 1) * span :]
        for j in range(span):
            sums[j] = low[j] + high[j]
            differences[j] = low[j] - high[j]
    return out


@parallel
def buckets(size: np.uint32, xs: Array) -> Array:
    out = np.empty_like(xs)
    divisor = np.uint32(size)
    for i in prange(len(xs)):
        out[i] = xs[i] // divisor + xs[i] % divisor
    return out


@parallel
def digits(base: np.int32, xs: Array) -> Array:
    out = np.empty_like(xs)
    b = np.int32(base)
    for i in prange(len(xs)):
        once = xs[i] // b
        out[i] = xs[i] % b + once % b + once // b
    return out
