"""Panels: unroll-and-jam over many rows, whose shared operand a block first copies to memory of its own.

    block = (rows i0 .. i0 + G·R, chunk of j):
      for each reduction of the body, for k0 in steps of DEPTH:
        columns[k, j] = b(k0 + k, j)                                   for all k < DEPTH, j in the chunk
        for each PITCH rows:
          rows[k, r] = a(i0 + r, k0 + k)                               for all k < DEPTH, r < PITCH
          for each R rows: threads j { acc_r = sums[i0+r, j]; loop k { acc_r ⊕= f(rows[k, r], columns[k, j]) }; .. }
      for each row: threads j { out[i, j] = g(sums[i, j], ..) }         where results are not just what is reduced

b is what of the reduction depends on j and k alone, so that it is computed once for G·R rows. So is a where it is more
than a load, or is stored as a column, whose elements are a page apart; else it is read where it is.
Rows of b that lie a power of two apart share few sets of the first cache; the panel is dense, stays there, and is used
by G·R rows (Goto and van de Geijn 2008, for one level). Panels are in the order in which they are read: for each group
of lanes its columns, k by k, for each tile its R rows. Partial sums wait in the result if they are the results, else
in memory of the block. The order of the sum stays.

Of a result that is symmetric, as that of a matrix and its transposed (`ir/symmetric.py`), a chunk of columns has the
rows down to its square on the diagonal, in which tiles leave out the groups of columns left of the diagonal; a block
writes what it has computed above that transposed below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Lambda, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.symmetric import is_symmetric
from ....ir.traverse import all_exps, free_in_stm, may_fail
from ....ir.types import Name, Names, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value, is_const, scalar
from ..space import bind_space, output, row_of, split_chunk
from ..statements import gen_stm
from .factors import Factor, dependents, needed, of_columns, of_rows
from .unroll_and_jam import ROWS, Part, can_jam, ceil_div, jam_stm, reductions_in

DEPTH = 256
PITCH = 8 * ROWS
"""Rows of a panel of rows: a block has several, one after the other."""


def can_pack(space: SegSpace, body: Body) -> bool:
    """A nest that can be jammed, whose reductions are products: they depend on row and column, and rows share an
    operand that depends on the lanes."""
    found = reductions_in(body)
    if not found or not can_jam(space, body):
        return False
    of_index = [dependents(body.stms, {index}) for index in space.indices[-2:]]
    return all(
        of_columns(space, body, screma).values and not any(names.isdisjoint(free_in_stm(stm)) for names in of_index)
        for stm, screma in found
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """Values of a factor by number of the piece, index along the sum, and index of the result in the piece, of which
    there are `pitch`; `names`: the arrays that the loop of a tile reads instead."""

    factor: Factor
    refs: tuple[ArrayRef, ...]
    names: tuple[Name, ...]
    pitch: Operand


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the results of a reduction are by row and column of the result."""

    stm: Stm
    refs: list[ArrayRef]

    def at(self, b: Builder, number: Operand, j: Operand) -> dict[Name, Value]:
        return {p.name: b.element(ref, (number, j)) for p, ref in zip(self.stm.pat, self.refs, strict=True)}


@dataclass(frozen=True, slots=True)
class Product:
    """A reduction of the body: over panels, the panels of columns and of rows, that of what is computed of rows, from
    which the former is filled, and its sums."""

    packed: Stm
    screma: core.Screma
    columns: Panel
    rows: Panel
    computed: Panel
    sums: Sums


@dataclass(frozen=True, slots=True)
class Block:
    """What a block works on: the nest, the bounds of its chunk, its first row, how many rows a block has and how many
    there are in all, how many columns a chunk has, and between which elements its sums are, if not of all."""

    space: SegSpace
    body: Body
    lo: Operand
    hi: Operand
    first: Operand
    height: Operand
    rows: Operand
    chunk: Operand
    symmetric: bool
    piece: tuple[Operand, Operand] | None

    @property
    def row(self) -> Name:
        return self.space.dims[-2][0]

    @property
    def end(self) -> Operand:
        """Behind the last row; of a symmetric result, of the square of the chunk on the diagonal."""
        return self.hi if self.symmetric else self.rows

    def here(self, b: Builder) -> Operand:
        """The number of rows of the block."""
        return b.minimum(self.height, b.sub(self.end, self.first))


def panels_over_chunk(
    b: Builder, names: Names, space: SegSpace, body: Body, outs: list[tuple[Name, Type]],
    height: Operand, chunk: Operand, piece: Operand | None = None,
) -> None:  # fmt: skip
    """The kernel of a block: `height` rows, `chunk` indices of the innermost dimension; where sums are cut, `piece`
    elements of them, whose number is the outermost index."""
    rows, n, outer = b.operand(space.widths[-2]), b.operand(space.widths[-1]), space.dims[:-2]
    groups = ceil_div(b, rows, height)
    point, number = split_chunk(b, space.dims[:-1], ceil_div(b, n, chunk))
    first = b.mul(b.op(Op.REM, Prim.I64, point, groups, base="group"), height)
    at = bind_space(b, SegSpace(outer), b.op(Op.QUOT, Prim.I64, point, groups))
    lo = b.mul(number, chunk)
    hi, symmetric = b.minimum(n, b.add(lo, chunk)), gives_symmetric(space, body)
    some = None if piece is None else (b.mul(at[0], piece), b.mul(b.add(at[0], i64(1)), piece))
    block = Block(space, body, lo, hi, first, height, rows, chunk, symmetric, some)
    places = [row_of(b, output(b, name), at) for name, _ in outs]
    if not symmetric:
        _results(b, names, block, places)
        return
    with b.when(b.op(Op.LT, Prim.I64, first, hi)):
        _results(b, names, block, places)
        with b.when(b.op(Op.LT, Prim.I64, first, lo)):
            _mirror(b, block, places)
        with b.when(b.op(Op.LT, Prim.I64, lo, b.add(first, block.here(b)))):
            _mirror_square(b, block, places)


def gives_symmetric(space: SegSpace, body: Body) -> bool:
    """Whether the results are symmetric matrices, of which half is enough to know."""
    (row, rows), (column, columns) = space.dims[-2:]
    return rows == columns and not any(map(may_fail, all_exps(body))) and is_symmetric(body, [(row, column)])


def _results(b: Builder, names: Names, block: Block, places: list[ArrayRef]) -> None:
    """The results of a block."""
    space, body = block.space, block.body
    found = reductions_in(body)
    in_place = len(found) == 1 and body.result == tuple(Var(p.name) for p in found[0][0].pat)
    done: list[Sums] = []
    for stm, screma in found:
        sums = Sums(stm, places if in_place else [_waiting(b, block, p.type.prim) for p in stm.pat])
        columns = _panel(b, names, of_columns(space, body, screma), kir.GROUP, ceil_div(b, block.chunk, kir.GROUP))
        apart = {array for array in screma.arrays if not _is_stored_as_row(b, block, array, done)}
        factor = of_rows(space, body, screma, apart)
        rows = _panel(b, names, factor, i64(ROWS), i64(PITCH // ROWS))
        computed = _panel(b, names, factor if factor.stms else replace(factor, values=()), i64(PITCH), i64(1))
        _reduce(b, block, Product(_packed(stm, screma, (columns, rows)), screma, columns, rows, computed, sums), done)
        done.append(sums)
    if not in_place:
        _follow(b, block, done, places)


def _mirror(b: Builder, block: Block, places: list[ArrayRef]) -> None:
    """`threads i: for j: out[j, i] = out[i, j]`, i above the square on the diagonal: threads walk along rows, which are
    transposed in registers (`passes/tile_rows.py`)."""
    i, k = b.fresh("i", Prim.I64), b.fresh("k", Prim.I64)
    with b.nested() as stms:
        j = b.add(block.lo, k)
        for place in places:
            b.emit(kir.Store(place.mem, b.address(place, (j, i)), scalar(b.element(place, (i, j)))))
    loop = kir.For(k, b.sub(block.hi, block.lo), tuple(stms))
    b.emit(kir.Threads(i, block.first, b.minimum(block.lo, b.add(block.first, block.here(b))), (loop,)))


def _mirror_square(b: Builder, block: Block, places: list[ArrayRef]) -> None:
    """`for j: threads i: out[j, i] = out[i, j]` in the square on the diagonal, where row j is not computed."""
    k, i = b.fresh("k", Prim.I64), b.fresh("i", Prim.I64)
    with b.nested() as stms:
        j = b.add(block.lo, k)
        end = b.minimum(b.add(block.first, block.here(b)), _since(b, block, j))
        with b.threads(i, b.op(Op.MAX, Prim.I64, block.first, block.lo), end):
            for place in places:
                b.emit(kir.Store(place.mem, b.address(place, (j, i)), scalar(b.element(place, (i, j)))))
    b.emit(kir.For(k, b.sub(block.hi, block.lo), tuple(stms)))


def _is_stored_as_row(b: Builder, block: Block, name: Name, before: list[Sums]) -> bool:
    """Whether the elements of an operand are side by side."""
    b.env |= zip(block.space.indices[-2:], (block.first, block.lo), strict=True)
    with b.nested():
        _emit(b, block, (name,), before, block.first, block.lo)
        array = b.input(name)
    return not isinstance(array, ArrayRef) or is_const(array.strides[0], 1)


def _panel(b: Builder, names: Names, factor: Factor, pitch: Operand, pieces: Operand) -> Panel:
    size = (b.mul(pieces, b.mul(i64(DEPTH), pitch)),)
    refs = tuple(b.alloc("panel", p.type.prim, size, Mode.BLOCK.space) for p in factor.values)
    return Panel(factor, refs, tuple(names.again(p.name) for p in factor.values), pitch)


def _packed(stm: Stm, screma: core.Screma, panels: tuple[Panel, ...]) -> Stm:
    """The reduction with panels among its operands."""
    made = {p.name: (p, array) for panel in panels for p, array in zip(panel.factor.values, panel.names, strict=True)}
    f = screma.map
    wanted = {a.name for a in f.body.result if isinstance(a, Var)}
    stops = [s for s in f.body.stms if s.pat[0].name in made]
    rest = tuple(s for s in needed(f.body, wanted, stops) if s not in stops)
    used = wanted.union(*(free_in_stm(s) for s in rest))
    kept = [o for o in zip(f.params, screma.arrays, strict=True) if o[0].name in used and o[0].name not in made]
    params, arrays = zip(*(*kept, *made.values()), strict=True)
    function = Lambda(params, Body(rest, f.body.result), f.ret)
    return replace(stm, exp=replace(screma, arrays=arrays, map=function))


def _waiting(b: Builder, block: Block, prim: Prim) -> ArrayRef:
    """Memory for the sums of a block, by row and column of the result."""
    mem = b.alloc("sums", prim, (b.mul(block.height, block.chunk),), Mode.BLOCK.space).mem
    offset = b.sub(ZERO, b.add(b.mul(block.first, block.chunk), block.lo))
    return ArrayRef(mem, offset, (block.rows, block.hi), (block.chunk, i64(1)), False)


def _emit(
    b: Builder, block: Block, wanted: Iterable[Name], done: list[Sums], number: Operand, j: Operand
) -> None:  # fmt: skip
    """What some values need of the body; sums are loaded."""
    for stm in needed(block.body, wanted, (sums.stm for sums in done)):
        if made := [sums for sums in done if sums.stm is stm]:
            b.env.update(made[0].at(b, number, j))
        else:
            gen_stm(b, stm, Mode.THREAD)


def _reduce(b: Builder, block: Block, product: Product, before: list[Sums]) -> None:
    """The sums of a product, for all rows and columns of the block."""
    step, piece, tile = (b.fresh(base, Prim.I64) for base in ("step", "piece", "tile"))
    width, here = b.operand(product.screma.width), block.here(b)
    since, until = (ZERO, width) if block.piece is None else (block.piece[0], b.minimum(width, block.piece[1]))
    with b.nested() as stms:
        start = b.add(since, b.mul(step, i64(DEPTH)))
        length = b.minimum(i64(DEPTH), b.sub(until, start))
        _fill(b, block, product.columns, before, start, length)
        with b.nested() as inside:
            before_it = b.mul(piece, i64(PITCH))
            height = b.minimum(i64(PITCH), b.sub(here, before_it))
            some = replace(block, first=b.add(block.first, before_it), height=height)
            _fill(b, some, product.computed, before, start, length)
            _interleave(b, some, product, before, start, length)
            with b.nested() as tiles:
                _tile(b, some, product, before, tile, step, start, length)
            inside.append(kir.For(tile, ceil_div(b, some.here(b), ROWS), tuple(tiles)))
        b.emit(kir.For(piece, ceil_div(b, here, PITCH), tuple(inside)))
    steps = b.op(Op.MAX, Prim.I64, i64(1), ceil_div(b, b.sub(until, since), DEPTH))
    b.emit(kir.For(step, steps, tuple(stms)))


def _fill(b: Builder, block: Block, panel: Panel, before: list[Sums], start: Operand, length: Operand) -> None:
    """panel[k, j] = b(start + k, j); a thread walks along its column where that is stored as a row
    (`passes/tile_rows.py`)."""
    factor, pitch = panel.factor, panel.pitch
    if not panel.refs:
        return
    k, at, piece = b.fresh("k", Prim.I64), b.index(factor.index), b.fresh("piece", Prim.I64)
    is_row = factor.index == block.row
    lo, hi = (block.first, b.add(block.first, block.here(b))) if is_row else (block.lo, block.hi)
    number, j = (at, block.lo) if is_row else (block.first, at)
    wanted = factor.wanted()
    own = dependents(block.body.stms, {factor.index})
    with b.nested():
        _emit(b, block, wanted, before, number, j)
        arrays = [b.input(name) for _, name in factor.operands if name in own]
    along = any(isinstance(array, ArrayRef) and is_const(array.strides[0], 1) for array in arrays)

    def part(nth: Operand, ends: bool) -> list[kir.KStm]:
        """A piece, which `ends` with the panel or has `pitch` indices."""
        with b.nested() as made:
            begin = b.add(lo, b.mul(nth, pitch))
            end = b.minimum(hi, b.add(begin, pitch)) if ends else b.add(begin, pitch)
            with b.nested() as stms:
                _emit(b, block, wanted, before, number, j)
                for param, name in factor.operands:
                    b.env[param.name] = b.element(b.input(name), (b.add(start, k),))
                for stm in factor.stms:
                    gen_stm(b, stm, Mode.THREAD)
                for param, ref in zip(factor.values, panel.refs, strict=True):
                    place = b.add(b.mul(b.add(b.mul(nth, i64(DEPTH)), k), pitch), b.sub(at, begin))
                    b.emit(kir.Store(ref.mem, place, b.operand(Var(param.name))))
            b.emit(kir.Threads(at, begin, end, (kir.For(k, length, tuple(stms)),) if along else tuple(stms)))
        return made

    if along:
        b.emit(kir.For(piece, ceil_div(b, b.sub(hi, lo), pitch), tuple(part(piece, True))))
        return
    whole = b.op(Op.QUOT, Prim.I64, b.sub(hi, lo), pitch)
    b.emit(kir.For(k, length, (kir.For(piece, whole, tuple(part(piece, False))), *part(whole, True))))


def _interleave(
    b: Builder, block: Block, product: Product, before: list[Sums], start: Operand, length: Operand
) -> None:
    """The panel of rows: `rows[tile, k, r] = a(start + k, ROWS * tile + r)`, r < ROWS. Behind the last row it is that
    one."""
    factor, refs, computed = product.rows.factor, product.rows.refs, product.computed.refs
    if not refs:
        return
    k, tile, here = b.fresh("k", Prim.I64), b.fresh("tile", Prim.I64), block.here(b)

    def values(at: Operand) -> list[Value]:
        if computed:
            return [b.element(ref, (b.add(b.mul(k, i64(PITCH)), at),)) for ref in computed]
        number = b.env[block.row] = b.add(block.first, at)
        _emit(b, block, factor.wanted(), before, number, block.lo)
        return [b.element(b.input(array), (b.add(start, k),)) for _, array in factor.operands]

    def tiles(count: Operand, last: Operand | None) -> kir.For:
        with b.nested() as stms:
            first = b.mul(tile, i64(ROWS))
            numbers = [b.add(first, i64(r)) for r in range(ROWS)]
            found = [values(n if last is None else b.minimum(n, last)) for n in numbers]
            place = b.mul(b.add(b.mul(tile, i64(DEPTH)), k), i64(ROWS))
            for r, row in enumerate(found):
                for ref, value in zip(refs, row, strict=True):
                    b.emit(kir.Store(ref.mem, b.add(place, i64(r)), scalar(value)))
        return kir.For(k, length, (kir.For(tile, count, tuple(stms)),))

    full = tiles(i64(PITCH // ROWS), None)
    with b.nested() as rest:
        rest.append(tiles(ceil_div(b, here, ROWS), b.sub(here, i64(1))))
    b.emit(kir.KIf(b.op(Op.EQ, Prim.I64, here, i64(PITCH)), (full,), tuple(rest)))


def _view(b: Builder, panel: Panel, at: Operand, start: Operand) -> dict[Name, Value]:
    """The arrays of a panel at an index of the result, by index along the sum."""
    offset, shape = b.sub(at, b.mul(start, panel.pitch)), (b.add(start, i64(DEPTH)),)
    return {
        name: ArrayRef(ref.mem, offset, shape, (panel.pitch,), False)
        for name, ref in zip(panel.names, panel.refs, strict=True)
    }


def _tile(
    b: Builder, block: Block, product: Product, before: list[Sums],
    tile: Operand, step: Operand, start: Operand, length: Operand,
) -> None:  # fmt: skip
    """ROWS rows take in the elements of the panels, with `threads j` for each piece of columns."""
    first, last = b.add(block.first, b.mul(tile, i64(ROWS))), b.sub(block.end, i64(1))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    clamped = [b.minimum(number, last) for number in numbers]
    places = [b.add(b.mul(tile, i64(DEPTH * ROWS)), i64(r)) for r in range(ROWS)]
    views = [_view(b, product.rows, place, start) for place in places]
    envs: list[dict[Name, Value]] = [{block.row: n, **view} for n, view in zip(clamped, views, strict=True)]
    nth, pitch, skipped = b.fresh("piece", Prim.I64), product.columns.pitch, _skipped(b, block, first)
    with b.nested() as stms:
        piece = b.add(skipped, nth)
        begin, j = b.add(block.lo, b.mul(piece, pitch)), b.index(block.space.dims[-1][0])
        with b.threads(j, begin, b.minimum(block.hi, b.add(begin, pitch))):
            at = b.add(b.mul(b.mul(piece, i64(DEPTH)), pitch), b.sub(j, begin))
            b.env.update(_view(b, product.columns, at, start))
            part = Part(start, length, [_so_far(b, product, number, step, j) for number in clamped], {})
            _take_in(b, block, product, before, envs, part, j)
            for number, env in zip(numbers, envs, strict=True):
                b.env.update(env)
                with b.nested() as stores:
                    for place, p in zip(product.sums.refs, product.packed.pat, strict=True):
                        b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(Var(p.name))))
                b.emit(kir.KIf(b.op(Op.LT, Prim.I64, number, block.end), tuple(stores), ()))
    b.emit(kir.For(nth, b.sub(ceil_div(b, b.sub(block.hi, block.lo), pitch), skipped), tuple(stms)))


def _skipped(b: Builder, block: Block, first: Operand) -> Operand:
    """How many groups of columns are not computed for the tile that begins at this row: of a symmetric result those
    left of the diagonal."""
    if not block.symmetric:
        return ZERO
    return b.op(Op.QUOT, Prim.I64, b.op(Op.MAX, Prim.I64, ZERO, b.sub(first, block.lo)), kir.GROUP)


def _since(b: Builder, block: Block, row: Operand) -> Operand:
    """The first column of the chunk that is computed for a row."""
    tile = b.sub(row, b.op(Op.REM, Prim.I64, row, i64(ROWS))) if block.symmetric else row
    return b.add(block.lo, b.mul(_skipped(b, block, tile), kir.GROUP))


def _take_in(
    b: Builder, block: Block, product: Product, before: list[Sums],
    envs: list[dict[Name, Value]], part: Part, j: Operand,
) -> None:  # fmt: skip
    """The reduction over a part of the panels, for the rows that have these environments."""
    varying = {block.row, *product.rows.names}
    body = replace(block.body, stms=tuple(product.packed if s is product.sums.stm else s for s in block.body.stms))
    for stm in needed(body, (p.name for p in product.packed.pat), (other.stm for other in before)):
        if made := [other for other in before if other.stm is stm]:
            for env in envs:
                env.update(made[0].at(b, scalar(env[block.row]), j))
            varying.update(p.name for p in stm.pat)
        else:
            jam_stm(b, stm, varying, envs, part)


def _so_far(b: Builder, product: Product, number: Operand, step: Operand, j: Operand) -> list[Operand]:
    """The partial results of a row: neutral elements in the first step, then what the last one left."""
    neutral = [b.operand(a) for r in product.screma.reds for a in r.neutral]
    found: list[Operand] = []
    for place, ne in zip(product.sums.refs, neutral, strict=True):
        var = b.declare("sofar", ne)
        with b.nested() as stms:
            value = b.let("old", ne.prim, kir.KLoad(place.mem, b.address(place, (number, j))))
            b.emit(kir.Assign(var, value))
        b.emit(kir.KIf(b.op(Op.GT, Prim.I64, step, ZERO), tuple(stms), ()))
        found.append(b.copy(var))
    return found


def _follow(b: Builder, block: Block, done: list[Sums], places: list[ArrayRef]) -> None:
    """`for each row: threads j`: what the body makes of its sums."""
    r, j = b.fresh("r", Prim.I64), b.index(block.space.dims[-1][0])
    with b.nested() as stms:
        number = b.add(block.first, r)
        b.env[block.row] = number
        with b.threads(j, _since(b, block, number), block.hi):
            wanted = (atom.name for atom in block.body.result if isinstance(atom, Var))
            _emit(b, block, wanted, done, number, j)
            for place, result in zip(places, block.body.result, strict=True):
                b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(result)))
    b.emit(kir.For(r, block.here(b), tuple(stms)))
