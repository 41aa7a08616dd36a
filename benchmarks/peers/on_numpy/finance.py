"""Black-Scholes and FinPar's LocVolCalib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def blackscholes(price: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    """European call and put, riskless rate 0.08, volatility 0.3; normal distribution by the polynomial of
    Abramowitz and Stegun 26.2.17 (|error| < 7.5e-8)."""
    real = price.dtype.type
    rate, volatility = real(0.08), real(0.3)
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + real(0.5) * volatility * volatility) * years) / spread
    d2 = d1 - spread
    n1, n2 = normal_cdf(d1), normal_cdf(d2)
    discounted = strike * np.exp(-rate * years)
    call = price * n1 - discounted * n2
    put = discounted * (real(1) - n2) - price * (real(1) - n1)
    return call, put


def normal_cdf(d: Array) -> Array:
    real = d.dtype.type
    k = real(1) / (real(1) + real(0.2316419) * np.abs(d))
    poly = real(1.330274429)
    for a in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        poly = poly * k + real(a)
    tail = real(0.39894228040143267) * np.exp(real(-0.5) * d * d) * poly * k
    return np.where(d > 0, real(1) - tail, tail)


# ---- local volatility calibration ---------------------------------------------------------------------------------


def locvolcalib(
    outer: int, num_x: int, num_y: int, num_t: int, s0: float, t: float, alpha: float, nu: float, beta: float,
    *, dtype: type = np.float64,
) -> Array:  # fmt: skip
    """FinPar's LocVolCalib: a call on an asset with stochastic volatility, for the strikes 0, 0.001, 0.002, ...

    The value u(x, y, t) is known at time t and goes back to time 0 in num_t - 1 Crank-Nicolson steps; each is split by
    directions (ADI): explicit in x and y, then implicit in x, then implicit in y with the explicit y part taken off.
    All strikes go together: arrays are [outer][x][y].
    """
    grids, (index_x, index_y) = calibration_grid(num_x, num_y, num_t, s0, t, alpha, nu)
    x, y, timeline = (grid.astype(dtype) for grid in grids)
    dxx, dyy = second_difference(x), second_difference(y)
    half, var_y = dtype(0.5), dtype(nu * nu)
    strikes = dtype(0.001) * np.arange(outer).astype(dtype)
    value = np.broadcast_to(np.maximum(x[None, :] - strikes[:, None], dtype(0))[:, :, None], (outer, num_x, num_y))
    along_y = half * var_y * dyy[:, None, None, :]
    for step in reversed(range(num_t - 1)):
        dt_inv = dtype(1) / (timeline[step + 1] - timeline[step])
        drift = half * dtype(nu * nu) * timeline[step]
        var_x = np.exp(dtype(2) * (dtype(beta) * np.log(x)[:, None] + y[None, :] - drift))
        along_x = half * var_x[None, None] * dxx[:, None, :, None]
        in_y = apply_tridiagonal(along_y, value, axis=2)
        u = dt_inv * value + half * apply_tridiagonal(along_x, value, axis=1) + in_y
        u = solve_tridiagonal(-half * along_x[0], dt_inv - half * along_x[1], -half * along_x[2], u, axis=1)
        rhs = dt_inv * u - half * in_y
        value = solve_tridiagonal(-half * along_y[0], dt_inv - half * along_y[1], -half * along_y[2], rhs, axis=2)
    return value[:, index_x, index_y]


def calibration_grid(
    num_x: int, num_y: int, num_t: int, s0: float, t: float, alpha: float, nu: float
) -> tuple[tuple[Array, Array, Array], tuple[int, int]]:
    """The grids of x, y and time, and the indices of (s0, log alpha) in them."""
    dx, dy = 20 * alpha * s0 * np.sqrt(t) / num_x, 10 * nu * np.sqrt(t) / num_y
    index_x, index_y = int(s0 / dx), num_y // 2
    x = np.arange(num_x) * dx - index_x * dx + s0
    y = np.arange(num_y) * dy - index_y * dy + np.log(alpha)
    return (x, y, t * np.arange(num_t) / (num_t - 1)), (index_x, index_y)


def second_difference(x: Array) -> Array:
    """The three diagonals of the second derivative on grid x, zero on the boundary: [3][n]."""
    real = x.dtype.type
    below, above = np.diff(x)[:-1], np.diff(x)[1:]
    both = below + above
    rows = np.zeros((3, len(x)), dtype=x.dtype)
    rows[0, 1:-1] = real(2) / below / both
    rows[1, 1:-1] = real(-2) * (real(1) / below + real(1) / above) / both
    rows[2, 1:-1] = real(2) / above / both
    return rows


def apply_tridiagonal(rows: Array, value: Array, axis: int) -> Array:
    """Product with a matrix of diagonals rows[0..2] along `axis`; the boundary rows are zero, so that wrapping is
    harmless."""
    return rows[0] * np.roll(value, 1, axis) + rows[1] * value + rows[2] * np.roll(value, -1, axis)


def solve_tridiagonal(a: Array, b: Array, c: Array, rhs: Array, axis: int) -> Array:
    """Thomas' algorithm along `axis` of rhs [outer][x][y], all other places at once."""
    a, b, c, rhs = (np.moveaxis(np.broadcast_to(m, rhs.shape), axis, 0) for m in (a, b, c, rhs))
    pivots, out = np.empty_like(rhs), np.empty_like(rhs)
    pivots[0], out[0] = b[0], rhs[0]
    for i in range(1, len(rhs)):
        factor = a[i] / pivots[i - 1]
        pivots[i] = b[i] - factor * c[i - 1]
        out[i] = rhs[i] - factor * out[i - 1]
    out[-1] /= pivots[-1]
    for i in reversed(range(len(rhs) - 1)):
        out[i] = (out[i] - c[i] * out[i + 1]) / pivots[i]
    return np.moveaxis(out, 0, axis)


def locvolcalib_in_f32(*args: Any) -> Array:
    """In the precision of the program, whose arguments do not tell it."""
    with np.errstate(all="ignore"):
        return locvolcalib(*map(int, args[:4]), *map(float, args[4:]), dtype=np.float32)
