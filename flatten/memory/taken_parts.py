"""What the threads of a map in place read of each other's places, as copies that are taken before.

    let a' = segmap (i < n, j < m) { .. a[i, k] .. } in a with [:, :] <- a'
      ⟶  let c = copy a[:, k] in segscatter (i < n, j < m) a { .. c[i] .. }                                  [P-Take]

A copy goes along some of the threads' dimensions, not all, and has one place in the others, which all threads share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.core import Body, Copy, DimIndex, Fix, Index, Param, SegMap, Slice, Stm, Update
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.traverse import all_stms, bound_in_body, rewritten
from ...ir.types import Atom, Name, Type, Var, i64
from ..aliasing.regions import Form, Part, Place, part_of
from .scope import Scope, op_in


def can_be_taken(scope: Scope, map_: SegMap, update: Update, part: Part, beside: Mapping[Name, Place]) -> bool:
    """Whether all these reads are of copies that are smaller than the part."""
    reads = [s for s in all_stms(map_.body) if isinstance(s.exp, Index)]
    safe = {s.pat[0].name for s in all_stms(map_.body) if isinstance(s.exp, Index) and s.exp.safe}
    if beside and any(s.pat[0].type.shape and (s.certs or s.pat[0].name not in safe) for s in reads):
        return False  # a view that says whether a place is there
    inside = set(map_.space.indices) | bound_in_body(map_.body).keys()
    slices = sum(isinstance(dim, Slice) for dim in update.dims)
    for name, place in beside.items():
        along = [dim for form, own, dim in zip(place, part.own, update.dims, strict=True) if form == own]
        shared = (form for form, own in zip(place, part.own, strict=True) if form != own)
        if name not in safe or sum(isinstance(dim, Slice) for dim in along) >= slices:
            return False
        if any(key in inside for form in shared for key in form):
            return False
    return True


def take(scope: Scope, map_: Stm, update: Stm, beside: Mapping[Name, Place]) -> tuple[list[Stm], Stm]:
    """The copies, and the map that reads them."""
    exp, to = map_.exp, update.exp
    assert isinstance(exp, SegMap)
    assert isinstance(to, Update)
    part = part_of(to.dims, exp.space, scope.defined)
    assert part is not None
    stms: list[Stm] = []
    made: list[tuple[Place, Index]] = []
    reads: dict[Name, Index] = {}
    for name, place in beside.items():
        known = next((read for other, read in made if other == place), None)
        if known is None:
            known = _take(scope, stms, to, part, place, exp.space.indices, update.loc)
            made.append((place, known))
        reads[name] = known
    return stms, replace(map_, exp=replace(exp, body=_reading(exp.body, reads)))


def _take(
    scope: Scope, stms: list[Stm], to: Update, part: Part, place: Place, indices: tuple[Name, ...], loc: Loc
) -> Index:
    """Copies a part of the array; gives what reads an element of it. A place that is read under a condition may be out
    of bounds where no thread reads it, or the dimension be empty."""
    threads = iter(indices)
    dims: list[DimIndex] = []
    at: list[Fix] = []
    for form, own, dim, size in zip(place, part.own, to.dims, scope.types[to.array].shape, strict=True):
        thread = next(threads) if isinstance(dim, Slice) else None
        if form == own and isinstance(dim, Slice) and thread is not None:
            dims.append(dim)
            at.append(Fix(Var(thread)))
            continue
        last = op_in(scope, stms, Op.SUB, size, i64(1), loc)
        inside = op_in(scope, stms, Op.MIN, _sum(scope, stms, form, loc), last, loc)
        start = op_in(scope, stms, Op.MAX, inside, i64(0), loc)
        dims.append(Slice(start, op_in(scope, stms, Op.MIN, size, i64(1), loc), i64(1)))
        at.append(Fix(i64(0)))
    array = scope.types[to.array]
    type_ = Type(array.prim, tuple(dim.count for dim in dims if isinstance(dim, Slice)))
    view, taken = (Param(scope.names.fresh(base), type_) for base in ("x", "taken"))
    stms.append(Stm((view,), Index(to.array, tuple(dims), True), (), (), loc))
    stms.append(Stm((taken,), Copy(view.name), (), (), loc))
    scope.defined.update({view.name: stms[-2], taken.name: stms[-1]})
    scope.types.update({view.name: type_, taken.name: type_})
    scope.uses[view.name] = scope.uses[taken.name] = 1
    scope.sharing.link(to.array, view.name)
    return Index(taken.name, tuple(at), True)


def _sum(scope: Scope, stms: list[Stm], form: Form, loc: Loc) -> Atom:
    total: Atom = i64(form.get(None, 0))
    for name, factor in form.items():
        if name is not None:
            total = op_in(scope, stms, Op.ADD, total, op_in(scope, stms, Op.MUL, Var(name), i64(factor), loc), loc)
    return total


def _reading(body: Body, reads: Mapping[Name, Index]) -> Body:
    """The body that reads copies."""
    return rewritten(
        body, lambda s: (replace(s, exp=reads[s.pat[0].name]),) if s.pat and s.pat[0].name in reads else None
    )
