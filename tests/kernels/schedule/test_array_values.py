"""Views of memory against NumPy's: strides, offsets and what is contiguous, for up to four dimensions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from soac.ir.core import DimIndex, Fix, Slice
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir.nodes import KArray, Space
from soac.kernels.schedule.array_values import rearranged, sliced
from soac.kernels.schedule.bulk import builder
from soac.kernels.schedule.kernel_builder import ArrayRef, Operand

MEM = KArray("xs", Prim.I8, Space.GLOBAL)
shapes = st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple)


def whole(shape: tuple[int, ...]) -> tuple[ArrayRef, np.ndarray]:
    """A row-major array of bytes, in whose memory each place holds its own number."""
    xs = np.arange(np.prod(shape), dtype=np.int16).astype(np.int8).reshape(shape)
    return ArrayRef(MEM, i64(0), tuple(map(i64, shape)), tuple(map(i64, xs.strides)), True), xs


def number(x: Operand) -> int:
    assert isinstance(x, Const)
    return int(x.value)


def same(found: ArrayRef, expected: np.ndarray, base: np.ndarray) -> None:
    assert tuple(map(number, found.shape)) == expected.shape
    assert tuple(map(number, found.strides)) == expected.strides
    assert number(found.offset) == expected.ctypes.data - base.ctypes.data
    assert not found.row_major or expected.flags.c_contiguous


@settings(max_examples=60)
@given(shapes.flatmap(lambda shape: st.tuples(st.just(shape), st.permutations(range(len(shape))))))
def test_a_rearranged_array_is_a_transposed_one(given: tuple[tuple[int, ...], list[int]]) -> None:
    array, xs = whole(given[0])
    found = rearranged(array, tuple(given[1]))
    assert isinstance(found, ArrayRef)
    same(found, xs.transpose(given[1]), xs)


@st.composite
def parts(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], list[slice | int]]:
    """A shape, an order of its dimensions, and in this order an index or a slice of at least one element of each, one
    slice at least."""
    shape = draw(shapes)
    perm = draw(st.permutations(range(len(shape))))
    kept = draw(st.integers(0, len(shape) - 1))
    dims = list[slice | int]()
    for k, n in enumerate(shape[j] for j in perm):
        start = draw(st.integers(0, n - 1))
        if k != kept and draw(st.booleans()):
            dims.append(start)
            continue
        step = draw(st.sampled_from((1, 1, 2, 3)))
        count = draw(st.integers(1, (n - 1 - start) // step + 1))
        dims.append(slice(start, start + (count - 1) * step + 1, step))
    return shape, perm, dims


def index_of(dim: slice | int) -> DimIndex:
    if isinstance(dim, int):
        return Fix(i64(dim))
    return Slice(i64(dim.start), i64(-((dim.start - dim.stop) // dim.step)), i64(dim.step))


@settings(max_examples=100)
@given(parts())
def test_a_part_is_a_part(given: tuple[tuple[int, ...], list[int], list[slice | int]]) -> None:
    shape, perm, dims = given
    array, xs = whole(shape)
    turned = rearranged(array, tuple(perm))
    found = sliced(builder(), turned, tuple(map(index_of, dims)))
    assert isinstance(found, ArrayRef)
    same(found, xs.transpose(perm)[tuple(dims)], xs)
