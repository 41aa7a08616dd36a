"""The shared rows of a tiled segmap (`tiles.py`): a stage of K elements of each is used while others are copied.

    tile[stage][k][r] = element k of row r              [stages][K][rows + pad]

Elements of 4 and 8 bytes are copied asynchronously: rows of 16 bytes where rows of the tile are neighbours in memory,
all inside and aligned, else one by one. Others go through registers: loaded before a step, stored after it. What is
beyond the last row or element is copied from there; a block whose rows are all inside, and in rows of 16 bytes where
they can be, has a loop of its own, which does not look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ....flatten.tiling.block import Row
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Space
from ..kernel_builder import ONE, ZERO, ArrayRef, Operand, scalar
from .tile_block import ROW_BYTES, THREADS, Result, TileBlock

ASYNCHRONOUS = (4, 8)
"""Bytes of elements that `cp.async` copies."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a row. `place`: the tiled dimension that its rows run over (None: there is one row); `stride`:
    elements from one k to the next. `is_long`: neighbours in memory are elements of a row, not the same element of
    neighbouring rows. `wide`: this many rows at once, if `plain` holds; so does it that all rows are inside. `ahead`:
    registers on the way, where copies are not asynchronous; `starts`: where a thread's plain copies of a step begin."""

    row: Row
    mem: KArray
    place: int | None
    rows: int
    stride: int
    is_long: bool
    wide: int
    plain: Operand | None
    ahead: KArray | None
    starts: KArray | None

    def size(self, depth: int) -> int:
        return depth * self.stride


def is_later(tile: Tile) -> bool:
    """Is it copied asynchronously?"""
    return tile.ahead is None


def shared_tile(block: TileBlock, row: Row, prim: Prim) -> Tile | None:
    """Memory for a row's tile; None for an array that is in no memory itself."""
    b, shape, array = block.b, block.shape, block.b.array(row.array)
    if not isinstance(array, ArrayRef):
        return None
    place = block.place(row)
    rows, stride = (1, 1) if place is None else (shape.edge, shape.stride(prim))
    count, base = shape.stages * shape.depth * stride, f"{row.array.base}_tile"
    mem = KArray(b.fresh(base, prim).name, prim, Space.SHARED)
    b.emit(kir.Alloc(mem, i64(count), ROW_BYTES // prim.bytes))
    is_async = prim.bytes in ASYNCHRONOUS
    ahead = None if is_async else block.registers(f"{row.array.base}_ahead", prim, 1, shape.depth * rows)
    side_by_side = place is not None and _stride_of_rows(block, row, array) == ONE
    wide = ROW_BYTES // prim.bytes if side_by_side and is_async else 1
    plain = _plain(block, row, array, place, wide) if place is not None else None
    each = min(THREADS, shape.depth * rows // wide)
    starts = block.registers(f"{row.array.base}_from", Prim.I64, 1, each) if is_async else None
    return Tile(row, mem, place, rows, stride, not side_by_side, wide, plain, ahead, starts)


def _stride_of_rows(block: TileBlock, row: Row, array: ArrayRef) -> Operand:
    """How far the next row is in memory."""
    names = {name for name, _ in block.found.tiled}
    (stride, *rest) = [array.strides[d] for d, name in row.of.items() if name in names]
    return ZERO if rest else stride


def _plain(block: TileBlock, row: Row, array: ArrayRef, place: int, wide: int) -> Operand:
    """Are all rows of the tile inside, and, where several are one access, does element k of the first begin one, for
    each k?"""
    b, base = block.b, block.bases[place]
    end = b.add(base, i64(block.shape.edge))
    whole = b.op(Op.LE, Prim.I64, end, block.widths[place], base="inside")
    for k in (ZERO, ONE) if wide > 1 else ():  # then it is so for all k
        at = b.address(array, block.element(row, k, base))
        good = b.let("aligned", Prim.BOOL, kir.KAligned(array.mem, at, wide))
        whole = b.op(Op.AND, Prim.BOOL, whole, good, base=f"{row.array.base}_in_rows")
    return whole


# ---- copies ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """Of copies: the first element, and the stage; `whole`: K elements are there; `plain`: so are all rows."""

    first: Operand
    stage: Operand
    whole: bool = True
    plain: bool = False


def begin_copies(block: TileBlock, tile: Tile, step: Step) -> None:
    """The elements of a step begin their way into a stage of the tile."""
    if step.plain and is_later(tile):
        _plain_copies(block, tile, step.stage)
    else:
        _each(block, tile, 1, lambda k, r: _begin(block, tile, step, k, r))


def set_starts(block: TileBlock, tile: Tile, first: Operand) -> None:
    """Plain copies begin with this element of the rows."""
    b = block.b
    assert tile.starts is not None
    with _first_points(block, tile) as (k, r):
        index = ZERO if tile.place is None else b.add(block.bases[tile.place], r)
        at = b.address(_array(block, tile), block.element(tile.row, b.add(first, k), index))
        b.emit(kir.Store(tile.starts, ZERO, at))


def _plain_copies(block: TileBlock, tile: Tile, stage: Operand) -> None:
    """The copies of a step, each as far from the one before it as all are, and on to the next step."""
    b, depth, array = block.b, block.shape.depth, _array(block, tile)
    assert tile.starts is not None
    at = [b.address(array, block.element(tile.row, k, ZERO)) for k in (ZERO, ONE)]
    along, across = b.sub(at[1], at[0]), ZERO if tile.place is None else _stride_of_rows(block, tile.row, array)
    points = tile.rows // tile.wide * depth
    each = min(THREADS, points)
    with _first_points(block, tile) as (k, r):
        start = b.let("start", Prim.I64, kir.KLoad(tile.starts, ZERO))
        for number in range(points // each):
            further = number * each // (depth if tile.is_long else tile.rows // tile.wide)
            place = (k, b.add(r, i64(further))) if tile.is_long else (b.add(k, i64(further)), r)
            source = b.add(start, b.mul(i64(further), across if tile.is_long else along))
            b.emit(kir.AsyncCopy(tile.mem, _at(block, tile, stage, *place), array.mem, source, tile.wide))
        b.emit(kir.Store(tile.starts, ZERO, b.add(start, b.mul(i64(depth), along))))


@contextmanager
def _first_points(block: TileBlock, tile: Tile) -> Iterator[tuple[Operand, Operand]]:
    """threads { .. }: k and the row of the first plain copy of a thread."""
    b, point = block.b, block.b.fresh("point", Prim.I64)
    count = tile.rows // tile.wide
    with b.threads(point, ZERO, i64(min(THREADS, block.shape.depth * count))):
        yield _point(block, tile, tile.wide, point)


def _array(block: TileBlock, tile: Tile) -> ArrayRef:
    array = block.b.array(tile.row.array)
    assert isinstance(array, ArrayRef)
    return array


def end_copies(block: TileBlock, tile: Tile, stage: Operand) -> None:
    """What has come to registers is stored."""
    ahead = tile.ahead
    if ahead is None:
        return
    b = block.b

    def store(k: Operand, r: Operand) -> None:
        x = b.let("x", ahead.prim, kir.KLoad(ahead, ZERO))
        b.emit(kir.Store(tile.mem, _at(block, tile, stage, k, r), x))

    _each(block, tile, 1, store)


def _each(block: TileBlock, tile: Tile, wide: int, body: Callable[[Operand, Operand], None]) -> None:
    """threads { .. } for each k and row, or each of `wide` rows; neighbours in memory go to neighbouring threads."""
    b, point = block.b, block.b.fresh("point", Prim.I64)
    with b.threads(point, ZERO, i64(block.shape.depth * tile.rows // wide)):
        body(*_point(block, tile, wide, point))


def _point(block: TileBlock, tile: Tile, wide: int, point: Operand) -> tuple[Operand, Operand]:
    """k and the row of a point of the tile."""
    b, depth, count = block.b, block.shape.depth, i64(tile.rows // wide)
    if tile.place is None:
        return point, ZERO
    if tile.is_long:
        return b.exact(Op.REM, point, i64(depth), "k"), b.exact(Op.QUOT, point, i64(depth), "r")
    r = b.mul(b.exact(Op.REM, point, count, "r"), i64(wide), "r")
    return b.exact(Op.QUOT, point, count, "k"), r


def _begin(block: TileBlock, tile: Tile, step: Step, k: Operand, r: Operand) -> None:
    b, array, index = block.b, _array(block, tile), ZERO
    number = b.add(step.first, k)
    number = number if step.whole else b.minimum(number, b.sub(block.width, i64(1)))
    if tile.place is not None:
        index = b.add(block.bases[tile.place], r)
        index = index if step.plain else block.last(tile.place, index)
    source = block.element(tile.row, number, index)
    if tile.ahead is None:
        b.emit(kir.AsyncCopy(tile.mem, _at(block, tile, step.stage, k, r), array.mem, b.address(array, source)))
    else:
        b.emit(kir.Store(tile.ahead, ZERO, scalar(b.element(array, source))))


def _at(block: TileBlock, tile: Tile, stage: Operand, k: Operand, r: Operand) -> Operand:
    """The place of an element in the tile."""
    b = block.b
    start = b.add(b.mul(stage, i64(tile.size(block.shape.depth))), b.mul(k, i64(tile.stride)))
    return b.add(start, r)


# ---- use ---------------------------------------------------------------------------------------------------------


def taken(
    block: TileBlock, tile: Tile, at: tuple[Operand, ...], k: Operand, stage: Operand
) -> Callable[[tuple[Result | None, ...]], Operand]:
    """Element k of the thread's rows, read once; gives that of a result."""
    b, place = block.b, tile.place
    if place is None or block.shape.each == 1:
        row = ZERO if place is None else at[place]
        x = b.let(f"{tile.row.array.base}_k", tile.mem.prim, kir.KLoad(tile.mem, _at(block, tile, stage, k, row)))
        return lambda results: x
    mine = b.alloc(f"{tile.row.array.base}_k", tile.mem.prim, (i64(block.shape.each),), Space.PRIVATE)

    def load(one: Result) -> None:
        x = b.let("x", tile.mem.prim, kir.KLoad(tile.mem, _at(block, tile, stage, k, one.row)))
        b.emit(kir.Store(mine.mem, one.number, x))

    block.over(at[place], load)

    def of(results: tuple[Result | None, ...]) -> Operand:
        one = results[place]
        assert one is not None
        return b.let("x", mine.mem.prim, kir.KLoad(mine.mem, one.number))

    return of
