r"""A scatter of concatenations as one scatter for each part; a histogram of them the same.

    scatter f (a ++ b) (x ++ y) d  ⟶  scatter f b y (scatter f a x d)                                      [F-Parts]

No concatenation is made, and each part is fused with what makes it. Which of several values for one place a scatter
keeps is not said, so that all may write at once (`PART`). What one cheap map makes for several parts is computed again
for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...ir.attributes import PART, is_opaque
from ...ir.core import Body, Concat, Hist, Param, Scatter, Screma, Stm
from ...ir.rename import rename_lambda
from ...ir.traverse import free_in_stm
from ...ir.types import Name, Names, Type
from ..aliasing.classes import Sharing
from ..aliasing.fresh import are_apart
from ..context.recompute_cost import weight_of
from .loops import is_scalar

PARTS = 8
"""A concatenation of more parts is made."""

AGAIN = 64
"""Up to this weight a map is computed again for each part."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a scatter stands in: types of all arrays, the statements before it, which arrays share memory."""

    names: Names
    sharing: Sharing
    types: Mapping[Name, Type]
    made: Mapping[Name, Stm]


def scatter_parts(
    body: Body, outside: Mapping[Name, Stm], names: Names, sharing: Sharing, types: Mapping[Name, Type]
) -> Body | None:
    """`body` with its first scatter or histogram of concatenations in parts; None if there is none. `outside`: the
    statements around it."""
    around = Around(names, sharing, types, {**outside, **{p.name: stm for stm in body.stms for p in stm.pat}})
    for k, stm in enumerate(body.stms):
        parts = _in_parts(stm, stm.exp, around) if isinstance(stm.exp, Scatter | Hist) and not is_opaque(stm) else None
        if parts is not None:
            return Body((*body.stms[:k], *parts, *body.stms[k + 1 :]), body.result)
    return None


def _in_parts(stm: Stm, exp: Scatter | Hist, around: Around) -> tuple[Stm, ...] | None:
    """A scatter or histogram for each part, each after the maps that are computed again for it."""
    columns = [_parts_of(array, around) for array in exp.arrays]
    if not columns or any(column is None for column in columns):
        return None
    rows = list(zip(*(column for column in columns if column is not None), strict=False))
    widths = [{around.types[array].shape[0] for array in row} for row in rows]
    same_number = len({len(column) for column in columns if column is not None}) == 1
    if not same_number or len(rows) > PARTS or any(len(width) != 1 for width in widths):
        return None
    maps = {x: s for row in rows for x in row if (s := around.made.get(x)) is not None and _is_shared(s, rows)}
    read = {x for row in rows for x in row} | {x for s in maps.values() for x in free_in_stm(s)}
    if any(around.sharing.consumed(x) and not _apart(x, exp.dests, around) for x in read):
        return None
    stms, dests = list[Stm](), exp.dests
    for k, row in enumerate(rows):
        again, arrays = _again(row, maps, around)
        pat = stm.pat if k == len(rows) - 1 else tuple(_fresh(p, around) for p in stm.pat)
        (width,) = widths[k]
        part = replace(exp, width=width, arrays=arrays, map=rename_lambda(exp.map, around.names), dests=dests)
        if isinstance(part, Hist):
            part = replace(part, op=replace(part.op, op=rename_lambda(part.op.op, around.names)))
        writes = isinstance(part, Scatter) and k and PART not in stm.attrs
        stms += [*again, replace(stm, pat=pat, exp=part, attrs=(*stm.attrs, PART) if writes else stm.attrs)]
        dests = tuple(p.name for p in pat)
    return tuple(stms)


def _parts_of(array: Name, around: Around) -> tuple[Name, ...] | None:
    """The parts of a concatenation."""
    stm = around.made.get(array)
    return stm.exp.arrays if stm is not None and isinstance(stm.exp, Concat) and not is_opaque(stm) else None


def _apart(x: Name, dests: tuple[Name, ...], around: Around) -> bool:
    return all(are_apart(x, dest, around.made) for dest in dests)


def _is_shared(stm: Stm, rows: list[tuple[Name, ...]]) -> bool:
    """Is a statement a cheap map that makes something for several parts?"""
    made = {p.name for p in stm.pat}
    if sum(not made.isdisjoint(row) for row in rows) < 2 or is_opaque(stm):
        return False
    match stm.exp:
        case Screma(_, _, f, (), ()):
            return all(map(is_scalar, f.body.stms)) and sum(weight_of(inner.exp) for inner in f.body.stms) <= AGAIN
        case _:
            return False


def _again(row: tuple[Name, ...], maps: Mapping[Name, Stm], around: Around) -> tuple[list[Stm], tuple[Name, ...]]:
    """The maps of a part once more, and the part's arrays as these give them."""
    stms, renamed = list[Stm](), dict[Name, Name]()
    for stm in dict.fromkeys(maps[x].pat[0].name for x in row if x in maps):
        old = around.made[stm]
        assert isinstance(old.exp, Screma)
        pat = tuple(_fresh(p, around) for p in old.pat)
        stms.append(replace(old, pat=pat, exp=replace(old.exp, map=rename_lambda(old.exp.map, around.names))))
        renamed |= {p.name: q.name for p, q in zip(old.pat, pat, strict=True)}
    return stms, tuple(renamed.get(x, x) for x in row)


def _fresh(p: Param, around: Around) -> Param:
    return Param(around.names.again(p.name), p.type)
