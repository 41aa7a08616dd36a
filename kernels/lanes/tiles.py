"""Rows of a matrix between memory and the lanes, transposed in registers.

    tile[k] of lane l  =  array[start + (first + l)*pitch + k]          k < count <= T

Rows l, l + T, l + 2T, .. are loaded into one vector each, T of them; log2 T steps of a butterfly, in which vectors r
and r + s swap the halves of their blocks of 2s lanes, make columns of these rows. Fewer columns take fewer steps. Rows
of up to three elements that lie side by side are whole vectors, and one shuffle of all of them for a column. Storing
goes the same way back. Where lanes are off, the row of one that is on is read in their place, and none is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ...ir.records import dataclass
from ...ir.types import Const, Prim
from ..kernel_ir.nodes import COLUMNS, LoadTile, StoreTile
from ..llvm.text import Code, memory_type, vector
from .memory import address
from .values import Lanes, Linear, operand, scalar, splat, steps

DENSE = 3
"""The longest rows of which whole vectors are loaded."""
AHEAD = 1 << 13
"""Bytes ahead of which rows are fetched."""
LONG = 256
"""Elements of a row from which on the next columns are fetched, not the next rows."""


def move_tile(e: Lanes, stm: LoadTile | StoreTile) -> None:
    """Rows of a matrix into an array of each lane, or, into `count` columns of each row, the way back: transposed in
    registers by a function of the module."""
    way = ("load", _load, _load_dense) if isinstance(stm, LoadTile) else ("store", _store, _store_dense)
    rows, element, place = _rows(e, stm), memory_type(stm.tile.prim), e.places[stm.tile]
    name = _helper(e, stm, *way)
    for group in range(e.unroll):
        skipped = e.code.op(f"mul i64 {rows.pitch}, {group * e.width}")
        first = e.code.op(f"add i64 {rows.first}, {skipped}")
        source, tile = address(e, element, rows.array, first), address(e, element, place.pointer, str(group * e.width))
        sizes = ("i64", rows.pitch), ("i64", rows.count), ("ptr", tile), ("i64", str(e.lanes))
        on = () if e.mask is None else (("ptr", _rows_on(e, e.mask[group])),)
        e.code.call_void(name, (("ptr", source), *sizes, *on))


def _rows_on(e: Lanes, mask: str) -> str:
    """An array of the numbers of rows: where a lane is off, the first row whose lane is on."""
    t, flags, bits = e.vec.raw("i64"), e.vec.raw("i1"), f"i{e.width}"
    e.code.module.declare(f"llvm.cttz.{bits}", bits, (bits, "i1"))
    word = e.code.op(f"bitcast {flags} {mask} to {bits}")
    first = e.code.call(f"llvm.cttz.{bits}", bits, ((bits, word), ("i1", "false")))
    others = splat(e, Prim.I64, e.code.op(f"zext {bits} {first} to i64"))
    slot = e.code.slot(t)
    numbers = e.code.op(f"select {flags} {mask}, {t} {steps(Prim.I64, 0, 1, e.width)}, {t} {others}")
    e.code.do(f"store {t} {numbers}, ptr {slot}")
    return slot


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of the lanes, as text: those of lane 0 begin at `first` elements behind `array`, and have `count`."""

    array: str
    first: str
    pitch: str
    count: str


def _rows(e: Lanes, stm: LoadTile | StoreTile) -> _Rows:
    start, pitch, count = (scalar(e, operand(e, x)) for x in (stm.start, stm.pitch, stm.count))
    row, element = operand(e, stm.row), memory_type(stm.tile.prim)
    assert isinstance(row, Linear), "a row to a lane"
    first = e.code.op(f"mul i64 {row.base}, {pitch}")
    return _Rows(address(e, element, e.places[stm.array].pointer, start), first, pitch, count)


# ---- functions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tile:
    """The function of (first row %0, pitch %1, count %2, tile %3, lanes %4) that moves a tile of `width` rows. If these
    are `some` rows, their numbers are at %5, where a row that is left out has another one's."""

    code: Code
    element: str
    bytes: int
    width: int
    columns: int
    some: bool

    @property
    def half(self) -> int:
        """Columns that are moved at once: a transposition of all would need more registers than there are."""
        return self.columns // 2

    def at(self, pointer: str, index: str) -> str:
        return self.code.op(f"getelementptr {self.element}, ptr {pointer}, i64 {index}")

    def row(self, first: str, number: int) -> str:
        """Address of a row, from its column `first` on."""
        taken = self.taken(number) if self.some else str(number)
        return self.at(self.at("%0", first), self.code.op(f"mul i64 %1, {taken}"))

    def taken(self, number: int) -> str:
        return self.code.op(f"load i64, ptr {self.code.op(f'getelementptr i64, ptr %5, i64 {number}')}")

    def column(self, first: str, number: int) -> str:
        """Address of column number `first + number` of the tile."""
        k = self.code.op(f"add i64 {first}, {number}")
        return self.at("%3", self.code.op(f"mul i64 %4, {k}"))

    def load(self, width: int, pointer: str) -> str:
        return self.code.op(f"load {vector(self.element, width)}, ptr {pointer}, align {self.bytes}")

    def store(self, width: int, value: str, pointer: str) -> None:
        self.code.do(f"store {vector(self.element, width)} {value}, ptr {pointer}, align {self.bytes}")


Move = Callable[[_Tile, int, str], None]
"""Moves a number of columns, from the one given on."""
Dense = Callable[[_Tile, int], None]
"""Moves all of a number of columns, whose rows lie side by side."""


def _helper(e: Lanes, stm: LoadTile | StoreTile, way: str, move: Move, dense: Dense) -> str:
    """The function that moves a tile one way; one for itself where the number of columns is constant."""
    prim, element = stm.tile.prim, memory_type(stm.tile.prim)
    some = e.mask is not None
    columns = int(stm.count.value) if isinstance(stm.count, Const) and not some else None
    name = f"soac.tile.{way}.{element}.{e.width}" + (f".{columns}" if columns else "") + (".some" if some else "")

    def write(code: Code) -> str:
        tile = _Tile(code, element, prim.bytes, e.width, columns or min(e.width, COLUMNS), some)
        if columns:
            _whole(tile, move)
            return ""
        code.branch(code.op(f"icmp eq i64 %2, {tile.columns}"), "whole", "fewer")
        code.label("whole")
        _whole(tile, move)
        code.jump("moved")
        code.label("fewer")
        if not some:
            code.branch(code.op("icmp eq i64 %1, %2"), "dense", "apart")
            code.label("dense")
            _dense_cases(tile, dense)
            code.label("apart")
        _fetch(tile)
        _cover(tile, move)
        code.label("moved")
        return ""

    params = ("ptr noalias", "i64", "i64", "ptr noalias", "i64", *(("ptr",) if some else ()))
    e.code.module.function(name, "void", params, write)
    return name


def _whole(tile: _Tile, move: Move) -> None:
    _fetch(tile)
    for first in range(0, tile.columns, tile.half):
        move(tile, tile.half, str(first))


def _dense_cases(tile: _Tile, dense: Dense) -> None:
    code, widths = tile.code, range(1, min(DENSE, tile.columns - 1) + 1)
    cases = " ".join(f"i64 {width}, label %dense{width}" for width in widths)
    code.do(f"switch i64 %2, label %apart [{cases}]")
    for width in widths:
        code.label(f"dense{width}")
        dense(tile, width)
        code.jump("moved")


def _fetch(tile: _Tile) -> None:
    """Ask for what comes next: the rows of the next group, at least AHEAD bytes from here, or the next columns of long
    rows; of some rows nothing comes. Rows side by side are more streams than a processor follows by itself."""
    if tile.some:
        return
    code = tile.code
    code.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
    group = code.op("mul i64 %1, %4")
    is_far = code.op(f"icmp ugt i64 {group}, {AHEAD // tile.bytes}")
    rows = code.op(f"select i1 {is_far}, i64 {group}, i64 {AHEAD // tile.bytes}")
    is_short = code.op(f"icmp ult i64 %1, {LONG}")
    ahead = code.op(f"select i1 {is_short}, i64 {rows}, i64 {2 * tile.columns}")
    for r in range(tile.width):
        keep = (("i32", "0"), ("i32", "3"), ("i32", "1"))
        code.call_void("llvm.prefetch.p0", (("ptr", tile.row(ahead, r)), *keep))


def _cover(tile: _Tile, move: Move) -> None:
    """Another number of columns than a tile has: by the largest power of two of them that is moved at once, the last
    of which end with them. Some may be moved twice. (A masked load that misses the cache was measured to take four
    times as long as two plain ones.)"""
    code, size = tile.code, tile.half
    while size:
        begin, again, smaller = (f"{word}{size}" for word in ("begin", "again", "smaller"))
        if size > 1:
            code.branch(code.op(f"icmp uge i64 %2, {size}"), begin, smaller)
        else:
            code.jump(begin)
        code.label(begin)
        end, slot = code.op(f"sub i64 %2, {size}"), code.slot("i64", 8)
        code.do(f"store i64 0, ptr {slot}")
        code.jump(again)
        code.label(again)
        first = code.op(f"load i64, ptr {slot}")
        move(tile, size, first)
        following = code.op(f"add i64 {first}, {size}")
        is_last = code.op(f"icmp uge i64 {following}, {end}")
        code.do(f"store i64 {code.op(f'select i1 {is_last}, i64 {end}, i64 {following}')}, ptr {slot}")
        code.branch(code.op(f"icmp eq i64 {first}, {end}"), "moved", again)
        if size > 1:
            code.label(smaller)
        size //= 2


def _load(tile: _Tile, columns: int, first: str) -> None:
    def row(k: int) -> str:
        """Rows k, k + columns, .. side by side."""
        parts = [tile.load(columns, tile.row(first, r)) for r in range(k, tile.width, columns)]
        return joined(tile.code, tile.element, parts, columns)

    for k, column in enumerate(transposed(tile.code, tile.element, [row(k) for k in range(columns)], tile.width)):
        tile.store(tile.width, column, tile.column(first, k))


def _store(tile: _Tile, columns: int, first: str) -> None:
    made = [tile.load(tile.width, tile.column(first, k)) for k in range(columns)]
    for k, rows in enumerate(transposed(tile.code, tile.element, made, tile.width)):
        for r in range(k, tile.width, columns):
            part = rows
            if columns < tile.width:
                part = shuffled(tile.code, tile.element, rows, "poison", tile.width, range(r - k, r - k + columns))
            with _where_taken(tile, r):
                tile.store(columns, part, tile.row(first, r))


@contextmanager
def _where_taken(tile: _Tile, number: int) -> Iterator[None]:
    """Code that runs unless a row is left out."""
    if not tile.some:
        yield
        return
    on, off = tile.code.fresh("on"), tile.code.fresh("off")
    tile.code.branch(tile.code.op(f"icmp eq i64 {tile.taken(number)}, {number}"), on, off)
    tile.code.label(on)
    yield
    tile.code.jump(off)
    tile.code.label(off)


def shuffled(code: Code, element: str, x: str, y: str, width: int, lanes: Iterable[int]) -> str:
    """Lanes of x (from 0) and y (from `width`)."""
    return code.shuffle(vector(element, width), x, y, lanes)


def joined(code: Code, element: str, parts: list[str], width: int) -> str:
    """Vectors of that width side by side as one."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffled(code, element, x, y, width, range(2 * width)) for x, y in pairs]
        width *= 2
    return parts[0]


def transposed(code: Code, element: str, rows: list[str], width: int, each: int = 1) -> list[str]:
    """n vectors of blocks of n elements: element r of block b of vector k becomes element k of block b of vector r. An
    element is `each` lanes."""
    rows, step = list(rows), 1
    while step < len(rows):
        lanes, far = range(width), step * each
        for r in range(len(rows)):
            if r & step:
                continue
            x, y = rows[r], rows[r + step]
            low = [width + lane - far if lane & far else lane for lane in lanes]
            high = [width + lane if lane & far else lane + far for lane in lanes]
            rows[r], rows[r + step] = (shuffled(code, element, x, y, width, pick) for pick in (low, high))
        step *= 2
    return rows


def _load_dense(tile: _Tile, columns: int) -> None:
    """Column k is every `columns`-th element."""
    count = columns * tile.width
    rows = tile.load(count, "%0")
    for k in range(columns):
        tile.store(
            tile.width,
            shuffled(tile.code, tile.element, rows, "poison", count, range(k, count, columns)),
            tile.column("0", k),
        )


def _store_dense(tile: _Tile, columns: int) -> None:
    made = [tile.load(tile.width, tile.column("0", k)) for k in range(columns)]
    made += ["poison"] * (columns == 3)
    picks = (i % columns * tile.width + i // columns for i in range(columns * tile.width))
    rows = shuffled(
        tile.code,
        tile.element,
        joined(tile.code, tile.element, made, tile.width),
        "poison",
        len(made) * tile.width,
        picks,
    )
    tile.store(columns * tile.width, rows, "%0")
