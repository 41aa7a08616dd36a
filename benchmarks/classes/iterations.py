"""Iterations until something holds: loops of NumPy on whole arrays, compiled, for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def kepler(eccentricity: float, ms: Array) -> Array:
    es, going = ms.copy(), len(ms) > 0
    while going:
        worst = 0.0
        for i in range(len(ms)):
            e = es[i]
            step = (e - eccentricity * np.sin(e) - ms[i]) / (1 - eccentricity * np.cos(e))
            es[i] = e - step
            worst = max(worst, abs(step))
        going = worst >= 1e-12
    return es


@numba.njit
def bisect(ys: Array) -> Array:
    lo, hi, going = np.zeros_like(ys), ys + 1, len(ys) > 0
    while going:
        going = False
        for i in range(len(ys)):
            mid = 0.5 * (lo[i] + hi[i])
            if mid * mid * mid < ys[i]:
                lo[i] = mid
            else:
                hi[i] = mid
            going |= hi[i] - lo[i] > 1e-9
    return lo


@numba.njit
def components(n: int, us: Array, vs: Array) -> Array:
    labels, going = np.arange(n), True
    following = labels.copy()
    while going:
        for e in range(len(us)):
            u, v = us[e], vs[e]
            low = min(labels[u], labels[v])
            following[u], following[v] = min(following[u], low), min(following[v], low)
        going = False
        for i in range(n):
            going |= labels[i] != following[i]
            labels[i] = following[i]
    return labels


@numba.njit
def jump(parents: Array) -> Array:
    ps, following, going = parents.copy(), np.empty_like(parents), True
    while going:
        going = False
        for i in range(len(ps)):
            following[i] = ps[ps[i]]
            going |= following[i] != ps[i]
        ps, following = following, ps
    return ps


@numba.njit(fastmath=True)
def power(a: Array) -> tuple[float, int]:
    n, value, before, k = len(a), 0.0, 1e300, 0
    x, y = np.ones(n), np.empty(n)
    while abs(value - before) > 1e-10 and k < 1000:
        square = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += a[i, j] * x[j]
            y[i] = total
            square += total * total
        before, value, k = value, np.sqrt(square), k + 1
        for i in range(n):
            x[i] = y[i] / value
    return value, k


@numba.njit(fastmath=True)
def conjugate(a: Array, b: Array) -> Array:
    n = len(b)
    x, r, p, ap, rs = np.zeros(n), b.copy(), b.copy(), np.empty(n), 0.0
    for i in range(n):
        rs += b[i] * b[i]
    while rs > 1e-16:
        along = 0.0
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += p[j] * a[i, j]
            ap[i] = total
            along += p[i] * total
        alpha, following = rs / along, 0.0
        for i in range(n):
            x[i] += alpha * p[i]
            r[i] -= alpha * ap[i]
            following += r[i] * r[i]
        for i in range(n):
            p[i] = r[i] + following / rs * p[i]
        rs = following
    return x


@numba.njit
def life(steps: int, board: Array) -> Array:
    h, w = board.shape
    board, out = board.copy(), np.empty_like(board)
    for _ in range(steps):
        for i in range(h):
            up, down = (i - 1) % h, (i + 1) % h
            for j in range(w):
                left, right = j - 1 if j > 0 else w - 1, j + 1 if j < w - 1 else 0
                around = board[up, left] + board[up, j] + board[up, right] + board[i, left]
                around += board[i, right] + board[down, left] + board[down, j] + board[down, right]
                out[i, j] = around == 3 or (around == 2 and board[i, j] == 1)
        board, out = out, board
    return board


@numba.njit
def primes(n: int) -> Array:
    prime, p = np.ones(n, np.bool_), 2
    prime[:2] = False
    while p * p < n:
        if prime[p]:
            prime[p * p :: p] = False
        p += 1
    return np.nonzero(prime)[0]


@numba.njit
def steps_to_one(xs: Array) -> Array:
    xs, counts, going = xs.copy(), np.zeros(len(xs), np.int32), True
    while going:
        going = False
        for i in range(len(xs)):
            x = xs[i]
            if x > 1:
                xs[i] = x // 2 if x % 2 == 0 else 3 * x + 1
                counts[i] += 1
                going |= xs[i] > 1
    return counts


@numba.njit
def active(xs: Array) -> int:
    xs = xs[xs > 1]
    count, total = len(xs), 0
    while count > 0:
        total, kept = total + count, 0
        for i in range(count):
            x = xs[i]
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            if x > 1:
                xs[kept] = x
                kept += 1
        count = kept
    return total


@numba.njit(fastmath=True)
def descend(xs: Array, ys: Array) -> tuple[Array, int]:
    n, d = xs.shape
    w, loss, before, k = np.zeros(d), 1e300, 1e301, 0
    while before - loss > 1e-9 and k < 2000:
        slope, total = np.zeros(d), 0.0
        for i in range(n):
            error = -ys[i]
            for j in range(d):
                error += xs[i, j] * w[j]
            for j in range(d):
                slope[j] += xs[i, j] * error
            total += error * error
        for j in range(d):
            w[j] -= 0.5 / n * slope[j]
        before, loss, k = loss, total, k + 1
    return w, k


@numba.njit
def clusters(xs: Array, ys: Array, cx: Array, cy: Array) -> Array:
    n, k, going = len(xs), len(cx), True
    of, cx, cy = np.full(n, -1), cx.copy(), cy.copy()
    while going:
        going = False
        counts, sx, sy = np.zeros(k), np.zeros(k), np.zeros(k)
        for i in range(n):
            best, which = np.inf, k
            for j in range(k):
                d = (cx[j] - xs[i]) ** 2 + (cy[j] - ys[i]) ** 2
                if d < best:
                    best, which = d, j
            going |= of[i] != which
            of[i] = which
            counts[which] += 1
            sx[which] += xs[i]
            sy[which] += ys[i]
        for j in range(k):
            if counts[j] > 0:
                cx[j], cy[j] = sx[j] / counts[j], sy[j] / counts[j]
    return of


@numba.njit
def shortest(n: int, us: Array, vs: Array, ws: Array, start: int) -> Array:
    dist, going = np.full(n, np.inf), True
    dist[start] = 0
    following = dist.copy()
    while going:
        for e in range(len(us)):
            following[vs[e]] = min(following[vs[e]], dist[us[e]] + ws[e])
        going = False
        for i in range(n):
            going |= dist[i] != following[i]
            dist[i] = following[i]
    return dist


@numba.njit(fastmath=True)
def recurrent(w: Array, xs: Array) -> Array:
    d = len(w)
    h, out = np.zeros(d, np.float32), np.empty(d, np.float32)
    for t in range(len(xs)):
        for i in range(d):
            total = xs[t, i]
            for j in range(d):
                total += w[i, j] * h[j]
            out[i] = np.tanh(total)
        h, out = out, h
    return h


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        kepler, bisect, components, jump, power, conjugate, life, primes, steps_to_one, active, descend, clusters,
        shortest, recurrent,
    )
}  # fmt: skip


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones whose rounds are a microsecond of work or larger ones."""
    random, n = np.random.default_rng(0), 1 << (14 if large else 6)
    d, points = (256, 4096) if large else (16, 64)
    matrix = random.random((d, d))
    symmetric = matrix + matrix.T
    us, vs = random.integers(0, n, 2 * n), random.integers(0, n, 2 * n)
    chain = np.maximum(np.arange(n) - random.integers(1, 4, n), 0)
    features = random.standard_normal((points, 8))
    return {
        "kepler": (0.6, random.random(n) * 3),
        "bisect": (random.random(n) * 10,),
        "components": (n, us, vs),
        "jump": (chain,),
        "power": (symmetric,),
        "conjugate": (symmetric + 2 * d * np.eye(d), random.random(d)),
        "life": (50, random.integers(0, 2, (d, d)).astype(np.uint8)),
        "primes": (64 * n,),
        "steps_to_one": (random.integers(1, 1000, n),),
        "active": (random.integers(1, 1000, n),),
        "descend": (features, features @ random.random(8) + 0.1 * random.standard_normal(points)),
        "clusters": (random.random(n), random.random(n), random.random(8), random.random(8)),
        "shortest": (n, us, vs, random.random(2 * n), 0),
        "recurrent": ((random.random((d, d)) / d).astype(np.float32), random.random((64, d), np.float32)),
    }
