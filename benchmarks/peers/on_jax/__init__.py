"""JAX: whole arrays, compiled by XLA; scalars are constants of the compiled function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from . import bins, flat, grids, particles, products, rows, windows, wraps

jax.config.update("jax_enable_x64", True)

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
    ("locvolcalib", "main"): flat.locvolcalib,
    ("lud", "main"): flat.lud,
    ("mandelbrot", "main"): flat.mandelbrot,
    ("matmul", "main"): rows.matmul,
    ("nbody", "systems"): particles.nbody_systems,
    ("nn", "main"): particles.nn,
    ("nw", "main"): grids.nw,
    ("optionpricing", "main"): flat.optionpricing,
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
    """A call with the arrays on the device; the first one compiles. It waits for the results."""
    scalars = {place: np.asarray(arg).item() for place, arg in enumerate(args) if not np.ndim(arg)}
    arrays = [jax.device_put(arg) for arg in args if np.ndim(arg)]

    def of_arrays(*given: jax.Array) -> Any:
        rest = iter(given)
        return function(*(scalars[place] if place in scalars else next(rest) for place in range(len(args))))

    compiled = jax.jit(of_arrays)
    return lambda: jax.block_until_ready(compiled(*arrays))


def fetch(results: Any) -> list[Any]:
    """The results as NumPy arrays."""
    return [np.asarray(part) for part in (results if isinstance(results, tuple | list) else [results])]
