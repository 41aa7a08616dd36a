"""SegScan on a machine with many threads: every element is read once and written once.

segscan (i < n, j < m)     m short: block = whole segments, one scan over their elements that starts anew at j = 0:
                               (f, x) op' (g, y) = (f or g, if g then y else x op y)
                           else block = (i, tile of j), in the order in which blocks begin: scan the tile, post its
                               sum, look back for what precedes it, post the total, combine and write; where
                               elements are too wide for that (`has_room`) a block for each segment

What is mapped beside the scan is computed and stored in the same pass. Source: Merrill and Garland, single-pass
parallel prefix scan with decoupled look-back; the carry is a fold from the left, so that bits do not depend on timing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....ir import core
from ....ir.core import SegSpace
from ....ir.machine import BLOCK, WARP
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, i64
from ...analysis.tile_items import tile_items, window_bytes, window_tiles
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, KVar
from ...kernel_ir.tile_words import elements
from ..cpu.segscan import WHOLE, combined, scanned_in, segscan_whole
from ..host_builder import Made
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, clean
from ..shared_room import BESIDE
from ..soacs import k_lambda, neutral_of, put, starting_anew
from ..space import bind_space, output, row_of
from ..table import Schedule, Segop, Table, in_memory, launch, run
from .segred import element


def fits_tile(s: Segop[core.SegScan], _: bool) -> Atom:
    """Is a segment no longer than a tile of elements with flags?"""
    flagged = BLOCK.threads * tile_items(bytes_of(s) + 1)
    return s.h.op(Op.LE, s.exp.space.widths[-1], i64(flagged), base="is")


def prims_of(s: Segop[core.SegScan]) -> list[Prim]:
    """The types of what is scanned."""
    return [type_.prim for _, type_ in s.outs[: scanned_in(s.exp)]]


def bytes_of(s: Segop[core.SegScan]) -> int:
    """Of what is scanned, for each element."""
    return sum(prim.bytes for prim in prims_of(s))


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
    m, n = b.operand(width), b.product(b.operand(n) for _, n in outer)
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
        values = element(b, exp, [row_of(b, a, indices) for a in arrays[len(neutral) :]], index)
        starts = b.op(Op.EQ, Prim.I64, index, ZERO, base="starts")
        values = first_behind(b, exp, starts, neutral, tuple(values))
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


# ---- a chain of tiles --------------------------------------------------------------------------------------------


def has_room(s: Segop[core.SegScan]) -> bool | str:
    """Applies where the shared memory of a block holds a tile, the sums of threads, and a window of tiles before it, in
    blocks of any size; else why not."""
    prims, size = prims_of(s), bytes_of(s)
    places = BLOCK.threads * tile_items(size)
    staged = (places + places // WARP.threads + BLOCK.threads + BLOCK.most // WARP.threads) * size
    room = BLOCK.bytes - BESIDE - window_bytes(prims, window_tiles(prims, BLOCK.most))
    return staged <= room or "elements too wide for a tile"


def launch_chain(s: Segop[core.SegScan], _: bool) -> None:
    """The words of tiles and the counter of blocks begin as 0."""
    h, tile = s.h, BLOCK.threads * tile_items(bytes_of(s))
    tiles = h.ceil_div(s.exp.space.widths[-1], tile)
    blocks = h.op(Op.MUL, h.product(s.outer), tiles, base="blocks")
    size = i64(elements(prims_of(s)))
    words = h.zeros("words", Prim.U64, h.op(Op.MUL, blocks, size, base="size"))
    counter = h.zeros("begun", Prim.I64, i64(1))
    launch(s, blocks, lambda: chain_kernel(s, tile, words, counter))


def chain_kernel(s: Segop[core.SegScan], tile: int, posted: Name, begun: Name) -> Made:
    """A block for each tile of `tile` elements. `posted`: the words of tiles; `begun`: the counter of blocks."""
    exp, b = s.exp, s.h.builder()
    b.say("a block for each tile of a segment, in the order in which blocks begin, which look back for the sum before")
    (_, width), outer = exp.space.dims[-1], exp.space.dims[:-1]
    m = b.operand(width)
    words, counter = (output(b, name).mem for name in (posted, begun))
    number = b.fresh("tile", Prim.I64)
    b.emit(kir.Atomic(Op.ADD, Prim.I64, counter, ZERO, ONE, number))
    tiles = b.op(Op.QUOT, Prim.I64, b.add(m, i64(tile - 1)), i64(tile), base="tiles")
    segment = b.op(Op.QUOT, Prim.I64, number, tiles, base="segment") if outer else ZERO
    first = b.mul(segment, tiles, "first")
    indices = bind_space(b, SegSpace(outer), segment) if outer else ()
    lo = b.mul(b.sub(number, first), i64(tile), "lo")
    count = b.minimum(i64(tile), b.sub(m, lo), "count")
    rows = [row_of(b, output(b, name), indices) for name, _ in s.outs]
    parts = Tile(b, exp, rows, tile // BLOCK.threads, [v.prim for v in k_lambda(b, exp.scans).left])
    stage, sums = parts.shared("stage", tile + tile // WARP.threads), parts.shared("sums", BLOCK.threads)
    whole = b.op(Op.EQ, Prim.I64, count, i64(tile), base="whole")
    if_whole(b, whole, count, lambda limit: fill(parts, stage, lo, limit))
    runs = fold_runs(parts, stage, sums)
    own = scan_sums(parts, sums)
    before = tuple(b.fresh("before", v.prim) for v in own)
    b.emit(kir.LookBack(before, words, number, first, own, k_lambda(b, exp.scans), neutral_of(b, exp.scans)))
    add_before(parts, runs, (stage, sums), before)
    if_whole(b, whole, count, lambda limit: store(parts, stage, lo, limit))
    return s.h.finish(b, s.base)


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile under construction: rows of the outputs, elements of a thread, types of what is scanned.

    Thread t loads and stores the elements j * T + t, neighbours of those of its warp; it folds those from t * ITEMS on.
    From one to the other they go through shared memory, with a gap after each 32."""

    b: Builder
    exp: core.SegScan
    rows: list[ArrayRef]
    items: int
    prims: list[Prim]

    def shared(self, base: str, count: int) -> list[KArray]:
        return [self.b.alloc(base, prim, (i64(count),), kir.Space.SHARED).mem for prim in self.prims]

    def each(self, body: Callable[[Operand, Operand], None], unroll: int) -> None:
        """threads { for each element that the thread loads and stores: its number in the tile, its place in shared
        memory }"""
        b, t, j = self.b, self.b.fresh("t", Prim.I64), self.b.fresh("j", Prim.I64)
        with b.threads(t, ZERO, i64(BLOCK.threads)), b.loop(j, i64(self.items), unroll):
            row = b.mul(j, i64(BLOCK.threads + BLOCK.threads // WARP.threads))
            body(b.add(b.mul(j, i64(BLOCK.threads)), t), b.add(row, self.place(t)))

    def place(self, at: Operand) -> Operand:
        """Of an element in shared memory; further by what it is further, while that is less than up to a gap."""
        return self.b.add(at, self.b.exact(Op.QUOT, at, i64(WARP.threads), "gap"))

    def load(self, arrays: list[KArray], at: Operand) -> tuple[KVar, ...]:
        return tuple(self.b.let("x", array.prim, kir.KLoad(array, at)) for array in arrays)

    def keep(self, arrays: list[KArray], at: Operand, values: Iterable[Operand]) -> None:
        for array, value in zip(arrays, values, strict=True):
            self.b.emit(kir.Store(array, at, value))


def fill(tile: Tile, stage: list[KArray], lo: Operand, count: Operand | None) -> None:
    """The elements of a tile from `lo` on; behind the last of `count` the neutral one."""
    b, neutral = tile.b, neutral_of(tile.b, tile.exp.scans)

    def one(at: Operand, place: Operand) -> None:
        index = b.add(lo, at)
        b.env[tile.exp.space.dims[-1][0]] = index
        with b.nested() as stms:
            tile.keep(stage, place, element(b, tile.exp, tile.rows[len(stage) :], index))
        if count is None:
            b.stms += stms
            return
        with b.nested() as beyond:
            tile.keep(stage, place, neutral)
        b.emit(kir.KIf(b.op(Op.LT, Prim.I64, at, count, base="inside"), tuple(stms), tuple(beyond)))

    tile.each(one, tile.items if count is None else 1)


def fold_runs(tile: Tile, stage: list[KArray], sums: list[KArray]) -> list[KArray]:
    """Registers: each thread's run folded from the left; its sum goes to `sums`."""
    b, items = tile.b, tile.items
    runs = [KArray(b.fresh("run", prim).name, prim, kir.Space.REGISTERS) for prim in tile.prims]
    b.stms += (kir.Distribute(run, BLOCK.threads, items) for run in runs)
    t, j = b.fresh("t", Prim.I64), b.fresh("j", Prim.I64)
    with b.threads(t, ZERO, i64(BLOCK.threads)):
        first = tile.place(b.mul(t, i64(items)))
        values = tile.load(stage, first)
        tile.keep(runs, ZERO, values)
        with b.loop(j, i64(items - 1), max(1, items - 1)):
            following = b.add(j, ONE)
            right = tile.load(stage, b.add(first, following))
            tile.keep(runs, following, combined(b, tile.exp, tile.load(runs, j), right))
        tile.keep(sums, t, tile.load(runs, i64(items - 1)))
    return runs


def scan_sums(tile: Tile, sums: list[KArray]) -> tuple[KVar, ...]:
    """What threads hold, scanned; gives the sum of all."""
    b, t = tile.b, tile.b.fresh("t", Prim.I64)
    op, neutral = k_lambda(b, tile.exp.scans), neutral_of(b, tile.exp.scans)
    with b.nested() as body:
        values = tile.load(sums, t)
    scanned = tuple(b.fresh("scanned", prim) for prim in tile.prims)
    own = tuple(b.fresh("own", prim) for prim in tile.prims)
    after = tuple(kir.Store(array, t, value) for array, value in zip(sums, scanned, strict=True))
    count = i64(BLOCK.threads)
    b.emit(kir.BlockScan(scanned, own, t, ZERO, count, tuple(body), values, op, neutral, neutral, after))
    return own


def add_before(
    tile: Tile, runs: list[KArray], shared: tuple[list[KArray], list[KArray]], before: tuple[KVar, ...]
) -> None:
    """What stands left of the tile and of the thread's run, put before each of its elements; back to the stage."""
    b, (stage, sums), t = tile.b, shared, tile.b.fresh("t", Prim.I64)
    with b.threads(t, ZERO, i64(BLOCK.threads)):
        left = tuple(b.fresh("left", v.prim) for v in before)
        b.stms += (kir.Declare(var, value) for var, value in zip(left, before, strict=True))
        with b.nested() as stms:
            more = combined(b, tile.exp, before, tile.load(sums, b.sub(t, ONE)))
            b.stms += (kir.Assign(var, value) for var, value in zip(left, more, strict=True))
        b.emit(kir.KIf(b.op(Op.LT, Prim.I64, ZERO, t, base="behind"), tuple(stms), ()))
        head = tuple(b.copy(var) for var in left)
        with b.loop(b.fresh("j", Prim.I64), i64(tile.items), tile.items) as j:
            place = b.add(tile.place(b.mul(t, i64(tile.items))), j)
            tile.keep(stage, place, combined(b, tile.exp, head, tile.load(runs, j)))


def store(tile: Tile, stage: list[KArray], lo: Operand, count: Operand | None) -> None:
    """The elements of the tile, as far as there are any, from the stage to the outputs."""
    b = tile.b

    def one(at: Operand, place: Operand) -> None:
        with b.nested() as stms:
            for row, value in zip(tile.rows, tile.load(stage, place), strict=False):
                put(b, row, b.add(lo, at), value, Mode.THREAD)
        if count is None:
            b.stms += stms
        else:
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, at, count, base="inside"), tuple(stms), ()))

    tile.each(one, tile.items if count is None else 1)


def if_whole(b: Builder, whole: Operand, count: Operand, emit: Callable[[Operand | None], None]) -> None:
    """What is emitted for a whole tile, or for one of `count` elements."""
    branches: list[tuple[kir.KStm, ...]] = []
    for limit in (None, count):
        with b.nested() as stms:
            emit(limit)
        branches.append(tuple(stms))
    b.emit(kir.KIf(whole, *branches))


def launch_wide(s: Segop[core.SegScan], _: bool) -> None:
    """A block for each segment, which needs shared memory for the totals of its warps alone."""
    launch(s, s.h.product(s.outer), lambda: segscan_whole(s))


COLLECTIVES: Table = (
    Schedule("whole segments in a block", launch_segments, guard=fits_tile),
    Schedule("chain of tiles", launch_chain, has_room),
    Schedule("a block for each segment", launch_wide),
)
SEGSCAN: Table = (
    WHOLE,
    Schedule("collectives", lambda s, _: run(in_memory(s), COLLECTIVES), rows=COLLECTIVES),
)
