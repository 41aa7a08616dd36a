"""The operations of a sweep as loops for one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from .operations import Array

LOOPS: dict[str, Callable[..., Any]] = {}


def loop(any_order: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compiles a loop; `any_order`: floats may be added in any."""

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        LOOPS[function.__name__] = numba.njit(nogil=True, fastmath=any_order)(function)
        return function

    return compiled


@loop()
def sum(x: Array) -> Any:
    s = x.dtype.type(0)
    for i in range(x.size):
        s = x.dtype.type(s + x[i])
    return s


@loop()
def maximum(x: Array) -> Any:
    s = x[0]
    for i in range(x.size):
        s = max(s, x[i])
    return s


@loop()
def sums(x: Array) -> Any:
    y = np.empty_like(x)
    s = x.dtype.type(0)
    for i in range(x.size):
        s = x.dtype.type(s + x[i])
        y[i] = s
    return y


@loop()
def maxima(x: Array) -> Any:
    y = np.empty_like(x)
    s = x[0]
    for i in range(x.size):
        s = max(s, x[i])
        y[i] = s
    return y


@loop()
def clip(x: Array) -> Any:
    z = np.empty_like(x)
    a = x.dtype.type(10)
    b = x.dtype.type(50)
    for i in range(x.size):
        z[i] = min(b, max(a, x[i]))
    return z


@loop()
def some(x: Array) -> Any:
    z = np.empty_like(x)
    k = 0
    for i in range(x.size):
        z[k] = x[i]
        k += x[i] > 50
    return z[:k]


@loop()
def count(x: Array) -> Any:
    k = 0
    for i in range(x.size):
        k += x[i] > 50
    return k


@loop()
def argmax(x: Array) -> Any:
    k = 0
    for i in range(x.size):
        if x[i] > x[k]:
            k = i
    return k


@loop()
def turned(x: Array) -> Any:
    z = np.empty_like(x)
    n = x.size
    for i in range(n):
        z[i] = x[n - 1 - i]
    return z


@loop()
def shifted(x: Array) -> Any:
    z = np.empty_like(x)
    z[0] = x[0]
    for i in range(1, x.size):
        z[i] = x[i] - x[i - 1]
    return z


@loop()
def gather(x: Array, ix: Array) -> Any:
    z = np.empty_like(x)
    for i in range(x.size):
        z[i] = x[ix[i]]
    return z


@loop()
def bins(x: Array, ix: Array) -> Any:
    z = np.zeros(256, x.dtype)
    for i in range(x.size):
        z[ix[i] % 256] += x[i]
    return z


@loop()
def scattered(x: Array, ix: Array) -> Any:
    z = np.zeros_like(x)
    for i in range(x.size):
        z[ix[i]] = x[i]
    return z


@loop()
def row_sums(x: Array) -> Any:
    n, m = x.shape
    z = np.zeros(n, x.dtype)
    for i in range(n):
        s = x.dtype.type(0)
        for j in range(m):
            s = x.dtype.type(s + x[i, j])
        z[i] = s
    return z


@loop()
def column_sums(x: Array) -> Any:
    n, m = x.shape
    z = np.zeros(m, x.dtype)
    for i in range(n):
        for j in range(m):
            z[j] += x[i, j]
    return z


@loop()
def row_maxima(x: Array) -> Any:
    n, m = x.shape
    z = np.zeros(n, x.dtype)
    for i in range(n):
        s = x[i, 0]
        for j in range(m):
            s = max(s, x[i, j])
        z[i] = s
    return z


@loop()
def column_maxima(x: Array) -> Any:
    n, m = x.shape
    z = x[0].copy()
    for i in range(n):
        for j in range(m):
            z[j] = max(z[j], x[i, j])
    return z


@loop()
def row_scans(x: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        s = x.dtype.type(0)
        for j in range(m):
            s = x.dtype.type(s + x[i, j])
            z[i, j] = s
    return z


@loop()
def column_scans(x: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for j in range(m):
        z[0, j] = x[0, j]
    for i in range(1, n):
        for j in range(m):
            z[i, j] = z[i - 1, j] + x[i, j]
    return z


@loop()
def times_row(x: Array, v: Array) -> Any:
    n, m = x.shape
    z = np.zeros(n, x.dtype)
    for i in range(n):
        s = x.dtype.type(0)
        for j in range(m):
            s = x.dtype.type(s + x[i, j] * v[j])
        z[i] = s
    return z


@loop()
def add_row(x: Array, v: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        for j in range(m):
            z[i, j] = x[i, j] + v[j]
    return z


@loop()
def add_column(x: Array, v: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        for j in range(m):
            z[i, j] = x[i, j] + v[i]
    return z


@loop()
def cross(x: Array) -> Any:
    n, m = x.shape
    z = x.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            z[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - x.dtype.type(4) * x[i, j]
    return z


@loop()
def torus(x: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        i1 = i + 1 if i + 1 < n else 0
        for j in range(m - 1):
            z[i, j] = max(max(x[i, j], x[i1, j]), max(x[i, j + 1], x[i1, j + 1]))
        z[i, m - 1] = max(max(x[i, m - 1], x[i1, m - 1]), max(x[i, 0], x[i1, 0]))
    return z


@loop()
def sum_first(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros((b, c), x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[k, n] += x[i, k, n]
    return z


@loop()
def sum_middle(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros((a, c), x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[i, n] += x[i, k, n]
    return z


@loop(any_order=True)
def sum_last(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros((a, b), x.dtype)
    for i in range(a):
        for k in range(b):
            s = x.dtype.type(0)
            for n in range(c):
                s += x[i, k, n]
            z[i, k] = s
    return z


@loop()
def sum_but_last(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros(c, x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[n] += x[i, k, n]
    return z


@loop(any_order=True)
def sum_but_middle(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros(b, x.dtype)
    for i in range(a):
        for k in range(b):
            s = x.dtype.type(0)
            for n in range(c):
                s += x[i, k, n]
            z[k] += s
    return z


@loop()
def max_middle(x: Array) -> Any:
    a, b, c = x.shape
    z = x[:, 0].copy()
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[i, n] = max(z[i, n], x[i, k, n])
    return z


@loop()
def scan_middle(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty_like(x)
    for i in range(a):
        for n in range(c):
            z[i, 0, n] = x[i, 0, n]
        for k in range(1, b):
            for n in range(c):
                z[i, k, n] = z[i, k - 1, n] + x[i, k, n]
    return z


@loop()
def centred(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty_like(x)
    s = np.empty(c, x.dtype)
    for i in range(a):
        s[:] = 0
        for k in range(b):
            for n in range(c):
                s[n] += x[i, k, n]
        for n in range(c):
            s[n] /= x.dtype.type(b)
        for k in range(b):
            for n in range(c):
                z[i, k, n] = x[i, k, n] - s[n]
    return z


@loop()
def padded(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros((a, b + 2, c + 2), x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[i, k + 1, n + 1] = x[i, k, n]
    return z


@loop()
def pooled(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty((a, b // 2, c // 2), x.dtype)
    for i in range(a):
        for k in range(b // 2):
            for n in range(c // 2):
                z[i, k, n] = max(
                    max(x[i, 2 * k, 2 * n], x[i, 2 * k, 2 * n + 1]),
                    max(x[i, 2 * k + 1, 2 * n], x[i, 2 * k + 1, 2 * n + 1]),
                )
    return z


@loop()
def doubled(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty((a, b * 2, c * 2), x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                v = x[i, k, n]
                z[i, 2 * k, 2 * n] = v
                z[i, 2 * k, 2 * n + 1] = v
                z[i, 2 * k + 1, 2 * n] = v
                z[i, 2 * k + 1, 2 * n + 1] = v
    return z


@loop()
def flip_last(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty_like(x)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                z[i, k, n] = x[i, k, c - 1 - n]
    return z


@loop()
def rolled(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty_like(x)
    for i in range(a):
        for k in range(b):
            for n in range(c - 1):
                z[i, k, n] = x[i, k, n + 1]
            z[i, k, c - 1] = x[i, k, 0]
    return z


@loop()
def twice_last(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty((a, b, 2 * c), x.dtype)
    for i in range(a):
        for k in range(b):
            for n in range(c):
                v = x[i, k, n]
                z[i, k, n] = v
                z[i, k, c + n] = v
    return z


@loop()
def steps_middle(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty((a, b - 1, c), x.dtype)
    for i in range(a):
        for k in range(b - 1):
            for n in range(c):
                z[i, k, n] = x[i, k + 1, n] - x[i, k, n]
    return z


@loop()
def argmax_last(x: Array) -> Any:
    a, b, c = x.shape
    z = np.empty((a, b), np.int64)
    for i in range(a):
        for k in range(b):
            m = 0
            for n in range(1, c):
                if x[i, k, n] > x[i, k, m]:
                    m = n
            z[i, k] = m
    return z


@loop(any_order=True)
def norms(x: Array) -> Any:
    a, b, c = x.shape
    z = np.zeros((a, b), x.dtype)
    for i in range(a):
        for k in range(b):
            s = x.dtype.type(0)
            for n in range(c):
                s += x[i, k, n] * x[i, k, n]
            z[i, k] = np.sqrt(s)
    return z


@loop()
def where(x: Array, v: Array) -> Any:
    z = np.empty_like(x)
    for i in range(x.size):
        z[i] = x[i] if x[i] > 50 else v[i]
    return z


@loop(any_order=True)
def dot(x: Array, v: Array) -> Any:
    s = x.dtype.type(0)
    for i in range(x.size):
        s = x.dtype.type(s + x.dtype.type(x[i] * v[i]))
    return s


@loop()
def polynomial(x: Array) -> Any:
    t = x.dtype.type
    z = np.empty_like(x)
    for i in range(x.size):
        z[i] = t(t(t(t(t(t(t(t(3) * x[i]) + t(2)) * x[i]) + t(7)) * x[i]) + t(1)) * x[i]) + t(4)
    return z


@loop()
def buckets(x: Array) -> Any:
    z = np.zeros(100, np.int32)
    for i in range(x.size):
        z[np.int64(x[i])] += 1
    return z


@loop()
def changes(x: Array) -> Any:
    k = 0
    for i in range(1, x.size):
        k += x[i] != x[i - 1]
    return k


@loop()
def ranks(x: Array, v: Array) -> Any:
    z = np.empty(x.size, np.int64)
    for i in range(x.size):
        k = 0
        for j in range(16):
            k += v[j] < x[i]
        z[i] = k
    return z


@loop()
def between(x: Array, v: Array) -> Any:
    z = np.empty_like(x)
    for i in range(x.size):
        j = np.int64(x[i])
        z[i] = v[j] + (x[i] - x.dtype.type(j)) * (v[j + 1] - v[j])
    return z


@loop()
def ones(x: Array) -> Any:
    z = np.empty(x.size, np.int32)
    for i in range(x.size):
        w, k = np.uint64(x[i]), 0
        while w:
            w &= w - np.uint64(1)
            k += 1
        z[i] = k
    return z


@loop(any_order=True)
def row_dots(x: Array, y: Array) -> Any:
    n, m = x.shape
    z = np.empty(n, x.dtype)
    for i in range(n):
        s = x.dtype.type(0)
        for j in range(m):
            s = x.dtype.type(s + x.dtype.type(x[i, j] * y[i, j]))
        z[i] = s
    return z


@loop()
def add_outer(x: Array, u: Array, v: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        for j in range(m):
            z[i, j] = x[i, j] + u[i] * v[j]
    return z


@loop(any_order=True)
def log_sum_exp(x: Array) -> Any:
    n, m = x.shape
    z = np.empty(n, x.dtype)
    for i in range(n):
        t = x[i, 0]
        for j in range(m):
            t = max(t, x[i, j])
        s = x.dtype.type(0)
        for j in range(m):
            s += np.exp(x[i, j] - t)
        z[i] = t + np.log(s)
    return z


@loop(any_order=True)
def cosines(x: Array, v: Array) -> Any:
    n, m = x.shape
    z = np.empty(n, x.dtype)
    c = x.dtype.type(0)
    for j in range(m):
        c += v[j] * v[j]
    for i in range(n):
        a, b = x.dtype.type(0), x.dtype.type(0)
        for j in range(m):
            a += x[i, j] * v[j]
            b += x[i, j] * x[i, j]
        z[i] = a / np.sqrt(b * c)
    return z


@loop(any_order=True)
def normalised(x: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    for i in range(n):
        s = x.dtype.type(0)
        for j in range(m):
            s += x[i, j] * x[i, j]
        s = x.dtype.type(np.sqrt(s))
        for j in range(m):
            z[i, j] = x[i, j] / s
    return z


@loop()
def standardised(x: Array) -> Any:
    n, m = x.shape
    z = np.empty_like(x)
    a, b = np.zeros(m, x.dtype), np.zeros(m, x.dtype)
    for i in range(n):
        for j in range(m):
            a[j] += x[i, j]
    a /= x.dtype.type(n)
    for i in range(n):
        for j in range(m):
            z[i, j] = x[i, j] - a[j]
            b[j] += z[i, j] * z[i, j]
    b = np.sqrt(b / x.dtype.type(n) + x.dtype.type(1))
    for i in range(n):
        for j in range(m):
            z[i, j] /= b[j]
    return z
