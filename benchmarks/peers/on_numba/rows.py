"""Matrices by rows: products, reductions, scans, softmax, attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import inlined, parallel, pieces_of

Array = NDArray[Any]
ROWS = 8  # of a product that stay in the cache together
DEPTH = 128  # rows of the second matrix that do


@parallel
def product_by_rows(xss: Array, yss: Array) -> Array:
    n, p = xss.shape
    m = yss.shape[1]
    out = np.zeros((n, m), xss.dtype)
    for block in prange((n + ROWS - 1) // ROWS):
        for first in range(0, p, DEPTH):
            for i in range(block * ROWS, min(n, (block + 1) * ROWS)):
                line = out[i]
                for k in range(first, min(p, first + DEPTH)):
                    x = xss[i, k]
                    row = yss[k]
                    for j in range(m):
                        line[j] += x * row[j]
    return out


@parallel
def product_by_depth(xss: Array, yss: Array, pieces: int) -> Array:
    """A sum of products of pieces, for few rows and columns."""
    n, p = xss.shape
    m = yss.shape[1]
    parts = np.zeros((pieces, n, m), xss.dtype)
    for c in prange(pieces):
        own = np.zeros((n, m), xss.dtype)
        for k in range(c * p // pieces, (c + 1) * p // pieces):
            for i in range(n):
                x = xss[i, k]
                for j in range(m):
                    own[i, j] += x * yss[k, j]
        parts[c] = own
    out = np.zeros((n, m), xss.dtype)
    for c in range(pieces):
        out += parts[c]
    return out


@parallel
def dot(xs: Array, ys: Array) -> float:
    total = np.float32(0)
    for i in prange(xs.shape[0]):
        total += xs[i] * ys[i]
    return total


def dotprod(xs: Array, ys: Array) -> Array:
    return np.float32(dot(xs, ys))


def matmul(xss: Array, yss: Array) -> Array:
    n, m = len(xss), yss.shape[1]
    if n == m == 1:
        return np.array([[dot(xss[0], yss[:, 0])]], np.float32)
    if n * m <= 4096:
        return product_by_depth(xss, yss, 16)
    return product_by_rows(xss, yss)


# ---- reductions -----------------------------------------------------------------------------------------------------


@parallel
def squares_of_rows(xss: Array, pieces: int) -> Array:
    n, m = xss.shape
    parts = np.zeros((n, pieces), xss.dtype)
    for t in prange(n * pieces):
        i, c = t // pieces, t % pieces
        xs = xss[i, c * m // pieces : (c + 1) * m // pieces]
        total = np.float32(0)
        for k in range(xs.shape[0]):
            total += xs[k] * xs[k]
        parts[i, c] = total
    return parts


def sum_squares(xss: Array) -> Array:
    parts = squares_of_rows(xss, pieces_of(len(xss)))
    return parts[:, 0] if parts.shape[1] == 1 else parts.sum(axis=1)


@parallel
def argmax_of_rows(xss: Array, pieces: int) -> tuple[Array, Array]:
    """The largest value first, without its place: a loop that vectorises; then where it is."""
    n, m = xss.shape
    most = np.empty((n, pieces), xss.dtype)
    places = np.empty((n, pieces), np.int64)
    for t in prange(n * pieces):
        i, c = t // pieces, t % pieces
        low = c * m // pieces
        xs = xss[i, low : (c + 1) * m // pieces]
        top = np.float32(-np.inf)
        for k in range(xs.shape[0]):
            top = max(top, xs[k])
        place = 0
        while place < xs.shape[0] - 1 and xs[place] != top:
            place += 1
        most[i, c] = top
        places[i, c] = low + place
    return most, places


def argmax(xss: Array) -> tuple[Array, Array]:
    most, places = argmax_of_rows(xss, pieces_of(len(xss)))
    if most.shape[1] == 1:
        return most[:, 0], places[:, 0]
    piece = np.argmax(most, axis=1)
    rows = np.arange(len(most))
    return most[rows, piece], places[rows, piece]


@parallel
def segments_of_rows(xss: Array, pieces: int) -> Array:
    n, m = xss.shape
    parts = np.zeros((n, pieces, 4), xss.dtype)
    for t in prange(n * pieces):
        i, c = t // pieces, t % pieces
        xs = xss[i, c * m // pieces : (c + 1) * m // pieces]
        zero = xs.dtype.type(0)
        inside = prefix = suffix = total = zero
        for k in range(xs.shape[0]):
            x = xs[k]
            suffix = max(suffix + x, zero)
            inside = max(inside, suffix)
            total += x
            prefix = max(prefix, total)
        parts[i, c, 0] = inside
        parts[i, c, 1] = prefix
        parts[i, c, 2] = suffix
        parts[i, c, 3] = total
    return parts


@parallel
def joined(parts: Array) -> Array:
    n, pieces, _ = parts.shape
    out = np.empty(n, parts.dtype)
    for i in prange(n):
        inside, suffix = parts[i, 0, 0], parts[i, 0, 2]
        for c in range(1, pieces):
            inside = max(max(inside, parts[i, c, 0]), suffix + parts[i, c, 1])
            suffix = max(parts[i, c, 2], suffix + parts[i, c, 3])
        out[i] = inside
    return out


def mss(xss: Array) -> Array:
    return joined(segments_of_rows(xss, pieces_of(len(xss))))


# ---- scans ----------------------------------------------------------------------------------------------------------


@parallel
def scanned_rows(xss: Array) -> Array:
    n, m = xss.shape
    out = np.empty_like(xss)
    for i in prange(n):
        xs, ys = xss[i], out[i]
        total = np.float32(0)
        for k in range(m):
            total += xs[k]
            ys[k] = total
    return out


@parallel
def scanned_pieces(xss: Array, pieces: int) -> Array:
    """Two passes: the sums of the pieces, then each piece from the sum before it."""
    n, m = xss.shape
    out = np.empty_like(xss)
    sums = np.zeros((n, pieces), xss.dtype)
    for t in prange(n * pieces):
        i, c = t // pieces, t % pieces
        total = np.float32(0)
        for k in range(c * m // pieces, (c + 1) * m // pieces):
            total += xss[i, k]
        sums[i, c] = total
    for t in prange(n * pieces):
        i, c = t // pieces, t % pieces
        total = np.float32(0)
        for before in range(c):
            total += sums[i, before]
        for k in range(c * m // pieces, (c + 1) * m // pieces):
            total += xss[i, k]
            out[i, k] = total
    return out


def rowscan(xss: Array) -> Array:
    pieces = pieces_of(len(xss))
    return scanned_rows(xss) if pieces == 1 else scanned_pieces(xss, pieces)


@parallel
def compose(ass: Array, bss: Array) -> tuple[Array, Array]:
    n, m = ass.shape
    out_a, out_b = np.empty_like(ass), np.empty_like(bss)
    for i in prange(n):
        a, b = np.float32(1), np.float32(0)
        for k in range(m):
            a = ass[i, k] * a
            b = ass[i, k] * b + bss[i, k]
            out_a[i, k] = a
            out_b[i, k] = b
    return out_a, out_b


# ---- reductions and maps of a row -----------------------------------------------------------------------------------


@parallel
def softmax(xss: Array) -> Array:
    n, m = xss.shape
    out = np.empty_like(xss)
    for i in prange(n):
        xs, ys = xss[i], out[i]
        top = np.float32(-np.inf)
        for k in range(m):
            top = max(top, xs[k])
        total = np.float32(0)
        for k in range(m):
            ys[k] = math.exp(xs[k] - top)
            total += ys[k]
        scale = np.float32(1) / total
        for k in range(m):
            ys[k] *= scale
    return out


@parallel
def layernorm(xss: Array, scale: Array, shift: Array) -> Array:
    n, m = xss.shape
    out = np.empty_like(xss)
    for i in prange(n):
        xs, ys = xss[i], out[i]
        total = np.float32(0)
        for k in range(m):
            total += xs[k]
        mean = total / np.float32(m)
        spread = np.float32(0)
        for k in range(m):
            spread += (xs[k] - mean) * (xs[k] - mean)
        factor = np.float32(1) / math.sqrt(spread / np.float32(m) + np.float32(1e-5))
        for k in range(m):
            ys[k] = (xs[k] - mean) * factor * scale[k] + shift[k]
    return out


@inlined
def attend_block(queries: Array, keys: Array, values: Array, first: int, last: int, out: Array) -> None:
    """The queries first .. last of a head, one at a time; the keys are transposed so that loops run along rows."""
    d, n = keys.shape
    scale = np.float32(1) / np.float32(math.sqrt(d))
    scores = np.empty(n, np.float32)
    for i in range(first, last):
        scores[:] = np.float32(0)
        for c in range(d):
            q, row = queries[i, c] * scale, keys[c]
            for j in range(n):
                scores[j] += q * row[j]
        top = np.float32(-np.inf)
        for j in range(n):
            top = max(top, scores[j])
        total = np.float32(0)
        for j in range(n):
            scores[j] = math.exp(scores[j] - top)
            total += scores[j]
        line = out[i]
        line[:] = np.float32(0)
        for j in range(n):
            weight = scores[j] / total
            for c in range(d):
                line[c] += weight * values[j, c]


@parallel
def attention(queries: Array, keys: Array, values: Array) -> Array:
    h, n, d = queries.shape
    out = np.empty_like(queries)
    turned = np.empty((h, d, n), queries.dtype)
    for a in prange(h):
        turned[a] = keys[a].T
    blocks = (n + 63) // 64
    for t in prange(h * blocks):
        a, b = t // blocks, t % blocks
        attend_block(queries[a], turned[a], values[a], b * 64, min(n, b * 64 + 64), out[a])
    return out
