"""Windows, interleaved channels and small matrices, a row or a point a thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel

Array = NDArray[Any]


@parallel
def blur5(weights: Array, image: Array) -> Array:
    h, w = image.shape
    padded = np.empty((h + 4, w + 4), image.dtype)
    for i in prange(h + 4):
        line = image[min(max(i - 2, 0), h - 1)]
        padded[i, 2 : w + 2] = line
        padded[i, 0] = padded[i, 1] = line[0]
        padded[i, w + 2] = padded[i, w + 3] = line[w - 1]
    out = np.zeros_like(image)
    for i in prange(h):
        for a in range(5):
            for b in range(5):
                weight = weights[a, b]
                for j in range(w):
                    out[i, j] += weight * padded[i + a, j + b]
    return out


@parallel
def edges(image: Array) -> Array:
    h, w = image.shape
    out = np.empty((h - 2, w - 2), np.int32)
    for i in prange(h - 2):
        for j in range(w - 2):
            p, q, r = np.int32(image[i, j]), np.int32(image[i, j + 1]), np.int32(image[i, j + 2])
            s, t = np.int32(image[i + 1, j]), np.int32(image[i + 1, j + 2])
            x, y, z = np.int32(image[i + 2, j]), np.int32(image[i + 2, j + 1]), np.int32(image[i + 2, j + 2])
            out[i, j] = abs(r - p + 2 * (t - s) + z - x) + abs(x - p + 2 * (y - q) + z - r)
    return out


@parallel
def separable(weights: Array, image: Array) -> Array:
    h, w = image.shape
    rows = np.empty_like(image)
    for i in prange(h):
        padded = np.empty(w + 6, image.dtype)
        padded[3 : w + 3] = image[i]
        padded[:3] = image[i, 0]
        padded[w + 3 :] = image[i, w - 1]
        for j in range(w):
            total = 0.0
            for b in range(7):
                total += weights[b] * padded[j + b]
            rows[i, j] = total
    out = np.zeros_like(image)
    for i in prange(h):
        for a in range(7):
            weight, line = weights[a], rows[min(max(i + a - 3, 0), h - 1)]
            for j in range(w):
                out[i, j] += weight * line[j]
    return out


@parallel
def convolve(image: Array, kernels: Array) -> Array:
    c, h, w = image.shape
    out = np.zeros((len(kernels), h - 2, w - 2), image.dtype)
    for k in prange(len(kernels)):
        for i in range(h - 2):
            for p in range(c):
                for a in range(3):
                    x, y, z = kernels[k, p, a, 0], kernels[k, p, a, 1], kernels[k, p, a, 2]
                    for j in range(w - 2):
                        line = image[p, i + a]
                        out[k, i, j] += x * line[j] + y * line[j + 1] + z * line[j + 2]
    return out


@parallel
def grey(image: Array) -> Array:
    h, w, _ = image.shape
    out = np.empty((h, w), np.float32)
    x, y, z = np.float32(0.299), np.float32(0.587), np.float32(0.114)
    for i in prange(h):
        for j in range(w):
            red, green, blue = np.float32(image[i, j, 0]), np.float32(image[i, j, 1]), np.float32(image[i, j, 2])
            out[i, j] = x * red + y * green + z * blue
    return out


@parallel
def turn(matrix: Array, points: Array) -> Array:
    out = np.empty_like(points)
    for p in prange(len(points)):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        for i in range(3):
            out[p, i] = matrix[i, 0] * x + matrix[i, 1] * y + matrix[i, 2] * z
    return out


@parallel
def transform(matrix: Array, points: Array) -> Array:
    out = np.empty_like(points)
    for p in prange(len(points)):
        x, y, z, u = points[p, 0], points[p, 1], points[p, 2], points[p, 3]
        for i in range(4):
            out[p, i] = matrix[i, 0] * x + matrix[i, 1] * y + matrix[i, 2] * z + matrix[i, 3] * u
    return out


@parallel
def normals(points: Array) -> Array:
    out = np.empty_like(points)
    for p in prange(len(points)):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        length = np.sqrt(np.float32(1e-6) + x * x + y * y + z * z)
        out[p, 0], out[p, 1], out[p, 2] = x / length, y / length, z / length
    return out


@parallel
def dilate(image: Array) -> Array:
    h, w = image.shape
    padded = np.zeros((h + 4, w + 4), image.dtype)
    for i in prange(h):
        padded[i + 2, 2 : w + 2] = image[i]
    out = np.empty_like(image)
    for i in prange(h):
        for j in range(w):
            most = padded[i, j]
            for a in range(5):
                for b in range(5):
                    most = max(most, padded[i + a, j + b])
            out[i, j] = most
    return out
