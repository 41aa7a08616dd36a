"""SegMap on a machine with many threads: a thread for every S points of the space, in the order that σ chooses.

segmap (i < n, j < m)     block = T*S points; thread t takes points s*T + t; point p ↦ (i, j) by σ's order
                          where neighbours are accessed, a row of up to 16 bytes at once
                          (`passes/vectorise_accesses.py`)
#[tiled(R)]               blocks of 16 x 16 threads with R x R points each (`tiles.py`), or of 8 warps with fragments
                          of matrices (`tensor_tiles.py`)
"""

from __future__ import annotations

from collections.abc import Callable

from ....flatten.tiling.block import Tileable
from ....ir import core
from ....ir.core import SegSpace
from ....ir.machine import BLOCK
from ....ir.types import Prim, i64
from ...kernel_ir import nodes as kir
from ...passes.vectorise_accesses import row_width
from ..cpu.segmap import COLLECTIVE
from ..host_builder import Made
from ..kernel_builder import ONE, Builder, Mode, Operand
from ..space import bind_space, segment_results
from ..table import Schedule, Segop, Table, in_memory
from .mapping import Mapping, best_mapping
from .tensor_tiles import on_tensor_cores, run_on_tensor_cores
from .tiles import tiled, tiling


def is_tiled(s: Segop[core.SegMap]) -> tuple[Tileable, int] | str:
    """How the map is tiled and the points R of a thread along each side; else why not."""
    return tiling(s.stm, s.exp) or "without the attribute `tiled`, or without room"


def run_mapped(s: Segop[core.SegMap], _: bool) -> None:
    """The threads of the grid over all dimensions."""
    s = in_memory(s)
    h, exp = s.h, s.exp

    def build(mapping: Mapping, threads: int) -> Made:
        b = h.builder()
        over_points(b, exp.space, mapping, threads, lambda at: segment_results(b, exp.body, s.outs, at, Mode.THREAD))
        return h.finish(b, s.base)

    mapping, layouts = best_mapping(h, exp.space, build)
    h.layouts.update(layouts)
    made = build(mapping, BLOCK.threads)
    threads = BLOCK.threads * row_width(made.kernel)
    if threads > BLOCK.threads:
        made = build(mapping, threads)
    h.layouts.clear()
    points = h.product(exp.space.widths)
    h.launch(made, h.ceil_div(points, mapping.chunk(threads)), points, made.cost, s.stm.loc)


SEGMAP: Table = (
    COLLECTIVE,
    Schedule("tensor cores", run_on_tensor_cores, on_tensor_cores),
    Schedule("register tiles", tiled, is_tiled),
    Schedule("mapped", run_mapped),
)


def over_points(
    b: Builder, space: SegSpace, mapping: Mapping, threads: int, body: Callable[[tuple[Operand, ...]], None]
) -> None:
    """`threads p` over the points of a block, which has room for `threads` of them and the mapping's factor; `body`
    gets the indices of the space."""
    total: Operand = ONE
    for width in space.widths:
        total = b.mul(total, b.operand(width))
    lo = b.mul(b.block, i64(mapping.chunk(threads)), "lo")
    hi = b.minimum(total, b.add(lo, i64(mapping.chunk(threads))), "hi")
    point = b.fresh("point", Prim.I64)
    with b.nested() as stms:
        body(bind_space(b, space, point, mapping.order))
    b.emit(kir.Threads(point, lo, hi, tuple(stms), threads // BLOCK.threads))
