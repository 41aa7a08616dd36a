"""Rows that are repeated, filled, taken apart and put together: loops that write one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def windows(k: int, image: Array) -> Any:
    h, w = image.shape
    m, n = h - k + 1, w - k + 1
    out = np.empty((m * n, k * k), image.dtype)
    for i in range(m):
        for j in range(n):
            for a in range(k):
                for b in range(k):
                    out[i * n + j, a * k + b] = image[i + a, j + b]
    return out


@numba.njit
def patches(image: Array) -> Any:
    return windows(3, image)


@numba.njit
def one_hot(k: int, labels: Array) -> Any:
    out = np.zeros((len(labels), k), np.float32)
    for i in range(len(labels)):
        out[i, labels[i]] = 1
    return out


@numba.njit
def repeated(m: int, xs: Array) -> Any:
    out = np.empty(len(xs) * m, xs.dtype)
    for i in range(len(xs)):
        for j in range(m):
            out[i * m + j] = xs[i]
    return out


@numba.njit
def enlarged(s: int, image: Array) -> Any:
    h, w = image.shape
    out = np.empty((h * s, w * s), image.dtype)
    for i in range(h):
        for a in range(s):
            for j in range(w):
                for b in range(s):
                    out[i * s + a, j * s + b] = image[i, j]
    return out


@numba.njit
def products(xs: Array, ys: Array) -> Any:
    n, m = len(xs), len(ys)
    out = np.empty(n * m, xs.dtype)
    for i in range(n):
        for j in range(m):
            out[i * m + j] = xs[i] * ys[j]
    return out


@numba.njit(inline="always")
def is_space(c: int) -> bool:
    return c == 32 or c == 10 or c == 9


@numba.njit
def tokens(text: Array) -> Any:
    n = len(text)
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    k, before = 0, True
    for i in range(n):
        here = is_space(text[i])
        if before and not here:
            starts[k] = i
        if here and not before:
            ends[k] = i - 1
            k += 1
        before = here
    if not before:
        ends[k] = n - 1
        k += 1
    return starts[:k].copy(), ends[:k].copy()


@numba.njit
def crossings(xs: Array) -> Any:
    out, k = np.empty(len(xs), np.int32), 0
    for i in range(len(xs) - 1):
        if (xs[i] >= 0) != (xs[i + 1] >= 0):
            out[k] = i
            k += 1
    return out[:k].copy()


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (patches, windows, one_hot, repeated, enlarged, products, tokens, crossings)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, f32 = np.random.default_rng(0), np.float32
    n, side = (1 << 20, 512) if large else (1 << 12, 48)
    text = np.where(random.random(n) < 0.2, 32, random.integers(97, 123, n)).astype(np.uint8)
    return {
        "patches": (random.random((side, side), f32),),
        "windows": (3, random.random((side, side), f32)),
        "one_hot": (64, random.integers(0, 64, n // 64)),
        "repeated": (50, random.random(n // 50, f32)),
        "enlarged": (3, random.random((side // 3, side // 3), f32)),
        "products": (random.random(n // 6, f32), random.random(6, f32)),
        "tokens": (text,),
        "crossings": (random.random(n, f32) - f32(0.5),),
    }
