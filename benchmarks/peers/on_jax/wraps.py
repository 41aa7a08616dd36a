"""Indices that wrap around by `roll`; divisions of whole arrays."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax


def life(steps: int, start: Array) -> Array:
    def step(_: int, a: Array) -> Array:
        columns = jnp.roll(a, 1, 1) + a + jnp.roll(a, -1, 1)
        n = jnp.roll(columns, 1, 0) + columns + jnp.roll(columns, -1, 0) - a
        return ((n == 3) | ((n == 2) & (a == 1))).astype(a.dtype)

    return lax.fori_loop(0, steps, step, start)


def ring(steps: int, start: Array) -> Array:
    return lax.fori_loop(0, steps, lambda _, t: t + 0.1 * (jnp.roll(t, 1) - 2 * t + jnp.roll(t, -1)), start)


def drift(a: Array) -> Array:
    return (a + jnp.roll(a, -2, 1) + jnp.roll(a, -1, 0)) / 3


def spread(a: Array) -> Array:
    return sum(jnp.roll(a, by, axis) for axis in range(3) for by in (1, -1)) - 6 * a


def repeat(n: int, pattern: Array) -> Array:
    i = jnp.arange(n)
    return pattern[i % len(pattern)] + (i // len(pattern)).astype(pattern.dtype)


def butterflies(k: int, xs: Array) -> Array:
    pairs = xs.reshape(-1, 2, 1 << k)
    return jnp.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)


def buckets(size: int, xs: Array) -> Array:
    return xs // jnp.uint32(size) + xs % jnp.uint32(size)


def digits(base: int, xs: Array) -> Array:
    once = xs // jnp.int32(base)
    return xs % jnp.int32(base) + once % jnp.int32(base) + once // jnp.int32(base)
