"""Numba: loops compiled for all cores, with the outermost one in parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import bins, finance, flat, grids, particles, products, rows, windows, wraps

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("attention", "main"): rows.attention,
    ("backprop", "main"): particles.backprop,
    ("blackscholes", "main"): flat.blackscholes,
    ("dotprod", "main"): rows.dotprod,
    ("histogram", "counts"): bins.counts,
    ("histogram", "largest"): bins.largest,
    ("histogram", "sums"): bins.sums,
    ("hotspot", "main"): grids.hotspot,
    ("kmeans", "main"): particles.kmeans,
    ("lavamd", "main"): particles.lavamd,
    ("locvolcalib", "main"): finance.locvolcalib,
    ("lud", "main"): flat.lud,
    ("mandelbrot", "main"): flat.mandelbrot,
    ("matmul", "main"): rows.matmul,
    ("nbody", "systems"): particles.nbody_systems,
    ("nn", "main"): particles.nn,
    ("nw", "main"): grids.nw,
    ("optionpricing", "main"): finance.optionpricing,
    ("pathfinder", "main"): grids.pathfinder,
    ("rowreduce", "argmax"): rows.argmax,
    ("rowreduce", "mss"): rows.mss,
    ("rowreduce", "sum_squares"): rows.sum_squares,
    ("rowscan", "compose"): rows.compose,
    ("rowscan", "main"): rows.rowscan,
    ("softmax", "layernorm"): rows.layernorm,
    ("softmax", "softmax"): rows.softmax,
    ("spmv", "main"): bins.spmv,
    ("srad", "main"): grids.srad,
    ("windows", "blur5"): windows.blur5,
    ("windows", "convolve"): windows.convolve,
    ("windows", "dilate"): windows.dilate,
    ("windows", "edges"): windows.edges,
    ("windows", "grey"): windows.grey,
    ("windows", "normals"): windows.normals,
    ("windows", "separable"): windows.separable,
    ("windows", "transform"): windows.transform,
    ("windows", "turn"): windows.turn,
    ("wraps", "buckets"): wraps.buckets,
    ("wraps", "butterflies"): wraps.butterflies,
    ("wraps", "digits"): wraps.digits,
    ("wraps", "drift"): wraps.drift,
    ("wraps", "life"): wraps.life,
    ("wraps", "repeat"): wraps.repeat,
    ("wraps", "ring"): wraps.ring,
    ("wraps", "spread"): wraps.spread,
    **products.PEERS,
}


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """A call with these arguments; the first one compiles."""
    return lambda: function(*args)


def fetch(results: Any) -> list[Any]:
    """The results one by one."""
    return list(results) if isinstance(results, tuple) else [results]
