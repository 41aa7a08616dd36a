"""What a branch chooses: loops for one thread, one pass each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F = np.float32


@numba.njit
def escaped(text: Array) -> Array:
    out, k = np.empty(2 * len(text), np.uint8), 0
    for c in text:
        if c == 34 or c == 92 or c == 10:
            out[k] = 92
            k += 1
        out[k] = 110 if c == 10 else c
        k += 1
    return out[:k].copy()


@numba.njit
def utf16(points: Array) -> Array:
    out, k = np.empty(2 * len(points), np.uint16), 0
    for c in points:
        if c < 0x10000:
            out[k] = c
            k += 1
        else:
            out[k], out[k + 1] = 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF)
            k += 2
    return out[:k].copy()


@numba.njit
def nonzero(a: Array) -> tuple[Array, Array, Array]:
    (n, m), k = a.shape, 0
    rows, columns, values = np.empty(n * m, np.int64), np.empty(n * m, np.int64), np.empty(n * m, a.dtype)
    for i in range(n):
        for j in range(m):
            if a[i, j] != 0:
                rows[k], columns[k], values[k] = i, j, a[i, j]
                k += 1
    return rows[:k].copy(), columns[:k].copy(), values[:k].copy()


@numba.njit
def heat(a: Array) -> Array:
    h, w = a.shape
    out = np.empty((h, w, 3), F)
    for i in range(h):
        for j in range(w):
            x = a[i, j]
            if x < F(0.25):
                r, g, b = F(0), F(4) * x, F(1)
            elif x < F(0.5):
                r, g, b = F(0), F(1), F(2) - F(4) * x
            elif x < F(0.75):
                r, g, b = F(4) * x - F(2), F(1), F(0)
            else:
                r, g, b = F(1), F(4) - F(4) * x, F(0)
            out[i, j, 0], out[i, j, 1], out[i, j, 2] = r, g, b
    return out


@numba.njit
def walls(ps: Array, vs: Array) -> Array:
    out = vs.copy()
    for i in range(len(ps)):
        if ps[i, 0] < 0 or ps[i, 0] > 1:
            out[i, 0] = -vs[i, 0]
        elif ps[i, 1] < 0 or ps[i, 1] > 1:
            out[i, 1] = -vs[i, 1]
    return out


@numba.njit
def life(a: Array) -> Array:
    h, w = a.shape
    out = np.empty((h, w), np.bool_)
    for i in range(h):
        for j in range(w):
            s = 0
            for y in range(max(0, i - 1), min(h, i + 2)):
                for x in range(max(0, j - 1), min(w, j + 2)):
                    s += a[y, x]
            s -= a[i, j]
            out[i, j] = s == 3 or (s == 2 and a[i, j])
    return out


@numba.njit
def grades(marks: Array) -> Array:
    out = np.empty_like(marks)
    for i in range(len(marks)):
        m = marks[i]
        grade = 4 if m >= 90 else 3 if m >= 80 else 2 if m >= 65 else 1 if m >= 50 else 0
        total = grade + (m % 10 >= 7)
        out[i] = 70 if grade == 0 else 65 if total >= 4 else 66 if total == 3 else 67
    return out


PEERS: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (escaped, utf16, nonzero, heat, walls, life, grades)}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n, h = np.random.default_rng(0), 2_000_000 if large else 20_000, 1500 if large else 100
    few = random.random(n) < 0.1
    matrix = np.where(random.random((h, h)) < 0.1, random.integers(1, 9, (h, h)), 0)
    return {
        "escaped": (np.where(few, 34, random.integers(97, 123, n)).astype(np.uint8),),
        "utf16": (np.where(few, 70_000, random.integers(32, 50_000, n)).astype(np.uint32),),
        "nonzero": (matrix.astype(np.int32),),
        "heat": (random.random((h, h), F),),
        "walls": (1.4 * random.random((n, 2)) - 0.2, random.normal(size=(n, 2))),
        "life": (random.random((h, h)) < 0.4,),
        "grades": (random.integers(0, 101, n).astype(np.uint8),),
    }
