"""A map whose rows a histogram alone takes gives them in a map of its own, which the histogram swallows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Param, Screma, Stm
from ...ir.types import Names
from ..context.late_rows import late_rows


def split_at_rows(stm: Stm, wanted: Sequence[int], names: Names) -> tuple[Stm, Stm] | None:
    r"""xs, rss = map (\y -> S; T; x, r) ys  ⟶  xs, cs = map (\y -> S; x, c) ys;  rss = map (\y c -> T; r) ys cs
    [F-LateRows]

    For the rows among the results `wanted`, which nothing but the histogram needs."""
    exp = stm.exp
    assert isinstance(exp, Screma)
    cut = late_rows(exp.map, wanted, names)
    if cut is None:
        return None
    early = tuple(p for k, p in enumerate(stm.pat) if k not in cut.late)
    scalars = cut.first.ret[len(early) :]
    between = tuple(Param(names.fresh("late"), t.array_of(exp.width)) for t in scalars)
    arrays = (*(p.name for p in between), *(exp.arrays[k] for k in cut.used))
    first = replace(stm, pat=(*early, *between), exp=replace(exp, map=cut.first))
    rows = tuple(stm.pat[k] for k in cut.late)
    return first, replace(stm, pat=rows, exp=replace(exp, arrays=arrays, map=cut.second))
