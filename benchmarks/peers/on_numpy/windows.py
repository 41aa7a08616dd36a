"""Windows, interleaved channels and small matrices by slices and products of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]


def blur5(weights: Array, image: Array) -> Array:
    h, w = image.shape
    padded = np.pad(image, 2, mode="edge")
    out = np.zeros_like(image)
    for a in range(5):
        for b in range(5):
            out += weights[a, b] * padded[a : a + h, b : b + w]
    return out


def edges(image: Array) -> Array:
    x = image.astype(np.int32)
    across = (x[:-2, 2:] - x[:-2, :-2]) + 2 * (x[1:-1, 2:] - x[1:-1, :-2]) + (x[2:, 2:] - x[2:, :-2])
    along = (x[2:, :-2] - x[:-2, :-2]) + 2 * (x[2:, 1:-1] - x[:-2, 1:-1]) + (x[2:, 2:] - x[:-2, 2:])
    return np.abs(across) + np.abs(along)


def separable(weights: Array, image: Array) -> Array:
    h, w = image.shape
    padded = np.pad(image, ((0, 0), (3, 3)), mode="edge")
    rows = np.zeros_like(image)
    for b in range(7):
        rows += weights[b] * padded[:, b : b + w]
    padded = np.pad(rows, ((3, 3), (0, 0)), mode="edge")
    out = np.zeros_like(image)
    for a in range(7):
        out += weights[a] * padded[a : a + h]
    return out


def convolve(image: Array, kernels: Array) -> Array:
    windows = sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.tensordot(kernels, windows, axes=((1, 2, 3), (0, 3, 4)))


def grey(image: Array) -> Array:
    return image.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)


def turn(matrix: Array, points: Array) -> Array:
    return points @ matrix.T


def transform(matrix: Array, points: Array) -> Array:
    return points @ matrix.T


def normals(points: Array) -> Array:
    return points / np.sqrt(np.float32(1e-6) + (points * points).sum(axis=1))[:, None]


def dilate(image: Array) -> Array:
    h, w = image.shape
    padded = np.pad(image, 2)
    out = padded[:h, :w].copy()
    for a in range(5):
        for b in range(5):
            np.maximum(out, padded[a : a + h, b : b + w], out=out)
    return out
