"""Products of packed panels (`packed_panels.py`): how many rows and columns a block has, and where sums are cut.

    segmap (i < n, j < m) { g(redomap (k < p) op { f(a[i, k], b[k, j]) }) }         n·m small, p long
    ⟶  part = segmap (c, i < n, j < m) { redomap (k of piece c) op { f(a[i, k], b[k, j]) } }
        segmap (i < n, j < m) { g(reduce op part[.., i, j]) }

Results for few blocks are cut along their sums, so that there is work for several cores: split-K, as for results that
are a few (`split_k.py`). Where sums are cut depends on sizes alone. Within a piece, their order stays.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Fix, Index, Lambda, Param, SegSpace, Slice, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_stm
from ....ir.types import Atom, Const, Var, i64
from ..host_builder import HostBuilder
from ..table import Segop
from .factors import needed
from .lanes_kernel import lanes_over_points, launch_lanes
from .packed_panels import DEPTH, panels_over_chunk
from .unroll_and_jam import ROWS, reductions_in

TILES, MOST_TILES = 16, 64
"""Tiles that use a panel: of those of columns, which each block copies again, as many as leave LEAST_BLOCKS blocks."""
LEAST_BLOCKS = 12
CHUNK = TILES * ROWS
"""Columns of a block, about as many as rows of the smallest: parts are even, so that none is small."""
LEAST_ROWS = 4 * ROWS
"""With fewer rows, copying costs more than it brings."""
LEAST_DEPTH = 8
"""Sums of fewer elements are over before the panels pay."""
LEAST_COLUMNS = 16
"""With fewer columns, lanes have nothing to do."""
LEAST_PIECE = 4 * DEPTH
"""Elements of a piece of a sum."""


def launch_panels(s: Segop[core.SegMap], each: float, piece: Atom | None = None) -> None:
    """A block for some tiles of ROWS rows and about CHUNK columns; of `piece` elements of each sum, if they are cut."""
    h, b = s.h, s.h.builder()
    chunk, height, blocks = blocks_of(s)
    length = None if piece is None else b.operand(piece)
    panels_over_chunk(b, h.names, s.exp.space, s.exp.body, s.outs, b.operand(height), b.operand(chunk), length)
    h.launch(h.finish(b, s.base), blocks, h.product(s.exp.space.widths), each, s.stm.loc)


def blocks_of(s: Segop[core.SegMap]) -> tuple[Atom, Atom, Atom]:
    """Columns and rows of a block, and how many blocks there are: of the rows, about as many as leave LEAST_BLOCKS."""
    h, (*outer, rows, n), op = s.h, s.exp.space.widths, s.h.op
    whole = h.ceil_div(_even(h, n, i64(CHUNK)), LEAST_COLUMNS)
    chunk = op(Op.MUL, i64(LEAST_COLUMNS), whole, base="columns")
    chunks = h.product((*outer, h.ceil_div(n, chunk)))
    each = op(Op.QUOT, op(Op.MUL, rows, chunks), i64(ROWS * LEAST_BLOCKS))
    most = op(Op.MAX, i64(TILES), op(Op.MIN, i64(MOST_TILES), each))
    height = op(Op.MUL, i64(ROWS), _even(h, h.ceil_div(rows, ROWS), most), base="height")
    return chunk, height, op(Op.MUL, chunks, h.ceil_div(rows, height))


def _even(h: HostBuilder, count: Atom, size: Atom) -> Atom:
    """The size of even parts of about `size`, one and a half times that at most; 1 at least."""
    half = h.op(Op.QUOT, h.op(Op.SUB, size, i64(1)), i64(2))
    parts = h.op(Op.MAX, i64(1), h.op(Op.QUOT, h.op(Op.ADD, count, half), size))
    return h.op(Op.MAX, i64(1), h.ceil_div(count, parts))


@dataclass(frozen=True, slots=True)
class Cut:
    """A product whose sums may be cut: its statement, how many pieces of how many elements they have."""

    stm: Stm
    screma: core.Screma
    pieces: Atom
    length: Atom


def cut_of(s: Segop[core.SegMap]) -> Cut | str:
    """How the sums of a product are cut: in at most as many pieces as make 2 * LEAST_BLOCKS blocks of all; else why
    they cannot be."""
    h, found = s.h, reductions_in(s.exp.body)
    if len(found) != 1:
        return "not one product"
    (stm, screma), op = found[0], h.op
    if isinstance(screma.width, Const) and int(screma.width.value) < 2 * LEAST_PIECE:
        return "its sums are short"
    *_, blocks = blocks_of(s)
    most = op(Op.QUOT, i64(2 * LEAST_BLOCKS), op(Op.MAX, blocks, i64(1)))
    wanted = op(Op.MAX, op(Op.MIN, most, op(Op.QUOT, screma.width, i64(LEAST_PIECE))), i64(1))
    length = op(Op.MUL, h.ceil_div(h.ceil_div(screma.width, wanted), DEPTH), i64(DEPTH), base="piece")
    return Cut(stm, screma, h.ceil_div(screma.width, op(Op.MAX, length, i64(DEPTH))), length)


def launch_cut(s: Segop[core.SegMap], cut: Cut, each: float) -> None:
    """The pieces of all sums, then what the body makes of their sums."""
    h, space, body, stm = s.h, s.exp.space, s.exp.body, cut.stm
    wide = SegSpace(((h.names.fresh("piece"), cut.pieces), *space.dims))
    parts = [(h.scratch("part", p.type.array_of(*wide.widths)), p.type) for p in stm.pat]
    product = Body((*needed(body, free_in_stm(stm), ()), stm), tuple(Var(p.name) for p in stm.pat))
    exp = replace(s.exp, space=wide, body=product, ret=tuple(p.type for p in stm.pat))
    launch_panels(replace(s, exp=exp, outs=parts), each, cut.length)
    at = (Slice(i64(0), cut.pieces, i64(1)), *(Fix(Var(name)) for name in space.indices))
    rows = [Param(h.names.fresh("row"), type_.array_of(cut.pieces)) for _, type_ in parts]
    columns = (Stm((row,), Index(part, at, True), (), (), stm.loc) for row, (part, _) in zip(rows, parts, strict=True))
    elements = tuple(Param(h.names.fresh("x"), type_) for _, type_ in parts)
    same = Lambda(elements, Body((), tuple(Var(x.name) for x in elements)), tuple(type_ for _, type_ in parts))
    whole = core.Screma(cut.pieces, tuple(row.name for row in rows), same, (), cut.screma.reds)
    stms = [made for old in body.stms for made in ((*columns, replace(stm, exp=whole)) if old is stm else (old,))]
    s = replace(s, exp=replace(s.exp, body=Body(tuple(stms), body.result)))
    launch_lanes(h, lanes_over_points(s), space, stm.loc)
