"""SegHist on a machine with many threads: sub-histograms of a block, put together at the end.

seghist (i < n, ..) dest op (k, v)     block = chunk of the space
    exact in any order                    atomic updates of the block's sub-histogram in shared memory, then of dest;
                                          of dest at once where there are too many bins; points are read once
    minima or maxima beside others        by atomic updates, apart from the others
    else                                  a sub-histogram for each warp, whose threads take turns; the warps' in order
                                          give the block's, a second launch adds the blocks' to dest in order

The second way needs no lock, takes any operator, and gives the same bits in each run, for float sums too. Where its
bins do not fit in shared memory they are in global memory, so that points are read once in any case; the more bins
there are, the fewer blocks have room. Source: Henriksen et al., SC'20.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....ir import core
from ....ir.commute import componentwise, is_commutative
from ....ir.machine import BLOCK, WARP
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import live
from ....ir.types import Atom, Name, Prim, Type, i64
from ...analysis.cost import EXTENT
from ...host_ir.launch_parameters import Kind
from ...kernel_ir import nodes as kir
from ..cpu.hist_chunk import applied
from ..cpu.seghist import in_sequence
from ..cpu.segscatter import alias, destinations
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, scalar
from ..soacs import in_range, is_simple, split_indices
from ..space import bind_space, output
from ..statements import gen_body
from ..table import Schedule, Segop, Table, bound, run

SHARED = 32 << 10
"""Bytes of the sub-histograms of a block whose warps take turns."""
ATOMIC = 16 << 10
"""Bytes of the sub-histogram of a block with atomic updates: of an array that stands in shared memory by itself, with
which a multiprocessor has all the warps it can."""
LEAST_CHUNK = 4096
MOST_PARTIAL = 1 << 24
"""Elements of all sub-histograms in global memory."""
EXACT = (Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR)
WARPS = BLOCK.threads // WARP.threads


def no_collective(s: Segop[core.SegHist]) -> bool | str:
    """Applies where the operator may fail or is on arrays, the space has no dimensions, or a destination is a view;
    else why not."""
    fits = is_simple(s.exp.op.op) and s.exp.space.dims and not any(dest in s.h.views for dest in s.exp.dests)
    return "an operator that a collective can have" if fits else True


Operation = tuple[Op, Prim]


def is_exact(s: Segop[core.SegHist]) -> tuple[Operation, ...] | str:
    """The operation and type of each component, if any order of updates gives the same bits; else why not."""
    found = exact_operations(s.exp)
    exact = tuple(operation for operation in found if operation is not None)
    return exact if exact and len(exact) == len(found) else "its result depends on an order"


def exact_operations(exp: core.SegHist) -> tuple[Operation | None, ...]:
    """For each component the operation of the table by which it is combined, if its result depends on no order."""
    op = exp.op.op
    if not is_commutative(op):
        return (None,) * len(exp.dests)
    return tuple(_exact(made) for made, _, _ in componentwise(op))


def _exact(exp: core.Exp | None) -> Operation | None:
    match exp:
        case core.PrimOp(op, prim) if op in EXACT and (not prim.is_float or op in (Op.MIN, Op.MAX)):
            return op, prim
        case _:
            return None


def has_extrema(s: Segop[core.SegHist]) -> tuple[int, ...] | str:
    """The components that are minima or maxima, if there are others; else why not."""
    found = exact_operations(s.exp)
    extrema = tuple(k for k, made in enumerate(found) if made is not None and made[0] in (Op.MIN, Op.MAX))
    return extrema or "no minima or maxima beside others"


def apart(s: Segop[core.SegHist], extrema: tuple[int, ...]) -> None:
    """Two histograms over the same points: the extrema, which need no order, and the other components."""
    others = tuple(k for k in range(len(s.exp.dests)) if k not in extrema)
    for chosen in (extrema, others):
        stm, exp = of_components(s.stm, s.exp, chosen)
        run(Segop(s.h, stm, exp, s.base, []), SEGHIST)


def of_components(stm: core.Stm, exp: core.SegHist, chosen: tuple[int, ...]) -> tuple[core.Stm, core.SegHist]:
    """The histogram of some components of an operator that works on each by itself."""
    op, n = exp.op.op, len(exp.dests)
    params = tuple(op.params[k + half] for half in (0, n) for k in chosen)
    body = live(core.Body(op.body.stms, tuple(op.body.result[k] for k in chosen)))
    f = core.Lambda(params, body, tuple(op.ret[k] for k in chosen))
    reduction = core.Reduction(f, tuple(exp.op.neutral[k] for k in chosen), exp.op.comm)
    result = tuple(a for u in exp.updates for a in (*u[: exp.rank], *(u[exp.rank + k] for k in chosen)))
    points = live(core.Body(exp.body.stms, result))
    made = replace(exp, op=reduction, dests=tuple(exp.dests[k] for k in chosen), body=points)
    return replace(stm, pat=tuple(stm.pat[k] for k in chosen), exp=made), made


def bins_of(h: HostBuilder, exp: core.SegHist) -> Atom:
    """How many elements a destination has (its bins, all dimensions)."""
    return h.product(h.types[exp.dests[0]].shape)


Change = tuple[Operand, Operand, tuple[Operand, ...]]
"""An update: is the bin in range, which is it in the order of memory, the values for it."""


def changes(b: Builder, exp: core.SegHist, shape: tuple[Operand, ...]) -> Iterator[Change]:
    """The updates of one point of the space."""
    made, each = gen_body(b, exp.body, Mode.THREAD), exp.rank + len(exp.dests)
    for k in range(0, len(made), each):
        at, values = split_indices(made[k : k + each], exp.rank)
        inside, bin_ = in_range(b, at, shape), ZERO
        for index, stride in zip(at, b.strides(shape), strict=True):
            bin_ = b.wrapping(Op.ADD, bin_, b.wrapping(Op.MUL, index, stride))  # an index may be out of range
        yield inside, bin_, tuple(scalar(v) for v in values)


def one_by_one(exp: core.SegHist) -> Iterator[core.SegHist]:
    """A histogram for each update of a point."""
    for update in exp.updates:
        yield replace(exp, body=live(core.Body(exp.body.stms, update)))


def atomically(s: Atomic, b: Builder, arrays: list[kir.KArray], shape: tuple[Operand, ...]) -> None:
    """The updates of one point."""
    for inside, bin_, values in changes(b, s.exp, shape):
        pairs = zip(s.operations, arrays, values, strict=True)
        b.emit(kir.KIf(inside, tuple(kir.Atomic(op, prim, a, bin_, x) for (op, prim), a, x in pairs), ()))


def chunk_of(b: Builder, exp: core.SegHist, number: Operand, length: Operand) -> tuple[Operand, Operand]:
    """The points of a chunk, as numbers in the order of the space."""
    total = b.product(map(b.operand, exp.space.widths))
    lo = b.mul(number, length, "lo")
    return lo, b.minimum(total, b.add(lo, length), "hi")


# ---- atomic updates ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atomic(Segop[core.SegHist]):
    """A histogram by an operation without an order; its bins, a range of them; its points, those of a block."""

    operations: tuple[Operation, ...]
    bins: Atom
    points: Atom
    fair: Atom

    @property
    def size(self) -> int:
        return ATOMIC // sum(prim.bytes for _, prim in self.operations)


def by_atomics(s: Segop[core.SegHist], operations: tuple[Operation, ...]) -> None:
    """Atomic updates; the destinations have the results."""
    h, exp = s.h, s.exp
    bins, points = bins_of(h, exp), h.product(exp.space.widths)
    fair = h.op(Op.MAX, h.ceil_div(points, h.size(Kind.NUM_BLOCKS)), i64(LEAST_CHUNK))
    run(Atomic(h, bound(s, ()).stm, exp, s.base, [], operations, bins, points, fair), ATOMICS)
    alias(h, s.stm, exp.dests)


def are_few(s: Atomic, _: bool) -> Atom:
    """bool: do the bins fit in the shared memory of a block?"""
    return s.h.op(Op.LE, s.bins, i64(s.size), base="is")


def in_shared(s: Atomic, _: bool) -> None:
    """Sub-histograms in shared memory, of chunks with at least four points for each bin; a block for each chunk."""
    h = s.h
    length = h.op(Op.MAX, s.fair, h.op(Op.MUL, s.bins, i64(4)), base="length")
    blocks = h.ceil_div(s.points, length)
    made = h.best_layout(s.depth, lambda: shared_kernel(s, length), (blocks,), s.exp.space.dims)
    h.launch(made, blocks, s.points, made.cost / EXTENT, s.stm.loc)


def directly(s: Atomic, _: bool) -> None:
    """Updates of the destination itself, a block for each chunk."""
    blocks = s.h.ceil_div(s.points, s.fair)
    made = s.h.best_layout(s.depth, lambda: direct_kernel(s), (blocks,), s.exp.space.dims)
    s.h.launch(made, blocks, s.points, made.cost / EXTENT, s.stm.loc)


def shared_kernel(s: Atomic, length: Atom) -> Made:
    """`length`: points of a chunk."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.say("a block for each chunk of the points, which has the bins in shared memory")
    dests, bins = destinations(b, exp.dests), b.operand(s.bins)
    lo, hi = chunk_of(b, exp, b.block, b.operand(length))
    neutral = tuple(map(b.operand, exp.op.neutral))
    subs = [b.alloc("bins", prim, (i64(s.size),), kir.Space.SHARED).mem for _, prim in s.operations]
    k, point, k_out = (b.fresh(base, Prim.I64) for base in ("k", "point", "k"))
    b.emit(kir.Threads(k, ZERO, bins, tuple(map(lambda a, n: kir.Store(a, k, n), subs, neutral))))
    with b.threads(point, lo, hi):
        bind_space(b, exp.space, point, h.order)
        atomically(s, b, subs, dests[0].shape)
    with b.threads(k_out, ZERO, bins):
        for (op, prim), sub, dest, start in zip(s.operations, subs, dests, neutral, strict=True):
            found = b.let("found", prim, kir.KLoad(sub, k_out))
            changed = b.op(Op.NE, prim, found, start)
            b.emit(kir.KIf(changed, (kir.Atomic(op, prim, dest.mem, k_out, found),), ()))
    return h.finish(b, s.base)


def direct_kernel(s: Atomic) -> Made:
    """A thread for each point of a chunk, which updates the bin in global memory if it is in range."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.say("a block for each chunk of the points; bins in global memory")
    dests = destinations(b, exp.dests)
    lo, hi = chunk_of(b, exp, b.block, b.operand(s.fair))
    with b.threads(b.fresh("point", Prim.I64), lo, hi) as point:
        bind_space(b, exp.space, point, h.order)
        atomically(s, b, [dest.mem for dest in dests], dests[0].shape)
    return h.finish(b, s.base)


# ---- turns -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turns(Segop[core.SegHist]):
    """A histogram by an operator with an order; the elements of a destination, and the points."""

    bins: Atom
    points: Atom

    @property
    def prims(self) -> tuple[Prim, ...]:
        return tuple(self.h.types[dest].prim for dest in self.exp.dests)

    @property
    def size(self) -> int:
        """How many bins of a warp fit in shared memory."""
        return max(1, SHARED // WARPS // sum(prim.bytes for prim in self.prims))


def in_turns(s: Segop[core.SegHist], _: bool) -> None:
    """Bins for each warp; the destinations have the results."""
    h, exp = s.h, s.exp
    run(Turns(h, bound(s, ()).stm, exp, s.base, [], bins_of(h, exp), h.product(exp.space.widths)), TURNS)
    alias(h, s.stm, exp.dests)


def fit_in_shared(s: Turns, _: bool) -> Atom:
    """bool: do the bins of all warps of a block fit in its shared memory?"""
    return s.h.op(Op.LE, s.bins, i64(s.size), base="is")


def turns_in_shared(s: Turns, _: bool) -> None:
    """The bins of each warp in shared memory, some of them at a time."""
    turns(s, s.size, 1)


def turns_in_global(s: Turns, _: bool) -> None:
    """The bins of each warp in global memory."""
    turns(s, None, WARPS)


def turns(s: Turns, size: int | None, rows: int) -> None:
    """As many chunks as keep the machine busy, and no more than the room for their sub-histograms allows, `rows` of
    each block in global memory; `size`: as many bins in shared memory."""
    h = s.h
    least = h.op(Op.QUOT, h.op(Op.MUL, h.op(Op.MUL, s.bins, i64(rows)), s.points), i64(MOST_PARTIAL))
    number = h.op(Op.MAX, h.op(Op.QUOT, h.size(Kind.NUM_BLOCKS), i64(4)), i64(1))
    fair = h.op(Op.MAX, h.ceil_div(s.points, number), i64(LEAST_CHUNK))
    length = h.op(Op.MAX, fair, least, base="length")
    blocks = h.ceil_div(s.points, length)
    row = h.op(Op.MUL, s.bins, i64(rows))
    parts = [h.scratch("parts", Type(prim, (blocks, row))) for prim in s.prims]
    made = h.best_layout(s.depth, lambda: turns_kernel(s, parts, (row, length), size), (blocks,))
    h.launch(made, blocks, s.points, made.cost / EXTENT, s.stm.loc)
    last = sum_kernel(s, parts, (blocks, row))
    h.launch(last, h.ceil_div(s.bins, BLOCK.threads), s.bins, last.cost / EXTENT, s.stm.loc)


def turns_kernel(s: Turns, parts: list[Name], cut: tuple[Atom, Atom], size: int | None) -> Made:
    """`parts[block][bin]`, the values of a chunk for a bin in order. `cut`: elements of a block in `parts`, points of a
    chunk. The bins of each warp: `size` elements in shared memory, or as many as there are in `parts`."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.say("a block for each chunk of the points; each warp has the bins, in shared memory if there are few")
    shape = tuple(b.operand(width) for width in h.types[exp.dests[0]].shape)
    bins, row, length = (b.operand(a) for a in (s.bins, *cut))
    lo, hi = chunk_of(b, exp, b.block, length)
    neutral, outs = tuple(map(b.operand, exp.op.neutral)), [output(b, name).mem for name in parts]
    start = b.mul(b.block, row, "start")
    each, first = (bins, start) if size is None else (i64(size), ZERO)
    subs = [b.alloc("bins", n.prim, (i64(WARPS * size),), kir.Space.SHARED).mem for n in neutral] if size else outs
    with b.threads(b.fresh("k", Prim.I64), ZERO, b.mul(i64(WARPS), each)) as k:
        at = b.add(first, k)
        for array, n in zip(subs, neutral, strict=True):
            b.emit(kir.Store(array, at, n))
    for one in one_by_one(exp):
        point, warp = b.fresh("point", Prim.I64), b.fresh("warp", Prim.I64)
        with b.nested() as body:
            bind_space(b, exp.space, point)
            ((inside, bin_, values),) = changes(b, one, shape)
            key = b.op(Op.SELECT, Prim.I64, inside, bin_, i64(-1), base="key")
        with b.nested() as turn:
            at = b.add(first, b.add(b.mul(warp, each), key))
            old = tuple(b.let("old", a.prim, kir.KLoad(a, at)) for a in subs)
            for array, value in zip(subs, applied(b, exp.op.op, old, values), strict=True):
                b.emit(kir.Store(array, at, value))
        b.emit(kir.WarpTurns(warp, point, lo, hi, tuple(body), key, tuple(turn)))
    with b.threads(b.fresh("k", Prim.I64), ZERO, bins) as k_out:
        totals = in_order(b, exp, subs, (i64(WARPS), each, b.add(first, k_out)), neutral)
        for array, value in zip(outs, totals, strict=True):
            b.emit(kir.Store(array, b.add(start, k_out), value))
    return h.finish(b, s.base)


def sum_kernel(s: Turns, parts: list[Name], cut: tuple[Atom, Atom]) -> Made:
    """`dest[bin] op= parts[0][bin] op parts[1][bin] op ..`; `cut`: blocks, elements of each in `parts`."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.say("a thread for each bin: the sums of all chunks, in order")
    dests = destinations(b, exp.dests)
    bins, blocks, row = (b.operand(a) for a in (s.bins, *cut))
    arrays = [mem_of(b, name) for name in parts]
    lo = b.mul(b.block, i64(BLOCK.threads), "lo")
    bin_ = b.fresh("bin", Prim.I64)
    with b.nested() as stms:
        old = tuple(b.let("old", d.mem.prim, kir.KLoad(d.mem, bin_)) for d in dests)
        for dest, value in zip(dests, in_order(b, exp, arrays, (blocks, row, bin_), old), strict=True):
            b.emit(kir.Store(dest.mem, bin_, value))
    b.emit(kir.Threads(bin_, lo, b.minimum(bins, b.add(lo, i64(BLOCK.threads))), tuple(stms)))
    return h.finish(b, s.base)


def mem_of(b: Builder, name: Name) -> kir.KArray:
    """The memory of an array that the kernel takes as it is."""
    ref = b.array(name)
    assert isinstance(ref, ArrayRef)
    return ref.mem


def in_order(
    b: Builder,
    exp: core.SegHist,
    arrays: list[kir.KArray],
    rows: tuple[Operand, Operand, Operand],
    start: tuple[Operand, ...],
) -> tuple[Operand, ...]:
    """`start op arrays[0][k] op arrays[1][k] op ..`; `rows`: how many, their length, k."""
    count, length, k = rows
    accs = [b.declare("acc", x) for x in start]
    with b.loop(b.fresh("row", Prim.I64), count) as row:
        left = tuple(b.copy(acc) for acc in accs)
        at = b.add(b.mul(row, length), k)
        right = tuple(b.let("x", a.prim, kir.KLoad(a, at)) for a in arrays)
        b.assign(accs, applied(b, exp.op.op, left, right))
    return tuple(b.copy(acc) for acc in accs)


ATOMICS: Table = (
    Schedule("shared atomics", in_shared, guard=are_few),
    Schedule("global atomics", directly),
)
TURNS: Table = (
    Schedule("shared bins", turns_in_shared, guard=fit_in_shared),
    Schedule("global bins", turns_in_global),
)
SEGHIST: Table = (
    Schedule("in sequence", in_sequence, no_collective),
    Schedule("atomics", by_atomics, is_exact, rows=ATOMICS),
    Schedule("apart", apart, has_extrema),
    Schedule("turns", in_turns, rows=TURNS),
)
