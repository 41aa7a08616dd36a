"""Small elements, rows of a known size and short rows: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def caesar(k: int, text: Array) -> Array:
    out = np.empty_like(text)
    for i in range(len(text)):
        c = text[i]
        if c >= 97 and c <= 122:
            out[i] = (np.int64(c) - 97 + k) % 26 + 97
        elif c >= 65 and c <= 90:
            out[i] = (np.int64(c) - 65 + k) % 26 + 65
        else:
            out[i] = c
    return out


@numba.njit
def blend(a: int, xs: Array, ys: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        out[i] = (a * np.int64(xs[i]) + (255 - a) * np.int64(ys[i])) // 255
    return out


@numba.njit
def seeded(seed: int, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        out[i] = (np.int64(xs[i]) * 31 + seed) % 1009
    return out


@numba.njit
def labels(classes: Array) -> Array:
    out = np.zeros((len(classes), 10), np.float32)
    for i in range(len(classes)):
        out[i, classes[i]] = 1
    return out


@numba.njit
def crops(images: Array) -> Array:
    k, h, w = images.shape
    out = np.empty((k, h - 2, w - 2), images.dtype)
    for p in range(k):
        for i in range(h - 2):
            for j in range(w - 2):
                out[p, i, j] = images[p, i + 1, j + 2]
    return out


@numba.njit
def patches(image: Array) -> Array:
    c, h, w = image.shape
    out = np.empty((9 * c, h - 2, w - 2), image.dtype)
    for q in range(9 * c):
        for i in range(h - 2):
            for j in range(w - 2):
                out[q, i, j] = image[q // 9, i + q % 9 // 3, j + q % 3]
    return out


@numba.njit
def lines(text: Array) -> Array:
    out, k = np.empty(len(text), np.int64), 0
    for i in range(len(text)):
        if text[i] == 10:
            out[k] = i
            k += 1
    return out[:k].copy()


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (caesar, blend, seeded, labels, crops, patches, lines)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n, q = np.random.default_rng(0), 1 << (20 if large else 12), 8 if large else 1
    letters = np.frombuffer(b"abcdefghijklmnop  qrstuvwxyzAEIOXYZ .,\n", np.uint8)
    text, f32 = random.choice(letters, n), np.float32
    images = random.integers(0, 256, (2, n)).astype(np.uint8)
    return {
        "caesar": (3, text),
        "blend": (100, *images),
        "seeded": (77, random.integers(0, 1 << 16, n).astype(np.uint16)),
        "labels": (random.integers(0, 10, n // 32),),
        "crops": (random.random((27, 24 * q, 32 * q), f32),),
        "patches": (random.random((3, 24 * q, 32 * q), f32),),
        "lines": (text,),
    }
