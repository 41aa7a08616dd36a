"""Tiled segmaps on a machine whose blocks share memory: rows in shared memory, R x R results of a thread in registers.

    segmap^thread (.., i < n, j < m) { redomap p f ⊕ xs_i ys_j }                                               [T2]
    ⟶  block (.., b, c) of G x G threads, G·R rows of either from b·G·R and c·G·R on {
          threads { accs = replicate R R ne }                                        registers (`kir.Distribute`)
          begin to copy the first D - 1 times K elements of all rows, a stage each
          for s < ⌊p/K⌋ {
            wait for the copies of stage s; fence; begin to copy those of s + D - 1, into what s - 1 has used
            threads { for k < K { x = [R] of xs, y = [R] of ys; accs[a,b] ⊕= f x[a] y[b] } }
          }
          the same for what is left
          threads { out[i,j] = what follows of accs }
        }

A thread's rows lie in runs of neighbours, so that the elements of a run are one access to shared memory; the runs of
neighbouring threads are neighbours. Threads beyond the end of the space repeat its last row and store nothing. The
order of a reduction stays. `tile_rows.py` has the copies. Volkov & Demmel, "Benchmarking GPUs to tune dense linear
algebra" (SC'08); PPoPP'17 (locality); Futhark's block and register tiling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ....flatten.tiling.block import Tileable, needed
from ....flatten.tiling.choose import GRID, REGISTERS, tileable, tiled_with
from ....ir import core
from ....ir.core import Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_lambda, free_in_stm
from ....ir.types import Const, Name, Prim, Var, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.fma import contracted
from ...kernel_ir.nodes import KArray
from ..host_builder import TRUE, HostBuilder, Made
from ..kernel_builder import ZERO, ArrayRef, Mode, Operand, scalar
from ..soacs import apply_lambda, combined, neutral_of, only_scalars
from ..space import output
from ..statements import gen_body, gen_stm
from ..table import Segop, in_memory
from .tile_block import Result, TileBlock, shape_of, tile_block
from .tile_rows import Step, Tile, begin_copies, end_copies, is_later, set_starts, shared_tile, taken


def tiling(stm: Stm, exp: core.SegMap) -> tuple[Tileable, int] | None:
    """How a segmap is to be tiled, if it is and there is room: with results of a thread along each dimension."""
    each = tiled_with(stm)
    found = tileable(stm) if each is not None else None
    if found is None or len(found.tiled) != 2:
        return None
    sizes = (size for size in REGISTERS if size <= (each or 0) and shape_of(found, exp, size) is not None)
    return next(((found, size) for size in sizes), None)


def tiled(s: Segop[core.SegMap], tiling: tuple[Tileable, int]) -> None:
    """A kernel with some results of a thread along each tiled dimension, and its launch."""
    in_memory(s)
    found, each = tiling
    block, blocks = tile_block(s.h, found, s.exp, each)
    made = tile_kernel(s.h, block, s.base, lambda accs: finish(block, s.stm, s.exp, accs))
    s.h.launch(made, blocks, s.h.product(s.exp.space.widths), made.cost, s.stm.loc)


@dataclass(frozen=True, slots=True)
class Work:
    """What the steps of a block share: the tiles by the numbers of their inputs, accumulators, what is kept of the
    surroundings."""

    block: TileBlock
    shared: dict[int, Tile]
    accs: list[KArray]
    kept: dict[Name, tuple[KArray, frozenset[int]]]

    @property
    def tiles(self) -> tuple[Tile, ...]:
        return tuple(self.shared.values())

    @property
    def later(self) -> tuple[Tile, ...]:
        """Those that are copied asynchronously."""
        return tuple(filter(is_later, self.tiles))

    @property
    def early(self) -> tuple[Tile, ...]:
        """Those that go through registers, from one step to the next."""
        return tuple(tile for tile in self.tiles if not is_later(tile))


def tile_kernel(h: HostBuilder, block: TileBlock, base: str, finish: Callable[[list[KArray]], None]) -> Made:
    """`finish` stores what comes of the accumulators."""
    b, found, shape = block.b, block.found, block.shape
    b.say(f"{GRID} x {GRID} threads, {shape.each} x {shape.each} results each; of {shape.stages} tiles of")
    b.say(f"{shape.depth} elements of each row one is used and the others are copied")
    b.note(found.redomap.loc)
    tiles = _tiles(block)
    accs = _accumulators(block)
    work = Work(block, tiles, accs, _kept(block))
    whole = b.exact(Op.QUOT, block.width, i64(shape.depth), "steps")
    _begin_first(work, whole)
    plain, loops = _all_plain(work), list[tuple[kir.KStm, ...]]()
    for is_plain in (True, False):
        s = b.fresh("s", Prim.I64)
        with b.nested() as loop:
            if is_plain:
                for tile in work.later:
                    set_starts(block, tile, i64((shape.stages - 1) * shape.depth))
            with b.loop(s, whole):
                _whole_step(work, s, whole, is_plain)
        loops.append(tuple(loop))
    b.emit(kir.KIf(plain, *loops))
    done = b.mul(whole, i64(shape.depth), "done")
    rest = b.sub(block.width, done, "rest")
    with b.when(b.op(Op.LT, Prim.I64, ZERO, rest, base="more")):
        _last_step(work, done, rest)
    finish(accs)
    return h.finish(b, base)


def _all_plain(work: Work) -> Operand:
    """Have all copies of whole steps a form that need not look where rows end?"""
    b, plain = work.block.b, [tile.plain for tile in work.tiles if tile.plain is not None]
    return reduce(lambda x, y: b.op(Op.AND, Prim.BOOL, x, y, base="plain"), plain, TRUE)


def _begin_first(work: Work, whole: Operand) -> None:
    """The copies that the first steps wait for; each step's are a group, though it be empty."""
    block, b = work.block, work.block.b
    for t in range(block.shape.stages - 1 if work.later else 1):
        step, first = i64(t), i64(t * block.shape.depth)
        tiles = work.later if t else work.tiles
        with b.nested() as stms:
            for tile in tiles:
                begin_copies(block, tile, Step(first, step))
            for tile in tiles:
                end_copies(block, tile, step)
        b.emit(kir.KIf(b.op(Op.LT, Prim.I64, step, whole, base="there"), tuple(stms), ()))
        if work.later:
            b.emit(kir.CommitCopies())


def _whole_step(work: Work, s: Operand, whole: Operand, plain: bool) -> None:
    """K elements of all rows, while the copies of those that come later go on."""
    block, b, shape = work.block, work.block.b, work.block.shape
    early = work.early
    if work.later:
        b.emit(kir.WaitCopies(shape.stages - 2))
    b.emit(kir.Fence())
    here = b.exact(Op.REM, s, i64(shape.stages), "here")
    if work.later:
        coming = b.add(s, i64(shape.stages - 1), "coming")
        to = _after(block, here, shape.stages - 1, "to")
        ahead = b.mul(coming, i64(shape.depth), "ahead")
        more = b.op(Op.LT, Prim.I64, coming, whole, base="more")
        with b.when(more):
            for tile in work.later:
                begin_copies(block, tile, Step(ahead, to, plain=plain))
        b.emit(kir.CommitCopies())
    following = b.add(s, i64(1), "following")
    another = b.op(Op.LT, Prim.I64, following, whole, base="another")
    if early:
        first = b.mul(following, i64(shape.depth), "first")
        with b.when(another):
            for tile in early:
                begin_copies(block, tile, Step(first, ZERO, plain=plain))
    _steps(work, b.mul(s, i64(shape.depth), "first"), i64(shape.depth), here)
    if early:
        there = _after(block, here, 1, "there")
        with b.when(another):
            for tile in early:
                end_copies(block, tile, there)


def _after(block: TileBlock, stage: Operand, steps: int, base: str) -> Operand:
    """The stage some steps after another one, as a polynomial of that and a quotient: it is known to be another one."""
    b, stages = block.b, i64(block.shape.stages)
    far = b.add(stage, i64(steps))
    return b.sub(far, b.mul(b.exact(Op.QUOT, far, stages, "turn"), stages), base)


def _last_step(work: Work, done: Operand, rest: Operand) -> None:
    """Fewer than K elements, in the first stage."""
    block, b = work.block, work.block.b
    b.emit(kir.Fence())
    for tile in work.tiles:
        begin_copies(block, tile, Step(done, ZERO, False))
        end_copies(block, tile, ZERO)
    if work.later:
        b.emit(kir.CommitCopies())
        b.emit(kir.WaitCopies(0))
    b.emit(kir.Fence())
    _steps(work, done, rest, ZERO)


def _tiles(block: TileBlock) -> dict[int, Tile]:
    """The tile of each row that is shared, by the number of the input."""
    found: dict[int, Tile] = {}
    for k, (row, param) in enumerate(zip(block.found.rows, block.found.screma.map.params, strict=True)):
        tile = shared_tile(block, row, param.type.prim) if row is not None else None
        if tile is not None:
            found[k] = tile
    return found


def _accumulators(block: TileBlock) -> list[KArray]:
    """threads { accs[c] = ne for c < R*R }, an array for each component."""
    b, found, shape = block.b, block.found, block.shape
    accs = [block.registers("accs", p.type.prim, shape.results) for p in found.redomap.pat]
    neutral = neutral_of(b, found.screma.reds)
    with block.threads():
        c = b.fresh("c", Prim.I64)
        stores = tuple(kir.Store(acc, c, ne) for acc, ne in zip(accs, neutral, strict=True))
        b.emit(kir.For(c, i64(shape.results), stores, shape.results))
    return accs


# ---- what stands before the redomap ------------------------------------------------------------------------------


def _kept(block: TileBlock) -> dict[Name, tuple[KArray, frozenset[int]]]:
    """Scalars that the redomap needs of its surroundings: those of the block are bound, those of a point are kept in
    registers, one for each row of the dimensions that they depend on."""
    found = block.found
    own = {a for k, a in enumerate(found.screma.arrays) if found.rows[k] is None}
    stms = needed(found.before, own | set(free_in_lambda(found.screma.map)))
    on = _depends(block, stms)
    kept: dict[Name, tuple[KArray, frozenset[int]]] = {}
    for stm in stms:
        dims = on[stm.pat[0].name]
        if not dims:
            gen_stm(block.b, stm, Mode.BLOCK)
        elif not any(p.type.shape for p in stm.pat):
            count = block.shape.each ** len(dims)
            kept |= {p.name: (block.registers(p.name.base, p.type.prim, count), dims) for p in stm.pat}
    for dims in sorted({dims for _, dims in kept.values()}, key=sorted):
        _keep(block, stms, on, kept, dims)
    return kept


def _depends(block: TileBlock, stms: tuple[Stm, ...]) -> dict[Name, frozenset[int]]:
    """The tiled dimensions that each name depends on."""
    on = {name: frozenset((d,)) for d, (name, _) in enumerate(block.found.tiled)}
    for stm in stms:
        dims = frozenset[int]().union(*(on.get(name, frozenset()) for name in free_in_stm(stm)))
        on |= {p.name: dims for p in stm.pat}
    return on


def _keep(
    block: TileBlock,
    stms: tuple[Stm, ...],
    on: dict[Name, frozenset[int]],
    kept: dict[Name, tuple[KArray, frozenset[int]]],
    dims: frozenset[int],
) -> None:
    """threads { value[a] = .. } for what depends on just these dimensions."""
    b = block.b

    def put(results: tuple[Result | None, ...]) -> None:
        block.bind_points(results, {name for name, _ in block.found.tiled})
        for stm in stms:
            if on[stm.pat[0].name] and on[stm.pat[0].name] <= dims:
                gen_stm(b, stm, Mode.THREAD)
                for p in stm.pat:
                    if p.name in kept and kept[p.name][1] == dims:
                        b.emit(kir.Store(kept[p.name][0], block.number(results), scalar(b.atom(Var(p.name)))))

    with block.threads() as at:
        block.over_results(at, put, dims)


def _surroundings(
    block: TileBlock, kept: dict[Name, tuple[KArray, frozenset[int]]], results: tuple[Result, ...], wanted: set[Name]
) -> None:
    """Bind what the redomap needs of its surroundings, for one of the thread's results."""
    b, found = block.b, block.found
    stms = needed(found.before, wanted)
    on = _depends(block, stms)
    made = [stm for stm in stms if on[stm.pat[0].name] and stm.pat[0].name not in kept]
    block.bind_points(results, wanted.union(*map(free_in_stm, made)))
    for stm in stms:
        if stm.pat[0].name in kept:
            for p in stm.pat:
                array, dims = kept[p.name]
                at = block.number(tuple(r if d in dims else None for d, r in enumerate(results)))
                b.env[p.name] = b.let(p.name.base, array.prim, kir.KLoad(array, at))
        elif stm in made:
            gen_stm(b, stm, Mode.THREAD)


# ---- a step ------------------------------------------------------------------------------------------------------


def _steps(work: Work, first: Operand, length: Operand, stage: Operand) -> None:
    """threads { for k < length { the thread's elements of each tile; accs[a,b] ⊕= f .. for each result } }"""
    block, b, tiles = work.block, work.block.b, work.shared
    unroll = int(length.value) if isinstance(length, Const) else 1
    with block.threads() as at, b.loop(b.fresh("k", Prim.I64), length, unroll) as k:
        held = {number: taken(block, tile, at, k, stage) for number, tile in tiles.items()}

        def step(results: tuple[Result | None, ...]) -> None:
            inputs = [
                held[n](results) if n in held else _own_element(block, n, results, b.add(first, k))
                for n in range(len(block.found.rows))
            ]
            _combine(block, work.accs, block.number(results), inputs)

        def with_surroundings(results: tuple[Result | None, ...]) -> None:
            found = block.found
            own = {a for n, a in enumerate(found.screma.arrays) if n not in tiles}
            wanted = own | set(free_in_lambda(found.screma.map))
            _surroundings(block, work.kept, tuple(r for r in results if r is not None), wanted)
            step(results)

        block.over_results(at, with_surroundings)


def _own_element(block: TileBlock, number: int, results: tuple[Result | None, ...], k: Operand) -> Operand:
    """Element k of a row that is not shared: the thread's own, or one that is in no memory."""
    b, row = block.b, block.found.rows[number]
    if row is None:
        return scalar(b.element(b.array(block.found.screma.arrays[number]), (b.add(block.start, k),)))
    place = block.place(row)
    index = ZERO if place is None else block.clamped(place, results)
    return scalar(b.element(b.array(row.array), block.element(row, k, index)))


def _combine(block: TileBlock, accs: list[KArray], at: Operand, inputs: list[Operand]) -> None:
    """accs[at] ⊕= f inputs"""
    b, screma = block.b, block.found.screma
    with b.nested() as stms:
        values = apply_lambda(b, screma.map, list(inputs), Mode.THREAD)
        left = (b.let("acc", acc.prim, kir.KLoad(acc, at)) for acc in accs)
        results = only_scalars(combined(b, screma.reds, left, values, Mode.THREAD))
        stms[:] = contracted(stms, results, only_scalars(values), halves=True)
        for acc, value in zip(accs, results, strict=True):
            b.emit(kir.Store(acc, at, value))
    b.stms += stms


# ---- results -----------------------------------------------------------------------------------------------------


def finish(block: TileBlock, stm: Stm, exp: core.SegMap, accs: list[KArray]) -> None:
    """threads { out[i, j] = what follows of the accumulators }"""
    outs = [output(block.b, p.name) for p in stm.pat]
    store_results(block, outs, block.outer, lambda results: _result(block, exp, accs, results))


def store_parts(block: TileBlock, parts: list[Name], accs: list[KArray]) -> None:
    """threads { parts[share, .., i, j] = the accumulators }"""
    b = block.b

    def held(results: tuple[Result | None, ...]) -> list[Operand]:
        at = block.number(results)
        return [b.let("acc", acc.prim, kir.KLoad(acc, at)) for acc in accs]

    store_results(block, [output(b, name) for name in parts], (block.share, *block.outer), held)


def store_results(
    block: TileBlock,
    outs: list[ArrayRef],
    outer: tuple[Operand, ...],
    result: Callable[[tuple[Result | None, ...]], list[Operand]],
) -> None:
    """threads { out[outer, i, j] = the results at a point }, a run of neighbours at a time."""
    b, shape = block.b, block.shape

    def run_of(results: tuple[Result | None, ...], first: Result) -> None:
        runs = [[*results[:-1], block.in_run(first, c)] for c in range(shape.run)]
        values = [result(tuple(run)) for run in runs]
        i, j = block.index(0, results), b.add(block.bases[1], first.row, "j")
        for k, out in enumerate(outs):
            at = b.address(out, (*outer, i, j))
            _store_run(block, out.mem, at, j, [one[k] for one in values])

    def of_row(results: tuple[Result | None, ...]) -> None:
        inside = b.op(Op.LT, Prim.I64, block.index(0, results), block.widths[0])
        with b.when(inside):
            block.over_runs(at[1], lambda first: run_of(results, first))

    with block.threads() as at:
        block.over_results(at, of_row, frozenset((0,)))


def _result(
    block: TileBlock, exp: core.SegMap, accs: list[KArray], results: tuple[Result | None, ...]
) -> list[Operand]:
    """The results of the segmap at a point."""
    b, found = block.b, block.found
    for param, acc in zip(found.redomap.pat, accs, strict=True):
        b.env[param.name] = b.let("acc", acc.prim, kir.KLoad(acc, block.number(results)))
    wanted = {n for s in found.after for n in free_in_stm(s)} | {a.name for a in exp.body.result if isinstance(a, Var)}
    before = needed(found.before, wanted)
    block.bind_points(results, wanted.union(*map(free_in_stm, before)))
    for stm in before:
        gen_stm(b, stm, Mode.THREAD)
    return [scalar(v) for v in gen_body(b, core.Body(found.after, exp.body.result), Mode.THREAD)]


def _store_run(block: TileBlock, out: KArray, at: Operand, start: Operand, values: list[Operand]) -> None:
    """out[at ..] := values, as far as the space goes; in one access where that is aligned and all of it is inside."""
    b, width = block.b, block.widths[-1]
    with b.nested() as one_by_one:
        for c, value in enumerate(values):
            inside = b.op(Op.LT, Prim.I64, b.add(start, i64(c)), width)
            with b.when(inside):
                b.emit(kir.Store(out, b.add(at, i64(c)), value))
    if len(values) == 1:
        b.stms += one_by_one
        return
    end = b.add(start, i64(len(values)))
    inside = b.op(Op.LE, Prim.I64, end, width)
    aligned = b.let("aligned", Prim.BOOL, kir.KAligned(out, at, len(values)))
    whole = b.op(Op.AND, Prim.BOOL, inside, aligned, base="whole")
    b.emit(kir.KIf(whole, (kir.StoreRow(out, at, tuple(values)),), tuple(one_by_one)))
