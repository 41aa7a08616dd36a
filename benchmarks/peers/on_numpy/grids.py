"""Rodinia's programs on grids: alignment, ways, heat, diffusion, for many grids each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def nw(size: int, penalty: int, similar: Array) -> Array:
    """Row by row, all pairs at once; a row is a running maximum. `size` is a matter of the program."""
    b, n, _ = similar.shape
    kind = similar.dtype.type
    charges = kind(penalty) * np.arange(n + 1, dtype=similar.dtype)
    scores = np.empty((b, n + 1, n + 1), similar.dtype)
    scores[:, 0] = -charges
    best = np.empty((b, n + 1), similar.dtype)
    for i in range(n):
        best[:, 0] = -charges[i + 1]
        np.maximum(scores[:, i, :-1] + similar[:, i], scores[:, i, 1:] - kind(penalty), out=best[:, 1:])
        best += charges
        np.maximum.accumulate(best, axis=1, out=best)
        np.subtract(best, charges, out=scores[:, i + 1])
    return scores[:, 1:, 1:]


def pathfinder(grids: Array) -> Array:
    """Two buffers with an infinite cost at each end."""
    n, rows, cols = grids.shape
    out = np.empty((n, cols), grids.dtype)
    for grid, costs in zip(grids, out):
        padded = np.full(cols + 2, np.iinfo(grids.dtype).max, grids.dtype)
        padded[1:-1] = grid[0]
        for i in range(1, rows):
            np.minimum(padded[:-2], padded[1:-1], out=costs)
            np.minimum(costs, padded[2:], out=costs)
            np.add(costs, grid[i], out=padded[1:-1])
        costs[:] = padded[1:-1]
    return out


def pathfinder_together(grids: Array) -> Array:
    """All grids at once, for many small ones."""
    n, rows, cols = grids.shape
    padded = np.full((n, cols + 2), np.iinfo(grids.dtype).max, grids.dtype)
    padded[:, 1:-1] = grids[:, 0]
    for i in range(1, rows):
        costs = np.minimum(np.minimum(padded[:, :-2], padded[:, 1:-1]), padded[:, 2:])
        np.add(costs, grids[:, i], out=padded[:, 1:-1])
    return padded[:, 1:-1]


def best_pathfinder(grids: Array) -> Array:
    return (pathfinder if len(grids) < 16 else pathfinder_together)(grids)


def hotspot(steps: int, starts: Array, powers: Array) -> Array:
    _, rows, cols = starts.shape
    real = starts.dtype.type
    height, width, thickness = 0.016 / rows, 0.016 / cols, 0.0005
    capacity = 0.5 * 1.75e6 * thickness * width * height
    rx, ry = real(width / (200 * thickness * height)), real(height / (200 * thickness * width))
    rz = real(thickness / (100 * height * width))
    step = real(0.001 / (3.0e6 / (0.5 * thickness * 1.75e6)) / capacity)
    heat = starts
    for _ in range(steps):
        edged = np.pad(heat, ((0, 0), (1, 1), (1, 1)), mode="edge")
        change = (edged[:, :-2, 1:-1] + edged[:, 2:, 1:-1] - real(2) * heat) / ry
        change += (edged[:, 1:-1, :-2] + edged[:, 1:-1, 2:] - real(2) * heat) / rx
        change += (real(80) - heat) / rz
        change += powers
        heat = heat + step * change
    return heat


def srad(steps: int, rate: float, images: Array) -> Array:
    _, rows, cols = images.shape
    real = images.dtype.type
    for _ in range(steps):
        mean = images.sum(axis=(1, 2)) / real(rows * cols)
        variance = np.einsum("kij,kij->k", images, images) / real(rows * cols) - mean * mean
        speckle = (variance / (mean * mean))[:, None, None]
        edged = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
        north, south = edged[:, :-2, 1:-1] - images, edged[:, 2:, 1:-1] - images
        west, east = edged[:, 1:-1, :-2] - images, edged[:, 1:-1, 2:] - images
        gradient = (north * north + south * south + west * west + east * east) / (images * images)
        laplacian = (north + south + west + east) / images
        q = real(0.5) * gradient - real(0.0625) * laplacian * laplacian
        q /= (real(1) + real(0.25) * laplacian) ** 2
        c = np.clip(real(1) / (real(1) + (q - speckle) / (speckle * (real(1) + speckle))), real(0), real(1))
        below, beside = (
            np.concatenate([c[:, 1:], c[:, -1:]], axis=1),
            np.concatenate([c[:, :, 1:], c[:, :, -1:]], axis=2),
        )
        images = images + real(0.25) * real(rate) * (c * (north + west) + below * south + beside * east)
    return images
