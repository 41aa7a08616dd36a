"""The suite: its programs, their data sets for benchmarking, and what computing an entry point costs at least.

The data sets are those of the programs' own test blocks that tests leave out (tag `notest`): the same that
`soac bench` and `soac autotune` see. The least work of an entry point is its bytes read and written once and its
floating-point operations, as the problem states them, whatever a program does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from soac.testing.blocks import parse_tests
from soac.testing.datasets import DataSet, data_sets

PROGRAMS = Path(__file__).parent.parent / "programs"
CLASS_FOLDER = Path(__file__).parent / "classes"

SUITE = (
    "matmul",
    "rowreduce",
    "rowscan",
    "locvolcalib",
    "optionpricing",
    "nw",
    "pathfinder",
    "srad",
    "hotspot",
    "backprop",
    "lavamd",
    "nn",
    "nbody",
    "kmeans",
    "histogram",
    "spmv",
    "softmax",
    "attention",
    "lud",
    "mandelbrot",
    "blackscholes",
    "dotprod",
)

CLASSES = ("windows", "wraps", "products", "grams", "row_gathers", "transpositions", "recurrent")
"""Programs of a kind each, under `benchmarks/classes`: everyday kernels in several types, forms and sizes."""

ONE_VERSION = frozenset({"mandelbrot", "blackscholes", "dotprod"})
"""Flat programs: there is nothing to choose."""

Args = Sequence[Any]


def program_path(program: str) -> Path:
    """Its file: of `programs`, or of the classes of kernels beside this file."""
    return (CLASS_FOLDER if program in CLASSES else PROGRAMS) / f"{program}.soac"


def large_data_sets(program: str) -> Iterator[DataSet]:
    """The data sets of a program that are for benchmarking."""
    path = program_path(program)
    for one in data_sets(parse_tests(path.read_text(encoding="utf-8"), str(path))):
        if "notest" in one.case.tags and "nobench" not in one.case.tags:
            yield one


def bytes_moved(args: Args, results: Args) -> int:
    """All arguments read and all results written once."""
    return sum(np.asarray(array).nbytes for array in (*args, *results))


def flops(program: str, entry: str, args: Args) -> float:
    """Floating-point (or integer) operations; a transcendental function counts as 10 of them."""
    count = FLOPS.get((program, entry))
    return 0.0 if count is None else float(count(*args))


def _locvolcalib(outer: int, nx: int, ny: int, nt: int, *_: float) -> float:
    return float(outer) * nx * ny * (nt - 1) * 45


def _lavamd(side: int, _alpha: float, vs: Any, *_: Any) -> float:
    """Along each axis 3 * side - 2 pairs of neighbouring boxes."""
    return float(3 * side - 2) ** 3 * vs.shape[1] ** 2 * 30


def _optionpricing(_contract: int, paths: int, directions: Any, *_: Any) -> float:
    return float(paths) * len(directions) * (2 * directions.shape[1] + 50)


FLOPS: Mapping[tuple[str, str], Callable[..., float]] = {
    ("attention", "main"): lambda q, *_: 4.0 * q.size * q.shape[1] + 15.0 * q.shape[0] * q.shape[1] ** 2,
    ("backprop", "main"): lambda _x, _t, w1, *_: 7.0 * w1.size,
    ("blackscholes", "main"): lambda price, *_: 90.0 * price.size,
    ("dotprod", "main"): lambda xs, _: 2.0 * xs.size,
    ("hotspot", "main"): lambda steps, starts, _: 15.0 * starts.size * steps,
    ("kmeans", "main"): lambda steps, ps, cs: 2.0 * steps * ps.size * len(cs),
    ("lavamd", "main"): _lavamd,
    ("locvolcalib", "main"): _locvolcalib,
    ("lud", "main"): lambda a: 2.0 / 3.0 * len(a) ** 3,
    ("matmul", "main"): lambda xss, yss: 2.0 * xss.size * yss.shape[1],
    ("nbody", "systems"): lambda steps, _dt, xs, *_: 22.0 * steps * xs.size * xs.shape[1],
    ("nn", "main"): lambda k, _x, _y, xss, _yss: float(k) * xss.size,
    ("nw", "main"): lambda _s, _p, similar: 6.0 * similar.size,
    ("optionpricing", "main"): _optionpricing,
    ("pathfinder", "main"): lambda grids: 3.0 * grids.size,
    ("rowreduce", "argmax"): lambda xss: 1.0 * xss.size,
    ("rowreduce", "mss"): lambda xss: 8.0 * xss.size,
    ("rowreduce", "sum_squares"): lambda xss: 2.0 * xss.size,
    ("rowscan", "compose"): lambda ass, _: 3.0 * ass.size,
    ("rowscan", "main"): lambda xss: 1.0 * xss.size,
    ("softmax", "layernorm"): lambda xss, *_: 8.0 * xss.size,
    ("softmax", "softmax"): lambda xss: 14.0 * xss.size,
    ("spmv", "main"): lambda _off, _col, value, _x: 2.0 * value.size,
    ("srad", "main"): lambda steps, _rate, images: 45.0 * images.size * steps,
}


# ---- equal results --------------------------------------------------------------------------------------------------

TOLERANCE: Mapping[tuple[str, str], float] = {
    ("blackscholes", "main"): 1e-2,
    ("dotprod", "main"): 1e-2,
    ("locvolcalib", "main"): 1e-2,
    ("optionpricing", "main"): 1e-2,
    ("rowscan", "main"): 5e-3,
}
"""Relative to the largest of the results, where 1e-3 is not enough."""

DISAGREEING: Mapping[tuple[str, str], float] = {
    ("kmeans", "main"): 1e-3,
    ("mandelbrot", "main"): 1e-2,
    ("nn", "main"): 1e-4,
}
"""The share of elements that rounding may change altogether: places of equal distances, steps at the border."""


def difference(program: str, entry: str, got: Args, wanted: Args) -> str | None:
    """None if results are equal up to rounding, else how they differ."""
    if len(got) != len(wanted):
        return f"{len(got)} results instead of {len(wanted)}"
    tolerance = TOLERANCE.get((program, entry), 1e-3)
    allowed = DISAGREEING.get((program, entry), 0.0)
    for position, (one, other) in enumerate(zip(got, wanted)):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape:
            return f"result {position} has the shape {a.shape} instead of {b.shape}"
        share = _share_apart(a, b, tolerance)
        if share > allowed:
            return f"result {position}: {share:.2%} of the elements differ by more than {tolerance:g}"
    return None


def _share_apart(a: np.ndarray, b: np.ndarray, tolerance: float) -> float:
    """The share of the elements that differ; relative to themselves, and for small ones to the largest."""
    if not a.size:
        return 0.0
    if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
        return float(np.mean(a != b))
    finite = np.abs(b[np.isfinite(b)])
    scale = float(np.max(finite, initial=0.0))
    near = np.isclose(a, b, rtol=tolerance, atol=1e-2 * tolerance * scale, equal_nan=True)
    return float(np.mean(~near))
