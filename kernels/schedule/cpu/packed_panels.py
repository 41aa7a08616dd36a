"""Panels: unroll-and-jam over many rows, whose shared operand a block first copies to memory of its own.

    block = (rows i0 .. i0 + G·R, chunk of j):
      for each reduction of the body, for k0 in steps of DEPTH:
        panel[k, j] = b(k0 + k, j)                                     for all k < DEPTH, j in the chunk
        for each R rows: threads j { acc_r = sums[i0+r, j]; loop k { acc_r ⊕= f(a(i0+r, k0+k), panel[k, j]) }; .. }
      for each row: threads j { out[i, j] = g(sums[i, j], ..) }         where results are not just what is reduced

b is what of the reduction depends on j and k alone, so that it is computed once for G·R rows. So is a where it is more
than a load, or is stored as a column, whose elements are a page apart: in a panel of its own, of pieces of PITCH rows.
Rows of b that lie a power of two apart share few sets of the first cache; the panel is dense, stays there, and is used
by G·R rows (Goto and van de Geijn 2008, for one level). Partial sums wait in the result if they are the results, else
in memory of the block. The order of the sum stays.

Of a result that is symmetric, as that of a matrix and its transposed (`ir/symmetric.py`), a chunk of columns has the
rows down to its square on the diagonal, and a block writes what is above that square transposed below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Index, Lambda, Param, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.symmetric import is_symmetric
from ....ir.traverse import all_exps, free_in_stm, may_fail
from ....ir.types import Atom, Name, Names, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value, is_const, scalar
from ..space import bind_space, output, row_of, split_chunk
from ..statements import gen_stm
from ..table import Segop
from .unroll_and_jam import ROWS, Part, can_jam, ceil_div, jam_stm, reductions_in

TILES, MOST_TILES = 16, 64
"""Tiles that use a panel: of those of columns, which each block copies again, as many as leave LEAST_BLOCKS blocks."""
LEAST_BLOCKS = 24
DEPTH = 256
CHUNK = TILES * ROWS
"""Columns of a block, as many as rows of the smallest."""
PITCH = 8 * ROWS
"""Rows of a piece of a panel of rows, which lie side by side: a block has several, of few pages each."""
LEAST_ROWS = 4 * ROWS
"""With fewer rows, copying costs more than it brings."""
LEAST_DEPTH = 8
"""Sums of fewer elements are over before the panels pay."""
LEAST_COLUMNS = 16
"""With fewer columns, lanes have nothing to do."""


@dataclass(frozen=True, slots=True)
class Factor:
    """What a reduction computes of one index of the result, and of the index along the sum: the operands, the
    statements of its function, and the values that others need of them."""

    index: Name
    operands: tuple[tuple[Param, Name], ...]
    stms: tuple[Stm, ...]
    values: tuple[Param, ...]


def can_pack(space: SegSpace, body: Body) -> bool:
    """A nest that can be jammed, in whose products (reductions that depend on row and column) rows share an operand
    that depends on the lanes."""
    if not can_jam(space, body):
        return False
    products = [screma for stm, screma in reductions_in(body) if index_of(space, body, stm) is None]
    return bool(products) and all(of_columns(space, body, screma).values for screma in products)


def index_of(space: SegSpace, body: Body, stm: Stm) -> Name | None:
    """The index that a reduction depends on if it is only one, the row or the column of the result."""
    free, (row, column) = free_in_stm(stm), space.indices[-2:]
    if dependents(body.stms, {row}).isdisjoint(free):
        return column
    return row if dependents(body.stms, {column}).isdisjoint(free) else None


def of_columns(space: SegSpace, body: Body, screma: core.Screma) -> Factor:
    """What depends on the column of the result."""
    return _factor(body, screma, space.dims[-1][0], space.dims[-2][0])


def of_rows(space: SegSpace, body: Body, screma: core.Screma, apart: set[Name]) -> Factor:
    """What depends on the row of the result and is more than a load, or loads of arrays whose elements are `apart`."""
    factor = _factor(body, screma, space.dims[-2][0], space.dims[-1][0])
    wanted = {p.name for s in screma.map.body.stms if not isinstance(s.exp, Index) for p in s.pat}
    wanted |= {p.name for p, array in zip(screma.map.params, screma.arrays, strict=True) if array in apart}
    return _only(screma, factor, [p for p in factor.values if p.name in wanted])


def _factor(body: Body, screma: core.Screma, index: Name, other: Name) -> Factor:
    own, foreign = (dependents(body.stms, {name}) for name in (index, other))
    operands, inner = list(zip(screma.map.params, screma.arrays, strict=True)), screma.map.body.stms
    own, foreign = (
        dependents(inner, names | {p.name for p, array in operands if array in names}) for names in (own, foreign)
    )
    is_own = {p.name: p.name in own and p.name not in foreign for p in (*screma.map.params, *_bound(inner))}
    used = {a.name for a in screma.map.body.result if isinstance(a, Var)}
    for stm in inner:
        if not all(is_own[p.name] for p in stm.pat):
            used |= set(free_in_stm(stm))
    values = [p for p in (*screma.map.params, *_bound(inner)) if is_own[p.name] and p.name in used]
    factor = Factor(index, (), (), ())
    return factor if any(p.type.shape for p in values) else _only(screma, factor, values)


def _only(screma: core.Screma, factor: Factor, values: list[Param]) -> Factor:
    """What computes these values."""
    wanted = {p.name for p in values}
    stms = needed(screma.map.body, wanted, ())
    used = wanted.union(*(free_in_stm(s) for s in stms))
    operands = zip(screma.map.params, screma.arrays, strict=True)
    return replace(
        factor, operands=tuple(o for o in operands if o[0].name in used), stms=tuple(stms), values=tuple(values)
    )


def _bound(stms: Iterable[Stm]) -> Iterator[Param]:
    return (p for stm in stms for p in stm.pat)


def dependents(stms: Iterable[Stm], names: set[Name]) -> set[Name]:
    """The names, and those whose statements depend on them."""
    found = set(names)
    for stm in stms:
        if not found.isdisjoint(free_in_stm(stm)):
            found |= {p.name for p in stm.pat}
    return found


@dataclass(frozen=True, slots=True)
class Panel:
    """Values of a factor by index along the sum and, densely, index of the result; `names`: the arrays that the loop of
    a tile reads instead."""

    factor: Factor
    refs: tuple[ArrayRef, ...]
    names: tuple[Name, ...]
    pitch: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the results of a reduction are by row and column of the result."""

    stm: Stm
    refs: list[ArrayRef]

    def at(self, b: Builder, number: Operand, j: Operand) -> dict[Name, Value]:
        return {p.name: b.element(ref, (number, j)) for p, ref in zip(self.stm.pat, self.refs, strict=True)}


@dataclass(frozen=True, slots=True)
class Product:
    """A reduction of the body: over panels, the panels of columns and of rows, and its sums."""

    packed: Stm
    screma: core.Screma
    columns: Panel
    rows: Panel
    sums: Sums


@dataclass(frozen=True, slots=True)
class Block:
    """What a block works on: the nest, the bounds of its chunk, its first row, how many rows a block has and how many
    there are in all."""

    space: SegSpace
    body: Body
    lo: Operand
    hi: Operand
    first: Operand
    height: Operand
    rows: Operand
    symmetric: bool

    @property
    def row(self) -> Name:
        return self.space.dims[-2][0]

    def here(self, b: Builder) -> Operand:
        """The number of rows of the block; of a symmetric result none below the square of its chunk on the diagonal."""
        return b.minimum(self.height, b.sub(self.hi if self.symmetric else self.rows, self.first))


def panels_over_chunk(
    b: Builder, names: Names, space: SegSpace, body: Body, outs: list[tuple[Name, Type]], height: Operand
) -> None:
    """The kernel of a block: `height` rows, a chunk of the innermost dimension."""
    rows, n, outer = b.operand(space.widths[-2]), b.operand(space.widths[-1]), space.dims[:-2]
    groups = ceil_div(b, rows, height)
    point, number = split_chunk(b, space.dims[:-1], ceil_div(b, n, CHUNK))
    first = b.mul(b.op(Op.REM, Prim.I64, point, groups, base="group"), height)
    at = bind_space(b, SegSpace(outer), b.op(Op.QUOT, Prim.I64, point, groups))
    lo = b.mul(number, i64(CHUNK))
    hi, symmetric = b.minimum(n, b.add(lo, i64(CHUNK))), gives_symmetric(space, body)
    block = Block(space, body, lo, hi, first, height, rows, symmetric)
    places = [row_of(b, output(b, name), at) for name, _ in outs]
    if not symmetric:
        _results(b, names, block, places)
        return
    with b.when(b.op(Op.LT, Prim.I64, first, hi)):
        _results(b, names, block, places)
        with b.when(b.op(Op.LT, Prim.I64, first, lo)):
            _mirror(b, block, places)


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
        index = index_of(space, body, stm)
        if index is not None:
            done.append(_alone(b, block, stm, index, done))
            continue
        sums = Sums(stm, places if in_place else [_waiting(b, block, p.type.prim) for p in stm.pat])
        columns = _panel(b, names, of_columns(space, body, screma), CHUNK, i64(1))
        apart = {array for array in screma.arrays if not _is_stored_as_row(b, block, array, done)}
        of_row = _panel(b, names, of_rows(space, body, screma, apart), PITCH, ceil_div(b, block.height, PITCH))
        _reduce(b, block, Product(_packed(stm, screma, (columns, of_row)), screma, columns, of_row, sums), done)
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
            value = scalar(b.element(place, (i, j)))
            b.emit(kir.Store(place.mem, b.address(place, (j, i)), value))
    loop = kir.For(k, b.sub(block.hi, block.lo), tuple(stms))
    b.emit(kir.Threads(i, block.first, b.minimum(block.lo, b.add(block.first, block.here(b))), (loop,)))


def _is_stored_as_row(b: Builder, block: Block, name: Name, before: list[Sums]) -> bool:
    """Whether the elements of an operand are side by side."""
    b.env |= zip(block.space.indices[-2:], (block.first, block.lo), strict=True)
    with b.nested():
        _emit(b, block, (name,), before, block.first, block.lo)
        array = b.input(name)
    return not isinstance(array, ArrayRef) or is_const(array.strides[0], 1)


def _panel(b: Builder, names: Names, factor: Factor, pitch: int, pieces: Operand) -> Panel:
    size = (b.mul(pieces, i64(DEPTH * pitch)),)
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
    mem = b.alloc("sums", prim, (b.mul(block.height, i64(CHUNK)),), Mode.BLOCK.space).mem
    offset = b.sub(ZERO, b.add(b.mul(block.first, i64(CHUNK)), block.lo))
    return ArrayRef(mem, offset, (block.rows, block.hi), (i64(CHUNK), i64(1)), False)


def _alone(b: Builder, block: Block, stm: Stm, index: Name, before: list[Sums]) -> Sums:
    """A reduction that depends on one index alone: once for each row or column of the block."""
    is_row = index == block.row
    lo, hi = (block.first, b.add(block.first, block.here(b))) if is_row else (block.lo, block.hi)
    strides = (i64(int(is_row)), i64(int(not is_row)))
    most = b.op(Op.MAX, Prim.I64, block.height, i64(CHUNK))
    mems = [b.alloc("sums", p.type.prim, (most,), Mode.BLOCK.space).mem for p in stm.pat]
    refs = [ArrayRef(mem, b.sub(ZERO, lo), (block.rows, block.hi), strides, False) for mem in mems]
    at = b.index(index)
    number, j = (at, block.lo) if is_row else (block.first, at)
    with b.threads(at, lo, hi):
        _emit(b, block, (p.name for p in stm.pat), before, number, j)
        for ref, p in zip(refs, stm.pat, strict=True):
            b.emit(kir.Store(ref.mem, b.address(ref, (number, j)), b.operand(Var(p.name))))
    return Sums(stm, refs)


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
    step, tile, width = b.fresh("step", Prim.I64), b.fresh("tile", Prim.I64), b.operand(product.screma.width)
    with b.nested() as stms:
        start = b.mul(step, i64(DEPTH))
        length = b.minimum(i64(DEPTH), b.sub(width, start))
        _fill(b, block, product.columns, before, start, length)
        _fill(b, block, product.rows, before, start, length)
        with b.nested() as inside:
            _tile(b, block, product, before, b.add(block.first, b.mul(tile, i64(ROWS))), step, start, length)
        b.emit(kir.For(tile, ceil_div(b, block.here(b), ROWS), tuple(inside)))
    steps = b.op(Op.MAX, Prim.I64, i64(1), ceil_div(b, width, DEPTH))
    b.emit(kir.For(step, steps, tuple(stms)))


def _fill(b: Builder, block: Block, panel: Panel, before: list[Sums], start: Operand, length: Operand) -> None:
    """panel[k, j] = b(start + k, j); a thread walks along its column where that is stored as a row
    (`passes/tile_rows.py`)."""
    factor = panel.factor
    if not factor.values:
        return
    k, at, piece, pitch = b.fresh("k", Prim.I64), b.index(factor.index), b.fresh("piece", Prim.I64), i64(panel.pitch)
    is_row = factor.index == block.row
    lo, hi = (block.first, b.add(block.first, block.here(b))) if is_row else (block.lo, block.hi)
    number, j = (at, block.lo) if is_row else (block.first, at)
    wanted = {array for _, array in factor.operands}.union(*(free_in_stm(s) for s in factor.stms))
    along, own = False, dependents(block.body.stms, {factor.index})
    with b.nested() as bounds:
        begin = b.add(lo, b.mul(piece, pitch))
        end = b.minimum(hi, b.add(begin, pitch))
    with b.nested() as stms:
        _emit(b, block, wanted, before, number, j)
        for param, name in factor.operands:
            array = b.input(name)
            along = along or (isinstance(array, ArrayRef) and name in own and is_const(array.strides[0], 1))
            b.env[param.name] = b.element(array, (b.add(start, k),))
        for stm in factor.stms:
            gen_stm(b, stm, Mode.THREAD)
        for param, ref in zip(factor.values, panel.refs, strict=True):
            place = b.add(b.mul(b.add(b.mul(piece, i64(DEPTH)), k), pitch), b.sub(at, begin))
            b.emit(kir.Store(ref.mem, place, b.operand(Var(param.name))))
    threads = kir.Threads(at, begin, end, (kir.For(k, length, tuple(stms)),) if along else tuple(stms))
    pieces = kir.For(piece, ceil_div(b, b.sub(hi, lo), panel.pitch), (*bounds, threads))
    b.emit(pieces if along else kir.For(k, length, (pieces,)))


def _view(b: Builder, panel: Panel, at: Operand, start: Operand) -> dict[Name, Value]:
    """The arrays of a panel at an index of the result, by index along the sum."""
    offset, shape = b.sub(at, b.mul(start, i64(panel.pitch))), (b.add(start, i64(DEPTH)),)
    return {
        name: ArrayRef(ref.mem, offset, shape, (i64(panel.pitch),), False)
        for name, ref in zip(panel.names, panel.refs, strict=True)
    }


def _tile(
    b: Builder, block: Block, product: Product, before: list[Sums],
    first: Operand, step: Operand, start: Operand, length: Operand,
) -> None:  # fmt: skip
    """`threads j`: ROWS rows take in the elements of the panel."""
    last = b.sub(block.rows, i64(1))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    clamped = [b.minimum(number, last) for number in numbers]
    envs: list[dict[Name, Value]] = []
    for number in clamped:
        at = b.sub(number, block.first)
        skipped = b.mul(b.op(Op.QUOT, Prim.I64, at, i64(PITCH)), i64(PITCH * (DEPTH - 1)))
        envs.append({block.row: number, **_view(b, product.rows, b.add(at, skipped), start)})
    j = b.index(block.space.dims[-1][0])
    with b.threads(j, block.lo, block.hi):
        inits = [_so_far(b, product, number, step, j) for number in clamped]
        b.env.update(_view(b, product.columns, b.sub(j, block.lo), start))
        part, varying = Part(start, length, inits, {}), {block.row, *product.rows.names}
        body = replace(block.body, stms=tuple(product.packed if s is product.sums.stm else s for s in block.body.stms))
        for stm in needed(body, (p.name for p in product.packed.pat), (other.stm for other in before)):
            if made := [other for other in before if other.stm is stm]:
                for env, number in zip(envs, clamped, strict=True):
                    env.update(made[0].at(b, number, j))
                varying.update(p.name for p in stm.pat)
            else:
                jam_stm(b, stm, varying, envs, part)
        for number, env in zip(numbers, envs, strict=True):
            b.env.update(env)
            with b.nested() as stores:
                for place, p in zip(product.sums.refs, product.packed.pat, strict=True):
                    b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(Var(p.name))))
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, number, block.rows), tuple(stores), ()))


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
        with b.threads(j, block.lo, block.hi):
            wanted = (atom.name for atom in block.body.result if isinstance(atom, Var))
            _emit(b, block, wanted, done, number, j)
            for place, result in zip(places, block.body.result, strict=True):
                b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(result)))
    b.emit(kir.For(r, block.here(b), tuple(stms)))


def needed(body: Body, wanted: Iterable[Name], stops: Iterable[Stm]) -> list[Stm]:
    """The statements of a body that some of its names need; what `stops` need in turn is left out."""
    names, ends, found = set(wanted), list(stops), list[Stm]()
    for stm in reversed(body.stms):
        if not names.isdisjoint(p.name for p in stm.pat):
            found.append(stm)
            names |= set() if stm in ends else set(free_in_stm(stm))
    return found[::-1]


def launch_panels(s: Segop[core.SegMap], each: float) -> None:
    """A block for some tiles of ROWS rows and CHUNK columns."""
    h, b, (*outer, rows, n) = s.h, s.h.builder(), s.exp.space.widths
    chunks = h.product((*outer, h.ceil_div(n, CHUNK)))
    height = height_of(s, rows, chunks)
    panels_over_chunk(b, h.names, s.exp.space, s.exp.body, s.outs, b.operand(height))
    blocks = h.op(Op.MUL, chunks, h.ceil_div(rows, height))
    h.launch(h.finish(b, s.base), blocks, h.product(s.exp.space.widths), each, s.stm.loc)


def height_of(s: Segop[core.SegMap], rows: Atom, chunks: Atom) -> Atom:
    """Rows of a block: as many as leave LEAST_BLOCKS blocks."""
    h = s.h
    each = h.op(Op.QUOT, h.op(Op.MUL, rows, chunks), i64(ROWS * LEAST_BLOCKS))
    tiles = h.op(Op.MAX, i64(TILES), h.op(Op.MIN, i64(MOST_TILES), each))
    return h.op(Op.MUL, i64(ROWS), tiles, base="height")
