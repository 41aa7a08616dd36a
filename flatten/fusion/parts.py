r"""A scatter of concatenations as one scatter for each part; a histogram of them the same, and of what a map gives of
each element as a literal.

    scatter f (a ++ b) (x ++ y) d  ⟶  scatter f b y (scatter f a x d)                                      [F-Parts]
    hist f (flatten (map (\x -> [g x, h x]) xs)) d  ⟶  hist f (map h xs) (hist f (map g xs) d)        [F-Literals]

No array of the parts is made, and each part is fused with what makes it. Which of several values for one place a
scatter keeps is not said, so that all may write at once (`PART`). F-Literals changes the order of the values for a bin:
the operator of a histogram has to commute. What one cheap map makes for several parts is computed again for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile

from ...ir.attributes import PART, is_opaque
from ...ir.core import ArrayLit, Body, Concat, Hist, Param, Reshape, Scatter, Screma, Stm
from ...ir.records import dataclass
from ...ir.rename import rename_lambda
from ...ir.traverse import free_in_stm
from ...ir.types import Atom, Name, Names, Type, Var
from ..aliasing.classes import Sharing
from ..context.recompute_cost import weight_of
from .graph import node_of, overwrites
from .loops import is_scalar

PARTS = 8
"""A concatenation of more parts is made."""

AGAIN = 64
"""Up to this weight a map is computed again for each part."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a scatter stands in: types of all arrays, which share memory, what makes them; the statements of its body up
    to it."""

    names: Names
    sharing: Sharing
    types: Mapping[Name, Type]
    made: Mapping[Name, Stm]
    stms: Sequence[Stm]


def scatter_parts(
    body: Body, outside: Mapping[Name, Stm], names: Names, sharing: Sharing, types: Mapping[Name, Type]
) -> Body | None:
    """`body` with its first scatter or histogram of concatenations, or of literals, in parts; None if there is none.
    `outside`: the statements around it."""
    made = {**outside, **{p.name: stm for stm in body.stms for p in stm.pat}}
    for k, stm in enumerate(body.stms):
        if not isinstance(stm.exp, Scatter | Hist) or is_opaque(stm):
            continue
        parts = _in_parts(stm, stm.exp, Around(names, sharing, types, made, body.stms[: k + 1]))
        if parts is not None:
            return Body((*body.stms[:k], *parts, *body.stms[k + 1 :]), body.result)
    return None


def _in_parts(stm: Stm, exp: Scatter | Hist, around: Around) -> tuple[Stm, ...] | None:
    """A scatter or histogram for each part, each after the maps that are computed again for it."""
    parts = _of_concatenations(exp, around) or _of_literals(exp, around)
    if parts is None:
        return None
    stms, dests = list[Stm](), exp.dests
    certs = tuple(dict.fromkeys((*stm.certs, *(cert for array in exp.arrays for cert in around.made[array].certs))))
    for k, (again, width, arrays) in enumerate(parts):
        pat = stm.pat if k == len(parts) - 1 else tuple(_fresh(p, around) for p in stm.pat)
        part = replace(exp, width=width, arrays=arrays, map=rename_lambda(exp.map, around.names), dests=dests)
        if isinstance(part, Hist):
            part = replace(part, op=replace(part.op, op=rename_lambda(part.op.op, around.names)))
        writes = isinstance(part, Scatter) and k and PART not in stm.attrs
        attrs = (*stm.attrs, PART) if writes else stm.attrs
        stms += [*again, replace(stm, pat=pat, exp=part, certs=certs, attrs=attrs)]
        dests = tuple(p.name for p in pat)
    return tuple(stms)


Part = tuple[list[Stm], Atom, tuple[Name, ...]]
"""The maps that make the arrays of a part, its width, these arrays."""


def _of_concatenations(exp: Scatter | Hist, around: Around) -> list[Part] | None:
    """The parts, if all arrays are concatenations of arrays of the same widths that may be read later."""
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
    if not _may_read(read, {*exp.arrays, *maps}, around):
        return None
    made = [_again(row, maps, around) for row in rows]
    return [(again, width, arrays) for (again, arrays), (width,) in zip(made, widths, strict=True)]


def _of_literals(exp: Scatter | Hist, around: Around) -> list[Part] | None:
    """A part for each element of the literals, if all arrays are made of such by cheap maps."""
    found = [one for array in exp.arrays if (one := _literal_of(array, around)) is not None]
    if not found or len(found) < len(exp.arrays) or (isinstance(exp, Hist) and not exp.op.comm):
        return None
    sizes, read = {(one.screma.width, len(one.elems)) for one in found}, {x for one in found for x in one.read}
    if len(sizes) != 1 or not _may_read(read, {one.stm.pat[0].name for one in found}, around):
        return None
    ((width, count),) = sizes
    parts = ([one.column(k, around.names) for one in found] for k in range(count))
    return [(maps, width, tuple(stm.pat[0].name for stm in maps)) for maps in parts] if 1 < count <= PARTS else None


@dataclass(frozen=True, slots=True)
class _Literals:
    """A map whose rows are literals, and their elements; `read`: what the map needs."""

    stm: Stm
    screma: Screma
    elems: tuple[Atom, ...]
    row: Type
    read: Iterable[Name]

    def column(self, k: int, names: Names) -> Stm:
        """A map of element k."""
        f = self.screma.map
        stms = tuple(inner for inner in f.body.stms if not isinstance(inner.exp, ArrayLit))
        made = replace(f, body=Body(stms, (self.elems[k],)), ret=(self.row,))
        pat = (Param(names.again(self.stm.pat[0].name), Type(self.row.prim, (self.screma.width,))),)
        return replace(self.stm, pat=pat, exp=replace(self.screma, map=rename_lambda(made, names)))


def _literal_of(array: Name, around: Around) -> _Literals | None:
    """The cheap map that makes the rows of a flattened array as literals of scalars."""
    match around.made.get(array):
        case Stm(exp=Reshape(_, rows), certs=(), attrs=()) if len(around.types[array].shape) == 1:
            stm = around.made.get(rows)
        case _:
            return None
    match stm:
        case Stm(exp=Screma(_, _, f, (), ()) as screma) if not is_opaque(stm):
            result = dict(zip((p.name for p in stm.pat), f.body.result, strict=True))[rows]
        case _:
            return None
    literal = next((s.exp for s in f.body.stms if Var(s.pat[0].name) == result and not s.certs), None)
    rest = tuple(s for s in f.body.stms if not isinstance(s.exp, ArrayLit))
    read = {name for s in rest for name in free_in_stm(s)}
    if any(isinstance(s.exp, ArrayLit) and s.pat[0].name in read for s in f.body.stms):
        return None
    if not isinstance(literal, ArrayLit) or literal.row.shape or not _is_cheap(rest):
        return None
    return _Literals(stm, screma, literal.elems, literal.row, free_in_stm(stm))


def _may_read(read: Iterable[Name], made: set[Name], around: Around) -> bool:
    """Whether these arrays are, up to the last part, what they were where the first of those in `made` was made."""
    changed = [x for x in read if around.sharing.consumed(x)]
    if not changed:
        return True
    behind = dropwhile(lambda stm: made.isdisjoint(p.name for p in stm.pat), around.stms)
    nodes = [node_of(stm) for stm in behind]
    is_here = made <= {p.name for node in nodes for p in node.stm.pat}
    return is_here and not any(overwrites(node, x, around.sharing, around.made) for node in nodes for x in changed)


def _parts_of(array: Name, around: Around) -> tuple[Name, ...] | None:
    """The parts of a concatenation."""
    stm = around.made.get(array)
    return stm.exp.arrays if stm is not None and isinstance(stm.exp, Concat) and not is_opaque(stm) else None


def _is_shared(stm: Stm, rows: list[tuple[Name, ...]]) -> bool:
    """Is a statement a cheap map that makes something for several parts?"""
    made = {p.name for p in stm.pat}
    if sum(not made.isdisjoint(row) for row in rows) < 2 or is_opaque(stm):
        return False
    match stm.exp:
        case Screma(_, _, f, (), ()):
            return _is_cheap(f.body.stms)
        case _:
            return False


def _is_cheap(stms: tuple[Stm, ...]) -> bool:
    return all(map(is_scalar, stms)) and sum(weight_of(stm.exp) for stm in stms) <= AGAIN


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
