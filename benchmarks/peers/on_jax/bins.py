"""Histograms and sparse matrices."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.ops import segment_sum


def counts(h: int, bins: Array) -> Array:
    return jnp.zeros(h, jnp.int32).at[within(h, bins)].add(1, mode="drop")


def sums(h: int, bins: Array, values: Array) -> Array:
    return jnp.zeros(h, values.dtype).at[within(h, bins)].add(values, mode="drop")


def largest(h: int, bins: Array, values: Array) -> tuple[Array, Array]:
    """The largest value of each bin, then the first place that has it."""
    n, bins = len(bins), within(h, bins)
    most = jnp.full(h, -jnp.inf, values.dtype).at[bins].max(values, mode="drop")
    candidates = jnp.where(values == most[bins], jnp.arange(n), n)
    places = jnp.full(h, n).at[bins].min(candidates, mode="drop")
    return most, jnp.where(places == n, -1, places)


def within(h: int, bins: Array) -> Array:
    """Below zero becomes h, which is dropped: JAX counts negative places from the end."""
    return jnp.where(bins < 0, h, bins)


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    rows = len(off) - 1
    row = jnp.repeat(jnp.arange(rows), jnp.diff(off), total_repeat_length=len(value))
    return segment_sum(value * x[col], row, num_segments=rows, indices_are_sorted=True)
