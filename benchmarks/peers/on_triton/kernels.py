"""Kernels of one block for each row or tile, their tile sizes tuned by Triton."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LONGEST = 1 << 16
"""Rows up to here fit a block."""


# ---- rows -----------------------------------------------------------------------------------------------------------


@triton.jit
def sum_squares_kernel(x: Any, out: Any, m: Any, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((size,), tl.float32)
    for first in range(0, m, size):
        at = first + tl.arange(0, size)
        value = tl.load(x + row * m + at, mask=at < m, other=0.0)
        total += value * value
    tl.store(out + row, tl.sum(total, axis=0))


@triton.jit
def short_sums_kernel(x: Any, out: Any, n: Any, m: Any, rows: tl.constexpr, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    at = tl.arange(0, size)
    here = (row[:, None] < n) & (at[None, :] < m)
    value = tl.load(x + row[:, None] * m + at[None, :], mask=here, other=0.0)
    tl.store(out + row, tl.sum(value * value, axis=1), mask=row < n)


def sum_squares(xss: Tensor) -> Tensor:
    """A block for a row, several rows for a block where rows are short; a long single row in two passes."""
    n, m = xss.shape
    out = torch.empty(n, dtype=xss.dtype, device=xss.device)
    if m <= 256:
        size = triton.next_power_of_2(m)
        rows = max(1, 2048 // size)
        short_sums_kernel[(triton.cdiv(n, rows),)](xss, out, n, m, rows, size)
        return out
    pieces = 1
    while n * pieces < 1024 and m % (2 * pieces) == 0 and m // pieces > 8192:
        pieces *= 2
    parts = torch.empty(n * pieces, dtype=xss.dtype, device=xss.device)
    sum_squares_kernel[(n * pieces,)](xss, parts, m // pieces, 1024)
    return parts.view(n, pieces).sum(dim=1)


@triton.jit
def softmax_kernel(x: Any, out: Any, m: Any, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, size)
    value = tl.load(x + row * m + at, mask=at < m, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * m + at, power / tl.sum(power, axis=0), mask=at < m)


def softmax(xss: Tensor) -> Tensor:
    n, m = xss.shape
    if m > LONGEST:
        return torch.softmax(xss, dim=1)
    out = torch.empty_like(xss)
    size = triton.next_power_of_2(m)
    softmax_kernel[(n,)](xss, out, m, size, num_warps=max(1, min(16, size // 256)))
    return out


@triton.jit
def layernorm_kernel(x: Any, scale: Any, shift: Any, out: Any, m: Any, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, size)
    here = at < m
    value = tl.load(x + row * m + at, mask=here, other=0.0)
    centred = tl.where(here, value - tl.sum(value, axis=0) / m, 0.0)
    factor = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / m + 1e-5)
    result = centred * factor * tl.load(scale + at, mask=here) + tl.load(shift + at, mask=here)
    tl.store(out + row * m + at, result, mask=here)


def layernorm(xss: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    n, m = xss.shape
    out = torch.empty_like(xss)
    size = triton.next_power_of_2(m)
    layernorm_kernel[(n,)](xss, scale, shift, out, m, size, num_warps=max(1, min(16, size // 256)))
    return out


@triton.jit
def scan_kernel(x: Any, out: Any, m: Any, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = 0.0
    for first in range(0, m, size):
        at = first + tl.arange(0, size)
        value = tl.load(x + row * m + at, mask=at < m, other=0.0)
        tl.store(out + row * m + at, tl.cumsum(value, axis=0) + carry, mask=at < m)
        carry += tl.sum(value, axis=0)


def rowscan(xss: Tensor) -> Tensor:
    """A block for a row; few long rows are left to the library."""
    n, m = xss.shape
    if n < 128:
        return torch.cumsum(xss, dim=1)
    out = torch.empty_like(xss)
    scan_kernel[(n,)](xss, out, m, min(2048, triton.next_power_of_2(m)))
    return out


# ---- products -------------------------------------------------------------------------------------------------------

TILES = [
    triton.Config({"bn": bn, "bm": bm, "bk": bk}, num_warps=warps, num_stages=stages)
    for bn, bm, bk, warps, stages in (
        (128, 128, 16, 8, 3), (128, 64, 16, 4, 3), (64, 64, 16, 4, 4), (64, 64, 32, 4, 3), (32, 32, 32, 4, 3),
    )
]  # fmt: skip


@triton.autotune(configs=TILES, key=["n", "p", "m"])
@triton.jit
def matmul_kernel(a: Any, b: Any, c: Any, n: Any, p: Any, m: Any, bn: tl.constexpr, bm: tl.constexpr, bk: tl.constexpr):
    i = tl.program_id(0) * bn + tl.arange(0, bn)
    j = tl.program_id(1) * bm + tl.arange(0, bm)
    total = tl.zeros((bn, bm), tl.float32)
    for first in range(0, p, bk):
        k = first + tl.arange(0, bk)
        left = tl.load(a + i[:, None] * p + k[None, :], mask=(i[:, None] < n) & (k[None, :] < p), other=0.0)
        right = tl.load(b + k[:, None] * m + j[None, :], mask=(k[:, None] < p) & (j[None, :] < m), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + i[:, None] * m + j[None, :], total, mask=(i[:, None] < n) & (j[None, :] < m))


def matmul(xss: Tensor, yss: Tensor) -> Tensor:
    (n, p), m = xss.shape, yss.shape[1]
    out = torch.empty((n, m), dtype=xss.dtype, device=xss.device)
    matmul_kernel[lambda tile: (triton.cdiv(n, tile["bn"]), triton.cdiv(m, tile["bm"]))](xss, yss, out, n, p, m)
    return out


@triton.jit
def attention_kernel(
    q: Any, k: Any, v: Any, out: Any, n: Any, scale: Any, d: tl.constexpr, bn: tl.constexpr, bm: tl.constexpr
):
    """A block of queries of a head; the keys pass by, with a running maximum and sum."""
    head = tl.program_id(1).to(tl.int64) * n * d
    i, c = tl.program_id(0) * bn + tl.arange(0, bn), tl.arange(0, d)
    queries = tl.load(q + head + i[:, None] * d + c[None, :], mask=i[:, None] < n, other=0.0) * scale
    top = tl.full((bn,), -float("inf"), tl.float32)
    total = tl.zeros((bn,), tl.float32)
    sums = tl.zeros((bn, d), tl.float32)
    for first in range(0, n, bm):
        j = first + tl.arange(0, bm)
        keys = tl.load(k + head + j[None, :] * d + c[:, None], mask=j[None, :] < n, other=0.0)
        scores = tl.where(j[None, :] < n, tl.dot(queries, keys, input_precision="ieee"), -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        powers = tl.exp(scores - new_top[:, None])
        fade = tl.exp(top - new_top)
        values = tl.load(v + head + j[:, None] * d + c[None, :], mask=j[:, None] < n, other=0.0)
        total = total * fade + tl.sum(powers, axis=1)
        sums = sums * fade[:, None] + tl.dot(powers, values, input_precision="ieee")
        top = new_top
    tl.store(out + head + i[:, None] * d + c[None, :], sums / total[:, None], mask=i[:, None] < n)


def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    h, n, d = queries.shape
    out = torch.empty_like(queries)
    attention_kernel[(triton.cdiv(n, 64), h)](queries, keys, values, out, n, d**-0.5, d, 64, 32)
    return out
