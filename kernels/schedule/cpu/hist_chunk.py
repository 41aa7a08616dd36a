"""What a block does with its chunk of a histogram's points, piece by piece.

    for each piece lo..hi:  for k { bins[key k] op= value k }

A body that computes goes on the lanes first, with its keys and values in memory of the block; one that only fetches
stays in the loop, whose arithmetic then goes on while memory is waited for. Few bins have C copies, if the operator is
commutative, whose parts of the piece (of length q) are taken in side by side:

    for k < q { bins_0[key k] op= value k;  bins_1[key (q + k)] op= value (q + k); .. };  the rest to bins_C-1
    at the end  bins op= bins_0 op bins_1 op ..

so that equal bins side by side do not wait for each other's store (some 4 cycles and the operator), and there is a
place for what is out of range. An operator that chooses one of its arguments stores only where that changes a bin: a
branch that is mostly foreseen, where a store would make the next load of that bin wait.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir import core
from ....ir.core import Lambda, Reduction, SegSpace
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, Var, i64
from ...kernel_ir import nodes as kir
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ONE, ZERO, Builder, Mode, Operand, scalar
from ..queries import has_soac
from ..soacs import apply_lambda, cheaper, split_indices
from ..space import bind_space, split_chunk
from ..statements import gen_body
from .hist_select import chooses, parted, store_chosen

STAGED, LEAST_STAGED = 1 << 9, 1 << 7
"""Updates of a piece whose keys and values wait in memory, and the fewest points of it."""
FEW_OPERATIONS = 4
QUICK = frozenset(
    {
        Op.ADD, Op.SUB, Op.MUL, Op.AND, Op.OR, Op.XOR, Op.NOT, Op.NEG, Op.SHL, Op.SHR, Op.USHR, Op.SELECT,
        Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE,
    }
)  # fmt: skip
PARTS = 2
APART = 1 << 10
"""Bytes by which copies lie further apart than a power of two: addresses that differ in high bits alone collide."""
BYTES = 32 << 10
"""Bytes of all copies: what stays in the first cache beside the pieces."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How the points are cut: `fixed` outer dimensions of the space are segments, whose bins have a shape;
    the points lie in units, pieces of rows of that length, `each` of them in a chunk."""

    fixed: int
    segments: Atom
    shape: tuple[Atom, ...]
    bins: Atom
    points: Atom
    chunks: Atom
    piece: Atom
    units: Atom
    each: Atom


def parts_pay(op: Reduction) -> bool:
    """A bin that is rarely stored needs no copies; with copies, values lose their order."""
    return op.comm and not chooses(op.op)


def most_bins(prims: tuple[Prim, ...]) -> int:
    """How many bins of these types there may be for `PARTS` copies of them to fit into `BYTES`."""
    return BYTES // PARTS // sum(p.bytes for p in prims)


# ---- operators ---------------------------------------------------------------------------------------------------


def applied(b: Builder, op: Lambda, left: tuple[Operand, ...], right: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """The results of an operator on scalars, emitted for the present thread."""
    return tuple(map(scalar, apply_lambda(b, op, [*left, *right], Mode.THREAD)))


@dataclass(frozen=True, slots=True)
class Change:
    """An update: is there a bin, which, and what goes there."""

    inside: Operand
    bin: Operand
    values: tuple[Operand, ...]


Combine = Callable[[Builder, core.SegHist, list[kir.KArray], Operand, Change], None]


def combine(b: Builder, exp: core.SegHist, arrays: list[kir.KArray], at: Operand, change: Change) -> None:
    """`arrays[at] op= values`"""
    old = tuple(b.let("old", a.prim, kir.KLoad(a, at)) for a in arrays)
    for array, result in zip(arrays, applied(b, exp.op.op, old, change.values), strict=True):
        b.emit(kir.Store(array, at, result))


def combine_new(b: Builder, exp: core.SegHist, arrays: list[kir.KArray], at: Operand, change: Change) -> None:
    """`arrays[at] op= values` by an operator that chooses, if it changes anything; components apart where they can
    be."""
    old = tuple(b.let("old", a.prim, kir.KLoad(a, at)) for a in arrays)
    first = 0
    for op in parted(exp.op.op):
        own = slice(first, first + len(op.ret))
        store_chosen(b, op, arrays[own], at, old[own], change.values[own])
        first += len(op.ret)


# ---- points ------------------------------------------------------------------------------------------------------


def point_at(b: Builder, exp: core.SegHist, cut: Cut, index: Operand, mode: Mode) -> tuple[Change, ...]:
    """The updates of the point with this innermost index."""
    b.env[exp.space.dims[-1][0]] = index
    made = gen_body(b, exp.body, mode)
    shape, each = tuple(b.operand(width) for width in cut.shape), exp.rank + len(exp.dests)
    changes: list[Change] = []
    for k in range(len(exp.updates)):
        at, values = split_indices(made[k * each : (k + 1) * each], exp.rank)
        own, bin_ = at[cut.fixed :], ZERO
        inside = inside_of(b, own, shape)
        for i, stride in zip(own, b.strides(shape), strict=True):
            bin_ = b.wrapping(Op.ADD, bin_, b.wrapping(Op.MUL, i, stride))  # an index may be out of range
        changes.append(Change(inside, bin_, tuple(scalar(v) for v in values)))
    return tuple(changes)


def inside_of(b: Builder, indices: tuple[Operand, ...], shape: tuple[Operand, ...]) -> Operand:
    """Is an index in range? One comparison of numbers without sign for each dimension."""
    found: Operand = Const(Prim.BOOL, True)
    for pair in zip(indices, shape, strict=True):
        index, width = (b.let("u", Prim.U64, kir.KConvert(Prim.I64, Prim.U64, x)) for x in pair)
        below = b.op(Op.LT, Prim.U64, index, width)
        found = below if isinstance(found, Const) else b.op(Op.AND, Prim.BOOL, found, below)
    return found


def only_fetches(exp: core.SegHist) -> bool:
    """Is there hardly anything but loads for each update?"""
    operations = [stm for stm in exp.body.stms if isinstance(stm.exp, core.PrimOp)]
    few = len(operations) <= FEW_OPERATIONS * len(exp.updates)
    return few and all(_is_quick(stm.exp) for stm in exp.body.stms)


def gathers(exp: core.SegHist) -> bool:
    """Does a point read elements whose places it has computed? It has loads enough to wait for by itself."""
    own = {p.name for stm in exp.body.stms for p in stm.pat}
    return any(
        isinstance(dim, core.Fix) and isinstance(dim.index, Var) and dim.index.name in own
        for stm in exp.body.stms
        if isinstance(stm.exp, core.Index)
        for dim in stm.exp.dims
    )


def _is_quick(exp: core.Exp) -> bool:
    """A load, or what takes one number an instruction or two: an integer made of a float is far from it."""
    match exp:
        case core.PrimOp(op):
            return op in QUICK
        case core.Convert(source, target):
            return not source.is_float or target.is_float
        case _:
            return isinstance(exp, (core.Index, core.Copied))


Points = Callable[[Operand], tuple[Change, ...]]
"""Point number k of a piece."""


def points_of(b: Builder, exp: core.SegHist, cut: Cut, prims: tuple[Prim, ...]) -> Callable[[Operand, Operand], Points]:
    """The points of a piece `lo..hi`."""
    if only_fetches(exp):
        return lambda lo, hi: lambda k: point_at(b, exp, cut, b.add(lo, k), Mode.THREAD)
    stages = stages_of(b, exp, prims)

    def points(lo: Operand, hi: Operand) -> Points:
        stage_piece(b, exp, cut, stages, lo, hi)
        return lambda k: staged(b, exp, stages, k)

    return points


@dataclass(frozen=True, slots=True)
class Stage:
    """Memory for the bins (-1: none) and values of a piece for one update; `values[k]` is None where component k has
    the same value at all points."""

    bins: kir.KArray
    values: tuple[kir.KArray | None, ...]


def staged_points(exp: core.SegHist) -> int:
    """The points of a piece that is staged."""
    return max(LEAST_STAGED, STAGED // len(exp.updates))


def stages_of(b: Builder, exp: core.SegHist, prims: tuple[Prim, ...]) -> tuple[Stage, ...]:
    """Memory of the block for the bins of a piece, and for the values that are not the same at all of its points: one
    array of those that several updates have."""
    size = (i64(staged_points(exp)),)
    arrays: dict[tuple[Prim, Atom], kir.KArray] = {}

    def stage(update: tuple[Atom, ...]) -> Stage:
        bins = b.alloc("keys", Prim.I64, size, kir.Space.SHARED).mem
        values = tuple(zip(prims, update[exp.rank :], strict=True))
        for prim, atom in values:
            if varies(exp, atom) and (prim, atom) not in arrays:
                arrays[prim, atom] = b.alloc("values", prim, size, kir.Space.SHARED).mem
        return Stage(bins, tuple(map(arrays.get, values)))

    return tuple(map(stage, exp.updates))


def varies(exp: core.SegHist, atom: Atom) -> bool:
    """Whether an atom depends on the point: the body or its indices bind it."""
    inside = {p.name for s in exp.body.stms for p in s.pat} | set(exp.space.indices)
    return isinstance(atom, Var) and atom.name in inside


def stage_piece(b: Builder, exp: core.SegHist, cut: Cut, stages: tuple[Stage, ...], lo: Operand, hi: Operand) -> None:
    """`threads j in lo..hi`; or one point after the other, where the SOACs of the body are better on the lanes."""

    def put(index: Operand, mode: Mode) -> None:
        changes, place = point_at(b, exp, cut, index, mode), b.sub(index, lo)
        stored = set[kir.KArray]()
        for stage, change in zip(stages, changes, strict=True):
            key = b.op(Op.SELECT, Prim.I64, change.inside, change.bin, i64(-1), base="key")
            b.emit(kir.Store(stage.bins, place, key))
            for array, value in zip(stage.values, change.values, strict=True):
                if array is not None and array not in stored:
                    b.emit(kir.Store(array, place, value))
                    stored.add(array)

    def on_lanes() -> tuple[()]:
        with b.threads(b.fresh("j", Prim.I64), lo, hi) as j:
            put(j, Mode.THREAD)
        return ()

    def one_by_one() -> tuple[()]:
        j = b.fresh("j", Prim.I64)
        with b.nested() as stms:
            put(b.add(lo, j), Mode.BLOCK)
        b.emit(kir.For(j, b.sub(hi, lo), tuple(stms)))
        return ()

    if has_soac(exp.body):
        cheaper(b, on_lanes, one_by_one)
    else:
        on_lanes()


def staged(b: Builder, exp: core.SegHist, stages: tuple[Stage, ...], place: Operand) -> tuple[Change, ...]:
    """The updates of the point at a place of the stage, as they were put there; a negative bin is none."""
    bins = [b.let("key", Prim.I64, kir.KLoad(stage.bins, place)) for stage in stages]
    arrays = dict.fromkeys(a for stage in stages for a in stage.values if a is not None)
    loaded = {a: b.let("x", a.prim, kir.KLoad(a, place)) for a in arrays}
    changes: list[Change] = []
    for stage, update, bin_ in zip(stages, exp.updates, bins, strict=True):
        pairs = zip(stage.values, update[exp.rank :], strict=True)
        found = tuple(b.operand(x) if a is None else loaded[a] for a, x in pairs)
        changes.append(Change(b.op(Op.GE, Prim.I64, bin_, ZERO), bin_, found))
    return tuple(changes)


# ---- pieces ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """A block's part: where its bins begin in the targets, its first unit and the one behind its last."""

    base: Operand
    first: Operand
    last: Operand


def chunk_of(b: Builder, exp: core.SegHist, cut: Cut) -> Chunk:
    """The block's chunk: with the indices of its segment bound."""
    segment, number = split_chunk(b, exp.space.dims[: cut.fixed], b.operand(cut.chunks))
    bind_space(b, SegSpace(exp.space.dims[: cut.fixed]), segment)
    first = b.mul(number, b.operand(cut.each), "first")
    last = b.minimum(b.operand(cut.units), b.add(first, b.operand(cut.each)), "last")
    return Chunk(b.mul(b.block, b.operand(cut.bins), "base"), first, last)


def bind_unit(b: Builder, exp: core.SegHist, cut: Cut, unit: Operand) -> tuple[Operand, Operand]:
    """The bounds of a unit in its row."""
    rows, width = exp.space.dims[cut.fixed : -1], b.operand(exp.space.widths[-1])
    size, piece = b.operand(cut.piece), unit
    if rows:
        pieces = b.op(Op.QUOT, Prim.I64, b.add(width, b.sub(size, ONE)), size, base="pieces")
        bind_space(b, SegSpace(rows), b.op(Op.QUOT, Prim.I64, unit, pieces, base="row"))
        piece = b.op(Op.REM, Prim.I64, unit, pieces, base="piece")
    lo = b.mul(piece, size, "lo")
    return lo, b.minimum(width, b.add(lo, size), "hi")


def memory(b: Builder, prim: Prim, name: Name) -> kir.KArray:
    """A result as memory alone, so that a kernel is the same whatever the shape of what it fills."""
    mem = kir.KArray(b.fresh(name.base, prim).name, prim, kir.Space.GLOBAL)
    b.arrays[name] = mem
    b.outputs.add(mem)
    return mem


# ---- the two kernels ---------------------------------------------------------------------------------------------


def direct_kernel(h: HostBuilder, exp: core.SegHist, cut: Cut, targets: tuple[Name, ...], base: str) -> Made:
    """Into the targets."""
    return _into_targets(h, exp, cut, targets, base, combine)


def choosing_kernel(h: HostBuilder, exp: core.SegHist, cut: Cut, targets: tuple[Name, ...], base: str) -> Made:
    """Into the targets, where something is new."""
    return _into_targets(h, exp, cut, targets, base, combine_new)


def _into_targets(
    h: HostBuilder, exp: core.SegHist, cut: Cut, targets: tuple[Name, ...], base: str, update: Combine
) -> Made:
    b = h.builder()
    arrays = [memory(b, h.types[name].prim, name) for name in targets]
    chunk = chunk_of(b, exp, cut)

    def take_in(_part: int, change: Change) -> None:
        with b.when(change.inside):
            update(b, exp, arrays, b.add(chunk.base, change.bin), change)

    all_points(b, exp, cut, chunk, tuple(a.prim for a in arrays), take_in)
    return h.finish(b, base)


def copies_kernel(h: HostBuilder, exp: core.SegHist, cut: Cut, targets: tuple[Name, ...], base: str) -> Made:
    """Into copies, which have a place behind their last bin for what is out of range; then into the targets."""
    b = h.builder()
    arrays = [memory(b, h.types[name].prim, name) for name in targets]
    chunk, bins = chunk_of(b, exp, cut), b.operand(cut.bins)
    prims = tuple(a.prim for a in arrays)
    stride = most_bins(prims) + APART // min(p.bytes for p in prims)
    subs = [b.alloc("bins", p, (i64(PARTS * stride),), kir.Space.SHARED).mem for p in prims]

    def take_in(part: int, change: Change) -> None:
        key = b.op(Op.SELECT, Prim.I64, change.inside, change.bin, bins, base="key")
        combine(b, exp, subs, b.add(key, i64(part * stride)), change)

    _begin(b, exp, subs, bins, stride)
    all_points(b, exp, cut, chunk, prims, take_in)
    _end(b, exp, subs, arrays, chunk.base, bins, stride)
    return h.finish(b, base)


def all_points(
    b: Builder,
    exp: core.SegHist,
    cut: Cut,
    chunk: Chunk,
    prims: tuple[Prim, ...],
    take_in: Callable[[int, Change], None],
) -> None:
    """The points of a chunk; those of the parts of a piece side by side, if the operator commutes."""
    points, parts = points_of(b, exp, cut, prims), PARTS if parts_pay(exp.op) and not gathers(exp) else 1
    unit, k, rest = (b.fresh(name, Prim.I64) for name in ("unit", "k", "k"))
    with b.nested() as stms:
        lo, hi = bind_unit(b, exp, cut, b.add(chunk.first, unit))
        take, count = points(lo, hi), b.sub(hi, lo)
        length = count if parts == 1 else b.op(Op.QUOT, Prim.I64, count, i64(parts), base="part")
        with b.loop(k, length):
            for part in range(parts):
                for change in take(b.add(k, b.mul(length, i64(part)))):
                    take_in(part, change)
        if parts > 1:
            done = b.mul(length, i64(parts))
            with b.nested() as step:
                for change in take(b.add(done, rest)):
                    take_in(parts - 1, change)
            b.emit(kir.For(rest, b.sub(count, done), tuple(step)))
    b.emit(kir.For(unit, b.sub(chunk.last, chunk.first), tuple(stms)))


def _begin(b: Builder, exp: core.SegHist, subs: list[kir.KArray], bins: Operand, stride: int) -> None:
    """Neutral elements in all copies, and in the place behind their bins."""
    k = b.fresh("k", Prim.I64)
    with b.nested() as stms:
        for c in range(PARTS):
            for sub, neutral in zip(subs, exp.op.neutral, strict=True):
                b.emit(kir.Store(sub, b.add(k, i64(c * stride)), b.operand(neutral)))
    b.emit(kir.Threads(k, ZERO, b.add(bins, ONE), tuple(stms)))


def _end(
    b: Builder,
    exp: core.SegHist,
    subs: list[kir.KArray],
    targets: list[kir.KArray],
    base: Operand,
    bins: Operand,
    stride: int,
) -> None:
    """`targets[k] op= subs_0[k] op subs_1[k] op ..`"""
    with b.threads(b.fresh("k", Prim.I64), ZERO, bins) as k:
        at = b.add(base, k)
        so_far = tuple(b.let("old", a.prim, kir.KLoad(a, at)) for a in targets)
        for c in range(PARTS):
            place = b.add(k, i64(c * stride))
            so_far = applied(b, exp.op.op, so_far, tuple(b.let("x", a.prim, kir.KLoad(a, place)) for a in subs))
        b.stms.extend(kir.Store(a, at, x) for a, x in zip(targets, so_far, strict=True))
