"""Every program of `programs/` in NumPy: the peer of the benchmarks, and the independent reference of the tests.

A function takes the arguments of the program's entry point and computes in the type of its array arguments, as a NumPy
user would write it: `in_double` turns it into the f64 reference. Where a program takes scalars only, `dtype` says
the type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def in_double(value: Any) -> Any:
    """Floats and float arrays in f64, everything else as it is."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    return array.astype(np.float64)[()]


def dotprod(xs: Array, ys: Array) -> object:
    return np.dot(xs, ys)


def matmul(xss: Array, yss: Array) -> Array:
    return xss @ yss


def sumrows(xss: Array) -> Array:
    return np.sum(xss + xss.dtype.type(2), axis=1)


def rowscan(xss: Array) -> Array:
    return np.cumsum(xss, axis=1, dtype=xss.dtype)


def mandelbrot(
    width: int, height: int, limit: int, xmin: float, ymin: float, xmax: float, ymax: float, *, dtype: type = np.float32
) -> Array:
    """Steps until |z| > 2, at most `limit`; points that have escaped are dropped from the work."""
    x = dtype(xmin) + np.arange(width).astype(dtype) * (dtype(xmax) - dtype(xmin)) / dtype(width)
    y = dtype(ymin) + np.arange(height).astype(dtype) * (dtype(ymax) - dtype(ymin)) / dtype(height)
    re, im = np.meshgrid(x, y)
    count = np.zeros(width * height, dtype=np.int32)
    live = np.arange(width * height)
    re, im = re.ravel(), im.ravel()
    zr, zi = re.copy(), im.copy()
    for _ in range(limit):
        inside = zr * zr + zi * zi <= dtype(4)
        live, zr, zi, re, im = live[inside], zr[inside], zi[inside], re[inside], im[inside]
        count[live] += 1
        zr, zi = zr * zr - zi * zi + re, dtype(2) * zr * zi + im
    return count.reshape(height, width)


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


def nbody(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    """Gravitation of every body on every body, softening 0.1, symplectic Euler; positions, then velocities."""
    real = xs.dtype.type
    for _ in range(steps):
        dx, dy, dz = (p[None, :] - p[:, None] for p in (xs, ys, zs))
        square = dx * dx + dy * dy + dz * dz + real(0.01)
        pull = ms[None, :] / (square * np.sqrt(square))
        us = us + real(dt) * np.sum(pull * dx, axis=1)
        vs = vs + real(dt) * np.sum(pull * dy, axis=1)
        ws = ws + real(dt) * np.sum(pull * dz, axis=1)
        xs, ys, zs = xs + real(dt) * us, ys + real(dt) * vs, zs + real(dt) * ws
    return xs, ys, zs, us, vs, ws


def icfp(n: int, pss: Array) -> tuple[Array, Array]:
    """The running example of the flattening papers: for each p of a row a triangular sum, then n rounds of sums."""
    triangle = np.vectorize(lambda p: np.sum(np.cumsum(np.arange(p))), otypes=[pss.dtype])
    sums = triangle(pss) if pss.size else pss
    asss = pss[:, None, :] + sums[:, :, None]
    bss = pss
    totals = asss.sum(axis=2, dtype=pss.dtype)
    for _ in range(n):
        bss = pss.dtype.type(2) * (totals + bss)
    return asss, bss


def lud(a: Array) -> Array:
    """LU decomposition without pivoting, both factors in one matrix (the unit diagonal of L is left out)."""
    a = a.copy()
    for k in range(a.shape[0]):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


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


# ---- option pricing -------------------------------------------------------------------------------------------------

CHUNK = 1 << 16
"""Paths whose arrays are there at the same time."""

QUANTILE_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
QUANTILE_TAIL = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
     1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
QUANTILE_FAR_TAIL = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def optionpricing(
    contract: int, paths: int, directions: Array, correlations: Array, volatilities: Array, drifts: Array,
    starts: Array, factors: Array, discounts: Array, bridge_indices: Array, bridge_weights: Array,
) -> Array:  # fmt: skip
    """FinPar's OptionPricing: the mean discounted payoff of a contract over quasi-random paths, by model of the market.

    All paths of a chunk go together: arrays are [paths][dates][assets]. Path n takes number n + 1 of every sequence.
    """
    models, dates, assets = volatilities.shape
    total = np.zeros(models)
    for first in range(0, int(paths), CHUNK):
        count = min(CHUNK, int(paths) - first)
        uniform = sobol_numbers(first + 1, count, directions, volatilities.dtype)
        deviates = normal_quantile(uniform).reshape(count, dates, assets)
        increments = brownian_increments(deviates, bridge_indices, bridge_weights)
        for m in range(models):
            prices = asset_prices(correlations[m], volatilities[m], drifts[m], starts[m], increments)
            total[m] += np.sum(payoffs(int(contract), discounts[m], factors[m], prices), dtype=np.float64)
    return (total / int(paths)).astype(volatilities.dtype)


def sobol_numbers(first: int, count: int, directions: Array, dtype: Any) -> Array:
    """Numbers first, first + 1, ... of the sequence of each row of directions: [count][sequences]."""
    number = np.arange(first, first + count, dtype=directions.dtype)
    gray = number ^ (number >> 1)
    bits = directions.shape[1]
    x = np.zeros((count, len(directions)), directions.dtype)
    for bit in range(bits):
        x[(gray >> bit) & 1 == 1] ^= directions[:, bit]
    real = np.dtype(dtype).type
    return np.minimum(x.astype(dtype) / real(2.0**bits), np.nextafter(real(1), real(0)))


def normal_quantile(p: Array) -> Array:
    """The inverse of the cumulative normal distribution by algorithm AS 241 (Wichura 1988)."""
    real = p.dtype.type
    q = p - real(0.5)
    r = np.sqrt(-np.log(np.minimum(p, real(1) - p)))
    tail = np.where(r <= 5, rational(QUANTILE_TAIL, r - real(1.6)), rational(QUANTILE_FAR_TAIL, r - real(5)))
    centre = q * rational(QUANTILE_CENTRE, real(0.180625) - q * q)
    return np.where(np.abs(q) <= real(0.425), centre, np.copysign(tail, q))


def rational(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    real = x.dtype.type
    over, under = (np.polynomial.polynomial.polyval(x, np.array(part, real)) for part in coefficients)
    return over / under


def brownian_increments(deviates: Array, indices: Array, weights: Array) -> Array:
    """Brownian bridges: step i sets date `indices[0, i]`, between two dates that are known. Date 0 is the start."""
    paths, dates, assets = deviates.shape
    path = np.zeros((paths, dates + 1, assets), deviates.dtype)
    for i, (date, left, right) in enumerate(indices.T):
        sd, from_left, from_right = weights[:, i]
        path[:, date] = sd * deviates[:, i] + from_left * path[:, left] + from_right * path[:, right]
    return np.diff(path, axis=1)


def asset_prices(correlation: Array, volatility: Array, drift: Array, start: Array, increments: Array) -> Array:
    """Prices on all dates; of the correlation the lower triangle counts."""
    growth = increments @ np.tril(correlation).T * volatility + drift
    return start * np.exp(np.cumsum(growth, axis=-2))


def payoffs(contract: int, discounts: Array, factors: Array, prices: Array) -> Array:
    """What the contract pays on each path, discounted."""
    if contract == 1:
        return discounts[0] * factors[0] * np.maximum(prices[:, 0, 0] - prices.dtype.type(4000), 0)
    worst = np.min(prices / np.array([3758.05, 11840, 1200], prices.dtype), axis=2)
    if contract == 2:
        tops = np.array([1150, 1300, 1450, 1600, 1750], prices.dtype) * discounts[:5]
        called = [worst[:, date] >= 1 for date in range(5)]
        capital = discounts[4] * np.where(worst[:, 4] > 0.75, prices.dtype.type(1000), 1000 * worst[:, 4])
        return np.select(called, list(tops), capital)
    touched = np.any(prices <= np.array([2630.635, 8288, 840], prices.dtype), axis=(1, 2))
    last = worst[:, -1]
    return 100 * discounts[0] + discounts[1] * np.where(touched & (last < 1), 1000 * last, prices.dtype.type(1000))


PEERS: dict[str, Callable[..., object]] = {
    "blackscholes": blackscholes,
    "dotprod": dotprod,
    "icfp": icfp,
    "locvolcalib": locvolcalib,
    "lud": lud,
    "mandelbrot": mandelbrot,
    "matmul": matmul,
    "nbody": nbody,
    "optionpricing": optionpricing,
    "rowscan": rowscan,
    "sumrows": sumrows,
}


# ---- the programs of the slides ---------------------------------------------------------------------------------


def zip_unzip(xs: Array, ys: Array) -> tuple[Array, Array]:
    return xs - xs.dtype.type(1), ys + ys.dtype.type(1)


def increment(xs: Array) -> Array:
    return xs + xs.dtype.type(1)


def add_to_rows(xss: Array, ys: Array) -> Array:
    return xss + ys[:, None]


def add_sums(xss: Array) -> Array:
    return xss + xss.sum(axis=1, keepdims=True, dtype=xss.dtype)


def map_loop(n: int, xss: Array) -> tuple[Array, Array]:
    j, xss = 0, xss.copy()
    for i in range(n):
        xss += xss.dtype.type(j)
        j += i
    return xss, np.full(len(xss), j, xss.dtype)


def transposed(xsss: Array) -> Array:
    return np.ascontiguousarray(xsss.transpose(0, 2, 1))


def innermost_sums(xsss: Array) -> Array:
    return xsss.sum(axis=2, dtype=xsss.dtype)


def three_scans(xsss: Array) -> Array:
    sums = np.cumsum(xsss, axis=2, dtype=xsss.dtype)
    return np.cumprod(np.maximum.accumulate(sums, axis=2), axis=2, dtype=xsss.dtype)


def sums_of_sums(xs: Array) -> Array:
    return (xs[:, None] + xs[None, :]).sum(axis=1, dtype=xs.dtype)


def segscatter(xss: Array, iss: Array, vss: Array) -> Array:
    out = xss.copy()
    np.put_along_axis(out, iss, vss, axis=1)
    return out


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    """No row may be empty."""
    return np.add.reduceat(value * x[col], off[:-1])
