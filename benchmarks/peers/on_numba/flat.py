"""Mandelbrot, Black-Scholes and LU decomposition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import inlined, parallel

Array = NDArray[Any]


@parallel
def mandelbrot(width: int, height: int, limit: int, xmin: float, ymin: float, xmax: float, ymax: float) -> Array:
    out = np.empty((height, width), np.int32)
    for j in prange(height):
        im = ymin + np.float32(j) * (ymax - ymin) / np.float32(height)
        for i in range(width):
            re = xmin + np.float32(i) * (xmax - xmin) / np.float32(width)
            x, y, count = re, im, 0
            while count < limit and x * x + y * y <= np.float32(4):
                x, y = x * x - y * y + re, np.float32(2) * x * y + im
                count += 1
            out[j, i] = count
    return out


@inlined
def normal_cdf(d: float) -> float:
    k = np.float32(1) / (np.float32(1) + np.float32(0.2316419) * abs(d))
    poly = np.float32(1.330274429) * k - np.float32(1.821255978)
    poly = (poly * k + np.float32(1.781477937)) * k - np.float32(0.356563782)
    poly = poly * k + np.float32(0.319381530)
    tail = np.float32(0.39894228040143267) * math.exp(np.float32(-0.5) * d * d) * poly * k
    return np.float32(1) - tail if d > 0 else tail


@parallel
def blackscholes(prices: Array, strikes: Array, years: Array) -> tuple[Array, Array]:
    calls, puts = np.empty_like(prices), np.empty_like(prices)
    rate, volatility = np.float32(0.08), np.float32(0.3)
    for i in prange(len(prices)):
        price, strike, time = prices[i], strikes[i], years[i]
        spread = volatility * math.sqrt(time)
        d1 = (math.log(price / strike) + (rate + np.float32(0.5) * volatility * volatility) * time) / spread
        n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
        discounted = strike * math.exp(-rate * time)
        calls[i] = price * n1 - discounted * n2
        puts[i] = discounted * (np.float32(1) - n2) - price * (np.float32(1) - n1)
    return calls, puts


@parallel
def lud_in_place(a: Array) -> None:
    n = len(a)
    for k in range(n):
        above = a[k]
        for i in prange(k + 1, n):
            row = a[i]
            factor = row[k] / above[k]
            row[k] = factor
            for j in range(k + 1, n):
                row[j] -= factor * above[j]


def lud(a: Array) -> Array:
    a = a.copy()
    lud_in_place(a)
    return a
