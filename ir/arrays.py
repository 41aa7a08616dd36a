"""The meaning of the array operations of the core, on numpy arrays; nothing here overwrites an argument.

Arrays have the dtype of their scalar type (`ir/scalar.py`), scalars are Python values. Bounds are checked here, with
the one text of R0101: `index [4] out of bounds for array of shape [3]`, `index [1, 4] out of bounds for array of shape
[2][3]`, `slice [1:+5*1] out of bounds for array of shape [3]` (start, count, stride).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .records import dataclass
from .scalar import DTYPES, Value, elements_as, int_range
from .types import Prim

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class At:
    """A `Fix` or `Slice` with its values; `count` and `stride` are None for `Fix`."""

    start: int
    count: int | None
    stride: int | None

    def within(self, size: int) -> bool:
        """An empty slice is in bounds wherever it starts."""
        if self.count is None or self.stride is None:
            return 0 <= self.start < size
        last = self.start + (self.count - 1) * self.stride
        return self.count == 0 or (self.count > 0 and 0 <= self.start < size and 0 <= last < size)

    def selector(self) -> int | slice | Array:
        """What numpy is to be given; an index that is in bounds."""
        if self.count is None or self.stride is None:
            return self.start
        if self.stride == 0 or self.count == 0:
            return np.full(self.count, self.start if self.count else 0, np.int64)
        stop = self.start + self.count * self.stride
        return slice(self.start, stop if stop >= 0 else None, self.stride)


def inside(index: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether `index` is in bounds in the leading dimensions that it fixes."""
    for i, size in zip(index, shape):  # noqa: SIM110  (the interpreter spends much of its time here)
        if not 0 <= i < size:
            return False
    return True


def in_bounds(ats: Sequence[At], shape: tuple[int, ...]) -> bool:
    """Whether all indices and slices, one for each dimension of `shape`, are inside."""
    return all(at.within(size) for at, size in zip(ats, shape, strict=True))


def out_of_bounds_text(ats: Sequence[At], shape: tuple[int, ...]) -> str:
    """What the user reads with R0101: all indices of an element, or the first dimension that is wrong."""
    if all(at.count is None for at in ats):
        place = f"index [{', '.join(str(at.start) for at in ats)}]"
    else:
        wrong = next(at for at, size in zip(ats, shape, strict=True) if not at.within(size))
        is_slice = wrong.count is not None
        place = f"slice [{wrong.start}:+{wrong.count}*{wrong.stride}]" if is_slice else f"index [{wrong.start}]"
    return f"{place} out of bounds for array of shape {shape_text(shape)}"


def shape_text(shape: Sequence[int]) -> str:
    """`[2][3]`; a scalar's shape is empty."""
    return "".join(f"[{size}]" for size in shape)


def select(xs: Array, ats: Sequence[At]) -> Array | Value:
    """`xs[ats]`, in bounds; a Python value where every dimension is fixed."""
    if all(at.count is None for at in ats):
        return xs.item(tuple(at.start for at in ats))
    for axis in reversed(range(len(ats))):  # numpy moves dimensions when arrays of indices are mixed
        xs = xs[(slice(None),) * axis + (ats[axis].selector(),)]
    return xs


def updated(xs: Array, ats: Sequence[At], value: Array | Value) -> Array:
    """A copy of `xs` with the place `ats`, in bounds, holding `value`."""
    new = xs.copy()
    if any(at.count == 0 for at in ats):
        return new
    new[tuple(at.selector() for at in ats)] = value
    return new


def settled(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a value whose type has these sizes: negative ones are 0. A program checks a size before it makes an
    array of it (R0104); where a nest has no points its checks are not made, yet flattening makes the arrays that its
    points share, which nothing reads."""
    return tuple([max(n, 0) for n in shape]) if shape and min(shape) < 0 else shape


def iota(count: int, start: int, step: int, prim: Prim) -> Array:
    """start, start + step, ...; wraps at the width of `prim`. Nothing where `count` is negative."""
    bits = np.uint64
    mask = (1 << 64) - 1
    with np.errstate(over="ignore"):
        values = np.arange(count, dtype=bits) * bits(step & mask) + bits(start & mask)
    return elements_as(values, prim)


def replicate(shape: tuple[int, ...], value: Array | Value, prim: Prim) -> Array:
    """`value` at every place of `shape`."""
    row = np.asarray(value, DTYPES[prim])
    return np.ascontiguousarray(np.broadcast_to(row, settled(shape + row.shape)))


def scratch(shape: tuple[int, ...], prim: Prim) -> Array:
    """Elements that may not be read: unlikely values, so that a read shows."""
    poison = math.nan if prim.is_float else prim is Prim.BOOL or int_range(prim)[1] - 90
    return np.full(settled(shape), poison, DTYPES[prim])


def stack(rows: Sequence[Array | Value], outer: tuple[int, ...], row: tuple[int, ...], prim: Prim) -> Array:
    """`rows`, in row-major order of the dimensions `outer`, each of shape `row`, as one array."""
    dtype = DTYPES[prim]
    if not row:
        return np.array(rows, dtype).reshape(settled(outer))
    if not rows:
        return np.empty(settled(outer + row), dtype)
    return np.stack(rows).reshape(outer + row)
