"""Segmented reductions and scans of many rows that are not long: lanes over rows, instead of a block for each row.

    segscan (i < n, j < m) ⊕ { e }   ⟶   segmap (i < n) { scanomap ⊕ (λj → e) (iota m) }       m < M, n >= ROWS

M is the length from which on a block for each row is cheaper, by the estimate; the sizes decide when the program runs,
and they alone, so that results have the same bits in each run. Rows come and go in tiles (`passes/tile_rows.py`).

    segscan (i < n, j < m) ⊕ { e }   ⟶   block = (rows lo .. hi)    for i { scan ⊕ (threads j { e }) }    m < LONGEST

where that is a scan of the elements as they lie (`passes/flat_row_scans.py`), of an operator cheap enough to be applied
in every step of a scan in lanes: some rows to a vector, or some vectors to a row.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Level, Param, SegMap, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Type, Var, i64
from ...analysis.cost import EXTENT, cost
from ...host_ir.nodes import HostStm
from ...kernel_ir.nodes import RowScan
from ...passes.flat_row_scans import row_scan_of
from ..host_builder import FALSE, Made
from ..inner_segops import as_soacs
from ..kernel_builder import NotLowerable
from ..merge_path import MERGE_PATH
from ..soacs import is_simple
from ..table import Schedule, Segop, Table, in_memory
from .filters import FILTER
from .inner_first import are_worth_it, inner_first, run_inner_first
from .lanes_kernel import LanesKernel, lanes_over_points, launch_lanes
from .segmap import LONG, block_a_point, least_to_spread, spread_pays
from .segred import IN_CHUNKS, IN_WIDE_CHUNKS, MANY_SEGMENTS
from .segscan import SEGMENTS, scan_rows

ROWS, FEW_ROWS = 64, 4
"""Rows that fill the lanes of one group; rows whose elements lie far apart, which a block for each takes one by one."""

LONGEST = 1 << 16
"""Elements of a row from which on a row is cut, where rows are not many."""
GRAIN = 1 << 15
"""Elements of a block of rows, or one row."""
MOST_COST = 12.0
"""What a step of a scan in lanes may cost, so that all steps are worth the rows that need not be transposed."""

MANY_KERNELS = 16
"""An entry of this many kernels has one form of each further segop: a second one is not worth compiling it."""


@dataclass(frozen=True, slots=True)
class Lying:
    """A kernel for rows as they lie, for results by the names `outs`; rows of a block and of all, as the host finds by
    `before`."""

    made: Made
    outs: Outs
    rows: tuple[Atom, Atom]
    before: list[HostStm]


@dataclass(frozen=True, slots=True)
class RowLanes:
    """A kernel with a row to a lane, for results by the names `outs`, and that of a block for each row."""

    lanes: LanesKernel
    spread: Made
    outs: Outs
    space: SegSpace

    @property
    def cost(self) -> float:
        return self.lanes.cost


Outs = list[tuple[Name, Type]]
OfRows = Segop[core.SegRed | core.SegScan]


def no_rows(s: OfRows) -> str | None:
    """Why there are no rows to be put side by side."""
    if len(s.exp.space.dims) < 2:
        return "a single segment"
    few = len(s.h.kernels.made) - s.h.others < MANY_KERNELS or is_turned(s)
    return None if few else "the entry has many kernels"


def stand_ins(s: OfRows) -> Outs:
    """Names for the results in a kernel that is built before it is known whether it is launched."""
    own = tuple(Param(s.h.names.again(p.name), p.type) for p in s.results)
    s.h.bind(own)
    for mine, result in zip(own, s.results, strict=True):
        if result.name in s.h.views:
            s.h.views[mine.name] = s.h.views[result.name]
    return [(p.name, p.type) for p in own]


def with_results(made: Made, stood_in: Outs, outs: Outs) -> Made:
    """The kernel for its results, which others stood in for."""
    of = {name: out for (name, _), (out, _) in zip(stood_in, outs, strict=True)}
    return replace(made, arrays=tuple(of.get(name, name) for name in made.arrays))


def is_turned(s: OfRows) -> bool:
    """Do results lie with another dimension innermost?"""
    return any(p.name in s.h.views for p in s.results)


def many_rows(s: OfRows) -> Atom:
    """bool: are there `ROWS` segments or more?"""
    rows = FEW_ROWS if is_turned(s) else ROWS
    return s.h.op(Op.GE, s.h.product(s.outer), i64(rows), base="many")


# ---- rows as they lie -----------------------------------------------------------------------------------------------


def lie_to_be_scanned(s: Segop[core.SegScan]) -> Lying | str:
    """The kernel for rows as they lie, with the code that the host has for it put aside; or why there is none."""
    h, exp = s.h, s.exp
    if (why := no_rows(s)) is not None:
        return why
    if not all(is_simple(scan.op) for scan in exp.scans):
        return "an operator on arrays, or that may fail"
    saved, h.out = h.out, []
    each = h.op(Op.MAX, h.op(Op.QUOT, i64(GRAIN), h.op(Op.MAX, exp.space.widths[-1], i64(1))), i64(1), base="rows")
    outs, rows = stand_ins(s), h.product(exp.space.widths[:-1])
    made = scan_rows(replace(s, outs=outs), (each, rows))
    before, h.out = h.out, saved
    scan = row_scan_of(made.kernel)
    if scan is None:
        return "its elements do not lie as they are scanned"
    if steps_cost(scan) > MOST_COST:
        return "an operator that is expensive in each step"
    return Lying(made, outs, (each, rows), before)


def scan_lying(s: Segop[core.SegScan], found: Lying) -> None:
    """Launch the kernel, a block for whole rows of `GRAIN` elements together, or one row that is longer."""
    h, s, (each, rows) = s.h, in_memory(s), found.rows
    h.out += found.before
    made, work = with_results(found.made, found.outs, s.outs), found.made.cost / EXTENT / EXTENT
    h.launch(made, h.ceil_div(rows, each), h.product(s.exp.space.widths), work, s.stm.loc)


def steps_cost(scan: RowScan) -> float:
    """What a step of a scan in lanes takes: to move the components, and to combine them."""
    return 2.0 * len(scan.scanned) + cost(scan.op.body)


def are_enough(s: Segop[core.SegScan], _: Lying) -> Atom:
    """Are there rows enough that they are not cut, and that all of them are several blocks?"""
    h, (*outer, width) = s.h, s.exp.space.widths
    rows = h.product(tuple(outer))
    enough = h.choice(h.op(Op.LT, width, i64(LONGEST), base="short"), i64(ROWS), i64(MANY_SEGMENTS), "enough")
    return h.op(Op.GE, rows, enough, base="many")


# ---- a row to a lane ------------------------------------------------------------------------------------------------


def can_be_lanes(s: OfRows) -> RowLanes | str:
    """A loop along its row for each lane."""
    if (why := no_rows(s)) is not None:
        return why
    outs, mapped = stand_ins(s), as_map(s)
    try:
        rows = Segop(s.h, s.stm, mapped, s.base, outs)
        lanes, spread = lanes_over_points(rows), block_a_point(rows)
    except NotLowerable as why:
        return str(why)
    return RowLanes(lanes, spread, outs, mapped.space)


def run_lanes(s: OfRows, found: RowLanes) -> None:
    """Launch the kernel with a row to a lane, for the results' own memory."""
    s, lanes = in_memory(s), found.lanes
    made = with_results(lanes.made, found.outs, s.outs)
    launch_lanes(s.h, replace(lanes, made=made), found.space, s.stm.loc)


def as_map(s: OfRows) -> SegMap:
    """The outer dimensions as a map, the inner one as a SOAC."""
    names, (*outer, inner) = s.h.names, s.exp.space.dims
    rows = tuple(Param(names.again(p.name), Type(p.type.prim, p.type.shape[len(outer) :])) for p in s.results)
    one = Stm(rows, replace(s.exp, space=SegSpace((inner,))), (), (), s.stm.loc)
    body = as_soacs(names, Body((one,), tuple(Var(p.name) for p in rows)))
    return SegMap(Level.THREAD, SegSpace(tuple(outer)), body, tuple(p.type for p in rows))


def lanes_pay(s: OfRows, found: RowLanes) -> Atom:
    """Are lanes over the rows better than a block for each row? Known now where the length is long."""
    h, width = s.h, s.exp.space.widths[-1]
    if isinstance(width, Const):
        return FALSE if spread_pays(found.lanes, found.spread, float(width.value)) else many_rows(s)
    least = least_to_spread(found.lanes, found.spread)
    if least is None and is_turned(s):
        return many_rows(s)
    least = LONG if least is None else least
    return h.op(Op.LT, h.choice(many_rows(s), width, i64(least), "length"), i64(least), base="short")


ROW_LANES = Schedule("lanes over rows", run_lanes, can_be_lanes, lanes_pay)
LYING = Schedule("rows as they lie", scan_lying, lie_to_be_scanned, are_enough, instead_of=("lanes over rows",))
OF_ELEMENTS: Table = (ROW_LANES, IN_WIDE_CHUNKS)
INNER_FIRST = Schedule(
    "inner first", lambda s, found: run_inner_first(s, found, OF_ELEMENTS), inner_first, are_worth_it, OF_ELEMENTS
)
SEGRED: Table = (MERGE_PATH, INNER_FIRST, ROW_LANES, IN_CHUNKS)
SEGSCAN: Table = (FILTER, LYING, ROW_LANES, *SEGMENTS)
