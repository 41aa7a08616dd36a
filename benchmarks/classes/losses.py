"""Sums over the rows of a table, each of which is reduced and then goes through a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def logistic(xs: Array, ys: Array, w: Array) -> Any:
    total = 0.0
    for i in range(len(xs)):
        z = 0.0
        for j in range(len(w)):
            z += xs[i, j] * w[j]
        total += np.log(1 + np.exp(-abs(z))) + max(z, 0.0) - ys[i] * z
    return total


@numba.njit
def entropy(xs: Array, labels: Array) -> Any:
    total = np.float32(0)
    for i in range(len(xs)):
        most = xs[i, 0]
        for j in range(1, xs.shape[1]):
            most = max(most, xs[i, j])
        s = np.float32(0)
        for j in range(xs.shape[1]):
            s += np.exp(xs[i, j] - most)
        total += most + np.log(s) - xs[i, labels[i] % xs.shape[1]]
    return total


@numba.njit
def density(xs: Array, at: Array) -> Any:
    total = np.float32(0)
    for i in range(len(xs)):
        s = np.float32(0)
        for j in range(len(at)):
            d = xs[i, j] - at[j]
            s += d * d
        total += np.exp(np.float32(-0.5) * s)
    return total


@numba.njit
def mixture(xs: Array, centres: Array) -> Any:
    total = 0.0
    for i in range(len(xs)):
        likelihood = 1e-300
        for c in range(len(centres)):
            s = 0.0
            for j in range(xs.shape[1]):
                d = xs[i, j] - centres[c, j]
                s += d * d
            likelihood += np.exp(-s)
        total += np.log(likelihood)
    return total


@numba.njit
def nearest(xs: Array, at: Array) -> tuple[Any, int]:
    least, place = np.float32(np.inf), len(xs)
    for i in range(len(xs)):
        s = np.float32(0)
        for j in range(len(at)):
            d = xs[i, j] - at[j]
            s += d * d
        s = np.sqrt(s)
        if s < least:
            least, place = s, i
    return least, place


PEERS: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (logistic, entropy, density, mixture, nearest)}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n, f32 = np.random.default_rng(0), 1 << (17 if large else 11), np.float32
    rows = random.standard_normal((n, 30)) / 6
    return {
        "logistic": (rows, random.integers(0, 2, n).astype(float), random.standard_normal(30)),
        "entropy": (rows[:, :10].astype(f32), random.integers(0, 10, n).astype(np.int32)),
        "density": (rows[:, :8].astype(f32), f32(rows[1, :8])),
        "mixture": (rows[:, :6].copy(), rows[:5, :6].copy()),
        "nearest": (rows[:, :3].astype(f32), f32(rows[1, :3])),
    }
