"""The shared rows of a tiled segmap (`tiles.py`): two halves of K elements of each; one is copied, one is used.

    tile[half][k][r] = element k of row r              [2][K][rows + pad]

Elements of 4 and 8 bytes are copied asynchronously: rows of 16 bytes where rows of the tile are neighbours in memory,
all inside and aligned, else one by one. Others go through registers: loaded before a step, stored after it. What is
beyond the last row or element is copied from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....flatten.tiling.block import Row
from ....ir.ops import Op
from ....ir.types import Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Space
from ..kernel_builder import ONE, ZERO, ArrayRef, Operand
from ..space import scalar
from .tile_block import ROW_BYTES, Result, TileBlock

ASYNCHRONOUS = (4, 8)
"""Bytes of elements that `cp.async` copies."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a row. `place`: the tiled dimension that its rows run over (None: there is one row); `stride`:
    elements from one k to the next. `is_long`: neighbours in memory are elements of a row, not the same element of
    neighbouring rows. `wide`: this many rows at once, if `aligned` holds. `ahead`: registers on the way, where copies
    are not asynchronous."""

    row: Row
    mem: KArray
    place: int | None
    rows: int
    stride: int
    is_long: bool
    wide: int
    aligned: Operand | None
    ahead: KArray | None

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
    count, base = 2 * shape.depth * stride, f"{row.array.base}_tile"
    mem = KArray(b.fresh(base, prim).name, prim, Space.SHARED)
    b.emit(kir.Alloc(mem, i64(count), ROW_BYTES // prim.bytes))
    is_async = prim.bytes in ASYNCHRONOUS
    ahead = None if is_async else block.registers(f"{row.array.base}_ahead", prim, 1, shape.depth * rows)
    side_by_side = place is not None and _stride_of_rows(block, row, array) == ONE
    wide = ROW_BYTES // prim.bytes if side_by_side and is_async else 1
    aligned = _aligned(block, row, array, place, wide) if place is not None and wide > 1 else None
    return Tile(row, mem, place, rows, stride, not side_by_side, wide, aligned, ahead)


def _stride_of_rows(block: TileBlock, row: Row, array: ArrayRef) -> Operand:
    """How far the next row is in memory."""
    names = {name for name, _ in block.found.tiled}
    (stride, *rest) = [array.strides[d] for d, name in row.of.items() if name in names]
    return ZERO if rest else stride


def _aligned(block: TileBlock, row: Row, array: ArrayRef, place: int, wide: int) -> Operand:
    """Are all rows of the tile inside, and does element k of the first begin an access, for each k?"""
    b, base = block.b, block.bases[place]
    end = b.add(base, i64(block.shape.edge))
    whole = b.op(Op.LE, Prim.I64, end, block.widths[place])
    for k in (ZERO, ONE):  # then it is so for all k
        at = b.address(array, block.element(row, k, base))
        good = b.let("aligned", Prim.BOOL, kir.KAligned(array.mem, at, wide))
        whole = b.op(Op.AND, Prim.BOOL, whole, good, base=f"{row.array.base}_in_rows")
    return whole


# ---- copies ------------------------------------------------------------------------------------------------------


def begin_copies(block: TileBlock, tile: Tile, first: Operand, half: Operand) -> None:
    """Elements from `first` on begin their way into a half of the tile."""
    b = block.b
    if tile.aligned is None:
        _each(block, tile, 1, lambda k, r: _begin(block, tile, 1, first, half, k, r))
        return
    branches: list[tuple[kir.KStm, ...]] = []
    for wide in (tile.wide, 1):
        with b.nested() as stms:
            _each(block, tile, wide, lambda k, r, wide=wide: _begin(block, tile, wide, first, half, k, r))
        branches.append(tuple(stms))
    b.emit(kir.KIf(tile.aligned, *branches))


def end_copies(block: TileBlock, tile: Tile, half: Operand) -> None:
    """What has come to registers is stored."""
    ahead = tile.ahead
    if ahead is None:
        return
    b = block.b

    def store(k: Operand, r: Operand) -> None:
        x = b.let("x", ahead.prim, kir.KLoad(ahead, ZERO))
        b.emit(kir.Store(tile.mem, _at(block, tile, half, k, r), x))

    _each(block, tile, 1, store)


def _each(block: TileBlock, tile: Tile, wide: int, body: Callable[[Operand, Operand], None]) -> None:
    """threads { .. } for each k and row, or each of `wide` rows; neighbours in memory go to neighbouring threads."""
    b, depth = block.b, block.shape.depth
    point = b.fresh("point", Prim.I64)
    with b.nested() as stms:
        if tile.place is None:
            body(point, ZERO)
        elif tile.is_long:
            body(b.exact(Op.REM, point, i64(depth), "k"), b.exact(Op.QUOT, point, i64(depth), "r"))
        else:
            count = i64(tile.rows // wide)
            r = b.mul(b.exact(Op.REM, point, count, "r"), i64(wide), "r")
            body(b.exact(Op.QUOT, point, count, "k"), r)
    b.emit(kir.Threads(point, ZERO, i64(depth * tile.rows // wide), tuple(stms)))


def _begin(block: TileBlock, tile: Tile, wide: int, first: Operand, half: Operand, k: Operand, r: Operand) -> None:
    b, array = block.b, block.b.array(tile.row.array)
    assert isinstance(array, ArrayRef)
    number = b.minimum(b.add(first, k), b.sub(block.width, i64(1)))
    index: Operand = ZERO
    if tile.place is not None:
        index = b.add(block.bases[tile.place], r)
        index = index if wide > 1 else block.last(tile.place, index)
    source = block.element(tile.row, number, index)
    if tile.ahead is None:
        b.emit(kir.AsyncCopy(tile.mem, _at(block, tile, half, k, r), array.mem, b.address(array, source), wide))
    else:
        b.emit(kir.Store(tile.ahead, ZERO, scalar(b.element(array, source))))


def _at(block: TileBlock, tile: Tile, half: Operand, k: Operand, r: Operand) -> Operand:
    """The place of an element in the tile."""
    b = block.b
    start = b.add(b.mul(half, i64(tile.size(block.shape.depth))), b.mul(k, i64(tile.stride)))
    return b.add(start, r)


# ---- use ---------------------------------------------------------------------------------------------------------


def taken(
    block: TileBlock, tile: Tile, at: tuple[Operand, ...], k: Operand, half: Operand
) -> Callable[[tuple[Result | None, ...]], Operand]:
    """Element k of the thread's rows, read once; gives that of a result."""
    b, place = block.b, tile.place
    if place is None or block.shape.each == 1:
        row = ZERO if place is None else at[place]
        x = b.let(f"{tile.row.array.base}_k", tile.mem.prim, kir.KLoad(tile.mem, _at(block, tile, half, k, row)))
        return lambda results: x
    mine = b.alloc(f"{tile.row.array.base}_k", tile.mem.prim, (i64(block.shape.each),), Space.PRIVATE)

    def load(one: Result) -> None:
        x = b.let("x", tile.mem.prim, kir.KLoad(tile.mem, _at(block, tile, half, k, one.row)))
        b.emit(kir.Store(mine.mem, one.number, x))

    block.over(at[place], load)

    def of(results: tuple[Result | None, ...]) -> Operand:
        one = results[place]
        assert one is not None
        return b.let("x", mine.mem.prim, kir.KLoad(mine.mem, one.number))

    return of
