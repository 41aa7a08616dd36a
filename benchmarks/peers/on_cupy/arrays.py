"""Whole arrays, with fused element-wise kernels; histograms and sparse products by CUB and cuSPARSE."""

from __future__ import annotations

from typing import Any

import cupy
from cupyx.scipy import sparse

Array = Any


def matmul(xss: Array, yss: Array) -> Array:
    return xss @ yss


def dotprod(xs: Array, ys: Array) -> Array:
    return cupy.dot(xs, ys)


def sum_squares(xss: Array) -> Array:
    return cupy.sum(xss * xss, axis=1)


def argmax(xss: Array) -> tuple[Array, Array]:
    places = cupy.argmax(xss, axis=1)
    return cupy.take_along_axis(xss, places[:, None], axis=1)[:, 0], places


def rowscan(xss: Array) -> Array:
    return cupy.cumsum(xss, axis=1)


def softmax(xss: Array) -> Array:
    powers = cupy.exp(xss - xss.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def layernorm(xss: Array, scale: Array, shift: Array) -> Array:
    centred = xss - xss.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred * cupy.float32(1) / cupy.sqrt(variance + cupy.float32(1e-5)) * scale + shift


@cupy.fuse
def cheapest(line: Array, left: Array, here: Array, right: Array) -> Array:
    return line + cupy.minimum(cupy.minimum(left, here), right)


def pathfinder(grids: Array) -> Array:
    most = cupy.iinfo(grids.dtype).max
    padded = cupy.full((len(grids), grids.shape[2] + 2), most, grids.dtype)
    padded[:, 1:-1] = grids[:, 0]
    for i in range(1, grids.shape[1]):
        padded[:, 1:-1] = cheapest(grids[:, i], padded[:, :-2], padded[:, 1:-1], padded[:, 2:])
    return padded[:, 1:-1]


@cupy.fuse
def warmer(
    heat: Array, above: Array, below: Array, left: Array, right: Array, power: Array,
    step: Array, rx: Array, ry: Array, rz: Array,
) -> Array:  # fmt: skip
    change = (above + below - 2 * heat) * ry + (left + right - 2 * heat) * rx
    return heat + step * (power + change + (80 - heat) * rz)


def hotspot(steps: int, starts: Array, powers: Array) -> Array:
    _, rows, cols = starts.shape
    height, width, thickness = 0.016 / rows, 0.016 / cols, 0.0005
    capacity = 0.5 * 1.75e6 * thickness * width * height
    rx, ry = cupy.float32(200 * thickness * height / width), cupy.float32(200 * thickness * width / height)
    rz = cupy.float32(100 * height * width / thickness)
    step = cupy.float32(0.001 / (3.0e6 / (0.5 * thickness * 1.75e6)) / capacity)
    heat = starts
    for _ in range(steps):
        edged = cupy.pad(heat, ((0, 0), (1, 1), (1, 1)), mode="edge")
        heat = warmer(
            heat, edged[:, :-2, 1:-1], edged[:, 2:, 1:-1], edged[:, 1:-1, :-2], edged[:, 1:-1, 2:], powers,
            step, rx, ry, rz,
        )  # fmt: skip
    return heat


def nn(k: int, x: Array, y: Array, xss: Array, yss: Array) -> tuple[Array, Array]:
    """k times the least, which is then taken out."""
    distances = cupy.hypot(xss - x[:, None], yss - y[:, None])
    places = cupy.full((len(x), k), -1)
    found = cupy.full((len(x), k), cupy.inf, xss.dtype)
    sets = cupy.arange(len(x))
    for q in range(min(k, xss.shape[1])):
        nearest = cupy.argmin(distances, axis=1)
        places[:, q], found[:, q] = nearest, distances[sets, nearest]
        distances[sets, nearest] = cupy.inf
    return places, found


def backprop(xs: Array, targets: Array, w1: Array, w2: Array, c1: Array, c2: Array) -> tuple[Array, ...]:
    hidden = sigmoid(w1[0] + xs @ w1[1:])
    outputs = sigmoid(w2[0] + hidden @ w2[1:])
    output_errors = outputs * (1 - outputs) * (targets - outputs)
    hidden_errors = hidden * (1 - hidden) * (w2[1:] @ output_errors)
    new1, new2 = changes(hidden_errors, xs, c1), changes(output_errors, hidden, c2)
    return w1 + new1, w2 + new2, new1, new2


@cupy.fuse
def sigmoid(x: Array) -> Array:
    return 1 / (1 + cupy.exp(-x))


def changes(errors: Array, xs: Array, last: Array) -> Array:
    new = cupy.float32(0.3) * last
    new[0] += cupy.float32(0.3) * errors
    new[1:] += xs[:, None] * (cupy.float32(0.3) * errors)
    return new


def counts(h: int, bins: Array) -> Array:
    return cupy.bincount(bins, minlength=h).astype(cupy.int32)


def sums(h: int, bins: Array, values: Array) -> Array:
    return cupy.bincount(bins, values, minlength=h).astype(values.dtype)


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    places = (value, col.astype(cupy.int32), off.astype(cupy.int32))
    return sparse.csr_matrix(places, shape=(len(off) - 1, len(x))) @ x


@cupy.fuse
def normal_cdf(d: Array) -> Array:
    k = 1 / (1 + 0.2316419 * cupy.abs(d))
    poly = (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.319381530
    tail = 0.39894228040143267 * cupy.exp(-0.5 * d * d) * poly * k
    return cupy.where(d > 0, 1 - tail, tail)


@cupy.fuse
def blackscholes(price: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    spread = 0.3 * cupy.sqrt(years)
    d1 = (cupy.log(price / strike) + (0.08 + 0.5 * 0.09) * years) / spread
    n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
    discounted = strike * cupy.exp(-0.08 * years)
    return price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)
