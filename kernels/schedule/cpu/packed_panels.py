"""Panels: unroll-and-jam over many rows, whose shared operand a block first copies to memory of its own.

    block = (rows i0 .. i0 + G·R, chunk of j):
      for k0 in steps of DEPTH:
        panel[k, j] = b[k0 + k, j]                                     for all k < DEPTH, j in the chunk
        for each R rows: threads j { acc_r = out[i0+r, j]; loop k { acc_r ⊕= f(a[i0+r, k0+k], panel[k, j]) }; .. }

Rows of b that lie a power of two apart share few sets of the first cache; the panel is dense, stays there, and is used
by G·R rows (Goto and van de Geijn 2008, for one level). Partial sums wait in the result. The order of the sum stays.
"""

from __future__ import annotations

from collections.abc import Callable
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
from ..space import bind_space, output, split_chunk
from ..statements import gen_stm
from ..table import Segop
from .unroll_and_jam import ROWS, Part, can_jam, ceil_div, jam_stm, reduction_in

TILES = 16
"""Tiles of ROWS rows that use a panel."""
DEPTH = 256
CHUNK = 128
LEAST_ROWS = 4 * ROWS
"""With fewer rows, copying costs more than it brings."""
LEAST_COLUMNS = 16
"""With fewer columns, lanes have nothing to do."""


def can_pack(space: SegSpace, body: Body) -> bool:
    """A nest that can be jammed, gives just what it reduces, and shares an operand that depends on the lanes."""
    if not can_jam(space, body):
        return False
    stm = reduction_in(body)
    return body.result == tuple(Var(p.name) for p in stm.pat) and bool(packable(space, body))


def packable(space: SegSpace, body: Body) -> dict[Name, Stm]:
    """Arrays of the reduction that are columns `b[.., j]` of one that is the same for all rows, and the statements that
    say so."""
    screma = reduction_in(body).exp
    assert isinstance(screma, core.Screma)
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
class Block:
    """What a block works on: the nest, its reduction, the columns that are packed and their panels, the bounds of its
    chunk, its first row of all rows, and where the results go (`at`: the indices of the outer dimensions)."""

    space: SegSpace
    body: Body
    screma: core.Screma
    views: dict[Name, Stm]
    panels: dict[Name, ArrayRef]
    lo: Operand
    hi: Operand
    first: Operand
    places: list[ArrayRef]
    at: tuple[Operand, ...]

    @property
    def inner(self) -> Name:
        return self.space.dims[-1][0]

    def place_in_panel(self, b: Builder, k: Operand, j: Operand) -> Operand:
        return b.add(b.mul(k, i64(CHUNK)), b.sub(j, self.lo))


def panels_over_chunk(b: Builder, space: SegSpace, body: Body, outs: list[tuple[Name, Type]]) -> None:
    """The kernel of a block: TILES·ROWS rows, a chunk of the innermost dimension."""
    rows, n, outer = b.operand(space.widths[-2]), b.operand(space.widths[-1]), space.dims[:-2]
    groups = ceil_div(b, rows, ROWS * TILES)
    point, number = split_chunk(b, space.dims[:-1], ceil_div(b, n, CHUNK))
    first = b.mul(b.op(Op.REM, Prim.I64, point, groups, base="group"), i64(ROWS * TILES))
    at = bind_space(b, SegSpace(outer), b.op(Op.QUOT, Prim.I64, point, groups))
    lo = b.mul(number, i64(CHUNK))
    hi = b.minimum(n, b.add(lo, i64(CHUNK)))
    screma, views = reduction_in(body).exp, packable(space, body)
    assert isinstance(screma, core.Screma)
    prims = {a: p.type.prim for a, p in zip(screma.arrays, screma.map.params, strict=True) if a in views}
    panels = {a: b.alloc("panel", prim, (i64(DEPTH * CHUNK),), Mode.BLOCK.space) for a, prim in prims.items()}
    places = [output(b, name) for name, _ in outs]
    block = Block(space, body, screma, views, panels, lo, hi, first, places, at)
    step, tile = b.fresh("step", Prim.I64), b.fresh("tile", Prim.I64)
    with b.nested() as stms:
        start = b.mul(step, i64(DEPTH))
        length = b.minimum(i64(DEPTH), b.sub(b.operand(screma.width), start))
        _fill(b, block, start, length)
        with b.nested() as inside:
            _tile(b, block, b.add(first, b.mul(tile, i64(ROWS))), step, start, length)
        here = b.minimum(i64(TILES), ceil_div(b, b.sub(rows, first), ROWS))
        b.emit(kir.For(tile, here, tuple(inside)))
    steps = b.op(Op.MAX, Prim.I64, i64(1), ceil_div(b, b.operand(screma.width), DEPTH))
    b.emit(kir.For(step, steps, tuple(stms)))


def _column(b: Builder, block: Block) -> KVar:
    """A fresh index of the innermost dimension."""
    index = b.fresh(clean(block.inner.base), Prim.I64)
    b.env[block.inner] = index
    return index


def _fill(b: Builder, block: Block, start: Operand, length: Operand) -> None:
    """panel[k, j] = b[start + k, j]; a thread walks along its column where that lies as a row
    (`passes/tile_rows.py`)."""
    for array, view in block.views.items():
        k, j = b.fresh("k", Prim.I64), _column(b, block)
        with b.nested() as stms:
            gen_stm(b, view, Mode.THREAD)
            column = b.array(array)
            value = only_scalars([b.element(column, (b.add(start, k),))])
            b.emit(kir.Store(block.panels[array].mem, block.place_in_panel(b, k, j), value[0]))
        if isinstance(column, ArrayRef) and is_const(column.strides[0], 1):
            b.emit(kir.Threads(j, block.lo, block.hi, (kir.For(k, length, tuple(stms)),)))
        else:
            b.emit(kir.For(k, length, (kir.Threads(j, block.lo, block.hi, tuple(stms)),)))


def _tile(b: Builder, block: Block, first: Operand, step: Operand, start: Operand, length: Operand) -> None:
    """`threads j`: ROWS rows take in the elements of the panel."""
    row, rows = block.space.dims[-2][0], b.operand(block.space.widths[-2])
    last = b.sub(rows, i64(1))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    envs: list[dict[Name, Value]] = [{row: b.minimum(number, last)} for number in numbers]
    j = _column(b, block)
    with b.nested() as stms:
        inits = [_so_far(b, block, env, row, step, j) for env in envs]

        def load(panel: ArrayRef) -> Callable[[Operand], Operand]:
            prim = panel.mem.prim
            return lambda k: b.let("y", prim, kir.KLoad(panel.mem, block.place_in_panel(b, k, j)))

        part = Part(start, length, inits, {array: load(panel) for array, panel in block.panels.items()})
        varying = {row}
        for stm in block.body.stms:
            if stm not in block.views.values():
                jam_stm(b, stm, varying, envs, part)
        for number, env in zip(numbers, envs, strict=True):
            b.env.update(env)
            with b.nested() as stores:
                for place, result in zip(block.places, block.body.result, strict=True):
                    b.emit(kir.Store(place.mem, b.address(place, (*block.at, number, j)), b.operand(result)))
            b.emit(kir.KIf(b.op(Op.LT, Prim.I64, number, rows), tuple(stores), ()))
    b.emit(kir.Threads(j, block.lo, block.hi, tuple(stms)))


def _so_far(b: Builder, block: Block, env: dict[Name, Value], row: Name, step: Operand, j: Operand) -> list[Operand]:
    """The partial results of a row: neutral elements in the first step, then what the last one left."""
    number = only_scalars([env[row]])[0]
    neutral = [b.operand(a) for r in block.screma.reds for a in r.neutral]
    found: list[Operand] = []
    for place, ne in zip(block.places, neutral, strict=True):
        var = b.fresh("sofar", ne.prim)
        b.emit(kir.Declare(var, ne))
        with b.nested() as stms:
            value = b.let("old", ne.prim, kir.KLoad(place.mem, b.address(place, (*block.at, number, j))))
            b.emit(kir.Assign(var, value))
        b.emit(kir.KIf(b.op(Op.GT, Prim.I64, step, ZERO), tuple(stms), ()))
        found.append(b.copy(var))
    return found


def launch_panels(s: Segop[core.SegMap], each: float) -> None:
    """A block for TILES·ROWS rows and CHUNK columns."""
    h, b, (*outer, rows, n) = s.h, s.h.builder(), s.exp.space.widths
    panels_over_chunk(b, s.exp.space, s.exp.body, s.outs)
    groups = h.ceil_div(rows, ROWS * TILES)
    blocks = h.op(Op.MUL, h.product((*outer, groups)), h.ceil_div(n, CHUNK))
    h.launch(h.finish(b, s.base), blocks, h.product(s.exp.space.widths), each, s.stm.loc)
