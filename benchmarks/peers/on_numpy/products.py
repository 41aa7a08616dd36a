"""Products of matrices with something done to their operands and results, and rows and axes moved: for
`benchmarks/classes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def dense(xs: Array, ws: Array, bias: Array) -> Array:
    return np.maximum(xs @ ws.T + bias, 0)


def gate(xs: Array, ws: Array, hs: Array, us: Array, bias: Array) -> Array:
    return 1 / (1 + np.exp(-(xs @ ws.T + hs @ us.T + bias)))


def gemm(alpha: float, beta: float, a: Array, b: Array, c: Array) -> Array:
    return alpha * (a @ b) + beta * c


def distances(xs: Array, ys: Array) -> Array:
    squares = (xs * xs).sum(1)[:, None] + (ys * ys).sum(1) - 2 * (xs @ ys.T)
    return np.sqrt(np.maximum(squares, 0))


def residues(a: Array, b: Array) -> Array:
    return (a @ b) % 1009


def class_shares(xs: Array, ws: Array, bias: Array) -> Array:
    scores = xs @ ws.T + bias
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def perceptron(xs: Array, ws: Array, bs: Array, vs: Array, cs: Array) -> Array:
    return np.tanh(xs @ ws.T + bs) @ vs.T + cs


def gram(xs: Array) -> Array:
    return xs.T @ xs


def covariance(xs: Array) -> Array:
    centred = xs - xs.mean(0)
    return centred.T @ centred / (len(xs) - 1)


def weighted(ws: Array, xs: Array) -> Array:
    return (ws[:, None] * xs).T @ xs


def backward(xs: Array, gs: Array) -> Array:
    return np.float32(0.01) * (xs.T @ gs)


def overlaps(xs: Array) -> Array:
    parity = xs & 1
    return parity @ parity.T


def kernel_matrix(xs: Array, ys: Array) -> Array:
    us = xs / np.sqrt((xs * xs).sum(1, keepdims=True))
    vs = ys / np.sqrt((ys * ys).sum(1, keepdims=True))
    return (1 + us @ vs.T) ** 2


def vecmat(x: Array, a: Array) -> Array:
    return x @ a


def gradient(w: Array, xs: Array, ys: Array) -> Array:
    return (xs @ w - ys) @ xs / np.float32(len(xs))


def embedding(table: Array, numbers: Array) -> Array:
    return table[numbers]


def permuted(values: Array, keys: Array, order: Array) -> tuple[Array, Array]:
    return values[order], keys[order]


def scaled_rows(table: Array, numbers: Array, ws: Array) -> Array:
    return table[numbers] * ws[:, None, None]


def bags(table: Array, numbers: Array) -> Array:
    return table[numbers].sum(1)


def axes(*order: int) -> Callable[[Array], Array]:
    """The axes in another order, in memory."""
    return lambda xs: np.ascontiguousarray(xs.transpose(order))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gru(xs: Array, ws: Array, us: Array, bias: Array, hs: Array) -> Array:
    for x in xs:
        given, own = x @ ws.T + bias, hs @ us.T
        (r0, z0, n0), (r1, z1, n1) = np.split(given, 3, 1), np.split(own, 3, 1)
        z = sigmoid(z0 + z1)
        hs = (1 - z) * np.tanh(n0 + sigmoid(r0 + r1) * n1) + z * hs
    return hs


def elman(xs: Array, ws: Array, us: Array, hs: Array) -> Array:
    for x in xs:
        hs = np.tanh(x @ ws.T + hs @ us.T)
    return hs


def powers(steps: int, a: Array, x: Array) -> Array:
    for _ in range(steps):
        y = a @ x
        x = y / np.sqrt(y @ y)
    return x


def cholesky(a: Array) -> Array:
    return np.linalg.cholesky(a)


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
    ("recurrent", "cholesky"): cholesky,
}
