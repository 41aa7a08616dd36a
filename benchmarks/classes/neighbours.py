"""What stands beside an element, by conditions or in loops: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def utf8_check(b: Array) -> tuple[int, int]:
    characters, wrong = 0, 0
    for i in range(len(b)):
        c, need = b[i], False
        if i >= 1 and b[i - 1] >= 0xC0:
            need = True
        if i >= 2 and b[i - 2] >= 0xE0:
            need = True
        if i >= 3 and b[i - 3] >= 0xF0:
            need = True
        follows = c & 0xC0 == 0x80
        characters += not follows
        wrong += follows != need or c >= 0xF8
    return characters, wrong


@numba.njit
def spins(parity: int, table: Array, s: Array, u: Array) -> Array:
    h, w = s.shape
    out = s.copy()
    for i in range(h):
        for j in range(w):
            if (i + j) % 2 == parity:
                n = s[(i - 1) % h, j] + s[(i + 1) % h, j] + s[i, (j - 1) % w] + s[i, (j + 1) % w]
                if u[i, j] < table[(s[i, j] * n + 4) // 2]:
                    out[i, j] = -s[i, j]
    return out


@numba.njit
def patterns(x: Array) -> Array:
    h, w = x.shape
    out = np.zeros((h, w), np.uint8)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            c, v = x[i, j], 0
            v |= (x[i - 1, j - 1] >= c) << 0
            v |= (x[i - 1, j] >= c) << 1
            v |= (x[i - 1, j + 1] >= c) << 2
            v |= (x[i, j + 1] >= c) << 3
            v |= (x[i + 1, j + 1] >= c) << 4
            v |= (x[i + 1, j] >= c) << 5
            v |= (x[i + 1, j - 1] >= c) << 6
            v |= (x[i, j - 1] >= c) << 7
            out[i, j] = v
    return out


@numba.njit
def convolved(weights: Array, bias: Array, x: Array) -> Array:
    (channels, n), (outs, _, k) = x.shape, weights.shape
    y = np.empty((outs, n - k + 1), np.float32)
    for o in range(outs):
        y[o] = bias[o]
        for c in range(channels):
            for t in range(k):
                for i in range(n - k + 1):
                    y[o, i] += weights[o, c, t] * x[c, i + t]
        for i in range(n - k + 1):
            y[o, i] = max(y[o, i], np.float32(0))
    return y


@numba.njit
def densities(cells: int, start: Array, points: Array) -> Array:
    out = np.empty(len(points), np.float32)
    for i in range(len(points)):
        x, y, s = points[i, 0], points[i, 1], np.float32(0)
        for b in range(max(int(y) - 1, 0), min(int(y) + 2, cells)):
            for a in range(max(int(x) - 1, 0), min(int(x) + 2, cells)):
                for k in range(start[b * cells + a], start[b * cells + a + 1]):
                    t = np.float32(1) - (x - points[k, 0]) ** 2 - (y - points[k, 1]) ** 2
                    if t > 0:
                        s += t * t * t
        out[i] = s
    return out


@numba.njit
def boxes(r: int, sums: Array) -> Array:
    h, w = sums.shape
    out = np.empty((h, w), np.float32)
    for i in range(h):
        y1, y0 = min(h - 1, i + r), max(-1, i - r - 1)
        for j in range(w):
            x1, x0 = min(w - 1, j + r), max(-1, j - r - 1)
            total = sums[y1, x1]
            if y0 >= 0:
                total -= sums[y0, x1]
            if x0 >= 0:
                total -= sums[y1, x0]
            if y0 >= 0 and x0 >= 0:
                total += sums[y0, x0]
            out[i, j] = total / ((y1 - y0) * (x1 - x0))
    return out


@numba.njit
def smooth(r: int, xs: Array) -> Array:
    n, out = len(xs), np.empty_like(xs)
    for i in range(n):
        total = np.float32(0)
        for j in range(i - r, i + r + 1):
            total += xs[max(0, min(n - 1, j))]
        out[i] = total / np.float32(2 * r + 1)
    return out


@numba.njit
def highs(r: int, xs: Array) -> Array:
    n, out = len(xs), np.empty(len(xs), np.bool_)
    for i in range(n):
        high = True
        for j in range(max(0, i - r), min(n, i + r + 1)):
            if xs[j] > xs[i]:
                high = False
                break
        out[i] = high
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    "utf8_check": utf8_check,
    "spins": spins,
    "patterns": patterns,
    "convolved": convolved,
    "densities": densities,
    "boxes": boxes,
    "smooth": smooth,
    "highs": highs,
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, f32, q = np.random.default_rng(0), np.float32, 16 if large else 1
    text = "".join(random.choice(list("abcdefgh éü€漢😀 "), 40000 * q if large else 3000)).encode()
    bytes_ = np.frombuffer(text, np.uint8).copy()
    bytes_[random.integers(0, len(bytes_), len(bytes_) // 50)] = 0x85
    spin = (random.integers(0, 2, (64 * q, 64 * q)) * 2 - 1).astype(np.int8)
    channels, cells, count = (32, 100, 40000) if large else (8, 20, 1500)
    points = random.random((count, 2), f32) * f32(cells - 0.01)
    numbers = points[:, 1].astype(np.int64) * cells + points[:, 0].astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    start = np.searchsorted(numbers[order], np.arange(cells * cells + 1)).astype(np.int32)
    return {
        "utf8_check": (bytes_,),
        "spins": (0, np.array([1, 1, 1, 0.2, 0.05], f32), spin, random.random(spin.shape, f32)),
        "patterns": (random.integers(0, 256, (100 * q, 110 * q)).astype(np.uint8),),
        "convolved": (
            random.standard_normal((channels, channels, 5), f32),
            random.standard_normal(channels, f32),
            random.standard_normal((channels, 500 * q), f32),
        ),
        "densities": (cells, start, points[order].copy()),
        "boxes": (3, random.random((50 * q, 60 * q)).cumsum(0).cumsum(1)),
        "smooth": (4, random.random(4000 * q * q, f32)),
        "highs": (4, random.random(2000 * q * q, f32)),
    }
