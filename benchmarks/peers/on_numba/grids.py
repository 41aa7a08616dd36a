"""Rodinia's programs on grids: alignment, ways, heat, diffusion, for many grids each."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import parallel

Array = NDArray[Any]


@parallel
def nw_together(penalty: int, similar: Array) -> Array:
    """A pair of sequences a thread, row by row."""
    b, n, _ = similar.shape
    out = np.empty_like(similar)
    for s in prange(b):
        for i in range(n):
            left = -penalty * (i + 1)
            corner = -penalty * i
            for j in range(n):
                above = -penalty * (j + 1) if i == 0 else out[s, i - 1, j]
                left = max(max(corner + similar[s, i, j], above - penalty), left - penalty)
                out[s, i, j] = left
                corner = above
    return out


@parallel
def nw_blocks(penalty: int, similar: Array, size: int) -> Array:
    """Blocks of cells, those of an anti-diagonal in parallel."""
    b, n, _ = similar.shape
    out = np.empty_like(similar)
    blocks = (n + size - 1) // size
    for s in range(b):
        for d in range(2 * blocks - 1):
            low = max(0, d - blocks + 1)
            for k in prange(low, min(d, blocks - 1) + 1):
                for i in range(k * size, min(n, k * size + size)):
                    for j in range((d - k) * size, min(n, (d - k) * size + size)):
                        above = -penalty * (j + 1) if i == 0 else out[s, i - 1, j]
                        left = -penalty * (i + 1) if j == 0 else out[s, i, j - 1]
                        corner = -penalty * j if i == 0 else (-penalty * i if j == 0 else out[s, i - 1, j - 1])
                        out[s, i, j] = max(max(corner + similar[s, i, j], above - penalty), left - penalty)
    return out


def nw(size: int, penalty: int, similar: Array) -> Array:
    threads = numba.get_num_threads()
    if len(similar) >= threads:
        return nw_together(penalty, similar)
    return nw_blocks(penalty, similar, 128)


@parallel
def pathfinder_together(grids: Array) -> Array:
    n, rows, cols = grids.shape
    out = np.empty((n, cols), grids.dtype)
    for s in prange(n):
        costs = grids[s, 0].copy()
        new = np.empty_like(costs)
        for i in range(1, rows):
            line = grids[s, i]
            new[0] = line[0] + min(costs[0], costs[min(1, cols - 1)])
            for j in range(1, cols - 1):
                new[j] = line[j] + min(min(costs[j - 1], costs[j]), costs[j + 1])
            new[cols - 1] = line[cols - 1] + min(costs[cols - 1], costs[max(0, cols - 2)])
            costs, new = new, costs
        out[s] = costs
    return out


@parallel
def pathfinder_by_rows(grids: Array) -> Array:
    n, rows, cols = grids.shape
    out = np.empty((n, cols), grids.dtype)
    for s in range(n):
        costs = grids[s, 0].copy()
        new = np.empty_like(costs)
        for i in range(1, rows):
            line = grids[s, i]
            new[0] = line[0] + min(costs[0], costs[min(1, cols - 1)])
            for j in prange(1, cols - 1):
                new[j] = line[j] + min(min(costs[j - 1], costs[j]), costs[j + 1])
            new[cols - 1] = line[cols - 1] + min(costs[cols - 1], costs[max(0, cols - 2)])
            costs, new = new, costs
        out[s] = costs
    return out


def pathfinder(grids: Array) -> Array:
    return (pathfinder_together if len(grids) >= numba.get_num_threads() else pathfinder_by_rows)(grids)


@parallel
def heated(heat: Array, power: Array, new: Array, step: float, rx: float, ry: float, rz: float) -> None:
    """One step; rx, ry and rz are inverse resistances."""
    n, rows, cols = heat.shape
    for t in prange(n * rows):
        s, i = t // rows, t % rows
        here = heat[s, i]
        above, below = heat[s, max(0, i - 1)], heat[s, min(rows - 1, i + 1)]
        line, out = power[s, i], new[s, i]
        for j in range(1, cols - 1):
            vertical = (above[j] + below[j] - np.float32(2) * here[j]) * ry
            horizontal = (here[j - 1] + here[j + 1] - np.float32(2) * here[j]) * rx
            out[j] = here[j] + step * (line[j] + vertical + horizontal + (np.float32(80) - here[j]) * rz)
        for j in (0, cols - 1):
            vertical = (above[j] + below[j] - np.float32(2) * here[j]) * ry
            horizontal = (here[max(0, j - 1)] + here[min(cols - 1, j + 1)] - np.float32(2) * here[j]) * rx
            out[j] = here[j] + step * (line[j] + vertical + horizontal + (np.float32(80) - here[j]) * rz)


def hotspot(steps: int, starts: Array, powers: Array) -> Array:
    """Sets of grids that fit the cache do all steps before the next."""
    _, rows, cols = starts.shape
    height, width, thickness = 0.016 / rows, 0.016 / cols, 0.0005
    capacity = 0.5 * 1.75e6 * thickness * width * height
    rx, ry = np.float32(200 * thickness * height / width), np.float32(200 * thickness * width / height)
    rz = np.float32(100 * height * width / thickness)
    step = np.float32(0.001 / (3.0e6 / (0.5 * thickness * 1.75e6)) / capacity)
    out = np.empty_like(starts)
    together = max(1, 65536 // (rows * cols))
    for first in range(0, len(starts), together):
        part = slice(first, first + together)
        heat, new = starts[part].copy(), np.empty_like(starts[part])
        for _ in range(steps):
            heated(heat, powers[part], new, step, rx, ry, rz)
            heat, new = new, heat
        out[part] = heat
    return out


@parallel
def diffused(image: Array, coefficients: Array, speckle: float, rate: float) -> None:
    """One step on one image in place."""
    rows, cols = image.shape
    one, half = np.float32(1), np.float32(0.5)
    for i in prange(rows):
        here, above, below = image[i], image[max(0, i - 1)], image[min(rows - 1, i + 1)]
        for j in range(cols):
            x = here[j]
            n, s = above[j] - x, below[j] - x
            w, e = here[max(0, j - 1)] - x, here[min(cols - 1, j + 1)] - x
            gradient = (n * n + s * s + w * w + e * e) / (x * x)
            laplacian = (n + s + w + e) / x
            scale = one + np.float32(0.25) * laplacian
            q = (half * gradient - np.float32(0.0625) * laplacian * laplacian) / (scale * scale)
            c = one / (one + (q - speckle) / (speckle * (one + speckle)))
            coefficients[i, j] = max(np.float32(0), min(one, c))


@parallel
def moved(image: Array, coefficients: Array, new: Array, rate: float) -> None:
    rows, cols = image.shape
    for i in prange(rows):
        here, above, below = image[i], image[max(0, i - 1)], image[min(rows - 1, i + 1)]
        mine, next_row = coefficients[i], coefficients[min(rows - 1, i + 1)]
        for j in range(cols):
            x, right = here[j], min(cols - 1, j + 1)
            divergence = mine[j] * (above[j] - x) + next_row[j] * (below[j] - x)
            divergence += mine[j] * (here[max(0, j - 1)] - x) + mine[right] * (here[right] - x)
            new[i, j] = x + np.float32(0.25) * rate * divergence


@parallel
def moments(image: Array) -> tuple[float, float]:
    total, squares = np.float32(0), np.float32(0)
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            total += image[i, j]
            squares += image[i, j] * image[i, j]
    return total, squares


def srad_of(steps: int, rate: float, image: Array) -> Array:
    """One image, its rows in parallel."""
    image, new, coefficients = image.copy(), np.empty_like(image), np.empty_like(image)
    for _ in range(steps):
        total, squares = moments(image)
        mean = total / image.size
        speckle = np.float32((squares / image.size - mean * mean) / (mean * mean))
        diffused(image, coefficients, speckle, rate)
        moved(image, coefficients, new, rate)
        image, new = new, image
    return image


@parallel
def srad_together(steps: int, rate: float, images: Array) -> Array:
    """An image a thread."""
    b, rows, cols = images.shape
    out = images.copy()
    one, quarter = np.float32(1), np.float32(0.25)
    for k in prange(b):
        image, coefficients, new = out[k].copy(), np.empty((rows, cols), np.float32), np.empty((rows, cols), np.float32)
        for _ in range(steps):
            total, squares = np.float32(0), np.float32(0)
            for i in range(rows):
                for j in range(cols):
                    total += image[i, j]
                    squares += image[i, j] * image[i, j]
            mean = total / np.float32(rows * cols)
            speckle = (squares / np.float32(rows * cols) - mean * mean) / (mean * mean)
            factor = one / (speckle * (one + speckle))
            for i in range(rows):
                up, down = max(0, i - 1), min(rows - 1, i + 1)
                for j in range(cols):
                    x = image[i, j]
                    n, s = image[up, j] - x, image[down, j] - x
                    w, e = image[i, max(0, j - 1)] - x, image[i, min(cols - 1, j + 1)] - x
                    inverse = one / x
                    gradient = (n * n + s * s + w * w + e * e) * inverse * inverse
                    laplacian = (n + s + w + e) * inverse
                    scale = one + quarter * laplacian
                    q = (np.float32(0.5) * gradient - np.float32(0.0625) * laplacian * laplacian) / (scale * scale)
                    c = one / (one + (q - speckle) * factor)
                    coefficients[i, j] = max(np.float32(0), min(one, c))
            for i in range(rows):
                up, down = max(0, i - 1), min(rows - 1, i + 1)
                for j in range(cols):
                    x, right = image[i, j], min(cols - 1, j + 1)
                    d = coefficients[i, j] * (image[up, j] - x) + coefficients[down, j] * (image[down, j] - x)
                    d += coefficients[i, j] * (image[i, max(0, j - 1)] - x)
                    d += coefficients[i, right] * (image[i, right] - x)
                    new[i, j] = x + quarter * rate * d
            image, new = new, image
        out[k] = image
    return out


def srad(steps: int, rate: float, images: Array) -> Array:
    if len(images) >= numba.get_num_threads() and images[0].size <= 1 << 15:
        return srad_together(steps, rate, images)
    return np.stack([srad_of(steps, rate, image) for image in images])
