"""Neighbouring elements at a constant stride over the lanes: whole vectors of memory, and shuffles.

    x_c of lane l  =  array[start + l*stride + c]          c < n <= stride

The elements of all lanes lie in stride*(W - 1) + n places, which are read by vectors of W, the last of which ends with
them. Each x_c picks its lanes from these, two vectors at a time. What is written must be whole: n = stride. Where lanes
are off, so are their elements. Where the index is not such, elements are read and written one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.ops import Op
from ...ir.types import Prim
from ..kernel_ir.nodes import KArray, LoadRow, Space, StoreRow
from ..llvm.ops import apply
from ..llvm.text import memory_type, vector
from .memory import address, as_index, load_at, loaded, masked_load, masked_store, store_at, stored
from .values import Lanes, LaneValue, Linear, Uniform, Varying, operand

WIDEST = 8
"""The largest stride for which vectors are read and shuffled."""


def load_row(e: Lanes, stm: LoadRow) -> None:
    """Neighbouring elements for each lane."""
    i, prim, count = as_index(e, stm.index), stm.array.prim, len(stm.vars)
    if not isinstance(i, Linear) or not _is_dense(stm.array, i, count):
        for k, var in enumerate(stm.vars):
            e.env[var.name] = load_at(e, stm.array, _moved(e, i, k))
        return
    columns: list[list[str]] = [[] for _ in stm.vars]
    for group in range(e.unroll):
        parts = _parts(e, stm.array, i, group, count)
        for k, column in enumerate(columns):
            column.append(_picked(e, prim, parts, [k + lane * i.stride for lane in range(e.width)]))
    for var, column in zip(stm.vars, columns, strict=True):
        e.env[var.name] = loaded(e, prim, tuple(column))


def store_row(e: Lanes, stm: StoreRow) -> None:
    """Neighbouring elements of each lane into memory."""
    i, prim, count = as_index(e, stm.index), stm.array.prim, len(stm.values)
    values = [operand(e, value) for value in stm.values]
    if not isinstance(i, Linear) or i.stride != count or not _is_dense(stm.array, i, count):
        for k, value in enumerate(values):
            store_at(e, stm.array, _moved(e, i, k), value)
        return
    t, columns = vector(memory_type(prim), e.width), [stored(e, value) for value in values]
    for group in range(e.unroll):
        parts = [(k * e.width, column[group]) for k, column in enumerate(columns)]
        for n in range(count):
            places = range(n * e.width, (n + 1) * e.width)
            x = _picked(e, prim, parts, [place % count * e.width + place // count for place in places])
            pointer = address(e, memory_type(prim), _start(e, stm.array, i, group), str(n * e.width))
            if e.mask is None:
                e.code.do(f"store {t} {x}, ptr {pointer}, align {prim.bytes}")
            else:
                masked_store(e, prim, pointer, x, _elements_on(e, e.mask[group], n * e.width, count, count))


def _is_dense(array: KArray, i: Linear, count: int) -> bool:
    return array.space is not Space.PRIVATE and max(2, count) <= i.stride <= WIDEST


def _moved(e: Lanes, i: LaneValue, k: int) -> LaneValue:
    """The index k places further."""
    if k == 0:
        return i
    match i:
        case Uniform(prim, text):
            return Uniform(prim, e.code.op(f"add i64 {text}, {k}"))
        case Linear(prim, base, stride, exact):
            return Linear(prim, e.code.op(f"add i64 {base}, {k}"), stride, exact)
        case _:
            return Varying(
                i.prim, tuple(apply(e.vec, Op.ADD, Prim.I64, (x, e.vec.const(Prim.I64, k))) for x in i.texts)
            )


def _start(e: Lanes, array: KArray, i: Linear, group: int) -> str:
    """Address of the first element of a group's first lane."""
    start = address(e, memory_type(array.prim), e.places[array].pointer, i.base)
    return address(e, memory_type(array.prim), start, str(group * e.width * i.stride)) if group else start


def _parts(e: Lanes, array: KArray, i: Linear, group: int, count: int) -> list[tuple[int, str]]:
    """All that a group reads, as vectors, each with the place where it begins; the last may repeat some."""
    t, start = vector(memory_type(array.prim), e.width), _start(e, array, i, group)
    last = i.stride * (e.width - 1) + count - e.width
    parts: list[tuple[int, str]] = []
    for first in (*range(0, last, e.width), last):
        pointer = address(e, memory_type(array.prim), start, str(first))
        if e.mask is None:
            part = e.code.op(f"load {t}, ptr {pointer}, align {array.prim.bytes}")
        else:
            part = masked_load(e, array.prim, pointer, _elements_on(e, e.mask[group], first, i.stride, count))
        parts.append((first, part))
    return parts


def _elements_on(e: Lanes, mask: str, first: int, stride: int, count: int) -> str:
    """The mask of the elements from `first` on: those of lanes that are on, without the places between."""
    t = e.vec.raw("i1")
    order = [place // stride if place % stride < count else e.width for place in range(first, first + e.width)]
    listed = ", ".join(f"i32 {lane}" for lane in order)
    return e.code.op(f"shufflevector {t} {mask}, {t} zeroinitializer, <{e.width} x i32> <{listed}>")


def _picked(e: Lanes, prim: Prim, parts: Sequence[tuple[int, str]], places: Sequence[int]) -> str:
    """The vector of the elements at these places of what the parts cover; each vector is looked at once."""
    made, found = "poison", [False] * e.width
    t = vector(memory_type(prim), e.width)
    for first, part in parts:
        lanes = [lane for lane, place in enumerate(places) if first <= place < first + e.width and not found[lane]]
        if not lanes:
            continue
        order = list(range(e.width))
        for lane in lanes:
            order[lane] = e.width + places[lane] - first
            found[lane] = True
        listed = ", ".join(f"i32 {lane}" for lane in order)
        made = e.code.op(f"shufflevector {t} {made}, {t} {part}, <{e.width} x i32> <{listed}>")
    return made
