"""Bytes, text, searches, encodings and powers: loops for one thread, as one would write them by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def varint(xs: Array) -> Array:
    out, at = np.empty(5 * len(xs), np.uint8), 0
    for i in range(len(xs)):
        x = xs[i]
        while x >= 0x80:
            out[at] = np.uint8(x & 0x7F) | np.uint8(0x80)
            at += 1
            x >>= np.uint32(7)
        out[at] = np.uint8(x)
        at += 1
    return out[:at].copy()


@numba.njit
def unvarint(data: Array) -> Array:
    out, k, v, s = np.empty(len(data), np.uint32), 0, np.uint32(0), np.uint32(0)
    for b in data:
        v |= np.uint32(b & 0x7F) << s
        if b < 0x80:
            out[k] = v
            k, v, s = k + 1, np.uint32(0), np.uint32(0)
        else:
            s += np.uint32(7)
    return out[:k].copy()


@numba.njit
def adler(data: Array) -> Any:
    a, b, at = np.uint64(1), np.uint64(0), 0
    while at < len(data):
        end = min(at + 5552, len(data))
        for i in range(at, end):
            a += np.uint64(data[i])
            b += a
        a, b, at = a % np.uint64(65521), b % np.uint64(65521), end
    return np.uint32((b << np.uint64(16)) | a)


@numba.njit
def crossings(fast: int, slow: int, xs: Array) -> int:
    p, q, count, was = 0.0, 0.0, 0, False
    for i in range(len(xs)):
        p += xs[i]
        q += xs[i]
        if i >= fast:
            p -= xs[i - fast]
        if i >= slow:
            q -= xs[i - slow]
        above = p / min(fast, i + 1) > q / min(slow, i + 1)
        count += i > 0 and above != was
        was = above
    return count


@numba.njit
def macd(a: float, b: float, xs: Array) -> int:
    u, v, count, was = 0.0, 0.0, 0, False
    for i in range(len(xs)):
        u, v = u + a * (xs[i] - u), v + b * (xs[i] - v)
        above = u - v > 0
        count += i > 0 and above != was
        was = above
    return count


@numba.njit
def join(xs: Array, ys: Array) -> int:
    count, n = 0, len(ys)
    for x in xs:
        lo, hi = 0, n
        while lo < hi:
            mid = (lo + hi) // 2
            if ys[mid] < x:
                lo = mid + 1
            else:
                hi = mid
        count += lo < n and ys[lo] == x
    return count


@numba.njit
def runs(values: Array, counts: Array) -> Array:
    out, at = np.empty(counts.sum(), np.int32), 0
    for i in range(len(values)):
        for _ in range(counts[i]):
            out[at] = values[i]
            at += 1
    return out


@numba.njit
def words(text: Array) -> int:
    count, inside = 0, False
    for c in text:
        space = c == 32 or c == 10 or c == 9
        count += not space and not inside
        inside = not space
    return count


@numba.njit
def ints(text: Array) -> Array:
    out, k, v, inside = np.empty(len(text) // 2 + 1, np.int64), 0, 0, False
    for c in text:
        if 48 <= c <= 57:
            v, inside = 10 * v + (np.int64(c) - 48), True
        elif inside:
            out[k] = v
            k, v, inside = k + 1, 0, False
    if inside:
        out[k] = v
        k += 1
    return out[:k].copy()


@numba.njit
def one_hot(m: int, labels: Array) -> Array:
    out = np.zeros((len(labels), m), np.float32)
    for i in range(len(labels)):
        out[i, labels[i]] = 1
    return out


@numba.njit
def one_hot_bytes(m: int, labels: Array) -> Array:
    out = np.zeros((len(labels), m), np.uint8)
    for i in range(len(labels)):
        out[i, labels[i]] = 1
    return out


@numba.njit
def prefix_twice(xs: Array) -> Array:
    out, s, t = np.empty_like(xs), 0.0, 0.0
    for i in range(len(xs)):
        s += xs[i]
        t += s
        out[i] = t
    return out


@numba.njit
def iir(p: float, q: float, xs: Array) -> Array:
    out, s, t = np.empty_like(xs), 0.0, 0.0
    for i in range(len(xs)):
        s = p * s + xs[i]
        t = q * t + s
        out[i] = t
    return out


@numba.njit
def powers(k: int, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        out[i] = xs[i] ** k
    return out


@numba.njit
def int_sums(d: int, xs: Array) -> Array:
    out = np.zeros(d, np.int32)
    for x in xs:
        p = np.int32(1)
        for k in range(d):
            out[k] += p
            p *= x
    return out


@numba.njit
def poly_powers(cs: Array, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        s = 0.0
        for k in range(len(cs)):
            s += cs[k] * xs[i] ** k
        out[i] = s
    return out


@numba.njit
def legendre(k: int, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        p, q = 1.0, xs[i]
        for m in range(2, k + 1):
            p, q = q, ((2 * m - 1) * xs[i] * q - (m - 1) * p) / m
        out[i] = q
    return out


@numba.njit
def chebyshev(cs: Array, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        b, c = 0.0, 0.0
        for j in range(len(cs) - 1, -1, -1):
            b, c = cs[j] + 2 * xs[i] * b - c, b
        out[i] = b - xs[i] * c
    return out


@numba.njit
def chebyshev_rows(d: int, xs: Array) -> Array:
    out = np.empty((d, len(xs)))
    for i in range(len(xs)):
        a, b = 1.0, xs[i]
        for j in range(d):
            out[j, i] = a
            a, b = b, 2 * xs[i] * b - a
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    "varint_fill": varint,
    "varint_loop": varint,
    "unvarint_scan": unvarint,
    "unvarint_loop": unvarint,
    "adler_pairs": adler,
    "adler_sums": adler,
    "crossings": crossings,
    "macd_crossings": macd,
    "macd_loop": macd,
    "join_search": join,
    "join_steps": join,
    "runs_scatter": runs,
    "runs_expand": runs,
    "words_map": words,
    "words_filter": words,
    "words_loop": words,
    "ints_scan": ints,
    "ints_loop": ints,
    "one_hot_if": one_hot,
    "one_hot_map": one_hot_bytes,
    "prefix_twice": prefix_twice,
    "iir": iir,
    "powers": powers,
    "float_powers": powers,
    "int_sums": int_sums,
    "poly_powers": poly_powers,
    "legendre": legendre,
    "chebyshev": chebyshev,
    "chebyshev_rows": chebyshev_rows,
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random = np.random.default_rng(0)
    n = 1 << 21 if large else 1 << 12
    numbers = (random.random(n) * 2.0 ** random.integers(1, 33, n)).astype(np.uint32)
    text = random.choice(np.frombuffer(b"0123456789 ab\n", np.uint8), n)
    digits = np.frombuffer(" ".join(map(str, random.integers(0, 100000, n // 4))).encode(), np.uint8).copy()
    prices, points = 100 + random.standard_normal(n).cumsum() / 8, random.random(n) * 2 - 1
    keys = np.sort(random.integers(0, 4 * n, n)).astype(np.int32)
    values, counts = random.integers(0, 100, n // 4).astype(np.int32), random.integers(1, 8, n // 4)
    small = random.integers(-3, 4, n)
    labels, classes = random.integers(0, 64, n // 16), 64
    coefficients = random.random(12)
    return {
        "varint_fill": (numbers,),
        "varint_loop": (numbers,),
        "unvarint_scan": (varint(numbers),),
        "unvarint_loop": (varint(numbers),),
        "adler_pairs": (text,),
        "adler_sums": (text,),
        "crossings": (12, 26, prices),
        "macd_crossings": (0.15, 0.07, prices),
        "macd_loop": (0.15, 0.07, prices),
        "join_search": (np.sort(random.integers(0, 4 * n, n)).astype(np.int32), keys),
        "join_steps": (random.integers(0, 4 * n, n).astype(np.int32), keys),
        "runs_scatter": (values, counts),
        "runs_expand": (values, counts),
        "words_map": (text,),
        "words_filter": (text,),
        "words_loop": (text,),
        "ints_scan": (digits,),
        "ints_loop": (digits,),
        "one_hot_if": (classes, labels),
        "one_hot_map": (classes, labels.astype(np.int32)),
        "prefix_twice": (points,),
        "iir": (0.9, 0.5, points),
        "powers": (3, small),
        "float_powers": (5, points),
        "int_sums": (6, small.astype(np.int32)),
        "poly_powers": (coefficients, points),
        "legendre": (8, points),
        "chebyshev": (coefficients, points),
        "chebyshev_rows": (8, points),
    }
