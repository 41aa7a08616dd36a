"""Loops that append rows of varying length: their iterations are a dimension of the nest.

    G(Σ, loop (k = 0, ys = [], cs) for i < n do let (m, xs: [m]t, c) = e in (k + m, ys ++ xs, cs with [i] = c))
      ⟶  xs, cs = G((Σ, i < n), e), of which the rows xs one after the other are ys                         [append]

where e reads nothing that the loop carries, and n rows are written. The rows of all points together are flat data, of
which each point of Σ has the part from its first row to its last. Where n varies over Σ, iterations are a flat nest.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import Body, Concat, Copied, Fix, ForLoop, If, Loop, Param, PrimOp, Slice, Stm, Update
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import free_in_stm
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..context.distribute import expand, frontier, settle
from ..context.nest import Elem, Flow, Nest, Segments
from ..context.segop_bodies import defer, single
from ..context.statements import Statements
from ..context.trace import Rule
from ..versions.segment_descriptors import bind_rows, flat_nest, segments, segments_of
from .control import regular
from .writes import last_row


@dataclass(frozen=True, slots=True)
class Appends:
    """A loop that appends: the statements of an iteration; by the places of the parameters the sizes, with what is
    added to them, the flat data, with the place of its size and the row, and the rows that are written."""

    stms: tuple[Stm, ...]
    sizes: dict[int, Atom]
    data: dict[int, tuple[int, Name]]
    rows: dict[int, Atom]

    @property
    def given(self) -> tuple[Atom, ...]:
        """What an iteration gives."""
        return (*self.sizes.values(), *[Var(row) for _, row in self.data.values()], *self.rows.values())


def append_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, loop ys = [] for i < n do ys ++ e)  ⟶  G((Σ, i < n), e), the rows one after the other"""
    match stm.exp:
        case Loop(form=ForLoop(index, bound, Prim.I64)) as loop if flow.known.varying and not flow.context.inside:
            found = appends(loop, index, bound)
        case _:
            return None
    wanted = frontier(flow, free_in_stm(stm))
    if found is None or wanted is None or any(map(flow.is_variant, stm.certs)):
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.APPEND, ", ".join(str(p.name) for p in stm.pat))
    if flow.is_invariant(bound):
        i = flow.fresh_param("i", I64).name
        inner = nest.inside((i, bound))
        defer(flow, inner, (single(Copied(Var(i)), Param(index, I64), stm.loc),))
        segs, flats, rows = _iterations(flow, inner, stm, loop, found)
        ends = _over_regular(flow, nest, bound, segs)
        _bind(flow, nest, stm, found, (ends, segs), flats)
        _bind_rows(flow, nest, stm, rows)
    else:
        seg = segments(flow, nest, bound, stm)
        with flat_nest(flow, nest, seg) as (flat, k):
            defer(flow, flat, (single(Copied(Var(k)), Param(index, I64), stm.loc),))
            segs, flats, rows = _iterations(flow, flat, stm, loop, found)
        ends = _over_segments(flow, nest, seg, segs)
        _bind(flow, nest, stm, found, (ends, segs), flats)
        for place, array in rows.items():
            bind_rows(flow, nest, seg, (stm.pat[place],), (array,))
    return Rule.APPEND


# ---- what a loop does ------------------------------------------------------------------------------------------------


def appends(loop: Loop, index: Name, bound: Atom) -> Appends | None:
    """A loop whose iterations append, and know nothing of each other."""
    made = {stm.pat[0].name: stm for stm in loop.body.stms if len(stm.pat) == 1 and not stm.certs}
    places = {p.name: at for at, p in enumerate(loop.params)}
    sizes: dict[int, Atom] = {}
    data: dict[int, tuple[int, Name]] = {}
    rows: dict[int, Atom] = {}
    last: set[Name] = set()
    for at, (param, atom) in enumerate(zip(loop.params, loop.body.result, strict=True)):
        stm = made.get(atom.name) if isinstance(atom, Var) else None
        if stm is None:
            return None
        last.add(stm.pat[0].name)
        match stm.exp:
            case PrimOp(Op.ADD, Prim.I64, (x, y)) if Var(param.name) in (x, y) and loop.inits[at] == i64(0):
                sizes[at] = y if x == Var(param.name) else x
            case Concat((first, row), _) if first == param.name and isinstance(param.type.shape[0], Var):
                data[at] = places.get(param.type.shape[0].name, -1), row
            case Update(array, dims, value, _) if array == param.name and _is_row(dims, index, param.type, bound):
                rows[at] = value
            case _:
                return None
    rest = tuple([stm for stm in loop.body.stms if stm.pat[0].name not in last])
    found = Appends(rest, sizes, data, rows)
    read = {name for stm in rest for name in free_in_stm(stm)} | {a.name for a in found.given if isinstance(a, Var)}
    is_apart = read.isdisjoint(places) and read.isdisjoint(last)
    return found if data and is_apart and all(size in sizes for size, _ in data.values()) else None


def _is_row(dims: tuple[Fix | Slice, ...], index: Name, t: Type, bound: Atom) -> bool:
    """Whether a row of as many as the loop has iterations is written, that of this one."""
    return dims == (Fix(Var(index)), *whole(t.shape[1:])) and t.shape[0] == bound


# ---- the iterations --------------------------------------------------------------------------------------------------


def _iterations(
    flow: Flow, inner: Nest, stm: Stm, loop: Loop, found: Appends
) -> tuple[dict[int, Segments], dict[int, Name], dict[int, Name]]:
    """All iterations; gives the descriptors of the sizes, the flat data, the rows over the nest."""
    flow.context.walk(flow, inner, found.stms, found.given)
    segs = {at: segments(flow, inner, m, replace(stm, exp=Copied(m))) for at, m in found.sizes.items()}
    flats = {at: last_row(flow, inner, segs[size], row) for at, (size, row) in found.data.items()}
    atoms = [regular(flow, inner, atom, loop.params[at].type.row()) for at, atom in found.rows.items()]
    return segs, flats, dict(zip(found.rows, expand(flow, inner, tuple(atoms)), strict=True))


def _over_regular(flow: Flow, nest: Nest, bound: Atom, segs: dict[int, Segments]) -> dict[int, Atom]:
    """How much each point of the nest has, where it has `bound` rows."""
    if not nest.dims:
        return {at: seg.total for at, seg in segs.items()}
    last = _deferred_last(flow, nest, bound)
    indices = tuple(Var(name) for name in nest.indices)
    shape = (*nest.widths, bound)
    return {
        at: _between(flow, nest, bound, (seg.starts, seg.ends), shape, (*indices, i64(0)), (*indices, last))
        for at, seg in segs.items()
    }


def _deferred_last(flow: Flow, nest: Nest, end: Atom) -> Var:
    made = Statements(flow)
    last = made.op("last", Op.SUB, end, i64(1))
    defer(flow, nest, tuple(made.stms))
    return last


def _over_segments(flow: Flow, nest: Nest, seg: Segments, segs: dict[int, Segments]) -> dict[int, Atom]:
    """The same where the number of rows varies."""
    first, final = (Var(seg.start),), (_deferred_last(flow, nest, Var(seg.end)),)
    return {
        at: _between(flow, nest, Var(seg.length), (own.starts, own.ends), (seg.total,), first, final)
        for at, own in segs.items()
    }


def _between(
    flow: Flow,
    nest: Nest,
    count: Atom,
    bounds: tuple[Name, Name],
    shape: tuple[Atom, ...],
    first: tuple[Atom, ...],
    last: tuple[Atom, ...],
) -> Atom:
    """`if 0 < count then ends[last] - starts[first] else 0`, deferred."""
    made, inner = Statements(flow), Statements(flow)
    start, end = inner.at("start", bounds[0], *first), inner.at("end", bounds[1], *last)
    between = inner.body(inner.op("k", Op.SUB, end, start))
    k = made.let("k", If(made.op("some", Op.LT, i64(0), count), between, Body((), (i64(0),))), I64)
    defer(flow, nest, tuple(made.stms))
    return k


def _bind(
    flow: Flow,
    nest: Nest,
    stm: Stm,
    found: Appends,
    made: tuple[dict[int, Atom], dict[int, Segments]],
    flats: dict[int, Name],
) -> None:
    """The sizes and the flat data under the names of the loop's results."""
    sizes, segs = made
    outer: dict[int, Segments] = {}
    for at, size in sizes.items():
        param = stm.pat[at]
        if not nest.dims:
            flow.emit((param,), Copied(size))
            continue
        (array,) = expand(flow, nest, (size,))
        flow.known.types[param.name] = I64
        flow.known.elems[param.name] = Elem(array, nest.indices)
        outer[at] = segments_of(flow, nest, Var(param.name), segs[at].total)
    for at, (size, _) in found.data.items():
        if nest.dims:
            bind_rows(flow, nest, outer[size], (stm.pat[at],), (flats[at],))
        else:
            flow.emit((stm.pat[at],), Copied(Var(flats[at])))


def _bind_rows(flow: Flow, nest: Nest, stm: Stm, rows: dict[int, Name]) -> None:
    """The rows that are written: an array, or an element of one over the nest."""
    for at, array in rows.items():
        param = stm.pat[at]
        if not nest.dims:
            flow.emit((param,), Copied(Var(array)))
            continue
        flow.known.types[param.name] = param.type
        flow.known.elems[param.name] = Elem(array, nest.indices)
        flow.known.fresh.add(array)
