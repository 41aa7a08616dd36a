"""SegRed as kernels.

segred (i < n, j < m)     block = (i, chunk of j): partial results; a second launch combines more than one chunk
"""

from __future__ import annotations

from ..ir import core
from ..ir.core import Body, Fix, Lambda, Param, Reduction, SegSpace, Stm
from ..ir.errors import NOWHERE, Loc
from ..ir.ops import Op
from ..ir.types import Atom, Name, Type, Var, i64
from .body import Mode
from .build import ZERO
from .contents import nest_depth
from .cost import EXTENT
from .host import HostBody, HostIf
from .hostbuild import HostBuilder, Made
from .segspace import CHUNK, bind_segment, bind_space, output, row_of, segment_screma
from .soacs import gen_soac, is_simple, put

MANY_SEGMENTS = 256  # from here on segments are parallelism enough


def segred(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    """Partial results per chunk; more than one chunk is combined by a second launch."""
    outer, width = exp.space.widths[:-1], exp.space.widths[-1]
    nr = sum(len(r.neutral) for r in exp.reds)
    mapped = [(p.name, p.type) for p in stm.pat[nr:]]
    for name, type_ in mapped:
        h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)
    row_types = [Type(p.type.prim, p.type.shape[len(outer) :]) for p in stm.pat[:nr]]
    cut = all(is_simple(r.op) for r in exp.reds)
    base = stm.pat[0].name.base if stm.pat else "red"
    depth = nest_depth(exp.space, exp.body)
    chunks = chunks_of(h, outer, width) if cut else i64(1)
    partial = [(h.scratch("partial", t.array_of(*outer, chunks)), t) for t in row_types]
    made = h.best_layout(depth, lambda: segred_kernel(h, exp, [n for n, _ in partial], mapped, row_types, cut, base))
    blocks = h.op(Op.MUL, h.product(outer), chunks)
    h.launch(made, blocks, h.product(exp.space.widths), made.cost / EXTENT, stm.loc)
    combine(h, stm.pat[:nr], exp.reds, [n for n, _ in partial], outer, chunks, base, stm.loc)


def chunks_of(h: HostBuilder, outer: tuple[Atom, ...], width: Atom) -> Atom:
    """How many chunks a segment is cut into: one if there are many segments."""
    segments = h.product(outer)
    many = h.op(Op.GE, segments, i64(MANY_SEGMENTS), base="many")
    cut = h.op(Op.MAX, h.ceil_div(width, CHUNK), i64(1))
    return h.choice(many, i64(1), cut, "chunks")


def segred_kernel(
    h: HostBuilder,
    exp: core.SegRed,
    partial: list[Name],
    mapped: list[tuple[Name, Type]],
    row_types: list[Type],
    cut: bool,
    base: str,
) -> Made:
    b = h.builder()
    indices, chunk, lo, count = bind_segment(b, exp.space, h.types[partial[0]].shape[-1] if cut else None)
    for name, _ in mapped:
        output(b, name)
    values = segment_screma(b, h.names, exp, (), exp.reds, lo, count, mapped, indices, row_types)
    for name, value in zip(partial, values, strict=True):
        put(b, row_of(b, output(b, name), indices), chunk, value, Mode.BLOCK)
    return h.finish(b, base)


def combine(
    h: HostBuilder,
    pat: tuple[Param, ...],
    reds: tuple[Reduction, ...],
    partial: list[Name],
    outer: tuple[Atom, ...],
    chunks: Atom,
    base: str,
    loc: Loc,
) -> None:
    """`if one chunk then the partial results else combine them`."""
    if chunks == i64(1):
        unwrap(h, pat, partial, loc)
        return
    saved, h.out = h.out, []
    first = tuple(Param(h.names.again(p.name), p.type) for p in pat)
    unwrap(h, first, partial, loc)
    then = HostBody(tuple(h.out), tuple(Var(p.name) for p in first))
    h.out = []
    totals = [h.scratch("total", Type(h.types[n].prim, (*outer, i64(1)))) for n in partial]
    made = combine_kernel(h, reds, partial, totals, outer, base)
    segments = h.product(outer)
    h.launch(made, segments, segments, made.cost, loc)
    second = tuple(Param(h.names.again(p.name), p.type) for p in pat)
    unwrap(h, second, totals, loc)
    orelse = HostBody(tuple(h.out), tuple(Var(p.name) for p in second))
    h.out = saved
    one = h.op(Op.EQ, chunks, i64(1), base="one")
    h.emit(pat, HostIf(one, then, orelse), loc)


def unwrap(h: HostBuilder, pat: tuple[Param, ...], arrays: list[Name], loc: Loc) -> None:
    """Bind arrays of shape [outer][1]t as [outer]t, a scalar where that has no dimension."""
    for param, array in zip(pat, arrays, strict=True):
        if param.type.shape:
            h.emit((param,), core.Reshape(param.type.shape, array), loc)
        else:
            h.emit((param,), core.Index(array, (Fix(i64(0)),), True), loc)


def combine_kernel(
    h: HostBuilder,
    reds: tuple[Reduction, ...],
    partial: list[Name],
    totals: list[Name],
    outer: tuple[Atom, ...],
    base: str,
) -> Made:
    b = h.builder()
    space = SegSpace(tuple((h.names.fresh("i"), w) for w in outer))
    indices = bind_space(b, space, b.block)
    rows = [b.element(b.array(p), indices) for p in partial]
    row_names = [h.names.fresh("row") for _ in rows]
    b.env.update(zip(row_names, rows, strict=True))
    elems = tuple(Param(h.names.fresh("x"), Type(h.types[p].prim, ())) for p in partial)
    identity = Lambda(elems, Body((), tuple(Var(e.name) for e in elems)), tuple(e.type for e in elems))
    width = h.types[partial[0]].shape[len(outer)]
    screma = core.Screma(width, tuple(row_names), identity, (), reds)
    pat = tuple(Param(h.names.fresh("r"), e.type) for e in elems)
    values = gen_soac(b, Stm(pat, screma, (), (), NOWHERE), Mode.BLOCK)
    for name, value in zip(totals, values, strict=True):
        put(b, row_of(b, output(b, name), indices), ZERO, value, Mode.BLOCK)
    return h.finish(b, f"{base}_combine")
