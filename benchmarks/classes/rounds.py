"""Scatters of concatenations, and rounds of small steps or of scans and scatters: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def fft(rounds: int, tr: Array, ti: Array, re: Array, im: Array) -> tuple[Array, Array]:
    re, im, half = re.copy(), im.copy(), len(re) // 2
    nr, ni = np.empty_like(re), np.empty_like(im)
    for r in range(rounds):
        span = 1 << r
        for j in range(half):
            place = j & (span - 1)
            k = place * (half >> r)
            yr = re[j + half] * tr[k] - im[j + half] * ti[k]
            yi = re[j + half] * ti[k] + im[j + half] * tr[k]
            target = (j >> r) * span * 2 + place
            nr[target], ni[target] = re[j] + yr, im[j] + yi
            nr[target + span], ni[target + span] = re[j] - yr, im[j] - yi
        re, im, nr, ni = nr, ni, re, im
    return re, im


@numba.njit
def interleave(xs: Array, ys: Array) -> Array:
    out = np.empty(2 * len(xs), xs.dtype)
    for i in range(len(xs)):
        out[2 * i], out[2 * i + 1] = xs[i], ys[i]
    return out


@numba.njit
def place_three(k: int, a: Array, b: Array, c: Array) -> Array:
    out = np.zeros(k, np.int32)
    for places, values in ((a, b), (b, c), (c, a)):
        for i in range(len(places)):
            if 0 <= places[i] < k:
                out[places[i]] = values[i]
    return out


@numba.njit
def radix4(xs: Array) -> Array:
    n = len(xs)
    xs, out = xs.copy(), np.empty_like(xs)
    for r in range(16):
        shift = np.uint32(2 * r)
        counts = np.zeros(4, np.int64)
        for i in range(n):
            counts[(xs[i] >> shift) & np.uint32(3)] += 1
        at = np.zeros(4, np.int64)
        for d in range(1, 4):
            at[d] = at[d - 1] + counts[d - 1]
        for i in range(n):
            d = (xs[i] >> shift) & np.uint32(3)
            out[at[d]] = xs[i]
            at[d] += 1
        xs, out = out, xs
    return xs


@numba.njit
def radix2(xs: Array) -> Array:
    n = len(xs)
    xs, out = xs.copy(), np.empty_like(xs)
    for r in range(32):
        zeros = 0
        for i in range(n):
            zeros += 1 - ((xs[i] >> r) & 1)
        a, b = 0, zeros
        for i in range(n):
            bit = (xs[i] >> r) & 1
            out[b if bit else a] = xs[i]
            a += 1 - bit
            b += bit
        xs, out = out, xs
    return xs


@numba.njit
def by_partition(xs: Array) -> Array:
    n = len(xs)
    xs, out, rest = xs.copy(), np.empty_like(xs), np.empty_like(xs)
    for r in range(32):
        k = 0
        for i in range(n):
            out[k] = rest[i - k] = xs[i]
            k += ((xs[i] >> r) & 1) == (r == 31)
        out[k:] = rest[: n - k]
        xs, out = out, xs
    return xs


@numba.njit
def relax(rounds: int, xs: Array) -> Array:
    xs, out, n = xs.copy(), np.empty_like(xs), len(xs)
    for _ in range(rounds):
        for i in range(n - 1):
            out[i] = 0.5 * (xs[i] + xs[i + 1])
        out[n - 1] = 0.5 * (xs[n - 1] + xs[0])
        xs, out = out, xs
    return xs


@numba.njit
def halve(n: int) -> int:
    x, steps = n, 0
    while x > 1:
        total = 0
        for i in range(16):
            total += (x >> i) & 1
        x, steps = x - 1 - total, steps + 1
    return steps


@numba.njit
def walk(rounds: int, following: Array) -> Array:
    n = len(following)
    front = np.arange(n)
    out = np.empty_like(front)
    for _ in range(rounds):
        for i in range(n):
            out[i] = following[front[i]]
        front, out = out, front
    return front


@numba.njit
def frontiers(w: int, wall: Array, start: int) -> Array:
    n = len(wall)
    dist, front, new = np.full(n, -1, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
    dist[start], front[0], size, d = 0, start, 1, 1
    while size > 0:
        count = 0
        for k in range(size):
            v = front[k]
            left, right = v - 1 if v % w > 0 else -1, v + 1 if v % w < w - 1 else -1
            for c in (left, right, v - w, v + w):
                if 0 <= c < n and not wall[c] and dist[c] < 0:
                    dist[c], new[count] = d, c
                    count += 1
        front, new, size, d = new, front, count, d + 1
    return dist


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (fft, interleave, place_three, radix4, radix2, by_partition, relax, halve, walk, frontiers)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    bits, random = 18 if large else 12, np.random.default_rng(0)
    n, small = 1 << bits, 256 if large else 16
    angles = -2 * np.pi * np.arange(n // 2) / n
    a, b, c = np.split(random.permutation(3 * n).astype(np.int32), 3)
    return {
        "fft": (bits, np.cos(angles), np.sin(angles), random.random(n), random.random(n)),
        "interleave": (random.random(n, np.float32), random.random(n, np.float32)),
        "place_three": (3 * n, a, b, c),
        "radix4": (random.integers(0, 1 << 32, n).astype(np.uint32),),
        "radix2": (random.integers(0, 1 << 32, n),),
        "by_partition": (random.integers(-(1 << 31), 1 << 31, n).astype(np.int32),),
        "relax": (500, random.random(small)),
        "halve": (20000 if large else 2000,),
        "frontiers": (2 ** (bits // 2), random.random(1 << bits) < 0.2, 0),
        "walk": (500, random.integers(0, small, small)),
    }
