"""What a collective executes: segops inside a segop of a higher level, as the SOACs that they are.

    segmap^block Σ { .. segscan^thread (j < m, k < p) ⊕ { e } .. }
      ⟶  segmap Σ { .. map (λj → scanomap ⊕ (λk → e) (iota p)) (iota m) .. }

Inside a block a SOAC is spread over the block's threads, and which of its dimensions is, is chosen by cost
(`kernels/schedule/soacs.py`); an array between two of them is the block's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import core
from ...ir.core import Body, Exp, ForLoop, Iota, Lambda, Param, Stm
from ...ir.traverse import map_bodies
from ...ir.types import I64, Atom, Name, Names, Prim, Type, Var, i64

Dims = tuple[tuple[Name, Atom], ...]
SoacOf = Callable[[Name, Param, Atom], Exp]
"""A SOAC over an index array, given the array, the index and the width."""


def as_soacs(names: Names, body: Body, stays: Callable[[Stm], bool] = lambda stm: False) -> Body:
    """`body` with SOACs in place of segops, but those that may stay."""
    return Body(tuple(made for stm in body.stms for made in _statement(names, stm, stays)), body.result)


def _statement(names: Names, stm: Stm, stays: Callable[[Stm], bool]) -> tuple[Stm, ...]:
    if stays(stm):
        return (stm,)
    match stm.exp:
        case core.SegMap(level, space, body, ret):
            inner = body if level is core.Level.THREAD else as_soacs(names, body, stays)
            return _in_maps(names, space.dims, stm, _screma(inner, ret, (), ()))
        case core.SegRed(_, space, reds, body, ret):
            return _in_maps(names, space.dims, stm, _screma(body, ret, (), reds))
        case core.SegScan(_, space, scans, body, ret):
            return _in_maps(names, space.dims, stm, _screma(body, ret, scans, ()))
        case core.SegScatter() | core.SegHist() as exp:
            return _in_loops(names, exp.space.dims, stm, exp, exp.dests)
        case exp:
            return (replace(stm, exp=map_bodies(lambda inner: as_soacs(names, inner, stays), exp)),)


def _screma(
    body: Body, ret: tuple[Type, ...], scans: tuple[core.Reduction, ...], reds: tuple[core.Reduction, ...]
) -> SoacOf:
    return lambda iota, index, width: core.Screma(width, (iota,), Lambda((index,), body, ret), scans, reds)


def _iota(names: Names, width: Atom, like: Stm) -> Stm:
    param = Param(names.fresh("iota"), I64.array_of(width))
    return Stm((param,), Iota(width, i64(0), i64(1), Prim.I64), (), (), like.loc)


def _in_maps(names: Names, dims: Dims, stm: Stm, soac_of: SoacOf) -> tuple[Stm, ...]:
    """The SOAC over the innermost dimension, in a map over each other one."""
    (name, width), *rest = dims
    index, iota = Param(name, I64), _iota(names, width, stm)
    array = iota.pat[0].name
    if not rest:
        return iota, replace(stm, exp=soac_of(array, index, width))
    rows = tuple(Param(names.again(p.name), p.type.row()) for p in stm.pat)
    inner = _in_maps(names, tuple(rest), replace(stm, pat=rows), soac_of)
    f = Lambda((index,), Body(inner, tuple(Var(p.name) for p in rows)), tuple(p.type for p in rows))
    return iota, replace(stm, exp=core.Screma(width, (array,), f, (), ()))


def _in_loops(
    names: Names, dims: Dims, stm: Stm, exp: core.SegScatter | core.SegHist, dests: tuple[Name, ...]
) -> tuple[Stm, ...]:
    """The writes of the innermost dimension, in a loop over each other one that hands on the destinations."""
    (name, width), *rest = dims
    if not rest:
        iota = _iota(names, width, stm)
        return iota, replace(stm, exp=_write(exp, iota.pat[0].name, Param(name, I64), width, stm.pat, dests))
    carried = tuple(Param(names.again(p.name), p.type) for p in stm.pat)
    results = tuple(Param(names.again(p.name), p.type) for p in stm.pat)
    inner = _in_loops(names, tuple(rest), replace(stm, pat=results), exp, tuple(p.name for p in carried))
    body = Body(inner, tuple(Var(p.name) for p in results))
    inits = tuple(Var(dest) for dest in dests)
    return (replace(stm, exp=core.Loop(carried, inits, ForLoop(name, width, Prim.I64), body)),)


def _write(
    exp: core.SegScatter | core.SegHist,
    iota: Name,
    index: Param,
    width: Atom,
    pat: tuple[Param, ...],
    dests: tuple[Name, ...],
) -> core.Scatter | core.Hist:
    values = (Type(p.type.prim, p.type.shape[exp.rank :]) for p in pat)
    f = Lambda((index,), exp.body, (*(I64,) * exp.rank, *values))
    match exp:
        case core.SegScatter():
            return core.Scatter(width, (iota,), f, dests, exp.rank)
        case core.SegHist():
            return core.Hist(width, (iota,), f, exp.op, dests, exp.rank)
