"""Points of a few numbers that are computed alike, and pairs of points: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def blurred(image: Array) -> Array:
    h, w, k = image.shape
    out = np.empty((h, w, k), np.float32)
    for i in range(h):
        for j in range(w):
            for c in range(k):
                s = np.float32(0)
                for y in range(-1, 2):
                    for x in range(-1, 2):
                        s += image[min(max(i + y, 0), h - 1), min(max(j + x, 0), w - 1), c]
                out[i, j, c] = s / np.float32(9)
    return out


@numba.njit
def sharpened(image: Array) -> Array:
    h, w, k = image.shape
    out = np.empty((h - 2, w - 2, k), np.uint8)
    for i in range(h - 2):
        for j in range(w - 2):
            for c in range(k):
                v = 5 * np.int32(image[i + 1, j + 1, c]) - image[i, j + 1, c] - image[i + 2, j + 1, c]
                out[i, j, c] = min(max(v - image[i + 1, j, c] - image[i + 1, j + 2, c], 0), 255)
    return out


@numba.njit
def cloth(n: int, k: float, g: float, now: Array, before: Array) -> Array:
    h, w, _ = now.shape
    p, q, r = now.copy(), before.copy(), np.empty_like(now)
    for _ in range(n):
        for i in range(h):
            for j in range(w):
                for c in range(3):
                    a, v = -g if c == 1 else np.float32(0), p[i, j, c]
                    if i > 0:
                        a += k * (p[i - 1, j, c] - v)
                    if i < h - 1:
                        a += k * (p[i + 1, j, c] - v)
                    if j > 0:
                        a += k * (p[i, j - 1, c] - v)
                    if j < w - 1:
                        a += k * (p[i, j + 1, c] - v)
                    moved = np.float32(1.99) * v - np.float32(0.99) * q[i, j, c] + a * np.float32(0.01)
                    r[i, j, c] = v if i == 0 else moved
        q, p, r = p, r, q
    return p


@numba.njit
def curvature(x: Array) -> Array:
    h, w, k = x.shape
    out = np.zeros((h, w, k), np.float32)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            for c in range(k):
                around = x[i - 1, j, c] + x[i + 1, j, c] + x[i, j - 1, c] + x[i, j + 1, c]
                out[i, j, c] = around - np.float32(4) * x[i, j, c]
    return out


def steps(path: Array) -> Array:
    return np.diff(path, axis=0)


@numba.njit
def inversions(x: Array) -> int:
    count = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] > x[j]:
                count += 1
    return count


@numba.njit
def side(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> float:
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


@numba.njit
def crossings(s: Array) -> int:
    count = 0
    for i in range(len(s)):
        ax, ay, bx, by = s[i, 0], s[i, 1], s[i, 2], s[i, 3]
        for j in range(i + 1, len(s)):
            cx, cy, dx, dy = s[j, 0], s[j, 1], s[j, 2], s[j, 3]
            if side(ax, ay, bx, by, cx, cy) * side(ax, ay, bx, by, dx, dy) < 0:
                count += side(cx, cy, dx, dy, ax, ay) * side(cx, cy, dx, dy, bx, by) < 0
    return count


PEERS: Mapping[str, Callable[..., Any]] = {
    "blurred": blurred,
    "sharpened": sharpened,
    "cloth": cloth,
    "curvature": curvature,
    "steps": steps,
    "inversions": inversions,
    "crossings": crossings,
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, f32, q = np.random.default_rng(0), np.float32, 8 if large else 1
    image = random.random((101 * q, 133 * q, 3), f32)
    fabric = random.random((31 * q, 33 * q, 3), f32)
    count = 4000 if large else 300
    return {
        "blurred": (image,),
        "sharpened": ((image * 255).astype(np.uint8),),
        "cloth": (10, f32(0.3), f32(0.1), fabric, fabric[::-1].copy()),
        "curvature": (image,),
        "steps": (image.reshape(-1, 3),),
        "inversions": (random.integers(0, 1000, count).astype(np.int32),),
        "crossings": (random.random((count, 4), f32),),
    }
