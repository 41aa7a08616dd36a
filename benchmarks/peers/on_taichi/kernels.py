"""Kernels as Taichi's users write them. Their annotations are read by Taichi, so that none is a text."""

from typing import Any

import numpy as np
import taichi as ti
from numpy.typing import NDArray

Array = NDArray[Any]
VECTOR = ti.types.ndarray(ndim=1)
MATRIX = ti.types.ndarray(ndim=2)
CUBE = ti.types.ndarray(ndim=3)


@ti.kernel
def mandelbrot_kernel(limit: ti.i32, xmin: ti.f32, ymin: ti.f32, xmax: ti.f32, ymax: ti.f32, out: MATRIX):
    for j, i in out:
        re = xmin + i * (xmax - xmin) / out.shape[1]
        im = ymin + j * (ymax - ymin) / out.shape[0]
        x, y, count = re, im, 0
        while count < limit and x * x + y * y <= 4.0:
            x, y = x * x - y * y + re, 2.0 * x * y + im
            count += 1
        out[j, i] = count


def mandelbrot(width: int, height: int, limit: int, xmin: float, ymin: float, xmax: float, ymax: float) -> Array:
    out = np.empty((height, width), np.int32)
    mandelbrot_kernel(limit, xmin, ymin, xmax, ymax, out)
    return out


@ti.func
def normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * ti.abs(d))
    poly = (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.319381530
    tail = 0.39894228040143267 * ti.exp(-0.5 * d * d) * poly * k
    return ti.select(d > 0, 1.0 - tail, tail)


@ti.kernel
def blackscholes_kernel(prices: VECTOR, strikes: VECTOR, years: VECTOR, calls: VECTOR, puts: VECTOR):
    for i in prices:
        price, strike, time = prices[i], strikes[i], years[i]
        spread = 0.3 * ti.sqrt(time)
        d1 = (ti.log(price / strike) + (0.08 + 0.5 * 0.3 * 0.3) * time) / spread
        n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
        discounted = strike * ti.exp(-0.08 * time)
        calls[i] = price * n1 - discounted * n2
        puts[i] = discounted * (1.0 - n2) - price * (1.0 - n1)


def blackscholes(prices: Array, strikes: Array, years: Array) -> tuple[Array, Array]:
    calls, puts = np.empty_like(prices), np.empty_like(prices)
    blackscholes_kernel(prices, strikes, years, calls, puts)
    return calls, puts


@ti.kernel
def sum_squares_kernel(xss: MATRIX, out: VECTOR):
    for i in range(xss.shape[0]):
        total = 0.0
        for j in range(xss.shape[1]):
            total += xss[i, j] * xss[i, j]
        out[i] = total


def sum_squares(xss: Array) -> Array:
    out = np.empty(len(xss), xss.dtype)
    sum_squares_kernel(xss, out)
    return out


@ti.kernel
def hotspot_step(heat: CUBE, power: CUBE, out: CUBE, step: ti.f32, rx: ti.f32, ry: ti.f32, rz: ti.f32):
    rows, cols = heat.shape[1], heat.shape[2]
    for k, i, j in heat:
        here = heat[k, i, j]
        above, below = heat[k, ti.max(i - 1, 0), j], heat[k, ti.min(i + 1, rows - 1), j]
        left, right = heat[k, i, ti.max(j - 1, 0)], heat[k, i, ti.min(j + 1, cols - 1)]
        vertical = (above + below - 2.0 * here) / ry
        horizontal = (left + right - 2.0 * here) / rx
        out[k, i, j] = here + step * (power[k, i, j] + vertical + horizontal + (80.0 - here) / rz)


def hotspot(steps: int, starts: Array, powers: Array) -> Array:
    height, width = 0.016 / starts.shape[1], 0.016 / starts.shape[2]
    capacity = 0.5 * 1.75e6 * 0.0005 * width * height
    rx, ry, rz = width / (0.1 * height), height / (0.1 * width), 0.0005 / (100 * height * width)
    step = 0.001 / (3.0e6 / (0.5 * 0.0005 * 1.75e6)) / capacity
    heat, other = starts.copy(), np.empty_like(starts)
    for _ in range(steps):
        hotspot_step(heat, powers, other, step, rx, ry, rz)
        heat, other = other, heat
    return heat


@ti.kernel
def accelerations(xs: MATRIX, ys: MATRIX, zs: MATRIX, ms: MATRIX, ax: MATRIX, ay: MATRIX, az: MATRIX):
    for s, i in xs:
        x, y, z = xs[s, i], ys[s, i], zs[s, i]
        sx, sy, sz = 0.0, 0.0, 0.0
        for j in range(xs.shape[1]):
            dx, dy, dz = xs[s, j] - x, ys[s, j] - y, zs[s, j] - z
            square = dx * dx + dy * dy + dz * dz + 0.01
            pull = ms[s, j] / (square * ti.sqrt(square))
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[s, i], ay[s, i], az[s, i] = sx, sy, sz


def nbody_systems(steps: int, dt: float, *arrays: Array) -> tuple[Array, ...]:
    xs, ys, zs, ms, us, vs, ws = (np.array(array) for array in arrays)
    ax, ay, az = np.empty_like(xs), np.empty_like(xs), np.empty_like(xs)
    for _ in range(steps):
        accelerations(xs, ys, zs, ms, ax, ay, az)
        for velocity, pull in ((us, ax), (vs, ay), (ws, az)):
            velocity += np.float32(dt) * pull
        for place, velocity in ((xs, us), (ys, vs), (zs, ws)):
            place += np.float32(dt) * velocity
    return xs, ys, zs, us, vs, ws
