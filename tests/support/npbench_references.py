"""What the programs of `benchmarks/npbench` compute, in NumPy and with small inputs: plain definitions rather than fast
code. Results are those of the program, complex numbers whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Inputs = Callable[[np.random.Generator], tuple[Any, ...]]
REFERENCES: dict[str, tuple[Inputs, Callable[..., Any]]] = {}
"""By program: small inputs, and the function of them."""


def of(inputs: Inputs) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as the reference of the program of its name."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        REFERENCES[function.__name__] = inputs, function
        return function

    return register


def randoms(*shapes: tuple[int, ...]) -> Inputs:
    """Arrays of numbers in [0, 1)."""
    return lambda rng: tuple(rng.random(shape) for shape in shapes)


def floats(*shapes: tuple[int, ...]) -> Inputs:
    return lambda rng: tuple(rng.random(shape, dtype=np.float32) for shape in shapes)


def complexes(rng: np.random.Generator, *shape: int) -> Array:
    return rng.random(shape) + 1j * rng.random(shape)


def positive(rng: np.random.Generator, n: int) -> Array:
    """A symmetric positive definite matrix."""
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


# ---- grids ----------------------------------------------------------------------------------------------------------


@of(lambda rng: (3, rng.random((7, 7))))
def adi(steps: int, u: Array) -> Array:
    n = len(u)
    scale = n * n / steps
    for _ in range(steps):
        v = _implicit(1 + scale, -scale / 2, -scale, u, u.T)
        u = _implicit(1 + scale, -scale, -scale / 2, v, u)
    return u


def _implicit(on: float, across: float, along: float, u: Array, border: Array) -> Array:
    n = len(u)
    system = np.eye(n)
    for j in range(1, n - 1):
        system[j, j - 1 : j + 2] = along, on, along
    lines = border.copy()
    for i in range(1, n - 1):
        rhs = -across * u[:, i - 1] + (1 + 2 * across) * u[:, i] - across * u[:, i + 1]
        rhs[0] = rhs[-1] = 1
        lines[i] = np.linalg.solve(system, rhs)
    return lines


@of(lambda rng: (4, 3, *(np.zeros((7, 8)) for _ in range(2)), 0.001, 0.3, 0.25, rng.random((7, 8)), 1.0, 0.1))
def cavity_flow(
    steps: int, rounds: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array, rho: float, nu: float
) -> tuple[Array, ...]:
    inner = slice(1, -1), slice(1, -1)
    for _ in range(steps):
        b = _source(rho, dt, dx, dy, u, v)
        for _ in range(rounds):
            p = _pressure(dx, dy, b, p)
            p[1:-1, -1], p[0], p[1:-1, 0] = p[1:-1, -2], p[1], p[1:-1, 1]
            p[0, 0], p[0, -1], p[-1] = p[1, 1], p[1, -2], 0
        next_u = _carried(nu, dt, dx, dy, u, v, u) - dt / (2 * rho * dx) * (_right(p) - _left(p))
        next_v = _carried(nu, dt, dx, dy, u, v, v) - dt / (2 * rho * dy) * (_down(p) - _up(p))
        u, v = np.zeros_like(u), np.zeros_like(v)
        u[inner], v[inner], u[-1] = next_u[inner], next_v[inner], 1
    return u, v, p


@of(lambda _: (3, *(np.zeros((7, 6)) for _ in range(2)), 0.01, 0.3, 0.25, np.ones((7, 6)), 1.0, 0.1, 1.0))
def channel_flow(
    rounds: int, u: Array, v: Array, dt: float, dx: float, dy: float, p: Array, rho: float, nu: float, force: float
) -> tuple[Any, ...]:
    steps, change = 0, 1.0
    while change > 0.001:
        b = _source(rho, dt, dx, dy, u, v)
        for _ in range(rounds):
            p = _pressure(dx, dy, b, p)
            p[0], p[-1] = p[1], p[-2]
        next_u = _carried(nu, dt, dx, dy, u, v, u) - dt / (2 * rho * dx) * (_right(p) - _left(p)) + force * dt
        next_v = _carried(nu, dt, dx, dy, u, v, v) - dt / (2 * rho * dy) * (_down(p) - _up(p))
        next_u[[0, -1]] = next_v[[0, -1]] = 0
        change = (next_u.sum() - u.sum()) / next_u.sum()
        u, v, steps = next_u, next_v, steps + 1
    return steps, u, v, p


def _left(a: Array) -> Array:
    return np.roll(a, 1, axis=1)


def _right(a: Array) -> Array:
    return np.roll(a, -1, axis=1)


def _up(a: Array) -> Array:
    return np.roll(a, 1, axis=0)


def _down(a: Array) -> Array:
    return np.roll(a, -1, axis=0)


def _source(rho: float, dt: float, dx: float, dy: float, u: Array, v: Array) -> Array:
    ux, uy = (_right(u) - _left(u)) / (2 * dx), (_down(u) - _up(u)) / (2 * dy)
    vx, vy = (_right(v) - _left(v)) / (2 * dx), (_down(v) - _up(v)) / (2 * dy)
    return rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)


def _pressure(dx: float, dy: float, b: Array, p: Array) -> Array:
    neighbours = (_right(p) + _left(p)) * dy**2 + (_down(p) + _up(p)) * dx**2
    return (neighbours - dx**2 * dy**2 * b) / (2 * (dx**2 + dy**2))


def _carried(nu: float, dt: float, dx: float, dy: float, u: Array, v: Array, c: Array) -> Array:
    friction = (_right(c) - 2 * c + _left(c)) / dx**2 + (_down(c) - 2 * c + _up(c)) / dy**2
    return c - dt / dx * u * (c - _left(c)) - dt / dy * v * (c - _up(c)) + nu * dt * friction


@of(randoms((6, 9), (6, 9), (6, 9), (4,)))
def fdtd_2d(ex: Array, ey: Array, hz: Array, source: Array) -> tuple[Array, ...]:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for s in source:
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ey[0] = s
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return ex, ey, hz


@of(randoms((9, 8, 5), (5, 4, 5)))
def hdiff(field: Array, coeff: Array) -> Array:
    laplacian = 4 * field - _up(field) - _down(field) - _left(field) - _right(field)
    fluxes = []
    for axis in (0, 1):
        flux, slope = np.diff(laplacian, axis=axis), np.diff(field, axis=axis)
        fluxes.append(np.diff(np.where(flux * slope > 0, 0, flux), axis=axis))
    i, j, _ = coeff.shape
    divergence = fluxes[0][1 : i + 1, 2 : j + 2] + fluxes[1][2 : i + 2, 1 : j + 1]
    return field[2:-2, 2:-2] - coeff * divergence


@of(lambda rng: (3, rng.random((6, 6, 6)), rng.random((6, 6, 6))))
def heat_3d(steps: int, a: Array, b: Array) -> tuple[Array, Array]:
    def step(a: Array) -> Array:
        change = sum(np.roll(a, 1, axis) - 2 * a + np.roll(a, -1, axis) for axis in range(3))
        inner = (slice(1, -1),) * 3
        result = a.copy()
        result[inner] += 0.125 * np.asarray(change)[inner]
        return result

    for _ in range(steps - 1):
        b = step(a)
        a = step(b)
    return a, b


@of(lambda rng: (4, rng.random(11), rng.random(11)))
def jacobi_1d(steps: int, a: Array, b: Array) -> tuple[Array, Array]:
    a, b = a.copy(), b.copy()
    for _ in range(steps - 1):
        b[1:-1] = 0.33333 * np.convolve(a, np.ones(3), "valid")
        a[1:-1] = 0.33333 * np.convolve(b, np.ones(3), "valid")
    return a, b


@of(lambda rng: (4, rng.random((7, 7)), rng.random((7, 7))))
def jacobi_2d(steps: int, a: Array, b: Array) -> tuple[Array, Array]:
    a, b = a.copy(), b.copy()
    for _ in range(steps - 1):
        for source, target in ((a, b), (b, a)):
            total = source + _up(source) + _down(source) + _left(source) + _right(source)
            target[1:-1, 1:-1] = 0.2 * total[1:-1, 1:-1]
    return a, b


@of(lambda rng: (3, rng.random((7, 7))))
def seidel_2d(steps: int, a: Array) -> Array:
    a = a.copy()
    for _ in range(steps - 1):
        for i in range(1, len(a) - 1):
            for j in range(1, len(a) - 1):
                a[i, j] = a[i - 1 : i + 2, j - 1 : j + 2].sum() / 9
    return a


@of(lambda rng: (*randoms((3, 4, 6), (3, 4, 6), (4, 4, 6), (3, 4, 6), (3, 4, 6))(rng), 0.15))
def vadv(tendency: Array, stage: Array, wcon: Array, position: Array, force: Array, dtr: float) -> Array:
    result = np.empty_like(stage)
    levels = stage.shape[2]
    for x, y in np.ndindex(stage.shape[:2]):
        w = (wcon[x + 1, y] + wcon[x, y]) / 8
        system, rhs = np.zeros((levels, levels)), dtr * position[x, y] + force[x, y] + tendency[x, y]
        for z in range(levels):
            for other, weight in ((z - 1, -w[z]), (z + 1, w[(z + 1) % levels])):
                if 0 <= other < levels:
                    system[z, other] = weight
                    rhs[z] -= weight * (stage[x, y, other] - stage[x, y, z])
            system[z, z] = dtr - system[z].sum()
        result[x, y] = dtr * (np.linalg.solve(system, rhs) - position[x, y])
    return result


@of(lambda rng: (0.25, rng.random((6, 7))))
def deriche(alpha: float, image: Array) -> Array:
    fade = np.exp(-alpha)
    k = (1 - fade) ** 2 / (1 + alpha * fade - np.exp(2 * alpha))
    ahead = k, k * fade * (alpha - 1)
    behind = 0, k * fade * (alpha + 1), -k * fade**2

    def recursive(weights: tuple[float, ...], line: Array) -> Array:
        ys = np.zeros(len(line) + 2)
        for i in range(len(line)):
            sources = sum(weight * line[i - lag] for lag, weight in enumerate(weights) if i >= lag)
            ys[i] = sources + 2**-alpha * ys[i - 1] - fade**2 * ys[i - 2]
        return ys[:-2]

    def filtered(line: Array) -> Array:
        return recursive(ahead, line) + recursive(behind, line[::-1])[::-1]

    return np.apply_along_axis(filtered, 0, np.apply_along_axis(filtered, 1, image))


# ---- products of matrices -------------------------------------------------------------------------------------------


@of(randoms((4, 5), (5,)))
def atax(a: Array, x: Array) -> Array:
    return a.T @ (a @ x)


@of(randoms((4, 5), (5,), (4,)))
def bicg(a: Array, p: Array, r: Array) -> tuple[Array, Array]:
    return a.T @ r, a @ p


@of(lambda rng: (9.0, rng.random((9, 5))))
def correlation(float_n: float, data: Array) -> Array:
    centred = data - data.mean(axis=0)
    deviation = data.std(axis=0)
    scaled = centred / (np.sqrt(float_n) * np.where(deviation <= 0.1, 1, deviation))
    result = scaled.T @ scaled
    np.fill_diagonal(result, 1)
    return result


@of(lambda rng: (9.0, rng.random((9, 5))))
def covariance(float_n: float, data: Array) -> Array:
    centred = data - data.mean(axis=0)
    return centred.T @ centred / (float_n - 1)


@of(randoms((9, 5)))
def covariance2(data: Array) -> Array:
    return np.cov(data, rowvar=False)


@of(randoms((3, 4, 5), (5, 5)))
def doitgen(a: Array, c4: Array) -> Array:
    return np.einsum("rqs,sp->rqp", a, c4)


@of(lambda rng: (1.5, 1.2, *randoms((4, 5), (4, 3), (3, 5))(rng)))
def gemm(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    return alpha * (a @ b) + beta * c


@of(lambda rng: (1.5, 1.2, *randoms((6, 6), *[(6,)] * 8)(rng)))
def gemver(alpha: float, beta: float, a: Array, *vectors: Array) -> tuple[Array, Array, Array]:
    u1, v1, u2, v2, w, x, y, z = vectors
    a = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * (a.T @ y) + z
    return a, w + alpha * (a @ x), x


@of(lambda rng: (1.5, 1.2, *randoms((6, 6), (6, 6), (6,))(rng)))
def gesummv(alpha: float, beta: float, a: Array, b: Array, x: Array) -> Array:
    return (alpha * a + beta * b) @ x


@of(lambda rng: (1.5, 1.2, *randoms((3, 4), (4, 5), (5, 6), (3, 6))(rng)))
def k2mm(alpha: float, beta: float, a: Array, b: Array, c: Array, d: Array) -> Array:
    return alpha * a @ b @ c + beta * d


@of(randoms((3, 4), (4, 5), (5, 6), (6, 2)))
def k3mm(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.linalg.multi_dot([a, b, c, d])


@of(randoms((6,), (6,), (6,), (6,), (6, 6)))
def mvt(x1: Array, x2: Array, y1: Array, y2: Array, a: Array) -> tuple[Array, Array]:
    return x1 + a @ y1, x2 + a.T @ y2


@of(lambda rng: (1.5, 1.2, *randoms((5, 4), (5, 5), (5, 4))(rng)))
def symm(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    return beta * c + alpha * (np.tril(a) + np.tril(a, -1).T) @ b


@of(lambda rng: (1.5, 1.2, *randoms((5, 5), (5, 4), (5, 4))(rng)))
def syr2k(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Array:
    return np.tril(beta * c + alpha * (a @ b.T + b @ a.T)) + np.triu(c, 1)


@of(lambda rng: (1.5, 1.2, *randoms((5, 5), (5, 4))(rng)))
def syrk(alpha: float, beta: float, c: Array, a: Array) -> Array:
    return np.tril(beta * c + alpha * a @ a.T) + np.triu(c, 1)


@of(lambda rng: (1.5, *randoms((5, 5), (5, 4))(rng)))
def trmm(alpha: float, a: Array, b: Array) -> Array:
    return alpha * (np.tril(a, -1) + np.eye(len(a))).T @ b


# ---- decompositions and equations -----------------------------------------------------------------------------------


@of(lambda rng: (positive(rng, 6),))
def cholesky(a: Array) -> Array:
    return np.linalg.cholesky(a) + np.triu(a, 1)


@of(lambda rng: (positive(rng, 6),))
def cholesky2(a: Array) -> Array:
    return np.linalg.cholesky(a) + np.triu(a, 1)


@of(lambda rng: (2, complexes(rng, 3, 4, 4), 2 * complexes(rng, 3), complexes(rng, 4, 5)))
def contour_integral(slab_per_bc: int, ham: Array, points: Array, y: Array) -> tuple[Array, Array]:
    xs = []
    for z in points:
        powers = z ** (slab_per_bc / 2 - np.arange(len(ham)))
        x = np.linalg.solve(np.tensordot(powers, ham, 1), y)
        xs.append(-x if abs(z) < 1 else x)
    return np.sum(xs, axis=0), np.tensordot(points, xs, 1)


@of(lambda _: (np.arange(9.0, 2, -1),))
def durbin(r: Array) -> Array:
    first = np.concatenate([[1], r[:-1]])
    system = first[np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r))))]
    return np.linalg.solve(system, -r)


@of(randoms((7, 5)))
def gramschmidt(a: Array) -> tuple[Array, Array, Array]:
    q, r = np.linalg.qr(a)
    signs = np.sign(np.diag(r))
    return q * signs, r * signs[:, None], q * np.diag(r)


@of(lambda rng: (positive(rng, 6),))
def lu(a: Array) -> Array:
    return _lu(a)


@of(lambda rng: (positive(rng, 6), rng.random(6)))
def ludcmp(a: Array, b: Array) -> tuple[Array, Array, Array]:
    both = _lu(a)
    return np.linalg.solve(a, b), np.linalg.solve(np.tril(both, -1) + np.eye(len(a)), b), both


def _lu(a: Array) -> Array:
    """L and U of a symmetric positive definite matrix, from its Cholesky factor."""
    factor = np.linalg.cholesky(a)
    diagonal = np.diag(factor)
    return np.tril(factor / diagonal, -1) + (factor * diagonal).T


@of(randoms((6, 6), (6,)))
def trisolv(a: Array, b: Array) -> Array:
    return np.linalg.solve(np.tril(a), b)


# ---- layers of neural networks --------------------------------------------------------------------------------------


@of(floats((2, 6, 7, 3), (2, 2, 3, 4), (4,)))
def conv2d_bias(images: Array, weights: Array, bias: Array) -> Array:
    return _conv2d(images, weights) + bias


def _conv2d(images: Array, weights: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(images, weights.shape[:2], axis=(1, 2))
    return np.einsum("nhwcyx,yxco->nhwo", windows, weights)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@of(
    floats(
        (2, 16, 16, 1), (5, 5, 1, 6), (6,), (5, 5, 6, 16), (16,), (16, 12), (12,), (12, 8), (8,), (8, 4), (4,)
    )
)  # fmt: skip
def lenet(images: Array, conv1: Array, b1: Array, conv2: Array, b2: Array, *dense: Array) -> Array:
    x = _pooled(_pooled(images, conv1, b1), conv2, b2).reshape(len(images), -1)
    x = np.maximum(x @ dense[0] + dense[1], 0)
    return np.maximum(x @ dense[2] + dense[3], 0) @ dense[4] + dense[5]


def _pooled(images: Array, weights: Array, bias: Array) -> Array:
    x = np.maximum(_conv2d(images, weights) + bias, 0)
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


@of(floats((4, 3), (3, 20), (20,), (20, 12), (12,), (12, 8), (8,)))
def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    x = np.maximum(x @ w1 + b1, 0)
    return _softmax(np.maximum(x @ w2 + b2, 0) @ w3 + b3)


@of(floats((4, 5, 6, 3), (1, 1, 3, 2), (3, 3, 2, 2), (1, 1, 2, 3)))
def resnet(images: Array, conv1: Array, conv2: Array, conv3: Array) -> Array:
    def normalised(x: Array) -> Array:
        return (x - x.mean(axis=0)) / np.sqrt(x.std(axis=0) + 1e-5)

    border = ((0, 0), (1, 1), (1, 1), (0, 0))
    x = np.maximum(normalised(np.pad(_conv2d(images, conv1), border)), 0)
    x = np.maximum(normalised(_conv2d(x, conv2)), 0)
    return np.maximum(normalised(_conv2d(x, conv3)) + images, 0)


@of(floats((2, 3, 4, 9)))
def softmax(x: Array) -> Array:
    return _softmax(x)


# ---- others ---------------------------------------------------------------------------------------------------------


@of(randoms((9,), (9,), (9,), (9,)))
def arc_distance(theta1: Array, phi1: Array, theta2: Array, phi2: Array) -> Array:
    cosine = np.sin(np.pi / 2 - theta1) * np.sin(np.pi / 2 - theta2) * np.cos(phi2 - phi1)
    return np.arccos(cosine + np.sin(theta1) * np.sin(theta2))


@of(lambda rng: (rng.random(60), rng.random(60), 5))
def azimint_hist(data: Array, radius: Array, bins: int) -> Array:
    edges = np.linspace(radius.min(), radius.max(), bins + 1)
    ring = np.clip(np.searchsorted(edges, radius, "right") - 1, 0, bins - 1)
    return np.array([data[ring == k].mean() for k in range(bins)])


@of(lambda rng: (rng.random(60), rng.random(60), 5))
def azimint_naive(data: Array, radius: Array, bins: int) -> Array:
    ring = np.floor(radius / radius.max() * bins)
    return np.array([data[ring == k].mean() for k in range(bins)])


@of(lambda rng: (*(rng.integers(0, 20, (4, 5)) for _ in range(2)), 4, 3, 9))
def compute(xs: Array, ys: Array, a: int, b: int, c: int) -> Array:
    return np.clip(xs, 2, 10) * a + ys * b + c


@of(lambda _: (np.frombuffer(b"123456789", np.uint8),))
def crc16(_: Array) -> np.uint16:
    """CRC-16/X-25 of the digits, its bytes swapped."""
    return np.uint16(0x6E90)


@of(lambda rng: (rng.integers(1, 50, (7, 7), dtype=np.int32),))
def floyd_warshall(path: Array) -> Array:
    """Paths of at most 1, 2, 4, 8 edges."""
    with_loops = np.minimum(path, np.where(np.eye(len(path), dtype=bool), 0, path))
    for _ in range(3):
        with_loops = (with_loops[:, :, None] + with_loops[None]).min(axis=1)
    back = (path[:, :, None] + with_loops[None]).min(axis=1)
    return np.where(np.eye(len(path), dtype=bool), back, with_loops).astype(np.int32)


@of(randoms((6, 6)))
def go_fast(a: Array) -> Array:
    return a + np.tanh(np.diag(a)).sum()


@of(lambda _: (-2.0, 0.5, -1.25, 1.25, 9, 8, 12, 2.0))
def mandelbrot1(*args: Any) -> tuple[Array, Array]:
    points, rounds, horizon = _plane(*args)
    zs, last = np.zeros_like(points), np.zeros(points.shape, np.int64)
    for k in range(rounds):
        inside = np.abs(zs) < horizon
        last[inside] = k
        zs[inside] = zs[inside] ** 2 + points[inside]
    return zs, np.where(last == rounds - 1, 0, last)


@of(lambda _: (-2.0, 0.5, -1.25, 1.25, 9, 8, 12, 2.0))
def mandelbrot2(*args: Any) -> tuple[Array, Array]:
    points, rounds, horizon = _plane(*args)
    zs, last = np.zeros_like(points), np.zeros(points.shape, np.int64)
    for place in np.ndindex(points.shape):
        z = 0j
        for k in range(1, rounds + 1):
            z = z * z + points[place]
            if abs(z) > horizon:
                zs[place], last[place] = z, k
                break
    return zs, last


def _plane(
    xmin: float, xmax: float, ymin: float, ymax: float, xn: int, yn: int, rounds: int, horizon: float
) -> tuple[Array, int, float]:
    return np.linspace(xmin, xmax, xn) + 1j * np.linspace(ymin, ymax, yn)[:, None], rounds, horizon


@of(lambda rng: (*randoms((5, 1), (5, 3), (5, 3))(rng), 3, 0.05, 1.0, 0.1))
def nbody(
    masses: Array, ps: Array, vs: Array, steps: int, dt: float, g: float, softening: float
) -> tuple[Array, Array]:
    m = masses[:, 0]

    def accelerations(ps: Array) -> Array:
        d = ps[None] - ps[:, None]
        return g * np.einsum("ijk,ij,j->ik", d, ((d**2).sum(axis=2) + softening**2) ** -1.5, m)

    def energies(ps: Array, vs: Array) -> tuple[float, float]:
        pairs = [(i, j) for i in range(len(m)) for j in range(i)]
        return (m * (vs**2).sum(axis=1)).sum() / 2, -g * sum(
            m[i] * m[j] / np.linalg.norm(ps[i] - ps[j]) for i, j in pairs
        )

    vs = vs - m @ vs / m.sum()
    found = [energies(ps, vs)]
    for _ in range(steps):
        vs = vs + accelerations(ps) * dt / 2
        ps = ps + vs * dt
        vs = vs + accelerations(ps) * dt / 2
        found.append(energies(ps, vs))
    kinetic, potential = np.array(found).T
    return kinetic, potential


@of(lambda rng: (rng.integers(0, 4, 9, dtype=np.int32),))
def nussinov(seq: Array) -> Array:
    n = len(seq)
    table = np.zeros((n, n), np.int32)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            splits = [table[i, k] + table[k + 1, j] for k in range(i, j)]
            pair = table[i + 1, j - 1] + (j > i + 1 and seq[i] + seq[j] == 3)
            table[i, j] = max(*splits, pair)
    return table


@of(
    lambda rng: (
        rng.integers(0, 4, (4, 2), dtype=np.int32), complexes(rng, 4, 2, 2, 3, 3), complexes(rng, 2, 3, 4, 3, 3),
        complexes(rng, 2, 2, 4, 2, 2, 2), complexes(rng, 2, 3, 4, 3, 3),
    )
)  # fmt: skip
def scattering_self_energies(neighbours: Array, dh: Array, g: Array, d: Array, sigma: Array) -> Array:
    sigma = sigma.copy()
    for a, b in np.ndindex(neighbours.shape):
        for w in range(d.shape[1]):
            late = g[:, : g.shape[1] - w, neighbours[a, b]]
            sigma[:, w:, a] += np.einsum("kemn,inp,jps,qij->kems", late, dh[a, b], dh[a, b], d[:, w, a, b])
    return sigma


@of(
    lambda rng: (
        np.array([0, 2, 2, 5, 6], np.uint32), np.array([1, 3, 0, 2, 4, 3], np.uint32), rng.random(6), rng.random(5)
    )
)  # fmt: skip
def spmv(offsets: Array, columns: Array, values: Array, x: Array) -> Array:
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets.astype(np.int64)))
    return np.bincount(rows, values * x[columns], len(offsets) - 1)


@of(lambda rng: (4, 3, complexes(rng, 64)))
def stockham_fft(_radix: int, _stages: int, x: Array) -> Array:
    return np.fft.fft(x)
