"""Windows as rows, parts of arrays one behind the other, small results, interiors: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def patches(image: Array) -> Any:
    h, w, c = image.shape
    out = np.empty(((h - 2) * (w - 2), 9 * c), image.dtype)
    for i in range(h - 2):
        for j in range(w - 2):
            q = 0
            for a in range(3):
                for b in range(3):
                    for k in range(c):
                        out[i * (w - 2) + j, q] = image[i + a, j + b, k]
                        q += 1
    return out


@numba.njit
def planes(image: Array) -> Any:
    c, h, w = image.shape
    out = np.empty(((h - 2) * (w - 2), 9 * c), image.dtype)
    for i in range(h - 2):
        for j in range(w - 2):
            q = 0
            for k in range(c):
                for a in range(3):
                    for b in range(3):
                        out[i * (w - 2) + j, q] = image[k, i + a, j + b]
                        q += 1
    return out


@numba.njit
def shifted(image: Array) -> Any:
    c, h, w = image.shape
    out = np.empty((9 * c, (h - 2) * (w - 2)), image.dtype)
    for k in range(c):
        for a in range(3):
            for b in range(3):
                for i in range(h - 2):
                    for j in range(w - 2):
                        out[k * 9 + a * 3 + b, i * (w - 2) + j] = image[k, i + a, j + b]
    return out


@numba.njit
def largest(xs: Array) -> Any:
    c, h, w = xs.shape
    out = np.empty((c, h // 2, w // 2), xs.dtype)
    for k in range(c):
        for i in range(h // 2):
            for j in range(w // 2):
                upper = max(xs[k, 2 * i, 2 * j], xs[k, 2 * i, 2 * j + 1])
                out[k, i, j] = max(upper, max(xs[k, 2 * i + 1, 2 * j], xs[k, 2 * i + 1, 2 * j + 1]))
    return out


@numba.njit
def depths(xs: Array) -> Any:
    h, w, c = xs.shape
    out = np.empty((h // 2, w // 2, 4 * c), xs.dtype)
    for i in range(h // 2):
        for j in range(w // 2):
            for a in range(2):
                for b in range(2):
                    for k in range(c):
                        out[i, j, (a * 2 + b) * c + k] = xs[2 * i + a, 2 * j + b, k]
    return out


@numba.njit
def lags(xs: Array) -> Any:
    n = len(xs) - 7
    out = np.empty((8, n), xs.dtype)
    for k in range(8):
        for i in range(n):
            out[k, i] = xs[i + k]
    return out


@numba.njit
def crops(images: Array) -> Any:
    k, h, w = images.shape
    out = np.empty((k, (h - 2) * (w - 2)), images.dtype)
    for q in range(k):
        for i in range(h - 2):
            for j in range(w - 2):
                out[q, i * (w - 2) + j] = images[q, i + 1, j + 1]
    return out


@numba.njit
def tensors(p: Array) -> Any:
    c, h, w = p.shape
    out = np.empty((h - 1, w - 1, c, 2, 2), p.dtype)
    for i in range(h - 1):
        for j in range(w - 1):
            for k in range(c):
                x, y = p[k, i + 1, j] - p[k, i, j], p[k, i, j + 1] - p[k, i, j]
                out[i, j, k, 0, 0], out[i, j, k, 0, 1] = x * x, x * y
                out[i, j, k, 1, 0], out[i, j, k, 1, 1] = x * y, y * y
    return out


@numba.njit
def states(places: Array, speeds: Array) -> Any:
    k, n = places.shape
    out = np.empty((n, k, 2), places.dtype)
    for i in range(n):
        for s in range(k):
            out[i, s, 0] = places[s, i] + 0.1 * speeds[s, i]
            out[i, s, 1] = speeds[s, i] * 0.9
    return out


@numba.njit
def heat(steps: int, start: Array) -> Any:
    u, v = start.copy(), start.copy()
    h, w = u.shape
    for _ in range(steps):
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        u, v = v, u
    return u


@numba.njit
def wave(steps: int, start: Array) -> Any:
    u, v = start.copy(), start.copy()
    for _ in range(steps):
        for i in range(2, len(u) - 2):
            v[i] = (u[i - 2] + u[i + 2]) * 0.1 + (u[i - 1] + u[i + 1]) * 0.2 + u[i] * 0.4
        u, v = v, u
    return u


@numba.njit
def middle(a: int, b: int, c: int) -> Any:
    return max(min(a, b), min(max(a, b), c))


@numba.njit
def smooth(steps: int, start: Array) -> Any:
    u, v = start.copy(), start.copy()
    h, w = u.shape
    for _ in range(steps):
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                first = middle(u[i - 1, j], u[i, j - 1], u[i, j])
                v[i, j] = middle(first, middle(u[i, j + 1], u[i + 1, j], u[i, j]), u[i, j])
        u, v = v, u
    return u


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (patches, planes, shifted, largest, depths, lags, crops, tensors, states, heat, wave, smooth)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """Arguments by entry: what fits the second cache, or what does not."""
    rng = np.random.default_rng(1)
    n, k = (512, 16) if large else (64, 2)

    def floats(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "patches": (floats(n, n, 3),),
        "planes": (floats(3, n, n),),
        "shifted": (floats(3, n, n),),
        "largest": (floats(8 * k, n // 4, n // 4),),
        "depths": (floats(n, n, 3),),
        "lags": (rng.standard_normal(n * n),),
        "crops": (rng.integers(0, 99, (k, n, n), dtype=np.int32),),
        "tensors": (floats(3, n, n),),
        "states": (rng.standard_normal((3, n * k)), rng.standard_normal((3, n * k))),
        "heat": (5, rng.standard_normal((2 * n, 2 * n))),
        "wave": (10, rng.standard_normal(n * n)),
        "smooth": (5, rng.integers(0, 255, (2 * n, 2 * n), dtype=np.uint8)),
    }
