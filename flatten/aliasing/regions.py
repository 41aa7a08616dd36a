"""Places in arrays as linear forms: which element a thread reads or writes, and which parts of an array do not meet.

An index is a sum of names times constants, and a constant. Sums wrap around as those of the program do; an index that
is used is in bounds, hence two of them that differ by a constant are apart by it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.core import (
    Assert,
    Body,
    Convert,
    Copied,
    DimIndex,
    Fix,
    If,
    Index,
    Loop,
    PrimOp,
    Rearrange,
    SegSpace,
    Slice,
    Stm,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import all_stms, bodies
from ...ir.types import Atom, Const, Name, Prim
from .classes import Sharing

Form = dict[Name | None, int]
"""The factor of each name, and the constant under None; none of them 0."""

Defined = Mapping[Name, Stm]

DEPTH = 8
"""How many definitions a form looks through."""


def form_of(atom: Atom, defined: Defined, depth: int = DEPTH) -> Form:
    """An i64 as a form, through the sums and products that define it."""
    if isinstance(atom, Const):
        return _cleaned({None: int(atom.value)})
    stm = defined.get(atom.name) if depth else None
    match stm.exp if stm is not None else None:
        case PrimOp(Op.ADD, Prim.I64, (x, y)):
            return _plus(form_of(x, defined, depth - 1), form_of(y, defined, depth - 1), 1)
        case PrimOp(Op.SUB, Prim.I64, (x, y)):
            return _plus(form_of(x, defined, depth - 1), form_of(y, defined, depth - 1), -1)
        case PrimOp(Op.MUL, Prim.I64, (x, Const(_, c)) | (Const(_, c), x)):
            return _plus({}, form_of(x, defined, depth - 1), int(c))
        case Copied(source):
            return form_of(source, defined, depth - 1)
        case _:
            return {atom.name: 1}


def plus(x: Form, y: Form) -> Form:
    """x + y"""
    return _plus(x, y, 1)


def minus(x: Form, y: Form) -> Form:
    """x - y"""
    return _plus(x, y, -1)


def _plus(x: Form, y: Form, factor: int) -> Form:
    """x + factor * y"""
    return _cleaned({name: x.get(name, 0) + factor * y.get(name, 0) for name in {**x, **y}})


def _cleaned(form: Form) -> Form:
    return {name: c for name, c in form.items() if c}


def at_most(x: Form, y: Form) -> bool:
    """Whether x <= y is known."""
    difference = _plus(y, x, -1)
    return set(difference) <= {None} and difference.get(None, 0) >= 0


# ---- parts of arrays -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """Indices of a dimension from `low` up to but without `high`."""

    low: Form
    high: Form

    def is_apart(self, other: Range) -> bool:
        return at_most(self.high, other.low) or at_most(other.high, self.low)


def _range_of(dim: DimIndex, defined: Defined) -> Range | None:
    """The indices of a dimension; None for a slice with steps."""
    match dim:
        case Fix(index):
            low = form_of(index, defined)
            return Range(low, _plus(low, {None: 1}, 1))
        case Slice(start, count, Const(_, 1)):
            low = form_of(start, defined)
            return Range(low, _plus(low, form_of(count, defined), 1))
        case Slice():
            return None


def are_apart(first: tuple[DimIndex, ...], second: tuple[DimIndex, ...], defined: Defined) -> bool:
    """Whether two parts of an array have no element in common, for all that is known."""
    pairs = ((_range_of(x, defined), _range_of(y, defined)) for x, y in zip(first, second, strict=True))
    return any(x is not None and y is not None and x.is_apart(y) for x, y in pairs)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an array that threads overwrite, an element each: the place of a thread, all places together (None in a
    dimension where they have gaps), and the numbers of threads by their indices."""

    own: tuple[Form, ...]
    all: tuple[Range | None, ...]
    widths: dict[Name, Form]

    def allows(self, place: tuple[Form, ...]) -> bool:
        """Whether a thread may read this place while others write theirs: its own, or one outside of the part."""
        ranges = zip(place, self.all, strict=True)
        return place == self.own or any(r is not None and self.swept(p).is_apart(r) for p, r in ranges)

    def swept(self, index: Form) -> Range:
        """All values of an index, from those that its threads have; their indices with a factor stay as they are."""
        low, high = dict(index), _plus(index, {None: 1}, 1)
        for name, width in self.widths.items():
            last = _plus(width, {None: 1}, -1)
            if index.get(name) == 1:
                low, high = _plus(low, {name: 1}, -1), _plus(_plus(high, {name: 1}, -1), last, 1)
            elif index.get(name) == -1:
                low, high = _plus(_plus(low, {name: 1}, 1), last, -1), _plus(high, {name: 1}, 1)
        return Range(low, high)


def part_of(dims: tuple[DimIndex, ...], space: SegSpace, defined: Defined) -> Part | None:
    """The part `dims`, whose slices the threads of the space fill; None where steps are not constant."""
    own = _through_slices(tuple([{name: 1} for name in space.indices]), dims, defined)
    if own is None:
        return None
    widths = {name: form_of(width, defined) for name, width in space.dims}
    return Part(own, tuple(_range_of(dim, defined) for dim in dims), widths)


# ---- what threads read ---------------------------------------------------------------------------------------------


def is_plain(body: Body) -> bool:
    """Scalar code: of arrays, threads read elements and make views."""
    return all(is_plain_stm(stm) for stm in body.stms)


def is_plain_stm(stm: Stm) -> bool:
    """Whether a statement is plain: one that a thread of a scatter can execute as well as one of a map."""
    match stm.exp:
        case Index() | Rearrange():
            return True
        case PrimOp() | Convert() | Assert():
            return True
        case Copied() | If() | Loop():
            return not any(p.type.shape for p in stm.pat) and all(map(is_plain, bodies(stm.exp)))
        case _:
            return False


def reads_only_own(body: Body, array: Name, part: Part, sharing: Sharing, defined: dict[Name, Stm]) -> bool:
    """Whether the threads of a plain body read of what may share memory with `array` only what `part` allows."""
    return reads_beside(body, array, part, sharing, defined) == {}


Place = tuple[Form, ...]


def reads_beside(
    body: Body, array: Name, part: Part, sharing: Sharing, defined: dict[Name, Stm]
) -> dict[Name, Place] | None:
    """What else the threads of a plain body read, by the names of what they read, with its places in `array`; None
    where one is not known."""
    stms = tuple(all_stms(body))
    defined.update((p.name, stm) for stm in stms for p in stm.pat)
    found: dict[Name, Place] = {}
    for stm in stms:
        match stm.exp:
            case Index(source, dims) if not stm.pat[0].type.shape and sharing.same(source, array):
                place = place_in(array, source, dims, defined)
                if place is None:
                    return None
                if not part.allows(place):
                    found[stm.pat[0].name] = place
            case _:
                pass
    return found


def place_in(array: Name, source: Name, dims: tuple[DimIndex, ...], defined: Defined) -> tuple[Form, ...] | None:
    """`source[dims]` as a place of `array`, of which `source` is a view; None where that is not known."""
    place = tuple(form_of(dim.index, defined) for dim in dims if isinstance(dim, Fix))
    while source != array:
        stm = defined.get(source)
        match stm.exp if stm is not None else None:
            case Index(below, slices):
                taken = _through_slices(place, slices, defined)
            case Rearrange(perm, below):
                taken = tuple(place[perm.index(k)] for k in range(len(perm)))
            case _:
                return None
        if taken is None:
            return None
        source, place = below, taken
    return place


def _through_slices(place: tuple[Form, ...], dims: tuple[DimIndex, ...], defined: Defined) -> tuple[Form, ...] | None:
    """The place of `xs[dims]` as one of `xs`."""
    found: list[Form] = []
    rest = iter(place)
    for dim in dims:
        match dim:
            case Fix(index):
                found.append(form_of(index, defined))
            case Slice(start, _, Const(_, stride)):
                found.append(_plus(form_of(start, defined), next(rest), int(stride)))
            case Slice():
                return None
    return tuple(found)
