"""What a body holds, at any depth."""

from __future__ import annotations

from ..ir import core
from ..ir.core import Body, SegSpace
from ..ir.traverse import all_exps, bodies


def has_soac(body: Body) -> bool:
    """Does a body hold a SOAC? Then the threads of a block can be put there."""
    return any(isinstance(e, (core.Screma, core.Scatter, core.Hist)) for e in all_exps(body))


def has_segop(body: Body) -> bool:
    segops = (core.SegMap, core.SegRed, core.SegScan, core.SegScatter, core.SegHist)
    return any(isinstance(e, segops) for e in all_exps(body))


def loop_depth(body: Body) -> int:
    """How many SOACs and loops are nested in a body."""
    depth = 0
    for stm in body.stms:
        inner = max((loop_depth(b) for b in bodies(stm.exp)), default=0)
        depth = max(depth, inner + isinstance(stm.exp, (core.Screma, core.Scatter, core.Hist, core.Loop)))
    return depth


def nest_depth(space: SegSpace, body: Body) -> int:
    """How many loops are around the innermost access of a segop."""
    return len(space.dims) + loop_depth(body)
