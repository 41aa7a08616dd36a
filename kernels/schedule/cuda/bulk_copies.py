"""Bulk operations between strided arrays as kernels for the threads of a GPU.

    copy        to[i..] = from[i..]     element by element, over `dims` dimensions of at most MOST_DIMS
    fill        to[i..] = value
    transpose   to[m, r, c] = from[m, c, r]     both contiguous along their last dimension

A transposition goes by way of tiles in the memory of a block, so that both sides are read and written along their rows;
a column more than there are keeps the columns of a tile apart in the banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.machine import BLOCK
from ....ir.ops import Op
from ....ir.types import Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Kernel, KLoad, KVar, Operand, Space
from ..bulk import COUNT, WORDS, Maker, iota, numbers
from ..kernel_builder import ZERO

Ends = Sequence[Operand]

CHUNK = BLOCK.threads
"""Elements of a block."""
TILE = 32
MOST_DIMS = 8

SIZES, TO_STEPS, FROM_STEPS = (
    numbers(*(f"{name}{k}" for k in range(MOST_DIMS))) for name in ("size", "to_step", "from_step")
)
(DIMS,) = numbers("dims")
MATRICES, ROWS, COLUMNS, TO_MATRIX, TO_ROW, FROM_MATRIX, FROM_COLUMN = numbers(
    "matrices", "rows", "columns", "to_matrix", "to_row", "from_matrix", "from_column"
)


def bulk_kernels() -> tuple[Kernel, ...]:
    """Copy, fill, transposition and iota for words of 1, 2, 4 and 8 bytes."""
    return tuple(make(prim) for prim in WORDS for make in (copy, fill, transpose, lambda prim: iota(prim, CHUNK)))


def copy(prim: Prim) -> Kernel:
    """A thread for each element, between any strides."""
    m = Maker(prim)
    each(m, (TO_STEPS, FROM_STEPS), lambda to, source: m.moved(to, source))
    return m.kernel("copy", (m.to, m.source), (COUNT, DIMS, *SIZES, *TO_STEPS, *FROM_STEPS))


def fill(prim: Prim) -> Kernel:
    """A thread for each element, a word to all places."""
    m, value = Maker(prim), KVar("value", prim)
    each(m, (TO_STEPS,), lambda to: m.b.emit(kir.Store(m.to, to, value)))
    return m.kernel("fill", (m.to,), (COUNT, DIMS, *SIZES, *TO_STEPS, value))


def each(m: Maker, steps: tuple[tuple[KVar, ...], ...], element: Callable[..., None]) -> None:
    """A thread for each element, `element` with its place for each of `steps`; the last dimension is number 0."""
    b, i = m.b, m.b.fresh("i", Prim.I64)
    lo, hi = m.ends(b.block, COUNT, CHUNK)
    with b.threads(i, lo, hi):
        rest, places = b.declare("rest", i), [b.declare("place", ZERO) for _ in steps]
        for k, size in enumerate(SIZES):
            with b.nested() as there:
                outer, index = m.divided(b.copy(rest), size)
                b.emit(kir.Assign(rest, outer))
                for place, step in zip(places, steps, strict=True):
                    b.emit(kir.Assign(place, b.add(place, b.mul(index, step[k]))))
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, i64(k), DIMS), tuple(there), ()))
        element(*(b.copy(place) for place in places))


def transpose(prim: Prim) -> Kernel:
    """A block for each tile of `TILE` x `TILE` elements of each matrix."""
    m, tile = Maker(prim), KArray("tile", prim, Space.SHARED)
    b = m.b
    number, *columns = m.piece(b.block, COLUMNS, TILE)
    matrix, *rows = m.piece(number, ROWS, TILE)
    source, to = b.mul(matrix, FROM_MATRIX), b.mul(matrix, TO_MATRIX)
    b.emit(kir.Alloc(tile, i64(TILE * (TILE + 1))))

    def along(name: str, outer: Ends, inner: Ends, move: Callable[..., None]) -> None:
        """A thread for each place of the tile, along its rows of `inner`, if it is one of the matrix."""
        with b.threads(b.fresh(name, Prim.I64), ZERO, i64(TILE * TILE)) as u:
            down, across = m.divided(u, i64(TILE))
            y, x = b.add(outer[0], down), b.add(inner[0], across)
            inside = [b.op(Op.LT, Prim.I64, at, ends[1]) for at, ends in ((y, outer), (x, inner))]
            with b.nested() as moves:
                move(y, x, down, across)
            b.emit(kir.KIf(b.op(Op.AND, Prim.BOOL, *inside), tuple(moves), ()))

    def place(column: Operand, row: Operand) -> Operand:
        return b.add(b.mul(column, i64(TILE + 1)), row)

    def read(c: Operand, r: Operand, down: Operand, across: Operand) -> None:
        at = b.add(b.add(source, b.mul(c, FROM_COLUMN)), r)
        b.emit(kir.Store(tile, place(down, across), b.let("x", prim, KLoad(m.source, at))))

    def write(r: Operand, c: Operand, down: Operand, across: Operand) -> None:
        x = b.let("x", prim, KLoad(tile, place(across, down)))
        b.emit(kir.Store(m.to, b.add(b.add(to, b.mul(r, TO_ROW)), c), x))

    along("read", columns, rows, read)
    along("written", rows, columns, write)
    scalars = (MATRICES, ROWS, COLUMNS, TO_MATRIX, TO_ROW, FROM_MATRIX, FROM_COLUMN)
    return m.kernel("transpose", (m.to, m.source), scalars)
