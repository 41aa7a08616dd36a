"""Elements at places of no pattern: loops for one thread, with the same rounds and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def adpcm(steps: Array, moves: Array, blocks: Array) -> Array:
    b, n = blocks.shape
    out = np.empty((b, 2 * n), np.int16)
    for k in range(b):
        p, index = 0, 0
        for i in range(2 * n):
            nibble = (blocks[k, i >> 1] >> (4 * (i & 1))) & 15
            step = steps[index]
            d = step >> 3
            if nibble & 4:
                d += step
            if nibble & 2:
                d += step >> 1
            if nibble & 1:
                d += step >> 2
            p = max(-32768, min(32767, p - d if nibble & 8 else p + d))
            index = max(0, min(len(steps) - 1, index + moves[nibble]))
            out[k, i] = p
    return out


@numba.njit
def independent(near: Array, priority: Array) -> Array:
    n, k = near.shape
    state, joins, going = np.zeros(n, np.int8), np.zeros(n, np.bool_), True
    while going:
        going = False
        for i in range(n):
            joins[i] = state[i] == 0
            for c in range(k):
                j = near[i, c]
                if joins[i] and j >= 0 and state[j] != 2:
                    joins[i] = priority[i] < priority[j] or (priority[i] == priority[j] and i < j)
        for i in range(n):
            if joins[i]:
                state[i] = 1
            elif state[i] == 0:
                for c in range(k):
                    if near[i, c] >= 0 and joins[near[i, c]]:
                        state[i] = 2
                        break
                going = going or state[i] == 0
    return state


@numba.njit
def mix(k: Any) -> Any:
    k = np.uint32((k ^ (k >> np.uint32(16))) * np.uint32(0x45D9F3B))
    return np.uint32(k ^ (k >> np.uint32(16)))


@numba.njit
def probe(keys: Array, values: Array, queries: Array) -> Array:
    m, out = len(keys), np.empty(len(queries), np.int32)
    for k in range(len(queries)):
        q = queries[k]
        i = int(mix(q)) % m
        while keys[i] != q and keys[i] != 0:
            i = i + 1 if i + 1 < m else 0
        out[k] = values[i] if keys[i] == q else -1
    return out


@numba.njit
def filled(keys: Array, m: int) -> Any:
    """A table of `m` places with these keys, and their numbers."""
    table, values = np.zeros(m, np.uint32), np.zeros(m, np.int32)
    for k in range(len(keys)):
        i = int(mix(keys[k])) % m
        while table[i] != 0 and table[i] != keys[k]:
            i = (i + 1) % m
        table[i], values[i] = keys[k], k
    return table, values


@numba.njit
def bloom(k: int, bits: Array, xs: Array) -> Array:
    w, out = len(bits), np.empty(len(xs), np.bool_)
    for i in range(len(xs)):
        a = mix(xs[i])
        b, there = mix(np.uint32(a + np.uint32(0x9E3779B9))) | np.uint32(1), True
        for q in range(k):
            at = int(np.uint32(a + np.uint32(q) * b)) % (64 * w)
            if (bits[at >> 6] >> np.uint64(at & 63)) & np.uint64(1) == 0:
                there = False
                break
        out[i] = there
    return out


@numba.njit
def bootstrap(b: int, xs: Array) -> Array:
    n, out = len(xs), np.empty(b, np.float32)
    for k in range(b):
        s = np.float32(0)
        for i in range(n):
            s += xs[int(mix(np.uint32(k * n + i))) % n]
        out[k] = s / np.float32(n)
    return out


@numba.njit
def nearest_seed(seeds: Array) -> Array:
    f, (h, w) = seeds.copy(), seeds.shape
    out, step = np.empty_like(f), 1
    while 2 * step <= max(h, w):
        step *= 2
    while step > 0:
        for i in range(h):
            for j in range(w):
                best, d = f[i, j], np.int64(2**62)
                if best >= 0:
                    d = (best // w - i) ** 2 + (best % w - j) ** 2
                for y in range(i - step, i + step + 1, step):
                    for x in range(j - step, j + step + 1, step):
                        if 0 <= y < h and 0 <= x < w and f[y, x] >= 0:
                            p, q = np.int64(f[y, x]) // w - i, np.int64(f[y, x]) % w - j
                            if p * p + q * q < d:
                                best, d = f[y, x], p * p + q * q
                out[i, j] = best
        f, out = out, f
        step //= 2
    return f


@numba.njit
def seam(energy: Array) -> Array:
    h, w = energy.shape
    sums, path = energy.copy(), np.empty(h, np.int64)
    for i in range(1, h):
        for j in range(w):
            m = sums[i - 1, j]
            if j > 0:
                m = min(m, sums[i - 1, j - 1])
            if j < w - 1:
                m = min(m, sums[i - 1, j + 1])
            sums[i, j] += m
    path[h - 1] = np.argmin(sums[h - 1])
    for i in range(h - 2, -1, -1):
        j = path[i + 1]
        c = j
        if j > 0 and sums[i, j - 1] < sums[i, c]:
            c = j - 1
        if j < w - 1 and sums[i, j + 1] < sums[i, c]:
            c = j + 1
        path[i] = c
    return path


@numba.njit
def known(table: Array, places: Array) -> Array:
    out = np.empty(len(places), np.float32)
    for i, p in enumerate(places):
        out[i] = -1 if p < 0 else table[p]
    return out


@numba.njit
def parents(parent: Array, xs: Array) -> Array:
    out = np.empty_like(xs)
    for i, p in enumerate(parent):
        out[i] = xs[i] if p < 0 else xs[i] + xs[p]
    return out


@numba.njit
def placed(m: int, places: Array, xs: Array) -> Array:
    out = np.zeros(m, np.float32)
    for i, p in enumerate(places):
        if 0 <= p < m:
            out[p] = xs[i]
    return out


@numba.njit
def nearest_class(train: Array, classes: Array, xs: Array) -> Array:
    out = np.empty(len(xs), np.int32)
    for i in range(len(xs)):
        least, best = np.float32(np.inf), 0
        for j in range(len(train)):
            total = np.float32(0)
            for k in range(xs.shape[1]):
                total += (xs[i, k] - train[j, k]) * (xs[i, k] - train[j, k])
            if total < least:
                least, best = total, j
        out[i] = classes[best]
    return out


@numba.njit
def beam(scores: Array, logs: Array) -> tuple[Array, Array]:
    b, v = logs.shape
    left, top, at = np.empty((b, v), np.float32), np.empty(b, np.float32), np.empty(b, np.int64)
    for i in range(b):
        for j in range(v):
            left[i, j] = logs[i, j] + scores[i]
    for k in range(b):
        best, place = np.float32(-np.inf), 0
        for i, x in enumerate(left.ravel()):
            if x > best:
                best, place = x, i
        top[k], at[k] = best, place
        left.ravel()[place] = -np.inf
    return top, at


@numba.njit
def gate(logits: Array) -> Array:
    n, e = logits.shape
    out = np.empty((n, 2), np.int64)
    for k in range(n):
        first, second, i, j = np.float32(-np.inf), np.float32(-np.inf), e, e
        for q in range(e):
            if logits[k, q] > first:
                first, second, i, j = logits[k, q], first, q, i
            elif logits[k, q] > second:
                second, j = logits[k, q], q
        out[k, 0], out[k, 1] = i, j
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        adpcm,
        independent,
        probe,
        bloom,
        bootstrap,
        nearest_seed,
        seam,
        known,
        parents,
        placed,
        nearest_class,
        beam,
        gate,
    )
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, s = np.random.default_rng(0), 8 if large else 1
    n, (h, w) = 4000 * s * s, (60 * s, 80 * s)
    steps = (7 * 1.1 ** np.arange(89)).astype(np.int32)
    moves = np.array([-1, -1, -1, -1, 2, 4, 6, 8] * 2, np.int32)
    near = random.integers(-1, n // 8, (n // 8, 6)).astype(np.int32)
    near[near == np.arange(n // 8)[:, None]] = -1
    keys = random.integers(1, 2**32, n // 2).astype(np.uint32)
    others = random.integers(1, 2**32, n).astype(np.uint32)
    queries = np.where(random.random(n) < 0.6, random.choice(keys, n), others)
    words = random.integers(0, 2**64, (2, n // 16), np.uint64)
    seeds = np.where(random.random((h, w)) < 0.01, np.arange(h * w).reshape(h, w), -1)
    numbers, xs = random.integers(-n // 8, n // 4, 4 * n).astype(np.int32), random.random(4 * n, np.float32)
    return {
        "adpcm": (steps, moves, random.integers(0, 256, (16 * s, 256)).astype(np.uint8)),
        "independent": (near, random.integers(0, 2**32, n // 8).astype(np.uint32)),
        "probe": (*filled(keys, n), queries),
        "bloom": (5, words[0] | words[1], others),
        "bootstrap": (20 * s, random.random(n // 8, np.float32)),
        "nearest_seed": (seeds.astype(np.int32),),
        "seam": (random.integers(0, 1000, (4 * h, w)).astype(np.int32),),
        "known": (xs[: n // 4], numbers),
        "parents": (numbers, xs),
        "placed": (n, random.permutation(4 * n).astype(np.int32) - n, xs),
        "nearest_class": (
            random.random((40 * s, 8), np.float32),
            random.integers(0, 10, 40 * s).astype(np.int32),
            random.random((n // 40, 8), np.float32),
        ),
        "beam": (random.random(5, np.float32), random.random((5, n), np.float32)),
        "gate": (random.random((n // 4, 16), np.float32),),
    }
