"""The programs, and random arguments for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """A program with the entry points `main` and `derivative`, and perhaps `by_hand`. Its derivative is by the last
    `by` arguments: the gradient of a scalar, or a Jacobian. `draw` makes arguments of a size between 0 and 1."""

    name: str
    draw: Callable[[Random, float], Sequence[Any]]
    by: int
    is_jacobian: bool = False
    tolerance: float = 1e-8

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.name}.soac"

    def arguments(self, size: float) -> Sequence[Any]:
        return self.draw(np.random.default_rng(1), size)


def gmm(random: Random, size: float) -> Sequence[Any]:
    n, k, d = (max(3, int(size * full)) for full in (1000, 25, 32))
    shapes = ((k,), (k, d), (k, d), (k, d * (d - 1) // 2))
    return [random.normal(size=(n, d)), 1.0, 0.0, *[0.1 * random.normal(size=shape) for shape in shapes]]


def ba(random: Random, size: float) -> Sequence[Any]:
    n, m, p = (max(3, int(size * full)) for full in (50, 5000, 100_000))
    cameras = 0.1 * random.normal(size=(n, 11))
    cameras[:, 6] += 1
    points = random.normal(size=(m, 3)) + np.array([0, 0, 10])
    which = np.stack([random.integers(0, n, p), random.integers(0, m, p)], 1)
    return [cameras, points, random.normal(size=p), random.normal(size=(p, 2)), which]


def hand(random: Random, size: float) -> Sequence[Any]:
    n = max(3, int(size * 10_000))
    base, resting = 0.3 * random.normal(size=(2, 5, 4, 3, 4)) + np.eye(3, 4)
    weights = random.random((n, 5, 4))
    weights /= weights.sum(axis=(1, 2), keepdims=True)
    return [base, resting, weights, random.normal(size=(n, 3)), random.normal(size=(n, 3)), random.normal(size=26)]


def lstm(random: Random, size: float) -> Sequence[Any]:
    n, d = max(3, int(size * 1024)), 14
    states = 0.5 * random.normal(size=(2, 2, d))
    return [*states, (random.random((n, d)) < 0.5) * 1.0, *random.normal(size=(2, 2, 4, d)), random.normal(size=(3, d))]


def kmeans(random: Random, size: float) -> Sequence[Any]:
    n, k, d = (max(3, int(size * full)) for full in (100_000, 10, 16))
    return [random.random((n, d), np.float32), random.random((k, d), np.float32)]


def kmeans_sparse(random: Random, size: float) -> Sequence[Any]:
    n, k, d = (max(3, int(size * full)) for full in (20_000, 10, 500))
    lengths = random.integers(0, min(d, 100), n)
    ends = np.cumsum(lengths)
    columns = random.integers(0, d, ends[-1])
    return [
        random.random(ends[-1], np.float32), columns, ends - lengths, ends, random.random((k, d), np.float32),
    ]  # fmt: skip


def xsbench(random: Random, size: float) -> Sequence[Any]:
    n, g, m, k, p = (max(3, int(size * full)) for full in (60, 2000, 12, 20, 20_000))
    grids = np.sort(random.random((n, g)))
    grids[:, 0], grids[:, -1] = 0, 1
    return [
        grids, random.integers(0, n, (m, k)), random.random(p), random.integers(0, m, p), random.random(5),
        random.random((n, g, 5)), random.random((m, k)),
    ]  # fmt: skip


def rsbench(random: Random, size: float) -> Sequence[Any]:
    n, w, m, k, p = (max(3, int(size * full)) for full in (60, 100, 12, 20, 10_000))
    ends = np.cumsum(random.integers(1, 10, (n, w)), axis=1)
    windows = np.stack([np.pad(ends[:, :-1], ((0, 0), (1, 0))), ends], 2)
    count = int(ends.max())
    return [
        windows, random.integers(0, 4, (n, count)), random.integers(0, n, (m, k)), random.random(p),
        random.integers(0, m, p), random.random((n, 4)), random.random((n, w, 3)),
        random.random((n, count, 4)) + np.array([0, 1, 0, 0]), random.random((m, k)),
    ]  # fmt: skip


def lbm(random: Random, size: float) -> Sequence[Any]:
    h, w, steps = (max(3, int(size * full)) for full in (100, 100, 20))
    return [steps, np.float64(1.2), 0.5 + random.random((h, w, 9))]


def locvolcalib(random: Random, size: float) -> Sequence[Any]:
    nx, ny, nt, k = (max(4, int(size * full)) for full in (64, 32, 32, 8))
    strikes = 0.5 + random.random(k)
    model = np.array([0.2, 0.4, 0.9])
    return [nx, ny, nt, 1.0, 1.0, strikes, np.maximum(1 - strikes, 0) + 0.1, *model]


def _listed() -> Iterator[Case]:
    yield Case("gmm", gmm, 4)
    yield Case("lstm", lstm, 3)
    yield Case("kmeans", kmeans, 1, tolerance=1e-3)
    yield Case("kmeans_sparse", kmeans_sparse, 1, tolerance=1e-3)
    yield Case("xsbench", xsbench, 2)
    yield Case("rsbench", rsbench, 2)
    yield Case("lbm", lbm, 2)
    yield Case("locvolcalib", locvolcalib, 3)
    yield Case("ba", ba, 0, is_jacobian=True)
    yield Case("hand", hand, 1, is_jacobian=True)


CASES: Mapping[str, Case] = {case.name: case for case in _listed()}
