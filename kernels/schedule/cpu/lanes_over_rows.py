"""Segmented reductions and scans of many rows that are not long: lanes over rows, instead of a block for each row.

    segscan (i < n, j < m) ⊕ { e }   ⟶   segmap (i < n) { scanomap ⊕ (λj → e) (iota m) }       m < M, n >= ROWS

M is the length from which on a block for each row is cheaper, by the estimate; the sizes decide when the program runs,
and they alone, so that results have the same bits in each run. Rows come and go in tiles (`passes/tile_rows.py`).

    segscan (i < n, j < m) ⊕ { e }   ⟶   block = (rows lo .. hi)    for i { scan ⊕ (threads j { e }) }    m < LONGEST

where that is a scan of the elements as they lie (`passes/flat_row_scans.py`), of an operator cheap enough to be applied
in every step of a scan in lanes: some rows to a vector, or some vectors to a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ....ir import core
from ....ir.core import Body, Level, Param, SegMap, SegSpace, Stm
from ....ir.ops import Op
from ....ir.types import Atom, Const, Names, Type, Var, i64
from ...analysis.cost import EXTENT, cost
from ...host_ir.nodes import HostBody, HostIf
from ...kernel_ir.nodes import KLet, KOp, KStm, RowScan
from ...kernel_ir.traverse import statements
from ...passes.flat_row_scans import row_scan_of
from ..host_builder import FALSE, TRUE, HostBuilder, Made
from ..inner_segops import as_soacs
from ..kernel_builder import NotLowerable
from ..queries import nest_depth
from ..soacs import is_simple
from .segmap import LONG, LanesKernel, block_kernel, lanes_kernel, launch_lanes, least_to_spread, spread_pays
from .segred import MANY_SEGMENTS, segred
from .segscan import scan_rows, segscan

ROWS = 64
"""Rows that fill the lanes of one group."""

LONGEST = 1 << 16
"""Elements of a row from which on a row is cut, where rows are not many."""
GRAIN = 1 << 15
"""Elements of a block of rows, or one row."""
DEAR, EXTREMUM = 12.0, 4.0
"""What a step of a scan in lanes may cost, so that all steps are worth the rows that need not be transposed; and what
the smaller or larger of two floats costs more than one instruction, by what holds of NaN and zeros."""

MANY_KERNELS = 16
"""An entry of so many kernels has one form of each further segop: what a second one wins is not worth compiling it."""


def segred_by_rows(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    rows_or_blocks(h, stm, exp, segred, lambda: row_to_a_lane(h, stm, exp))


def segscan_by_rows(h: HostBuilder, stm: Stm, exp: core.SegScan) -> None:
    rows_or_blocks(h, stm, exp, segscan, lambda: as_they_lie(h, stm, exp) or row_to_a_lane(h, stm, exp))


@dataclass(frozen=True, slots=True)
class Form:
    """What launches a kernel for many rows that are not long, and whether it is better than a block for each row; that
    is host code too, to stand before."""

    launched: HostBody
    pays: Callable[[], Atom]


def rows_or_blocks(
    h: HostBuilder,
    stm: Stm,
    exp: core.SegRed | core.SegScan,
    in_blocks: Callable[[HostBuilder, Stm, Any], None],
    of_rows: Callable[[], Form | None],
) -> None:
    """`if rows are many and not long then (many rows) else (in blocks)`; in blocks where there are no rows, or no
    kernel for many of them."""
    saved, h.out = h.out, []
    has_rows, has_room = len(exp.space.dims) > 1, len(h.kernels.made) - h.others < MANY_KERNELS
    form = of_rows() if has_rows and has_room else None
    if form is None:
        h.out = saved
        in_blocks(h, stm, exp)
        return
    h.out = saved
    pays = form.pays()
    if pays == TRUE:
        h.emit(stm.pat, HostIf(pays, form.launched, form.launched), stm.loc)
        return
    if pays == FALSE:
        in_blocks(h, stm, exp)
        return
    own = own_results(h, stm)
    h.out = []
    in_blocks(h, replace(stm, pat=own), exp)
    orelse = HostBody(tuple(h.out), tuple(Var(p.name) for p in own))
    h.out = saved
    h.emit(stm.pat, HostIf(pays, form.launched, orelse), stm.loc)


def own_results(h: HostBuilder, stm: Stm) -> tuple[Param, ...]:
    """The results by names of their own."""
    return tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)


def many_rows(h: HostBuilder, exp: core.SegRed | core.SegScan) -> Atom:
    return h.op(Op.GE, h.product(exp.space.widths[:-1]), i64(ROWS), base="many")


# ---- rows as they lie -----------------------------------------------------------------------------------------------


def as_they_lie(h: HostBuilder, stm: Stm, exp: core.SegScan) -> Form | None:
    """Scans of rows as they lie in memory; None where they are not such, or the operator is dear."""
    if not all(is_simple(scan.op) for scan in exp.scans):
        return None
    start = len(h.out)
    own, width = own_results(h, stm), exp.space.widths[-1]
    for param in own:
        h.emit((param,), core.Scratch(param.type), stm.loc)
    each = h.op(Op.MAX, h.op(Op.QUOT, i64(GRAIN), h.op(Op.MAX, width, i64(1))), i64(1), base="rows")
    outs = [(p.name, p.type) for p in own]
    rows = h.product(exp.space.widths[:-1])
    made = scan_rows(h, exp, outs, (each, rows), stm.pat[0].name.base)
    scan = row_scan_of(made.kernel)
    if scan is None or steps_cost(scan) > DEAR:
        del h.out[start:]
        return None
    h.launch(made, h.ceil_div(rows, each), h.product(exp.space.widths), made.cost / EXTENT / EXTENT, stm.loc)
    launched = HostBody(tuple(h.out[start:]), tuple(Var(p.name) for p in own))
    return Form(launched, lambda: are_enough(h, exp))


def steps_cost(scan: RowScan) -> float:
    """What a step of a scan in lanes takes: to move the components, and to combine them."""
    extrema = sum(is_float_extremum(stm) for stm in statements(scan.op.body))
    return 2.0 * len(scan.scanned) + cost(scan.op.body) + EXTREMUM * extrema


def is_float_extremum(stm: KStm) -> bool:
    match stm:
        case KLet(_, KOp(Op.MIN | Op.MAX, prim)):
            return prim.is_float
        case _:
            return False


def are_enough(h: HostBuilder, exp: core.SegScan) -> Atom:
    """Are there so many rows that they are not cut, and that all of them are several blocks?"""
    width = exp.space.widths[-1]
    rows = h.product(exp.space.widths[:-1])
    enough = h.choice(h.op(Op.LT, width, i64(LONGEST), base="short"), i64(ROWS), i64(MANY_SEGMENTS), "enough")
    return h.op(Op.GE, rows, enough, base="many")


# ---- a row to a lane ------------------------------------------------------------------------------------------------


def row_to_a_lane(h: HostBuilder, stm: Stm, exp: core.SegRed | core.SegScan) -> Form | None:
    """A loop along its row for each lane; None where the machine has no such kernel."""
    start, mapped, base = len(h.out), as_map(h.names, stm, exp), stm.pat[0].name.base
    own = own_results(h, stm)
    for param in own:
        h.emit((param,), core.Scratch(param.type), stm.loc)
    outs, depth = [(p.name, p.type) for p in own], nest_depth(mapped.space, mapped.body)
    try:
        lanes = lanes_kernel(h, mapped, outs, base)
        spread = h.best_layout(depth, lambda: block_kernel(h, mapped.space, mapped.body, outs, base, Level.BLOCK))
    except NotLowerable:
        return None
    launch_lanes(h, lanes, mapped.space, stm.loc)
    launched = HostBody(tuple(h.out[start:]), tuple(Var(p.name) for p in own))
    return Form(launched, lambda: lanes_pay(h, exp, lanes, spread))


def as_map(names: Names, stm: Stm, exp: core.SegRed | core.SegScan) -> SegMap:
    """The outer dimensions as a map, the inner one as a SOAC."""
    *outer, inner = exp.space.dims
    rows = tuple(Param(names.again(p.name), Type(p.type.prim, p.type.shape[len(outer) :])) for p in stm.pat)
    one = Stm(rows, replace(exp, space=SegSpace((inner,))), (), (), stm.loc)
    body = as_soacs(names, Body((one,), tuple(Var(p.name) for p in rows)))
    return SegMap(Level.THREAD, SegSpace(tuple(outer)), body, tuple(p.type for p in rows))


def lanes_pay(h: HostBuilder, exp: core.SegRed | core.SegScan, lanes: LanesKernel, spread: Made) -> Atom:
    """Are lanes over the rows better than a block for each row? Known now where the length is long."""
    width, many = exp.space.widths[-1], many_rows(h, exp)
    if isinstance(width, Const):
        return FALSE if spread_pays(lanes, spread, float(width.value)) else many
    least = least_to_spread(lanes, spread) or LONG
    return h.op(Op.LT, h.choice(many, width, i64(least), "length"), i64(least), base="short")
