"""As `on_numpy/products.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array


def dense(xs: Array, ws: Array, bias: Array) -> Array:
    return jnp.maximum(xs @ ws.T + bias, 0)


def gate(xs: Array, ws: Array, hs: Array, us: Array, bias: Array) -> Array:
    return jax.nn.sigmoid(xs @ ws.T + hs @ us.T + bias)


def gemm(alpha: float, beta: float, a: Array, b: Array, c: Array) -> Array:
    return alpha * (a @ b) + beta * c


def distances(xs: Array, ys: Array) -> Array:
    squares = (xs * xs).sum(1)[:, None] + (ys * ys).sum(1) - 2 * (xs @ ys.T)
    return jnp.sqrt(jnp.maximum(squares, 0))


def residues(a: Array, b: Array) -> Array:
    return (a @ b) % 1009


def class_shares(xs: Array, ws: Array, bias: Array) -> Array:
    return jax.nn.softmax(xs @ ws.T + bias)


def perceptron(xs: Array, ws: Array, bs: Array, vs: Array, cs: Array) -> Array:
    return jnp.tanh(xs @ ws.T + bs) @ vs.T + cs


def gram(xs: Array) -> Array:
    return xs.T @ xs


def covariance(xs: Array) -> Array:
    centred = xs - xs.mean(0)
    return centred.T @ centred / (len(xs) - 1)


def weighted(ws: Array, xs: Array) -> Array:
    return (ws[:, None] * xs).T @ xs


def backward(xs: Array, gs: Array) -> Array:
    return jnp.float32(0.01) * (xs.T @ gs)


def overlaps(xs: Array) -> Array:
    parity = xs & 1
    return parity @ parity.T


def kernel_matrix(xs: Array, ys: Array) -> Array:
    us = xs / jnp.sqrt((xs * xs).sum(1, keepdims=True))
    vs = ys / jnp.sqrt((ys * ys).sum(1, keepdims=True))
    return (1 + us @ vs.T) ** 2


def vecmat(x: Array, a: Array) -> Array:
    return x @ a


def gradient(w: Array, xs: Array, ys: Array) -> Array:
    return (xs @ w - ys) @ xs / len(xs)


def embedding(table: Array, numbers: Array) -> Array:
    return table[numbers]


def permuted(values: Array, keys: Array, order: Array) -> tuple[Array, Array]:
    return values[order], keys[order]


def scaled_rows(table: Array, numbers: Array, ws: Array) -> Array:
    return table[numbers] * ws[:, None, None]


def bags(table: Array, numbers: Array) -> Array:
    return table[numbers].sum(1)


def axes(*order: int) -> Callable[[Array], Array]:
    return lambda xs: xs.transpose(order)


def gru(xs: Array, ws: Array, us: Array, bias: Array, start: Array) -> Array:
    def step(hs: Array, x: Array) -> tuple[Array, None]:
        (r0, z0, n0), (r1, z1, n1) = jnp.split(x @ ws.T + bias, 3, 1), jnp.split(hs @ us.T, 3, 1)
        z = jax.nn.sigmoid(z0 + z1)
        return (1 - z) * jnp.tanh(n0 + jax.nn.sigmoid(r0 + r1) * n1) + z * hs, None

    return jax.lax.scan(step, start, xs)[0]


def elman(xs: Array, ws: Array, us: Array, start: Array) -> Array:
    return jax.lax.scan(lambda hs, x: (jnp.tanh(x @ ws.T + hs @ us.T), None), start, xs)[0]


def powers(steps: int, a: Array, start: Array) -> Array:
    def step(_: int, x: Array) -> Array:
        y = a @ x
        return y / jnp.sqrt(y @ y)

    return jax.lax.fori_loop(0, steps, step, start)


PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("products", "dense"): dense,
    ("products", "gate"): gate,
    ("products", "gemm"): gemm,
    ("products", "distances"): distances,
    ("products", "residues"): residues,
    ("products", "class_shares"): class_shares,
    ("products", "perceptron"): perceptron,
    ("grams", "gram"): gram,
    ("grams", "covariance"): covariance,
    ("grams", "weighted"): weighted,
    ("grams", "backward"): backward,
    ("grams", "overlaps"): overlaps,
    ("grams", "kernel_matrix"): kernel_matrix,
    ("grams", "vecmat"): vecmat,
    ("grams", "votes"): vecmat,
    ("grams", "gradient"): gradient,
    ("row_gathers", "embedding"): embedding,
    ("row_gathers", "permuted"): permuted,
    ("row_gathers", "scaled_rows"): scaled_rows,
    ("row_gathers", "bags"): bags,
    ("transpositions", "to_planes"): axes(1, 0),
    ("transpositions", "from_planes"): axes(1, 0),
    ("transpositions", "odd"): axes(1, 0),
    ("transpositions", "middle_first"): axes(1, 0, 2),
    ("transpositions", "last_first"): axes(2, 1, 0),
    ("transpositions", "heads"): axes(0, 2, 1, 3),
    ("transpositions", "bytes"): axes(1, 0),
    ("recurrent", "gru"): gru,
    ("recurrent", "elman"): elman,
    ("recurrent", "powers"): powers,
}
