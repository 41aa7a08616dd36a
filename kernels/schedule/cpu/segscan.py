"""SegScan as kernels.

segscan (i < n, j < m)     block = (i, chunk of j), in the order in which blocks begin: scan the chunk, combine what
                           precedes it with each prefix, publish the total up to its end

A block that is alone goes through its chunk once, and publishes at its end. One that is not first reduces its chunk, so
that others need not wait for its scan; the second time the chunk is in the cache. Both give the same bits: a scan moves
its carry on by what a reduction in order combines, and totals of chunks are combined from the left. So results depend
neither on timing nor on the number of threads. Where a segment is not cut, its block scans it, and that is all.
Source: Merrill and Garland, single-pass parallel prefix scan; looking back no further than one chunk, since a core has
but one block under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir import core
from ....ir.commute import is_commutative
from ....ir.core import Body, Lambda, Reduction, SegSpace
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, Type, i64
from ...analysis.cost import EXTENT
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, KVar
from .. import soacs
from ..host_builder import Follower, HostBuilder, Made
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, scalar
from ..soacs import is_simple, k_lambda, neutral_of, put
from ..space import bind_segment, bind_space, output, row_of, segment_screma
from ..statements import gen_body
from ..table import Schedule, Segop, Table, in_memory, launch
from .segred import chunks_of


@dataclass(frozen=True, slots=True)
class Chain:
    """How segments are cut: chunks of a segment and their length; `counters` of the blocks that have begun, and of
    those that have ended; `flags` and `totals` of all chunks."""

    chunks: Atom
    length: Atom
    counters: Name
    flags: Name
    totals: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Followed(Segop[core.SegScan]):
    """A scan with the map, or the elements of the reduction, computed with it, whose results are the last of all."""

    follower: Follower


def whole_or_not(s: Segop[core.SegScan]) -> bool | str:
    """Applies where an operator is no scalar one, or may fail, so that segments are not cut; else why not."""
    return "an operator that a collective can have" if all(is_simple(r.op) for r in s.exp.scans) else True


def scan_whole(s: Segop[core.SegScan], _: bool) -> None:
    """A block for each segment."""
    s = in_memory(s)
    launch(s, s.h.product(s.outer), lambda: segscan_whole(s))


def scan_chunks(s: Segop[core.SegScan], _: bool) -> None:
    """A block for each chunk of each segment, all in one launch."""
    h, s = s.h, in_memory(s)
    units, chain = h.product(s.exp.space.widths), chain_of(s)
    made = h.best_layout(s.depth, lambda: segscan_chunks(s, chain))
    h.launch(made, h.op(Op.MUL, h.product(s.outer), chain.chunks), units, made.cost / EXTENT, s.stm.loc)


WHOLE = Schedule("whole segments", scan_whole, whole_or_not)
CHUNKS = Schedule("chain of chunks", scan_chunks)
SEGMENTS: Table = (WHOLE, CHUNKS)


def scanned_in(exp: core.SegScan) -> int:
    """How many of the results are scanned; the others are mapped."""
    return sum(len(scan.neutral) for scan in exp.scans)


def chain_of(s: Segop[core.SegScan]) -> Chain:
    """Flags and the counter begin as 0."""
    h = s.h
    chunks, length = chunks_of(h, s.outer, s.exp.space.widths[-1])
    blocks = h.op(Op.MUL, h.product(s.outer), chunks)
    several = h.op(Op.GT, chunks, i64(1), base="several")
    room = h.choice(several, blocks, i64(1), "room")
    scanned = (t.prim for scan in s.exp.scans for t in scan.op.ret)
    totals = tuple(h.scratch("totals", Type(prim, (room,))) for prim in scanned)
    return Chain(chunks, length, h.zeros("counters", Prim.I64, i64(2)), h.zeros("flags", Prim.I32, room), totals)


def segscan_whole(s: Segop[core.SegScan]) -> Made:
    """A segment scanned by its block, from the neutral elements; what is mapped beside it is stored."""
    h, exp, b = s.h, s.exp, s.h.builder()
    indices, _, lo, count = bind_segment(b, exp.space, None, b.block)
    for name, _ in s.outs:
        output(b, name)
    rows = [Type(t.prim, t.shape[len(s.outer) :]) for _, t in s.outs[: scanned_in(exp)]]
    segment_screma(b, h.names, exp, lo, count, s.outs, indices, rows)
    return h.finish(b, s.base)


Bounds = tuple[Operand, Operand]
Refs = dict[int, ArrayRef]
"""The rows of the results that are stored, by the places of these."""
ScanPart = Callable[[Builder, Bounds, Refs, tuple[Operand, ...], Operand], tuple[Operand, ...]]
"""Scans a part of a segment, with its bounds, after a carry if there is one; the last operand is the number of the
chunk. Gives the total of the part."""


def segscan_chunks(s: Segop[core.SegScan], chain: Chain, scan: ScanPart | None = None) -> Made:
    """Scan every chunk by itself, what precedes it combined with each prefix, or on from there; `scan`: how, if not at
    once."""
    h, exp, b = s.h, s.exp, s.h.builder()
    cut = chain.chunks != ONE
    number = number_of(b, chain) if cut else b.block
    indices, chunk, lo, count = bind_segment(b, exp.space, (chain.chunks, chain.length), number)
    refs = {k: row_of(b, output(b, name), indices) for k, (name, _) in enumerate(s.outs)}
    bounds = lo, b.add(lo, count)
    onwards = scan is None and goes_on(exp)
    scan = scan or (lambda b, bounds, refs, carry, _: scan_part(b, s, bounds, refs, carry))
    if not cut:
        scan(b, bounds, refs, (), chunk)
        return h.finish(b, s.base)
    link = link_of(b, chain, number, chunk)
    carry = carry_of(b, exp, link, lambda: reduced(h, b, exp, indices, (lo, count)))
    if onwards:
        hand_on(b, exp, link, (), scan_part(b, s, bounds, refs, (), carry))
    else:
        hand_on(b, exp, link, carry, scan(b, bounds, refs, carry, chunk))
    return h.finish(b, s.base)


def scan_rows(s: Segop[core.SegScan], rows: tuple[Atom, Atom]) -> Made:
    """A block for some rows, which it scans one after the other. `rows`: of a block, and of all."""
    exp, b = s.exp, s.h.builder()
    outer, width = SegSpace(exp.space.dims[:-1]), b.operand(exp.space.widths[-1])
    (each, total), row = (b.operand(a) for a in rows), b.fresh("row", Prim.I64)
    first = b.mul(b.block, each)
    count = b.minimum(each, b.sub(total, first))
    refs = [output(b, name) for name, _ in s.outs]
    with b.loop(row, count):
        indices = bind_space(b, outer, b.add(first, row))
        scan_part(b, s, (ZERO, width), {k: row_of(b, ref, indices) for k, ref in enumerate(refs)}, ())
    return s.h.finish(b, s.base)


def scan_part(
    b: Builder,
    s: Segop[core.SegScan],
    bounds: Bounds,
    refs: Refs,
    carry: tuple[Operand, ...],
    start: tuple[Operand, ...] | None = None,
) -> tuple[KVar, ...]:
    """refs[j] := carry op (scan of the part), without a carry if there is none, and what a follower makes of it; gives
    the total of the part. `start`: what the scan begins with, if it goes on with another."""
    exp, follower = s.exp, s.follower if isinstance(s, Followed) else None
    op, neutral = k_lambda(b, exp.scans), neutral_of(b, exp.scans)
    stored = refs if follower is None else {k: refs[n] for n, k in enumerate(follower.kept)}
    index = b.fresh("j", Prim.I64)
    with b.nested() as body:
        b.env[exp.space.dims[-1][0]] = index
        values = gen_body(b, exp.body, Mode.THREAD)
        for k, value in enumerate(values[len(neutral) :], start=len(neutral)):
            if k in stored:
                put(b, stored[k], index, value, Mode.THREAD)
        scanned = tuple(scalar(v) for v in values[: len(neutral)])
    prefixes = tuple(b.fresh("prefix", v.prim) for v in op.left)
    total = tuple(b.fresh("total", v.prim) for v in op.left)
    with b.nested() as after:
        found = combined(b, exp, carry, prefixes) if carry else prefixes
        for k, value in enumerate(found):
            if k in stored:
                put(b, stored[k], index, value, Mode.THREAD)
        if follower is not None:
            given = (*found, *values[len(neutral) :])
            b.env.update({name: given[k] for name, k in follower.taken.items()})
            for k, value in enumerate(gen_body(b, follower.body, Mode.THREAD), start=len(follower.kept)):
                put(b, refs[k], index, value, Mode.THREAD)
    b.emit(
        kir.BlockScan(
            prefixes, total, index, *bounds, tuple(body), scanned, op, start or neutral, neutral, tuple(after)
        )
    )
    return total


def reduced(
    h: HostBuilder, b: Builder, exp: core.SegScan, indices: tuple[Operand, ...], part: tuple[Operand, Operand]
) -> tuple[Operand, ...]:
    """A chunk reduced, in any order where that gives the same bits. `part`: its first index, its length."""
    reds = tuple(Reduction(s.op, s.neutral, is_commutative(s.op) and is_exact(s.op)) for s in exp.scans)
    ns = sum(len(s.neutral) for s in exp.scans)
    body = Body(exp.body.stms, exp.body.result[:ns])
    types = [Type(t.prim, ()) for s in exp.scans for t in s.op.ret]
    red = core.SegRed(exp.level, exp.space, reds, body, exp.ret[:ns], None)
    return tuple(scalar(v) for v in segment_screma(b, h.names, red, *part, [], indices, types))


def goes_on(exp: core.SegScan) -> bool:
    """Whether the scan of a chunk begins with what precedes it: nothing is rounded, so that any order does."""
    return all(is_exact(scan.op) for scan in exp.scans)


def is_exact(op: Lambda) -> bool:
    """Without floats nothing is rounded."""
    return not any(t.prim.is_float for t in op.ret)


# ---- the chain ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """A block of a chain. `cut`: is its segment cut at all? `before`, `behind`: is there a chunk of its segment before
    it, behind it? `alone`: it began when all before it had ended. Its number; flags, totals and counters."""

    number: Operand
    cut: Operand
    before: Operand
    behind: Operand
    alone: Operand
    flags: KArray
    totals: tuple[KArray, ...]
    counters: KArray


def number_of(b: Builder, chain: Chain) -> Operand:
    """Chunks are taken in the order in which blocks begin, so that a block waits for such only as have begun."""
    number, ticket = b.declare("number", b.block), b.fresh("ticket", Prim.I64)
    take = kir.Atomic(Op.ADD, Prim.I64, output(b, chain.counters).mem, ZERO, ONE, ticket)
    b.emit(kir.KIf(is_cut(b, chain), (take, kir.Assign(number, ticket)), ()))
    return b.copy(number)


def is_cut(b: Builder, chain: Chain) -> Operand:
    """bool: has a segment more than one chunk?"""
    return b.op(Op.GT, Prim.I64, b.operand(chain.chunks), ONE)


def link_of(b: Builder, chain: Chain, number: Operand, chunk: Operand) -> Link:
    """What a block knows of itself when it begins. It is alone if as many blocks have ended as have begun before it;
    only one whose segment is cut asks."""
    cut, counters = is_cut(b, chain), output(b, chain.counters).mem
    alone, ended = b.declare("alone", Const(Prim.BOOL, False)), b.fresh("ended", Prim.I64)
    with b.when(cut):
        b.emit(kir.Atomic(Op.ADD, Prim.I64, counters, ONE, ZERO, ended))
        b.emit(kir.Assign(alone, b.op(Op.EQ, Prim.I64, ended, number)))
    before = b.op(Op.GT, Prim.I64, chunk, ZERO)
    behind = b.op(Op.LT, Prim.I64, b.add(chunk, ONE), b.operand(chain.chunks))
    flags, totals = output(b, chain.flags).mem, tuple(output(b, t).mem for t in chain.totals)
    return Link(number, cut, before, behind, b.copy(alone), flags, totals, counters)


def carry_of(
    b: Builder, exp: core.SegScan, link: Link, reduce: Callable[[], tuple[Operand, ...]]
) -> tuple[Operand, ...]:
    """The total of the chunk before. A block that is not alone publishes its own as soon as that is there."""
    neutral = neutral_of(b, exp.scans)
    carry, own = ([b.declare(base, n) for n in neutral] for base in ("carry", "own"))
    hurries = b.op(Op.AND, Prim.BOOL, link.behind, b.op(Op.NOT, Prim.BOOL, link.alone))
    with b.when(hurries):
        b.assign(own, reduce())
    with b.when(link.before):
        last = b.sub(link.number, ONE)
        b.emit(kir.WaitFor(b.fresh("seen", Prim.I32), link.flags, last, Const(Prim.I32, kir.TOTAL)))
        for var, array in zip(carry, link.totals, strict=True):
            b.emit(kir.Assign(var, b.let("before", var.prim, kir.KLoad(array, last))))
    found = tuple(b.copy(v) for v in carry)
    with b.when(hurries):
        publish(b, link, combined(b, exp, found, tuple(b.copy(v) for v in own)))
    return found


def hand_on(b: Builder, exp: core.SegScan, link: Link, carry: tuple[Operand, ...], own: tuple[Operand, ...]) -> None:
    """A block that is alone publishes its total here; it has ended. Without a carry its own is that already."""
    with b.nested() as stms:
        publish(b, link, combined(b, exp, carry, own) if carry else own)
    b.emit(kir.KIf(b.op(Op.AND, Prim.BOOL, link.behind, link.alone), tuple(stms), ()))
    end = kir.Atomic(Op.ADD, Prim.I64, link.counters, ONE, ONE, b.fresh("ended", Prim.I64))
    b.emit(kir.KIf(link.cut, (end,), ()))


def publish(b: Builder, link: Link, total: tuple[Operand, ...]) -> None:
    """The total up to the end of the block's chunk, then the flag that says so."""
    publish_part(b, link.flags, link.number, link.totals, total, kir.TOTAL)


def publish_part(
    b: Builder, flags: KArray, tile: Operand, arrays: Sequence[KArray], values: tuple[Operand, ...], what: int
) -> None:
    """What the tile holds, then the flag that says so."""
    for array, value in zip(arrays, values, strict=True):
        b.emit(kir.Store(array, tile, value))
    b.emit(kir.Publish(flags, tile, Const(Prim.I32, what)))


def combined(
    b: Builder, exp: core.SegScan, left: tuple[Operand, ...], right: tuple[Operand, ...]
) -> tuple[Operand, ...]:
    """`left op right`, all components."""
    return tuple(map(scalar, soacs.combined(b, exp.scans, left, right, Mode.THREAD)))
