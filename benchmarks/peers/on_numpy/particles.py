"""Particles and points: n-body, LavaMD, nearest neighbours, k-means; back propagation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def nbody(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    """Gravitation of every body on every body, softening 0.1, symplectic Euler; positions, then velocities."""
    real = xs.dtype.type
    for _ in range(steps):
        dx, dy, dz = (p[None, :] - p[:, None] for p in (xs, ys, zs))
        square = dx * dx + dy * dy + dz * dz + real(0.01)
        pull = ms[None, :] / (square * np.sqrt(square))
        us = us + real(dt) * np.sum(pull * dx, axis=1)
        vs = vs + real(dt) * np.sum(pull * dy, axis=1)
        ws = ws + real(dt) * np.sum(pull * dz, axis=1)
        xs, ys, zs = xs + real(dt) * us, ys + real(dt) * vs, zs + real(dt) * ws
    return xs, ys, zs, us, vs, ws


BLOCK = 1 << 20
"""Pairs whose arrays are there at the same time."""


def nbody_systems(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    """`nbody` for many systems: small ones together, a large one in blocks of its bodies."""
    real = xs.dtype.type
    for _ in range(steps):
        pulls = [np.empty_like(xs) for _ in range(3)]
        for part in pieces(xs.shape):
            deltas = [p[part[0], None, :] - p[part][:, :, None] for p in (xs, ys, zs)]
            square = sum((d * d for d in deltas), start=real(0.01))
            pull = ms[part[0], None, :] / (square * np.sqrt(square))
            for out, delta in zip(pulls, deltas):
                out[part] = np.einsum("bij,bij->bi", pull, delta)
        us, vs, ws = us + real(dt) * pulls[0], vs + real(dt) * pulls[1], ws + real(dt) * pulls[2]
        xs, ys, zs = xs + real(dt) * us, ys + real(dt) * vs, zs + real(dt) * ws
    return xs, ys, zs, us, vs, ws


def pieces(shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Systems and bodies so that each piece has at most `BLOCK` pairs, or one body."""
    systems, n = shape
    together = max(1, BLOCK // max(1, n * n))
    bodies = n if together > 1 else max(1, BLOCK // max(1, n))
    return [
        (slice(s, s + together), slice(i, i + bodies)) for s in range(0, systems, together) for i in range(0, n, bodies)
    ]


def lavamd(side: int, alpha: float, vs: Array, xs: Array, ys: Array, zs: Array, charges: Array) -> tuple[Array, ...]:
    """A box at a time, against all particles of the boxes around it."""
    real = vs.dtype.type
    a2 = real(2 * alpha * alpha)
    out = np.empty((4, *vs.shape), vs.dtype)
    numbers = np.arange(side**3).reshape(side, side, side)
    for box in range(side**3):
        z, y, x = np.unravel_index(box, numbers.shape)
        around = numbers[tuple(slice(max(0, c - 1), c + 2) for c in (z, y, x))].ravel()
        v, px, py, pz, charge = (part[around].ravel() for part in (vs, xs, ys, zs, charges))
        mine = [part[box][:, None] for part in (vs, xs, ys, zs)]
        products = mine[1] * px + mine[2] * py + mine[3] * pz
        potential = charge * np.exp(-a2 * (mine[0] + v - products))
        out[0, box] = potential.sum(axis=1)
        force = real(2) * potential
        for place, (at, other) in enumerate(zip(mine[1:], (px, py, pz)), start=1):
            out[place, box] = np.einsum("ij,ij->i", force, at - other)
    return tuple(out)


def nn(k: int, x: Array, y: Array, xss: Array, yss: Array) -> tuple[Array, Array]:
    """k times the least, which is then taken out; -1 where there is none."""
    k = int(k)
    dx, dy = xss - x[:, None], yss - y[:, None]
    distances = np.sqrt(dx * dx + dy * dy)
    places, found = np.full((len(x), k), -1), np.full((len(x), k), np.inf, xss.dtype)
    sets = np.arange(len(x))
    for q in range(min(k, xss.shape[1])):
        nearest = np.argmin(distances, axis=1)
        places[:, q], found[:, q] = nearest, distances[sets, nearest]
        distances[sets, nearest] = np.inf
    return places, found


def kmeans(steps: int, points: Array, centres: Array) -> tuple[Array, Array]:
    members = np.zeros(len(points), np.int64)
    for _ in range(steps):
        members = nearest_centres(points, centres)
        counts = np.bincount(members, minlength=len(centres))
        sums = np.stack([np.bincount(members, column, len(centres)) for column in points.T], axis=1)
        means = sums / np.maximum(counts, 1)[:, None]
        centres = np.where(counts[:, None] == 0, centres, means).astype(points.dtype)
    return centres, members


def nearest_centres(points: Array, centres: Array) -> Array:
    """By |p - c|^2 = |p|^2 - 2 p c + |c|^2, of which |p|^2 does not matter; in pieces that stay in the cache."""
    squares = np.einsum("ij,ij->i", centres, centres)
    piece = max(1, (1 << 18) // len(centres))
    members = np.empty(len(points), np.int64)
    for first in range(0, len(points), piece):
        part = slice(first, first + piece)
        members[part] = np.argmin(squares - points.dtype.type(2) * (points[part] @ centres.T), axis=1)
    return members


def backprop(xs: Array, targets: Array, w1: Array, w2: Array, c1: Array, c2: Array) -> tuple[Array, ...]:
    hidden = sigmoid(w1[0] + xs @ w1[1:])
    outputs = sigmoid(w2[0] + hidden @ w2[1:])
    output_errors = outputs * (1 - outputs) * (targets - outputs)
    hidden_errors = hidden * (1 - hidden) * (w2[1:] @ output_errors)
    new1, new2 = changes(hidden_errors, xs, c1), changes(output_errors, hidden, c2)
    return w1 + new1, w2 + new2, new1, new2


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def changes(errors: Array, xs: Array, last: Array) -> Array:
    """Learning rate and momentum are 0.3."""
    new = xs.dtype.type(0.3) * last
    new[0] += xs.dtype.type(0.3) * errors
    new[1:] += np.outer(xs, xs.dtype.type(0.3) * errors)
    return new
