"""Segmented reductions and scans of many short rows: a row to a lane, in one loop, instead of a block for each.

    segscan (i < n, j < m) ⊕ { e }   ⟶   segmap (i < n) { scanomap ⊕ (λj → e) (iota m) }       m < M, n >= ROWS

M is the length from which on a block for each row is cheaper, by the estimate; the sizes decide when the program runs,
and they alone, so that results have the same bits in each run. Rows come and go in tiles (`row_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..ir import core
from ..ir.core import Body, Level, Param, SegMap, SegSpace, Stm
from ..ir.ops import Op
from ..ir.types import Atom, Const, Names, Prim, Type, Var, i64
from .build import NotLowerable
from .contents import nest_depth
from .host import HostBody, HostIf
from .hostbuild import HostBuilder, Made
from .inner import as_soacs
from .segmap import LONG, LanesKernel, block_kernel, lanes_kernel, launch_lanes, least_to_spread, spread_pays
from .segred import segred
from .segscan import segscan

ROWS = 64
"""Rows that fill the lanes of one group."""

MANY_KERNELS = 16
"""An entry of so many kernels has one form of each further segop: what a second one wins is not worth compiling it."""


def segred_by_rows(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    rows_or_blocks(h, stm, exp, segred)


def segscan_by_rows(h: HostBuilder, stm: Stm, exp: core.SegScan) -> None:
    rows_or_blocks(h, stm, exp, segscan)


def rows_or_blocks(
    h: HostBuilder, stm: Stm, exp: core.SegRed | core.SegScan, in_blocks: Callable[[HostBuilder, Stm, Any], None]
) -> None:
    """`if rows are long or few then (in blocks) else (a row to a lane)`; in blocks where there are no rows, or no
    kernel with lanes over them."""
    saved, h.out = h.out, []
    has_rows, has_room = len(exp.space.dims) > 1, len(h.kernels.made) - h.others < MANY_KERNELS
    forms = forms_of(h, stm, exp) if has_rows and has_room else None
    if forms is None:
        h.out = saved
        in_blocks(h, stm, exp)
        return
    orelse, lanes, spread = forms
    own = tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
    h.out = []
    in_blocks(h, replace(stm, pat=own), exp)
    then = HostBody(tuple(h.out), tuple(Var(p.name) for p in own))
    h.out = saved
    h.emit(stm.pat, HostIf(blocks_pay(h, exp, lanes, spread), then, orelse), stm.loc)


def forms_of(h: HostBuilder, stm: Stm, exp: core.SegRed | core.SegScan) -> tuple[HostBody, LanesKernel, Made] | None:
    """What launches the kernel with a row to a lane, that kernel, and one with a block for each row to compare with;
    None where the machine has no such kernel."""
    mapped, base = as_map(h.names, stm, exp), stm.pat[0].name.base
    own = tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
    for param in own:
        h.emit((param,), core.Scratch(param.type), stm.loc)
    outs, depth = [(p.name, p.type) for p in own], nest_depth(mapped.space, mapped.body)
    try:
        lanes = lanes_kernel(h, mapped, outs, base)
        spread = h.best_layout(depth, lambda: block_kernel(h, mapped.space, mapped.body, outs, base, Level.BLOCK))
    except NotLowerable:
        return None
    launch_lanes(h, lanes, mapped.space, stm.loc)
    return HostBody(tuple(h.out), tuple(Var(p.name) for p in own)), lanes, spread


def as_map(names: Names, stm: Stm, exp: core.SegRed | core.SegScan) -> SegMap:
    """The outer dimensions as a map, the inner one as a SOAC."""
    *outer, inner = exp.space.dims
    rows = tuple(Param(names.again(p.name), Type(p.type.prim, p.type.shape[len(outer) :])) for p in stm.pat)
    one = Stm(rows, replace(exp, space=SegSpace((inner,))), (), (), stm.loc)
    body = as_soacs(names, Body((one,), tuple(Var(p.name) for p in rows)))
    return SegMap(Level.THREAD, SegSpace(tuple(outer)), body, tuple(p.type for p in rows))


def blocks_pay(h: HostBuilder, exp: core.SegRed | core.SegScan, lanes: LanesKernel, spread: Made) -> Atom:
    """Is a block for each row better than lanes over the rows? Known now where the length is."""
    *outer, width = exp.space.widths
    few = h.op(Op.LT, h.product(tuple(outer)), i64(ROWS), base="few")
    if isinstance(width, Const):
        return Const(Prim.BOOL, True) if spread_pays(lanes, spread, float(width.value)) else few
    least = least_to_spread(lanes, spread) or LONG
    return h.op(Op.GE, h.choice(few, i64(least), width, "length"), i64(least), base="long")
