"""Mandelbrot and LU decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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


def lud(a: Array) -> Array:
    """LU decomposition without pivoting, both factors in one matrix (the unit diagonal of L is left out)."""
    a = a.copy()
    for k in range(a.shape[0]):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a
