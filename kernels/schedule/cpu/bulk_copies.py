"""Bulk operations of the host as kernels for lanes: copies between strided arrays, and iota.

    copy        to[.., r, c] = from[.., r, c]      row by row, a vector at a time where the rows lie so
    transpose   the same, where `from` is contiguous in r and `to` in c
    iota        to[i] = start + i * step, modulo the width of an element

Elements are words of their width. Strides count elements, and may be negative, or 0 in `from`, which repeats. Of the
outer dimensions, innermost first, `axes` holds size and strides of target and source.

A transposition goes in tiles of whole lines of the cache, so that it does not matter which of them fall into the same
set, as columns of a matrix whose sides are powers of two do. The last tiles of a side reach back over those before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....ir.core import Level
from ....ir.ops import Op
from ....ir.types import Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import FAR, KArray, Kernel, KLoad, KStm, KVar, LaneShape, Operand, Space
from ..kernel_builder import ONE, ZERO, Builder, HostScope, InnerSchedules
from ..soacs import gen_soac
from ..statements import view_of

WORDS = (Prim.U8, Prim.U16, Prim.U32, Prim.U64)
LINE = 64
"""Bytes of a line of the cache: of the lanes, and of a side of a tile."""
CHUNK = 1 << 16
"""Bytes of a row that are a block's."""
ROWS = 16
"""Rows of a block: what it reads against the grain, its next rows find in the cache."""
BAND = 128
"""Columns that a block transposes: each is a row of the source, in a page of its own."""
DOWN = 1 << 9
"""Bytes of a row of the source that a block transposes."""

COLUMNS, TO_COLUMN, FROM_COLUMN, SIZE, TO_ROW, FROM_ROW, OUTER, COUNT, START, STEP = (
    KVar(name, Prim.I64)
    for name in (
        "columns", "to_column", "from_column", "rows", "to_row", "from_row", "outer", "count", "start", "step",
    )
)  # fmt: skip
COPIED = (COLUMNS, TO_COLUMN, FROM_COLUMN, SIZE, TO_ROW, FROM_ROW, OUTER, FAR)
AXES = KArray("axes", Prim.I64, Space.GLOBAL)


def bulk_kernels() -> tuple[Kernel, ...]:
    return tuple(make(prim) for make in (copy, transpose, iota) for prim in WORDS)


def side(prim: Prim) -> int:
    """Elements of a line."""
    return LINE // prim.bytes


def copy(prim: Prim) -> Kernel:
    m = Maker(prim)
    b = m.b
    number, lo, hi = m.piece(b.block, COLUMNS, CHUNK // prim.bytes)
    plane, first, last = m.piece(number, SIZE, ROWS)
    to_plane, from_plane = m.plane(plane)
    row = b.fresh("row", Prim.I64)
    with b.nested() as body:
        r = b.add(first, row)
        to, source = b.add(to_plane, b.mul(r, TO_ROW)), b.add(from_plane, b.mul(r, FROM_ROW))
        m.row(to, source, lo, hi)
    b.emit(kir.For(row, b.sub(last, first), tuple(body)))
    return m.kernel("copy", (m.to, m.source, AXES), COPIED, unroll=4)


def transpose(prim: Prim) -> Kernel:
    m, n = Maker(prim), side(prim)
    b = m.b
    number, top, bottom = m.piece(b.block, SIZE, DOWN // prim.bytes)
    plane, left, right = m.piece(number, COLUMNS, BAND)
    to_plane, from_plane = m.plane(plane)
    down, across, column, k = (b.fresh(name, Prim.I64) for name in ("down", "across", "column", "k"))
    tile = KArray("tile", prim, Space.PRIVATE)
    with b.nested() as below:
        r = b.minimum(b.add(top, b.mul(down, i64(n))), b.sub(SIZE, i64(n)))
        source, to = b.add(from_plane, r), b.add(to_plane, b.mul(r, TO_ROW))
        with b.nested() as beside:
            c = b.minimum(b.add(left, b.mul(across, i64(n))), b.sub(COLUMNS, i64(n)))
            first, at = b.add(source, b.mul(c, FROM_COLUMN)), b.add(to, c)
            with b.nested() as threads:
                b.emit(kir.Alloc(tile, i64(n)))
                b.emit(kir.LoadTile(tile, m.source, first, column, FROM_COLUMN, i64(n)))
                with b.nested() as line:
                    x = b.let("x", prim, KLoad(tile, k))
                    b.emit(kir.Store(m.to, b.add(b.add(at, b.mul(k, TO_ROW)), column), x))
                b.emit(kir.For(k, i64(n), tuple(line)))
            b.emit(kir.Threads(column, ZERO, i64(n), tuple(threads)))
        b.emit(kir.For(across, m.parts(b.sub(right, left), n), tuple(beside)))
    b.emit(kir.For(down, m.parts(b.sub(bottom, top), n), tuple(below)))
    return m.kernel("transpose", (m.to, m.source, AXES), COPIED, unroll=1)


def iota(prim: Prim) -> Kernel:
    m = Maker(prim)
    b, i = m.b, m.b.fresh("i", Prim.I64)
    _, lo, hi = m.piece(b.block, COUNT, CHUNK // prim.bytes)
    with b.nested() as body:
        value = b.wrapping(Op.ADD, START, b.wrapping(Op.MUL, i, STEP))
        b.emit(kir.Store(m.to, i, b.let("x", prim, kir.KConvert(Prim.I64, prim, value))))
    b.emit(kir.Threads(i, lo, hi, tuple(body)))
    return m.kernel("iota", (m.to,), (COUNT, START, STEP), unroll=4)


def builder() -> Builder:
    """Of a kernel that sees nothing of a program."""
    return Builder(HostScope({}, {}, {}, {}), view_of, InnerSchedules(gen_soac, None))


@dataclass(frozen=True, slots=True)
class Maker:
    """A kernel of words under construction."""

    prim: Prim
    b: Builder = field(default_factory=builder)

    @property
    def to(self) -> KArray:
        return KArray("to", self.prim, Space.GLOBAL)

    @property
    def source(self) -> KArray:
        return KArray("from", self.prim, Space.GLOBAL)

    def kernel(self, name: str, arrays: tuple[KArray, ...], scalars: tuple[KVar, ...], unroll: int) -> Kernel:
        lanes = LaneShape(side(self.prim), unroll, True, True)
        streams = (self.to,) if FAR in scalars else ()
        body = tuple(self.b.stms)
        return Kernel(f"{name}_{self.prim.bytes}", self.b.block, arrays, scalars, body, (), Level.BLOCK, lanes, streams)

    def parts(self, size: Operand, length: int) -> Operand:
        b = self.b
        return b.exact(Op.QUOT, b.add(size, i64(length - 1)), i64(length), "parts")

    def piece(self, number: Operand, size: Operand, length: int) -> tuple[Operand, Operand, Operand]:
        """A number as that of a piece of `size`, which is cut in pieces of `length`: what numbers the rest, first index
        and end of the piece."""
        b, parts = self.b, self.parts(size, length)
        rest = b.exact(Op.QUOT, number, parts, "rest")
        lo = b.mul(b.sub(number, b.mul(rest, parts)), i64(length))
        return rest, lo, b.minimum(size, b.add(lo, i64(length)))

    def plane(self, number: Operand) -> tuple[Operand, Operand]:
        """Where plane `number` of the outer dimensions begins in target and source."""
        b = self.b
        rest, to, source = (b.fresh(name, Prim.I64) for name in ("rest", "to", "from"))
        for var, init in ((rest, number), (to, ZERO), (source, ZERO)):
            b.emit(kir.Declare(var, init))
        axis = b.fresh("axis", Prim.I64)
        with b.nested() as body:
            size, to_step, from_step = (
                b.let(name, Prim.I64, KLoad(AXES, b.add(b.mul(axis, i64(3)), i64(k))))
                for k, name in enumerate(("size", "to_step", "from_step"))
            )
            before = b.copy(rest)
            outer = b.exact(Op.QUOT, before, size, "outer")
            index = b.sub(before, b.mul(outer, size))
            b.emit(kir.Assign(to, b.add(to, b.mul(index, to_step))))
            b.emit(kir.Assign(source, b.add(source, b.mul(index, from_step))))
            b.emit(kir.Assign(rest, outer))
        b.emit(kir.For(axis, OUTER, tuple(body)))
        return b.copy(to), b.copy(source)

    def row(self, to: Operand, source: Operand, lo: Operand, hi: Operand) -> None:
        """Part of a row: a vector at a time where both are contiguous, or one value is repeated."""
        b, j = self.b, self.b.fresh("j", Prim.I64)

        def moved(index: Operand, to_step: Operand, from_step: Operand) -> None:
            x = b.let("x", self.prim, KLoad(self.source, b.add(source, b.mul(index, from_step))))
            b.emit(kir.Store(self.to, b.add(to, b.mul(index, to_step)), x))

        def over_threads(from_step: Operand) -> tuple[KStm, ...]:
            with b.nested() as body:
                moved(j, ONE, from_step)
            return (kir.Threads(j, lo, hi, tuple(body)),)

        k = b.fresh("k", Prim.I64)
        with b.nested() as one_by_one:
            moved(b.add(lo, k), TO_COLUMN, FROM_COLUMN)
        with b.nested() as slow:
            b.emit(kir.For(k, b.sub(hi, lo), tuple(one_by_one)))
        with b.nested() as other:
            repeated = self.both(TO_COLUMN, 1, FROM_COLUMN, 0)
            b.emit(kir.KIf(repeated, over_threads(ZERO), tuple(slow)))
        b.emit(kir.KIf(self.both(TO_COLUMN, 1, FROM_COLUMN, 1), over_threads(ONE), tuple(other)))

    def both(self, x: Operand, m: int, y: Operand, n: int) -> Operand:
        b = self.b
        tests = (b.op(Op.EQ, Prim.I64, v, i64(c)) for v, c in ((x, m), (y, n)))
        return b.op(Op.AND, Prim.BOOL, *tests)
