"""Stencils of stencils: each image or grid is read at neighbours by the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@numba.njit
def laplacian(x: Array) -> Any:
    n, m = x.shape
    y = np.empty((n - 2, m - 2), x.dtype)
    for i in range(n - 2):
        for j in range(m - 2):
            y[i, j] = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2] - np.float32(4) * x[i + 1, j + 1]
    return y


@numba.njit
def biharmonic(x: Array) -> Any:
    return laplacian(laplacian(x))


@numba.njit
def opening(x: Array) -> Any:
    n, m = x.shape
    y = np.empty((n - 2, m - 2), x.dtype)
    for i in range(n - 2):
        for j in range(m - 2):
            y[i, j] = min(min(min(x[i, j + 1], x[i + 2, j + 1]), min(x[i + 1, j], x[i + 1, j + 2])), x[i + 1, j + 1])
    z = np.empty((n - 4, m - 4), x.dtype)
    for i in range(n - 4):
        for j in range(m - 4):
            z[i, j] = max(max(max(y[i, j + 1], y[i + 2, j + 1]), max(y[i + 1, j], y[i + 1, j + 2])), y[i + 1, j + 1])
    return z


@numba.njit
def corners(x: Array) -> Any:
    n, m = x.shape
    xx, yy, xy = np.empty((n - 2, m - 2), x.dtype), np.empty((n - 2, m - 2), x.dtype), np.empty((n - 2, m - 2), x.dtype)
    for i in range(n - 2):
        for j in range(m - 2):
            a, b = x[i + 1, j + 2] - x[i + 1, j], x[i + 2, j + 1] - x[i, j + 1]
            xx[i, j], yy[i, j], xy[i, j] = a * a, b * b, a * b
    z = np.empty((n - 4, m - 4), x.dtype)
    for i in range(n - 4):
        for j in range(m - 4):
            a = b = c = np.float32(0)
            for p in range(3):
                for q in range(3):
                    a += xx[i + p, j + q]
                    b += yy[i + p, j + q]
                    c += xy[i + p, j + q]
            z[i, j] = a * b - c * c - np.float32(0.04) * (a + b) * (a + b)
    return z


@numba.njit
def upwind(u: Array, v: Array) -> Any:
    n, m = u.shape
    across, down = np.empty((n, m - 1)), np.empty((n - 1, m))
    for i in range(n):
        for j in range(m - 1):
            c = 0.5 * (v[i, j] + v[i, j + 1])
            across[i, j] = c * u[i, j] if c > 0 else c * u[i, j + 1]
    for i in range(n - 1):
        for j in range(m):
            c = 0.5 * (v[i, j] + v[i + 1, j])
            down[i, j] = c * u[i, j] if c > 0 else c * u[i + 1, j]
    z = np.empty((n - 2, m - 2))
    for i in range(n - 2):
        for j in range(m - 2):
            change = across[i + 1, j + 1] - across[i + 1, j] + down[i + 1, j + 1] - down[i, j + 1]
            z[i, j] = u[i + 1, j + 1] - 0.1 * change
    return z


@numba.njit
def edges(x: Array) -> Any:
    n, m = x.shape
    t, two = np.empty((n - 2, m - 2), x.dtype), np.float32(2)
    for i in range(n - 2):
        for j in range(m - 2):
            s = x[i, j] + two * x[i, j + 1] + x[i, j + 2]
            s += two * x[i + 1, j] + two * two * x[i + 1, j + 1] + two * x[i + 1, j + 2]
            s += x[i + 2, j] + two * x[i + 2, j + 1] + x[i + 2, j + 2]
            t[i, j] = s / np.float32(16)
    z = np.empty((n - 4, m - 4), x.dtype)
    for i in range(n - 4):
        for j in range(m - 4):
            a = t[i, j + 2] + two * t[i + 1, j + 2] + t[i + 2, j + 2] - t[i, j] - two * t[i + 1, j] - t[i + 2, j]
            b = t[i + 2, j] + two * t[i + 2, j + 1] + t[i + 2, j + 2] - t[i, j] - two * t[i, j + 1] - t[i, j + 2]
            z[i, j] = np.sqrt(a * a + b * b)
    return z


@numba.njit
def curvature(x: Array) -> Any:
    n, m = x.shape
    p, q = np.empty((n - 2, m - 2), x.dtype), np.empty((n - 2, m - 2), x.dtype)
    for i in range(n - 2):
        for j in range(m - 2):
            a = (x[i + 1, j + 2] - x[i + 1, j]) / np.float32(2)
            b = (x[i + 2, j + 1] - x[i, j + 1]) / np.float32(2)
            size = np.sqrt(a * a + b * b + np.float32(1e-6))
            p[i, j], q[i, j] = a / size, b / size
    z = np.empty((n - 4, m - 4), x.dtype)
    for i in range(n - 4):
        for j in range(m - 4):
            z[i, j] = p[i + 1, j + 2] - p[i + 1, j] + q[i + 2, j + 1] - q[i, j + 1]
    return z


PEERS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (biharmonic, opening, corners, upwind, edges, curvature)
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n = np.random.default_rng(0), 1600 if large else 200
    image = random.random((n, n)).astype(np.float32)
    grid, speeds = random.random((n, n)), random.standard_normal((n, n))
    return {name: (grid, speeds) if name == "upwind" else (image,) for name in PEERS}
