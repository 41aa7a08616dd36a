"""SegHist on a CPU: chunks of the points with histograms of their own, put together in order.

    seghist (s < S, j < m) dest op { (s, k), v }     block = (s, chunk of j): part[s, chunk] = op over its values
                                                     dest[s, k] op= part[s, 0, k] op part[s, 1, k] op ..

A dimension that is an index of the result as it stands makes segments (s); the others are cut by sizes alone, so that
results have the same bits for any number of threads. One chunk works on `dest` itself. Values keep their order, but
where the operator is known to commute. What a chunk does is in `hist_chunk.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir import core
from ....ir.errors import Loc
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Name, Prim, Type, Var, i64
from ...analysis.cost import EXTENT
from ...kernel_ir import nodes as kir
from ..host_builder import FALSE, TRUE, HostBuilder, Made
from ..kernel_builder import Mode
from ..soacs import combine_at, is_simple
from ..space import output
from ..statements import gen_body
from ..table import Schedule, Segop, Table, bound, run
from .hist_chunk import (
    Cut,
    applied,
    choosing_kernel,
    copies_kernel,
    direct_kernel,
    most_bins,
    only_fetches,
    parts_pay,
    staged_points,
)
from .hist_select import chooses, parted
from .hist_vector import by_element, rows_kernel
from .segscatter import alias, destinations
from .unroll_and_jam import ceil_div

LEAST_CHUNK, LEAST_CHOICE = 1 << 17, 1 << 18
MOST_CHUNKS = 256
ENOUGH_SEGMENTS = 64
"""From here on segments are parallelism enough."""
EACH_BIN, EACH_CHOICE = 8, 1024
"""Points for each bin that make a part worth its beginning and its end; a choice is new log n times of n."""
FORESEEN = 128
"""Points for a bin from which on it is foreseen that the next one changes nothing. Where it is not, a store costs less
than the branch; but of floats beside others, the next one on the same bin would wait for several operations."""
SUMMED = 1 << 12
"""Bins that a block puts together."""


@dataclass(frozen=True, slots=True)
class Filling(Segop[core.SegHist]):
    """A histogram of which each chunk's values go into its part of the targets: blocks, points, points of a chunk."""

    cut: Cut
    targets: tuple[Name, ...]
    blocks: Atom
    points: Atom
    each: Atom

    @property
    def prims(self) -> tuple[Prim, ...]:
        return tuple(self.h.types[dest].prim for dest in self.exp.dests)


def fill(s: Segop[core.SegHist], cut: Cut, targets: tuple[Name, ...]) -> None:
    """Each chunk's values into its part of the targets, in the way that suits the operator and the number of bins."""
    h = s.h
    blocks, points = h.op(Op.MUL, cut.segments, cut.chunks), h.op(Op.MUL, cut.segments, cut.points)
    each = h.op(Op.QUOT, cut.points, cut.chunks)
    run(Filling(h, s.stm, s.exp, s.base, [], cut, targets, blocks, points, each), FILLS)


@dataclass(frozen=True, slots=True)
class Chunked(Segop[core.SegHist]):
    """A histogram whose points are cut."""

    cut: Cut


def no_chunks(s: Segop[core.SegHist]) -> bool | str:
    """Where the operator is neither on scalars nor works by element, or may fail, or a destination is no array."""
    elements = is_simple(s.exp.op.op) or by_element(s.exp) is not None
    chunks = elements and s.exp.space.dims and not any(dest in s.h.views for dest in s.exp.dests)
    return "an operator of scalars, or by element" if chunks else True


def run_chunks(s: Segop[core.SegHist], _: bool) -> None:
    """By chunks, of an operator on scalars or its form by element; the destinations have the results."""
    exp = s.exp if is_simple(s.exp.op.op) else by_element(s.exp)
    assert exp is not None
    run(Chunked(s.h, bound(s, ()).stm, exp, s.base, [], cut_of(s.h, exp)), CHUNKS)
    alias(s.h, s.stm, exp.dests)


def is_one(s: Chunked, _: bool) -> Atom:
    """bool: has a segment but one chunk, which may work on the destination itself?"""
    return s.h.op(Op.EQ, s.cut.chunks, i64(1), base="one")


def fill_parts(s: Chunked, _: bool) -> None:
    """Each chunk has bins of its own; a second launch puts them together in order, `SUMMED` bins a block."""
    h, exp, cut = s.h, s.exp, s.cut
    parts = tuple(neutral_parts(h, exp, cut, s.stm.loc))
    fill(s, cut, parts)
    made = sum_kernel(h, exp, cut, parts, s.base)
    blocks = h.op(Op.MUL, cut.segments, h.ceil_div(cut.bins, SUMMED))
    h.launch(made, blocks, h.op(Op.MUL, cut.segments, cut.bins), made.cost / EXTENT, s.stm.loc)


def cut_of(h: HostBuilder, exp: core.SegHist) -> Cut:
    """How many chunks a segment has: such that each has several points for a bin."""
    shape, widths, fixed = h.types[exp.dests[0]].shape, exp.space.widths, fixed_dims(h, exp)
    segments, bins, points = (h.product(dims) for dims in (widths[:fixed], shape[fixed:], widths[fixed:]))
    elements = h.product((points, *shape[exp.rank :], i64(len(exp.updates))))
    least_chunk, each_bin = (LEAST_CHOICE, EACH_CHOICE) if chooses(exp.op.op) else (LEAST_CHUNK, EACH_BIN)
    least = h.op(Op.MAX, i64(least_chunk), h.op(Op.MUL, bins, i64(each_bin)))
    chunks = h.op(Op.MIN, i64(MOST_CHUNKS), h.op(Op.MAX, i64(1), h.op(Op.QUOT, elements, least)))
    if fixed:
        many = h.op(Op.GE, segments, i64(ENOUGH_SEGMENTS), base="many")
        chunks = h.choice(many, i64(1), chunks, "chunks")
    piece = piece_of(h, exp, widths[fixed:], chunks)
    pieces = h.ceil_div(widths[-1], piece)
    units = h.op(Op.MUL, h.product(widths[fixed:-1]), pieces)
    return Cut(fixed, segments, shape[fixed:], bins, points, chunks, piece, units, h.ceil_div(units, chunks))


def piece_of(h: HostBuilder, exp: core.SegHist, widths: tuple[Atom, ...], chunks: Atom) -> Atom:
    """The length of a unit: what can be kept; else as long as can be, since two streams that lie far apart are fetched
    in less time than one."""
    if not only_fetches(exp):
        return i64(staged_points(exp))
    return h.op(Op.MAX, i64(1), h.ceil_div(widths[-1], chunks) if len(widths) == 1 else widths[-1])


def fixed_dims(h: HostBuilder, exp: core.SegHist) -> int:
    """How many outer dimensions of the space are indices of the result as they stand, and as many as it has."""
    shape, count = h.types[exp.dests[0]].shape, 0
    for k, (name, width) in zip(range(exp.rank), exp.space.dims[:-1], strict=False):
        if any(update[k] != Var(name) for update in exp.updates) or width != shape[count]:
            break
        count += 1
    return count


def neutral_parts(h: HostBuilder, exp: core.SegHist, cut: Cut, loc: Loc) -> list[Name]:
    """For each destination an array of neutral elements: a row of bins for each chunk of each segment."""
    parts: list[Name] = []
    for neutral, dest in zip(exp.op.neutral, exp.dests, strict=True):
        row = h.types[dest].shape[exp.rank :]
        count = h.product((cut.segments, cut.chunks, *cut.shape[: len(cut.shape) - len(row)]))
        name = h.names.fresh("parts")
        h.emit((core.Param(name, Type(h.types[dest].prim, (count, *row))),), core.Replicate((count,), neutral), loc)
        parts.append(name)
    return parts


def filled_by(kernel: Callable[[HostBuilder, core.SegHist, Cut, tuple[Name, ...], str], Made]) -> Build:
    """Each chunk's values into its part of the targets by such a kernel."""

    def build(s: Filling, _: bool) -> None:
        made = s.h.best_layout(s.depth, lambda: kernel(s.h, s.exp, s.cut, s.targets, s.base))
        s.h.launch(made, s.blocks, s.points, made.cost / EXTENT / EXTENT, s.stm.loc)

    return build


Build = Callable[[Filling, bool], None]


def has_rows(s: Filling) -> bool | str:
    """Applies where a bin holds an array; else why not."""
    return s.h.types[s.exp.dests[0]].rank > s.exp.rank or "bins of scalars"


def can_copy(s: Filling) -> bool | str:
    """Applies where copies of the bins pay for the operator; else why not."""
    return parts_pay(s.exp.op) or "copies do not pay for the operator"


def are_few(s: Filling, _: bool) -> Atom:
    """bool: do the copies stay in the first cache, with at least `EACH_BIN` points of a chunk for each bin?"""
    least = s.h.op(Op.QUOT, s.each, i64(EACH_BIN))
    return s.h.op(Op.LE, s.cut.bins, s.h.op(Op.MIN, i64(most_bins(s.prims)), least), base="few")


def is_unforeseen(s: Filling, _: bool) -> Atom:
    """Is it not foreseen that a choice changes nothing?"""
    if not chooses(s.exp.op.op):
        return TRUE
    if any(len(op.ret) > 1 for op in parted(s.exp.op.op)) and any(prim.is_float for prim in s.prims):
        return FALSE
    return s.h.op(Op.GT, s.cut.bins, s.h.op(Op.QUOT, s.each, i64(FORESEEN)), base="many")


FILLS: Table = (
    Schedule("rows", filled_by(rows_kernel), has_rows),
    Schedule("copies", filled_by(copies_kernel), can_copy, are_few),
    Schedule("direct", filled_by(direct_kernel), guard=is_unforeseen),
    Schedule("choose", filled_by(choosing_kernel)),
)
CHUNKS: Table = (
    Schedule("one chunk", lambda s, _: fill(s, s.cut, s.exp.dests), guard=is_one, rows=FILLS),
    Schedule("parts", fill_parts, rows=FILLS),
)


def sum_kernel(h: HostBuilder, exp: core.SegHist, cut: Cut, parts: tuple[Name, ...], base: str) -> Made:
    """`dest[s, k] op= parts[s, 0, k] op parts[s, 1, k] op ..`"""
    b = h.builder()
    dests = [d.mem for d in destinations(b, exp.dests)]
    arrays = [output(b, name).mem for name in parts]
    bins, chunks = b.operand(cut.bins), b.operand(cut.chunks)
    groups = ceil_div(b, bins, SUMMED)
    segment = b.op(Op.QUOT, Prim.I64, b.block, groups, base="segment")
    lo = b.mul(b.op(Op.REM, Prim.I64, b.block, groups, base="group"), i64(SUMMED), "lo")
    k, row = b.fresh("bin", Prim.I64), b.fresh("row", Prim.I64)
    with b.nested() as stms:
        at = b.add(b.mul(segment, bins), k)
        accs = [b.fresh("acc", d.prim) for d in dests]
        for acc, dest in zip(accs, dests, strict=True):
            b.emit(kir.Declare(acc, b.let("old", dest.prim, kir.KLoad(dest, at))))
        with b.loop(row, chunks):
            place = b.add(b.mul(b.add(b.mul(segment, chunks), row), bins), k)
            right = tuple(b.let("x", a.prim, kir.KLoad(a, place)) for a in arrays)
            b.assign(accs, applied(b, exp.op.op, tuple(map(b.copy, accs)), right))
        for dest, acc in zip(dests, accs, strict=True):
            b.emit(kir.Store(dest, at, b.copy(acc)))
    b.emit(kir.Threads(k, lo, b.minimum(bins, b.add(lo, i64(SUMMED))), tuple(stms)))
    return h.finish(b, f"{base}_sum")


def in_sequence(s: Segop[core.SegHist], _found: bool) -> None:
    """One block, one element after the other, in place."""
    h, exp, b = s.h, s.exp, s.h.builder()
    dests = destinations(b, exp.dests)
    variables = [(b.fresh(n.base[:12] or "i", Prim.I64), b.operand(w)) for n, w in exp.space.dims]
    for (name, _), (var, _) in zip(exp.space.dims, variables, strict=True):
        b.env[name] = var
    with b.loops(*zip(*variables, strict=True)):
        made, each = gen_body(b, exp.body, Mode.BLOCK), exp.rank + len(exp.dests)
        for k in range(0, len(made), each):
            combine_at(b, dests, exp.op, exp.rank, made[k : k + each], Mode.BLOCK)
    made = h.finish(b, s.base)
    h.launch(made, i64(1), i64(1), made.cost, s.stm.loc)
    alias(h, s.stm, exp.dests)


SEGHIST: Table = (
    Schedule("in sequence", in_sequence, no_chunks),
    Schedule("chunks", run_chunks, rows=CHUNKS),
)
