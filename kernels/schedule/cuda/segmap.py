"""SegMap on a machine with many threads: a thread for every S points of the space, in the order that σ chooses.

segmap (i < n, j < m)     block = T*S points; thread t takes points s*T + t; point p ↦ (i, j) by σ's order
                          where neighbours are accessed, a row of up to 16 bytes at once
                          (`passes/vectorise_accesses.py`)
#[tiled(R)]               blocks of 16 x 16 threads with R x R points each (`tiles.py`), or of 8 warps with fragments
                          of matrices (`tensor_tiles.py`); few points of long rows by shares (`tile_splits.py`)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ....flatten.tiling.block import Tileable
from ....flatten.tiling.choose import SPLIT
from ....ir import core
from ....ir.core import Param, SegSpace
from ....ir.machine import BLOCK
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Prim, Var, i64
from ...passes.vectorise_accesses import row_width
from ..cpu.segmap import block_a_point, is_collective, launch_a_point
from ..host_builder import Made, alternatives
from ..inner_segops import as_soacs
from ..kernel_builder import Builder, Mode, Operand
from ..queries import stays
from ..soacs import row_reduction
from ..space import bind_space, segment_results
from ..table import Schedule, Segop, Table, bound, in_memory, run
from .mapping import Layouts, Mapping, best_mapping
from .row_registers import KeptRows, rows_in_registers
from .tensor_tiles import on_tensor_cores, run_on_tensor_cores
from .tile_splits import few_tiles, shares
from .tiles import tiled, tiling


def is_tiled(s: Segop[core.SegMap]) -> tuple[Tileable, int] | str:
    """How the map is tiled and the points R of a thread along each side; else why not."""
    return tiling(s.stm, s.exp) or "without the attribute `tiled`, or without room"


def may_split(s: Segop[core.SegMap]) -> tuple[Tileable, int] | str:
    """How the map is tiled, where it is with the points that shares are computed with; else why not."""
    found = is_tiled(s)
    return found if isinstance(found, str) or found[1] == SPLIT else f"not {SPLIT} x {SPLIT} points for a thread"


def run_mapped(s: Segop[core.SegMap], _: bool) -> None:
    """The threads of the grid over all dimensions."""
    h, pat = s.h, s.stm.pat
    h.bind(pat)
    found = best_mapping(h, s.exp.space, partial(points_kernel, s), {param.name for param in pat})
    alternatives(h, pat, [lambda own, one=one: launch_mapped(bound(s, own), pat, *one) for one in found], s.stm.loc)


def points_kernel(s: Segop[core.SegMap], mapping: Mapping, threads: int) -> Made:
    """The kernel of a mapping, for blocks of `threads` threads."""
    b, outs = s.h.builder(), [(p.name, p.type) for p in s.results]
    over_points(b, s.exp.space, mapping, threads, lambda at: segment_results(b, s.exp.body, outs, at, Mode.THREAD))
    return s.h.finish(b, s.base)


def launch_mapped(s: Segop[core.SegMap], pat: tuple[Param, ...], mapping: Mapping, layouts: Layouts) -> None:
    """Launch that kernel; the manifests are of the results by the names in `pat`."""
    h, names = s.h, {p.name: own.name for p, own in zip(pat, s.stm.pat, strict=True)}
    layouts = {names.get(name, name): perm for name, perm in layouts.items()}
    h.bind(s.stm.pat)
    for param in s.stm.pat:
        if param.name not in layouts:
            h.emit((param,), core.Scratch(param.type), s.stm.loc)
    h.layouts.update(layouts)
    made = points_kernel(s, mapping, BLOCK.threads)
    threads = BLOCK.threads * row_width(made.kernel)
    if threads > BLOCK.threads:
        made = points_kernel(s, mapping, threads)
    h.layouts.clear()
    points = h.product(s.exp.space.widths)
    h.launch(made, h.ceil_div(points, mapping.chunk(threads)), points, made.cost, s.stm.loc)


# ---- a block or a warp for each point --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Collective(Segop[core.SegMap]):
    """A map of a block's or a warp's work, with its kernel."""

    made: Made


def run_collective(s: Segop[core.SegMap], _: bool) -> None:
    """A block or a warp for every point of the space, whose threads are in the segops of the body."""
    s = in_memory(s)
    body = as_soacs(s.h.names, s.exp.body, lambda stm: stays(stm) or row_reduction(stm) is not None)
    exp = replace(s.exp, body=body)
    run(Collective(s.h, s.stm, exp, s.base, s.outs, block_a_point(replace(s, exp=exp))), COLLECTIVE)


def keeps_rows(s: Collective) -> KeptRows | str:
    """The kernel with what it keeps of a row in registers; else why not."""
    return rows_in_registers(s.made.kernel) or "keeps no row, or several threads access an element of it"


def are_short(s: Collective, found: KeptRows) -> Atom:
    """bool: do all rows fit into the registers?"""
    h, names = s.h, dict(zip(s.made.kernel.scalars, s.made.scalars, strict=True))
    longest: Atom = i64(0)
    for name in (names[length] for length in found.lengths):
        if h.bounds.get(name, found.most + 1) > found.most:
            longest = h.op(Op.MAX, longest, Var(name), base="longest")
    return h.op(Op.LE, longest, i64(found.most), base="fits")


COLLECTIVE: Table = (
    Schedule(
        "rows in registers",
        lambda s, found: launch_a_point(s, replace(s.made, kernel=found.kernel, rival=None)),
        keeps_rows,
        are_short,
    ),
    Schedule("rows in memory", lambda s, _: launch_a_point(s, s.made)),
)
SEGMAP: Table = (
    Schedule("collective", run_collective, is_collective, rows=COLLECTIVE),
    Schedule("tensor cores", run_on_tensor_cores, on_tensor_cores),
    Schedule("register tiles by shares", lambda s, found: run_mapped(shares(s, found), True), may_split, few_tiles),
    Schedule("register tiles", tiled, is_tiled),
    Schedule("mapped", run_mapped),
)


def over_points(
    b: Builder, space: SegSpace, mapping: Mapping, threads: int, body: Callable[[tuple[Operand, ...]], None]
) -> None:
    """`threads p` over the points of a block, which has room for `threads` of them and the mapping's factor; `body`
    gets the indices of the space."""
    total = b.product(map(b.operand, space.widths))
    lo = b.mul(b.block, i64(mapping.chunk(threads)), "lo")
    hi = b.minimum(total, b.add(lo, i64(mapping.chunk(threads))), "hi")
    with b.threads(b.fresh("point", Prim.I64), lo, hi, threads // BLOCK.threads) as point:
        body(bind_space(b, space, point, mapping.order))
