"""Kernels of many crafts: images, signals, statistics, graphs, physics, bytes: loops for one thread, or NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
F = np.float32


@numba.njit
def warp(mat: Array, image: Array) -> Array:
    h, w = image.shape
    out = np.empty((h, w), F)
    for i in range(h):
        for j in range(w):
            y = mat[0, 0] * F(i) + mat[0, 1] * F(j) + mat[0, 2]
            x = mat[1, 0] * F(i) + mat[1, 1] * F(j) + mat[1, 2]
            fy, fx = np.floor(y), np.floor(x)
            a, b = np.int64(fy), np.int64(fx)
            if a < 0 or b < 0 or a >= h - 1 or b >= w - 1:
                out[i, j] = F(0)
            else:
                dy, dx = y - fy, x - fx
                top = image[a, b] + dx * (image[a, b + 1] - image[a, b])
                bottom = image[a + 1, b] + dx * (image[a + 1, b + 1] - image[a + 1, b])
                out[i, j] = top + dy * (bottom - top)
    return out


@numba.njit
def tile_equalise(k: int, image: Array) -> Array:
    h, w = image.shape
    out = np.empty_like(image)
    for ti in range(h // k):
        for tj in range(w // k):
            tile = image[ti * k : ti * k + k, tj * k : tj * k + k]
            counts = np.zeros(256, np.int32)
            for a in range(k):
                for b in range(k):
                    counts[tile[a, b]] += 1
            for v in range(1, 256):
                counts[v] += counts[v - 1]
            for a in range(k):
                for b in range(k):
                    out[ti * k + a, tj * k + b] = counts[tile[a, b]] * 255 // (k * k)
    return out


def stft(hop: int, window: Array, cos: Array, sin: Array, xs: Array) -> Array:
    frames = np.lib.stride_tricks.sliding_window_view(xs, len(window))[::hop] * window
    return np.hypot(frames @ cos.T, frames @ sin.T)


@numba.njit
def dtw(xs: Array, ys: Array) -> Array:
    q, n = xs.shape
    m = ys.shape[1]
    out, row = np.empty(q), np.empty(m + 1)
    for p in range(q):
        row[:] = np.inf
        row[0] = 0.0
        for i in range(n):
            diag, row[0] = row[0], np.inf
            for j in range(m):
                old = row[j + 1]
                row[j + 1] = abs(xs[p, i] - ys[p, j]) + min(diag, min(old, row[j]))
                diag = old
        out[p] = row[m]
    return out


@numba.njit
def orientations(image: Array) -> tuple[Array, Array]:
    h, w = image.shape
    sizes, angles = np.empty((h, w), F), np.empty((h, w), F)
    for i in range(h):
        for j in range(w):
            x = image[i, min(j + 1, w - 1)] - image[i, max(j - 1, 0)]
            y = image[min(i + 1, h - 1), j] - image[max(i - 1, 0), j]
            sizes[i, j], angles[i, j] = np.hypot(x, y), np.arctan2(y, x)
    return sizes, angles


@numba.njit
def quantiles(bins: int, ps: Array, xs: Array) -> Array:
    n, d = xs.shape
    out, counts = np.empty((d, len(ps)), F), np.zeros((d, bins), np.int64)
    for i in range(n):
        for j in range(d):
            counts[j, min(bins - 1, np.int64(xs[i, j] * F(bins)))] += 1
    for j in range(d):
        for q in range(len(ps)):
            goal, c, b = ps[q] * F(n), 0, 0
            while b < bins and F(c + counts[j, b]) < goal:
                c += counts[j, b]
                b += 1
            out[j, q] = F(b) / F(bins)
    return out


@numba.njit
def nearest(k: int, ps: Array, qs: Array) -> Array:
    n, d = ps.shape
    out, dist = np.empty((len(qs), k), np.int64), np.empty(n, F)
    for q in range(len(qs)):
        for i in range(n):
            s = F(0)
            for c in range(d):
                t = ps[i, c] - qs[q, c]
                s += t * t
            dist[i] = s
        for r in range(k):
            best = 0
            for i in range(1, n):
                if dist[i] < dist[best]:
                    best = i
            out[q, r] = best
            dist[best] = np.inf
    return out


@numba.njit
def group_means(k: int, groups: Array, weights: Array, xs: Array) -> Array:
    sums, totals = np.zeros(k), np.zeros(k)
    for i in range(len(xs)):
        sums[groups[i]] += weights[i] * xs[i]
        totals[groups[i]] += weights[i]
    for g in range(k):
        sums[g] = sums[g] / totals[g] if totals[g] > 0 else 0.0
    return sums


@numba.njit
def triangles(rows: Array, cols: Array) -> int:
    count = 0
    for u in range(len(rows) - 1):
        for e in range(rows[u], rows[u + 1]):
            v = cols[e]
            a, b = e + 1, rows[v]
            while a < rows[u + 1] and b < rows[v + 1]:
                if cols[a] == cols[b]:
                    count, a, b = count + 1, a + 1, b + 1
                elif cols[a] < cols[b]:
                    a += 1
                else:
                    b += 1
    return count


@numba.njit
def core(k: int, n: int, us: Array, vs: Array) -> Array:
    alive = np.ones(n, np.bool_)
    while True:
        degrees, gone = np.zeros(n, np.int64), 0
        for e in range(len(us)):
            if alive[us[e]] and alive[vs[e]]:
                degrees[us[e]] += 1
                degrees[vs[e]] += 1
        for i in range(n):
            if alive[i] and degrees[i] < k:
                alive[i] = False
                gone += 1
        if gone == 0:
            return alive


@numba.njit
def fdtd(steps: int, ex: Array, ey: Array, hz: Array, eps: Array) -> tuple[Array, Array, Array]:
    d, h, w = ex.shape
    a, b, c = ex.copy(), ey.copy(), hz.copy()
    for _ in range(steps):
        for k in range(d - 1):
            for i in range(h - 1):
                for j in range(w - 1):
                    c[k, i, j] -= F(0.5) * ((b[k, i, j + 1] - b[k, i, j]) - (a[k, i + 1, j] - a[k, i, j]))
        for k in range(1, d):
            for i in range(1, h):
                for j in range(1, w):
                    a[k, i, j] += eps[k, i, j] * (c[k, i, j] - c[k, i - 1, j])
                    b[k, i, j] -= eps[k, i, j] * (c[k, i, j] - c[k - 1, i, j])
    return a, b, c


@numba.njit
def tridiagonal(a: Array, b: Array, c: Array, d: Array) -> Array:
    m, n = b.shape
    x, cp = np.empty((m, n)), np.empty(n)
    for k in range(m):
        cp[0], x[k, 0] = c[k, 0] / b[k, 0], d[k, 0] / b[k, 0]
        for i in range(1, n):
            q = b[k, i] - a[k, i] * cp[i - 1]
            cp[i], x[k, i] = c[k, i] / q, (d[k, i] - a[k, i] * x[k, i - 1]) / q
        for i in range(n - 2, -1, -1):
            x[k, i] -= cp[i] * x[k, i + 1]
    return x


@numba.njit
def density(cells: int, h: float, starts: Array, xs: Array, ys: Array) -> Array:
    out = np.empty(len(xs))
    for p in range(len(xs)):
        ci, cj, s = int(ys[p] / h), int(xs[p] / h), 0.0
        for i in range(max(ci - 1, 0), min(ci + 2, cells)):
            for j in range(max(cj - 1, 0), min(cj + 2, cells)):
                for q in range(starts[i * cells + j], starts[i * cells + j + 1]):
                    dx, dy = xs[p] - xs[q], ys[p] - ys[q]
                    t = h * h - (dx * dx + dy * dy)
                    if t > 0:
                        s += t * t * t
        out[p] = s
    return out


@numba.njit
def utf8(text: Array) -> tuple[bool, int]:
    need = count = 0
    for c in text:
        if need:
            if c & 0xC0 != 0x80:
                return False, 0
            need -= 1
        else:
            count += 1
            if c < 0x80:
                need = 0
            elif c >= 0xC2 and c < 0xE0:
                need = 1
            elif c >= 0xE0 and c < 0xF0:
                need = 2
            elif c >= 0xF0 and c < 0xF5:
                need = 3
            else:
                return False, 0
    return need == 0, count if need == 0 else 0


@numba.njit
def pairs(text: Array) -> Array:
    out = np.zeros((256, 256), np.int32)
    for i in range(len(text) - 1):
        out[text[i], text[i + 1]] += 1
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        warp, tile_equalise, stft, dtw, orientations, quantiles, nearest, group_means, triangles, core, fdtd,
        tridiagonal, density, utf8, pairs,
    )
}  # fmt: skip


def graph(random: np.random.Generator, n: int, degree: int) -> tuple[Array, Array, Array]:
    """The edges (u, v), u < v, of a random graph in order, and where those of each u begin."""
    edges = np.sort(random.integers(0, n, (n * degree, 2)), axis=1)
    us, vs = np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0).T.copy()
    return us, vs, np.searchsorted(us, np.arange(n + 1))


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, s = np.random.default_rng(0), 8 if large else 1
    n, size, frame = 4096 * s * s, 128 * s, 64 * (2 if large else 1)
    angles = 2 * np.pi * np.outer(np.arange(frame // 2 + 1), np.arange(frame)) / frame
    mat = np.array([[0.995, -0.1, 5], [0.1, 0.995, -7]], F)
    us, vs, rows = graph(random, 256 * s * s, 8)
    cells, box = 8 * s, (16 * s if large else 16,) * 3
    places = random.random((2, cells * cells * 8))
    cell = (places[1] * cells).astype(int) * cells + (places[0] * cells).astype(int)
    xs, ys = places[:, np.argsort(cell, kind="stable")]
    starts = np.searchsorted(np.sort(cell), np.arange(cells * cells + 1))
    text = np.frombuffer("naïve café — ein Gruß, 漢字 and 🎉; ascii in between. ".encode() * (n // 64), np.uint8).copy()
    bands = random.random((4, 32 * s, 64))
    bands[1] += 4

    def floats(*shape: int) -> Array:
        return random.random(shape, F)

    return {
        "warp": (mat, floats(size, size)),
        "tile_equalise": (16, random.integers(0, 256, (size, size)).astype(np.uint8)),
        "stft": (
            frame // 4,
            np.hanning(frame).astype(F),
            np.cos(angles).astype(F),
            np.sin(angles).astype(F),
            floats(n),
        ),
        "dtw": (random.random((8 * s, 32)), random.random((8 * s, 40))),
        "orientations": (floats(size, size),),
        "quantiles": (1000, np.array([0.05, 0.25, 0.5, 0.75, 0.95], F), floats(n // 2, 8)),
        "nearest": (5, floats(500 * s, 4), floats(8 * s, 4)),
        "group_means": (100 * s, random.integers(0, 100 * s, n).astype(np.int32), random.random(n), random.random(n)),
        "triangles": (rows, vs),
        "core": (12, 256 * s * s, us, vs),
        "fdtd": (4, floats(*box), floats(*box), floats(*box), floats(*box)),
        "tridiagonal": (*bands,),
        "density": (cells, 1 / cells, starts, xs, ys),
        "utf8": (text,),
        "pairs": (random.integers(97, 101, n).astype(np.uint8),),
    }
