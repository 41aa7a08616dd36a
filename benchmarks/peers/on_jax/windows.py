"""Windows, interleaved channels and small matrices by slices and products of whole arrays."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax


def blur5(weights: Array, image: Array) -> Array:
    h, w = image.shape
    padded = jnp.pad(image, 2, mode="edge")
    return sum(weights[a, b] * padded[a : a + h, b : b + w] for a in range(5) for b in range(5))


def edges(image: Array) -> Array:
    x = image.astype(jnp.int32)
    across = (x[:-2, 2:] - x[:-2, :-2]) + 2 * (x[1:-1, 2:] - x[1:-1, :-2]) + (x[2:, 2:] - x[2:, :-2])
    along = (x[2:, :-2] - x[:-2, :-2]) + 2 * (x[2:, 1:-1] - x[:-2, 1:-1]) + (x[2:, 2:] - x[:-2, 2:])
    return jnp.abs(across) + jnp.abs(along)


def separable(weights: Array, image: Array) -> Array:
    h, w = image.shape
    padded = jnp.pad(image, ((0, 0), (3, 3)), mode="edge")
    rows = sum(weights[b] * padded[:, b : b + w] for b in range(7))
    padded = jnp.pad(rows, ((3, 3), (0, 0)), mode="edge")
    return sum(weights[a] * padded[a : a + h] for a in range(7))


def convolve(image: Array, kernels: Array) -> Array:
    return lax.conv(image[None], kernels, (1, 1), "VALID")[0]


def grey(image: Array) -> Array:
    x = image.astype(jnp.float32)
    return 0.299 * x[..., 0] + 0.587 * x[..., 1] + 0.114 * x[..., 2]


def turn(matrix: Array, points: Array) -> Array:
    return points @ matrix.T


def transform(matrix: Array, points: Array) -> Array:
    return points @ matrix.T


def normals(points: Array) -> Array:
    return points / jnp.sqrt(1e-6 + (points * points).sum(axis=1))[:, None]


def dilate(image: Array) -> Array:
    h, w = image.shape
    padded = jnp.pad(image, 2)
    out = padded[:h, :w]
    for a in range(5):
        for b in range(5):
            out = jnp.maximum(out, padded[a : a + h, b : b + w])
    return out
