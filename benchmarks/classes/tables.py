"""Lookups in small tables: loops for one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8).copy()
STRAND = np.frombuffer(b"TVGHEFCDIJMLKNOPQYSAABWXR", np.uint8).copy()
LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8).copy()
NIBBLES = np.array(
    [0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
     0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C], np.uint32,
)  # fmt: skip


@numba.njit
def hex(xs: Array) -> Array:
    out = np.empty((len(xs), 2), np.uint8)
    for i in range(len(xs)):
        out[i, 0], out[i, 1] = DIGITS[xs[i] // 16], DIGITS[xs[i] % 16]
    return out


@numba.njit
def levels(table: Array, scales: Array, xs: Array) -> Array:
    out = np.empty(xs.shape, np.float32)
    for i in range(xs.shape[0]):
        for j in range(xs.shape[1]):
            out[i, j] = scales[i] * table[xs[i, j] & 15]
    return out


@numba.njit
def weights(table: Array, scales: Array, xs: Array, ys: Array) -> Array:
    out = np.empty(len(xs), np.float32)
    for i in range(xs.shape[0]):
        total = np.float32(0)
        for j in range(xs.shape[1]):
            total += table[xs[i, j] & 15] * ys[j]
        out[i] = scales[i] * total
    return out


@numba.njit
def complement(text: Array) -> Array:
    out = np.empty_like(text)
    for i in range(len(text)):
        c = text[len(text) - 1 - i]
        out[i] = STRAND[c - 65] if c >= 65 and c <= 89 else c
    return out


@numba.njit
def base64(xs: Array) -> Array:
    out = np.empty((len(xs), 4), np.uint8)
    for i in range(len(xs)):
        w = np.uint32(xs[i, 0]) << 16 | np.uint32(xs[i, 1]) << 8 | np.uint32(xs[i, 2])
        for k in range(4):
            out[i, k] = LETTERS[w >> (18 - 6 * k) & 63]
    return out


@numba.njit
def taken(table: Array, xs: Array) -> Array:
    out = np.empty(len(xs), table.dtype)
    for i in range(len(xs)):
        out[i] = table[xs[i]]
    return out


@numba.njit
def kinds(table: Array, text: Array) -> Array:
    out = np.zeros(256, np.int64)
    for i in range(len(text)):
        out[table[text[i]]] += 1
    return out[:4].copy()


@numba.njit
def checksum(xs: Array) -> Array:
    out = np.empty_like(xs)
    for i in range(len(xs)):
        c = xs[i]
        for _ in range(8):
            c = c >> np.uint32(4) ^ NIBBLES[c & np.uint32(15)]
        out[i] = c
    return out


PEERS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (hex, levels, weights, complement, base64, kinds, checksum)},
    "palette": taken,
    "curve": taken,
}


def data(large: bool) -> Mapping[str, tuple[Any, ...]]:
    """The arguments of each entry, small ones that stay in a cache or large ones."""
    random, n, m = np.random.default_rng(0), 1 << (20 if large else 12), 1 << (10 if large else 6)
    f32, data, table = np.float32, random.integers(0, 256, n).astype(np.uint8), random.integers(0, 256, 256)
    rows = data.reshape(-1, m)
    scaled = (random.random(16, f32), random.random(len(rows), f32), rows)
    return {
        "hex": (data,),
        "levels": scaled,
        "weights": (*scaled, random.random(m, f32)),
        "complement": (random.choice(np.frombuffer(b"ACGTN\n", np.uint8), n),),
        "base64": (data[: n // 3 * 3].reshape(-1, 3),),
        "palette": (table[:20].astype(np.uint8), random.integers(0, 20, n).astype(np.int32)),
        "curve": (table.astype(np.uint16), data),
        "kinds": ((table & 7).astype(np.uint8), data),
        "checksum": (random.integers(0, 1 << 32, n).astype(np.uint32),),
    }
