"""Matrices by rows: products, reductions, scans, softmax, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def dotprod(xs: Array, ys: Array) -> object:
    return np.dot(xs, ys)


def matmul(xss: Array, yss: Array) -> Array:
    return xss @ yss


def sumrows(xss: Array) -> Array:
    return np.sum(xss + xss.dtype.type(2), axis=1)


def rowsum(xss: Array) -> Array:
    return xss.sum(axis=1, dtype=xss.dtype)


def rowscan(xss: Array) -> Array:
    return np.cumsum(xss, axis=1, dtype=xss.dtype)


def sum_squares(xss: Array) -> Array:
    return np.einsum("ij,ij->i", xss, xss)


def argmax(xss: Array) -> tuple[Array, Array]:
    """The largest elements and their places; -1 in an empty row."""
    if not xss.shape[1]:
        return np.full(len(xss), -np.inf, xss.dtype), np.full(len(xss), -1)
    places = np.argmax(xss, axis=1)
    return np.take_along_axis(xss, places[:, None], axis=1)[:, 0], places


def mss(xss: Array) -> Array:
    """The largest difference of a prefix sum and an earlier one."""
    sums = np.zeros((xss.shape[0], xss.shape[1] + 1), xss.dtype)
    np.cumsum(xss, axis=1, out=sums[:, 1:])
    return (sums - np.minimum.accumulate(sums, axis=1)).max(axis=1)


def compose(ass: Array, bss: Array) -> tuple[Array, Array]:
    """Down the columns where rows are short, else by doubling: each step doubles how many functions a place has."""
    n, m = ass.shape
    a, b = ass.copy(), bss.copy()
    if n >= m:
        for j in range(1, m):
            b[:, j] += a[:, j] * b[:, j - 1]
            a[:, j] *= a[:, j - 1]
        return a, b
    reach = 1
    while reach < m:
        b[:, reach:] = a[:, reach:] * b[:, :-reach] + b[:, reach:]
        a[:, reach:] = a[:, reach:] * a[:, :-reach]
        reach *= 2
    return a, b


def softmax(xss: Array) -> Array:
    if not xss.shape[1]:
        return xss.copy()
    powers = xss - xss.max(axis=1, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def layernorm(xss: Array, scale: Array, shift: Array) -> Array:
    centred = xss - xss.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", centred, centred)[:, None] / xss.dtype.type(xss.shape[1])
    centred *= xss.dtype.type(1) / np.sqrt(variance + xss.dtype.type(1e-5))
    centred *= scale
    centred += shift
    return centred


def attention(queries: Array, keys: Array, values: Array) -> Array:
    """A head at a time where heads are large, so that the products stay in the cache; else all together."""
    if queries.shape[1] > 512:
        return np.stack([attend(*head) for head in zip(queries, keys, values)])
    return attend(queries, keys, values)


def attend(queries: Array, keys: Array, values: Array) -> Array:
    real = queries.dtype.type
    scores = (queries * real(1 / np.sqrt(queries.shape[-1]))) @ np.swapaxes(keys, -1, -2)
    scores -= scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores @ values
