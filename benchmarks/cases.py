"""The benchmark cases: a program of `programs/`, an entry point, arguments made from a seed, and the NumPy peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import peers

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Case:
    """`make` gives the arguments of the entry point; `peer` takes the same. `tolerance` is relative, for the check that
    both compute the same."""

    program: str
    entry: str
    size: str
    make: Callable[[np.random.Generator], list[Any]]
    peer: Callable[..., Any]
    tolerance: float = 1e-3


def floats(*shape: int) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.random(shape, dtype=np.float32)


def arrays(*parts: Callable[[np.random.Generator], Array]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [part(rng) for part in parts]


def matrices(n: int, p: int, m: int) -> Callable[[np.random.Generator], list[Any]]:
    return arrays(floats(n, p), floats(p, m))


def bodies(n: int) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [np.int32(1), np.float32(0.01), *(rng.random(n, dtype=np.float32) for _ in range(7))]


def options(n: int) -> Callable[[np.random.Generator], list[Any]]:
    """Prices and strikes from 10 to 100, times from a quarter to two years."""
    return lambda rng: [rng.uniform(low, high, n).astype(np.float32) for low, high in ((10, 100), (10, 100), (0.25, 2))]


def market(outer: int, nx: int, ny: int, nt: int) -> Callable[[np.random.Generator], list[Any]]:
    scalars = [np.float32(v) for v in (0.03, 5.0, 0.2, 0.6, 0.5)]
    return lambda _: [np.int64(outer), np.int64(nx), np.int64(ny), np.int64(nt), *scalars]


def pixels(width: int, height: int, limit: int) -> Callable[[np.random.Generator], list[Any]]:
    window = [np.float32(v) for v in (-2.2, -1.2, 1.0, 1.2)]
    return lambda _: [np.int64(width), np.int64(height), np.int32(limit), *window]


def small_lengths(n: int, m: int) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [np.int32(n), rng.integers(0, 100, (m, m), dtype=np.int32)]


def dominant(n: int) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.random((n, n), dtype=np.float32) + np.eye(n, dtype=np.float32) * n]


def five_years(paths: int) -> Callable[[np.random.Generator], list[Any]]:
    """Three assets on five dates, a year apart; the contract that may be called early."""

    def make(rng: np.random.Generator) -> list[Any]:
        half = np.sqrt(0.5)
        deviations = [np.sqrt(5), np.sqrt(1.2), half, np.sqrt(2 / 3), half]
        weights = [deviations, [0, 0.6, 0.5, 2 / 3, 0.5], [0, 0.4, 0.5, 1 / 3, 0.5]]
        return [
            np.int32(2),
            np.int32(paths),
            directions(rng, 15, 30),
            np.array([[[1, 0, 0], [0.6, 0.8, 0], [0.8, 0.15, 0.58]]], np.float32),
            np.full((1, 5, 3), 0.19, np.float32),
            np.full((1, 5, 3), 0.01, np.float32),
            np.array([[3758.05, 11840, 1200]], np.float32),
            np.zeros((1, 1), np.float32),
            np.array([[0.98, 0.95, 0.92, 0.89, 0.86]], np.float32),
            np.array([[5, 2, 1, 3, 4], [0, 0, 0, 2, 3], [0, 5, 2, 5, 5]], np.int32),
            np.array(weights, np.float32),
        ]

    return make


def directions(rng: np.random.Generator, sequences: int, bits: int) -> Array:
    """Direction vectors of scrambled sequences: number b has bit b from the top, and any bits above it."""
    last = 1 << np.arange(bits)[::-1]
    above = rng.integers(0, 1 << bits, (sequences, bits)) & ((1 << bits) - 2 * last)
    return (above | last).astype(np.int32)


def whole(*shape: int, most: int = 1000) -> Callable[[np.random.Generator], Array]:
    """Integers between -most and most."""
    return lambda rng: rng.integers(-most, most, shape).astype(np.int32)


def number(n: int) -> Callable[[np.random.Generator], Any]:
    return lambda _: np.int32(n)


def indices(n: int, k: int) -> Callable[[np.random.Generator], Array]:
    """Permutations, one a row: no two writes go to one place."""
    return lambda rng: rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1)


def sparse(rows: int, each: int) -> Callable[[np.random.Generator], list[Any]]:
    """A matrix in CSR form with `each` elements in a row, and a vector."""

    def make(rng: np.random.Generator) -> list[Any]:
        count = rows * each
        col, values = rng.integers(0, rows, count), rng.random(count, dtype=np.float32)
        return [np.arange(0, count + 1, each), col, values, rng.random(rows, dtype=np.float32)]

    return make


def scattered(n: int, m: int) -> Callable[[np.random.Generator], list[Any]]:
    return arrays(whole(n, m), indices(n, m), whole(n, m))


def row_sums(xss: Array) -> Array:
    return xss.sum(axis=1)


def single_precision_locvolcalib(*args: Any) -> Array:
    return peers.locvolcalib(*map(int, args[:4]), *map(float, args[4:]), dtype=np.float32)


CASES: tuple[Case, ...] = (
    Case("sumrows", "rows", "[2^12][2^12]", arrays(floats(1 << 12, 1 << 12)), row_sums),
    Case("sumrows", "rows", "[2^4][2^20]", arrays(floats(1 << 4, 1 << 20)), row_sums),
    Case("sumrows", "rows", "[2^20][2^4]", arrays(floats(1 << 20, 1 << 4)), row_sums),
    Case("sumrows", "main", "[2^12][2^12]", arrays(floats(1 << 12, 1 << 12)), peers.sumrows),
    Case("dotprod", "main", "2^24", arrays(floats(1 << 24), floats(1 << 24)), peers.dotprod, 1e-2),
    Case("rowscan", "main", "[2^12][2^10]", arrays(floats(1 << 12, 1 << 10)), peers.rowscan),
    Case("matmul", "main", "512", matrices(512, 512, 512), peers.matmul),
    Case("matmul", "main", "2^4 x 2^17 x 2^4", matrices(1 << 4, 1 << 17, 1 << 4), peers.matmul, 1e-2),
    Case("mandelbrot", "main", "1024 x 1024, 100 steps", pixels(1024, 1024, 100), peers.mandelbrot, 0),
    Case("blackscholes", "main", "2^20", options(1 << 20), peers.blackscholes, 1e-2),
    Case("nbody", "main", "2^12 bodies", bodies(1 << 12), peers.nbody),
    Case("icfp", "main", "m = 128, n = 10", small_lengths(10, 128), peers.icfp, 0),
    Case("locvolcalib", "main", "16 x 32 x 256 x 32", market(16, 32, 256, 32), single_precision_locvolcalib, 2e-3),
    Case("lud", "main", "256", dominant(256), peers.lud),
    Case("lud", "main", "1024", dominant(1024), peers.lud),
    Case("optionpricing", "main", "2^17 paths", five_years(1 << 17), peers.optionpricing, 2e-3),
    Case("spmv", "main", "2^16 rows of 16", sparse(1 << 16, 16), peers.spmv),
    Case("p01_zip_unzip", "main", "2^22", arrays(whole(1 << 22), whole(1 << 22)), peers.zip_unzip, 0),
    Case("p02_sumrows", "main", "[2^11][2^11]", arrays(whole(1 << 11, 1 << 11)), peers.sumrows, 0),
    Case("p03_increment", "main", "2^22", arrays(whole(1 << 22)), peers.increment, 0),
    Case("p04_mapabs", "main", "2^22", arrays(whole(1 << 22)), np.abs, 0),
    Case(
        "p05_nested_map", "main", "[2^11][2^11]", arrays(whole(1 << 11, 1 << 11), whole(1 << 11)), peers.add_to_rows, 0
    ),
    Case("p06_reduce_then_map", "main", "[2^11][2^11]", arrays(whole(1 << 11, 1 << 11)), peers.add_sums, 0),
    Case("p07_distribution", "main", "m = 128, n = 10", small_lengths(10, 128), peers.icfp, 0),
    Case("p08_map_loop", "main", "20 x [2^10][2^10]", arrays(number(20), whole(1 << 10, 1 << 10)), peers.map_loop, 0),
    Case("p09_matmul", "main", "256", arrays(whole(256, 256), whole(256, 256)), peers.matmul, 0),
    Case("p10_incremental", "main", "[2^11][2^11]", arrays(whole(1 << 11, 1 << 11)), row_sums, 0),
    Case("p11_map_transpose", "main", "[2^2][2^10][2^10]", arrays(whole(4, 1 << 10, 1 << 10)), peers.transposed, 0),
    Case("p12_segmented_sum", "main", "[2^7][2^7][2^8]", arrays(whole(128, 128, 256)), peers.innermost_sums, 0),
    Case("p13_three_scans", "main", "[2^7][2^7][2^7]", arrays(whole(128, 128, 128)), peers.three_scans, 0),
    Case("p14_tiling", "main", "2^12", arrays(whole(1 << 12)), peers.sums_of_sums, 0),
    Case("p15_segscatter", "main", "[2^10][2^10]", scattered(1 << 10, 1 << 10), peers.segscatter, 0),
)
