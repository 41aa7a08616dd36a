"""Rodinia's programs on grids, all grids together."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax


def nw(size: int, penalty: int, similar: Array) -> Array:
    """Row by row; along a row the scores are a running maximum. `size` is a matter of the program."""
    b, n, _ = similar.shape
    charges = penalty * jnp.arange(n + 1, dtype=similar.dtype)

    def row(above: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        line, charge = given
        own = jnp.maximum(above[:, :-1] + line, above[:, 1:] - penalty)
        first = jnp.full((b, 1), -charge, similar.dtype)
        scores = lax.cummax(jnp.concatenate([first, own], axis=1) + charges, axis=1) - charges
        return scores, scores[:, 1:]

    first = jnp.broadcast_to(-charges, (b, n + 1))
    _, rows = lax.scan(row, first, (jnp.swapaxes(similar, 0, 1), charges[1:]))
    return jnp.swapaxes(rows, 0, 1)


def pathfinder(grids: Array) -> Array:
    most = jnp.iinfo(grids.dtype).max

    def step(costs: Array, line: Array) -> tuple[Array, None]:
        padded = jnp.pad(costs, ((0, 0), (1, 1)), constant_values=most)
        return line + jnp.minimum(jnp.minimum(padded[:, :-2], costs), padded[:, 2:]), None

    lines = jnp.swapaxes(grids, 0, 1)
    return lax.scan(step, lines[0], lines[1:])[0]


def edged(x: Array) -> tuple[Array, Array, Array, Array]:
    """The neighbours above, below, left and right; at an edge the place itself."""
    above = jnp.concatenate([x[:, :1], x[:, :-1]], axis=1)
    below = jnp.concatenate([x[:, 1:], x[:, -1:]], axis=1)
    left = jnp.concatenate([x[:, :, :1], x[:, :, :-1]], axis=2)
    right = jnp.concatenate([x[:, :, 1:], x[:, :, -1:]], axis=2)
    return above, below, left, right


def hotspot(steps: int, starts: Array, powers: Array) -> Array:
    _, rows, cols = starts.shape
    height, width, thickness = 0.016 / rows, 0.016 / cols, 0.0005
    capacity = 0.5 * 1.75e6 * thickness * width * height
    rx, ry = 200 * thickness * height / width, 200 * thickness * width / height
    rz, step = 100 * height * width / thickness, 0.001 / (3.0e6 / (0.5 * thickness * 1.75e6)) / capacity

    def next_heat(_: int, heat: Array) -> Array:
        above, below, left, right = edged(heat)
        change = (above + below - 2 * heat) * ry + (left + right - 2 * heat) * rx
        return heat + step * (powers + change + (80 - heat) * rz)

    return lax.fori_loop(0, steps, next_heat, starts)


def srad(steps: int, rate: float, images: Array) -> Array:
    def smoothed(_: int, images: Array) -> Array:
        mean = jnp.mean(images, axis=(1, 2), keepdims=True)
        variance = jnp.mean(images * images, axis=(1, 2), keepdims=True) - mean * mean
        speckle = variance / (mean * mean)
        north, south, west, east = (other - images for other in edged(images))
        gradient = (north * north + south * south + west * west + east * east) / (images * images)
        laplacian = (north + south + west + east) / images
        q = (0.5 * gradient - 0.0625 * laplacian * laplacian) / jnp.square(1 + 0.25 * laplacian)
        c = jnp.clip(1 / (1 + (q - speckle) / (speckle * (1 + speckle))), 0, 1)
        _, below, _, beside = edged(c)
        return images + 0.25 * rate * (c * (north + west) + below * south + beside * east)

    return lax.fori_loop(0, steps, smoothed, images)
