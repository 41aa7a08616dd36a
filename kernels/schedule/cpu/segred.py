"""SegRed as kernels.

segred (i < n, j < m)     block = (i, chunk of j): partial results; a second launch combines more than one chunk
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from ....ir import core
from ....ir.core import Fix, Param, SegSpace
from ....ir.errors import Loc
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Const, Name, Prim, Type, Var, i64
from ...analysis.settled import Settled, keeping
from ...host_ir.launch_parameters import Kind
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KConvert, KLet, KOp, KVar, Operand
from ...kernel_ir.traverse import Renamed
from ..host_builder import TRUE, HostBuilder, Made, either
from ..kernel_builder import ZERO, Builder, Mode, Value, scalar
from ..soacs import is_simple, k_lambda, neutral_of, put
from ..space import bind_segment, bind_space, output, reduced_rows, row_of, segment_screma
from ..table import Schedule, Segop, Table, bound, in_memory, launch, run
from .split_k import columns, is_narrow, looped, narrow_kernel, reads_columns
from .streamed_rows import as_one_row, can_stream, chunk_of_columns, chunks_of_rows, is_tall, matrices, streamed_kernel
from .unroll_and_jam import is_plain, is_reduction

MANY_SEGMENTS = 256  # from here on segments are parallelism enough
WORK = 1.0  # of an element of a narrow matrix
LANE_ROW = 24
"""Elements of a row that each lane goes along; of longer ones lanes take elements."""
I32_ZERO = Const(Prim.I32, 0)
SHORT = 1 << 14  # segments known to be no longer are not cut


@dataclass(frozen=True, slots=True)
class Chunked(Segop[core.SegRed]):
    """A reduction by chunks of the segments of a space: how many, of which length (None: a segment is not cut), where
    their partial results go, of which types. `outs`: what is mapped. `decided`: where the blocks of a single segment
    say that an element decides the result."""

    count: Atom
    length: Atom | None
    partial: list[Name]
    types: list[Type]
    decided: Name | None = None


# ---- chunks --------------------------------------------------------------------------------------------------------


Cut = tuple[Atom, Atom | None]
"""How many chunks a segment has, and how long they are; None where a segment is not cut."""


def cut_of(s: Segop[core.SegRed]) -> Cut:
    """How many chunks a segment has and how long they are; one that is not cut where an operator is no scalar one."""
    h, exp = s.h, s.exp
    if not all(is_simple(r.op) for r in exp.reds):
        return i64(1), None
    count, length = chunks_of(h, s.outer, exp.space.widths[-1])
    if exp.num_reds < len(s.stm.pat) or not can_stream(h, exp):
        return count, length
    tall, (pieces, piece) = is_tall(s, exp), chunks_of_rows(h, exp, h.size(Kind.CHUNK))
    return h.choice(tall, pieces, count, "chunks"), h.choice(tall, piece, length, "length")


def in_chunks(s: Segop[core.SegRed], table: Table, cut: Callable[[Segop[core.SegRed]], Cut] = cut_of) -> None:
    """Partial results per chunk; more than one chunk is combined by a second launch."""
    reduced, mapped = s.stm.pat[: s.exp.num_reds], in_memory(bound(s, s.stm.pat[s.exp.num_reds :]))
    types = list(s.exp.ret[: s.exp.num_reds])
    chunks, length = cut(s)
    partial = [s.h.scratch("partial", t.array_of(*s.outer, chunks)) for t in types]
    chunked = Chunked(s.h, mapped.stm, s.exp, s.base, mapped.outs, chunks, length, partial, types)
    run(chunked, table)
    combine(chunked, reduced)


def in_one_row(s: Segop[core.SegRed]) -> Segop[core.SegRed]:
    """With dimensions of results as one where rows of what it reads may pass by."""
    streamed = s.exp.num_reds == len(s.stm.pat) and can_stream(s.h, s.exp)
    return replace(s, exp=as_one_row(s.h, s.exp)) if streamed else s


def launch_streamed(s: Chunked, _: object) -> None:
    """A block for a chunk of columns of a chunk of rows."""
    h, (*_, columns_, _rows) = s.h, s.exp.space.widths
    assert s.length is not None
    most = chunk_of_columns(h, s.exp)
    made = streamed_kernel(h, s.exp, s.partial, s.length, most, s.base)
    blocks = h.product((*matrices(h, s.exp), h.ceil_div(columns_, most), s.count))
    h.launch(made, blocks, h.product(s.exp.space.widths), WORK, s.stm.loc)


def can_stream_chunks(s: Chunked) -> core.SegRed | str:
    """The reduction, if rows of what it reads may pass by; else why not."""
    return s.exp if not s.outs and can_stream(s.h, s.exp) else "not a vector of sums of columns"


def launch_wide(s: Chunked, _: bool) -> None:
    """By lanes over the elements of a segment."""
    launch_chunks(s, False)


def one_width(s: Chunked) -> Atom | str:
    """The width of the rows whose columns are read, if it is the same for all; else why not."""
    widths = {column.width for column in columns(s.h.builder(), s.exp)}
    return widths.pop() if len(widths) == 1 else "columns of several widths"


def launch_row(s: Chunked, width: Atom) -> None:
    """A single column is stored as a row is."""
    with s.h.supposing(width, i64(1)):
        launch_wide(s, True)


def launch_narrow(s: Chunked, _: bool) -> None:
    """A block for a chunk of all rows and columns."""
    h = s.h
    assert s.length is not None
    made = narrow_kernel(h, s.exp, s.partial, s.types, s.length, s.base)
    points = h.product(s.outer[: -len(looped(s.exp.space))])
    h.launch(made, h.op(Op.MUL, points, s.count), h.product(s.exp.space.widths), WORK, s.stm.loc)


def can_narrow(s: Chunked) -> core.SegRed | str:
    """The reduction, if it reads columns and keeps none of its elements; else why not."""
    if s.outs:
        return "keeps some of its elements"
    return s.exp if reads_columns(s.h, s.exp) else "reads no columns"


def rows_of(s: Segop[core.SegRed]) -> tuple[Atom, ...] | str:
    """The lengths of the rows that each point reduces, by plain operators and at no other size; else why not."""
    widths = tuple(stm.exp.width for stm in s.exp.body.stms if is_reduction(stm) and isinstance(stm.exp, core.Screma))
    if not all(is_plain(stm) or is_reduction(stm) for stm in s.exp.body.stms) or not widths:
        return "its points are not reductions and what follows them"
    if not all(is_simple(r.op) for r in s.exp.reds):
        return "an operator on arrays, or that may fail"
    inside = {*s.exp.space.indices, *(p.name for stm in s.exp.body.stms for p in stm.pat)}
    return "rows of varying length" if inside & {w.name for w in widths if isinstance(w, Var)} else widths


def are_short(s: Segop[core.SegRed], widths: tuple[Atom, ...]) -> Atom:
    """bool: are the rows shorter than what a sum across lanes is worth?"""
    longest = reduce(lambda x, y: s.h.op(Op.MAX, x, y), widths)
    return s.h.op(Op.LT, longest, i64(LANE_ROW), base="short")


def launch_short(s: Chunked, _: tuple[Atom, ...]) -> None:
    """By lanes over the elements of a segment, each with a loop along its row."""
    launch_chunks(s, True)


def launch_chunks(s: Chunked, lanes: bool) -> None:
    """A block for each chunk of each segment."""
    if not s.outer and s.count != i64(1) and ending(s.h, s.exp) is not None:
        s = replace(s, decided=s.h.zeros("decided", Prim.I32, i64(1)))
    launch(s, s.h.op(Op.MUL, s.h.product(s.outer), s.count), lambda: segred_kernel(s, lanes))


SPLIT_K: Table = (
    Schedule("one column", launch_row, one_width, lambda s, width: s.h.op(Op.EQ, width, i64(1), base="row")),
    Schedule("columns", launch_narrow),
)
ELEMENTS: Table = (Schedule("elements", launch_wide),)
STREAMED: Table = (Schedule("rows as they lie", launch_streamed),)
CHUNKS: Table = (
    Schedule("streamed rows", launch_streamed, can_stream_chunks, is_tall),
    Schedule("split-K", lambda s, _: run(s, SPLIT_K), can_narrow, is_narrow, SPLIT_K),
    Schedule("short rows", launch_short, rows_of, are_short),
    *ELEMENTS,
)
IN_WIDE_CHUNKS = Schedule("chunks", lambda s, _: in_chunks(s, ELEMENTS), rows=ELEMENTS)
IN_CHUNKS = Schedule("chunks", lambda s, _: in_chunks(in_one_row(s), CHUNKS), rows=CHUNKS)


def chunks_of(h: HostBuilder, outer: tuple[Atom, ...], width: Atom) -> tuple[Atom, Atom]:
    """How many chunks a segment is cut into, one if there are many segments or it is short, and how long one is."""
    many = h.op(Op.GE, h.product(outer), i64(MANY_SEGMENTS), base="many")
    if many == TRUE or (isinstance(width, Const) and int(width.value) <= SHORT):
        return i64(1), width
    length = h.size(Kind.CHUNK)
    last = h.op(Op.QUOT, h.op(Op.SUB, width, i64(1)), length, base="last")
    cut = h.op(Op.MAX, h.op(Op.ADD, last, i64(1)), i64(1))
    return h.choice(many, i64(1), cut, "chunks"), length


def segred_kernel(s: Chunked, lanes: bool) -> Made:
    """`partial[i][c] = reduce op ne (j in chunk c)`, a block for each chunk; what is mapped beside it is stored."""
    h, b = s.h, s.h.builder()
    cut = None if s.length is None else (s.count, s.length)
    indices, chunk, lo, count = bind_segment(b, s.exp.space, cut, b.block)
    for name, _ in s.outs:
        output(b, name)

    def reduced() -> tuple[Value, ...]:
        return segment_screma(b, h.names, s.exp, lo, count, s.outs, indices, s.types, lanes)

    values = reduced() if s.decided is None else unless_decided(b, s, (lo, count), reduced)
    for name, value in zip(s.partial, values, strict=True):
        put(b, row_of(b, output(b, name), indices), chunk, value, Mode.BLOCK)
    return h.finish(b, s.base)


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """A reduction by `min` of the index or else `limit`: a place that is no more than that is the first."""

    limit: Atom


@dataclass(frozen=True, slots=True)
class Kept:
    """A reduction by an operator that keeps its left operands where they have settled."""

    left: tuple[KVar, ...]
    settled: Settled


def ending(h: HostBuilder, exp: core.SegRed) -> FirstPlace | Kept | None:
    """Whether some elements decide a reduction, beside which nothing is made."""
    if len(exp.ret) != exp.num_reds or not all(is_simple(r.op) for r in exp.reds):
        return None
    op, made = k_lambda(h.builder(), exp.reds), {p.name: s.exp for s in exp.body.stms for p in s.pat}
    if (settled := keeping(op)) is not None:
        return Kept(op.left, settled)
    index, (value, *_) = Var(exp.space.dims[-1][0]), exp.body.result
    match op.body, made.get(value.name) if isinstance(value, Var) else None:
        case ((KLet(_, KOp(Op.MIN, _, args)),), core.PrimOp(Op.SELECT, _, (_, x, y))) if index in (x, y) and set(
            args
        ) == {*op.left, *op.right}:
            limit = y if x == index else x
            known = isinstance(limit, Const) or (limit != index and limit.name not in made)
            return FirstPlace(limit) if known else None
        case _:
            return None


def unless_decided(
    b: Builder, s: Chunked, chunk: tuple[Operand, Operand], reduced: Callable[[], tuple[Value, ...]]
) -> tuple[Value, ...]:
    """What a block reduces; the neutral elements where one before it has said that its own elements decide. `chunk`:
    where it begins and how long it is. A block says its number + 1; it does no harm if a later one does after it."""
    assert s.decided is not None
    decided = output(b, s.decided).mem
    accs, seen = [b.declare("acc", ne) for ne in neutral_of(b, s.exp.reds)], b.fresh("seen", Prim.I32)
    number = b.let("number", Prim.I32, KConvert(Prim.I64, Prim.I32, b.block))
    b.emit(kir.WaitFor(seen, decided, ZERO, I32_ZERO))
    none, before = b.op(Op.EQ, Prim.I32, seen, I32_ZERO), b.op(Op.LT, Prim.I32, number, seen)
    with b.when(b.op(Op.OR, Prim.BOOL, none, before)):
        values = tuple(map(scalar, reduced()))
        b.assign(accs, values)
        with b.when(decides(b, s, values, b.add(*chunk))):
            b.emit(kir.Publish(decided, ZERO, b.op(Op.ADD, Prim.I32, number, Const(Prim.I32, 1))))
    return tuple(map(b.copy, accs))


def decides(b: Builder, s: Chunked, values: tuple[Operand, ...], end: Operand) -> Operand:
    """bool: is what a chunk up to `end` gives the result, whatever follows?"""
    match ending(s.h, s.exp):
        case Kept(left, settled):
            made = Renamed(".decides", dict(zip(left, values, strict=True)))
            for stm in made.rewritten(settled.test):
                b.emit(stm)
            flag = made.read(settled.flag)
            return flag if settled.value else b.op(Op.NOT, Prim.BOOL, flag)
        case FirstPlace(limit):
            least = b.op(Op.LT, Prim.I64, values[0], end)
            return b.op(Op.AND, Prim.BOOL, least, b.op(Op.LE, Prim.I64, values[0], b.operand(limit)))
        case _:
            return Const(Prim.BOOL, False)


def combine(s: Chunked, pat: tuple[Param, ...]) -> None:
    """`if one chunk then the partial results else combine them`."""
    h, loc = s.h, s.stm.loc

    def several(pat: tuple[Param, ...]) -> None:
        totals = [h.scratch("total", Type(h.types[n].prim, (*s.outer, i64(1)))) for n in s.partial]
        made, segments = combine_kernel(s, totals), h.product(s.outer)
        h.launch(made, segments, segments, made.cost, loc)
        unwrap(h, pat, totals, loc)

    one = h.op(Op.EQ, s.count, i64(1), base="one")
    either(h, pat, one, lambda pat: unwrap(h, pat, s.partial, loc), several, loc)


def unwrap(h: HostBuilder, pat: tuple[Param, ...], arrays: list[Name], loc: Loc) -> None:
    """Bind arrays of shape [outer][1]t as [outer]t, a scalar where that has no dimension."""
    for param, array in zip(pat, arrays, strict=True):
        if param.type.shape:
            h.emit((param,), core.Reshape(param.type.shape, array), loc)
        else:
            h.emit((param,), core.Index(array, (Fix(i64(0)),), True), loc)


def combine_kernel(s: Chunked, totals: list[Name]) -> Made:
    """`total[i] = reduce op ne partial[i]`, a block for each segment."""
    h, b, partial = s.h, s.h.builder(), s.partial
    b.say("a block for the chunks of each segment")
    space = SegSpace(tuple((h.names.fresh("i"), w) for w in s.outer))
    indices = bind_space(b, space, b.block)
    rows = [b.element(b.array(p), indices) for p in partial]
    values = reduced_rows(b, h.names, s.exp.reds, rows, [Type(h.types[p].prim, ()) for p in partial], s.count)
    for name, value in zip(totals, values, strict=True):
        put(b, row_of(b, output(b, name), indices), ZERO, value, Mode.BLOCK)
    return h.finish(b, f"{s.base}_combine")
