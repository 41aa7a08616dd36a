"""Kernels of several trades, as one would write them in Numba or NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def layer_norm(gain: Array, bias: Array, xs: Array) -> Array:
    (n, d), out = xs.shape, np.empty_like(xs)
    for i in range(n):
        mean = np.float32(0)
        for j in range(d):
            mean += xs[i, j]
        mean /= np.float32(d)
        variance = np.float32(0)
        for j in range(d):
            variance += (xs[i, j] - mean) ** 2
        root = np.sqrt(variance / np.float32(d) + np.float32(1e-5))
        for j in range(d):
            out[i, j] = (xs[i, j] - mean) / root * gain[j] + bias[j]
    return out


@numba.njit
def deviations(w: int, xs: Array) -> Array:
    out = np.empty(len(xs) - w + 1, np.float32)
    for i in range(len(out)):
        mean = np.float32(0)
        for k in range(w):
            mean += xs[i + k]
        mean /= np.float32(w)
        total = np.float32(0)
        for k in range(w):
            total += (xs[i + k] - mean) ** 2
        out[i] = np.sqrt(total / np.float32(w))
    return out


@numba.njit
def pool(a: Array) -> Array:
    c, h, w = a.shape
    out = np.empty((c, h // 2, w // 2), a.dtype)
    for k in range(c):
        for i in range(h // 2):
            for j in range(w // 2):
                above = max(a[k, 2 * i, 2 * j], a[k, 2 * i, 2 * j + 1])
                out[k, i, j] = max(above, max(a[k, 2 * i + 1, 2 * j], a[k, 2 * i + 1, 2 * j + 1]))
    return out


def erode(a: Array) -> Array:
    out = np.zeros_like(a)
    out[1:-1, 1:-1] = a[1:-1, 1:-1] & a[:-2, 1:-1] & a[2:, 1:-1] & a[1:-1, :-2] & a[1:-1, 2:]
    return out


@numba.njit
def gauss_seidel(rounds: int, a: Array, b: Array) -> Array:
    n, x = len(b), np.zeros(len(b))
    for _ in range(rounds):
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += a[i, j] * x[j]
            x[i] = (b[i] - (s - a[i, i] * x[i])) / a[i, i]
    return x


PEERS: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (layer_norm, deviations, pool, erode, gauss_seidel)}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones or large ones."""
    random = np.random.default_rng(0)
    n = 320 if large else 40
    return {
        "layer_norm": (*(random.random(shape, np.float32) for shape in (96, 96, (5 * n, 96))),),
        "deviations": (24, random.random(50 * n, np.float32)),
        "pool": (random.random((8, n, n - n // 8), np.float32),),
        "erode": (random.random((2 * n, 3 * n + 1)) > 0.1,),
        "gauss_seidel": (10, random.random((n, n)) + n * np.eye(n), random.random(n)),
    }
