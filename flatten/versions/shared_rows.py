"""What several segops of a collective read of an array outside is read once, and kept in the collective's memory.

    y = segred^thread (k < m) ⊕ { xs[i, k] }; segmap^thread (k < m) { .. xs[i, k] .. }
    ⟶  (y, row) = segred^thread (k < m) ⊕ { (x, x) with x = xs[i, k] }; segmap^thread (k < m) { .. row[k] .. }

Golden 4.2. The first of them makes the row beside its own results; it must be executed if the others are, so only
statements of one list share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import Body, Fix, Index, Param, SegMap, SegOp, SegRed, SegScan, Stm
from ...ir.traverse import bound_in_body
from ...ir.types import Atom, Name, Names, Var
from ..aliasing.classes import overwritten_in

Key = tuple[Name, tuple[int | Atom, ...], tuple[Atom, ...]]
"""An array, for each of its dimensions the dimension of the space that it follows or a fixed index, and the widths of
the space: reads of one key at one point are of one element."""


def read_once(body: Body, names: Names) -> Body:
    """The body of a collective with the rows that its segops share."""
    inside, stms = {*bound_in_body(body), *overwritten_in(body)}, list(body.stms)
    readers: dict[Key, list[int]] = defaultdict(list)
    for k, stm in enumerate(stms):
        for key in dict.fromkeys(key for key, _ in _reads(stm) if key[0] not in inside):
            readers[key].append(k)
    for key, (first, *others) in readers.items():
        if others and _can_map(stms[first]):
            row = names.fresh(key[0].base)
            stms[first] = _with_row(stms[first], key, row)
            for k in others:
                stms[k] = _from_row(stms[k], key, row)
    return Body(tuple(stms), body.result)


def _reads(stm: Stm) -> Iterator[tuple[Key, Stm]]:
    """The elements that each point of a segop reads: one for each point of its space."""
    exp = stm.exp
    if not isinstance(exp, SegOp):
        return
    indices, bound = exp.space.indices, {*bound_in_body(exp.body), *exp.space.indices}
    for inner in exp.body.stms:
        match inner:
            case Stm(exp=Index(array, dims, True), certs=()):
                fixed = [dim.index for dim in dims if isinstance(dim, Fix)]
                follows = [a.name for a in fixed if isinstance(a, Var) and a.name in bound]
                if len(fixed) == len(dims) and sorted(follows, key=str) == sorted(indices, key=str):
                    places = (indices.index(a.name) if isinstance(a, Var) and a.name in bound else a for a in fixed)
                    yield (array, tuple(places), exp.space.widths), inner
            case _:
                pass


def _can_map(stm: Stm) -> bool:
    """Whether a segop can give what it maps beside its results."""
    return isinstance(stm.exp, SegMap | SegScan) or (isinstance(stm.exp, SegRed) and stm.exp.ends is None)


def _with_row(stm: Stm, key: Key, row: Name) -> Stm:
    """The segop with what it reads as one more result."""
    exp = stm.exp
    assert isinstance(exp, SegMap | SegScan | SegRed)
    element = next(inner.pat[0] for found, inner in _reads(stm) if found == key)
    body = Body(exp.body.stms, (*exp.body.result, Var(element.name)))
    pat = (*stm.pat, Param(row, element.type.array_of(*exp.space.widths)))
    return replace(stm, pat=pat, exp=replace(exp, body=body, ret=(*exp.ret, element.type)))


def _from_row(stm: Stm, key: Key, row: Name) -> Stm:
    """The segop reading the row."""
    exp = stm.exp
    assert isinstance(exp, SegOp)
    taken = {inner.pat[0].name for found, inner in _reads(stm) if found == key}
    own = Index(row, tuple(Fix(Var(name)) for name in exp.space.indices), True)
    stms = (replace(s, exp=own) if s.pat and s.pat[0].name in taken else s for s in exp.body.stms)
    return replace(stm, exp=replace(exp, body=Body(tuple(stms), exp.body.result)))
