"""The programs of the slides, and the running example of the flattening papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def icfp(n: int, pss: Array) -> tuple[Array, Array]:
    """The running example of the flattening papers: for each p of a row a triangular sum, then n rounds of sums."""
    triangle = np.vectorize(lambda p: np.sum(np.cumsum(np.arange(p))), otypes=[pss.dtype])
    sums = triangle(pss) if pss.size else pss
    asss = pss[:, None, :] + sums[:, :, None]
    bss = pss
    totals = asss.sum(axis=2, dtype=pss.dtype)
    for _ in range(n):
        bss = pss.dtype.type(2) * (totals + bss)
    return asss, bss


def zip_unzip(xs: Array, ys: Array) -> tuple[Array, Array]:
    return xs - xs.dtype.type(1), ys + ys.dtype.type(1)


def increment(xs: Array) -> Array:
    return xs + xs.dtype.type(1)


def add_to_rows(xss: Array, ys: Array) -> Array:
    return xss + ys[:, None]


def add_sums(xss: Array) -> Array:
    return xss + xss.sum(axis=1, keepdims=True, dtype=xss.dtype)


def map_loop(n: int, xss: Array) -> tuple[Array, Array]:
    j, xss = 0, xss.copy()
    for i in range(n):
        xss += xss.dtype.type(j)
        j += i
    return xss, np.full(len(xss), j, xss.dtype)


def transposed(xsss: Array) -> Array:
    return np.ascontiguousarray(xsss.transpose(0, 2, 1))


def innermost_sums(xsss: Array) -> Array:
    return xsss.sum(axis=2, dtype=xsss.dtype)


def three_scans(xsss: Array) -> Array:
    sums = np.cumsum(xsss, axis=2, dtype=xsss.dtype)
    return np.cumprod(np.maximum.accumulate(sums, axis=2), axis=2, dtype=xsss.dtype)


def sums_of_sums(xs: Array) -> Array:
    return (xs[:, None] + xs[None, :]).sum(axis=1, dtype=xs.dtype)


def segscatter(xss: Array, iss: Array, vss: Array) -> Array:
    out = xss.copy()
    np.put_along_axis(out, iss, vss, axis=1)
    return out
