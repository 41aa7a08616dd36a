"""Shares with their intervals of 95 %."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

Z = 1.96


def interval(found: int, count: int) -> tuple[float, float]:
    """Wilson's, for a share of `found` in `count`."""
    if count == 0:
        return 0.0, 1.0
    share, z = found / count, Z * Z / count
    half = Z * sqrt((share * (1 - share) + z / 4) / count)
    return (share + z / 2 - half) / (1 + z), (share + z / 2 + half) / (1 + z)


def together(shares: Iterable[tuple[float, int, int]]) -> tuple[float, float, float]:
    """A weighted share with its interval, from those of strata: squares of distances to the limits add up."""
    score, below, above = 0.0, 0.0, 0.0
    for weight, found, count in shares:
        share, (low, high) = found / max(1, count), interval(found, count)
        score += weight * share
        below += (weight * (share - low)) ** 2
        above += (weight * (high - share)) ** 2
    return score, score - sqrt(below), score + sqrt(above)
