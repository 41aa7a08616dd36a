"""Matrices by rows: products, reductions, scans, softmax, attention."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax


def matmul(xss: Array, yss: Array) -> Array:
    return jnp.matmul(xss, yss, precision="highest")


def dotprod(xs: Array, ys: Array) -> Array:
    return jnp.dot(xs, ys, precision="highest")


def sum_squares(xss: Array) -> Array:
    return jnp.sum(xss * xss, axis=1)


def argmax(xss: Array) -> tuple[Array, Array]:
    places = jnp.argmax(xss, axis=1)
    return jnp.max(xss, axis=1), places


def mss(xss: Array) -> Array:
    """A reduction with the operator on quadruples."""

    def beside(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        inside = jnp.maximum(jnp.maximum(a[0], b[0]), a[2] + b[1])
        return inside, jnp.maximum(a[1], a[3] + b[1]), jnp.maximum(b[2], a[2] + b[3]), a[3] + b[3]

    zero = jnp.int32(0)
    positive = jnp.maximum(xss, 0)
    return lax.reduce((positive, positive, positive, xss), (zero, zero, zero, zero), beside, (1,))[0]


def rowscan(xss: Array) -> Array:
    """Of `cumsum` and `associative_scan`, what is faster here for rows that are long, and for short ones."""
    if xss.shape[1] > 64:
        return jnp.cumsum(xss, axis=1)
    return lax.associative_scan(jnp.add, xss, axis=1)


def compose(ass: Array, bss: Array) -> tuple[Array, Array]:
    def followed_by(f: tuple[Array, Array], g: tuple[Array, Array]) -> tuple[Array, Array]:
        return g[0] * f[0], g[0] * f[1] + g[1]

    return lax.associative_scan(followed_by, (ass, bss), axis=1)


def softmax(xss: Array) -> Array:
    powers = jnp.exp(xss - jnp.max(xss, axis=1, keepdims=True))
    return powers / jnp.sum(powers, axis=1, keepdims=True)


def layernorm(xss: Array, scale: Array, shift: Array) -> Array:
    mean = jnp.mean(xss, axis=1, keepdims=True)
    variance = jnp.mean(jnp.square(xss - mean), axis=1, keepdims=True)
    return (xss - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def attention(queries: Array, keys: Array, values: Array) -> Array:
    scores = jnp.matmul(queries, jnp.swapaxes(keys, 1, 2), precision="highest") / jnp.sqrt(
        jnp.asarray(queries.shape[-1], queries.dtype)
    )
    powers = jnp.exp(scores - jnp.max(scores, axis=2, keepdims=True))
    return jnp.matmul(powers / jnp.sum(powers, axis=2, keepdims=True), values, precision="highest")
