"""Neighbours at a stride, sums over points, bytes of records, states of a few elements: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def pyramid(a: Array, k: Array) -> Array:
    h, w = a.shape
    t = np.empty((h, w // 2), np.float32)
    for i in range(h):
        for j in range(w // 2):
            s = np.float32(0)
            for d in range(5):
                s += k[d] * a[i, min(max(2 * j + d - 2, 0), w - 1)]
            t[i, j] = s
    out = np.empty((h // 2, w // 2), np.float32)
    for i in range(h // 2):
        for j in range(w // 2):
            s = np.float32(0)
            for d in range(5):
                s += k[d] * t[min(max(2 * i + d - 2, 0), h - 1), j]
            out[i, j] = s
    return out


@numba.njit
def restricted(a: Array) -> Array:
    p, q = a.shape[0] // 2, a.shape[1] // 2
    out = np.zeros((p, q))
    for i in range(1, p - 1):
        for j in range(1, q - 1):
            y, x = 2 * i, 2 * j
            sides = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
            corners = a[y - 1, x - 1] + a[y - 1, x + 1] + a[y + 1, x - 1] + a[y + 1, x + 1]
            out[i, j] = (4 * a[y, x] + 2 * sides + corners) / 16
    return out


@numba.njit
def lifted(a: Array) -> tuple[Array, Array]:
    n = len(a) // 2
    d, s = np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(n):
        right = a[2 * i + 2] if 2 * i + 2 < len(a) else a[2 * i]
        d[i] = a[2 * i + 1] - ((a[2 * i] + right) >> 1)
    for i in range(n):
        s[i] = a[2 * i] + ((d[max(i - 1, 0)] + d[i] + 2) >> 2)
    return s, d


@numba.njit
def length_of_path(p: Array) -> np.float32:
    s = np.float32(0)
    for i in range(len(p) - 1):
        x, y = p[i + 1, 0] - p[i, 0], p[i + 1, 1] - p[i, 1]
        s += np.sqrt(x * x + y * y)
    return s


@numba.njit
def reversed_(p: Array) -> bool:
    found = False
    for i in range(len(p)):
        if p[i, 0] > p[i, 1]:
            found = True
            break
    return found


@numba.njit
def number(t: Array, start: int, end: int) -> int:
    v = 0
    for k in range(start, end):
        v = v * 10 + t[k] - 48
    return v


@numba.njit
def dates(texts: Array) -> Array:
    out = np.empty(len(texts), np.int64)
    for i in range(len(texts)):
        t = texts[i]
        year, month, day = number(t, 0, 4), number(t, 5, 7), number(t, 8, 10)
        if month <= 2:
            year -= 1
        era = year // 400
        of_era = year - era * 400
        of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
        days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
        out[i] = days * 86400 + number(t, 11, 13) * 3600 + number(t, 14, 16) * 60 + number(t, 17, 19)
    return out


@numba.njit
def blocks(starts: Array, columns: Array, values: Array, x: Array) -> Array:
    n = len(x)
    y = np.zeros((n, 3))
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            for a in range(3):
                for b in range(3):
                    y[i, a] += values[k, a, b] * x[columns[k], b]
    return y


PEERS: Mapping[str, Callable[..., Any]] = {
    "pyramid": pyramid,
    "restricted": restricted,
    "lifted": lifted,
    "length_of_path": length_of_path,
    "reversed": reversed_,
    "dates": dates,
    "blocks": blocks,
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, f32, q = np.random.default_rng(0), np.float32, 8 if large else 1
    image = random.random((101 * q, 133 * q))
    count = 300_000 if large else 3_001
    text = np.frombuffer(b"2026-11-29 12:34:56", np.uint8)
    rows = random.integers(1, 8, count // 6)
    starts = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    places, points = random.integers(0, len(rows), starts[-1]).astype(np.int32), random.random((len(rows), 3))
    return {
        "pyramid": (image.astype(f32), np.array([1, 4, 6, 4, 1], f32) / f32(16)),
        "restricted": (image,),
        "lifted": (random.integers(-500, 500, count).astype(np.int32),),
        "length_of_path": (random.random((count, 2), f32),),
        "reversed": (np.sort(random.integers(-9999, 9999, (count, 2)).astype(np.int32), axis=1),),
        "dates": (np.tile(text, (count // 3, 1)),),
        "blocks": (starts, places, random.random((len(places), 3, 3)), points),
    }
