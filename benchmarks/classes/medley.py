"""Kernels of unlike fields: loops for one thread, with the rounding of each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def rotary(cos: Array, sin: Array, xs: Array) -> Any:
    t, h, d2 = xs.shape
    d = d2 // 2
    out = np.empty_like(xs)
    for i in range(t):
        for k in range(h):
            for j in range(d):
                a, b = xs[i, k, j], xs[i, k, d + j]
                out[i, k, j] = a * cos[i, j] - b * sin[i, j]
                out[i, k, d + j] = a * sin[i, j] + b * cos[i, j]
    return out


@numba.njit
def delta_decode(first: int, deltas: Array) -> Any:
    out = np.empty(len(deltas), np.int64)
    v = first
    for i in range(len(deltas)):
        d = np.int64(deltas[i])
        v += (d >> 1) ^ -(d & 1)
        out[i] = v
    return out


@numba.njit
def overlap_add(hop: int, frames: Array) -> Any:
    t, k = frames.shape
    out = np.zeros((t - 1) * hop + k, frames.dtype)
    for i in range(t):
        for j in range(k):
            out[i * hop + j] += frames[i, j]
    return out


@numba.njit
def group_stats(k: int, keys: Array, xs: Array) -> Any:
    sums, counts = np.zeros(k), np.zeros(k, np.int32)
    lows, highs = np.full(k, np.inf), np.full(k, -np.inf)
    for i in range(len(xs)):
        g = keys[i]
        sums[g] += xs[i]
        counts[g] += 1
        lows[g] = min(lows[g], xs[i])
        highs[g] = max(highs[g], xs[i])
    return sums / counts, lows, highs


@numba.njit
def varint_decode(data: Array) -> Any:
    out, k = np.empty(len(data), np.uint32), 0
    v, shift = np.uint32(0), np.uint32(0)
    for c in data:
        v |= np.uint32(np.uint32(c & 127) << shift)
        if c < 128:
            out[k] = v
            k += 1
            v, shift = np.uint32(0), np.uint32(0)
        else:
            shift = np.uint32(shift + 7)
    return out[:k].copy()


@numba.njit
def heat3d(steps: int, c: Array, start: Array) -> Any:
    d, h, w = start.shape
    u, out = start.copy(), start.copy()
    for _ in range(steps):
        for k in range(1, d - 1):
            for i in range(1, h - 1):
                for j in range(1, w - 1):
                    m = u[k, i, j]
                    out[k, i, j] = m + c[k, i, j] * (
                        u[k - 1, i, j]
                        + u[k + 1, i, j]
                        + u[k, i - 1, j]
                        + u[k, i + 1, j]
                        + u[k, i, j - 1]
                        + u[k, i, j + 1]
                        - np.float32(6) * m
                    )
        u, out = out, u
    return u


@numba.njit
def legendre(count: int, xs: Array) -> Any:
    n = len(xs)
    out = np.empty((count, n))
    for i in range(n):
        out[0, i], out[1, i] = 1, xs[i]
    for k in range(2, count):
        for i in range(n):
            out[k, i] = ((2 * k - 1) * xs[i] * out[k - 1, i] - (k - 1) * out[k - 2, i]) / k
    return out


@numba.njit
def avg_pool(xs: Array) -> Any:
    c, h, w = xs.shape
    out = np.empty((c, h // 2, w // 2), xs.dtype)
    for k in range(c):
        for i in range(h // 2):
            for j in range(w // 2):
                s = (
                    xs[k, 2 * i, 2 * j]
                    + xs[k, 2 * i, 2 * j + 1]
                    + (xs[k, 2 * i + 1, 2 * j] + xs[k, 2 * i + 1, 2 * j + 1])
                )
                out[k, i, j] = s / np.float32(4)
    return out


@numba.njit
def paths(drift: float, steps: Array) -> Array:
    out = np.empty_like(steps)
    for i in range(steps.shape[0]):
        s = 0.0
        for j in range(steps.shape[1]):
            s += steps[i, j] + drift
            out[i, j] = np.exp(s)
    return out


@numba.njit
def closed(xss: Array) -> Array:
    out = np.zeros_like(xss)
    for i in range(xss.shape[0]):
        for j in range(1, xss.shape[1] - 1):
            out[i, j] = np.float32(0.5) * (xss[i, j - 1] + xss[i, j + 1])
    return out


@numba.njit
def bits(data: Array) -> Array:
    out = np.empty(8 * len(data), np.uint8)
    for i in range(len(data)):
        for j in range(8):
            out[8 * i + j] = (data[i] >> j) & 1
    return out


@numba.njit
def flags(data: Array) -> Array:
    out = np.empty(len(data) // 8, np.uint8)
    for i in range(len(out)):
        byte = 0
        for j in range(8):
            byte |= data[8 * i + j] << j
        out[i] = byte
    return out


@numba.njit
def hourly(means: Array, xs: Array) -> Array:
    out, k = np.empty_like(xs), 0
    for i in range(len(xs)):
        out[i] = xs[i] - means[k]
        k = k + 1 if k < 23 else 0
    return out


@numba.njit
def bag(table: Array, ids: Array) -> Array:
    out = np.zeros((len(ids), table.shape[1]), table.dtype)
    for i in range(len(ids)):
        for j in range(ids.shape[1]):
            for k in range(table.shape[1]):
                out[i, k] += table[ids[i, j], k]
        for k in range(table.shape[1]):
            out[i, k] /= np.float32(ids.shape[1])
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        rotary, delta_decode, overlap_add, group_stats, varint_decode, heat3d, legendre, avg_pool, paths, closed,
        bits, flags, hourly, bag,
    )
}  # fmt: skip


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, s = np.random.default_rng(0), 8 if large else 1
    f32, n, q = np.float32, 4096 * s * s, 4 if large else 1
    parts, last = random.integers(0, 128, (n // 4, 3)), random.integers(1, 4, n // 4)
    encoded = np.concatenate([np.append(row[: k - 1] | 128, row[k - 1]) for row, k in zip(parts, last, strict=True)])
    keys = np.concatenate([np.arange(100 * s), random.integers(0, 100 * s, n)]).astype(np.int32)
    grid = (12 * q, 16 * q, 20 * q)
    angles = random.random((2, 16 * s, 32), f32)
    return {
        "rotary": (*angles, random.random((16 * s, 8 * s, 64), f32)),
        "delta_decode": (1000, random.integers(0, 1000, n).astype(np.uint32)),
        "overlap_add": (64 * s, random.random((16 * s, 256 * s), f32)),
        "group_stats": (100 * s, keys, random.random(len(keys))),
        "varint_decode": (encoded.astype(np.uint8),),
        "heat3d": (4, random.random(grid, f32) * f32(0.1), random.random(grid, f32)),
        "legendre": (20, random.random(n // 8) * 2 - 1),
        "avg_pool": (random.random((8, 48 * s, 48 * s), f32),),
        "paths": (0.001, random.random((8 * s, 500 * s)) * 0.1 - 0.05),
        "closed": (random.random((64 * s, 64 * s), f32),),
        "bits": (random.integers(0, 256, n // 8).astype(np.uint8),),
        "flags": (random.random(n) < 0.5,),
        "hourly": (random.random(24), random.random(n)),
        "bag": (random.random((100 * s, 32), f32), random.integers(0, 100 * s, (10 * s, 20 * s))),
    }
