"""Histograms with several updates for a point, and over flattened maps: loops that update the bins in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def deposit(n: int, xs: Array, qs: Array) -> Any:
    out = np.zeros(n)
    for k in range(len(xs)):
        i = np.int64(np.floor(xs[k]))
        f = xs[k] - i
        if 0 <= i < n:
            out[i] += qs[k] * (1 - f)
        if 0 <= i + 1 < n:
            out[i + 1] += qs[k] * f
    return out


@numba.njit
def hough(rhos: int, cos: Array, sin: Array, ys: Array, xs: Array) -> Any:
    t = len(cos)
    out = np.zeros((t, rhos), np.int32)
    for p in range(len(ys)):
        for k in range(t):
            r = np.int64(xs[p] * cos[k] + ys[p] * sin[k]) + rhos // 2
            if 0 <= r < rhos:
                out[k, r] += 1
    return out


@numba.njit
def upsample_grad(h: int, w: int, grad: Array) -> Any:
    m, n = grad.shape
    out = np.zeros((h, w), np.float32)
    sy, sx = np.float32(h) / np.float32(m), np.float32(w) / np.float32(n)
    one = np.float32(1)
    for i in range(m):
        for j in range(n):
            y, x = np.float32(i) * sy, np.float32(j) * sx
            p, q = np.int64(y), np.int64(x)
            a, b, g = y - np.float32(p), x - np.float32(q), grad[i, j]
            p1, q1 = min(p + 1, h - 1), min(q + 1, w - 1)
            out[p, q] += g * (one - a) * (one - b)
            out[p, q1] += g * (one - a) * b
            out[p1, q] += g * a * (one - b)
            out[p1, q1] += g * a * b
    return out


PEERS: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (deposit, hough, upsample_grad)}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, f32 = np.random.default_rng(0), np.float32
    n, side = (1 << 20, 512) if large else (1 << 12, 48)
    angles = (np.arange(90) * np.pi / 90).astype(f32)
    points = (random.random((2, n // 90), f32) * f32(side / 2)).astype(f32)
    return {
        "deposit": (8 * side, random.random(n) * (8 * side - 1), random.random(n)),
        "hough": (725 if large else 181, np.cos(angles), np.sin(angles), *points),
        "upsample_grad": (side, side, random.random((2 * side, 2 * side), f32)),
    }
