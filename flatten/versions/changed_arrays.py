"""What a round of a loop may change in place: arrays of which a map makes the next value.

A point of the map reads its own element of such an array, what no point changes, and parts that are taken before: a
row, a column, an element, whose place all points share. It is in no order with other points, so that is all it may
read. The array must be the loop's own, and nothing may read its old value after the map.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ...ir.core import Apply, Body, DimIndex, Fix, ForLoop, If, Index, Loop, Param, PrimOp, Rearrange, Screma, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import substitute_exp
from ...ir.traverse import (
    add_types,
    all_stms,
    bound_in_body,
    consumed_by,
    free_in_stm,
    index_atoms,
    live,
    map_bodies,
    names_in_types,
)
from ...ir.types import Atom, Name, Var, i64
from ..aliasing.changed import Box, Changes, folded, hull
from ..aliasing.classes import made_of, overwritten_in
from ..aliasing.points import point_of
from ..aliasing.regions import Form, at_most, form_of, place_in, plus
from ..context.nest import Flow


@dataclass(frozen=True, slots=True)
class Target:
    """An array that a round changes: `old` is its name where it is to be changed, `same` are all its names in the
    round, those of its views too; `made`: the result of the map, by number, that becomes its next value."""

    old: Name
    same: frozenset[Name]
    made: Param
    result: int


@dataclass(frozen=True, slots=True)
class Group:
    """Targets of the same shape, the code of a point with these `indices`, and bounds of the points that change."""

    targets: tuple[Target, ...]
    indices: tuple[Name, ...]
    point: Body
    box: Box

    @property
    def shape(self) -> tuple[Atom, ...]:
        return self.targets[0].made.type.shape


@dataclass(frozen=True, slots=True)
class Taken:
    """A part of a target that points read, taken before any is changed: for each dimension the number of the point's
    index that goes along it, or the place. `checks`: reads at index 0, which may be out of bounds as those of all are.
    """

    old: Name
    dims: tuple[int | Form, ...]
    shape: tuple[Atom, ...]
    checks: tuple[Stm, ...]

    def is_as(self, other: Taken) -> bool:
        """Whether one copy will do for both."""
        same = self.old == other.old and self.dims == other.dims
        return same and bool(self.checks) == bool(other.checks)


@dataclass(frozen=True, slots=True)
class Step:
    """A map that changes arrays in place; `taken`: for each group what reads of its points become."""

    stm: Stm
    groups: tuple[Group, ...]
    taken: tuple[Mapping[Name, Taken], ...]


def step_of(flow: Flow, loop: Loop, k: int) -> Step | None:
    """Statement `k` of a loop, if it is a map that gives next values of arrays alone, and may make them in place."""
    stm = loop.body.stms[k]
    match stm.exp:
        case Screma(_, _, _, (), ()) if not stm.attrs:
            targets = tuple(_target(loop, k, result) for result in range(len(stm.pat)))
        case _:
            return None
    found = tuple(target for target in targets if target is not None)
    if len(found) < len(targets):
        return None
    by_shape: dict[tuple[Atom, ...], list[Target]] = {}
    for target in found:
        by_shape.setdefault(target.made.type.shape, []).append(target)
    defined = {p.name: s for s in loop.body.stms[:k] for p in s.pat}
    groups = tuple(_group(flow, loop, stm, tuple(own), defined) for own in by_shape.values())
    known = tuple(group for group in groups if group is not None)
    taken = tuple(_taken(found, group, known, defined) for group in known)
    reads = tuple(own for own in taken if own is not None)
    return Step(stm, known, reads) if len(reads) == len(groups) else None


def _target(loop: Loop, k: int, result: int) -> Target | None:
    """The array that a result of statement `k` is the next value of, if nothing reads it later, nor another parameter,
    in the next round, what it becomes."""
    stms, made = loop.body.stms, loop.body.stms[k].pat[result]
    given = made_of(made.name, stms)
    match [place for place, atom in enumerate(loop.body.result) if isinstance(atom, Var) and atom.name in given]:
        case [place] if loop.body.result[place] == Var(made.name):
            pass
        case _:
            return None
    if not made.type.shape or loop.params[place].type != made.type:
        return None
    param = loop.params[place].name
    same = frozenset(made_of(param, stms))
    later = {name for stm in stms[k + 1 :] for name in free_in_stm(stm)}
    others = {atom.name for atom in loop.body.result if isinstance(atom, Var)}
    old = _last(param, stms[:k], same)
    return None if old is None or same & (later | others) else Target(old, same, made, result)


def _last(name: Name, stms: tuple[Stm, ...], same: frozenset[Name]) -> Name | None:
    """What an array is called after writes to parts of it; None where more than such writes overwrite it."""
    for stm in stms:
        written = consumed_by(stm.exp)
        if name in written:
            name = stm.pat[written.index(name)].name
        elif isinstance(stm.exp, Apply) or same & overwritten_in(Body((stm,), ())):
            return None
    return name


def _group(flow: Flow, loop: Loop, stm: Stm, targets: tuple[Target, ...], defined: Mapping[Name, Stm]) -> Group | None:
    """What the points of targets of one shape do, and which change."""
    names = flow.context.names
    indices = tuple(names.fresh("i") for _ in targets[0].made.type.shape)
    point = point_of(names, stm, tuple(target.result for target in targets), indices, flow.known.numbers)
    if point is None:
        return None
    chosen = {p.name: s for s in all_stms(point) for p in s.pat}
    point = in_body(point, lambda stm: _two_reads(flow, stm, chosen))
    add_types(flow.known.types, point)
    every = {**defined, **{p.name: s for s in all_stms(point) for p in s.pat}}
    counter = {loop.form.index} if isinstance(loop.form, ForLoop) else set[Name]()
    small = counter | set(names_in_types(p.type for p in loop.params))

    def changes(target: Target) -> Changes:
        def is_old(atom: Atom) -> bool:
            made = every.get(atom.name) if isinstance(atom, Var) else None
            return made is not None and _place(target, made, every) == _own(indices)

        return Changes(indices, every, bound_in_body(point), small, is_old)

    own = [changes(target) for target in targets]
    box = hull(one.box(atom) for one, atom in zip(own, point.result, strict=True))
    if box is None:
        return None
    return Group(targets, indices, live(in_body(point, lambda s: folded(own[0], s, box))), box)


def _two_reads(flow: Flow, stm: Stm, defined: Mapping[Name, Stm]) -> Stm:
    """A read of one of two places, as of rows that are swapped, as a choice of two reads; so on for each of them."""
    dims = stm.exp.dims if isinstance(stm.exp, Index) and stm.exp.safe and not stm.pat[0].type.shape else ()
    for k, dim in enumerate(dims):
        atom = dim.index if isinstance(dim, Fix) else None
        match defined[atom.name].exp if isinstance(atom, Var) and atom.name in defined else None:
            case PrimOp(Op.SELECT, _, (cond, *places)):
                sides = (_at(flow, stm, (*dims[:k], Fix(place), *dims[k + 1 :]), defined) for place in places)
                return replace(stm, exp=If(cond, *sides))
            case _:
                pass
    return stm


def _at(flow: Flow, stm: Stm, dims: tuple[DimIndex, ...], defined: Mapping[Name, Stm]) -> Body:
    """A read of another place."""
    assert isinstance(stm.exp, Index)
    (param,) = stm.pat
    name = flow.context.names.again(param.name)
    read = replace(stm, pat=(replace(param, name=name),), exp=replace(stm.exp, dims=dims))
    return Body((_two_reads(flow, read, defined),), (Var(name),))


def _own(indices: tuple[Name, ...]) -> tuple[Form, ...]:
    return tuple({index: 1} for index in indices)


def _place(target: Target, stm: Stm, defined: Mapping[Name, Stm]) -> tuple[Form, ...] | None:
    """The place of the target that a statement reads; None where it reads none, or it is not known."""
    match stm.exp:
        case Index(source, dims) if not stm.pat[0].type.shape:
            return place_in(target.old, source, dims, defined)
        case _:
            return None


def in_body(body: Body, on: Callable[[Stm], Stm]) -> Body:
    """A body with `on` applied to its statements, at any depth."""
    stms = (on(replace(stm, exp=map_bodies(lambda inner: in_body(inner, on), stm.exp))) for stm in body.stms)
    return Body(tuple(stms), body.result)


# ---- what points read ----------------------------------------------------------------------------------------------


def _taken(
    targets: tuple[Target, ...], group: Group, groups: tuple[Group, ...], defined: Mapping[Name, Stm]
) -> Mapping[Name, Taken] | None:
    """What the points of a group read of targets otherwise than in their own place or where none changes, and elements
    that all of them read; None where it is no small part of them."""
    stms = tuple(all_stms(group.point))
    every = {**defined, **{p.name: s for s in stms for p in s.pat}}
    rank = max(len(one.indices) for one in groups)
    found: dict[Name, Taken] = {}
    for target in targets:
        same = set[Name]().union(*(made_of(name, stms) for name in target.same))
        for stm in stms:
            if not isinstance(stm.exp, Index) or stm.pat[0].type.shape or stm.exp.array not in same:
                continue
            place = _place(target, stm, every)
            stays = place is not None and target in group.targets and _may_read(group, place)
            part = _part(target, group, place) if place is not None else None
            along = rank if part is None else sum(isinstance(dim, int) for dim in part.dims)
            if stays and along > 0:
                continue
            checks = _checks(group, stm, every) if along < rank else None
            if part is None or checks is None:
                if stays:
                    continue
                return None
            found[stm.pat[0].name] = replace(part, checks=checks)
    return found


def _checks(group: Group, stm: Stm, defined: Mapping[Name, Stm]) -> tuple[Stm, ...] | None:
    """What of a read, and of the views in it, may be out of bounds, at index 0 of all points; None where these do not
    all execute it, or where it depends on other checks."""
    found: list[Stm] = []
    inside = bound_in_body(group.point)
    source: Stm | None = stm
    while source is not None and source.pat[0].name in inside:
        match source.exp:
            case Index(array, _, safe):
                found += () if safe else (source,)
            case Rearrange(_, array):
                pass
            case _:
                return None
        if source is not stm and source.certs:
            return None
        source = defined.get(array)
    whole = all(bounds == (None, None) for bounds in group.box.dims)
    if found and not (whole and all(one in group.point.stms for one in found)):
        return None
    known = (_at_zero(group, one, inside, defined) for one in reversed(found))
    at_zero = tuple(one for one in known if one is not None)
    return at_zero if len(at_zero) == len(found) else None


def _at_zero(group: Group, stm: Stm, inside: Collection[Name], defined: Mapping[Name, Stm]) -> Stm | None:
    """A read at index 0 of all points; None where its place depends on more."""
    at: dict[Name, Atom] = {}
    for atom in index_atoms(stm.exp.dims) if isinstance(stm.exp, Index) else ():
        form = {name: c for name, c in form_of(atom, defined).items() if name not in group.indices}
        if isinstance(atom, Var) and (atom.name in inside or atom.name in group.indices):
            if not form.keys() <= {None}:
                return None
            at[atom.name] = i64(form.get(None, 0))
    return replace(stm, exp=substitute_exp(stm.exp, at))


def _may_read(group: Group, place: tuple[Form, ...]) -> bool:
    """Whether a point may read a place while others change: its own, or one outside of the bounds of what changes."""
    if place == _own(group.indices):
        return True
    inside = set(group.indices) | bound_in_body(group.point).keys()
    for form, (low, high) in zip(place, group.box.dims, strict=True):
        if inside.isdisjoint(name for name in form if name is not None):
            after = plus(form, {None: 1})
            if (low is not None and at_most(after, low)) or (high is not None and at_most(high, form)):
                return True
    return False


def _part(target: Target, group: Group, place: tuple[Form, ...]) -> Taken | None:
    """The part of a target that all points of a group read at such a place."""
    inside = set(group.indices) | bound_in_body(group.point).keys()
    dims: list[int | Form] = []
    for form, size in zip(place, target.made.type.shape, strict=True):
        own = next((k for k, index in enumerate(group.indices) if form == {index: 1}), None)
        if own is None and not inside.isdisjoint(name for name in form if name is not None):
            return None
        if own is not None and (own in dims or group.shape[own] != size):
            return None
        dims.append(form if own is None else own)
    return Taken(target.old, tuple(dims), target.made.type.shape, ())
