"""SegRed as kernels.

segred (i < n, j < m)     block = (i, chunk of j): partial results; a second launch combines more than one chunk
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ....ir import core
from ....ir.core import Body, Fix, Lambda, Param, Reduction, SegSpace, Stm
from ....ir.errors import NOWHERE, Loc
from ....ir.machine import CPU
from ....ir.ops import Op
from ....ir.types import Atom, Const, Name, Type, Var, i64
from ...analysis.cost import EXTENT, LANES
from ...host_ir.launch_parameters import Kind
from ...host_ir.nodes import HostBody, HostIf
from ..host_builder import TRUE, HostBuilder, Made, either
from ..kernel_builder import ZERO, Mode
from ..queries import nest_depth
from ..soacs import gen_soac, is_simple, put
from ..space import bind_segment, bind_space, output, row_of, segment_screma
from .packed_panels import LEAST_COLUMNS, LEAST_ROWS, can_pack, launch_panels
from .split_k import columns, is_narrow, looped, narrow_kernel

MANY_SEGMENTS = 256  # from here on segments are parallelism enough
WORK = 1.0  # of an element of a narrow matrix
SHORT = 1 << 14  # segments known to be no longer are not cut


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of the segments of a space: how many, of which length (None: a segment is not cut), where their partial
    results go, of which types."""

    outer: tuple[Atom, ...]
    count: Atom
    length: Atom | None
    partial: list[Name]
    types: list[Type]
    base: str


def segred(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    """As it is; or, where it reduces the elements of a product with rows and columns enough, the product first."""
    split = product_first(h, exp) if h.machine.name == CPU.name and exp.num_reds < len(stm.pat) else None
    if split is None:
        segred_at_once(h, stm, exp)
        return
    outs, product, rest = split

    def first(renamed: Stm) -> None:
        for name, type_ in outs:
            h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)
        launch_panels(h, product, outs, stm.pat[0].name.base, EXTENT / LANES, stm.loc)
        segred_at_once(h, renamed, rest)

    *_, rows, columns_ = exp.space.widths
    least = h.op(Op.MIN, h.op(Op.QUOT, rows, i64(LEAST_ROWS)), h.op(Op.QUOT, columns_, i64(LEAST_COLUMNS)))
    enough = h.op(Op.GE, least, i64(1), base="enough")
    if isinstance(enough, Const):
        first(stm) if enough.value else segred_at_once(h, stm, exp)
        return
    bodies: list[HostBody] = []
    saved = h.out
    for lowered in (first, lambda renamed: segred_at_once(h, renamed, exp)):
        h.out, own = [], tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
        lowered(replace(stm, pat=own))
        bodies.append(HostBody(tuple(h.out), tuple(Var(p.name) for p in own)))
    h.out = saved
    h.emit(stm.pat, HostIf(enough, *bodies), stm.loc)


def product_first(h: HostBuilder, exp: core.SegRed) -> tuple[list[tuple[Name, Type]], core.SegMap, core.SegRed] | None:
    """A reduction that also gives what it maps has memory of that size, so that a product may have it too.

    segred (i, j) ⊙ { y = redomap ..; f(y) }    ⟶    segmap (i, j) { redomap .. }; segred (i, j) ⊙ { f(t[i, j]) }
    """
    stms = exp.body.stms
    places = [k for k, s in enumerate(stms) if isinstance(s.exp, (core.Screma, core.If, core.Loop))]
    if len(places) != 1 or len(exp.space.dims) < 2 or not isinstance(stms[places[0]].exp, core.Screma):
        return None
    (place,) = places
    product = stms[place]
    body = Body(stms[: place + 1], tuple(Var(p.name) for p in product.pat))
    if not can_pack(exp.space, body):
        return None
    outs = [(h.names.fresh("product"), p.type.array_of(*exp.space.widths)) for p in product.pat]
    at = tuple(Fix(Var(name)) for name in exp.space.indices)
    loads = (
        Stm((p,), core.Index(t, at, True), (), (), product.loc) for p, (t, _) in zip(product.pat, outs, strict=True)
    )
    rest = Body((*stms[:place], *loads, *stms[place + 1 :]), exp.body.result)
    segmap = core.SegMap(exp.level, exp.space, body, tuple(p.type for p in product.pat))
    return outs, segmap, replace(exp, body=rest)


def segred_at_once(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    """By lanes over the elements of a segment; where a few are long and read columns, a block does all of them."""
    mapped = [(p.name, p.type) for p in stm.pat[exp.num_reds :]]
    for name, type_ in mapped:
        h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)

    def fill(cut: Chunks) -> None:
        narrow = None if mapped else is_narrow(h, exp)
        if narrow is None:
            launch_wide(h, stm, exp, cut, mapped)
            return
        either(
            h, narrow, lambda: launch_narrow(h, stm, exp, cut), lambda: launch_wide(h, stm, exp, cut, mapped), stm.loc
        )

    in_chunks(h, stm, exp, fill)


def few_long(h: HostBuilder, stm: Stm, exp: core.SegRed) -> None:
    """Known to be narrow."""
    in_chunks(h, stm, exp, lambda cut: launch_narrow(h, stm, exp, cut))


def in_chunks(h: HostBuilder, stm: Stm, exp: core.SegRed, fill: Callable[[Chunks], None]) -> None:
    """Partial results per chunk; more than one chunk is combined by a second launch."""
    outer, width, nr = exp.space.widths[:-1], exp.space.widths[-1], exp.num_reds
    types = [Type(p.type.prim, p.type.shape[len(outer) :]) for p in stm.pat[:nr]]
    cut = all(is_simple(r.op) for r in exp.reds)
    base = stm.pat[0].name.base if stm.pat else "red"
    chunks, length = chunks_of(h, outer, width) if cut else (i64(1), None)
    partial = [h.scratch("partial", t.array_of(*outer, chunks)) for t in types]
    fill(Chunks(outer, chunks, length, partial, types, base))
    combine(h, stm.pat[:nr], exp.reds, partial, outer, chunks, base, stm.loc)


def launch_wide(h: HostBuilder, stm: Stm, exp: core.SegRed, cut: Chunks, mapped: list[tuple[Name, Type]]) -> None:
    depth = nest_depth(exp.space, exp.body)
    made = h.best_layout(depth, lambda: segred_kernel(h, exp, cut.partial, mapped, cut.types, cut.length, cut.base))
    blocks = h.op(Op.MUL, h.product(cut.outer), cut.count)
    h.launch(made, blocks, h.product(exp.space.widths), made.cost / EXTENT, stm.loc)


def launch_narrow(h: HostBuilder, stm: Stm, exp: core.SegRed, cut: Chunks) -> None:
    """A block for a chunk of all rows and columns; a single column lies as a row does."""
    length, loops = cut.length, looped(exp.space)
    assert length is not None

    def panels() -> None:
        made = narrow_kernel(h, exp, cut.partial, cut.types, length, cut.base)
        points = h.product(cut.outer[: -len(loops)])
        h.launch(made, h.op(Op.MUL, points, cut.count), h.product(exp.space.widths), WORK, stm.loc)

    def rows(width: Atom) -> None:
        with h.supposing(width, i64(1)):
            launch_wide(h, stm, exp, cut, [])

    widths = {column.width for column in columns(h.builder(), exp)}
    if len(widths) != 1:
        panels()
        return
    (width,) = widths
    either(h, h.op(Op.EQ, width, i64(1), base="row"), lambda: rows(width), panels, stm.loc)


def chunks_of(h: HostBuilder, outer: tuple[Atom, ...], width: Atom) -> tuple[Atom, Atom]:
    """How many chunks a segment is cut into, one if there are many segments or it is short, and how long one is."""
    many = h.op(Op.GE, h.product(outer), i64(MANY_SEGMENTS), base="many")
    if many == TRUE or (isinstance(width, Const) and int(width.value) <= SHORT):
        return i64(1), width
    length = h.size(Kind.CHUNK)
    last = h.op(Op.QUOT, h.op(Op.SUB, width, i64(1)), length, base="last")
    cut = h.op(Op.MAX, h.op(Op.ADD, last, i64(1)), i64(1))
    return h.choice(many, i64(1), cut, "chunks"), length


def segred_kernel(
    h: HostBuilder,
    exp: core.SegRed,
    partial: list[Name],
    mapped: list[tuple[Name, Type]],
    row_types: list[Type],
    length: Atom | None,
    base: str,
) -> Made:
    """`length`: of a chunk; None where a segment is not cut."""
    b = h.builder()
    cut = None if length is None else (h.types[partial[0]].shape[-1], length)
    indices, chunk, lo, count = bind_segment(b, exp.space, cut, b.block)
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
    b.say("a block for the chunks of each segment")
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
