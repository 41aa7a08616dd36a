"""What a body holds, at any depth."""

from __future__ import annotations

from ...ir import core
from ...ir.core import Body, SegSpace, Stm
from ...ir.traverse import all_exps, bodies
from ...ir.types import Name


def has_soac(body: Body) -> bool:
    """Does a body hold a SOAC? Then the threads of a block can be put there."""
    return any(isinstance(e, (core.Screma, core.Scatter, core.Hist)) for e in all_exps(body))


def has_segop(body: Body) -> bool:
    """Whether a body holds a segop."""
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


def array_origins(body: Body) -> dict[Name, Name]:
    """For each array a body makes, the statement's name whose memory it ends in: updates are in place."""
    origins: dict[Name, Name] = {}
    for stm in body.stms:
        match stm.exp:
            case core.Update(array):
                if array in origins:
                    origins[stm.pat[0].name] = origins[array]
            case core.Scatter(dests=dests) | core.Hist(dests=dests):
                for param, dest in zip(stm.pat, dests, strict=True):
                    if dest in origins:
                        origins[param.name] = origins[dest]
            case (
                core.Screma() | core.Loop() | core.If() | core.Scratch() | core.ArrayLit() | core.Concat() | core.Copy()
            ):
                origins.update({p.name: p.name for p in stm.pat if p.type.shape})
            case _:
                pass
    return origins


def stays(stm: Stm) -> bool:
    """Is it a map of threads, which needs no SOACs in its place?"""
    return isinstance(stm.exp, core.SegMap) and stm.exp.level is core.Level.THREAD
