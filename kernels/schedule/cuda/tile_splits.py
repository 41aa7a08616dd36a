"""Split-K: tiled redomaps of few results, cut into shares that other blocks compute.

    segmap (.., i < n, j < m) { redomap p f ⊕ xs_i ys_j }                     fewer than `LEAST_BLOCKS` tiles, p long
    ⟶  parts = tiles (s < S, .., i, j) { redomap over elements s·l to (s+1)·l }      l a multiple of `UNIT`
        segmap (.., i, j) { reduce S ⊕ parts[.., i, j] }, with what follows the redomap

The order of the reduction stays: shares are neighbours, and are combined in order.
"""

from __future__ import annotations

from dataclasses import replace

from ....flatten.tiling.block import Tileable, needed
from ....flatten.tiling.choose import GRID, LEAST_BLOCKS, LEAST_SHARE, SPLIT
from ....ir import core
from ....ir.core import Fix, Index, Slice, Stm
from ....ir.ops import Op
from ....ir.traverse import free_in_stm
from ....ir.types import Atom, Name, Type, Var, i64
from ..host_builder import HostBuilder
from ..table import Segop
from .tile_block import tile_block, tile_counts
from .tiles import store_parts, tile_kernel

UNIT = 16
"""Elements that shares are a multiple of, so that rows that begin at accesses of 16 bytes go on to do so."""
MOST_BLOCKS = 2 * LEAST_BLOCKS
"""Blocks of a launch that shares are to make, about."""


def few_tiles(s: Segop[core.SegMap], tiling: tuple[Tileable, int]) -> Atom:
    """bool: are there fewer tiles than a machine runs at once, and is a redomap long?"""
    h, (found, _) = s.h, tiling
    few = h.op(Op.LT, tiles_of(h, found), i64(LEAST_BLOCKS), base="few")
    long = h.op(Op.LE, i64(2 * LEAST_SHARE), found.screma.width, base="long")
    return h.op(Op.LT, i64(0), h.choice(few, h.choice(long, i64(1), i64(0), "long"), i64(0), "split"), base="split")


def tiles_of(h: HostBuilder, found: Tileable) -> Atom:
    """How many blocks the results make."""
    return h.product((*(width for _, width in found.outer), *tile_counts(h, found, GRID * SPLIT)))


def shares(s: Segop[core.SegMap], tiling: tuple[Tileable, int]) -> Segop[core.SegMap]:
    """Launches what computes the shares; gives the map that combines them."""
    h, (found, each) = s.h, tiling
    width, tiles = found.screma.width, h.op(Op.MAX, tiles_of(h, found), i64(1), base="tiles")
    wanted = h.op(Op.MIN, h.ceil_div(i64(MOST_BLOCKS), tiles), h.op(Op.QUOT, width, i64(LEAST_SHARE)), base="wanted")
    units = h.ceil_div(h.ceil_div(width, h.op(Op.MAX, wanted, i64(1), base="wanted")), UNIT)
    length = h.op(Op.MUL, units, i64(UNIT), base="length")
    count = h.ceil_div(width, length)
    sizes = (count, *s.exp.space.widths)
    parts = [h.scratch("parts", Type(p.type.prim, sizes)) for p in found.redomap.pat]
    block, blocks = tile_block(h, found, s.exp, each, (count, length))
    made = tile_kernel(h, block, s.base, lambda accs: store_parts(block, parts, accs))
    h.launch(made, blocks, h.op(Op.MUL, count, h.product(s.exp.space.widths)), made.cost, s.stm.loc)
    return replace(s, exp=combined(h, found, s.exp, parts, count))


def combined(h: HostBuilder, found: Tileable, exp: core.SegMap, parts: list[Name], count: Atom) -> core.SegMap:
    """The map whose redomap is the reduction of the shares, in order."""
    wanted = {n for stm in found.after for n in free_in_stm(stm)}
    wanted |= {a.name for a in exp.body.result if isinstance(a, Var)}
    before = list(needed(found.before, wanted))
    rows: list[Name] = []
    dims = (Slice(i64(0), count, i64(1)), *(Fix(Var(index)) for index in exp.space.indices))
    for part, param in zip(parts, found.redomap.pat, strict=True):
        row = core.Param(h.names.fresh("row"), Type(param.type.prim, (count,)))
        before.append(Stm((row,), Index(part, dims, True), (), (), found.redomap.loc))
        rows.append(row.name)
    params = tuple(core.Param(h.names.fresh("x"), p.type) for p in found.redomap.pat)
    same = core.Lambda(params, core.Body((), tuple(Var(p.name) for p in params)), tuple(p.type for p in params))
    reduction = replace(found.screma, width=count, arrays=tuple(rows), map=same)
    body = (*before, replace(found.redomap, exp=reduction), *found.after)
    return replace(exp, body=core.Body(body, exp.body.result))
