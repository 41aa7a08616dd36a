"""Copies between strided arrays as kernels for lanes.

    copy        to[.., r, c] = from[.., r, c]      row by row, a vector at a time where the rows lie so
    transpose   the same, where `from` is contiguous in r and `to` in c
    tiles_n     the same, by tiles of n x n elements
    points_w    the same, where one of them is contiguous in c, and the other has steps of w elements

Of the outer dimensions, innermost first, `axes` holds size and strides of target and source.

A transposition goes in tiles, a few lines of the cache that stay there, whichever of them fall into the same set, as
columns of a matrix whose sides are powers of two do; of whole lines where these are written past the caches. The last
tiles of a side reach back over those before.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir.ops import Op
from ....ir.types import Prim, i64
from ...host_ir.copy_sizes import BAND, CHUNK, DOWN, LINE, ROWS
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import FAR, KArray, Kernel, KLoad, KStm, LaneShape, Operand, Space
from ..bulk import WORDS, Maker, iota, numbers
from ..kernel_builder import ZERO

COLUMNS, TO_COLUMN, FROM_COLUMN, SIZE, TO_ROW, FROM_ROW, OUTER = numbers(
    "columns", "to_column", "from_column", "rows", "to_row", "from_row", "outer"
)
SCALARS = (COLUMNS, TO_COLUMN, FROM_COLUMN, SIZE, TO_ROW, FROM_ROW, OUTER, FAR)
AXES = KArray("axes", Prim.I64, Space.GLOBAL)


def bulk_kernel(name: str) -> Kernel:
    """`KIND_BYTES` with its lanes; KIND may be `iota`, too."""
    kind, _, size = name.rpartition("_")
    prim = next(word for word in WORDS if word.bytes == int(size))
    several, one = (LaneShape(side(prim), unroll, True) for unroll in (4, 1))
    match kind.split("_"):
        case ["copy"]:
            return replace(copy(prim), lanes=several)
        case ["iota"]:
            return replace(iota(prim, CHUNK // prim.bytes), lanes=several)
        case ["points", width]:
            return replace(points(prim, int(width)), lanes=one)
        case ["tiles", n]:
            return replace(transpose(prim, f"tiles_{n}", int(n)), lanes=LaneShape(int(n), 1, True))
        case _:
            return replace(transpose(prim, "transpose", side(prim)), lanes=one)


def side(prim: Prim) -> int:
    """Elements of a line."""
    return LINE // prim.bytes


def copy(prim: Prim) -> Kernel:
    """A block for `ROWS` rows, or a piece of `CHUNK` bytes of each; the target may be written past the caches
    (`far`)."""
    m = Maker(prim)
    b = m.b
    number, lo, hi = m.piece(b.block, COLUMNS, CHUNK // prim.bytes)
    number, first, last = m.piece(number, SIZE, ROWS)
    to_plane, from_plane = plane(m, number)
    with b.loop(b.fresh("row", Prim.I64), b.sub(last, first)) as row:
        r = b.add(first, row)
        copy_row(m, b.add(to_plane, b.mul(r, TO_ROW)), b.add(from_plane, b.mul(r, FROM_ROW)), lo, hi)
    return replace(m.kernel("copy", (m.to, m.source, AXES), SCALARS), streams=(m.to,))


def points(prim: Prim, width: int) -> Kernel:
    """A block for `ROWS` rows and `CHUNK` bytes of each: of all elements of points, or of one."""
    m = Maker(prim)
    b = m.b
    number, lo, hi = m.piece(b.block, COLUMNS, CHUNK // prim.bytes)
    number, first, last = m.piece(number, SIZE, ROWS)
    to, source = plane(m, number)
    with b.nested() as whole:
        apart(m, to, source, lo, hi, width)
    with b.nested() as rows, b.loop(b.fresh("row", Prim.I64), b.sub(last, first)) as row:
        r = b.add(first, row)
        one_of_each(m, b.add(to, b.mul(r, TO_ROW)), b.add(source, b.mul(r, FROM_ROW)), lo, hi, width)
    with b.when(is_step(m, FROM_COLUMN, width)):
        all_rows = b.op(Op.AND, Prim.BOOL, is_step(m, SIZE, width), is_step(m, FROM_ROW, 1))
        b.emit(kir.KIf(all_rows, tuple(whole), tuple(rows)))
    with b.when(is_step(m, TO_COLUMN, width)):
        together(m, to, source, lo, hi, width)
    return m.kernel(f"points_{width}", (m.to, m.source, AXES), SCALARS)


def apart(m: Maker, to: Operand, source: Operand, lo: Operand, hi: Operand, width: int) -> None:
    """Points of `width` elements into as many rows."""
    b, j = m.b, m.b.fresh("j", Prim.I64)
    elements = tuple(b.fresh("x", m.prim) for _ in range(width))
    with b.threads(j, lo, hi):
        b.emit(kir.LoadRow(elements, m.source, b.add(source, b.mul(j, i64(width)))))
        for k, x in enumerate(elements):
            b.emit(kir.Store(m.to, b.add(b.add(to, b.mul(i64(k), TO_ROW)), j), x))


def one_of_each(m: Maker, to: Operand, source: Operand, lo: Operand, hi: Operand, width: int) -> None:
    """One element of each point of `width` into a row."""
    b, j = m.b, m.b.fresh("j", Prim.I64)
    x = b.fresh("x", m.prim)
    with b.threads(j, lo, hi):
        b.emit(kir.LoadRow((x,), m.source, b.add(source, b.mul(j, i64(width)))))
        b.emit(kir.Store(m.to, b.add(to, j), x))


def together(m: Maker, to: Operand, source: Operand, lo: Operand, hi: Operand, width: int) -> None:
    """`width` rows into points."""
    b, j = m.b, m.b.fresh("j", Prim.I64)
    with b.threads(j, lo, hi):
        places = [b.add(b.add(source, b.mul(i64(k), FROM_ROW)), j) for k in range(width)]
        elements = tuple(b.let("x", m.prim, KLoad(m.source, place)) for place in places)
        b.emit(kir.StoreRow(m.to, b.add(to, b.mul(j, i64(width))), elements))


def transpose(prim: Prim, name: str, n: int) -> Kernel:
    """A block for `BAND` columns and `DOWN` bytes of the source's rows, by tiles of n x n elements, whole lines if they
    can be; both sides have n at least."""
    m = Maker(prim)
    b = m.b
    number, top, bottom = m.piece(b.block, SIZE, DOWN // prim.bytes)
    number, left, right = m.piece(number, COLUMNS, BAND)
    to_plane, from_plane = plane(m, number)
    with b.loop(b.fresh("down", Prim.I64), m.parts(b.sub(bottom, top), n)) as down:
        r = b.minimum(b.add(top, b.mul(down, i64(n))), b.sub(SIZE, i64(n)))
        source, to = b.add(from_plane, r), b.add(to_plane, b.mul(r, TO_ROW))
        with b.loop(b.fresh("across", Prim.I64), m.parts(b.sub(right, left), n)) as across:
            c = b.minimum(b.add(left, b.mul(across, i64(n))), b.sub(COLUMNS, i64(n)))
            transpose_tile(m, b.add(to, c), b.add(source, b.mul(c, FROM_COLUMN)), n)
    return replace(m.kernel(name, (m.to, m.source, AXES), SCALARS), streams=(m.to,))


def transpose_tile(m: Maker, to: Operand, source: Operand, n: int) -> None:
    """n x n elements by registers: lane c takes n neighbours of column c, and stores an element of each row."""
    b, tile = m.b, KArray("tile", m.prim, Space.PRIVATE)
    with b.threads(b.fresh("column", Prim.I64), ZERO, i64(n)) as column:
        b.emit(kir.Alloc(tile, i64(n)))
        b.emit(kir.LoadTile(tile, m.source, source, column, FROM_COLUMN, i64(n)))
        with b.loop(b.fresh("k", Prim.I64), i64(n)) as k:
            x = b.let("x", m.prim, KLoad(tile, k))
            b.emit(kir.Store(m.to, b.add(b.add(to, b.mul(k, TO_ROW)), column), x))


def plane(m: Maker, number: Operand) -> tuple[Operand, Operand]:
    """Where plane `number` of the outer dimensions begins in target and source."""
    b = m.b
    rest, to, source = (b.declare(*one) for one in (("rest", number), ("to", ZERO), ("from", ZERO)))
    with b.loop(b.fresh("axis", Prim.I64), OUTER) as axis:
        first = b.mul(axis, i64(3))
        size, to_step, from_step = (b.let("n", Prim.I64, KLoad(AXES, b.add(first, i64(k)))) for k in range(3))
        outer, index = m.divided(b.copy(rest), size)
        b.emit(kir.Assign(to, b.add(to, b.mul(index, to_step))))
        b.emit(kir.Assign(source, b.add(source, b.mul(index, from_step))))
        b.emit(kir.Assign(rest, outer))
    return b.copy(to), b.copy(source)


def copy_row(m: Maker, to: Operand, source: Operand, lo: Operand, hi: Operand) -> None:
    """Part of a row: a vector at a time where both are contiguous, forwards or backwards, or one value is repeated."""
    b = m.b

    def over_threads(from_step: Operand) -> tuple[KStm, ...]:
        with b.nested() as body, b.threads(b.fresh("j", Prim.I64), lo, hi) as j:
            m.moved(b.add(to, j), b.add(source, b.mul(j, from_step)))
        return tuple(body)

    def one_by_one() -> tuple[KStm, ...]:
        with b.nested() as body, b.loop(b.fresh("k", Prim.I64), b.sub(hi, lo)) as k:
            j = b.add(lo, k)
            m.moved(b.add(to, b.mul(j, TO_COLUMN)), b.add(source, b.mul(j, FROM_COLUMN)))
        return tuple(body)

    dense = one_by_one()
    for step in (-1, 0, 1):
        with b.nested() as tested:
            b.emit(kir.KIf(is_step(m, FROM_COLUMN, step), over_threads(i64(step)), dense))
        dense = tuple(tested)
    b.emit(kir.KIf(is_step(m, TO_COLUMN, 1), dense, one_by_one()))


def is_step(m: Maker, step: Operand, value: int) -> Operand:
    """bool: is a step, counted in elements, this one?"""
    return m.b.op(Op.EQ, Prim.I64, step, i64(value))
