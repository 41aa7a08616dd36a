"""Particles and points: n-body, LavaMD, nearest neighbours, k-means; back propagation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


def nbody_systems(
    steps: int, dt: float, xs: Array, ys: Array, zs: Array, ms: Array, us: Array, vs: Array, ws: Array
) -> tuple[Array, ...]:
    """All pairs as arrays that XLA fuses into the sums."""

    def step(_: int, state: tuple[Array, ...]) -> tuple[Array, ...]:
        xs, ys, zs, us, vs, ws = state
        dx, dy, dz = (p[:, None, :] - p[:, :, None] for p in (xs, ys, zs))
        square = dx * dx + dy * dy + dz * dz + 0.01
        pull = ms[:, None, :] / (square * jnp.sqrt(square))
        ax, ay, az = (jnp.sum(pull * delta, axis=2) for delta in (dx, dy, dz))
        us, vs, ws = us + dt * ax, vs + dt * ay, ws + dt * az
        return xs + dt * us, ys + dt * vs, zs + dt * ws, us, vs, ws

    return lax.fori_loop(0, steps, step, (xs, ys, zs, us, vs, ws))


def neighbours(side: int) -> tuple[np.ndarray, np.ndarray]:
    """The boxes around each box, 27 with those that are not there, and which are there."""
    z, y, x = np.unravel_index(np.arange(side**3), (side,) * 3)
    places = np.stack([z, y, x])[:, :, None] + np.stack(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, 1, 27)
    there = np.all((places >= 0) & (places < side), axis=0)
    clipped = np.clip(places, 0, side - 1)
    return (clipped[0] * side + clipped[1]) * side + clipped[2], there


def lavamd(side: int, alpha: float, vs: Array, xs: Array, ys: Array, zs: Array, charges: Array) -> tuple[Array, ...]:
    around, there = neighbours(side)
    a2 = 2 * alpha * alpha

    def of_box(box: tuple[Array, ...]) -> tuple[Array, ...]:
        v, x, y, z, others, weights = box

        def add(k: int, sums: tuple[Array, ...]) -> tuple[Array, ...]:
            other = others[k]
            qv, qx, qy, qz = vs[other], xs[other], ys[other], zs[other]
            charge = charges[other] * weights[k]
            product = x[:, None] * qx + y[:, None] * qy + z[:, None] * qz
            potential = charge * jnp.exp(-a2 * (v[:, None] + qv - product))
            force = 2 * potential
            acted = (
                potential, force * (x[:, None] - qx), force * (y[:, None] - qy), force * (z[:, None] - qz)
            )  # fmt: skip
            return tuple(total + jnp.sum(part, axis=1) for total, part in zip(sums, acted))

        return lax.fori_loop(0, 27, add, (jnp.zeros_like(v),) * 4)

    return lax.map(of_box, (vs, xs, ys, zs, jnp.asarray(around), jnp.asarray(there, vs.dtype)))


def nn(k: int, x: Array, y: Array, xss: Array, yss: Array) -> tuple[Array, Array]:
    """k times the least, which is then taken out."""
    distances = jnp.sqrt(jnp.square(xss - x[:, None]) + jnp.square(yss - y[:, None]))
    sets = jnp.arange(len(x))

    def take(distances: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
        place = jnp.argmin(distances, axis=1)
        return distances.at[sets, place].set(jnp.inf), (place, distances[sets, place])

    _, (places, found) = lax.scan(take, distances, None, length=k)
    return jnp.where(jnp.isinf(found), -1, places).T, found.T


def kmeans(steps: int, points: Array, centres: Array) -> tuple[Array, Array]:
    n, k = len(points), len(centres)
    piece = max(1, min(n, (1 << 20) // k))

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        centres, _members = state
        squares = jnp.sum(centres * centres, axis=1)

        def nearest(point: Array) -> Array:
            return jnp.argmin(squares - 2 * jnp.matmul(centres, point, precision="highest"))

        members = lax.map(nearest, points, batch_size=piece)
        sums = jnp.zeros_like(centres).at[members].add(points)
        counts = jnp.zeros(k, jnp.int32).at[members].add(1)[:, None]
        return jnp.where(counts == 0, centres, sums / jnp.maximum(counts, 1)).astype(points.dtype), members

    return lax.fori_loop(0, steps, step, (centres, jnp.zeros(n, jnp.int64)))


def backprop(xs: Array, targets: Array, w1: Array, w2: Array, c1: Array, c2: Array) -> tuple[Array, ...]:
    hidden = jax.nn.sigmoid(w1[0] + jnp.matmul(xs, w1[1:], precision="highest"))
    outputs = jax.nn.sigmoid(w2[0] + jnp.matmul(hidden, w2[1:], precision="highest"))
    output_errors = outputs * (1 - outputs) * (targets - outputs)
    hidden_errors = hidden * (1 - hidden) * jnp.matmul(w2[1:], output_errors, precision="highest")

    def changes(errors: Array, xs: Array, last: Array) -> Array:
        with_one = jnp.concatenate([jnp.ones(1, xs.dtype), xs])
        return 0.3 * with_one[:, None] * errors + 0.3 * last

    new1, new2 = changes(hidden_errors, xs, c1), changes(output_errors, hidden, c2)
    return w1 + new1, w2 + new2, new1, new2
