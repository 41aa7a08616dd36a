"""Graphs, sweeps, images, scans of events, as one would write them in Numba or NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F = np.float32


@numba.njit
def since(events: Array) -> Array:
    out, last = np.empty(len(events), np.int64), -1
    for i in range(len(events)):
        if events[i]:
            last = i
        out[i] = i - last
    return out


@numba.njit
def three_nearest(xs: Array, ys: Array, qx: Array, qy: Array) -> Array:
    out = np.empty((len(qx), 3), np.float32)
    for q in range(len(qx)):
        a = b = c = F(np.inf)
        for k in range(len(xs)):
            dx, dy = xs[k] - qx[q], ys[k] - qy[q]
            d = dx * dx + dy * dy
            if d < c:
                if d < a:
                    a, b, c = d, a, b
                elif d < b:
                    b, c = d, b
                else:
                    c = d
        out[q, 0], out[q, 1], out[q, 2] = a, b, c
    return out


@numba.njit
def components(n: int, rounds: int, from_: Array, to: Array) -> Array:
    labels = np.arange(n)
    for _ in range(rounds):
        new = labels.copy()
        for k in range(len(from_)):
            a, b = from_[k], to[k]
            new[a] = min(new[a], labels[b])
            new[b] = min(new[b], labels[a])
        labels = new
    return labels


@numba.njit(fastmath=True)
def trapezoids(xs: Array, tables: Array) -> Array:
    out = np.empty(len(tables))
    for k in range(len(tables)):
        total = 0.0
        for i in range(len(xs) - 1):
            total += (xs[i + 1] - xs[i]) * (tables[k, i] + tables[k, i + 1]) / 2
        out[k] = total
    return out


@numba.njit
def bayer(table: Array, image: Array) -> Array:
    h, w = image.shape
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            out[i, j] = 255 if image[i, j] > table[i & 3, j & 3] else 0
    return out


@numba.njit
def floyd(given: Array) -> Array:
    image = given.copy()
    h, w = image.shape
    for i in range(h - 1):
        for j in range(1, w - 1):
            x = image[i, j]
            y = F(0) if x < F(0.5) else F(1)
            e = (x - y) / F(16)
            image[i, j] = y
            image[i, j + 1] += F(7) * e
            image[i + 1, j - 1] += F(3) * e
            image[i + 1, j] += F(5) * e
            image[i + 1, j + 1] += e
    return image


@numba.njit
def longest_line(text: Array) -> int:
    best = here = 0
    for c in text:
        here = 0 if c == 10 else here + 1
        best = max(best, here)
    return best


def pad(k: int, image: Array) -> Array:
    h, w = image.shape
    out = np.zeros((h + 2 * k, w + 2 * k), image.dtype)
    out[k : h + k, k : w + k] = image
    return out


def turn_right(image: Array) -> Array:
    return np.ascontiguousarray(image[::-1].T)


@numba.njit
def bellman(n: int, rounds: int, from_: Array, to: Array, cost: Array) -> Array:
    dist = np.full(n, np.inf, np.float32)
    dist[0] = 0
    for _ in range(rounds):
        new = dist.copy()
        for k in range(len(from_)):
            d = dist[from_[k]] + cost[k]
            if d < new[to[k]]:
                new[to[k]] = d
        dist = new
    return dist


@numba.njit(fastmath=True)
def forward(lower: Array, b: Array) -> Array:
    n, x = len(b), np.zeros(len(b))
    for i in range(n):
        s = 0.0
        for j in range(i):
            s += lower[i, j] * x[j]
        x[i] = (b[i] - s) / lower[i, i]
    return x


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        components, bellman, floyd, forward, turn_right, pad, longest_line, since, trapezoids, bayer, three_nearest,
    )
}  # fmt: skip


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, s = np.random.default_rng(0), 8 if large else 1
    n = 4096 * s * s

    def floats(*shape: int) -> Array:
        return random.random(shape, np.float32)

    def octets(*shape: int) -> Array:
        return random.integers(0, 256, shape).astype(np.uint8)

    edges = random.integers(0, n // 8, (2, n))
    text = random.integers(32, 123, n).astype(np.uint8)
    text[random.random(n) < 0.02] = 10
    return {
        "since": (random.random(n) < 0.1,),
        "three_nearest": (*(floats(k * s) for k in (256, 256, 64, 64)),),
        "components": (n // 8, 3, *edges),
        "trapezoids": (np.sort(random.random(100)), random.random((n // 100, 100))),
        "bayer": (octets(4, 4), octets(64 * s, 64 * s)),
        "floyd": (floats(48 * s, 64 * s),),
        "longest_line": (text,),
        "pad": (3, floats(64 * s, 64 * s)),
        "turn_right": (octets(60 * s, 70 * s),),
        "bellman": (n // 8, 3, *edges.astype(np.int32), floats(n)),
        "forward": (random.random((64 * s, 64 * s)) + 64 * s * np.eye(64 * s), random.random(64 * s)),
    }
