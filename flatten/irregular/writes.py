"""Scatters, histograms and concatenations whose width, or what they write to, varies over the nest.

    G(Σ, scatter w (λx̄ → i v) x̄s d)  ⟶  segscatter Σf ds { Σ i v }                                     [flat scatter]

over the flat nest Σf of w (Σ and a dimension for an invariant w). Destinations of varying size are segments of flat
data: then what is written is `start + i` where `0 ≤ i < n`, n the length of the segment.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from ...ir.core import (
    Body,
    Concat,
    Copied,
    Copy,
    Hist,
    Param,
    Replicate,
    Scatter,
    Scratch,
    SegHist,
    SegScatter,
    Stm,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_lambda, free_in_stm
from ...ir.types import I64, Atom, Name, Type, Var, i64, scalar
from ..context.distribute import frontier, is_awaited, settle, source_of
from ..context.nest import Dim, Flow, Nest, Segments
from ..context.segop_bodies import emit_segmap, fresh_reductions, seg_body
from ..context.statements import Statements
from ..context.trace import Rule
from ..rules.bulk import pick
from ..rules.maps import enter_arrays
from ..rules.writes import nest_atoms, own
from ..versions.parallelism import may_be_flattened
from ..versions.segment_descriptors import bind_rows, flat_nest, is_varying, segments
from .soacs import enter_rows

# ---- scatter and hist ------------------------------------------------------------------------------------------------


def varying_write_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A scatter or histogram of varying width, or to destinations of varying size.

    G(Σ, scatter w (λx̄ → i v) x̄s d)  ⟶  segscatter Σf ds { Σ i v }
    """
    match stm.exp:
        case Scatter() | Hist() as exp if nest.dims and may_be_flattened(flow, stm):
            pass
        case _:
            return None
    sizes = {flow.known.types[dest].shape[0] for dest in exp.dests}
    to_rows = all(is_varying(flow, flow.known.types[dest]) for dest in exp.dests) and exp.rank == 1 and len(sizes) == 1
    regular = flow.is_regular(flow.known.types[dest] for dest in exp.dests)
    if not (to_rows or (regular and not flow.is_invariant(exp.width))) or not _is_closed(flow, exp):
        return None
    wanted = frontier(flow, free_in_stm(stm))
    if wanted is None:
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.FLAT_SCATTER, ", ".join(str(p.name) for p in stm.pat))
    if to_rows:
        return _write_rows(flow, nest, stm, exp)
    reads = (*exp.arrays, *free_in_lambda(exp.map))
    owned = own(flow, nest, exp.dests, reads)
    pat = flow.bind(nest, stm.pat)
    with _points(flow, nest, stm, exp) as space:
        body = Body(exp.map.body.stms, nest_atoms(nest) + exp.map.body.result)
        _emit_write(flow, space, exp, pat, owned, nest.depth + exp.rank, body)
    return Rule.FLAT_SCATTER


def _is_closed(flow: Flow, exp: Scatter | Hist) -> bool:
    """Values of one shape, and an operator that is the same for all segments."""
    if not flow.is_regular(exp.map.ret):
        return False
    if isinstance(exp, Scatter):
        return True
    return all(map(flow.is_invariant, exp.op.neutral)) and not any(map(flow.is_variant, free_in_lambda(exp.op.op)))


@contextmanager
def _points(flow: Flow, nest: Nest, stm: Stm, exp: Scatter | Hist) -> Generator[Nest]:
    """The nest of all writes, with the elements of the arrays in scope."""
    if flow.is_invariant(exp.width):
        yield enter_arrays(flow, nest, exp.width, exp.map.params, exp.arrays)
        return
    seg = segments(flow, nest, exp.width, stm)
    with flat_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        yield flat


def _write_rows(flow: Flow, nest: Nest, stm: Stm, exp: Scatter | Hist) -> Rule:
    seg = segments(flow, nest, flow.known.types[exp.dests[0]].shape[0], stm)
    reads = (*exp.arrays, *free_in_lambda(exp.map))
    owned = own_rows(flow, nest, seg, exp.dests, reads)
    pat = tuple(flow.fresh_param(p.name.base, flow.known.types[array]) for p, array in zip(stm.pat, owned, strict=True))
    with _points(flow, nest, stm, exp) as space:
        index, *values = exp.map.body.result
        place, stms = in_segment(flow, seg, index)
        body = Body((*exp.map.body.stms, *stms), (place, *values))
        _emit_write(flow, space, exp, pat, owned, 1, body)
    bind_rows(flow, nest, seg, stm.pat, tuple(p.name for p in pat))
    return Rule.FLAT_SCATTER


def _emit_write(
    flow: Flow, space: Nest, exp: Scatter | Hist, pat: tuple[Param, ...], owned: tuple[Name, ...], rank: int, body: Body
) -> None:
    made, level = seg_body(flow, space.dims, body), flow.context.machine.lowest.level
    match exp:
        case Scatter():
            flow.emit(pat, SegScatter(level, made.space, owned, rank, made.body))
        case Hist(op=op):
            flow.emit(pat, SegHist(level, made.space, fresh_reductions(flow, (op,))[0], owned, rank, made.body))


def in_segment(flow: Flow, seg: Segments, index: Atom) -> tuple[Atom, tuple[Stm, ...]]:
    """The place in the flat data of an index of the segment; -1 where it is out of range."""
    inner = Statements(flow)
    low, high = inner.op("low", Op.LE, i64(0), index), inner.op("high", Op.LT, index, Var(seg.length))
    both, place = inner.op("in", Op.AND, low, high), inner.op("p", Op.ADD, Var(seg.start), index)
    return inner.op("p", Op.SELECT, both, place, i64(-1)), tuple(inner.stms)


# ---- arrays of varying size as flat data -----------------------------------------------------------------------------


def own_rows(flow: Flow, nest: Nest, seg: Segments, rows: tuple[Name, ...], reads: Iterable[Name]) -> tuple[Name, ...]:
    """Flat data of the rows that nothing else holds, each array for itself."""
    also = tuple(reads)
    return tuple(_own_row(flow, nest, seg, row, also) for row in rows)


def _own_row(flow: Flow, nest: Nest, seg: Segments, name: Name, reads: tuple[Name, ...]) -> Name:
    row = flow.known.rows.get(name)
    is_here = row is not None and row.segments.rows == seg.rows and row.array in flow.known.fresh
    if row is not None and is_here and not is_awaited(flow, name, row.array, reads):
        flow.known.fresh.discard(row.array)
        return row.array
    return flat_copy(flow, nest, seg, name)


def last_row(flow: Flow, nest: Nest, seg: Segments, name: Name) -> Name:
    """As `own_rows`, where nothing reads the row any more."""
    row = flow.known.rows.get(name)
    if row is not None and row.segments.rows == seg.rows and row.array in flow.known.fresh:
        flow.known.fresh.discard(row.array)
        return row.array
    return flat_copy(flow, nest, seg, name)


def flat_copy(flow: Flow, nest: Nest, seg: Segments, name: Name) -> Name:
    """Fresh flat data of a row: `segmap Σf { xs[k] }`, or in bulk where no thread is needed for it."""
    source = source_of(flow, Var(name))
    assert isinstance(source, Var)
    t = flow.known.types[name]
    flat_type = Type(t.prim, (seg.total, *t.shape[1:]))
    row = flow.known.rows.get(source.name)
    if row is not None and row.segments.rows == seg.rows:
        return flow.emit_as(name.base, flat_type, Copy(row.array))
    found = flow.known.deferred.get(source.name) if source.name not in flow.known.elems else None
    match found.stm if found is not None else None:
        case Stm(exp=Scratch(), certs=()):
            return flow.emit_as(name.base, flat_type, Scratch(flat_type))
        case Stm(exp=Replicate((_, *rest), value), certs=()) if flow.is_invariant(value):
            return flow.emit_as(name.base, flat_type, Replicate((seg.total, *rest), value))
        case _:
            return _copy_elements(flow, nest, seg, source, flat_type)


def _copy_elements(flow: Flow, nest: Nest, seg: Segments, source: Var, flat_type: Type) -> Name:
    made = flow.fresh_param(source.name.base, flat_type)
    with flat_nest(flow, nest, seg) as (flat, k):
        inner, load = _rest(flow, flat_type), Statements(flow)
        value = load.at(source.name.base, source.name, Var(k), *(Var(name) for name, _ in inner))
        emit_segmap(flow, flat.dims + inner, (made,), load.body(value), (scalar(flat_type.prim),))
    return made.name


def _rest(flow: Flow, flat_type: Type) -> tuple[Dim, ...]:
    return tuple((flow.fresh_param("l", I64).name, size) for size in flat_type.shape[1:])


# ---- concat ----------------------------------------------------------------------------------------------------------


def varying_concat_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, concat xs ys)  ⟶  segmap Σf { if k < n then xs[k] else ys[k-n] }        Σf that of n + m"""
    match stm:
        case Stm((param,), Concat(arrays, width)) if flow.known.varying and is_varying(flow, param.type):
            wanted = frontier(flow, arrays)
        case _:
            return None
    if wanted is None or not all(map(flow.is_invariant, param.type.shape[1:])):
        return None
    certs = relied_on(flow, stm)
    settle(flow, nest, wanted)
    flow.note(Rule.CONCAT, str(param.name))
    seg = segments(flow, nest, width, stm)
    flat_type = Type(param.type.prim, (seg.total, *param.type.shape[1:]))
    element = scalar(param.type.prim)
    made = flow.fresh_param(param.name.base, flat_type)
    with flat_nest(flow, nest, seg) as (flat, k):
        inner = _rest(flow, flat_type)
        body = pick(flow, arrays, (Var(k), *(Var(name) for name, _ in inner)), element)
        relying = Statements(flow, body.stms)
        value = relying.let("x", Copied(body.result[0]), element, certs)
        emit_segmap(flow, flat.dims + inner, (made,), relying.body(value), (element,))
    bind_rows(flow, nest, seg, stm.pat, (made.name,))
    return Rule.CONCAT


def relied_on(flow: Flow, stm: Stm) -> tuple[Name, ...]:
    """The checks of the nest that a statement relies on: what is emitted for it relies on the others alone, and its
    values on these, inside."""
    flow.output.certs = tuple(c for c in flow.output.certs if flow.is_invariant(Var(c)))
    return tuple(c for c in stm.certs if flow.is_variant(c))
