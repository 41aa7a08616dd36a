"""SciPy: filters, sparse products, distances and factorisations, where it has the operation; one thread but in BLAS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, ndimage, signal, sparse, special
from scipy.linalg import blas
from scipy.spatial import distance

Array = NDArray[Any]


def blur5(weights: Array, image: Array) -> Array:
    return ndimage.correlate(image, weights, mode="nearest")


def edges(image: Array) -> Array:
    x = image.astype(np.int32)
    across, along = (np.abs(ndimage.sobel(x, axis))[1:-1, 1:-1] for axis in (1, 0))
    return across + along


def separable(weights: Array, image: Array) -> Array:
    rows = ndimage.correlate1d(image, weights, axis=1, mode="nearest")
    return ndimage.correlate1d(rows, weights, axis=0, mode="nearest")


def convolve(image: Array, kernels: Array) -> Array:
    return np.stack([signal.correlate(image, kernel, mode="valid", method="direct")[0] for kernel in kernels])


def dilate(image: Array) -> Array:
    return ndimage.maximum_filter(image, 5, mode="constant", cval=0)


def gemm(alpha: float, beta: float, a: Array, b: Array, c: Array) -> Array:
    """By columns, as BLAS has it: the transposed product."""
    return blas.dgemm(alpha, b.T, a.T, beta, c.T).T


def spmv(off: Array, col: Array, value: Array, x: Array) -> Array:
    return sparse.csr_array((value, col, off), (len(off) - 1, len(x))) @ x


PEERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("softmax", "softmax"): lambda xss: special.softmax(xss, axis=1),
    ("spmv", "main"): spmv,
    ("products", "distances"): distance.cdist,
    ("products", "gemm"): gemm,
    ("recurrent", "cholesky"): lambda a: linalg.cholesky(a, lower=True),
    ("windows", "blur5"): blur5,
    ("windows", "convolve"): convolve,
    ("windows", "dilate"): dilate,
    ("windows", "edges"): edges,
    ("windows", "separable"): separable,
}


def bind(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    """A call with these arguments."""
    return lambda: function(*args)


def fetch(results: Any) -> list[Any]:
    """The results one by one."""
    return [results]
