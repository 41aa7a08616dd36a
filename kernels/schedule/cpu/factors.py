"""Factors of a reduction: what it computes of the row or of the column of its result alone.

    segmap (i < n, j < m) { redomap over k of f(a[i,k], b[k,j]) }      a, with what f computes of it, and b

`packed_panels.py` computes each once for many elements of the other index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Index, Param, SegSpace, Stm
from ....ir.records import dataclass
from ....ir.traverse import free_in_stm
from ....ir.types import Name, Var


@dataclass(frozen=True, slots=True)
class Factor:
    """What a reduction computes of one index of the result, and of the index along the sum: the operands, the
    statements of its function, and the values that others need of them."""

    index: Name
    operands: tuple[tuple[Param, Name], ...]
    stms: tuple[Stm, ...]
    values: tuple[Param, ...]

    def wanted(self) -> set[Name]:
        """What it needs of the body around the reduction."""
        return {array for _, array in self.operands}.union(*(free_in_stm(s) for s in self.stms))


def of_columns(space: SegSpace, body: Body, screma: core.Screma) -> Factor:
    """What depends on the column of the result."""
    return _factor(body, screma, space.dims[-1][0], space.dims[-2][0])


def of_rows(space: SegSpace, body: Body, screma: core.Screma, apart: set[Name]) -> Factor:
    """What depends on the row of the result and is more than a load, or loads of arrays whose elements are `apart`."""
    factor = _factor(body, screma, space.dims[-2][0], space.dims[-1][0])
    wanted = {p.name for s in screma.map.body.stms if not isinstance(s.exp, Index) for p in s.pat}
    wanted |= {p.name for p, array in zip(screma.map.params, screma.arrays, strict=True) if array in apart}
    return _only(screma, factor, [p for p in factor.values if p.name in wanted])


def _factor(body: Body, screma: core.Screma, index: Name, other: Name) -> Factor:
    own, foreign = (dependents(body.stms, {name}) for name in (index, other))
    operands, inner = list(zip(screma.map.params, screma.arrays, strict=True)), screma.map.body.stms
    own, foreign = (
        dependents(inner, names | {p.name for p, array in operands if array in names}) for names in (own, foreign)
    )
    is_own = {p.name: p.name in own and p.name not in foreign for p in (*screma.map.params, *_bound(inner))}
    used = {a.name for a in screma.map.body.result if isinstance(a, Var)}
    for stm in inner:
        if not all(is_own[p.name] for p in stm.pat):
            used |= set(free_in_stm(stm))
    values = [p for p in (*screma.map.params, *_bound(inner)) if is_own[p.name] and p.name in used]
    factor = Factor(index, (), (), ())
    return factor if any(p.type.shape for p in values) else _only(screma, factor, values)


def _only(screma: core.Screma, factor: Factor, values: list[Param]) -> Factor:
    """What computes these values."""
    wanted = {p.name for p in values}
    stms = needed(screma.map.body, wanted, ())
    used = wanted.union(*(free_in_stm(s) for s in stms))
    operands = zip(screma.map.params, screma.arrays, strict=True)
    return replace(
        factor, operands=tuple(o for o in operands if o[0].name in used), stms=tuple(stms), values=tuple(values)
    )


def _bound(stms: Iterable[Stm]) -> Iterator[Param]:
    return (p for stm in stms for p in stm.pat)


def dependents(stms: Iterable[Stm], names: set[Name]) -> set[Name]:
    """The names, and those whose statements depend on them."""
    found = set(names)
    for stm in stms:
        if not found.isdisjoint(free_in_stm(stm)):
            found |= {p.name for p in stm.pat}
    return found


def needed(body: Body, wanted: Iterable[Name], stops: Iterable[Stm]) -> list[Stm]:
    """The statements of a body that some of its names need; what `stops` need in turn is left out."""
    names, ends, found = set(wanted), list(stops), list[Stm]()
    for stm in reversed(body.stms):
        if not names.isdisjoint(p.name for p in stm.pat):
            found.append(stm)
            names |= set() if stm in ends else set(free_in_stm(stm))
    return found[::-1]
