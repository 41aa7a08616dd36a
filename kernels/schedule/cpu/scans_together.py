"""Scans that a filter reads at its own elements, as one scan with what it counts.

    ys = segscan (i < n) ⊕ { e };  counts = segscan (i < n) (+) { keep };  segscatter (i < n) { .. ys[i] .. }

    ⟶   ys, counts = segscan (i < n) ⊕, (+) { e, keep };  segscatter (i < n) { .. ys[i] .. }

A filter in one pass (`filters.py`) then stores what it keeps of ys where that is computed, and ys is no array: sums of
segments, of which the last elements are kept. Only where nothing else reads ys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Stm
from ....ir.rename import rename_exp, substitute_body
from ....ir.traverse import free_in_body, free_in_stm
from ....ir.types import Atom, Name, Names, Var
from ..queries import may_wait
from .segscan import scanned_in


def scans_together(
    names: Names, stms: tuple[Stm, ...], result: tuple[Atom, ...], counts: Mapping[Name, core.SegScatter]
) -> tuple[Stm, ...]:
    """The statements with such scans joined; `counts`: the scatters of filters by the counts that they read."""
    for name, scatter in counts.items():
        for stm in stms:
            if isinstance(stm.exp, core.SegScan) and any(p.name == name for p in stm.pat):
                stms = _joined(names, stms, result, stm, scatter)
                break
    return stms


def _joined(
    names: Names, stms: tuple[Stm, ...], result: tuple[Atom, ...], count: Stm, scatter: core.SegScatter
) -> tuple[Stm, ...]:
    """The statements with the scans before `count` joined with it that `scatter` alone reads."""
    read, end = free_in_body(scatter.body), next(k for k, stm in enumerate(stms) if stm is count)
    asked = {atom.name for atom in result if isinstance(atom, Var)}
    for other in stms[:end]:
        mine = {p.name for p in other.pat}
        users = (stm for stm in stms if stm is not other and stm.exp is not scatter)
        if not any(name in read for name in mine) or mine & asked or not _fit(other, count):
            continue
        if any(name in mine for stm in users for name in free_in_stm(stm)):
            continue
        if may_wait(other, stms[next(k for k, stm in enumerate(stms) if stm is other) + 1 : end]):
            both = _both(names, other, count)
            return tuple(both if stm is count else stm for stm in stms if stm is not other)
    return stms


def _fit(one: Stm, other: Stm) -> bool:
    """Scans by threads over one dimension of the same width."""
    match one.exp, other.exp:
        case core.SegScan(level, space), core.SegScan(other_level, other_space) if level is other_level:
            return level is core.Level.THREAD and len(space.dims) == 1 and space.widths == other_space.widths
        case _:
            return False


def _both(names: Names, one: Stm, other: Stm) -> Stm:
    """One scan of the components of both, at the place of the second."""
    x, y = rename_exp(one.exp, names), other.exp
    assert isinstance(x, core.SegScan)
    assert isinstance(y, core.SegScan)
    m, n = scanned_in(x), scanned_in(y)
    own = substitute_body(x.body, {x.space.indices[0]: Var(y.space.indices[0])})
    results = (*own.result[:m], *y.body.result[:n], *own.result[m:], *y.body.result[n:])
    pat = (*one.pat[:m], *other.pat[:n], *one.pat[m:], *other.pat[n:])
    ret = (*x.ret[:m], *y.ret[:n], *x.ret[m:], *y.ret[n:])
    body = Body((*own.stms, *y.body.stms), results)
    return replace(other, pat=pat, exp=replace(y, scans=(*x.scans, *y.scans), body=body, ret=ret))
