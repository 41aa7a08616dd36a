"""What the guards of versions know of rows of varying length: measured properties of the lengths.

With n rows of lengths ls, m = sum ls, each version pads the work m + n in its own way:

    ε_thread = sum over warps (32 * max ls) / (m + n)        a row to a thread: a warp is as slow as its longest row
    ε_warp   = sum over rows (32 * max 1 ceil(l / 32)) / (m + n)   a row to a warp: threads past its end have no work

in thousandths, and 0 without work. What the multiprocessors could do while one of them is at the longest row,
P * 32 * (longest - L) and P * (longest - 32 * L) over m + n, is added as far as it is above that of a row of mean
length, since that one has its share of the others too; and they are no less than it. They and the longest row cost one
pass over the lengths. On a machine without warps the sum and the greatest of the lengths are reduced as they are found;
where the body has loops, in which the lanes of a vector wait for each other, `LANES` * max ls, too.
"""

from __future__ import annotations

from ...ir.core import Body, If, Level, Reduction, SegRed, Stm
from ...ir.machine import WARP
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import I64, Atom, Name, Var, i64
from ..context.nest import Flow, Nest
from ..context.segop_bodies import emit_segmap, seg_body
from ..context.statements import Statements, monoid
from ..context.trace import Rule
from .guards import parallelism_of
from .segment_descriptors import by_point

GREATEST = 1 << 40
"""A longer row counts as this long, so that sums of lengths do not overflow but where nothing could be computed."""


PROCESSORS = 132
"""P: multiprocessors, of an H100."""

LANES = 16
"""Of a vector of a machine without warps, in whose loops a row waits for the longest beside it."""

UNSEEN = 64
"""L: steps of a warp that take no longer than starting the kernels of the flat version."""


@dataclass(frozen=True, slots=True)
class Skew:
    """The padded work of a row to a thread and of a row to a warp, in thousandths of the work."""

    thread: Atom
    warp: Atom


@dataclass(frozen=True, slots=True)
class Measures:
    """Of the rows of a nest: how many, how many elements they have together, the length of the longest; on a machine
    with warps the padded work of the versions; where lanes wait for each other elsewhere, the elements of rows as long
    as the longest of the `LANES` beside them."""

    rows: Atom
    elements: Atom
    longest: Atom
    skew: Skew | None = None
    padded: Atom | None = None


@dataclass(slots=True)
class Lengths:
    """The lengths of the rows of a nest: the sum of `widths`, which the cheap statements `before` compute. They are
    measured where a guard asks first; the guards after it stand on its refusing side and see what was found.
    `lockstep`: whether the body has loops, in which the lanes of a vector wait for the longest of their rows."""

    nest: Nest
    before: tuple[Stm, ...]
    widths: tuple[Atom, ...]
    lockstep: bool
    found: Measures | None

    def measured(self, flow: Flow) -> Measures:
        if self.found is None:
            self.found = _measure(flow, self)
        return self.found


def has_warps(flow: Flow) -> bool:
    """Whether the machine runs threads in lockstep, so that a row makes those beside it wait."""
    return any(row.level is Level.WARP for row in flow.context.machine.levels)


def _measure(flow: Flow, lengths: Lengths) -> Measures:
    flow.note(Rule.BALANCE, ", ".join(str(w.name) for w in lengths.widths if isinstance(w, Var)))
    if not has_warps(flow) and not lengths.lockstep:
        return Measures(*_sum_and_greatest(flow, lengths))
    array, rows = _stored(flow, lengths), parallelism_of(flow, lengths.nest)
    size = WARP.threads if has_warps(flow) else LANES
    warps = flow.op("n", Op.QUOT, flow.op("n", Op.ADD, rows, i64(size - 1)), i64(size))
    by_warp = _each_warp(flow, by_point(flow, lengths.nest, array, rows), rows, warps, size)
    padded, elements, rounded, longest = _all_warps(flow, warps, *by_warp, size)
    if not has_warps(flow):
        return Measures(rows, elements, longest, padded=padded)
    work = flow.op("n", Op.MAX, flow.op("n", Op.ADD, rows, elements), i64(1))
    mean = flow.op("n", Op.QUOT, elements, flow.op("n", Op.MAX, rows, i64(1)))
    by_thread = _busiest(flow, padded, longest, mean, UNSEEN, PROCESSORS * WARP.threads)
    by_warp = _busiest(flow, rounded, longest, mean, UNSEEN * WARP.threads, PROCESSORS)
    return Measures(
        rows, elements, longest, Skew(_thousandths(flow, by_thread, work), _thousandths(flow, by_warp, work))
    )


def _busiest(flow: Flow, padded: Atom, longest: Atom, mean: Atom, unseen: int, share: int) -> Atom:
    """`(padded + share * ((longest - unseen) - mean) max 0) max (share * (longest - unseen))`"""
    waiting = flow.op("n", Op.SUB, longest, i64(unseen))
    above = flow.op("n", Op.MAX, flow.op("n", Op.SUB, waiting, mean), i64(0))
    beside = flow.op("n", Op.ADD, padded, flow.op("n", Op.MUL, above, i64(share)))
    return flow.op("n", Op.MAX, beside, flow.op("n", Op.MUL, waiting, i64(share)))


def _stored(flow: Flow, lengths: Lengths) -> Name:
    """The lengths as an array over the nest."""
    nest = lengths.nest
    array = flow.fresh_param("lengths", I64.array_of(*nest.widths))
    emit_segmap(flow, nest.dims, (array,), _length(flow, lengths), (I64,))
    return array.name


def _sum_and_greatest(flow: Flow, lengths: Lengths) -> tuple[Atom, Atom, Atom]:
    """The rows, and `segred (p < rows) (+) max { length p }`: in a nest of one dimension the lengths are not stored."""
    nest = lengths.nest
    if nest.depth == 1:
        rows, body = parallelism_of(flow, nest), _length(flow, lengths)
        made = seg_body(flow, nest.dims, Body(body.stms, body.result * 2))
    else:
        stored, rows = _stored(flow, lengths), parallelism_of(flow, nest)
        array = by_point(flow, nest, stored, rows)
        p, inner = flow.fresh_param("p", I64), Statements(flow)
        made = seg_body(flow, ((p.name, rows),), inner.body(*[inner.at("l", array, Var(p.name))] * 2))
    pat = tuple(flow.fresh_param(base, I64) for base in ("elements", "longest"))
    reds = (_sum(flow), greatest(flow))
    flow.emit(pat, SegRed(flow.context.machine.lowest.level, made.space, reds, made.body, (I64,) * 2, None))
    elements, longest = (Var(param.name) for param in pat)
    return rows, elements, longest


def _length(flow: Flow, lengths: Lengths) -> Body:
    """`max 0 w1 + max 0 w2 ..`"""
    inner = Statements(flow, lengths.before)
    total: Atom = i64(0)
    for width in lengths.widths:
        own = inner.op("l", Op.MIN, inner.op("l", Op.MAX, width, i64(0)), i64(GREATEST))
        total = inner.op("l", Op.ADD, total, own)
    return inner.body(total)


def _each_warp(flow: Flow, lengths: Name, rows: Atom, warps: Atom, size: int) -> tuple[Name, Name, Name]:
    """For each warp of `size` rows the greatest length, the sum of the lengths, and that of the lengths rounded up."""
    w, lane = (flow.fresh_param(base, I64) for base in ("w", "lane"))
    inner, loading, none = Statements(flow), Statements(flow), Body((), (i64(0),))
    p = inner.op("p", Op.ADD, inner.op("p", Op.MUL, Var(w.name), i64(size)), Var(lane.name))
    there = inner.op("there", Op.LT, p, rows)
    length = inner.let("l", If(there, loading.body(loading.at("l", lengths, p)), none), I64)
    some = inner.op("l", Op.MAX, length, i64(1))
    busy = inner.let("busy", If(there, Body((), (some,)), none), I64)
    chunks = inner.op("chunks", Op.QUOT, inner.op("l", Op.ADD, busy, i64(size - 1)), i64(size))
    result = inner.body(length, length, inner.op("rounded", Op.MUL, chunks, i64(size)))
    made = seg_body(flow, ((w.name, warps), (lane.name, i64(size))), result)
    reds = (greatest(flow), _sum(flow), _sum(flow))
    pat = tuple(flow.fresh_param(base, I64.array_of(warps)) for base in ("longest", "elements", "rounded"))
    flow.emit(pat, SegRed(flow.context.machine.lowest.level, made.space, reds, made.body, (I64,) * 3, None))
    longest, elements, rounded_up = pat
    return longest.name, elements.name, rounded_up.name


def _all_warps(flow: Flow, warps: Atom, longest: Name, elements: Name, rounded: Name, size: int) -> tuple[Atom, ...]:
    """The work of all warps: `size` times the greatest lengths, the lengths, the rounded ones; the greatest length."""
    w, inner = flow.fresh_param("w", I64), Statements(flow)
    most, all_, more = (inner.at("x", array, Var(w.name)) for array in (longest, elements, rounded))
    padded = inner.op("padded", Op.MUL, most, i64(size))
    made = seg_body(flow, ((w.name, warps),), inner.body(padded, all_, more, most))
    reds = (_sum(flow), _sum(flow), _sum(flow), greatest(flow))
    pat = tuple(flow.fresh_param(base, I64) for base in ("padded", "elements", "rounded", "longest"))
    flow.emit(pat, SegRed(flow.context.machine.lowest.level, made.space, reds, made.body, (I64,) * 4, None))
    return tuple(Var(p.name) for p in pat)


def greatest(flow: Flow) -> Reduction:
    """The greatest of numbers that are not negative."""
    return monoid(flow, Op.MAX, i64(0))


def _sum(flow: Flow) -> Reduction:
    return monoid(flow, Op.ADD, i64(0))


def _thousandths(flow: Flow, padded: Atom, work: Atom) -> Atom:
    return flow.op("skew", Op.QUOT, flow.op("n", Op.MUL, padded, i64(1000)), work)


# ---- guards ----------------------------------------------------------------------------------------------------------


def where(flow: Flow, op: Op, left: Atom, right: Atom, par: Atom) -> Atom:
    """`par` where the comparison holds, else 0, which no threshold but 0 takes."""
    return flow.op("par", Op.SELECT, flow.op("holds", op, left, right), par, i64(0))
