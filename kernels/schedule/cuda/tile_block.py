"""A block of a tiled segmap (`tiles.py`): its share of the space, its threads' shares of that, loops over them.

    thread (y, x) of G x G has the rows   row(y, a) = a / V * (G * V) + y * V + a % V   for a < R

in runs of V neighbours, which are one access of up to 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ....flatten.tiling.block import Row, Tileable
from ....flatten.tiling.choose import GRID
from ....ir import core
from ....ir.core import Slice
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Name, Prim, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Space
from ...kernel_ir.shared_stack import STATIC_BYTES
from ..host_builder import HostBuilder
from ..kernel_builder import ZERO, Builder, NotLowerable, Operand
from ..space import bind_space

THREADS = GRID * GRID

PIPELINES = ((16, 4), (8, 4), (8, 3), (8, 2), (4, 2))
"""Elements of a row that are copied at a time, and how many such steps of a tile there are in shared memory: the first
pair that there is room for. A longer step has fewer instructions for each product, more steps have more on the way."""

ROW_BYTES = 16
"""The widest access."""

GROUP = 8
"""Blocks along the first tiled dimension that follow each other: what runs at one time is rather a square of blocks
than a row of them, and shares more of what it reads."""

MOST_SHARED = 40 << 10
"""Bytes of shared memory for the tiles of all rows; a block has 48 KiB."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Results of a thread along each dimension; neighbours among its rows; elements of rows at a time, and how many
    such steps are in memory: one is used, the others are on their way."""

    each: int
    run: int
    depth: int
    stages: int

    @property
    def results(self) -> int:
        """Results of a thread."""
        return self.each**2

    @property
    def edge(self) -> int:
        """Rows of a block along a dimension."""
        return GRID * self.each

    def stride(self, prim: Prim) -> int:
        """Elements of a tile from one k to the next: those of the rows, and as many more as are one access, so that
        neither runs of neighbours nor neighbouring k fall on the same banks."""
        return self.edge + ROW_BYTES // prim.bytes


def shape_of(found: Tileable, exp: core.SegMap, each: int) -> Shape | None:
    """The shape of tiles of `each` results along a dimension; None where there is no room for them."""
    prims = [p.type.prim for p, row in zip(found.screma.map.params, found.rows, strict=True) if row is not None]
    widest = max(prim.bytes for prim in (*prims, *(t.prim for t in exp.ret)))
    for depth, stages in PIPELINES:
        shape = Shape(each, min(each, ROW_BYTES // widest), depth, stages)
        sizes = [stages * depth * shape.stride(prim) * prim.bytes for prim in prims]
        if max(sizes) <= STATIC_BYTES and sum(sizes) <= MOST_SHARED:
            return shape
    return None


@dataclass(frozen=True, slots=True)
class Result:
    """One of a thread's rows of a dimension: its number among the thread's, and its place in the block's tile."""

    number: Operand
    row: Operand


@dataclass(slots=True)
class TileBlock:
    """The block under construction: `outer` indices of the space that are not tiled, the first index of its share of
    each tiled dimension and the widths of these; of the redomap the number of the share that it computes, the first
    element of that, and how many these are."""

    b: Builder
    found: Tileable
    shape: Shape
    outer: tuple[Operand, ...]
    bases: tuple[Operand, ...]
    widths: tuple[Operand, ...]
    share: Operand
    start: Operand
    width: Operand

    def registers(self, base: str, prim: Prim, count: int, threads: int | None = None) -> KArray:
        """An array of each of the block's threads, or of each index of a loop of `threads` indices."""
        array = KArray(self.b.fresh(base, prim).name, prim, Space.REGISTERS)
        self.b.emit(kir.Distribute(array, threads or THREADS, count))
        return array

    @contextmanager
    def threads(self) -> Iterator[tuple[Operand, ...]]:
        """threads { .. }, with the thread's place along each tiled dimension."""
        b, thread = self.b, self.b.fresh("thread", Prim.I64)
        with b.threads(thread, ZERO, i64(THREADS)):
            yield (b.exact(Op.QUOT, thread, i64(GRID), "ty"), b.exact(Op.REM, thread, i64(GRID), "tx"))

    # ---- a thread's rows ------------------------------------------------------------------------------------------

    def row(self, place: Operand, number: Operand) -> Operand:
        """The row of this number of the thread at `place`."""
        b, run = self.b, self.shape.run
        first = b.mul(place, i64(run))
        if self.shape.each == run:
            return b.add(first, number, "row")
        jump = b.mul(b.exact(Op.QUOT, number, i64(run), "run"), i64(GRID * run))
        within = b.exact(Op.REM, number, i64(run), "within") if run > 1 else ZERO
        return b.add(b.add(jump, first), within, "row")

    def over(self, place: Operand, body: Callable[[Result], None], base: str = "a") -> None:
        """for a < R { .. } over the rows of the thread at `place`."""
        b, each = self.b, self.shape.each
        if each == 1:
            body(Result(ZERO, place))
            return
        with b.loop(b.fresh(base, Prim.I64), i64(each), each) as number:
            body(Result(number, self.row(place, number)))

    def over_results(
        self,
        at: tuple[Operand, ...],
        body: Callable[[tuple[Result | None, ...]], None],
        dims: frozenset[int] | None = None,
        chosen: tuple[Result | None, ...] = (),
    ) -> None:
        """for a < R { for b < R { .. } }: the thread's results, along these dimensions (None: all)."""
        d = len(chosen)
        if d == 2:
            body(chosen)
        elif dims is None or d in dims:
            self.over(at[d], lambda one: self.over_results(at, body, dims, (*chosen, one)), "ab"[d])
        else:
            self.over_results(at, body, dims, (*chosen, None))

    def over_runs(self, place: Operand, body: Callable[[Result], None]) -> None:
        """The first row of each run of the thread at `place`."""
        b, shape = self.b, self.shape
        runs = shape.each // shape.run
        if runs == 1:
            body(Result(ZERO, b.mul(place, i64(shape.run))))
            return
        with b.loop(b.fresh("r", Prim.I64), i64(runs), runs) as number:
            first = b.add(b.mul(number, i64(GRID * shape.run)), b.mul(place, i64(shape.run)), "column")
            body(Result(b.mul(number, i64(shape.run), "c"), first))

    def in_run(self, first: Result, c: int) -> Result:
        return Result(self.b.add(first.number, i64(c)), self.b.add(first.row, i64(c)))

    def number(self, results: tuple[Result | None, ...]) -> Operand:
        """The number of a result among those of the thread, along the dimensions that are given."""
        total: Operand = ZERO
        for one in results:
            if one is not None:
                total = self.b.add(self.b.mul(total, i64(self.shape.each)), one.number, "c")
        return total

    # ---- points of the space --------------------------------------------------------------------------------------

    def index(self, d: int, results: tuple[Result | None, ...]) -> Operand:
        one = results[d]
        assert one is not None
        return self.b.add(self.bases[d], one.row, "ij"[d])

    def clamped(self, d: int, results: tuple[Result | None, ...]) -> Operand:
        """The index of a result, the last one of the space where it is beyond the end."""
        return self.last(d, self.index(d, results))

    def last(self, d: int, index: Operand) -> Operand:
        return self.b.minimum(index, self.b.sub(self.widths[d], i64(1)))

    def bind_points(self, results: tuple[Result | None, ...], wanted: set[Name]) -> None:
        """The indices of the space at these results, as far as they are wanted."""
        for d, ((name, _), one) in enumerate(zip(self.found.tiled, results, strict=True)):
            if one is not None and name in wanted:
                self.b.env[name] = self.clamped(d, results)

    # ---- rows of arrays -------------------------------------------------------------------------------------------

    def place(self, row: Row) -> int | None:
        """The tiled dimension that a row depends on."""
        names = [name for name, _ in self.found.tiled]
        return next((names.index(name) for name in row.of.values() if name in names), None)

    def element(self, row: Row, k: Operand, index: Operand) -> tuple[Operand, ...]:
        """Where element k of a row, counted in the share, stands in its array; `index` is that of its tiled
        dimension."""
        b, names = self.b, {name for name, _ in self.found.tiled}
        k = b.add(self.start, k)
        found: list[Operand] = []
        for d, dim in enumerate(row.dims):
            if row.of.get(d) in names:
                found.append(index)
            elif isinstance(dim, Slice):
                found.append(b.add(b.operand(dim.start), b.mul(k, b.operand(dim.stride))))
            else:
                found.append(b.operand(dim.index))
        return tuple(found)


def _shares(h: HostBuilder, width: Atom, edge: int, base: str) -> Atom:
    """⌈width / edge⌉"""
    return h.op(Op.QUOT, h.op(Op.ADD, width, i64(edge - 1)), i64(edge), base=base)


def tile_counts(h: HostBuilder, found: Tileable, edge: int) -> tuple[Atom, ...]:
    """How many tiles there are along the tiled dimensions."""
    return tuple(_shares(h, width, edge, f"blocks_{'ij'[d]}") for d, (_, width) in enumerate(found.tiled))


def tile_block(
    h: HostBuilder, found: Tileable, exp: core.SegMap, each: int, cut: tuple[Atom, Atom] | None = None
) -> tuple[TileBlock, Atom]:
    """The start of a block, and how many there are. `cut`: the number of shares of a redomap, and their elements."""
    shape = shape_of(found, exp, each)
    if shape is None:
        raise NotLowerable("no room for tiles of this size")
    counts = tile_counts(h, found, shape.edge)
    blocks = h.product((*(width for _, width in found.outer), *counts))
    b = h.builder()
    several = tuple(b.operand(count) for count in counts)
    number, outer, share, start, width = b.block, (), ZERO, ZERO, b.operand(found.screma.width)
    if cut is not None:
        of_share, length = b.operand(blocks), b.operand(cut[1])
        share, number = b.exact(Op.QUOT, number, of_share, "share"), b.exact(Op.REM, number, of_share, "number")
        start = b.mul(share, length, "start")
        width = b.minimum(length, b.sub(width, start), "width")
        blocks = h.op(Op.MUL, blocks, cut[0], base="blocks")
    if found.outer:
        of_point = b.mul(several[0], several[1], "blocks")
        outer = bind_space(b, core.SegSpace(found.outer), b.exact(Op.QUOT, number, of_point, "point"))
        number = b.exact(Op.REM, number, of_point, "number")
    places = in_groups(b, number, (several[0], several[1]))
    bases = tuple(b.mul(place, i64(shape.edge), f"first_{'ij'[d]}") for d, place in enumerate(places))
    widths = tuple(b.operand(width) for _, width in found.tiled)
    return TileBlock(b, found, shape, outer, bases, widths, share, start, width), blocks


def in_groups(b: Builder, number: Operand, counts: tuple[Operand, ...]) -> tuple[Operand, Operand]:
    """(i, j) of a block: the blocks of `GROUP` neighbouring i, the last group's fewer, go through all j."""
    group = b.exact(Op.QUOT, number, b.mul(i64(GROUP), counts[1]), "group")
    first = b.mul(group, i64(GROUP))
    size = b.minimum(i64(GROUP), b.sub(counts[0], first), "size")
    within = b.sub(number, b.mul(first, counts[1]), "within")
    i = b.add(first, b.exact(Op.REM, within, size, "i"), "i")
    return i, b.exact(Op.QUOT, within, size, "j")
