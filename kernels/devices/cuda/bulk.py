"""Copies between strided arrays of a GPU: dimensions merged, then a copy of memory, tiles, or a kernel for the rest.

merge:  (.., n, m, ..) with stride(n) = m · stride(m) on both sides  →  (.., n · m, ..)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ....ir.machine import BLOCK
from ...cuda_c.module import Grid, cuda_kernel, cuda_module
from ...passes.pipeline import CUDA_PASSES, all_ready
from ...schedule.cuda.bulk_copies import MOST_DIMS, bulk_kernels
from .driver import Signature, signature_of
from .host.limits import TILES_PAY


def bulk_module() -> tuple[str, tuple[Signature, ...]]:
    """The kernels of bulk operations, of which a grid of any number of blocks does the work of all."""
    kernels = all_ready(bulk_kernels(), CUDA_PASSES)
    text = cuda_module(cuda_kernel(kernel, BLOCK.threads, 0, Grid.TURNS, wide=True) for kernel in kernels)
    return text, tuple(map(signature_of, kernels))


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a copy: its size, and the strides of the target and of the source."""

    size: int
    to: int
    source: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """`to[m][r][c] = from[m][c][r]`: both sides have rows, and they are not the same ones."""

    matrix: Axis
    row: Axis
    column: Axis


def merged(shape: Sequence[int], to: Sequence[int], source: Sequence[int]) -> tuple[Axis, ...]:
    """The dimensions of a copy, as few as there can be."""
    axes: list[Axis] = []
    for axis in map(Axis, shape, to, source):
        if axis.size == 1:
            continue
        if axes and _one(axes[-1], axis):
            axes[-1] = Axis(axes[-1].size * axis.size, axis.to, axis.source)
        else:
            axes.append(axis)
    return tuple(axes)


def repeated(bits: int, size: int) -> tuple[int, int] | None:
    """The word of 1, 2 or 4 bytes that elements of `size` bytes consist of, and its size, if there is one: those that a
    driver sets memory to. Of several sizes the least is taken where that is a byte, else the greatest."""
    bits &= (1 << 8 * size) - 1
    for width in (1, min(size, 4)):
        word = bits & ((1 << 8 * width) - 1)
        if bits == sum(word << 8 * at for at in range(0, size, width)):
            return word, width
    return None


def _one(outer: Axis, inner: Axis) -> bool:
    return outer.to == inner.to * inner.size and outer.source == inner.source * inner.size


def tiles(axes: tuple[Axis, ...]) -> Tiles | None:
    """The copy as one of transposed matrices, if it is."""
    if len(axes) not in (2, 3) or axes[-1].to != 1:
        return None
    column, others = axes[-1], list(axes[:-1])
    row = next((axis for axis in others if axis.source == 1), None)
    if row is None or min(row.size, column.size) < TILES_PAY:
        return None
    others.remove(row)
    return Tiles(others[0] if others else Axis(1, 0, 0), row, column)


def padded(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """`MOST_DIMS` dimensions, the last one first."""
    return (*axes[::-1], *(Axis(1, 0, 0),) * (MOST_DIMS - len(axes)))


def count(axes: tuple[Axis, ...]) -> int:
    """The elements of a copy."""
    return math.prod(axis.size for axis in axes)
