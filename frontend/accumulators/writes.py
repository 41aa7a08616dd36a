"""What rows write to accumulators, outside of the rows: arrays of indices and values, and how they are combined."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Hist, Reduction, Scatter
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Name, Type, Var
from ..building.code import Code, in_range

Current = dict[Name, Var]
"""For accumulators their arrays as they are now."""


@dataclass(frozen=True, slots=True)
class Writes:
    """For each point of `nest`, `values` there are combined by `op` into the accumulators at `index`, or written over
    what is there: arrays over the nest, and of indices also scalars, which are the same at all points."""

    accs: tuple[Name, ...]
    nest: tuple[Atom, ...]
    index: tuple[Atom, ...]
    values: tuple[Atom, ...]
    op: Reduction | None


def is_one_place(code: Code, writes: Writes) -> bool:
    """Whether everything goes to one place, where it can be combined before."""
    return writes.op is not None and not any(code.type_of(index).shape for index in writes.index)


def combined(code: Code, writes: Writes) -> tuple[Atom, ...]:
    """The values of all points as one."""
    assert writes.op is not None
    arrays = _flat(code, writes, writes.values)
    op = Reduction(code.fresh_lambda(writes.op.op), writes.op.neutral, True)
    return code.screma(code.reduction(code.product(writes.nest), arrays, op), "sum")


def write(code: Code, current: Current, writes: Writes) -> None:
    """Emits the writes to accumulators that are arrays here."""
    if not writes.nest:
        write_one(code, current, writes)
        return
    rank = len(writes.index)
    wide = [i if code.type_of(i).shape else code.replicate(writes.nest, i) for i in writes.index]
    arrays, f = code.as_they_are(_flat(code, writes, (*wide, *writes.values)))
    dests = tuple([current[acc].name for acc in writes.accs])
    width = code.product(writes.nest)
    if writes.op is None:
        exp: Scatter | Hist = Scatter(width, arrays, f, dests, rank)
    else:
        op = Reduction(code.fresh_lambda(writes.op.op), writes.op.neutral, True)
        exp = Hist(width, arrays, f, op, dests, rank)
    pat = [code.param("acc", code.types[dest]) for dest in dests]
    current.update(zip(writes.accs, code.emit(pat, exp), strict=True))


def _flat(code: Code, writes: Writes, arrays: Sequence[Atom]) -> list[Var]:
    """Arrays over the nest as arrays over its points."""
    total = code.product(writes.nest)
    flat: list[Var] = []
    for array in arrays:
        assert isinstance(array, Var)
        flat.append(code.reshape((total, *code.types[array.name].shape[len(writes.nest) :]), array))
    return flat


def write_one(code: Code, current: Current, writes: Writes) -> None:
    """Emits a write at one place."""
    dests = [current[acc] for acc in writes.accs]
    types = [code.types[dest.name] for dest in dests]

    def inside(inner: Code) -> Sequence[Atom]:
        values: Sequence[Atom] = writes.values
        if writes.op is not None:
            old = [inner.at(dest, *writes.index) for dest in dests]
            values = inner.inline(writes.op.op, [*old, *values])
        return [inner.put(dest, writes.index, value) for dest, value in zip(dests, values, strict=True)]

    known = in_range(code, types[0].shape, writes.index)
    made = code.choose(known, inside, lambda inner: list(dests), types)
    current.update(zip(writes.accs, made, strict=True))


def as_now(code: Code, value: Atom) -> Atom:
    """A copy of an array, which may be overwritten afterwards."""
    return code.copied(value) if isinstance(value, Var) and code.types[value.name].shape else value


def element_types(code: Code, writes: Writes) -> list[Type]:
    """The types of the index and the values at one point."""
    rank = len(writes.index)
    places = [code.types[acc] for acc in writes.accs]
    return [*[I64] * rank, *[Type(t.prim, t.shape[rank:]) for t in places]]
