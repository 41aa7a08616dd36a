"""SegScan on a machine with many threads: every element is read once and written once.

segscan (i < n, j < m)     m short: block = whole segments, one scan over their elements that starts anew at j = 0:
                               (f, x) op' (g, y) = (f or g, if g then y else x op y)
                           else block = (i, tile of j), in the order in which blocks begin: scan the tile, publish its
                               sum, look back for what precedes it, publish the total, combine and write

What is mapped beside the scan is computed and stored in the same pass. Source: Merrill and Garland, single-pass
parallel prefix scan with decoupled look-back; the carry is a fold from the left, so that bits do not depend on timing.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import SegSpace
from ....ir.machine import BLOCK
from ....ir.ops import Op
from ....ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ...analysis.tile_items import tile_items
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KLambda, KVar
from ..cpu.segscan import WHOLE, combined, publish_part, scanned_in
from ..host_builder import Made
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, clean
from ..soacs import k_lambda, neutral_of, put
from ..space import bind_space, output, row_of, scalar
from ..statements import gen_body
from ..table import Schedule, Segop, Table, in_memory, launch, run


def fits_tile(s: Segop[core.SegScan], _: bool) -> Atom:
    """Is a segment no longer than a tile of elements with flags?"""
    flagged = BLOCK.threads * tile_items(bytes_of(s) + 1)
    return s.h.op(Op.LE, s.exp.space.widths[-1], i64(flagged), base="is")


def bytes_of(s: Segop[core.SegScan]) -> int:
    """Of what is scanned, for each element."""
    return sum(type_.prim.bytes for _, type_ in s.outs[: scanned_in(s.exp)])


# ---- whole segments ----------------------------------------------------------------------------------------------


def launch_segments(s: Segop[core.SegScan], _: bool) -> None:
    """A block for as many whole segments as fit into a tile of elements with flags (a byte each)."""
    h = s.h
    length = h.op(Op.MAX, s.exp.space.widths[-1], i64(1))
    each = h.op(Op.QUOT, i64(BLOCK.threads * tile_items(bytes_of(s) + 1)), length, base="segments")
    launch(s, h.ceil_div(h.product(s.outer), each), lambda: segments_kernel(s, each))


def segments_kernel(s: Segop[core.SegScan], each: Atom) -> Made:
    """The elements of a block's segments, one after the other; the flag of an element says that a segment begins."""
    exp, b = s.exp, s.h.builder()
    b.say("a block for several whole segments: one scan that starts anew with each")
    (inner, width), outer = exp.space.dims[-1], exp.space.dims[:-1]
    m, n = b.operand(width), product(b, outer)
    begin = b.mul(b.block, b.operand(each), "segment")
    end = b.minimum(n, b.add(begin, b.operand(each)), "end")
    lo, hi = b.mul(begin, m, "lo"), b.mul(end, m, "hi")
    place = b.fresh("place", Prim.I64)
    op, neutral = k_lambda(b, exp.scans), neutral_of(b, exp.scans)
    arrays = [output(b, name) for name, _ in s.outs]
    with b.nested() as body:
        segment = b.op(Op.QUOT, Prim.I64, place, m, base="segment") if outer else ZERO
        index = b.op(Op.REM, Prim.I64, place, m, base=clean(inner.base)) if outer else place
        b.env[inner] = index
        indices = bind_space(b, SegSpace(outer), segment) if outer else ()
        values = mapped(b, exp, [row_of(b, a, indices) for a in arrays[len(neutral) :]], index)
        starts = b.op(Op.EQ, Prim.I64, index, ZERO, base="starts")
        values = first_behind(b, exp, starts, neutral, values)
    scanned = tuple(b.fresh("scanned", v.prim) for v in op.left)
    with b.nested() as after:
        for array, value in zip(arrays, scanned, strict=False):
            b.emit(kir.Store(array.mem, place, value))
    never = Const(Prim.BOOL, False)
    b.emit(
        kir.BlockScan(
            (b.fresh("started", Prim.BOOL), *scanned),
            tuple(b.fresh("last", v.prim) for v in (never, *neutral)),
            place, lo, hi, tuple(body), (starts, *values), starting_anew(b, op), (never, *neutral), (never, *neutral),
            tuple(after), True,
        )
    )  # fmt: skip
    return s.h.finish(b, s.base)


def first_behind(
    b: Builder, exp: core.SegScan, starts: Operand, neutral: tuple[Operand, ...], values: tuple[Operand, ...]
) -> tuple[Operand, ...]:
    """The first element of a segment combined with the neutral element, as everywhere: not every program's is one."""
    behind = zip(values, combined(b, exp, neutral, values), strict=True)
    return tuple(b.let("x", x.prim, kir.KOp(Op.SELECT, x.prim, (starts, y, x))) for x, y in behind)


def starting_anew(b: Builder, op: KLambda) -> KLambda:
    """The operator on (flag, value): what stands left of a start does not reach what stands right of it."""
    f, g, either = (b.fresh(base, Prim.BOOL) for base in ("f", "g", "either"))
    results = tuple(b.fresh("chosen", r.prim) for r in op.results)
    choices = (
        kir.KLet(to, kir.KOp(Op.SELECT, to.prim, (g, right, result)))
        for to, right, result in zip(results, op.right, op.results, strict=True)
    )
    flags = kir.KLet(either, kir.KOp(Op.OR, Prim.BOOL, (f, g)))
    return KLambda((f, *op.left), (g, *op.right), (*op.body, flags, *choices), (either, *results))


def product(b: Builder, dims: tuple[tuple[Name, Const | Var], ...]) -> Operand:
    """How many points the dimensions have, computed in the kernel; 1 for none."""
    total: Operand = ONE
    for _, width in dims:
        total = b.mul(total, b.operand(width))
    return total


def mapped(b: Builder, exp: core.SegScan, rows: list[ArrayRef], index: Operand) -> tuple[Operand, ...]:
    """The body at one point of the space: what is mapped is stored, what is scanned is given."""
    values = gen_body(b, exp.body, Mode.THREAD)
    count = len(values) - len(rows)
    for row, value in zip(rows, values[count:], strict=True):
        put(b, row, index, value, Mode.THREAD)
    return tuple(scalar(v) for v in values[:count])


# ---- a chain of tiles --------------------------------------------------------------------------------------------


def launch_chain(s: Segop[core.SegScan], _: bool) -> None:
    """Flags and the counter of blocks begin as 0."""
    h, ns, tile = s.h, scanned_in(s.exp), BLOCK.threads * tile_items(bytes_of(s))
    tiles = h.ceil_div(s.exp.space.widths[-1], tile)
    blocks = h.op(Op.MUL, h.product(s.outer), tiles, base="blocks")
    flags, counter = h.zeros("flags", Prim.I32, blocks), h.zeros("begun", Prim.I64, i64(1))
    parts = [[h.scratch(base, Type(t.prim, (blocks,))) for _, t in s.outs[:ns]] for base in ("sums", "totals")]
    launch(s, blocks, lambda: chain_kernel(s, tile, (flags, counter), parts))


def chain_kernel(s: Segop[core.SegScan], tile: int, shared: tuple[Name, Name], parts: list[list[Name]]) -> Made:
    """A block for each tile of `tile` elements. `shared`: the flags and the counter of blocks; `parts`: for each
    component the sums of tiles, then the totals up to their ends."""
    exp, b = s.exp, s.h.builder()
    b.say("a block for each tile of a segment, in the order in which blocks begin, which look back for the sum before")
    (inner, width), outer = exp.space.dims[-1], exp.space.dims[:-1]
    m = b.operand(width)
    flags, counter = (output(b, name).mem for name in shared)
    sums, totals = ([output(b, name).mem for name in names] for names in parts)
    number = b.fresh("tile", Prim.I64)
    b.emit(kir.Atomic(Op.ADD, Prim.I64, counter, ZERO, ONE, number))
    tiles = b.op(Op.QUOT, Prim.I64, b.add(m, i64(tile - 1)), i64(tile), base="tiles")
    segment = b.op(Op.QUOT, Prim.I64, number, tiles, base="segment") if outer else ZERO
    first = b.mul(segment, tiles, "first")
    indices = bind_space(b, SegSpace(outer), segment) if outer else ()
    lo = b.mul(b.sub(number, first), i64(tile), "lo")
    count = b.minimum(i64(tile), b.sub(m, lo), "count")
    op, neutral = k_lambda(b, exp.scans), neutral_of(b, exp.scans)
    rows = [row_of(b, output(b, name), indices) for name, _ in s.outs]
    held = [b.alloc("held", v.prim, (i64(tile),), kir.Space.SHARED).mem for v in op.left]
    own = scan_tile(b, exp, rows[len(held) :], held, (lo, count), (op, neutral))
    publish_part(b, flags, number, sums, own, kir.SUM)
    before = tuple(b.fresh("before", v.prim) for v in op.left)
    b.emit(kir.LookBack(before, flags, tuple(sums), tuple(totals), number, first, k_lambda(b, exp.scans), neutral))
    publish_part(b, flags, number, totals, combined(b, exp, before, own), kir.TOTAL)
    index = b.fresh(clean(inner.base), Prim.I64)
    with b.nested() as stms:
        right = tuple(b.let("x", array.prim, kir.KLoad(array, index)) for array in held)
        for row, value in zip(rows, combined(b, exp, before, right), strict=False):
            put(b, row, b.add(lo, index), value, Mode.THREAD)
    b.emit(kir.Threads(index, ZERO, count, tuple(stms)))
    return s.h.finish(b, s.base)


def scan_tile(
    b: Builder,
    exp: core.SegScan,
    rows: list[ArrayRef],
    held: list[kir.KArray],
    part: tuple[Operand, Operand],
    operator: tuple[KLambda, tuple[Operand, ...]],
) -> tuple[KVar, ...]:
    """The tile scanned by itself, in shared memory; gives its sum. `part`: its first index, its length."""
    (lo, count), (op, neutral) = part, operator
    at = b.fresh("k", Prim.I64)
    with b.nested() as body:
        index = b.add(lo, at)
        b.env[exp.space.dims[-1][0]] = index
        values = mapped(b, exp, rows, index)
    scanned = tuple(b.fresh("scanned", v.prim) for v in op.left)
    own = tuple(b.fresh("sum", v.prim) for v in op.left)
    after = tuple(kir.Store(array, at, value) for array, value in zip(held, scanned, strict=True))
    b.emit(kir.BlockScan(scanned, own, at, ZERO, count, tuple(body), values, op, neutral, neutral, after, True))
    return own


COLLECTIVES: Table = (
    Schedule("whole segments in a block", launch_segments, guard=fits_tile),
    Schedule("chain of tiles", launch_chain),
)
SEGSCAN: Table = (
    WHOLE,
    Schedule("collectives", lambda s, _: run(in_memory(s), COLLECTIVES), rows=COLLECTIVES),
)
