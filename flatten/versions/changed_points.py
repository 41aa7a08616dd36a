"""Code of the points of a round that change arrays in place, and of what is taken before for them to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...ir.core import Body, Copied, Copy, DimIndex, Fix, ForLoop, Index, Loop, Param, PrimOp, Slice, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..aliasing.regions import Defined, Form, form_of, minus
from ..context.checked_indices import checked_part
from ..context.statements import Statements
from .changed_arrays import Group, Step, Taken, in_body

Space = tuple[tuple[Name, Atom, Atom], ...]
"""For each dimension the index of threads, the index of the first point, and how many there are."""


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a group, and what each does: it gives the new elements."""

    group: Group
    space: Space
    body: Body


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop whose counter bounds the points, and where names are bound."""

    loop: Loop
    defined: Defined


def points_that_change(made: Statements, step: Step, counted: Counted | None) -> tuple[Points, ...]:
    """The points of each group; `made` grows by what they are counted by, and by what they read of others. Bounds are
    those that the counter of a loop keeps within the arrays, or are brought there."""
    spaces = [tuple(_dimensions(made, group, counted)) for group in step.groups]
    found: list[Points] = []
    copies: list[_Copied] = []
    for group, space, taken in zip(step.groups, spaces, step.taken, strict=True):
        reads = {read: _taken(made, part, space, counted, copies) for read, part in taken.items()}
        body = in_body(group.point, lambda s, m=reads, o=space: _read(s, m, o))
        found.append(Points(group, space, Body((*_indices(made, group, space), *body.stms), body.result)))
    return tuple(found)


def _dimensions(made: Statements, group: Group, counted: Counted | None) -> Iterator[tuple[Name, Atom, Atom]]:
    for (low, high), size in zip(group.box.dims, group.shape, strict=True):
        start: Atom = i64(0) if low is None else _bound(made, low, size, counted)
        end = size
        if high is not None:
            end = made.op("end", Op.MAX, start, _bound(made, high, size, counted))
        count = end if start == i64(0) else made.op("count", Op.SUB, end, start)
        yield made.flow.fresh_param("i", I64).name, start, count


def _bound(made: Statements, form: Form, size: Atom, counted: Counted | None) -> Atom:
    inside = counted is not None and stays_inside(counted, form, size)
    return _sum(made, form) if inside else _between(made, form, size)


def stays_inside(counted: Counted, form: Form, size: Atom) -> bool:
    """Whether a counter and a constant are never less than 0 nor more than `size`: k + c <= m + c - 1 for k < m."""
    match counted.loop.form:
        case ForLoop(index, bound, Prim.I64) if form.get(index) == 1 and form.keys() <= {index, None}:
            room = minus(form_of(size, counted.defined), form_of(bound, counted.defined))
            constant = form.get(None, 0)
            return constant >= 0 and room.keys() <= {None} and constant - 1 <= room.get(None, 0)
        case _:
            return False


def _between(made: Statements, form: Form, size: Atom) -> Atom:
    """The form, but no less than 0 and no more than `size`: of a number and a constant, whatever they are."""
    constant = i64(form.get(None, 0))
    match [(name, factor) for name, factor in form.items() if name is not None]:
        case [(name, 1)]:
            most = made.op("most", Op.SUB, size, constant)
            least = i64(-int(constant.value))
            inside = made.op("at", Op.MAX, made.op("at", Op.MIN, Var(name), most), least)
            return made.op("at", Op.ADD, inside, constant)
        case _:
            return made.op("at", Op.MAX, made.op("at", Op.MIN, _sum(made, form), size), i64(0))


def _sum(made: Statements, form: Form) -> Atom:
    total: Atom = i64(form.get(None, 0))
    for name, factor in form.items():
        if name is not None:
            term: Atom = Var(name) if factor == 1 else made.op("at", Op.MUL, Var(name), i64(factor))
            total = term if total == i64(0) else made.op("at", Op.ADD, total, term)
    return total


@dataclass(frozen=True, slots=True)
class _Copied:
    """A copy of a part for points in a space; `along`: for each of its dimensions the number of the index that goes
    along it, None where it has one element, or none since the array is empty."""

    part: Taken
    space: Space
    name: Name
    along: tuple[int | None, ...]

    def has(self, part: Taken, space: Space) -> bool:
        """Whether this is the copy of a part for another space, too."""
        along = [dim for dim in self.along if dim is not None]
        return self.part.is_as(part) and all(self.space[dim][1:] == space[dim][1:] for dim in along)


def _taken(made: Statements, part: Taken, space: Space, counted: Counted | None, copies: list[_Copied]) -> _Copied:
    """The copy of a part, one of those that are there or a new one."""
    found = next((copy for copy in copies if copy.has(part, space)), None)
    if found is None:
        found = _take(made, part, space, counted)
        copies.append(found)
    return found


def _take(made: Statements, part: Taken, space: Space, counted: Counted | None) -> _Copied:
    """A copy of the part. A place that is read under a condition may be out of bounds where no point reads it."""
    dims: list[DimIndex] = []
    along: list[int | None] = []
    for dim, size in zip(part.dims, part.shape, strict=True):
        if isinstance(dim, int):
            _, start, count = space[dim]
            dims.append(Slice(start, count, i64(1)))
            along.append(dim)
            continue
        at = _between(made, dim, made.op("last", Op.SUB, size, i64(1)))
        if counted is None or has_elements(counted, size):
            dims.append(Fix(at))
        else:
            dims.append(Slice(at, made.op("some", Op.MIN, size, i64(1)), i64(1)))
            along.append(None)
    prim = made.flow.known.types[part.old].prim
    counts = tuple(dim.count for dim in dims if isinstance(dim, Slice))
    certs = tuple(cert for check in part.checks for cert in _checked(made, check))
    view = made.let("x", Index(part.old, tuple(dims), True), Type(prim, counts), certs).name
    name = made.let("taken", Copy(view), Type(prim, counts)).name if counts else view
    return _Copied(part, space, name, tuple(along))


def has_elements(counted: Counted, size: Atom) -> bool:
    """Whether rounds of a loop say that a dimension has elements: there are as many of them."""
    match counted.loop.form:
        case ForLoop(_, bound, Prim.I64):
            return form_of(size, counted.defined) == form_of(bound, counted.defined)
        case _:
            return False


def _checked(made: Statements, stm: Stm) -> tuple[Name, ...]:
    """What says that a read is in bounds."""
    assert isinstance(stm.exp, Index)
    return checked_part(made.flow, made.stms, stm, made.flow.known.types[stm.exp.array])


def _read(stm: Stm, reads: Mapping[Name, _Copied], space: Space) -> Stm:
    """A statement that reads what was copied, there."""
    copy = reads.get(stm.pat[0].name) if stm.pat else None
    if copy is None:
        return stm
    places = tuple(Fix(i64(0) if dim is None else Var(space[dim][0])) for dim in copy.along)
    return replace(stm, exp=Index(copy.name, places, True) if places else Copied(Var(copy.name)))


def _indices(made: Statements, group: Group, space: Space) -> list[Stm]:
    """The indices of the points from those of threads."""
    stms: list[Stm] = []
    for index, (thread, start, _) in zip(group.indices, space, strict=True):
        exp = Copied(Var(thread)) if start == i64(0) else PrimOp(Op.ADD, Prim.I64, (Var(thread), start))
        made.flow.known.types[index] = I64
        stms.append(Stm((Param(index, I64),), exp, (), (), made.flow.output.loc))
    return stms
