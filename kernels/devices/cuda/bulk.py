"""Copies between strided arrays of a GPU: dimensions merged, then a copy of memory, tiles, or a kernel for the rest.

merge:  (.., n, m, ..) with stride(n) = m · stride(m) on both sides  →  (.., n · m, ..)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from ...cuda_c.module import prelude
from .driver import I64, POINTER, Parameter, Signature

MOST_DIMS = 8
"""As in `cuda_bulk.h`."""
TILES_PAY = 8
"""Rows shorter than this are as well copied element by element."""
THREADS = 256
LAYOUT = Parameter("Layout", f"{1 + 3 * MOST_DIMS}q")
U64 = Parameter("u64", "Q")
WORDS = {1: Parameter("u8", "B"), 2: Parameter("u16", "H"), 4: Parameter("u32", "I"), 8: Parameter("u64", "Q")}


def bulk_text() -> str:
    """The module of the bulk operations."""
    own = files(__name__.rpartition(".")[0]) / "bulk.h"
    return prelude() + own.read_text(encoding="utf-8")


def bulk_signatures() -> tuple[Signature, ...]:
    return tuple(signature for word in WORDS.values() for signature in _signatures(word))


def _signatures(word: Parameter) -> tuple[Signature, ...]:
    t = word.c_type
    at = Parameter(f"{t} *", POINTER.form)
    return (
        Signature(f"ramp_{t}", (at, U64, U64, I64)),
        Signature(f"copy_{t}", (at, at, I64, LAYOUT)),
        Signature(f"fill_{t}", (at, word, I64, LAYOUT)),
        Signature(f"transpose_{t}", (at, at, I64, I64, I64, I64, I64, I64, I64)),
    )


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


def layout(axes: tuple[Axis, ...]) -> tuple[int, ...]:
    """`Layout` of `cuda_bulk.h`, at most `MOST_DIMS` dimensions."""
    rest = (0,) * (MOST_DIMS - len(axes))
    sizes, to, source = ((*(getattr(a, name) for a in axes), *rest) for name in ("size", "to", "source"))
    return len(axes), *sizes, *to, *source


def count(axes: tuple[Axis, ...]) -> int:
    return math.prod(axis.size for axis in axes)
