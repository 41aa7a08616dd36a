"""NumPy: the peers that are always there. They compute in the type of their arguments, so that on f64 they are the
references of the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import bins, finance, flat, grids, optionpricing, particles, products, rows, slides, windows, wraps

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("attention", "main"): rows.attention,
    ("backprop", "main"): particles.backprop,
    ("blackscholes", "main"): finance.blackscholes,
    ("dotprod", "main"): rows.dotprod,
    ("histogram", "counts"): bins.counts,
    ("histogram", "largest"): bins.largest,
    ("histogram", "sums"): bins.sums,
    ("hotspot", "main"): grids.hotspot,
    ("icfp", "main"): slides.icfp,
    ("kmeans", "main"): particles.kmeans,
    ("lavamd", "main"): particles.lavamd,
    ("locvolcalib", "main"): finance.locvolcalib_in_f32,
    ("lud", "main"): flat.lud,
    ("mandelbrot", "main"): flat.mandelbrot,
    ("matmul", "main"): rows.matmul,
    ("nbody", "main"): particles.nbody,
    ("nbody", "systems"): particles.nbody_systems,
    ("nn", "main"): particles.nn,
    ("nw", "main"): grids.nw,
    ("optionpricing", "main"): optionpricing.optionpricing,
    ("pathfinder", "main"): grids.best_pathfinder,
    ("rowreduce", "argmax"): rows.argmax,
    ("rowreduce", "mss"): rows.mss,
    ("rowreduce", "sum_squares"): rows.sum_squares,
    ("rowscan", "compose"): rows.compose,
    ("rowscan", "main"): rows.rowscan,
    ("softmax", "layernorm"): rows.layernorm,
    ("softmax", "softmax"): rows.softmax,
    ("spmv", "main"): bins.spmv,
    ("srad", "main"): grids.srad,
    ("sumrows", "main"): rows.sumrows,
    ("sumrows", "rows"): rows.rowsum,
    ("p01_zip_unzip", "main"): slides.zip_unzip,
    ("p02_sumrows", "main"): rows.sumrows,
    ("p03_increment", "main"): slides.increment,
    ("p04_mapabs", "main"): np.abs,
    ("p05_nested_map", "main"): slides.add_to_rows,
    ("p06_reduce_then_map", "main"): slides.add_sums,
    ("p07_distribution", "main"): slides.icfp,
    ("p08_map_loop", "main"): slides.map_loop,
    ("p09_matmul", "main"): rows.matmul,
    ("p10_incremental", "main"): rows.rowsum,
    ("p11_map_transpose", "main"): slides.transposed,
    ("p12_segmented_sum", "main"): slides.innermost_sums,
    ("p13_three_scans", "main"): slides.three_scans,
    ("p14_tiling", "main"): slides.sums_of_sums,
    ("p15_segscatter", "main"): slides.segscatter,
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
    """A call with these arguments."""
    return lambda: function(*args)


def fetch(results: Any) -> list[Any]:
    """The results one by one."""
    return list(results) if isinstance(results, tuple) else [results]
