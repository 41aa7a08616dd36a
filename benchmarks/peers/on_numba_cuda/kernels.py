"""Kernels as one writes them by hand in Numba: a thread for an element or a row, shared memory where it pays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, int32

Array = Any
THREADS = 128
SEQUENCE = 1024
"""The longest sequences that one block aligns."""


def blocks_for(n: int) -> int:
    return max(1, -(-n // THREADS))


# ---- particles ------------------------------------------------------------------------------------------------------


@cuda.jit
def nbody_kernel(xs: Array, ys: Array, zs: Array, ms: Array, ax: Array, ay: Array, az: Array) -> None:
    """A body a thread; the others come by in tiles of shared memory."""
    tile = cuda.shared.array((4, THREADS), float32)
    s, n = cuda.blockIdx.y, xs.shape[1]
    i, t = cuda.blockIdx.x * THREADS + cuda.threadIdx.x, cuda.threadIdx.x
    x = xs[s, i] if i < n else float32(0)
    y = ys[s, i] if i < n else float32(0)
    z = zs[s, i] if i < n else float32(0)
    sx = sy = sz = float32(0)
    for first in range(0, n, THREADS):
        if first + t < n:
            tile[0, t] = xs[s, first + t]
            tile[1, t] = ys[s, first + t]
            tile[2, t] = zs[s, first + t]
            tile[3, t] = ms[s, first + t]
        cuda.syncthreads()
        for k in range(min(THREADS, n - first)):
            dx, dy, dz = tile[0, k] - x, tile[1, k] - y, tile[2, k] - z
            square = dx * dx + dy * dy + dz * dz + float32(0.01)
            pull = tile[3, k] / (square * math.sqrt(square))
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        cuda.syncthreads()
    if i < n:
        ax[s, i] = sx
        ay[s, i] = sy
        az[s, i] = sz


@cuda.jit
def advance_kernel(place: Array, speed: Array, pull: Array, dt: float, new_place: Array, new_speed: Array) -> None:
    i = cuda.grid(1)
    if i < place.size:
        new_speed[i] = speed[i] + float32(dt) * pull[i]
        new_place[i] = place[i] + float32(dt) * new_speed[i]


def nbody_systems(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    b, n = xs.shape
    places, speeds = [xs, ys, zs], [us, vs, ws]
    for _ in range(steps):
        pulls = [cuda.device_array_like(xs) for _ in range(3)]
        nbody_kernel[(blocks_for(n), b), THREADS](*places, ms, *pulls)
        for axis in range(3):
            place, speed = cuda.device_array_like(xs), cuda.device_array_like(xs)
            flat = (part.reshape(b * n) for part in (places[axis], speeds[axis], pulls[axis]))
            advance_kernel[blocks_for(b * n), THREADS](*flat, dt, place.reshape(b * n), speed.reshape(b * n))
            places[axis], speeds[axis] = place, speed
    return (*places, *speeds)


@cuda.jit
def lavamd_kernel(
    side: int, a2: float, vs: Array, xs: Array, ys: Array, zs: Array, charges: Array,
    ov: Array, ox: Array, oy: Array, oz: Array,
) -> None:  # fmt: skip
    """A block for a box; its threads take particles in turns."""
    box, n = cuda.blockIdx.x, vs.shape[1]
    bx, by, bz = box % side, box // side % side, box // (side * side)
    for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        v, x, y, z = vs[box, i], xs[box, i], ys[box, i], zs[box, i]
        sv = sx = sy = sz = float32(0)
        for nz in range(max(0, bz - 1), min(side, bz + 2)):
            for ny in range(max(0, by - 1), min(side, by + 2)):
                for nx in range(max(0, bx - 1), min(side, bx + 2)):
                    other = (nz * side + ny) * side + nx
                    for j in range(n):
                        product = x * xs[other, j] + y * ys[other, j] + z * zs[other, j]
                        potential = charges[other, j] * math.exp(-float32(a2) * (v + vs[other, j] - product))
                        force = float32(2) * potential
                        sv += potential
                        sx += force * (x - xs[other, j])
                        sy += force * (y - ys[other, j])
                        sz += force * (z - zs[other, j])
        ov[box, i] = sv
        ox[box, i] = sx
        oy[box, i] = sy
        oz[box, i] = sz


def lavamd(side: int, alpha: float, vs: Array, xs: Array, ys: Array, zs: Array, charges: Array) -> tuple[Array, ...]:
    out = tuple(cuda.device_array_like(vs) for _ in range(4))
    lavamd_kernel[len(vs), THREADS](side, 2 * alpha * alpha, vs, xs, ys, zs, charges, *out)
    return out


# ---- rows and grids -------------------------------------------------------------------------------------------------


@cuda.jit
def spmv_kernel(off: Array, col: Array, value: Array, x: Array, out: Array) -> None:
    """A warp for a row."""
    lane, row = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    total = float32(0)
    if row < out.size:
        for k in range(off[row] + lane, off[row + 1], 32):
            total += value[k] * x[col[k]]
    for reach in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, reach)
    if lane == 0 and row < out.size:
        out[row] = total


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    rows = len(off) - 1
    out = cuda.device_array(rows, np.float32)
    spmv_kernel[max(1, -(-rows // 4)), (32, 4)](off, col, value, x, out)
    return out


@cuda.jit
def nw_kernel(penalty: int, similar: Array, out: Array) -> None:
    """A block for a pair of sequences, wave by wave along the anti-diagonals."""
    s, n, t = cuda.blockIdx.x, similar.shape[1], cuda.threadIdx.x
    for wave in range(2 * n - 1):
        for i in range(max(0, wave - n + 1) + t, min(wave, n - 1) + 1, cuda.blockDim.x):
            j = wave - i
            above = -penalty * (j + 1) if i == 0 else out[s, i - 1, j]
            left = -penalty * (i + 1) if j == 0 else out[s, i, j - 1]
            corner = -penalty * j if i == 0 else (-penalty * i if j == 0 else out[s, i - 1, j - 1])
            out[s, i, j] = max(max(corner + similar[s, i, j], above - penalty), left - penalty)
        cuda.syncthreads()


def nw(size: int, penalty: int, similar: Array) -> Array:
    out = cuda.device_array_like(similar)
    nw_kernel[len(similar), SEQUENCE](penalty, similar, out)
    return out


@cuda.jit
def pathfinder_kernel(costs: Array, lines: Array, row: int, new: Array) -> None:
    j, s = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, cuda.blockIdx.y
    cols = costs.shape[1]
    if j < cols:
        left, right = costs[s, max(0, j - 1)], costs[s, min(cols - 1, j + 1)]
        new[s, j] = lines[s, row, j] + min(min(left, costs[s, j]), right)


@cuda.jit
def first_row_kernel(grids: Array, out: Array) -> None:
    j, s = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, cuda.blockIdx.y
    if j < out.shape[1]:
        out[s, j] = grids[s, 0, j]


def pathfinder(grids: Array) -> Array:
    n, rows, cols = grids.shape
    costs, new = cuda.device_array((n, cols), np.int32), cuda.device_array((n, cols), np.int32)
    shape = (blocks_for(cols), n)
    first_row_kernel[shape, THREADS](grids, costs)
    for i in range(1, rows):
        pathfinder_kernel[shape, THREADS](costs, grids, i, new)
        costs, new = new, costs
    return costs


# ---- bins, flat programs --------------------------------------------------------------------------------------------

SHARED_BINS = 4096


@cuda.jit
def counts_kernel(h: int, bins: Array, out: Array) -> None:
    """Into shared memory first, for as many bins as fit."""
    own = cuda.shared.array(SHARED_BINS, int32)
    for b in range(cuda.threadIdx.x, h, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), bins.size, cuda.gridsize(1)):
        if 0 <= bins[i] < h:
            cuda.atomic.add(own, bins[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, h, cuda.blockDim.x):
        cuda.atomic.add(out, b, own[b])


@cuda.jit
def many_counts_kernel(h: int, bins: Array, out: Array) -> None:
    i = cuda.grid(1)
    if i < bins.size and 0 <= bins[i] < h:
        cuda.atomic.add(out, bins[i], 1)


def counts(h: int, bins: Array) -> Array:
    out = cuda.to_device(np.zeros(h, np.int32))
    if h <= SHARED_BINS:
        counts_kernel[min(512, blocks_for(len(bins))), THREADS](h, bins, out)
    else:
        many_counts_kernel[blocks_for(len(bins)), THREADS](h, bins, out)
    return out


@cuda.jit
def mandelbrot_kernel(limit: int, xmin: float, ymin: float, dx: float, dy: float, out: Array) -> None:
    i, j = cuda.grid(2)
    height, width = out.shape
    if i < width and j < height:
        re = float32(xmin) + float32(i) * float32(dx) / float32(width)
        im = float32(ymin) + float32(j) * float32(dy) / float32(height)
        x, y, count = re, im, 0
        while count < limit and x * x + y * y <= float32(4):
            x, y = x * x - y * y + re, float32(2) * x * y + im
            count += 1
        out[j, i] = count


def mandelbrot(width: int, height: int, limit: int, xmin: float, ymin: float, xmax: float, ymax: float) -> Array:
    out = cuda.device_array((height, width), np.int32)
    shape = (max(1, -(-width // 16)), max(1, -(-height // 16)))
    mandelbrot_kernel[shape, (16, 16)](limit, xmin, ymin, xmax - xmin, ymax - ymin, out)
    return out


@cuda.jit(device=True)
def normal_cdf(d: float) -> float:
    k = float32(1) / (float32(1) + float32(0.2316419) * abs(d))
    poly = float32(1.330274429) * k - float32(1.821255978)
    poly = (poly * k + float32(1.781477937)) * k - float32(0.356563782)
    poly = poly * k + float32(0.319381530)
    tail = float32(0.39894228040143267) * math.exp(float32(-0.5) * d * d) * poly * k
    return float32(1) - tail if d > 0 else tail


@cuda.jit
def blackscholes_kernel(prices: Array, strikes: Array, years: Array, calls: Array, puts: Array) -> None:
    i = cuda.grid(1)
    if i < prices.size:
        price, strike, time = prices[i], strikes[i], years[i]
        spread = float32(0.3) * math.sqrt(time)
        d1 = (math.log(price / strike) + float32(0.08 + 0.5 * 0.09) * time) / spread
        n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
        discounted = strike * math.exp(float32(-0.08) * time)
        calls[i] = price * n1 - discounted * n2
        puts[i] = discounted * (float32(1) - n2) - price * (float32(1) - n1)


def blackscholes(prices: Array, strikes: Array, years: Array) -> tuple[Array, Array]:
    calls, puts = cuda.device_array_like(prices), cuda.device_array_like(prices)
    blackscholes_kernel[blocks_for(len(prices)), THREADS](prices, strikes, years, calls, puts)
    return calls, puts
