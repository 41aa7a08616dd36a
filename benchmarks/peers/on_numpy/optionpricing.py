"""FinPar's OptionPricing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
