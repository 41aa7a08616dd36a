"""Levels that nest: in a collective, what reduces a row is given to a collective of the level below, row by row.

    segmap^thread (i < n) { .. reduce ⊕ xs .. }    ⟶  segmap^warp (i < n) { .. segred^thread (k < m) ⊕ { xs[k] } .. }
    segred^thread (i < n, k < m) ⊕ { e }           ⟶  segmap^warp (i < n) { segred^thread (k < m) ⊕ { e } }

in a block. The threads of a warp read neighbours, and combine what they have without waiting for other warps. What is
beside the reduction are scalars. Rows that are known to be short stay with threads.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import (
    Body,
    Convert,
    Copied,
    Fix,
    Index,
    Iota,
    Level,
    Param,
    PrimOp,
    Rearrange,
    Replicate,
    Screma,
    SegMap,
    SegOp,
    SegRed,
    SegSpace,
    Stm,
)
from ...ir.rename import rename_lambda
from ...ir.traverse import rewritten
from ...ir.types import Names, Var
from ..context.widths import is_small

PLAIN = PrimOp | Convert | Copied | Index | Iota | Rearrange | Replicate
"""What takes no memory: a thread may compute it for each element."""


def rows_to(level: Level, body: Body, names: Names) -> Body:
    """The body of a collective with its rows reduced by those of a lower level."""

    def on(stm: Stm) -> tuple[Stm, ...] | None:
        match stm.exp:
            case SegMap(Level.THREAD, _, inner):
                return (_raised(level, stm, stm.exp, inner, names),)
            case SegRed(space=space, ends=None) as exp if len(space.dims) > 1 and not is_small(space.widths[-1]):
                return (_in_rows(level, stm, exp, names),)
            case exp:
                return (stm,) if isinstance(exp, SegOp) else None

    return rewritten(body, on)


def _raised(level: Level, stm: Stm, exp: SegMap, body: Body, names: Names) -> Stm:
    """A map of threads that each reduce one row, as one of collectives; any other as it is."""
    others = [inner for inner in body.stms if not isinstance(inner.exp, Screma)]
    row = next((inner for inner in body.stms if isinstance(inner.exp, Screma)), None)
    if row is None or len(others) + 1 < len(body.stms) or not all(isinstance(s.exp, PLAIN) for s in others):
        return stm
    soac = row.exp
    assert isinstance(soac, Screma)
    is_reduction = soac.reds and not soac.scans and soac.num_reds == len(soac.map.ret)
    types = (*exp.ret, *(p.type for p in soac.map.params), *soac.map.ret)
    if not is_reduction or is_small(soac.width) or any(t.shape for t in types):
        return stm
    k, f = names.fresh("k"), rename_lambda(soac.map, names)
    pairs = zip(f.params, soac.arrays, strict=True)
    elements = (Stm((p,), Index(array, (Fix(Var(k)),), True), (), (), row.loc) for p, array in pairs)
    inner = Body((*elements, *f.body.stms), f.body.result)
    segred = SegRed(Level.THREAD, SegSpace(((k, soac.width),)), soac.reds, inner, soac.map.ret, None)
    stms = tuple(replace(row, exp=segred) if inner is row else inner for inner in body.stms)
    return replace(stm, exp=replace(exp, level=level, body=Body(stms, body.result)))


def _in_rows(level: Level, stm: Stm, exp: SegRed, names: Names) -> Stm:
    """A reduction of rows as a map of reductions."""
    *outer, inner = exp.space.dims
    types = [t if k < exp.num_reds else t.array_of(inner[1]) for k, t in enumerate(exp.ret)]
    pat = tuple(Param(names.again(p.name), t) for p, t in zip(stm.pat, types, strict=True))
    row = Stm(pat, replace(exp, space=SegSpace((inner,))), stm.certs, (), stm.loc)
    body = Body((row,), tuple(Var(p.name) for p in pat))
    return replace(stm, exp=SegMap(level, SegSpace(tuple(outer)), body, tuple(types)))
