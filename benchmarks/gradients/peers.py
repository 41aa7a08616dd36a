"""The programs as whole-array functions of JAX and PyTorch, differentiated by these. `xp` is `jax.numpy` or `torch`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .cases import Case

Array = Any


@dataclass(frozen=True, slots=True)
class Peer:
    """A library's function and derivative as calls to be timed; `fetch` makes NumPy arrays of what they give."""

    library: str
    main: Callable[[], Any]
    derivative: Callable[[], Any]
    fetch: Callable[[Any], list[np.ndarray]]


def peers_of(case: Case, args: Sequence[Any], threads: int) -> list[Peer]:
    """The peers of a program, of the libraries that are there and can say it in whole arrays."""
    made = {"jax": on_jax, "torch": on_torch} if case.name in FUNCTIONS else {}
    return [make(case, args, threads) for name, make in made.items() if importlib.util.find_spec(name)]


def on_jax(case: Case, args: Sequence[Any], _: int) -> Peer:
    import jax

    jax.config.update("jax_enable_x64", True)
    xp, sizes = jax.numpy, tuple([k for k, arg in enumerate(args) if isinstance(arg, int)])
    given = [arg if isinstance(arg, int) else jax.device_put(arg) for arg in args]
    function = partial(FUNCTIONS[case.name], xp)
    varied = tuple(range(len(args) - case.by, len(args)))
    derivative = _jacobian(jax, case, xp) if case.is_jacobian else jax.grad(function, varied)
    main, derived = jax.jit(function, static_argnums=sizes), jax.jit(derivative, static_argnums=sizes)
    wait = jax.block_until_ready
    return Peer("jax", lambda: wait(main(*given)), lambda: wait(derived(*given)), _arrays)


def on_torch(case: Case, args: Sequence[Any], threads: int) -> Peer:
    import torch

    torch.set_num_threads(threads)
    given: list[Any] = [arg if isinstance(arg, int) else torch.as_tensor(arg) for arg in args]
    function = partial(FUNCTIONS[case.name], torch)
    varied = given[len(given) - case.by :]
    if case.is_jacobian:
        return Peer("torch", lambda: function(*given), partial(_jacobian(torch.func, case, torch), *given), _arrays)
    for one in varied:
        one.requires_grad_()

    def main() -> Any:
        with torch.no_grad():
            return function(*given)

    return Peer("torch", main, lambda: torch.autograd.grad(function(*given), varied), _arrays)


def _arrays(found: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in (found if isinstance(found, tuple | list) else [found])]


def _jacobian(library: Any, case: Case, xp: Any) -> Callable[..., Any]:
    """In the form that the program gives."""
    if case.name == "hand":
        function = partial(FUNCTIONS[case.name], xp)
        return lambda *args: xp.moveaxis(library.jacfwd(function, argnums=5)(*args), 2, 0)

    def of_all(cameras: Array, points: Array, weights: Array, features: Array, which: Array) -> Any:
        varied = xp.concatenate([cameras[which[:, 0]], points[which[:, 1]], weights[:, None]], 1)
        return library.vmap(library.jacrev(partial(residual, xp)))(varied, features), -2 * weights

    return of_all


# ---- functions ---------------------------------------------------------------------------------------------------


def _log_sum_exp(xp: Any, xs: Array) -> Array:
    most = xp.amax(xs, -1)
    return most + xp.log(xp.exp(xs - most[..., None]).sum(-1))


def gmm(xp: Any, points: Array, gamma: float, m: float, alphas: Array, means: Array, qs: Array, ls: Array) -> Array:
    d = points.shape[1]
    places = np.full((d, d), ls.shape[1])
    places[np.tril_indices(d, -1)] = np.arange(ls.shape[1])
    below = xp.concatenate([ls, xp.zeros_like(ls[:, :1])], 1)[:, places]
    factors = below + xp.exp(qs)[:, :, None] * xp.eye(d, dtype=qs.dtype)
    centred = points[:, None] - means
    scaled = xp.einsum("kij,nkj->nki", factors, centred)
    parts = alphas + qs.sum(1) - 0.5 * (scaled * scaled).sum(-1)
    prior = 0.5 * gamma * gamma * ((xp.exp(qs) ** 2).sum() + (ls * ls).sum()) - m * qs.sum()
    return _log_sum_exp(xp, parts).sum() - len(points) * _log_sum_exp(xp, alphas) + prior


def _layer(xp: Any, weights: Array, biases: Array, hidden: Array, cell: Array, x: Array) -> tuple[Array, Array]:
    sigmoid = lambda x: 1 / (1 + xp.exp(-x))  # noqa: E731
    forget, outgate = sigmoid(x * weights[0] + biases[0]), sigmoid(x * weights[2] + biases[2])
    ingate, change = sigmoid(hidden * weights[1] + biases[1]), xp.tanh(hidden * weights[3] + biases[3])
    new = cell * forget + ingate * change
    return outgate * xp.tanh(new), new


def _step(xp: Any, weights: Array, biases: Array, extra: Array, state: Any, x: Array, y: Array) -> tuple[Any, Array]:
    states, value = [], x * extra[0]
    for k, (hidden, cell) in enumerate(state):
        states.append(_layer(xp, weights[k], biases[k], hidden, cell, value))
        value = states[-1][0]
    guess = value * extra[1] + extra[2]
    return tuple(states), (y * (guess - xp.log(2 + xp.exp(guess).sum()))).sum()


def _scanned(xp: Any, step: Callable[[Any, Any], tuple[Any, Any]], state: Any, rows: Any) -> tuple[Any, Array]:
    """The last state, and what `step` gives beside it for each of the rows."""
    if xp.__name__ == "jax.numpy":
        return importlib.import_module("jax").lax.scan(step, state, rows)
    found = []
    for row in zip(*rows):
        state, one = step(state, row)
        found.append(one)
    return state, xp.stack(found)


def lstm(xp: Any, hidden: Array, cells: Array, sequence: Array, weights: Array, biases: Array, extra: Array) -> Array:
    def step(state: Any, xy: Any) -> Any:
        return _step(xp, weights, biases, extra, state, *xy)

    parts = _scanned(xp, step, tuple(zip(hidden, cells)), (sequence[:-1], sequence[1:]))[1]
    return -parts.sum() / ((len(sequence) - 1) * sequence.shape[1])


def kmeans(xp: Any, points: Array, centres: Array) -> Array:
    squares = (points * points).sum(1)[:, None] - 2 * points @ centres.T + (centres * centres).sum(1)
    return xp.amin(squares, 1).sum()


def kmeans_sparse(xp: Any, values: Array, columns: Array, starts: Array, ends: Array, centres: Array) -> Array:
    rows = xp.searchsorted(ends, xp.arange(len(values)), side="right")
    parts = values[:, None] * (values[:, None] - 2 * centres.T[columns])
    empty = xp.zeros((len(starts), len(centres)), dtype=values.dtype)
    sums = empty.index_add(0, rows, parts) if hasattr(empty, "index_add") else empty.at[rows].add(parts)
    return xp.amin(sums + (centres * centres).sum(1), 1).sum()


def residual(xp: Any, varied: Array, feature: Array) -> Array:
    r, centre, focus, shift, k1, k2 = varied[:3], varied[3:6], varied[6], varied[7:9], varied[9], varied[10]
    x, w = varied[11:14] - centre, varied[14]
    angle = xp.sqrt((r * r).sum())
    axis = r / angle
    across = xp.stack([
        axis[1] * x[2] - axis[2] * x[1], axis[2] * x[0] - axis[0] * x[2], axis[0] * x[1] - axis[1] * x[0],
    ])  # fmt: skip
    p = xp.cos(angle) * x + xp.sin(angle) * across + (axis * x).sum() * (1 - xp.cos(angle)) * axis
    u = p[:2] / p[2]
    square = (u * u).sum()
    return w * (u * (focus * (1 + k1 * square + k2 * square * square)) + shift - feature)


def ba(xp: Any, cameras: Array, points: Array, weights: Array, features: Array, which: Array) -> Any:
    varied = xp.concatenate([cameras[which[:, 0]], points[which[:, 1]], weights[:, None]], 1)
    vmap = xp.func.vmap if hasattr(xp, "func") else importlib.import_module("jax").vmap
    return vmap(partial(residual, xp))(varied, features), 1 - weights * weights


def _times(xp: Any, a: Array, b: Array) -> Array:
    """Products of transformations, [..., 3, 4]."""
    moved = a[..., :3] @ b
    return xp.concatenate([moved[..., :3], moved[..., 3:] + a[..., 3:]], -1)


def _rotation(xp: Any, r: Array) -> Array:
    angle = xp.sqrt((r * r).sum())
    axis = r / angle
    nothing = xp.zeros_like(angle)
    rows = [[nothing, -axis[2], axis[1]], [axis[2], nothing, -axis[0]], [-axis[1], axis[0], nothing]]
    cross = xp.stack([xp.stack(row) for row in rows])
    return xp.cos(angle) * xp.eye(3, dtype=r.dtype) + xp.sin(angle) * cross + (1 - xp.cos(angle)) * axis[:, None] * axis


def hand(xp: Any, base: Array, resting: Array, weights: Array, xs: Array, measured: Array, pose: Array) -> Array:
    angles = pose[6:].reshape(5, 4)
    c, s = xp.cos(angles), xp.sin(angles)
    no, one = xp.zeros_like(c[:, 0]), xp.ones_like(c[:, 0])

    def matrices(rows: list[list[Array]]) -> Array:
        return xp.stack([xp.stack(row, -1) for row in rows], -2)

    about_x = [
        matrices([[one, no, no, no], [no, c[:, k], -s[:, k], no], [no, s[:, k], c[:, k], no]]) for k in (0, 2, 3)
    ]
    about_z = matrices([[c[:, 1], -s[:, 1], no, no], [s[:, 1], c[:, 1], no, no], [no, no, one, no]])
    own = [_times(xp, about_x[0], about_z), about_x[1], about_x[2]]
    chain = [_times(xp, base[:, 0], own[0])]
    for k in (1, 2):
        chain.append(_times(xp, chain[-1], _times(xp, base[:, k], own[k])))
    chain.append(_times(xp, chain[-1], base[:, 3]))
    moved = _times(xp, xp.stack(chain, 1), resting)
    places = xp.einsum("nfk,fkij,nj->ni", weights, moved[..., :3], xs) + xp.einsum(
        "nfk,fki->ni", weights, moved[..., 3]
    )
    return measured - (places @ _rotation(xp, pose[:3]).T + pose[3:6])


def xsbench(
    xp: Any, grids: Array, nuclides: Array, energies: Array, materials: Array, weights: Array, tables: Array,
    densities: Array,
) -> Array:  # fmt: skip
    which, last = nuclides[materials], grids.shape[1] - 2
    places = xp.stack([xp.searchsorted(grid, energies, side="right") for grid in grids]) - 1
    at = xp.clip(places, 0, last)[which, xp.arange(len(energies))[:, None]]
    below, above = grids[which, at], grids[which, at + 1]
    part = ((above - energies[:, None]) / (above - below))[..., None]
    hi, lo = tables[which, at + 1], tables[which, at]
    return (densities[materials] * ((hi - part * (hi - lo)) * weights).sum(-1)).sum()


MOST_POLES = 9
"""In a window (`cases.py`)."""


def rsbench(
    xp: Any, windows: Array, angular: Array, nuclides: Array, energies: Array, materials: Array, radii: Array,
    fits: Array, poles: Array, densities: Array,
) -> Array:  # fmt: skip
    which, root = nuclides[materials], xp.sqrt(energies)
    window = xp.clip(xp.asarray(root * windows.shape[1], dtype=xp.int64), 0, windows.shape[1] - 1)[:, None]
    e, root = energies[:, None], root[:, None]
    ends, fit, phi = windows[which, window], fits[which, window], 2 * radii[which] * root[..., None]
    at = ends[..., :1] + xp.arange(MOST_POLES)
    there, at = at < ends[..., 1:], xp.clip(at, 0, poles.shape[1] - 1)
    wide = which[..., None]
    chosen, pole = angular[wide, at], poles[wide, at]
    rows, columns = xp.arange(len(energies))[:, None, None], xp.arange(which.shape[1])[:, None]
    c, s = xp.cos(phi)[rows, columns, chosen], -xp.sin(phi)[rows, columns, chosen]
    re, im = pole[..., 0] - root[..., None], pole[..., 1]
    square = re * re + im * im
    u, v = im / square, re / square
    parts = pole[..., 2] * (u * c - v * s) - pole[..., 3] * (u * s + v * c)
    sums = xp.where(there, parts / e[..., None], xp.zeros_like(parts)).sum(-1)
    start = e * (fit[..., 0] + fit[..., 1] * root + fit[..., 2] * e)
    return (densities[materials] * (start + sums)).sum()


def lbm(xp: Any, steps: int, omega: Array, cells: Array) -> Array:
    moves = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    shares = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    dx, dy = np.array(moves, float).T

    def moments(fs: list[Array]) -> tuple[Array, Array, Array]:
        return sum(fs), fs[1] + fs[5] + fs[8] - fs[3] - fs[6] - fs[7], fs[2] + fs[5] + fs[6] - fs[4] - fs[7] - fs[8]

    def step(fs: Array, _: Any) -> tuple[Array, Array]:
        moved = [xp.roll(fs[q], (y, x), (0, 1)) for q, (x, y) in enumerate(moves)]
        density, mx, my = moments(moved)
        u, v = mx / density, my / density
        still = 1 - 1.5 * (u * u + v * v)
        new = []
        for q, f in enumerate(moved):
            along = 3 * (float(dx[q]) * u + float(dy[q]) * v)
            new.append(f + omega * (float(shares[q]) * density * (still + along + 0.5 * along * along) - f))
        return xp.stack(new), density[0, 0]

    fs = _scanned(xp, step, xp.moveaxis(cells, 2, 0), (xp.arange(steps),))[0]
    density, mx, my = moments([fs[q] for q in range(9)])
    return ((mx * mx + my * my) / density).sum()


def _tridiagonal(xp: Any, rows: Sequence[Array], ys: Array) -> Array:
    """Solves systems along the first axis."""
    below, on, above = rows

    def forward(state: Any, row: Any) -> tuple[Any, Array]:
        (pivot, z, upper), (a, b, c, y) = state, row
        factor = a / pivot
        new = b - factor * upper, y - factor * z, c
        return new, xp.stack(new)

    def back(x: Array, row: Any) -> tuple[Array, Array]:
        (pivot, z, upper) = row[0]
        new = (z - upper * x) / pivot
        return new, new

    first = on[0], ys[0], above[0]
    (pivot, z, _), rest = _scanned(xp, forward, first, (below[1:], on[1:], above[1:], ys[1:]))
    states = xp.concatenate([xp.stack(first)[None], rest[:-1]])
    last = z / pivot
    xs = _scanned(xp, back, last, (xp.flip(states, (0,)),))[1]
    return xp.concatenate([xp.flip(xs, (0,)), last[None]])


def locvolcalib(
    xp: Any, nx: int, ny: int, nt: int, spot: float, time: float, strikes: Array, market: Array, alpha: Array,
    nu: Array, beta: Array,
) -> Array:  # fmt: skip
    dx, dy, dt = 4 * spot / nx, 6 / ny, time / nt
    prices = (xp.arange(nx, dtype=strikes.dtype) + 0.5) * dx
    logs = xp.log(alpha) + (xp.arange(ny, dtype=strikes.dtype) - ny // 2) * dy

    def rows(variances: Array, step: float) -> tuple[Array, Array, Array]:
        """Along the first axis."""
        half = 0.5 * dt * variances / (step * step)
        inside = np.zeros(len(variances))
        inside[1:-1] = 1
        half = half * xp.asarray(inside).reshape(-1, *[1] * (half.ndim - 1))
        return -half, 1 + 2 * half, -half

    in_x = rows(xp.exp(2 * (beta * xp.log(prices)[:, None] + logs)), dx)
    in_y = rows((nu * nu) * xp.asarray(np.ones(ny)), dy)
    wide = [part[:, :, None] + xp.zeros_like(strikes) for part in in_x]
    flat = [part[:, None, None] + xp.zeros_like(prices)[:, None] + xp.zeros_like(strikes) for part in in_y]

    def step(values: Array, _: Any) -> tuple[Array, Array]:
        after = _tridiagonal(xp, wide, values)
        new = xp.swapaxes(_tridiagonal(xp, flat, xp.swapaxes(after, 0, 1)), 0, 1)
        return new, new[0, 0]

    payoff = xp.clip(prices[:, None] - strikes, 0, None)[:, None, :] + xp.zeros_like(logs)[:, None]
    last = _scanned(xp, step, payoff, (xp.arange(nt),))[0]
    return ((last[nx // 4, ny // 2] - market) ** 2).sum()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "gmm": gmm, "lstm": lstm, "kmeans": kmeans, "kmeans_sparse": kmeans_sparse, "ba": ba, "hand": hand,
    "xsbench": xsbench, "rsbench": rsbench, "lbm": lbm, "locvolcalib": locvolcalib,
}  # fmt: skip
