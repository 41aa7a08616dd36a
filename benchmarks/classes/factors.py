"""One matrix or a few, factorised and solved: loops for one thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def by_rows(a: Array) -> Any:
    a, n = a.copy(), len(a)
    for k in range(n):
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k] = f
            for j in range(k + 1, n):
                a[i, j] -= f * a[k, j]
    return a


def of_each(f: Any) -> Any:
    """`f` of each matrix of a batch."""

    @numba.njit
    def run(a: Array) -> Any:
        out = np.empty_like(a)
        for q in range(len(a)):
            out[q] = f(a[q])
        return out

    return run


@numba.njit
def crout(a: Array) -> Any:
    n = len(a)
    out = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= out[i, k] * out[j, k]
            out[i, j] = math.sqrt(s) if i == j else s / out[j, j]
    return out


@numba.njit
def orthogonal(vs: Array) -> Any:
    q, n = vs.copy(), len(vs)
    for k in range(n):
        for j in range(k):
            d = 0.0
            for c in range(n):
                d += q[k, c] * q[j, c]
            for c in range(n):
                q[k, c] -= d * q[j, c]
        s = 0.0
        for c in range(n):
            s += q[k, c] * q[k, c]
        s = math.sqrt(s)
        for c in range(n):
            q[k, c] /= s
    return q


@numba.njit
def pivots(a: Array, b: Array) -> Any:
    a, b, n = a.copy(), b.copy(), len(a)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        for j in range(n):
            a[k, j], a[p, j] = a[p, j], a[k, j]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


@numba.njit
def forward(low: Array, bs: Array) -> Any:
    xs = bs.copy()
    n, m = bs.shape
    for i in range(n):
        for j in range(i):
            f = low[i, j]
            for c in range(m):
                xs[i, c] -= f * xs[j, c]
        for c in range(m):
            xs[i, c] /= low[i, i]
    return xs


@numba.njit
def toeplitz(r: Array) -> Any:
    n = len(r)
    y, z = np.zeros(n), np.zeros(n)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta *= 1 - alpha * alpha
        s = r[k]
        for i in range(k):
            s += r[k - 1 - i] * y[i]
        alpha = -s / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - 1 - i]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


@numba.njit
def triangle(a: Array) -> Any:
    a, n = a.copy(), len(a)
    v, w = np.zeros(n), np.zeros(n)
    for k in range(n - 1):
        s = 0.0
        for i in range(k, n):
            s += a[i, k] * a[i, k]
        s = math.sqrt(s)
        alpha = -s if a[k, k] > 0 else s
        vv = 0.0
        for i in range(k, n):
            v[i] = a[i, k] - (alpha if i == k else 0.0)
            vv += v[i] * v[i]
        for j in range(k, n):
            w[j] = 0.0
        for i in range(k, n):
            for j in range(k, n):
                w[j] += v[i] * a[i, j]
        for j in range(k, n):
            w[j] *= 2 / vv
        for i in range(k, n):
            for j in range(k, n):
                a[i, j] -= v[i] * w[j]
    return a


@numba.njit
def ldl(a: Array) -> Any:
    a, n = a.copy(), len(a)
    v = np.zeros(n)
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            v[k] = a[j, k] * a[k, k]
            s -= a[j, k] * v[k]
        a[j, j] = s
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * v[k]
            a[i, j] = t / s
    return a


FUNCTIONS = (by_rows, crout, orthogonal, pivots, forward, toeplitz, ldl)
PEERS: Mapping[str, Callable[..., Any]] = {
    "left": crout,
    "few": of_each(by_rows),
    "reflections": of_each(triangle),
    **{f.__name__: f for f in FUNCTIONS},
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry: matrices of 64 rows, or of 256, of one entry 512."""
    random, n = np.random.default_rng(0), 256 if large else 64
    square = random.standard_normal((n, n))
    good = square @ square.T / n + np.eye(n)
    wide = np.tile(good, (2, 2)) + np.eye(2 * n) if large else good
    several = np.stack([good + k * np.eye(n) for k in range(4)])
    return {
        "by_rows": (good,),
        "few": (several,),
        "crout": (good,),
        "left": (good,),
        "orthogonal": (square,),
        "pivots": (square, random.standard_normal(n)),
        "forward": (np.tril(good), random.standard_normal((n, n))),
        "toeplitz": (0.5 ** np.arange(1, n + 1),),
        "reflections": (several,),
        "ldl": (wide,),
    }
