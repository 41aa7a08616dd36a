"""Mandelbrot, Black-Scholes, LU decomposition, LocVolCalib, OptionPricing."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..on_numpy.finance import calibration_grid, second_difference
from ..on_numpy.optionpricing import QUANTILE_CENTRE, QUANTILE_FAR_TAIL, QUANTILE_TAIL


def mandelbrot(width: int, height: int, limit: int, xmin: float, ymin: float, xmax: float, ymax: float) -> Array:
    """All points take all steps until the last of them has escaped."""
    real = np.float32
    x = real(xmin) + jnp.arange(width, dtype=real) * (real(xmax) - real(xmin)) / real(width)
    y = real(ymin) + jnp.arange(height, dtype=real) * (real(ymax) - real(ymin)) / real(height)
    re, im = jnp.meshgrid(x, y)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        k, a, b, count = state
        inside = a * a + b * b <= 4
        return k + 1, jnp.where(inside, a * a - b * b + re, a), jnp.where(inside, 2 * a * b + im, b), count + inside

    start = (0, re, im, jnp.zeros((height, width), jnp.int32))
    return lax.while_loop(lambda state: state[0] < limit, step, start)[3]


def blackscholes(price: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    rate, volatility = 0.08, 0.3
    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
    discounted = strike * jnp.exp(-rate * years)
    return price * n1 - discounted * n2, discounted * (1 - n2) - price * (1 - n1)


def normal_cdf(d: Array) -> Array:
    k = 1 / (1 + 0.2316419 * jnp.abs(d))
    poly = (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.319381530
    tail = 0.39894228040143267 * jnp.exp(-0.5 * d * d) * poly * k
    return jnp.where(d > 0, 1 - tail, tail)


def lud(a: Array) -> Array:
    n = len(a)
    places = jnp.arange(n)

    def step(k: int, a: Array) -> Array:
        below = places > k
        factors = jnp.where(below, a[:, k] / a[k, k], 0)
        a = a - factors[:, None] * jnp.where(below, a[k], 0)
        return a.at[:, k].set(jnp.where(below, factors, a[:, k]))

    return lax.fori_loop(0, n, step, a)


# ---- local volatility calibration -----------------------------------------------------------------------------------


def locvolcalib(
    outer: int, nx: int, ny: int, nt: int, s0: float, t: float, alpha: float, nu: float, beta: float
) -> Array:
    """All strikes together, arrays [outer][x][y]; the sequential solvers are scans along their axis."""
    grids, (at_x, at_y) = calibration_grid(nx, ny, nt, s0, t, alpha, nu)
    x, y, times = (grid.astype(np.float32) for grid in grids)
    dxx, dyy = second_difference(x), second_difference(y)
    strikes = np.float32(0.001) * np.arange(outer, dtype=np.float32)
    payoff = jnp.maximum(x[None, :] - strikes[:, None], 0)
    value = jnp.broadcast_to(payoff[:, :, None], (outer, nx, ny))
    along_y = np.float32(0.5 * nu * nu) * dyy

    def step(value: Array, now_and_next: tuple[Array, Array]) -> tuple[Array, None]:
        now, then = now_and_next
        dt_inv = 1 / (then - now)
        variance = jnp.exp(2 * (beta * jnp.log(x)[:, None] + y - 0.5 * nu * nu * now))
        along_x = 0.5 * variance[None] * dxx[:, :, None]
        in_y = applied(along_y[:, None, None, :], value, 2)
        u = dt_inv * value + 0.5 * applied(along_x[:, None], value, 1) + in_y
        u = solved(-0.5 * along_x[0], dt_inv - 0.5 * along_x[1], -0.5 * along_x[2], jnp.swapaxes(u, 0, 1)[:, :, :])
        u = jnp.swapaxes(u, 0, 1)
        rhs = jnp.moveaxis(dt_inv * u - 0.5 * in_y, 2, 0)
        a, b, c = (line[:, None] for line in (-0.5 * along_y[0], dt_inv - 0.5 * along_y[1], -0.5 * along_y[2]))
        return jnp.moveaxis(solved(a, b, c, rhs), 0, 2), None

    value, _ = lax.scan(step, value, (jnp.asarray(times[:-1]), jnp.asarray(times[1:])), reverse=True)
    return value[:, at_x, at_y]


def applied(rows: Array, value: Array, axis: int) -> Array:
    return rows[0] * jnp.roll(value, 1, axis) + rows[1] * value + rows[2] * jnp.roll(value, -1, axis)


def solved(a: Array, b: Array, c: Array, rhs: Array) -> Array:
    """Thomas' algorithm along the first axis; coefficients [n][m], right-hand sides [n][k][m]."""

    def down(before: tuple[Array, Array], given: tuple[Array, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        pivot, y = before
        a, b, c, d = given
        factor = a / pivot
        now = (b - factor * c, d - factor * y)
        return now, now

    first = (b[0], rhs[0])
    _, (pivots, ys) = lax.scan(down, first, (a[1:], b[1:], c[:-1], rhs[1:]))
    pivots, ys = jnp.concatenate([b[:1], pivots]), jnp.concatenate([rhs[:1], ys])

    def up(after: Array, given: tuple[Array, ...]) -> tuple[Array, Array]:
        pivot, c, y = given
        now = (y - c * after) / pivot
        return now, now

    last = ys[-1] / pivots[-1]
    _, out = lax.scan(up, last, (pivots[:-1], c[:-1], ys[:-1]), reverse=True)
    return jnp.concatenate([out, last[None]])


# ---- option pricing -------------------------------------------------------------------------------------------------

CHUNK = 1 << 14


def optionpricing(
    contract: int, paths: int, directions: Array, correlations: Array, volatilities: Array, drifts: Array,
    starts: Array, factors: Array, discounts: Array, indices: Array, weights: Array,
) -> Array:  # fmt: skip
    """A chunk of paths at a time, all paths of a chunk together; the bridge is a rolled loop over its steps."""
    _, dates, assets = volatilities.shape
    bits = directions.shape[1]

    def chunk(first: Array) -> Array:
        number = first + jnp.arange(min(CHUNK, paths), dtype=jnp.int32)
        gray = (number + 1) ^ ((number + 1) >> 1)

        def flip(bit: int, x: Array) -> Array:
            return x ^ jnp.where(((gray >> bit) & 1)[:, None] == 1, directions[:, bit], 0)

        zero = jnp.zeros((len(number), len(directions)), directions.dtype)
        sobol = lax.fori_loop(0, bits, flip, zero)
        uniform = jnp.minimum(sobol.astype(jnp.float32) / np.float32(2.0**bits), np.float32(0.99999994))
        deviates = quantile(uniform).reshape(-1, dates, assets)

        def bridge(i: int, path: Array) -> Array:
            date, left, right = indices[0, i], indices[1, i], indices[2, i]
            step = weights[0, i] * deviates[:, i]
            return path.at[:, date].set(step + weights[1, i] * path[:, left] + weights[2, i] * path[:, right])

        path = lax.fori_loop(0, dates, bridge, jnp.zeros((len(number), dates + 1, assets), jnp.float32))
        increments = jnp.diff(path, axis=1)
        live = number < paths
        sums = [
            jnp.sum(jnp.where(live, payoffs(contract, discounts[m], factors[m], market(m, increments)), 0))
            for m in range(len(volatilities))
        ]
        return jnp.stack(sums)

    def market(m: int, increments: Array) -> Array:
        turned = jnp.matmul(increments, jnp.tril(correlations[m]).T, precision="highest")
        return starts[m] * jnp.exp(jnp.cumsum(turned * volatilities[m] + drifts[m], axis=1))

    firsts = jnp.arange(0, paths, min(CHUNK, paths), dtype=jnp.int32)
    return jnp.sum(lax.map(chunk, firsts), axis=0) / paths


def rational(table: tuple[tuple[float, ...], ...], x: Array) -> Array:
    over, under = (jnp.polyval(jnp.asarray(part[::-1], jnp.float32), x) for part in table)
    return over / under


def quantile(p: Array) -> Array:
    q = p - 0.5
    r = jnp.sqrt(-jnp.log(jnp.minimum(p, 1 - p)))
    tail = jnp.where(r <= 5, rational(QUANTILE_TAIL, r - 1.6), rational(QUANTILE_FAR_TAIL, r - 5))
    return jnp.where(jnp.abs(q) <= 0.425, q * rational(QUANTILE_CENTRE, 0.180625 - q * q), jnp.copysign(tail, q))


def payoffs(contract: int, discounts: Array, factors: Array, prices: Array) -> Array:
    if contract == 1:
        return discounts[0] * factors[0] * jnp.maximum(prices[:, 0, 0] - 4000, 0)
    worst = jnp.min(prices / jnp.asarray([3758.05, 11840, 1200], jnp.float32), axis=2)
    if contract == 2:
        result = discounts[4] * jnp.where(worst[:, 4] > 0.75, 1000, 1000 * worst[:, 4])
        for date in reversed(range(5)):
            result = jnp.where(worst[:, date] >= 1, (1150 + 150 * date) * discounts[date], result)
        return result
    touched = jnp.any(prices <= jnp.asarray([2630.635, 8288, 840], jnp.float32), axis=(1, 2))
    last = worst[:, -1]
    return 100 * discounts[0] + discounts[1] * jnp.where(touched & (last < 1), 1000 * last, 1000)
