"""Widths that vary over a nest: segment descriptors, and the flat nest over the data of all segments.

A width w that varies over Σ = (i < n, j < m) cuts flat data into one segment for each point p < n*m of the nest:

    ns = segmap Σ { max 0 w }              ends = segscan (p < n*m) (+) 0 { ns[p] }          total = ends[n*m - 1]
    starts = segmap (p < n*m) { ends[p] - ns[p] }        rows = segscan (q < total) max 0 { marks[q] }
    marks = segscatter (p < n*m) (replicate total 0) { (if 0 < ns[p] then starts[p] else -1), p }

(+) saturates, so that a total that no memory holds is not mistaken for a small one. Over the flat data there is a nest
of one dimension, whose threads know all variables of Σ: the indices of Σ are values there (`Flow.coordinates`),

    (q < total):    p = rows[q]      i = p / m      j = p % m      k = q - starts[p]

so that elements and deferred statements of Σ need no change: they travel into the kernels of the flat nest as into any
other. An array of variant width is a slice of flat data, `ys = flat[start :+ w]` with `start` an element of `starts`.
A segred of rows goes through points and flat data together, so that it needs no `rows` (`rows_nest`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...ir.basic import whole
from ...ir.core import (
    Assert,
    Body,
    Copied,
    Copy,
    Exp,
    If,
    Index,
    Lambda,
    Param,
    PrimOp,
    Reduction,
    Replicate,
    Reshape,
    SegScan,
    SegScatter,
    Slice,
    Stm,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_stm
from ...ir.types import BOOL, I64, Atom, Name, Prim, Type, Var, i64
from ..context.nest import Deferred, Elem, Flow, Nest, Row, Segments, enter_scope, leave_scope
from ..context.segop_bodies import defer, element_of, emit_segmap, needs, seg_body, single
from ..context.statements import Statements, monoid
from ..context.trace import Rule
from .guards import parallelism_of

MOST = 2**63 - 1

# ---- descriptors -----------------------------------------------------------------------------------------------------


def segments(flow: Flow, nest: Nest, width: Atom, asking: Stm) -> Segments:
    """The descriptor of `width` over the nest; what `asking` relies on is checked for all points, the empty segments
    included."""
    certs = _checks(flow, asking)
    key = (width, nest.indices)
    found = flow.known.segments.get(key)
    if found is None or not certs <= found.certs:
        found = flow.known.segments[key] = _describe(flow, nest, width, certs, None)
    return _known(flow, nest, found)


def segments_of(flow: Flow, nest: Nest, width: Atom, total: Atom) -> Segments:
    """The descriptor of a width of which it is known how much it is for all points together."""
    found = flow.known.segments[width, nest.indices] = _describe(flow, nest, width, frozenset(), total)
    return _known(flow, nest, found)


def _known(flow: Flow, nest: Nest, found: Segments) -> Segments:
    for name, array in ((found.length, found.lengths), (found.start, found.starts), (found.end, found.ends)):
        flow.known.types[name] = I64
        flow.known.elems[name] = Elem(array, nest.indices)
    return found


def _checks(flow: Flow, stm: Stm) -> frozenset[Name]:
    """The assertions of the nest that `stm` relies on."""
    return frozenset(d.stm.pat[0].name for d in needs(flow, free_in_stm(stm)).stms if isinstance(d.stm.exp, Assert))


def _describe(flow: Flow, nest: Nest, width: Atom, certs: frozenset[Name], total: Atom | None) -> Segments:
    flow.note(Rule.SEGMENTS, str(width.name) if isinstance(width, Var) else str(width))
    flow.output.guards.segments += 1
    points = parallelism_of(flow, nest)
    lengths = _lengths(flow, nest, width, certs)
    flat = by_point(flow, nest, lengths, points)
    ends, starts = _bounds(flow, flat, points)
    total = _total(flow, ends, points) if total is None else total
    rows = _rows(flow, flat, starts, points, total)
    length, start, end = (flow.context.names.fresh(base) for base in ("length", "start", "end"))
    return Segments(
        nest.indices, points, total, starts, ends, rows, lengths, over_nest(flow, nest, starts),
        over_nest(flow, nest, ends), length, start, end, certs,
    )  # fmt: skip


def _lengths(flow: Flow, nest: Nest, width: Atom, certs: frozenset[Name]) -> Name:
    """`segmap Σ { max 0 w }`"""
    length = flow.fresh_param("n", I64)
    stm = Stm((length,), PrimOp(Op.MAX, Prim.I64, (width, i64(0))), tuple(certs), (), flow.output.loc)
    array = flow.fresh_param("ns", I64.array_of(*nest.widths))
    emit_segmap(flow, nest.dims, (array,), Body((stm,), (Var(length.name),)), (I64,))
    return array.name


def by_point(flow: Flow, nest: Nest, array: Name, points: Atom) -> Name:
    """The array over the nest as one over its points."""
    if nest.depth == 1:
        return array
    t = flow.known.types[array]
    shape = (points, *t.shape[nest.depth :])
    return flow.emit_as(array.base, Type(t.prim, shape), Reshape(shape, array))


def over_nest(flow: Flow, nest: Nest, array: Name) -> Name:
    """The array over the points of the nest as one over the nest."""
    if nest.depth == 1:
        return array
    t = flow.known.types[array]
    shape = (*nest.widths, *t.shape[1:])
    return flow.emit_as(array.base, Type(t.prim, shape), Reshape(shape, array))


def _bounds(flow: Flow, lengths: Name, points: Atom) -> tuple[Name, Name]:
    """Where each segment ends and where it begins."""
    p, inner = flow.fresh_param("p", I64), Statements(flow)
    n = inner.at("n", lengths, Var(p.name))
    made = seg_body(flow, ((p.name, points),), inner.body(n))
    level = flow.context.machine.lowest.level
    ends = flow.emit_as(
        "ends", I64.array_of(points), SegScan(level, made.space, (saturating_sum(flow),), made.body, (I64,))
    )
    start = inner.op("start", Op.SUB, inner.at("end", ends, Var(p.name)), n)
    starts = flow.fresh_param("starts", I64.array_of(points))
    emit_segmap(flow, ((p.name, points),), (starts,), inner.body(start), (I64,))
    return ends, starts.name


def saturating_sum(flow: Flow) -> Reduction:
    """`λa b → if a > MOST - b then MOST else a + b`, associative on what is not negative."""
    a, b = (flow.fresh_param(base, I64) for base in "ab")
    inner = Statements(flow)
    full = inner.op("full", Op.GT, Var(a.name), inner.op("room", Op.SUB, i64(MOST), Var(b.name)))
    result = inner.op("r", Op.SELECT, full, i64(MOST), inner.op("both", Op.ADD, Var(a.name), Var(b.name)))
    return Reduction(Lambda((a, b), inner.body(result), (I64,)), (i64(0),), True)


def _total(flow: Flow, ends: Name, points: Atom) -> Atom:
    """The last end; 0 if there is no segment."""
    some = flow.op("some", Op.LT, i64(0), points)
    inner = Statements(flow)
    last = inner.at("last", ends, inner.op("p", Op.SUB, points, i64(1)))
    return Var(flow.emit_as("total", I64, If(some, inner.body(last), Body((), (i64(0),)))))


def can_be_counted(flow: Flow, total: Atom) -> Name:
    """The assertion that there are no more elements than can be counted, of which no memory is needed."""
    few = flow.op("few", Op.LE, total, i64(MOST >> 1))
    text = ("out of memory: too many elements in rows of varying length",)
    return flow.emit_as("few", BOOL, Assert(few, "R0301", text))


def _rows(flow: Flow, lengths: Name, starts: Name, points: Atom, total: Atom) -> Name:
    """For each place of the flat data the number of the point whose segment it is in."""
    level = flow.context.machine.lowest.level
    zeros = flow.emit_as("zeros", I64.array_of(total), Replicate((total,), i64(0)))
    p, inner = flow.fresh_param("p", I64), Statements(flow)
    n, start = inner.at("n", lengths, Var(p.name)), inner.at("start", starts, Var(p.name))
    place = inner.op("place", Op.SELECT, inner.op("some", Op.LT, i64(0), n), start, i64(-1))
    made = seg_body(flow, ((p.name, points),), inner.body(place, Var(p.name)))
    marks = flow.emit_as("marks", I64.array_of(total), SegScatter(level, made.space, (zeros,), 1, made.body))
    q, inner = flow.fresh_param("q", I64), Statements(flow)
    made = seg_body(flow, ((q.name, total),), inner.body(inner.at("mark", marks, Var(q.name))))
    greatest = monoid(flow, Op.MAX, i64(0))
    return flow.emit_as("rows", I64.array_of(total), SegScan(level, made.space, (greatest,), made.body, (I64,)))


# ---- the flat nest ---------------------------------------------------------------------------------------------------


@contextmanager
def flat_nest(flow: Flow, nest: Nest, seg: Segments) -> Generator[tuple[Nest, Name]]:
    """The nest (q < total), and `k`, the place in the segment. Inside, the indices of `nest` are computed; what becomes
    an array over the flat nest is known as one only there."""
    q, p = (flow.fresh_param(base, I64).name for base in ("q", "p"))
    row = element_of(seg.rows, (seg.total,), (Var(q),))
    with _places(flow, nest, seg, p, q, row) as k:
        yield Nest(((q, seg.total),)), k


@contextmanager
def rows_nest(flow: Flow, nest: Nest, seg: Segments) -> Generator[tuple[Nest, Name]]:
    """The nest (p < points, q < total) of a segred of rows, in which q runs through the elements of row p; and `k`."""
    p, q = (flow.fresh_param(base, I64).name for base in ("p", "q"))
    with _places(flow, nest, seg, p, q, None) as k:
        yield Nest(((p, seg.points), (q, seg.total))), k


@contextmanager
def _places(flow: Flow, nest: Nest, seg: Segments, p: Name, q: Name, row: Exp | None) -> Generator[Name]:
    """k and the indices of the nest as what they are at place q of point p; p is computed as `row`, unless it is an
    index itself."""
    level = 1 + max((place.depth for place in flow.known.coordinates.values()), default=0)
    enter_scope(flow.known)
    before = set(flow.known.coordinates)
    if row is not None:
        _coordinate(flow, level, p, row)
    rest = p
    for (index, width), is_outermost in reversed([(dim, place == 0) for place, dim in enumerate(nest.dims)]):
        if is_outermost:
            _coordinate(flow, level, index, Copied(Var(rest)))
            break
        _coordinate(flow, level, index, PrimOp(Op.REM, Prim.I64, (Var(rest), width)))
        outer = flow.fresh_param("p", I64).name
        _coordinate(flow, level, outer, PrimOp(Op.QUOT, Prim.I64, (Var(rest), width)))
        rest = outer
    start, k = (flow.fresh_param(base, I64).name for base in ("start", "k"))
    _coordinate(flow, level, start, element_of(seg.starts_by_point, (seg.points,), (Var(p),)))
    _coordinate(flow, level, k, PrimOp(Op.SUB, Prim.I64, (Var(q), Var(start))))
    yield k
    for name in set(flow.known.coordinates) - before:
        del flow.known.coordinates[name]
    leave_scope(flow.known)


def _coordinate(flow: Flow, level: int, name: Name, exp: Exp) -> None:
    flow.known.types[name] = I64
    flow.known.coordinates[name] = Deferred(
        single(exp, Param(name, I64), flow.output.loc), level, 0, flow.output.next_order
    )
    flow.output.next_order += 1


# ---- arrays of variant width -----------------------------------------------------------------------------------------


def bind_rows(flow: Flow, nest: Nest, seg: Segments, pat: tuple[Param, ...], flats: tuple[Name, ...]) -> None:
    """`ys = flat[start :+ w]`: variables of the nest that are segments of flat data; a copy if they are overwritten."""
    for param, flat in zip(pat, flats, strict=True):
        flow.known.rows[param.name] = Row(flat, seg)
        flow.known.fresh.add(flat)
        width, *rest = param.type.shape
        view = Index(flat, (Slice(Var(seg.start), width, i64(1)), *whole(tuple(rest))), True)
        if param.name not in flow.known.consumed:
            defer(flow, nest, (single(view, param, flow.output.loc),))
            continue
        seen = flow.fresh_param(param.name.base, param.type)
        defer(flow, nest, (single(view, seen, flow.output.loc), single(Copy(seen.name), param, flow.output.loc)))


def is_varying(flow: Flow, t: Type) -> bool:
    """An array of rows of one shape, as many as vary over the nest."""
    return bool(t.shape) and not flow.is_invariant(t.shape[0]) and all(map(flow.is_invariant, t.shape[1:]))
