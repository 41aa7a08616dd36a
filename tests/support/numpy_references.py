"""What each entry point of `programs/` computes, in NumPy: floats in f64, integers wrapping at 32 bits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.peers import on_numpy
from benchmarks.peers.on_numpy import bins, finance, flat, grids, optionpricing, rows, slides

Array = np.ndarray
REFERENCES: dict[tuple[str, str], Callable[..., Any]] = {}


def entry(program: str, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as the reference of entry points of a program."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        REFERENCES.update({(program, name): function for name in names or ("main",)})
        return function

    return register


def in_double(value: Any) -> Any:
    """Floats and float arrays in f64, everything else as it is."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    return array.astype(np.float64)[()]


REFERENCES.update(on_numpy.PEERS)


@entry("mandelbrot")
def mandelbrot(*args: Any) -> Array:
    """In f32, as the program: a count of steps is no continuous function of the point."""
    return flat.mandelbrot(*args, dtype=np.float32)


@entry("locvolcalib")
def locvolcalib(outer: int, nx: int, ny: int, nt: int, *market: float) -> Array:
    with np.errstate(all="ignore"):
        return finance.locvolcalib(int(outer), int(nx), int(ny), int(nt), *map(float, market))


@entry("locvolcalib", "solve")
def solve(below: Array, on: Array, above: Array, ys: Array) -> Array:
    matrix = np.diag(on) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    return np.linalg.solve(matrix, ys)


@entry("locvolcalib", "dominant")
def dominant_system(below: Array, on: Array, above: Array, ys: Array) -> Array:
    return solve(below, on + 3, above, ys)


@entry("training")
def training(steps: int, rate: float, points: Array, targets: Array, *weights: Array) -> tuple[Any, ...]:
    """By back propagation, written by hand."""
    w = [np.array(one) for one in weights]
    changes = [np.zeros_like(one) for one in w]

    def outputs() -> tuple[Array, Array, Array]:
        hidden = np.tanh(points @ w[0].T + w[1])
        ys = hidden @ w[2].T + w[3]
        return hidden, ys, np.log(np.exp(ys).sum(axis=1, keepdims=True))

    for _ in range(int(steps)):
        hidden, ys, totals = outputs()
        errors = (np.exp(ys - totals) * targets.sum(axis=1, keepdims=True) - targets) / len(points)
        inner = errors @ w[2] * (1 - hidden**2)
        gradient = [inner.T @ points, inner.sum(axis=0), errors.T @ hidden, errors.sum(axis=0)]
        changes = [0.9 * change - rate * g for change, g in zip(changes, gradient)]
        w = [one + change for one, change in zip(w, changes)]
    _, ys, totals = outputs()
    return (*w, np.sum(targets * (totals - ys)) / len(points))


@entry("calibration")
def calibration(
    steps: int, rate: float, nx: int, ny: int, nt: int, strikes: Array, market: Array, *start: float
) -> Any:
    """Slopes are the imaginary parts of errors, where a parameter moves by as good as nothing in that direction."""
    nx, ny, nt = int(nx), int(ny), int(nt)

    def diffusion(step: float, variances: Array) -> Array:
        inner = np.zeros((len(variances), len(variances)), complex)
        for i in range(1, len(variances) - 1):
            inner[i, i - 1 : i + 2] = 0.5 * variances[i] / step**2 * np.array([1, -2, 1])
        return np.eye(len(variances)) - inner / nt

    def error(alpha: complex, nu: complex, beta: complex) -> complex:
        dx, dy = 1 / (nx // 4 + 0.5), 6 / ny
        prices, logs = (np.arange(nx) + 0.5) * dx, np.log(alpha) + (np.arange(ny) - ny // 2) * dy
        along = [diffusion(dx, np.exp(2 * (beta * np.log(prices) + y))) for y in logs]
        across = diffusion(dy, np.full(ny, nu * nu))
        total: complex = 0
        for strike, price in zip(strikes, market):
            values = np.repeat(np.maximum(prices - strike, 0)[:, None], ny, 1).astype(complex)
            for _ in range(nt):
                values = np.stack([np.linalg.solve(along[j], values[:, j]) for j in range(ny)], 1)
                values = np.linalg.solve(across, values.T).T
            total += (values[nx // 4, ny // 2] - price) ** 2
        return total

    model, before = np.array(start), error(*start).real
    for _ in range(int(steps)):
        before = error(*model).real
        model = model - rate * np.array([error(*(model + 1e-30j * unit)).imag / 1e-30 for unit in np.eye(3)])
    return (*model, before)


@entry("lud", "dominant")
def dominant_lud(a: Array) -> Array:
    return flat.lud(a + len(a) * np.eye(len(a)))


@entry("icfp", "bytes")
def icfp_bytes(n: int, pss: Array) -> tuple[Array, Array]:
    return slides.icfp(n, pss.astype(np.int32))


REFERENCES["dotprod", "ints"] = lambda xs, ys: np.sum(xs * ys, dtype=np.int32)
REFERENCES["matmul", "ints"] = rows.matmul
REFERENCES["rowscan", "ints"] = rows.rowscan
REFERENCES["sumrows", "rows"] = lambda xss: xss.sum(axis=1)


# ---- the programs of the slides ---------------------------------------------------------------------------------


@entry("p01_zip_unzip", "main", "unzipped")
def zip_unzip(xs: Array, ys: Array) -> tuple[Array, Array]:
    return xs - np.int32(1), ys + np.int32(1)


REFERENCES["p02_sumrows", "main"] = lambda xss: (xss + np.int32(2)).sum(axis=1, dtype=np.int32)
REFERENCES["p02_sumrows", "increment"] = lambda xss: xss + np.int32(2)
REFERENCES["p02_sumrows", "sum"] = lambda xs: xs.sum(dtype=np.int32)
REFERENCES["p02_sumrows", "sumrows"] = lambda xss: xss.sum(axis=1, dtype=np.int32)
REFERENCES["p03_increment", "main"] = lambda xs: xs + np.int32(1)
REFERENCES["p04_mapabs", "main"] = np.abs
REFERENCES["p04_mapabs", "guarded_division"] = lambda k, xs: np.where(xs == 0, 0, k // np.where(xs == 0, 1, xs))
REFERENCES["p05_nested_map", "main"] = lambda xss, ys: xss + ys[:, None]
REFERENCES["p06_reduce_then_map", "main"] = lambda xss: xss + xss.sum(axis=1, keepdims=True, dtype=np.int32)
REFERENCES["p07_distribution", "main"] = slides.icfp
REFERENCES["p07_distribution", "first"] = lambda pss: slides.icfp(0, pss)[0]


@entry("p07_distribution", "second")
def rounds_of_sums(n: int, asss: Array, pss: Array) -> Array:
    for _ in range(n):
        pss = np.int32(2) * (asss.sum(axis=2, dtype=np.int32) + pss)
    return pss


@entry("p08_map_loop")
def map_loop(n: int, xss: Array) -> tuple[Array, Array]:
    j = 0
    for i in range(n):
        xss, j = xss + np.int32(j), j + i
    return xss, np.full(len(xss), j, np.int32)


@entry("p08_map_loop", "varying")
def varying_loop(xss: Array, rounds: Array) -> Array:
    rows = []
    for row, n in zip(xss, rounds):
        for i in range(n):
            row = row * np.int32(i + 1) - np.int32(i) + np.int32(1)
        rows.append(row)
    return np.array(rows)


@entry("p09_matmul", "main", "loops", "nested")
def matmul(xss: Array, yss: Array) -> Array:
    return xss @ yss


REFERENCES["p10_incremental", "main"] = lambda xss: xss.sum(axis=1, dtype=np.int32)
REFERENCES["p10_incremental", "maximal"] = lambda xss: (xss.max(axis=1), xss.argmax(axis=1))
REFERENCES["p11_map_transpose", "main"] = lambda xsss: xsss.transpose(0, 2, 1)
REFERENCES["p11_map_transpose", "rearranged"] = lambda xsss: xsss.transpose(2, 1, 0)
REFERENCES["p12_segmented_sum", "main"] = lambda xsss: xsss.sum(axis=2, dtype=np.int32)


@entry("p13_three_scans")
def three_scans(xsss: Array) -> Array:
    sums = np.cumsum(xsss, axis=2, dtype=np.int32)
    return np.cumprod(np.maximum.accumulate(sums, axis=2), axis=2, dtype=np.int32)


@entry("p14_tiling")
def tiling(xs: Array) -> Array:
    return xs.sum(dtype=np.int32) + np.int32(len(xs)) * xs


@entry("p15_segscatter")
def segscatter(xss: Array, iss: Array, vss: Array) -> Array:
    out = xss.copy()
    for row, indices, values in zip(out, iss, vss):
        inside = (indices >= 0) & (indices < len(row))
        row[indices[inside]] = values[inside]
    return out


REFERENCES["p15_segscatter", "reversed"] = lambda xss: xss[:, ::-1]


@entry("optionpricing", "deviates")
def deviates(ps: Array) -> Array:
    with np.errstate(all="ignore"):
        return optionpricing.normal_quantile(ps)


@entry("optionpricing", "prices_of")
def prices_of(*args: Array) -> Array:
    return optionpricing.asset_prices(*args)


# ---- rows of varying length -----------------------------------------------------------------------------------------


@entry("spmv", "bytes")
def spmv_bytes(lengths: Array, value: Array, x: Array) -> Array:
    off = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    places = np.arange(off[-1])
    return bins.spmv(off, places * 31 % len(x), value[places % len(value)], x)


@entry("segsort")
def segsort(off: Array, xs: Array, ranks: Array) -> Array:
    rows = [np.sort(xs[a:b]) for a, b in pairwise(off)]
    picked = [row[np.minimum(ranks, len(row) - 1)] if len(row) else np.zeros(len(ranks), np.int32) for row in rows]
    return np.array(picked, np.int32).reshape(len(rows), len(ranks))


@entry("segsort", "bytes")
def segsort_bytes(sizes: Array, xs: Array) -> Array:
    off = np.concatenate([[0], np.cumsum(sizes % 16, dtype=np.int64)])
    return segsort(off, xs[np.arange(off[-1]) % len(xs)], np.array([0, 7]))


@entry("segsort", "ranked")
def segsort_ranked(off: Array, xs: Array) -> Array:
    return np.concatenate([np.sort(xs[a:b]) for a, b in pairwise(off)] or [xs])


# ---- the suite ------------------------------------------------------------------------------------------------------


@entry("nw", "bytes")
def nw_of_bytes(similar: Array) -> Array:
    return grids.nw(4, 10, similar.astype(np.int32))


@entry("srad", "of_random")
def srad_of_random(images: Array) -> Array:
    return grids.srad(2, 0.5, np.exp(images))


@entry("histogram", "random_sums")
def random_sums(places: Array, values: Array) -> Array:
    return bins.sums(256, places.astype(np.int64), values)
