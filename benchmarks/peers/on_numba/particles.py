"""Particles and points: n-body, LavaMD, nearest neighbours, k-means; back propagation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from .compiled import inlined, parallel

Array = NDArray[Any]


@parallel
def accelerations(xs: Array, ys: Array, zs: Array, ms: Array) -> tuple[Array, Array, Array]:
    b, n = xs.shape
    ax, ay, az = np.empty_like(xs), np.empty_like(xs), np.empty_like(xs)
    for t in prange(b * n):
        s, i = t // n, t % n
        x, y, z = xs[s, i], ys[s, i], zs[s, i]
        px, py, pz, m = xs[s], ys[s], zs[s], ms[s]
        sx = sy = sz = np.float32(0)
        for j in range(n):
            dx, dy, dz = px[j] - x, py[j] - y, pz[j] - z
            square = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            pull = m[j] / (square * math.sqrt(square))
            sx += pull * dx
            sy += pull * dy
            sz += pull * dz
        ax[s, i] = sx
        ay[s, i] = sy
        az[s, i] = sz
    return ax, ay, az


def nbody_systems(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    for _ in range(steps):
        ax, ay, az = accelerations(xs, ys, zs, ms)
        us, vs, ws = us + dt * ax, vs + dt * ay, ws + dt * az
        xs, ys, zs = xs + dt * us, ys + dt * vs, zs + dt * ws
    return xs, ys, zs, us, vs, ws


@parallel
def lavamd(side: int, alpha: float, vs: Array, xs: Array, ys: Array, zs: Array, charges: Array) -> tuple[Array, ...]:
    boxes, n = vs.shape
    a2 = np.float32(2) * alpha * alpha
    ov, ox, oy, oz = np.empty_like(vs), np.empty_like(vs), np.empty_like(vs), np.empty_like(vs)
    for box in prange(boxes):
        bx, by, bz = box % side, box // side % side, box // (side * side)
        for i in range(n):
            v, x, y, z = vs[box, i], xs[box, i], ys[box, i], zs[box, i]
            sv = sx = sy = sz = np.float32(0)
            for nz in range(max(0, bz - 1), min(side, bz + 2)):
                for ny in range(max(0, by - 1), min(side, by + 2)):
                    for nx in range(max(0, bx - 1), min(side, bx + 2)):
                        other = (nz * side + ny) * side + nx
                        qv, qx, qy, qz, q = vs[other], xs[other], ys[other], zs[other], charges[other]
                        for j in range(n):
                            product = x * qx[j] + y * qy[j] + z * qz[j]
                            potential = q[j] * math.exp(-a2 * (v + qv[j] - product))
                            force = np.float32(2) * potential
                            sv += potential
                            sx += force * (x - qx[j])
                            sy += force * (y - qy[j])
                            sz += force * (z - qz[j])
            ov[box, i] = sv
            ox[box, i] = sx
            oy[box, i] = sy
            oz[box, i] = sz
    return ov, ox, oy, oz


@parallel
def nn(k: int, x: Array, y: Array, xss: Array, yss: Array) -> tuple[Array, Array]:
    """k times the least: its value in a loop that vectorises, then its place."""
    b, n = xss.shape
    places, found = np.full((b, k), -1), np.full((b, k), np.float32(np.inf))
    for s in prange(b):
        distances = np.empty(n, np.float32)
        for j in range(n):
            dx, dy = xss[s, j] - x[s], yss[s, j] - y[s]
            distances[j] = math.sqrt(dx * dx + dy * dy)
        for q in range(min(k, n)):
            least = np.float32(np.inf)
            for j in range(n):
                least = min(least, distances[j])
            j = 0
            while j < n - 1 and distances[j] != least:
                j += 1
            places[s, q] = j
            found[s, q] = least
            distances[j] = np.float32(np.inf)
    return places, found


@inlined
def nearest(point: Array, turned: Array, distances: Array) -> int:
    """Distances to all centres, along the rows of the transposed centres."""
    d, k = turned.shape
    distances[:] = np.float32(0)
    for c in range(d):
        x, row = point[c], turned[c]
        for j in range(k):
            distances[j] += (x - row[j]) * (x - row[j])
    best = 0
    for j in range(1, k):
        if distances[j] < distances[best]:
            best = j
    return best


@parallel
def members_of(points: Array, turned: Array, pieces: int) -> Array:
    n, k = len(points), turned.shape[1]
    members = np.empty(n, np.int64)
    for t in prange(pieces):
        distances = np.empty(k, np.float32)
        for i in range(t * n // pieces, (t + 1) * n // pieces):
            members[i] = nearest(points[i], turned, distances)
    return members


@parallel
def sums_of(points: Array, members: Array, k: int, pieces: int) -> tuple[Array, Array]:
    n, d = points.shape
    sums, counts = np.zeros((pieces, k, d), np.float32), np.zeros((pieces, k), np.int32)
    for t in prange(pieces):
        for i in range(t * n // pieces, (t + 1) * n // pieces):
            line, point = sums[t, members[i]], points[i]
            counts[t, members[i]] += 1
            for c in range(d):
                line[c] += point[c]
    return sums, counts


def kmeans(steps: int, points: Array, centres: Array) -> tuple[Array, Array]:
    members = np.zeros(len(points), np.int64)
    for _ in range(steps):
        members = members_of(points, np.ascontiguousarray(centres.T), 64)
        sums, counts = (part.sum(axis=0) for part in sums_of(points, members, len(centres), 8))
        centres = np.where(counts[:, None] == 0, centres, sums / np.maximum(counts, 1)[:, None].astype(np.float32))
    return centres, members


# ---- back propagation -----------------------------------------------------------------------------------------------


@parallel
def weighted(xs: Array, weights: Array, pieces: int) -> Array:
    n, h = len(xs), weights.shape[1]
    parts = np.zeros((pieces, h), np.float32)
    for t in prange(pieces):
        own = np.zeros(h, np.float32)
        for i in range(t * n // pieces, (t + 1) * n // pieces):
            row = weights[i + 1]
            for j in range(h):
                own[j] += xs[i] * row[j]
        parts[t] = own
    return parts


@parallel
def adjusted(errors: Array, xs: Array, weights: Array, changes: Array) -> tuple[Array, Array]:
    n, h = weights.shape
    new_weights, new_changes = np.empty_like(weights), np.empty_like(changes)
    for i in prange(n):
        x = np.float32(0.3) * (np.float32(1) if i == 0 else xs[i - 1])
        for j in range(h):
            change = errors[j] * x + np.float32(0.3) * changes[i, j]
            new_changes[i, j] = change
            new_weights[i, j] = weights[i, j] + change
    return new_weights, new_changes


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def backprop(xs: Array, targets: Array, w1: Array, w2: Array, c1: Array, c2: Array) -> tuple[Array, ...]:
    hidden = sigmoid(w1[0] + weighted(xs, w1, 16).sum(axis=0))
    outputs = sigmoid(w2[0] + hidden @ w2[1:])
    output_errors = outputs * (1 - outputs) * (targets - outputs)
    hidden_errors = hidden * (1 - hidden) * (w2[1:] @ output_errors)
    new_w1, new_c1 = adjusted(hidden_errors, xs, w1, c1)
    new_w2, new_c2 = adjusted(output_errors, hidden, w2, c2)
    return new_w1, new_w2, new_c1, new_c2
