"""Neighbouring elements at a constant stride over the lanes: whole vectors of memory, and shuffles.

    x_c of lane l  =  array[start + l*stride + c]          c < n <= stride

The elements of all lanes lie in stride*(W - 1) + n places, which are read by vectors of W, the last of which ends with
them. Each x_c picks its lanes from these, two vectors at a time. What is written must be whole: n = stride. Where lanes
are off, so are their elements. Rows of 4 or 8 small elements are n vectors, whose columns are first put side by side in
each; these n x n pieces are transposed. Where the index is not such, rows of 32 bits and more are read one by one, and
transposed too, other elements one by one, and all are written so.

Longer rows are read and written one by one, and transposed in registers (`tiles.py`), C columns at once. Of a row that
has fewer, C elements are read and written all the same, where these are elements of rows behind it, which are written
later; where there are none behind it, as many as it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..kernel_ir.nodes import COLUMNS, KArray, LoadRow, Space, StoreRow
from ..llvm.ops import apply
from ..llvm.text import memory_type, vector
from .gathers import GATHERED
from .memory import address, as_index, load_at, loaded, masked_load, masked_store, store_at, stored
from .tiles import joined, shuffled, transposed
from .values import Lanes, LaneValue, Linear, Uniform, Varying, operand, vectors

PICKED, PICKED_BYTES = 5, 8
"""The largest stride for which each column picks its elements from vectors of several rows; of bytes."""
WIDEST = 64
"""The largest stride."""


def load_row(e: Lanes, stm: LoadRow) -> None:
    """Neighbouring elements for each lane."""
    i, prim, count = as_index(e, stm.index), stm.array.prim, len(stm.vars)
    is_far = not isinstance(i, Linear) or (_is_long(prim, i.stride) and e.mask is not None)
    if is_far and prim.bytes >= GATHERED and not isinstance(i, Uniform):
        made = [_at_places(e, stm.array, places, count) for places in _places(e, i)]
        for var, column in zip(stm.vars, zip(*made, strict=True), strict=True):
            e.env[var.name] = loaded(e, prim, column)
        return
    if is_far or not isinstance(i, Linear) or not _is_dense(stm.array, i, count):
        for k, var in enumerate(stm.vars):
            e.env[var.name] = load_at(e, stm.array, _moved(e, i, k))
        return
    columns: list[list[str]] = [[] for _ in stm.vars]
    for group in range(e.unroll):
        if _is_long(prim, i.stride):
            rows = _Rows(e, prim, _start(e, stm.array, i, group), i.stride, count)
            for column, made in zip(columns, rows.load(), strict=True):
                column.append(made)
            continue
        parts = _parts(e, stm.array, i, group, count)
        if i.stride == count and _is_woven(e, prim, count, (4, 8)):
            for column, made in zip(columns, _unwoven(e, prim, [part for _, part in parts]), strict=True):
                column.append(made)
            continue
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
    if _is_long(prim, count) and e.mask is None:
        columns = [stored(e, value) for value in values]
        for group in range(e.unroll):
            rows = _Rows(e, prim, _start(e, stm.array, i, group), count, count)
            rows.store([column[group] for column in columns])
        return
    t, columns = vector(memory_type(prim), e.width), [stored(e, value) for value in values]
    for group in range(e.unroll):
        parts = [(k * e.width, column[group]) for k, column in enumerate(columns)]
        is_woven = _is_woven(e, prim, count, (8,))
        woven = _woven(e, prim, [x for _, x in parts]) if is_woven else []
        for n in range(count):
            places = range(n * e.width, (n + 1) * e.width)
            order = [place % count * e.width + place // count for place in places]
            x = woven[n] if is_woven else _picked(e, prim, parts, order)
            pointer = address(e, memory_type(prim), _start(e, stm.array, i, group), str(n * e.width))
            if e.mask is None:
                e.code.do(f"store {t} {x}, ptr {pointer}, align {prim.bytes}")
            else:
                masked_store(e, prim, pointer, x, _elements_on(e, e.mask[group], n * e.width, count, count))


def _is_long(prim: Prim, stride: int) -> bool:
    """Whether rows are transposed: there is no vector of few of them that a column picks from."""
    return stride > (PICKED_BYTES if prim.bytes == 1 else PICKED)


def _is_dense(array: KArray, i: Linear, count: int) -> bool:
    return array.space is not Space.PRIVATE and max(2, count) <= i.stride <= WIDEST


def _is_woven(e: Lanes, prim: Prim, count: int, counts: tuple[int, ...]) -> bool:
    """Whether rows that lie side by side are columns by way of pieces: of these lengths, for which LLVM finds no better
    shuffles where each vector has elements of all others."""
    return prim.bytes <= 2 and count in counts and e.width >= count


def _unwoven(e: Lanes, prim: Prim, parts: list[str]) -> list[str]:
    """The columns of rows in n vectors: first side by side in each vector, then these n x n pieces transposed."""
    t, count, width = memory_type(prim), len(parts), e.width
    order = [lane * count % width + lane * count // width for lane in range(width)]
    pieces = [shuffled(e.code, t, part, "poison", width, order) for part in parts]
    return transposed(e.code, t, pieces, width, width // count)


def _woven(e: Lanes, prim: Prim, columns: list[str]) -> list[str]:
    """The way back."""
    t, count, width = memory_type(prim), len(columns), e.width
    order = [lane % count * (width // count) + lane // count for lane in range(width)]
    pieces = transposed(e.code, t, columns, width, width // count)
    return [shuffled(e.code, t, piece, "poison", width, order) for piece in pieces]


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
    return e.code.shuffle(t, mask, "zeroinitializer", order)


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
        made = e.code.shuffle(t, made, part, order)
    return made


# ---- rows anywhere -----------------------------------------------------------------------------------------------


def _places(e: Lanes, i: LaneValue) -> list[list[str]]:
    """The index of each lane, for each group; lanes that are off have 0, where the array has a row as others are on."""
    t, flags, found = e.vec.raw("i64"), e.vec.raw("i1"), vectors(e, i)
    if e.mask is not None:
        pairs = zip(found, e.mask, strict=True)
        found = tuple(e.code.op(f"select {flags} {m}, {t} {x}, {t} zeroinitializer") for x, m in pairs)
    return [[e.code.op(f"extractelement {t} {x}, i64 {lane}") for lane in range(e.width)] for x in found]


def _at_places(e: Lanes, array: KArray, places: list[str], count: int) -> list[str]:
    """A vector for each column of the rows of a group: a row is one load."""
    t, chunk, columns = memory_type(array.prim), min(e.width, COLUMNS, 1 << (count - 1).bit_length()), list[str]()
    for first in range(0, count, chunk):
        length, parts = min(chunk, count - first), list[str]()
        for place in places:
            pointer = address(e, t, address(e, t, e.places[array].pointer, place), str(first))
            part = e.code.op(f"load {vector(t, length)}, ptr {pointer}, align {array.prim.bytes}")
            wide = shuffled(e.code, t, part, "poison", length, (min(k, length - 1) for k in range(chunk)))
            parts.append(part if length == chunk else wide)
        rows = [joined(e.code, t, parts[k::chunk], chunk) for k in range(chunk)]
        columns += transposed(e.code, t, rows, e.width)[:length]
    return columns


# ---- long rows ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a group of lanes: `count` elements each, `pitch` apart, the first of them at `start`."""

    e: Lanes
    prim: Prim
    start: str
    pitch: int
    count: int

    @property
    def chunk(self) -> int:
        """Columns that are transposed at once, a power of two: as few as hold a row."""
        return min(self.e.width, COLUMNS, 1 << (self.count - 1).bit_length())

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first column of each chunk; the last chunk ends with the row, or is all of it."""
        last = max(0, self.count - self.chunk)
        return (*range(0, last, self.chunk), last)

    def load(self) -> list[str]:
        """A vector for each column."""
        e, t, chunk = self.e, memory_type(self.prim), self.chunk
        columns: dict[int, str] = {}
        for first in self.firsts:
            parts = [self.row(r * self.pitch + first) for r in range(e.width)]
            vectors = [joined(e.code, t, parts[k::chunk], chunk) for k in range(chunk)]
            columns |= dict(enumerate(transposed(e.code, t, vectors, e.width), first))
        return [columns[k] for k in range(self.count)]

    def row(self, at: int) -> str:
        """The elements of a chunk from this one on; what is behind the last row is not read."""
        last = self.pitch * (self.e.width - 1) + self.count - self.chunk
        t, place = vector(memory_type(self.prim), self.chunk), self.place(min(at, last))
        part = self.e.code.op(f"load {t}, ptr {place}, align {self.prim.bytes}")
        if at <= last:
            return part
        order = (min(lane + at - last, self.chunk - 1) for lane in range(self.chunk))
        return shuffled(self.e.code, memory_type(self.prim), part, "poison", self.chunk, order)

    def store(self, columns: list[str]) -> None:
        """The way back, row by row: what of a chunk is behind its row is overwritten by the next one."""
        e, t, chunk, half = self.e, memory_type(self.prim), self.chunk, self.chunk // 2
        columns += ["poison"] * (chunk - self.count)
        made = [transposed(e.code, t, columns[first : first + chunk], e.width) for first in self.firsts]
        for r in range(e.width):
            for first, chunks in zip(self.firsts, made, strict=True):
                here, at = chunks[r % chunk], r * self.pitch + first
                lanes = r - r % chunk
                if self.count >= chunk or at + chunk <= self.pitch * e.width:
                    self.put(here, lanes, chunk, at)
                else:
                    for k in (0, self.count - half):
                        self.put(here, lanes + k, half, at + k)

    def put(self, x: str, lane: int, count: int, at: int) -> None:
        """Store `count` lanes."""
        t = memory_type(self.prim)
        part = (
            x
            if count == self.e.width
            else shuffled(self.e.code, t, x, "poison", self.e.width, range(lane, lane + count))
        )
        self.e.code.do(f"store {vector(t, count)} {part}, ptr {self.place(at)}, align {self.prim.bytes}")

    def place(self, at: int) -> str:
        return address(self.e, memory_type(self.prim), self.start, str(at))
