"""Few channels, short rows, sums with holes and columns: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def echo(d: int, g: float, x: Array) -> Array:
    y = x.copy()
    for c in range(x.shape[0]):
        for i in range(d, x.shape[1]):
            y[c, i] += g * y[c, i - d]
    return y


@numba.njit
def volatility(k: float, x: Array) -> Array:
    y = np.empty_like(x)
    for a in range(x.shape[0]):
        v = x[a, 0] * x[a, 0]
        for i in range(x.shape[1]):
            v = k * v + (1 - k) * x[a, i] * x[a, i]
            y[a, i] = np.sqrt(v)
    return y


@numba.njit
def mixed(gains: Array, x: Array) -> Array:
    c, n = x.shape
    y = np.empty((n, len(gains)), np.int16)
    for i in range(n):
        for q in range(len(gains)):
            s = np.float32(0)
            for p in range(c):
                s += gains[q, p] * np.float32(x[p, i])
            y[i, q] = np.int16(max(np.float32(-32768), min(np.float32(32767), s)))
    return y


@numba.njit
def holes(d: int, w: Array, x: Array) -> Array:
    c, k = w.shape
    y = np.zeros(x.shape[1] - (k - 1) * d, x.dtype)
    for i in range(c):
        for p in range(k):
            for j in range(len(y)):
                y[j] += w[i, p] * x[i, j + p * d]
    return y


@numba.njit
def projected(m: Array, points: Array) -> Array:
    y = np.empty_like(points)
    for i in range(len(points)):
        a, b, c = points[i, 0], points[i, 1], points[i, 2]
        w = m[3, 0] * a + m[3, 1] * b + m[3, 2] * c + m[3, 3]
        for j in range(3):
            y[i, j] = (m[j, 0] * a + m[j, 1] * b + m[j, 2] * c + m[j, 3]) / w
    return y


@numba.njit
def layer(w: Array, bias: Array, x: Array) -> Array:
    y = np.empty((len(x), len(w)), x.dtype)
    for i in range(len(x)):
        for j in range(len(w)):
            s = bias[j]
            for k in range(x.shape[1]):
                s += w[j, k] * x[i, k]
            y[i, j] = max(s, np.float32(0))
    return y


@numba.njit
def codebook(codes: Array, x: Array) -> Array:
    y = np.empty((len(x), len(codes)), np.int32)
    for i in range(len(x)):
        for j in range(len(codes)):
            s = 0
            for k in range(x.shape[1]):
                s += abs(np.int32(x[i, k]) - np.int32(codes[j, k]))
            y[i, j] = s
    return y


@numba.njit
def columns(k: float, x: Array) -> Array:
    y = np.empty_like(x)
    s = np.zeros(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[j] = k * s[j] + x[i, j]
            y[i, j] = s[j]
    return y


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (echo, volatility, mixed, holes, projected, layer, codebook, columns)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n, f32 = np.random.default_rng(0), 1 << (18 if large else 11), np.float32

    def floats(*shape: int) -> Array:
        return random.standard_normal(shape).astype(f32)

    def shorts(*shape: int) -> Array:
        return random.integers(-9999, 9999, shape).astype(np.int16)

    return {
        "echo": (331, f32(0.7), floats(2, n)),
        "volatility": (0.94, random.standard_normal((1, n))),
        "mixed": (floats(2, 6) / f32(9), shorts(6, n)),
        "holes": (7, floats(12, 5), floats(12, n)),
        "projected": (floats(4, 4), floats(n, 3)),
        "layer": (floats(8, 6), floats(8), floats(n, 6)),
        "codebook": (shorts(12, 10), shorts(n, 10)),
        "columns": (f32(0.9), floats(40 if large else 32, n // 64)),
    }
