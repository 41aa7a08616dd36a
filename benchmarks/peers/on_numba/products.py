"""As `on_numpy/products.py`, where loops may be faster than NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel
from .rows import product_by_rows

Array = NDArray[Any]
BLOCK = 16  # of rows and columns that are transposed together


@parallel
def residues(a: Array, b: Array) -> Array:
    out = product_by_rows(a, b)
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] %= 1009
    return out


@parallel
def overlaps(xs: Array) -> Array:
    parity = xs & 1
    return product_by_rows(parity, np.ascontiguousarray(parity.T))


@parallel
def gram(xs: Array) -> Array:
    n, d = xs.shape
    out = np.zeros((d, d), xs.dtype)
    for k in range(n):
        for i in range(d):
            x = xs[k, i]
            for j in range(d):
                out[i, j] += x * xs[k, j]
    return out


@parallel
def weighted(ws: Array, xs: Array) -> Array:
    n, d = xs.shape
    out = np.zeros((d, d), xs.dtype)
    for k in range(n):
        for i in range(d):
            x = ws[k] * xs[k, i]
            for j in range(d):
                out[i, j] += x * xs[k, j]
    return out


@parallel
def vecmat(x: Array, a: Array) -> Array:
    out = np.zeros(a.shape[1], a.dtype)
    for k in range(len(x)):
        y = x[k]
        for j in range(a.shape[1]):
            out[j] += y * a[k, j]
    return out


@parallel
def embedding(table: Array, numbers: Array) -> Array:
    out = np.empty((len(numbers), table.shape[1]), table.dtype)
    for i in prange(len(numbers)):
        row = table[numbers[i]]
        for j in range(table.shape[1]):
            out[i, j] = row[j]
    return out


@parallel
def permuted(values: Array, keys: Array, order: Array) -> tuple[Array, Array]:
    out, own = np.empty_like(values), np.empty_like(keys)
    for i in prange(len(order)):
        own[i] = keys[order[i]]
        for j in range(values.shape[1]):
            out[i, j] = values[order[i], j]
    return out, own


@parallel
def scaled_rows(table: Array, numbers: Array, ws: Array) -> Array:
    _, a, b = table.shape
    out = np.empty((len(numbers), a, b), table.dtype)
    for i in prange(len(numbers)):
        w = ws[i]
        for x in range(a):
            for y in range(b):
                out[i, x, y] = table[numbers[i], x, y] * w
    return out


@parallel
def bags(table: Array, numbers: Array) -> Array:
    out = np.zeros((len(numbers), table.shape[1]), table.dtype)
    for i in prange(len(numbers)):
        line = out[i]
        for number in numbers[i]:
            row = table[number]
            for j in range(len(row)):
                line[j] += row[j]
    return out


@parallel
def thin(xs: Array) -> Array:
    n, m = xs.shape
    out = np.empty((m, n), xs.dtype)
    for i in prange(n):
        for j in range(m):
            out[j, i] = xs[i, j]
    return out


@parallel
def by_blocks(xs: Array) -> Array:
    n, m = xs.shape
    out = np.empty((m, n), xs.dtype)
    for block in prange((m + BLOCK - 1) // BLOCK):
        first, last = block * BLOCK, min(m, (block + 1) * BLOCK)
        for lo in range(0, n, BLOCK):
            for j in range(first, last):
                for i in range(lo, min(n, lo + BLOCK)):
                    out[j, i] = xs[i, j]
    return out


@parallel
def middle_first(xs: Array) -> Array:
    a, b, c = xs.shape
    out = np.empty((b, a, c), xs.dtype)
    for j in prange(b):
        for i in range(a):
            for k in range(c):
                out[j, i, k] = xs[i, j, k]
    return out


@parallel
def heads(xs: Array) -> Array:
    b, n, h, d = xs.shape
    out = np.empty((b, h, n, d), xs.dtype)
    for x in prange(b):
        for j in range(h):
            for i in range(n):
                for k in range(d):
                    out[x, j, i, k] = xs[x, i, j, k]
    return out


@parallel
def last_first(xs: Array) -> Array:
    a, b, c = xs.shape
    out = np.empty((c, b, a), xs.dtype)
    for j in prange(b):
        for lo in range(0, c, BLOCK):
            for first in range(0, a, BLOCK):
                for k in range(lo, min(c, lo + BLOCK)):
                    for i in range(first, min(a, first + BLOCK)):
                        out[k, j, i] = xs[i, j, k]
    return out


@parallel
def cholesky(a: Array) -> Array:
    n = len(a)
    out = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(total) if i == j else total / out[j, j]
    return out


PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("products", "residues"): residues,
    ("grams", "gram"): gram,
    ("grams", "weighted"): weighted,
    ("grams", "overlaps"): overlaps,
    ("grams", "vecmat"): vecmat,
    ("grams", "votes"): vecmat,
    ("row_gathers", "embedding"): embedding,
    ("row_gathers", "permuted"): permuted,
    ("row_gathers", "scaled_rows"): scaled_rows,
    ("row_gathers", "bags"): bags,
    ("transpositions", "to_planes"): thin,
    ("transpositions", "from_planes"): thin,
    ("transpositions", "odd"): by_blocks,
    ("transpositions", "middle_first"): middle_first,
    ("transpositions", "last_first"): last_first,
    ("transpositions", "heads"): heads,
    ("transpositions", "bytes"): thin,
    ("recurrent", "cholesky"): cholesky,
}
