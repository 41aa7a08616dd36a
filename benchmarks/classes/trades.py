"""Kernels of trades: signals, bytes, finance, physics, images, layers, combinatorics: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit(fastmath=True)
def autocorrelation(lags: int, xs: Array) -> Array:
    out = np.empty(lags, xs.dtype)
    for lag in range(lags):
        total = np.float32(0)
        for i in range(len(xs) - lag):
            total += xs[i] * xs[i + lag]
        out[lag] = total
    return out


@numba.njit(fastmath=True)
def decimate(taps: Array, xs: Array) -> Array:
    out = np.empty((len(xs) - len(taps)) // 4 + 1, xs.dtype)
    for i in range(len(out)):
        total = np.float32(0)
        for j in range(len(taps)):
            total += taps[j] * xs[4 * i + j]
        out[i] = total
    return out


@numba.njit
def biquads(b: Array, a: Array, xs: Array) -> Array:
    out = np.empty_like(xs)
    for c in range(xs.shape[0]):
        s = t = 0.0
        for i in range(xs.shape[1]):
            x = xs[c, i]
            y = b[0] * x + s
            out[c, i] = y
            s, t = b[1] * x - a[0] * y + t, b[2] * x - a[1] * y
    return out


@numba.njit
def haar(xs: Array) -> Array:
    xs, m = xs.copy(), len(xs)
    tmp = np.empty_like(xs)
    while m > 1:
        h = m // 2
        for i in range(h):
            tmp[i] = (xs[2 * i] + xs[2 * i + 1]) * np.float32(0.5)
            tmp[h + i] = (xs[2 * i] - xs[2 * i + 1]) * np.float32(0.5)
        xs[:m] = tmp[:m]
        m = h
    return xs


@numba.njit(fastmath=True)
def page_rank(rounds: int, into: Array, out: Array) -> Array:
    n, d = into.shape
    rank, share = np.full(n, 1 / n), np.empty(n)
    for _ in range(rounds):
        for i in range(n):
            share[i] = rank[i] / out[i]
        for i in range(n):
            total = 0.0
            for j in range(d):
                total += share[into[i, j]]
            rank[i] = 0.15 / n + 0.85 * total
    return rank


@numba.njit
def upper(text: Array) -> Array:
    out = np.empty_like(text)
    for i in range(len(text)):
        c = text[i]
        out[i] = c - 32 if 97 <= c <= 122 else c
    return out


@numba.njit
def words(text: Array) -> int:
    count, before = 0, True
    for c in text:
        space = (c == 32) | (c == 10) | (c == 9)
        count += before & (not space)
        before = space
    return count


@numba.njit
def base64(table: Array, data: Array) -> Array:
    out = np.empty(4 * len(data), np.uint8)
    for i in range(len(data)):
        w = (np.uint32(data[i, 0]) << 16) | (np.uint32(data[i, 1]) << 8) | np.uint32(data[i, 2])
        out[4 * i] = table[(w >> 18) & 63]
        out[4 * i + 1] = table[(w >> 12) & 63]
        out[4 * i + 2] = table[(w >> 6) & 63]
        out[4 * i + 3] = table[w & 63]
    return out


@numba.njit
def crc(table: Array, data: Array) -> Any:
    c = np.uint32(0xFFFFFFFF)
    for x in data:
        c = table[(c ^ x) & np.uint32(255)] ^ (c >> np.uint32(8))
    return np.uint32(0xFFFFFFFF) ^ c


@numba.njit(fastmath=True)
def moments(xs: Array) -> tuple[Array, Array, Array]:
    n, d = xs.shape
    mean, second, third = np.zeros(d), np.zeros(d), np.zeros(d)
    for i in range(n):
        for j in range(d):
            mean[j] += xs[i, j]
    mean /= n
    for i in range(n):
        for j in range(d):
            x = xs[i, j] - mean[j]
            second[j] += x * x
            third[j] += x * x * x
    s = np.sqrt(second / n)
    return mean, s, third / n / (s * s * s)


@numba.njit
def median5(xs: Array) -> Array:
    out = np.empty(len(xs) - 4, xs.dtype)
    for i in range(len(out)):
        a, b = min(xs[i], xs[i + 1]), max(xs[i], xs[i + 1])
        d, e = min(xs[i + 3], xs[i + 4]), max(xs[i + 3], xs[i + 4])
        a, d = min(a, d), max(a, d)
        b, e = min(b, e), max(b, e)
        c = xs[i + 2]
        b, c = min(b, c), max(b, c)
        c, d = min(c, d), max(c, d)
        out[i] = c if a > e else max(b, min(c, d))
    return out


@numba.njit
def drawdown(prices: Array) -> float:
    peak, worst = prices[0], 0.0
    for p in prices:
        peak = max(peak, p)
        worst = max(worst, (peak - p) / peak)
    return worst


@numba.njit(fastmath=True)
def binomial(steps: int, strikes: Array) -> Array:
    dt = 1 / steps
    up = np.exp(0.3 * np.sqrt(dt))
    p, disc = (np.exp(0.02 * dt) - 1 / up) / (up - 1 / up), np.exp(-0.02 * dt)
    out, v = np.empty_like(strikes), np.empty(steps + 1)
    for m in range(len(strikes)):
        for j in range(steps + 1):
            v[j] = max(0.0, strikes[m] - 100 * up ** (2.0 * j - steps))
        for t in range(steps):
            for j in range(steps - t):
                v[j] = disc * (p * v[j + 1] + (1 - p) * v[j])
        out[m] = v[0]
    return out


@numba.njit(fastmath=True)
def monte_carlo(steps: int, seeds: Array) -> Any:
    total = np.float32(0)
    for k in range(len(seeds)):
        s, x = seeds[k], np.float32(1)
        for _ in range(steps):
            s ^= np.uint32(s << np.uint32(13))
            s ^= np.uint32(s >> np.uint32(17))
            s ^= np.uint32(s << np.uint32(5))
            part = np.float32(s >> np.uint32(8)) / np.float32(16777216)
            x *= np.float32(1) + np.float32(0.02) * (part - np.float32(0.5))
        total += x
    return total / np.float32(len(seeds))


@numba.njit
def wave(steps: int, start: Array) -> Array:
    h, w = start.shape
    u, v, two = start.copy(), start.copy(), np.float32(2)
    for _ in range(steps):
        out = np.zeros_like(u)
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - np.float32(4) * u[i, j]
                out[i, j] = two * u[i, j] - v[i, j] + np.float32(0.2) * around
        u, v = out, u
    return u


@numba.njit(fastmath=True)
def forces(cut: float, xs: Array, ys: Array, zs: Array) -> tuple[Array, Array, Array]:
    fx, fy, fz = np.empty_like(xs), np.empty_like(xs), np.empty_like(xs)
    for i in range(len(xs)):
        a = b = c = 0.0
        for j in range(len(xs)):
            dx, dy, dz = xs[i] - xs[j], ys[i] - ys[j], zs[i] - zs[j]
            r2 = dx * dx + dy * dy + dz * dz
            if 0 < r2 < cut:
                s = 1 / r2
                s6 = s * s * s
                f = 24 * s * s6 * (2 * s6 - 1)
                a, b, c = a + f * dx, b + f * dy, c + f * dz
        fx[i], fy[i], fz[i] = a, b, c
    return fx, fy, fz


@numba.njit
def sobel(image: Array) -> Array:
    h, w = image.shape
    p = np.empty((h + 2, w + 2), np.int32)
    p[1:-1, 1:-1] = image
    p[0, 1:-1], p[-1, 1:-1] = image[0], image[-1]
    p[:, 0], p[:, -1] = p[:, 1], p[:, -2]
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            gx = p[i, j + 2] + 2 * p[i + 1, j + 2] + p[i + 2, j + 2] - p[i, j] - 2 * p[i + 1, j] - p[i + 2, j]
            gy = p[i + 2, j] + 2 * p[i + 2, j + 1] + p[i + 2, j + 2] - p[i, j] - 2 * p[i, j + 1] - p[i, j + 2]
            out[i, j] = min(255, abs(gx) + abs(gy))
    return out


@numba.njit(fastmath=True)
def resize(p: int, q: int, image: Array) -> Array:
    h, w = image.shape
    out = np.empty((p, q), image.dtype)
    one = np.float32(1)
    for i in range(p):
        y = np.float32(i * (h - 1)) / np.float32(p - 1)
        a = min(h - 2, int(y))
        dy = y - np.float32(a)
        for j in range(q):
            x = np.float32(j * (w - 1)) / np.float32(q - 1)
            b = min(w - 2, int(x))
            dx = x - np.float32(b)
            upper = (one - dx) * image[a, b] + dx * image[a, b + 1]
            out[i, j] = (one - dy) * upper + dy * ((one - dx) * image[a + 1, b] + dx * image[a + 1, b + 1])
    return out


@numba.njit
def integral(image: Array) -> Array:
    h, w = image.shape
    out = np.empty_like(image)
    for i in range(h):
        row = 0
        for j in range(w):
            row += image[i, j]
            out[i, j] = row + (out[i - 1, j] if i else 0)
    return out


@numba.njit
def im2col(k: int, image: Array) -> Array:
    c, h, w = image.shape
    p, q = h - k + 1, w - k + 1
    out = np.empty((c * k * k, p * q), image.dtype)
    for r in range(c * k * k):
        for i in range(p):
            out[r, i * q : (i + 1) * q] = image[r // (k * k), i + r // k % k, r % k : r % k + q]
    return out


@numba.njit(fastmath=True)
def cross_entropy(logits: Array, labels: Array) -> tuple[Any, Array]:
    n, c = logits.shape
    out, loss = np.empty_like(logits), np.float32(0)
    for i in range(n):
        top = logits[i].max()
        total = np.float32(0)
        for j in range(c):
            out[i, j] = np.exp(logits[i, j] - top)
            total += out[i, j]
        for j in range(c):
            out[i, j] = out[i, j] / total / np.float32(n)
        loss += top + np.log(total) - logits[i, labels[i]]
        out[i, labels[i]] -= np.float32(1) / np.float32(n)
    return loss / np.float32(n), out


@numba.njit(fastmath=True)
def batch_norm(xs: Array) -> Array:
    n, c, s = xs.shape
    out = np.empty_like(xs)
    for k in range(c):
        mean = np.float32(0)
        for i in range(n):
            for j in range(s):
                mean += xs[i, k, j]
        mean /= np.float32(n * s)
        var = np.float32(0)
        for i in range(n):
            for j in range(s):
                var += (xs[i, k, j] - mean) ** 2
        scale = np.float32(1) / np.sqrt(var / np.float32(n * s) + np.float32(1e-5))
        for i in range(n):
            for j in range(s):
                out[i, k, j] = (xs[i, k, j] - mean) * scale
    return out


@numba.njit(fastmath=True)
def adam(t: float, g: Array, m: Array, v: Array, w: Array) -> tuple[Array, Array, Array]:
    c1, c2 = np.float32(1 - 0.9**t), np.float32(1 - 0.999**t)
    nm, nv, nw = np.empty_like(m), np.empty_like(v), np.empty_like(w)
    for i in range(len(g)):
        nm[i] = np.float32(0.9) * m[i] + np.float32(0.1) * g[i]
        nv[i] = np.float32(0.999) * v[i] + np.float32(0.001) * g[i] * g[i]
        nw[i] = w[i] - np.float32(0.01) * (nm[i] / c1) / (np.sqrt(nv[i] / c2) + np.float32(1e-8))
    return nm, nv, nw


@numba.njit
def collatz(n: int) -> int:
    best = 0
    for k in range(n):
        x, count = k + 1, 1
        while x > 1:
            x = x >> 1 if x & 1 == 0 else 3 * x + 1
            count += 1
        best = max(best, count)
    return best


@numba.njit
def pascal(n: int) -> Array:
    row, out = np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    row[0] = 1
    for _ in range(n - 1):
        out[0] = row[0]
        for i in range(1, n):
            out[i] = row[i] + row[i - 1]
        row, out = out, row
    return row


@numba.njit
def increasing(xs: Array) -> int:
    tails, size = np.empty_like(xs), 0
    for x in xs:
        lo, hi = 0, size
        while lo < hi:
            mid = (lo + hi) // 2
            if tails[mid] < x:
                lo = mid + 1
            else:
                hi = mid
        tails[lo] = x
        size = max(size, lo + 1)
    return size


@numba.njit
def chains(dims: Array) -> int:
    n = len(dims) - 1
    best = np.zeros((n, n), np.int64)
    for length in range(1, n):
        for i in range(n - length):
            j, low = i + length, np.int64(2**62)
            for k in range(i, j):
                low = min(low, best[i, k] + best[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1])
            best[i, j] = low
    return best[0, n - 1]


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        autocorrelation, decimate, biquads, haar, page_rank, upper, words, base64, crc, moments, median5,
        drawdown, binomial, monte_carlo, wave, forces, sobel, resize, integral, im2col, cross_entropy, batch_norm,
        adam, collatz, pascal, increasing, chains,
    )
}  # fmt: skip


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, s = np.random.default_rng(0), 8 if large else 1
    f32, n = np.float32, 4096 * s * s
    signal, text = random.random(n, f32), random.integers(32, 123, n).astype(np.uint8)
    points = random.random((3, 256 * s)) * 10
    rgb = random.integers(0, 256, (n // 3, 3)).astype(np.uint8)
    return {
        "autocorrelation": (64, signal),
        "decimate": (random.random(31, f32), signal),
        "biquads": (random.random(3) * 0.3, random.random(2) * 0.3, random.random((8 * s, 512 * s))),
        "haar": (signal,),
        "page_rank": (10, random.integers(0, n // 4, (n // 4, 8)).astype(np.int32), random.random(n // 4) + 1),
        "upper": (text,),
        "words": (text,),
        "base64": (random.integers(0, 256, 64).astype(np.uint8), rgb),
        "crc": (random.integers(0, 1 << 32, 256).astype(np.uint32), text),
        "moments": (random.random((512 * s, 8 * s)),),
        "median5": (random.integers(0, 1000, n).astype(np.int32),),
        "drawdown": (random.random(n) + 1,),
        "binomial": (64 * s, random.random(8 * s) * 50 + 75),
        "monte_carlo": (64, random.integers(1, 1 << 32, 64 * s * s).astype(np.uint32)),
        "wave": (20, random.random((64 * s, 64 * s), f32)),
        "forces": (9.0, *points),
        "sobel": (random.integers(0, 256, (64 * s, 64 * s)).astype(np.uint8),),
        "resize": (80 * s, 96 * s, random.random((64 * s, 64 * s), f32)),
        "integral": (random.integers(0, 256, (64 * s, 64 * s)).astype(np.int32),),
        "im2col": (3, random.random((4, 16 * s, 16 * s), f32)),
        "cross_entropy": (random.random((32 * s, 10 * s), f32), random.integers(0, 10 * s, 32 * s)),
        "batch_norm": (random.random((4 * s, 16, 64 * s), f32),),
        "adam": (f32(3), *(random.random(n, f32) for _ in range(4))),
        "collatz": (1000 * s,),
        "pascal": (32 * s,),
        "increasing": (random.integers(0, 1 << 30, n).astype(np.int32),),
        "chains": (random.integers(1, 100, 16 * s + 1),),
    }
