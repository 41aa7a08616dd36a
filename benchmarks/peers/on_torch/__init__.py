"""PyTorch in eager mode, on a GPU where there is one; products in full f32, without TensorFloat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from . import arrays, classes

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False

PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("attention", "main"): arrays.attention,
    ("backprop", "main"): arrays.backprop,
    ("blackscholes", "main"): arrays.blackscholes,
    ("dotprod", "main"): arrays.dotprod,
    ("histogram", "counts"): arrays.counts,
    ("histogram", "largest"): arrays.largest,
    ("histogram", "sums"): arrays.sums,
    ("hotspot", "main"): arrays.hotspot,
    ("kmeans", "main"): arrays.kmeans,
    ("lud", "main"): arrays.lud,
    ("matmul", "main"): arrays.matmul,
    ("nbody", "systems"): arrays.nbody_systems,
    ("nn", "main"): arrays.nn,
    ("nw", "main"): arrays.nw,
    ("pathfinder", "main"): arrays.pathfinder,
    ("rowreduce", "argmax"): arrays.argmax,
    ("rowreduce", "mss"): arrays.mss,
    ("rowreduce", "sum_squares"): arrays.sum_squares,
    ("rowscan", "main"): arrays.rowscan,
    ("softmax", "layernorm"): arrays.layernorm,
    ("softmax", "softmax"): arrays.softmax,
    ("spmv", "main"): arrays.spmv,
    ("srad", "main"): arrays.srad,
    **classes.PEERS,
}


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """A call with the arrays on the device, scalars as Python numbers. It waits for the results."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [torch.from_numpy(np.array(arg)).to(device) if np.ndim(arg) else np.asarray(arg).item() for arg in args]

    def call() -> Any:
        results = function(*given)
        if device == "cuda":
            torch.cuda.synchronize()
        return results

    return call


def fetch(results: Any) -> list[Any]:
    """The results as NumPy arrays."""
    return [part.cpu().numpy() for part in (results if isinstance(results, tuple) else [results])]
