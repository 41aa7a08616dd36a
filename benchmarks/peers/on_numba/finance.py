"""FinPar's LocVolCalib and OptionPricing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from ..on_numpy.finance import calibration_grid, second_difference
from ..on_numpy.optionpricing import QUANTILE_CENTRE, QUANTILE_FAR_TAIL, QUANTILE_TAIL
from .compiled import inlined, parallel

Array = NDArray[Any]


@inlined
def solved_rows(a: Array, b: Array, c: Array, u: Array, pivots: Array) -> None:
    """Thomas' algorithm down the rows of u, for all columns at once; coefficients [n][m]."""
    n, m = u.shape
    for j in range(m):
        pivots[0, j] = b[0, j]
    for i in range(1, n):
        for j in range(m):
            factor = a[i, j] / pivots[i - 1, j]
            pivots[i, j] = b[i, j] - factor * c[i - 1, j]
            u[i, j] -= factor * u[i - 1, j]
    for j in range(m):
        u[n - 1, j] /= pivots[n - 1, j]
    for i in range(n - 2, -1, -1):
        for j in range(m):
            u[i, j] = (u[i, j] - c[i, j] * u[i + 1, j]) / pivots[i, j]


@parallel
def calibrated(
    outer: int, xs: Array, ys: Array, times: Array, dxx: Array, dyy: Array, nu: float, beta: float, at_x: int, at_y: int
) -> Array:
    nx, ny = len(xs), len(ys)
    out = np.empty(outer, np.float32)
    half = np.float32(0.5)
    for s in prange(outer):
        value = np.empty((nx, ny), np.float32)
        u, in_y = np.empty((nx, ny), np.float32), np.empty((nx, ny), np.float32)
        turned = np.empty((ny, nx), np.float32)
        pivots, turned_pivots = np.empty((nx, ny), np.float32), np.empty((ny, nx), np.float32)
        a, b, c = np.empty((nx, ny), np.float32), np.empty((nx, ny), np.float32), np.empty((nx, ny), np.float32)
        ta, tb, tc = np.empty((ny, nx), np.float32), np.empty((ny, nx), np.float32), np.empty((ny, nx), np.float32)
        strike = np.float32(0.001) * np.float32(s)
        for i in range(nx):
            value[i, :] = max(xs[i] - strike, np.float32(0))
        for k in range(len(times) - 2, -1, -1):
            dt_inv = np.float32(1) / (times[k + 1] - times[k])
            for i in range(nx):
                log_x = beta * math.log(xs[i])
                up, down = max(0, i - 1), min(nx - 1, i + 1)
                for j in range(ny):
                    variance = half * math.exp(np.float32(2) * (log_x + ys[j] - half * nu * nu * times[k]))
                    left, right = max(0, j - 1), min(ny - 1, j + 1)
                    along = dyy[0, j] * value[i, left] + dyy[1, j] * value[i, j] + dyy[2, j] * value[i, right]
                    in_y[i, j] = half * nu * nu * along
                    across = dxx[0, i] * value[up, j] + dxx[1, i] * value[i, j] + dxx[2, i] * value[down, j]
                    u[i, j] = dt_inv * value[i, j] + half * variance * across + in_y[i, j]
                    a[i, j] = -half * variance * dxx[0, i]
                    b[i, j] = dt_inv - half * variance * dxx[1, i]
                    c[i, j] = -half * variance * dxx[2, i]
            solved_rows(a, b, c, u, pivots)
            for i in range(nx):
                for j in range(ny):
                    turned[j, i] = dt_inv * u[i, j] - half * in_y[i, j]
            for j in range(ny):
                for i in range(nx):
                    ta[j, i] = -half * half * nu * nu * dyy[0, j]
                    tb[j, i] = dt_inv - half * half * nu * nu * dyy[1, j]
                    tc[j, i] = -half * half * nu * nu * dyy[2, j]
            solved_rows(ta, tb, tc, turned, turned_pivots)
            for i in range(nx):
                for j in range(ny):
                    value[i, j] = turned[j, i]
        out[s] = value[at_x, at_y]
    return out


def locvolcalib(
    outer: int, nx: int, ny: int, nt: int, s0: float, t: float, alpha: float, nu: float, beta: float
) -> Array:
    market = map(float, (s0, t, alpha, nu))
    grids, (at_x, at_y) = calibration_grid(int(nx), int(ny), int(nt), *market)
    xs, ys, times = (grid.astype(np.float32) for grid in grids)
    return calibrated(
        int(outer), xs, ys, times, second_difference(xs), second_difference(ys), nu, beta, at_x, at_y
    )  # fmt: skip


# ---- option pricing -------------------------------------------------------------------------------------------------

CENTRE, TAIL, FAR_TAIL = (np.array(p, np.float32) for p in (QUANTILE_CENTRE, QUANTILE_TAIL, QUANTILE_FAR_TAIL))


@inlined
def rational(table: Array, x: float) -> float:
    over, under = table[0, 7], table[1, 7]
    for k in range(6, -1, -1):
        over = over * x + table[0, k]
        under = under * x + table[1, k]
    return over / under


@inlined
def quantile(p: float) -> float:
    q = p - np.float32(0.5)
    if abs(q) <= np.float32(0.425):
        return q * rational(CENTRE, np.float32(0.180625) - q * q)
    r = np.float32(math.sqrt(-math.log(p if q < 0 else np.float32(1) - p)))
    if r <= np.float32(5):
        x = rational(TAIL, r - np.float32(1.6))
    else:
        x = rational(FAR_TAIL, r - np.float32(5))
    return -x if q < 0 else x


@inlined
def worst_of(prices: Array) -> float:
    return min(min(prices[0] / np.float32(3758.05), prices[1] / np.float32(11840)), prices[2] / np.float32(1200))


@inlined
def pays(contract: int, factors: Array, discounts: Array, prices: Array) -> float:
    """What the prices [dates][assets] of a path pay."""
    dates = len(prices)
    if contract == 1:
        return discounts[0] * factors[0] * max(np.float32(0), prices[0, 0] - np.float32(4000))
    if contract == 2:
        for date in range(5):
            worst = worst_of(prices[date])
            if worst >= np.float32(1):
                return np.float32(1150 + 150 * date) * discounts[date]
        worst = worst_of(prices[4])
        return discounts[4] * (np.float32(1000) if worst > np.float32(0.75) else np.float32(1000) * worst)
    touched = False
    for date in range(dates):
        low = prices[date, 0] <= np.float32(2630.635) or prices[date, 1] <= np.float32(8288)
        touched = touched or low or prices[date, 2] <= np.float32(840)
    worst = worst_of(prices[dates - 1])
    amount = np.float32(1000) * worst if touched and worst < np.float32(1) else np.float32(1000)
    return np.float32(100) * discounts[0] + discounts[1] * amount


@parallel
def priced(
    contract: int, paths: int, pieces: int, directions: Array, correlations: Array, volatilities: Array, drifts: Array,
    starts: Array, factors: Array, discounts: Array, indices: Array, weights: Array,
) -> Array:  # fmt: skip
    models, dates, assets = volatilities.shape
    bits = directions.shape[1]
    sums = np.zeros((pieces, models), np.float64)
    for t in prange(pieces):
        path = np.zeros((dates + 1, assets), np.float32)
        prices = np.empty((dates, assets), np.float32)
        growth = np.empty(assets, np.float32)
        for n in range(t * paths // pieces, (t + 1) * paths // pieces):
            gray = (n + 1) ^ ((n + 1) >> 1)
            for i in range(dates):
                date, left, right = indices[0, i], indices[1, i], indices[2, i]
                for u in range(assets):
                    row = directions[i * assets + u]
                    x = np.int32(0)
                    for bit in range(bits):
                        if (gray >> bit) & 1:
                            x ^= row[bit]
                    p = min(np.float32(x) / np.float32(2.0**bits), np.float32(0.99999994))
                    step = weights[0, i] * quantile(p)
                    path[date, u] = step + weights[1, i] * path[left, u] + weights[2, i] * path[right, u]
            for m in range(models):
                growth[:] = np.float32(0)
                for i in range(dates):
                    for u in range(assets):
                        x = np.float32(0)
                        for v in range(u + 1):
                            x += correlations[m, u, v] * (path[i + 1, v] - path[i, v])
                        growth[u] += x * volatilities[m, i, u] + drifts[m, i, u]
                        prices[i, u] = starts[m, u] * math.exp(growth[u])
                sums[t, m] += pays(contract, factors[m], discounts[m], prices)
    return sums


def optionpricing(contract: int, paths: int, *arrays: Array) -> Array:
    return (priced(int(contract), int(paths), 64, *arrays).sum(axis=0) / int(paths)).astype(np.float32)
