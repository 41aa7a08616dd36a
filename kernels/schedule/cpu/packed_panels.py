"""Panels: unroll-and-jam over many rows, whose shared operand a block first copies to memory of its own.

    block = (rows i0 .. i0 + G·R, chunk of j):
      for each reduction of the body, for k0 in steps of DEPTH:
        panel[k, j] = b[k0 + k, j]                                     for all k < DEPTH, j in the chunk
        for each R rows: threads j { acc_r = sums[i0+r, j]; loop k { acc_r ⊕= f(a[i0+r, k0+k], panel[k, j]) }; .. }
      for each row: threads j { out[i, j] = g(sums[i, j], ..) }         where results are not just what is reduced

Rows of b that lie a power of two apart share few sets of the first cache; the panel is dense, stays there, and is used
by G·R rows (Goto and van de Geijn 2008, for one level). Partial sums wait in the result if they are the results, else
in memory of the block. The order of the sum stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ....ir import core
from ....ir.core import Body, Fix, Index, SegSpace, Stm
from ....ir.ops import Op
from ....ir.traverse import free_in_stm
from ....ir.types import Name, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KVar
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value, clean, is_const
from ..soacs import only_scalars
from ..space import bind_space, output, row_of, split_chunk
from ..statements import gen_stm
from ..table import Segop
from .unroll_and_jam import ROWS, Part, can_jam, ceil_div, jam_stm, reductions_in

TILES = 16
"""Tiles of ROWS rows that use a panel."""
DEPTH = 256
CHUNK = 128
LEAST_ROWS = 4 * ROWS
"""With fewer rows, copying costs more than it brings."""
LEAST_COLUMNS = 16
"""With fewer columns, lanes have nothing to do."""


def can_pack(space: SegSpace, body: Body) -> bool:
    """A nest that can be jammed, in each of whose reductions rows share an operand that depends on the lanes."""
    return can_jam(space, body) and all(packable(space, body, screma) for _, screma in reductions_in(body))


def packable(space: SegSpace, body: Body, screma: core.Screma) -> dict[Name, Stm]:
    """Arrays of a reduction that are columns `b[.., j]` of one that is the same for all rows, and the statements that
    say so."""
    row, inner = space.dims[-2][0], space.dims[-1][0]
    views = {s.pat[0].name: s for s in body.stms if isinstance(s.exp, Index)}
    bound = {p.name for s in body.stms for p in s.pat}
    return {
        array: view
        for array in screma.arrays
        if (view := views.get(array)) is not None
        and isinstance(view.exp, Index)
        and Fix(Var(inner)) in view.exp.dims
        and bound.isdisjoint(free_in_stm(view))
        and row not in free_in_stm(view)
    }


@dataclass(frozen=True, slots=True)
class Product:
    """A reduction of the body: its statement, the columns that are packed and their panels, and where its sums are by
    row and column of the result."""

    stm: Stm
    screma: core.Screma
    views: dict[Name, Stm]
    panels: dict[Name, ArrayRef]
    sums: list[ArrayRef]


@dataclass(frozen=True, slots=True)
class Block:
    """What a block works on: the nest, the bounds of its chunk, its first row and how many rows there are in all."""

    space: SegSpace
    body: Body
    lo: Operand
    hi: Operand
    first: Operand
    rows: Operand

    @property
    def row(self) -> Name:
        return self.space.dims[-2][0]

    def place_in_panel(self, b: Builder, k: Operand, j: Operand) -> Operand:
        return b.add(b.mul(k, i64(CHUNK)), b.sub(j, self.lo))

    def here(self, b: Builder) -> Operand:
        """The number of rows of the block."""
        return b.minimum(i64(TILES * ROWS), b.sub(self.rows, self.first))


def panels_over_chunk(b: Builder, space: SegSpace, body: Body, outs: list[tuple[Name, Type]]) -> None:
    """The kernel of a block: TILES·ROWS rows, a chunk of the innermost dimension."""
    rows, n, outer = b.operand(space.widths[-2]), b.operand(space.widths[-1]), space.dims[:-2]
    groups = ceil_div(b, rows, ROWS * TILES)
    point, number = split_chunk(b, space.dims[:-1], ceil_div(b, n, CHUNK))
    first = b.mul(b.op(Op.REM, Prim.I64, point, groups, base="group"), i64(ROWS * TILES))
    at = bind_space(b, SegSpace(outer), b.op(Op.QUOT, Prim.I64, point, groups))
    lo = b.mul(number, i64(CHUNK))
    block = Block(space, body, lo, b.minimum(n, b.add(lo, i64(CHUNK))), first, rows)
    places = [row_of(b, output(b, name), at) for name, _ in outs]
    stms = [stm for stm, _ in reductions_in(body)]
    in_place = body.result == tuple(Var(p.name) for stm in stms for p in stm.pat)
    products: list[Product] = []
    for stm, screma in reductions_in(body):
        sums = places if in_place and len(stms) == 1 else [_waiting(b, block, p.type.prim) for p in stm.pat]
        product = Product(stm, screma, packable(space, body, screma), _panels(b, space, body, screma), sums)
        _reduce(b, block, product, products)
        products.append(product)
    if not (in_place and len(stms) == 1):
        _follow(b, block, products, places)


def _panels(b: Builder, space: SegSpace, body: Body, screma: core.Screma) -> dict[Name, ArrayRef]:
    prims = {a: p.type.prim for a, p in zip(screma.arrays, screma.map.params, strict=True)}
    size = (i64(DEPTH * CHUNK),)
    return {a: b.alloc("panel", prims[a], size, Mode.BLOCK.space) for a in packable(space, body, screma)}


def _waiting(b: Builder, block: Block, prim: Prim) -> ArrayRef:
    """Memory for the sums of a block, by row and column of the result."""
    mem = b.alloc("sums", prim, (i64(TILES * ROWS * CHUNK),), Mode.BLOCK.space).mem
    offset = b.sub(ZERO, b.add(b.mul(block.first, i64(CHUNK)), block.lo))
    return ArrayRef(mem, offset, (block.rows, block.hi), (i64(CHUNK), i64(1)), False)


def _column(b: Builder, block: Block) -> KVar:
    """A fresh index of the innermost dimension."""
    inner = block.space.dims[-1][0]
    index = b.fresh(clean(inner.base), Prim.I64)
    b.env[inner] = index
    return index


def _reduce(b: Builder, block: Block, product: Product, before: list[Product]) -> None:
    """The sums of a product, for all rows and columns of the block."""
    step, tile, width = b.fresh("step", Prim.I64), b.fresh("tile", Prim.I64), b.operand(product.screma.width)
    with b.nested() as stms:
        start = b.mul(step, i64(DEPTH))
        length = b.minimum(i64(DEPTH), b.sub(width, start))
        _fill(b, block, product, start, length)
        with b.nested() as inside:
            _tile(b, block, product, before, b.add(block.first, b.mul(tile, i64(ROWS))), step, start, length)
        b.emit(kir.For(tile, ceil_div(b, block.here(b), ROWS), tuple(inside)))
    steps = b.op(Op.MAX, Prim.I64, i64(1), ceil_div(b, width, DEPTH))
    b.emit(kir.For(step, steps, tuple(stms)))


def _fill(b: Builder, block: Block, product: Product, start: Operand, length: Operand) -> None:
    """panel[k, j] = b[start + k, j]; a thread walks along its column where that lies as a row
    (`passes/tile_rows.py`)."""
    for array, view in product.views.items():
        k, j = b.fresh("k", Prim.I64), _column(b, block)
        with b.nested() as stms:
            gen_stm(b, view, Mode.THREAD)
            column = b.array(array)
            value = only_scalars([b.element(column, (b.add(start, k),))])
            b.emit(kir.Store(product.panels[array].mem, block.place_in_panel(b, k, j), value[0]))
        if isinstance(column, ArrayRef) and is_const(column.strides[0], 1):
            b.emit(kir.Threads(j, block.lo, block.hi, (kir.For(k, length, tuple(stms)),)))
        else:
            b.emit(kir.For(k, length, (kir.Threads(j, block.lo, block.hi, tuple(stms)),)))


def _tile(
    b: Builder, block: Block, product: Product, before: list[Product],
    first: Operand, step: Operand, start: Operand, length: Operand,
) -> None:  # fmt: skip
    """`threads j`: ROWS rows take in the elements of the panel."""
    last = b.sub(block.rows, i64(1))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    envs: list[dict[Name, Value]] = [{block.row: b.minimum(number, last)} for number in numbers]
    j = _column(b, block)
    with b.nested() as stms:
        inits = [_so_far(b, product, only_scalars([env[block.row]])[0], step, j) for env in envs]

        def load(panel: ArrayRef) -> Callable[[Operand], Operand]:
            prim = panel.mem.prim
            return lambda k: b.let("y", prim, kir.KLoad(panel.mem, block.place_in_panel(b, k, j)))

        part = Part(start, length, inits, {array: load(panel) for array, panel in product.panels.items()})
        varying = {block.row}
        for stm in needed(block.body, (p.name for p in product.stm.pat), (other.stm for other in before)):
            if made := [other for other in before if other.stm is stm]:
                for env in envs:
                    env.update(_results(b, made[0], only_scalars([env[block.row]])[0], j))
                varying.update(p.name for p in stm.pat)
            elif stm not in product.views.values():
                jam_stm(b, stm, varying, envs, part)
        for number, env in zip(numbers, envs, strict=True):
            b.env.update(env)
            with b.nested() as stores:
                for place, p in zip(product.sums, product.stm.pat, strict=True):
                    b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(Var(p.name))))
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, number, block.rows), tuple(stores), ()))
    b.emit(kir.Threads(j, block.lo, block.hi, tuple(stms)))


def _so_far(b: Builder, product: Product, number: Operand, step: Operand, j: Operand) -> list[Operand]:
    """The partial results of a row: neutral elements in the first step, then what the last one left."""
    neutral = [b.operand(a) for r in product.screma.reds for a in r.neutral]
    found: list[Operand] = []
    for place, ne in zip(product.sums, neutral, strict=True):
        var = b.fresh("sofar", ne.prim)
        b.emit(kir.Declare(var, ne))
        with b.nested() as stms:
            value = b.let("old", ne.prim, kir.KLoad(place.mem, b.address(place, (number, j))))
            b.emit(kir.Assign(var, value))
        b.emit(kir.KIf(b.op(Op.GT, Prim.I64, step, ZERO), tuple(stms), ()))
        found.append(b.copy(var))
    return found


def _follow(b: Builder, block: Block, products: list[Product], places: list[ArrayRef]) -> None:
    """`for each row: threads j`: what the body makes of its sums."""
    r, j = b.fresh("r", Prim.I64), _column(b, block)
    wanted = (atom.name for atom in block.body.result if isinstance(atom, Var))
    with b.nested() as stms:
        number = b.add(block.first, r)
        b.env[block.row] = number
        with b.nested() as inside:
            for stm in needed(block.body, wanted, (product.stm for product in products)):
                if made := [product for product in products if product.stm is stm]:
                    b.env.update(_results(b, made[0], number, j))
                else:
                    gen_stm(b, stm, Mode.THREAD)
            for place, result in zip(places, block.body.result, strict=True):
                b.emit(kir.Store(place.mem, b.address(place, (number, j)), b.operand(result)))
        b.emit(kir.Threads(j, block.lo, block.hi, tuple(inside)))
    b.emit(kir.For(r, block.here(b), tuple(stms)))


def _results(b: Builder, product: Product, number: Operand, j: Operand) -> dict[Name, Value]:
    """The sums of a product at a row and column of the result."""
    return {p.name: b.element(place, (number, j)) for p, place in zip(product.stm.pat, product.sums, strict=True)}


def needed(body: Body, wanted: Iterable[Name], stops: Iterable[Stm]) -> list[Stm]:
    """The statements of a body that some of its names need; what `stops` need in turn is left out."""
    names, ends, found = set(wanted), list(stops), list[Stm]()
    for stm in reversed(body.stms):
        if not names.isdisjoint(p.name for p in stm.pat):
            found.append(stm)
            names |= set() if stm in ends else set(free_in_stm(stm))
    return found[::-1]


def launch_panels(s: Segop[core.SegMap], each: float) -> None:
    """A block for TILES·ROWS rows and CHUNK columns."""
    h, b, (*outer, rows, n) = s.h, s.h.builder(), s.exp.space.widths
    panels_over_chunk(b, s.exp.space, s.exp.body, s.outs)
    groups = h.ceil_div(rows, ROWS * TILES)
    blocks = h.op(Op.MUL, h.product((*outer, groups)), h.ceil_div(n, CHUNK))
    h.launch(h.finish(b, s.base), blocks, h.product(s.exp.space.widths), each, s.stm.loc)
