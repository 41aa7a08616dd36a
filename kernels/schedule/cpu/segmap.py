"""SegMap and SegScatter as kernels, and statements without segops as kernels of one block.

segmap (i < n, j < m)     block = (i, chunk of j): threads j; or block = (i, j): the body spreads its SOACs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ....ir import core
from ....ir.core import Body, Fix, Param, SegSpace, Stm
from ....ir.errors import Loc
from ....ir.machine import CUDA
from ....ir.ops import Op
from ....ir.traverse import bodies
from ....ir.types import Atom, Const, Name, Type, Var, i64
from ...analysis.cost import EXTENT, cost_at
from ...host_ir.nodes import HostBody, HostIf
from ..choose import dearer, is_positive
from ..host_builder import HostBuilder, Made, either
from ..inner_segops import as_soacs
from ..kernel_builder import ArrayRef, Builder, Mode, NotLowerable, Operand
from ..queries import has_soac, loop_depth, nest_depth, stays
from ..soacs import split_indices, write_at, write_in_range
from ..space import bind_space, lanes_over_chunk, output, segment_results
from ..statements import gen_body
from .packed_panels import LEAST_COLUMNS, LEAST_ROWS, can_pack, launch_panels
from .segred import few_long
from .split_k import as_segred, is_narrow
from .unroll_and_jam import ROWS, can_jam, jam_over_chunk

BLOCK_WORK = 20_000.0  # cost units worth one block
JAM_GAIN = 0.8  # jamming must bring an element's cost below this share


def segmap(h: HostBuilder, stm: Stm, exp: core.SegMap) -> None:
    """Lanes over the innermost dimension, or over the SOACs of the body, whichever is cheaper, which may depend on how
    long the rows are; at a higher level the segops of the body say where. A few long reductions are one."""
    reduction = as_segred(h.names, exp) if exp.level is core.Level.THREAD else None
    narrow = None if reduction is None else is_narrow(h, reduction)
    if reduction is None or narrow is None:
        segmap_forms(h, stm, exp)
        return
    if isinstance(narrow, Const):
        few_long(h, stm, reduction) if narrow.value else segmap_forms(h, stm, exp)
        return
    bodies: list[HostBody] = []
    saved = h.out
    for lowered in (lambda s: few_long(h, s, reduction), lambda s: segmap_forms(h, s, exp)):
        h.out, own = [], tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
        lowered(replace(stm, pat=own))
        bodies.append(HostBody(tuple(h.out), tuple(Var(p.name) for p in own)))
    h.out = saved
    h.emit(stm.pat, HostIf(narrow, *bodies), stm.loc)


def segmap_forms(h: HostBuilder, stm: Stm, exp: core.SegMap) -> None:
    """Lanes over the innermost dimension, or over the SOACs of the body."""
    outs = [(p.name, p.type) for p in stm.pat]
    for name, type_ in outs:
        h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)
    base = stm.pat[0].name.base if stm.pat else "map"
    if exp.level is not core.Level.THREAD:
        launch_collectives(h, exp, outs, base, stm.loc)
        return
    lanes = lanes_kernel(h, exp, outs, base) if exp.space.dims else None
    spread = None
    if has_soac(exp.body) or lanes is None:
        depth = nest_depth(exp.space, exp.body)
        spread = h.best_layout(depth, lambda: block_kernel(h, exp.space, exp.body, outs, base, core.Level.BLOCK))
    if lanes is None:
        launch_form(h, exp, spread, stm.loc)
        return

    def unjammed() -> None:
        launch_by_width(h, exp, lanes, spread, stm.loc)

    scalars = not any(t.shape for t in exp.ret)
    jammed = jammed_kernel(h, exp, outs, base) if scalars and can_jam(exp.space, exp.body) else None
    if jammed is None:
        unjammed()
    elif jammed.each > JAM_GAIN * lanes.each or (spread and spread_pays(jammed, spread, LONG)):
        launch_packed(h, exp, outs, base, jammed.each, unjammed, stm.loc)
    else:
        launch_jammed(h, exp, outs, base, jammed.each, unjammed, stm.loc)


def launch_by_width(h: HostBuilder, exp: core.SegMap, lanes: LanesKernel, spread: Made | None, loc: Loc) -> None:
    """Lanes over the points or over the rows' elements, by how long rows are; by all sizes where several matter."""
    if spread is None:
        launch_lanes(h, lanes, exp.space, loc)
        return
    least, width = least_to_spread(lanes, spread), row_width(h, exp.body)
    if width is None:
        launch_form(h, exp, lanes if lanes.each <= spread.cost else spread, loc)
        return
    if least is None or least <= SHORT:
        launch_form(h, exp, lanes if least is None else spread, loc)
        return
    more = dearer(h, lanes.made, lanes.rows, spread, width.name)
    long = long_rows(h, exp.space, width, least, lanes, spread) if more is None else is_positive(h, more)
    either(h, long, lambda: launch_form(h, exp, spread, loc), lambda: launch_form(h, exp, lanes, loc), loc)


SHORT, LONG = 4, 1024
FEW = 32
"""With fewer points the lanes of half of the groups or more are not all on."""


def long_rows(h: HostBuilder, space: SegSpace, width: Atom, least: int, lanes: LanesKernel, spread: Made) -> Atom:
    """Are rows long enough for lanes over their elements? Groups that are not full gather what others read in tiles."""
    least_of_few = least_to_spread(replace(lanes, made=replace(lanes.made, tiled=frozenset())), spread)
    if least_of_few == least or least_of_few is None:
        return h.op(Op.GE, width, i64(least), base="enough")
    few = h.op(Op.LT, space.widths[-1], i64(FEW), base="few")
    return h.op(Op.GE, width, h.choice(few, i64(least_of_few), i64(least), "length"), base="enough")


def least_to_spread(lanes: LanesKernel, spread: Made) -> int | None:
    """The least length of rows, a power of two up to `LONG`, from which on lanes over the rows' elements are cheaper
    than lanes over the rows; None where they never are."""
    least: int | None = None
    length = LONG
    while length >= SHORT and spread_pays(lanes, spread, float(length)):
        least, length = length, length // 2
    return least


def spread_pays(lanes: LanesKernel, spread: Made, length: float) -> bool:
    each = cost_at(lanes.made.kernel.body, length, EXTENT, lanes.made.tiled) / EXTENT / lanes.rows
    return cost_at(spread.kernel.body, length, length, spread.tiled) <= each


def row_width(h: HostBuilder, body: Body) -> Var | None:
    """The width of the first SOAC of the body that is known before the kernel runs but not now."""
    return next((w for w in widths_in(body) if isinstance(w, Var) and w.name in h.types), None)


def widths_in(body: Body) -> Iterator[Atom]:
    """The widths of the SOACs of a body, in its loops and branches too."""
    for stm in body.stms:
        match stm.exp:
            case core.Screma(width) | core.Scatter(width) | core.Hist(width):
                yield width
            case core.Loop() | core.If():
                for inner in bodies(stm.exp):
                    yield from widths_in(inner)
            case _:
                pass


def launch_form(h: HostBuilder, exp: core.SegMap, form: LanesKernel | Made | None, loc: Loc) -> None:
    """Lanes over the points, or a block for each point."""
    match form:
        case LanesKernel():
            launch_lanes(h, form, exp.space, loc)
        case Made():
            points = h.product(exp.space.widths)
            h.launch(form, points, points, form.cost, loc)
        case None:
            raise NotLowerable("a segmap without a form")


@dataclass(frozen=True, slots=True)
class LanesKernel:
    """A kernel with lanes over the innermost dimension: its chunk of that dimension, cost of an element, and how
    many indices of the next outer dimension a block handles at once."""

    made: Made
    chunk: int
    each: float
    rows: int


def lanes_kernel(h: HostBuilder, exp: core.SegMap, outs: list[tuple[Name, Type]], base: str) -> LanesKernel:
    """`threads j` over a chunk of the innermost dimension."""

    def build(chunk: int) -> Made:
        b = h.builder()
        lanes_over_chunk(b, exp.space, chunk, lambda at: segment_results(b, exp.body, outs, at, Mode.THREAD))
        return h.finish(b, base)

    return sized(h, nest_depth(exp.space, exp.body), build, 1)


def jammed_kernel(h: HostBuilder, exp: core.SegMap, outs: list[tuple[Name, Type]], base: str) -> LanesKernel:
    """The same with `ROWS` indices of the next outer dimension in one loop
    (`kernels/schedule/cpu/unroll_and_jam.py`)."""

    def build(chunk: int) -> Made:
        b = h.builder()
        jam_over_chunk(b, exp.space, chunk, exp.body, outs)
        return h.finish(b, base)

    return sized(h, nest_depth(exp.space, exp.body), build, ROWS)


def sized(h: HostBuilder, depth: int, build: Callable[[int], Made], rows: int) -> LanesKernel:
    """Choose layout and chunk length by the cost of an element."""
    each = h.best_layout(depth, lambda: build(1 << 12)).cost / EXTENT / rows
    chunk = chunk_length(each * rows)
    return LanesKernel(h.best_layout(depth, lambda: build(chunk)), chunk, each, rows)


def chunk_length(each: float) -> int:
    """Elements of one block of lanes, by the cost of one element: a multiple of 64."""
    return 64 * max(1, min(1 << 10, round(BLOCK_WORK / max(each, 1e-3) / 64)))


def launch_jammed(
    h: HostBuilder,
    exp: core.SegMap,
    outs: list[tuple[Name, Type]],
    base: str,
    each: float,
    few: Callable[[], None],
    loc: Loc,
) -> None:
    """Where there are rows enough, at run time, jammed; else `few` launches."""

    def some() -> None:
        where_enough(h, exp.space, ROWS, several, few, loc)

    def several() -> None:
        launch_lanes(h, jammed_kernel(h, exp, outs, base), exp.space, loc)

    def many() -> None:
        launch_panels(h, exp, outs, base, each, loc)

    if can_pack(exp.space, exp.body):
        where_enough(h, exp.space, LEAST_ROWS, many, some, loc)
    else:
        some()


def launch_packed(
    h: HostBuilder,
    exp: core.SegMap,
    outs: list[tuple[Name, Type]],
    base: str,
    each: float,
    few: Callable[[], None],
    loc: Loc,
) -> None:
    """What is not worth jamming as it lies (rows by rows, say) still is in panels, where there are rows and columns
    enough, at run time; else `few` launches."""
    if not can_pack(exp.space, exp.body):
        few()
        return

    *_, rows, columns = exp.space.widths
    many = h.op(Op.GE, rows, i64(LEAST_ROWS), base="many")
    wide = h.choice(many, columns, i64(0), "columns")
    where_at_least(h, wide, LEAST_COLUMNS, lambda: launch_panels(h, exp, outs, base, each, loc), few, loc)


def where_enough(
    h: HostBuilder, space: SegSpace, rows: int, then: Callable[[], None], orelse: Callable[[], None], loc: Loc
) -> None:
    """`if n >= rows then .. else ..`, n the width of the next outer dimension."""
    where_at_least(h, space.widths[-2], rows, then, orelse, loc)


def where_at_least(
    h: HostBuilder, size: Atom, least: int, then: Callable[[], None], orelse: Callable[[], None], loc: Loc
) -> None:
    """`if size >= least then .. else ..`"""
    either(h, h.op(Op.GE, size, i64(least), base="enough"), then, orelse, loc)


def launch_lanes(h: HostBuilder, lanes: LanesKernel, space: SegSpace, loc: Loc) -> None:
    widths = space.widths
    if lanes.rows > 1:
        widths = (*widths[:-2], h.ceil_div(widths[-2], lanes.rows), widths[-1])
    blocks = h.op(Op.MUL, h.product(widths[:-1]), h.ceil_div(widths[-1], lanes.chunk))
    h.launch(lanes.made, blocks, h.product(space.widths), lanes.each, loc)


def launch_collectives(h: HostBuilder, exp: core.SegMap, outs: list[tuple[Name, Type]], base: str, loc: Loc) -> None:
    """A block for every point of the space, whose threads are in the segops of the body."""
    body = as_soacs(h.names, exp.body, stays if h.machine.name == CUDA.name else lambda stm: False)
    made = h.best_layout(nest_depth(exp.space, body), lambda: block_kernel(h, exp.space, body, outs, base, exp.level))
    points = h.product(exp.space.widths)
    h.launch(made, points, points, made.cost, loc)


def block_kernel(
    h: HostBuilder, space: SegSpace, body: Body, outs: list[tuple[Name, Type]], base: str, collective: core.Level
) -> Made:
    """One block, or one warp, for every point of the space."""
    b = h.builder()
    b.collective = collective
    indices = bind_space(b, space, b.block)
    segment_results(b, body, outs, indices, Mode.BLOCK)
    return h.finish(b, base)


def sequential(h: HostBuilder, stm: Stm) -> None:
    """A statement without segops as a kernel of one block; scalar results are read back."""
    inner = tuple(Param(h.names.again(p.name), p.type) for p in stm.pat)
    own = {p.name for p in stm.pat}
    outs: list[tuple[Name, Type]] = []
    for param in stm.pat:
        if any(isinstance(d, Var) and d.name in own for d in param.type.shape):
            raise NotLowerable("a result whose size is found inside the kernel")
        type_ = param.type if param.type.shape else Type(param.type.prim, (i64(1),))
        name = param.name if param.type.shape else h.names.fresh(param.name.base)
        h.emit((Param(name, type_),), core.Scratch(type_), stm.loc)
        outs.append((name, type_))
    renamed = Stm(inner, stm.exp, stm.certs, stm.attrs, stm.loc)
    body = Body((renamed,), tuple(Var(p.name) for p in inner))
    base = stm.pat[0].name.base if stm.pat else "seq"
    made = h.best_layout(loop_depth(body), lambda: block_kernel(h, SegSpace(()), body, outs, base, core.Level.BLOCK))
    h.launch(made, i64(1), i64(1), made.cost, stm.loc)
    for param, (name, _) in zip(stm.pat, outs, strict=True):
        if not param.type.shape:
            h.emit((param,), core.Index(name, (Fix(i64(0)),), True), stm.loc)


def segscatter(h: HostBuilder, stm: Stm, exp: core.SegScatter) -> None:
    """In place: the destinations are consumed."""

    def build(chunk: int) -> Made:
        b = h.builder()
        dests = destinations(h, b, exp.dests)

        def scatter(_indices: tuple[Operand, ...]) -> None:
            at, values = split_indices(gen_body(b, exp.body, Mode.THREAD), exp.rank)
            write = write_at if exp.safe else write_in_range
            write(b, dests, at, values, Mode.THREAD)

        lanes_over_chunk(b, exp.space, chunk, scatter)
        return h.finish(b, stm.pat[0].name.base)

    launch_lanes(h, sized(h, nest_depth(exp.space, exp.body), build, 1), exp.space, stm.loc)
    alias(h, stm, exp.dests)


def destinations(h: HostBuilder, b: Builder, dests: tuple[Name, ...]) -> list[ArrayRef]:
    return [output(b, name) for name in dests]


def alias(h: HostBuilder, stm: Stm, dests: tuple[Name, ...]) -> None:
    for param, dest in zip(stm.pat, dests, strict=True):
        if dest in h.views:
            h.views[param.name] = h.views[dest]
        h.emit((param,), core.Copied(Var(dest)), stm.loc)
