"""Long reductions over the columns of narrow matrices: all rows and columns of the result in one pass.

    segred (i < n, j < m, k < p) op { f(a[i, k], b[k, j]) }         n·m small, p long
    ⟶  block = chunk of k:
        for each tile of T indices k:
          threads k { for j < m { panel[j, k] = b[k, j] } }           as it is in memory, transposed
          (`passes/tile_rows.py`)
          for i, for j: part[i, j] op= reduce op (threads k { f(a[i, k], panel[j, k]) })

Lanes over k would gather a column of b, for each i again. The parts of the chunks are combined as those of any
reduction (`segred.py`): this is split-K. Source: panels as in Goto and van de Geijn 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ....ir import core
from ....ir.core import Body, Fix, Index, SegSpace, Slice, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Name, Names, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, is_const, scalar
from ..soacs import apply_lambda, is_simple
from ..space import bind_segment, output, segment_screma
from ..statements import gen_stm
from ..table import Segop
from .unroll_and_jam import ceil_div

TILE, PITCH = 1 << 11, (1 << 11) + 32
"""Indices of a tile, whose panels are to stay in the cache, and elements from one row of a panel to the next: rows a
power of two apart would share few sets of it."""
MOST_RESULTS = 64
LEAST_LENGTH = 1 << 12


def reads_columns(h: HostBuilder, exp: core.SegRed) -> bool:
    """Does a reduction that may be cut read columns of what is in memory by rows?"""
    return may_be_cut(exp) and bool(columns(h.builder(), exp))


def may_be_cut(exp: core.SegRed) -> bool:
    """Whether there are columns to reduce in any order."""
    return len(exp.space.dims) > 1 and all(r.comm and is_simple(r.op) for r in exp.reds)


def is_narrow(s: Segop[Any], exp: core.SegRed) -> Atom:
    """Are there few results of long sums?"""
    h, (*_, width) = s.h, exp.space.widths
    long = h.op(Op.GE, width, i64(LEAST_LENGTH), base="long")
    results = h.product(tuple(w for _, w in looped(exp.space)))
    return h.op(Op.LE, h.choice(long, results, i64(MOST_RESULTS + 1), "results"), i64(MOST_RESULTS), base="narrow")


def as_segred(names: Names, exp: core.SegMap) -> core.SegRed | None:
    """A nest whose body is a reduction, of one width for all points, as a reduction of the nest.

    segmap (i < n) { redomap k < p op f xs }    ⟶    segred (i < n, k < p) op { f(xs[k]) }
    """
    *before, last = exp.body.stms or (None,)
    match last:
        case Stm(exp=core.Screma(width, arrays, fun, (), reds) as screma) if len(last.pat) == screma.num_reds:
            pass
        case _:
            return None
    plain = all(isinstance(s.exp, (core.PrimOp, core.Convert, core.Index)) and not s.certs for s in before if s)
    if not plain or last.certs or exp.body.result != tuple(Var(p.name) for p in last.pat):
        return None
    if isinstance(width, Var) and width.name in {*exp.space.indices, *(p.name for s in before if s for p in s.pat)}:
        return None
    k = names.fresh("k")
    rows = {s.pat[0].name: s.exp for s in before if s and isinstance(s.exp, Index)}
    loads = tuple(
        Stm((param,), _element(array, rows.get(array), k), (), (), last.loc)
        for param, array in zip(fun.params, arrays, strict=True)
    )
    body = Body((*(s for s in before if s), *loads, *fun.body.stms), fun.body.result)
    return core.SegRed(exp.level, SegSpace((*exp.space.dims, (k, width))), reds, body, fun.ret, None)


def _element(array: Name, row: Index | None, k: Name) -> Index:
    """Element k of an array, at once of that which it is a row of."""
    if row is not None:
        slices = [d for d in row.dims if isinstance(d, Slice)]
        if row.safe and len(slices) == 1 and slices[0].start == i64(0) and slices[0].stride == i64(1):
            return Index(row.array, tuple(d if isinstance(d, Fix) else Fix(Var(k)) for d in row.dims), True)
    return Index(array, (Fix(Var(k)),), True)


def looped(space: SegSpace) -> tuple[tuple[Name, Atom], ...]:
    """The dimensions of the result that a block loops over."""
    return space.dims[max(0, len(space.dims) - 3) : -1]


@dataclass(frozen=True, slots=True)
class Column:
    """`x = array[.., k, .., q]`, contiguous in q and not in k, and how many q there are."""

    stm: Stm
    across: Name
    width: Atom
    prim: Prim


def columns(b: Builder, exp: core.SegRed, most: int = 2) -> list[Column]:
    """The loads of a body that are columns of what is in memory by rows, across one of the last dimensions of the
    result, which are at most `most`."""
    widths = dict(looped(exp.space)[-most:])
    found = (_column(b, exp, stm, widths) for stm in exp.body.stms)
    return [column for column in found if column is not None]


def _column(b: Builder, exp: core.SegRed, stm: Stm, widths: Mapping[Name, Atom]) -> Column | None:
    match stm.exp:
        case Index(array, dims, True) if not stm.pat[0].type.shape:
            pass
        case _:
            return None
    bound = {p.name for s in exp.body.stms for p in s.pat}
    ref, along = None if array in bound else b.array(array), exp.space.indices[-1]
    if not isinstance(ref, ArrayRef):
        return None
    places = {d.index.name: k for k, d in enumerate(dims) if isinstance(d, Fix) and isinstance(d.index, Var)}
    across = [name for name in places if name in widths]
    if len(places) < sum(isinstance(d, Fix) and isinstance(d.index, Var) for d in dims) or len(across) != 1:
        return None
    if along not in places or not bound.isdisjoint(places) or is_const(ref.strides[places[along]], 1):
        return None
    if not is_const(ref.strides[places[across[0]]], 1):
        return None
    return Column(stm, across[0], widths[across[0]], stm.pat[0].type.prim)


def narrow_kernel(
    h: HostBuilder, exp: core.SegRed, partial: list[Name], row_types: list[Type], length: Atom, base: str
) -> Made:
    """A block for each chunk of a point of the outer dimensions; `length`: of a chunk."""
    b = h.builder()
    outer, along = exp.space.dims[: -1 - len(looped(exp.space))], exp.space.dims[-1]
    at, chunk, lo, count = bind_segment(b, SegSpace((*outer, along)), (h.types[partial[0]].shape[-1], length), b.block)
    parts = [output(b, name) for name in partial]
    panels = {c: _panel(b, h, c) for c in columns(b, exp)}
    inner = replace(exp, body=_with_panels(exp.body, {c.stm: (name, c) for c, (name, _) in panels.items()}, along[0]))
    neutral = [b.operand(a) for r in exp.reds for a in r.neutral]
    loops = [(b.fresh(name.base[:12] or "i", Prim.I64), name, b.operand(width)) for name, width in looped(exp.space)]
    places, widths = tuple(var for var, _, _ in loops), tuple(width for _, _, width in loops)
    for var, name, _ in loops:
        b.env[name] = var
    with b.loops(places, widths):
        for part, ne in zip(parts, neutral, strict=True):
            b.emit(kir.Store(part.mem, b.address(part, (*at, *places, chunk)), ne))
    tile = b.fresh("tile", Prim.I64)
    with b.nested() as tiles:
        start = b.add(lo, b.mul(tile, i64(TILE)))
        here = b.minimum(i64(TILE), b.sub(count, b.mul(tile, i64(TILE))))
        for column, (name, mem) in panels.items():
            _fill(b, column, mem, along[0], start, here)
            strides = (i64(PITCH), i64(1))
            b.env[name] = ArrayRef(mem, b.sub(ZERO, start), (b.operand(column.width), i64(TILE)), strides, False)
        again = [(b.fresh(name.base[:12] or "i", Prim.I64), name, width) for _, name, width in loops]
        for var, name, _ in again:
            b.env[name] = var
        with b.loops((var for var, _, _ in again), widths):
            values = segment_screma(b, h.names, inner, start, here, [], at, row_types)
            _take_in(b, exp, parts, (*at, *(var for var, _, _ in again), chunk), tuple(scalar(v) for v in values))
    b.emit(kir.For(tile, ceil_div(b, count, TILE), tuple(tiles)))
    return h.finish(b, f"{base}_narrow")


def _panel(b: Builder, h: HostBuilder, column: Column) -> tuple[Name, kir.KArray]:
    mem = b.alloc("panel", column.prim, (b.operand(column.width), i64(PITCH)), kir.Space.SHARED).mem
    return h.names.fresh("panel"), mem


def _with_panels(body: Body, panels: Mapping[Stm, tuple[Name, Column]], along: Name) -> Body:
    """The body with `x = panel[q, k]` for each column."""
    stms: list[Stm] = []
    for stm in body.stms:
        if stm in panels:
            name, column = panels[stm]
            stm = replace(stm, exp=Index(name, (Fix(Var(column.across)), Fix(Var(along))), True))
        stms.append(stm)
    return Body(tuple(stms), body.result)


def _fill(b: Builder, column: Column, mem: kir.KArray, along: Name, start: Operand, count: Operand) -> None:
    """`panel[q, k - start] = x` for start <= k < start + count, all q"""
    k, q = b.fresh("k", Prim.I64), b.fresh("q", Prim.I64)
    b.env[along], b.env[column.across] = k, q
    with b.nested() as stms:
        gen_stm(b, column.stm, Mode.THREAD)
        value = scalar(b.env[column.stm.pat[0].name])
        b.emit(kir.Store(mem, b.add(b.mul(q, i64(PITCH)), b.sub(k, start)), value))
    b.emit(kir.Threads(k, start, b.add(start, count), (kir.For(q, b.operand(column.width), tuple(stms)),)))


def _take_in(
    b: Builder, exp: core.SegRed, parts: list[ArrayRef], at: tuple[Operand, ...], values: tuple[Operand, ...]
) -> None:
    """`part[at] op= values`"""
    position = 0
    for red in exp.reds:
        k = len(red.neutral)
        own = parts[position : position + k]
        old = [b.let("old", p.mem.prim, kir.KLoad(p.mem, b.address(p, at))) for p in own]
        results = apply_lambda(b, red.op, [*old, *values[position : position + k]], Mode.THREAD)
        for part, result in zip(own, results, strict=True):
            b.emit(kir.Store(part.mem, b.address(part, at), scalar(result)))
        position += k
