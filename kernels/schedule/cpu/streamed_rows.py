"""Reductions of the columns of a large matrix, whose rows are read as they lie, for one row of results or a few.

    segred (i < n, j < m, k < p) op { f(x[i, k], b[k, j]) }                          n small; or no dimension i
    ⟶  block = (chunk of columns, chunk of k):
        for i { threads j { sums[i, j] = ne } }
        for each R indices k: threads j { y = b[k, j], R times                           R = 1 where several are read
                                          for i { acc = sums[i, j]; acc op= f(x[i, k], y), R times; sums[i, j] = acc } }
        for i { threads j { part[i, j, chunk] = sums[i, j] } }

A loop along a column for each lane would touch a line of every row for few columns. Here the sums stay in the nearer
caches and R rows pass by side by side: six of one matrix, one of each of several, whose lines would share few sets of
a cache. The parts of the chunks are combined as those of any reduction (`segred.py`).
The order of the sum stays within a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ....ir import core
from ....ir.core import Fix, Param, SegSpace, Stm
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_stm
from ....ir.types import Atom, Name, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value
from ..space import bind_segment, output
from ..table import Segop
from .factors import dependents
from .split_k import columns, may_be_cut
from .unroll_and_jam import ROWS, accumulate, is_plain, jam_stm

CHUNK, SUMS = 1 << 12, 1 << 14
"""Columns of a block at most, so that it reads long pieces of rows, and its sums, which the nearer caches hold."""
PAD = 32
"""Elements between the sums of two rows: rows a power of two apart would share few sets of a cache."""
LEAST_COLUMNS, LEAST_LENGTH = 8, 64
BLOCKS, LEAST_ROWS = 8, 1 << 9
"""Blocks among which the rows of a matrix are cut if its columns are few, and rows of a chunk then."""
MOST_ROWS = 32
"""Rows of results; panels of the matrix pay for themselves with more."""
LARGE = 1 << 19
"""Elements of a matrix that passes by from ROWS rows of results on: a smaller one stays in a cache."""


def can_stream(h: HostBuilder, exp: core.SegRed) -> bool:
    """A vector of reductions of columns by plain statements, or of those of several matrices, or rows of such, which
    read the same columns."""
    stms = exp.body.stms
    if not may_be_cut(exp) or not all(map(is_plain, stms)) or not (read := read_columns(h, exp)):
        return False
    *before, column, _ = exp.space.indices
    if not shares_columns(h, exp):
        return all(read <= dependents(stms, {point}) for point in before)
    loads = {stm.pat[0].name for stm in stms if isinstance(stm.exp, core.Index) and not stm.pat[0].type.shape}
    return loads & dependents(stms, {column}) == read


def as_one_row(h: HostBuilder, exp: core.SegRed) -> core.SegRed:
    """The reduction with the last dimensions of its results as one where they are neighbours in all that is read by
    them: `x[k, i, j]` as `y[k, t]`."""
    if len(exp.space.dims) < 3:
        return exp
    *outer, (i, n), (j, m), along = exp.space.dims
    pair, own, stms = (Fix(Var(i)), Fix(Var(j))), {i, j}, exp.body.stms
    places: dict[Name, int] = {}
    for stm in stms:
        if own.isdisjoint(free_in_stm(stm)):
            continue
        match stm.exp:
            case core.Index(array, dims, True) if pair[0] in dims and array in h.types and array not in h.views:
                at = dims.index(pair[0])
                rest = {d.index for d in dims[:at] + dims[at + 2 :] if isinstance(d, Fix)}
                if dims[at : at + 2] != pair or h.types[array].shape[at + 1] != m or rest & {Var(i), Var(j)}:
                    return exp
                places[stm.pat[0].name] = at
            case _:
                return exp
    if own & {a.name for a in exp.body.result if isinstance(a, Var)}:
        return exp
    point, points = h.names.fresh("point"), h.op(Op.MUL, n, m, base="points")

    def read(stm: Stm) -> Stm:
        if stm.pat[0].name not in places:
            return stm
        assert isinstance(stm.exp, core.Index)
        at, array = places[stm.pat[0].name], stm.exp.array
        prim, shape = h.types[array].prim, h.types[array].shape
        joined = (*shape[:at], h.op(Op.MUL, shape[at], m), *shape[at + 2 :])
        view = h.names.again(array)
        h.emit((Param(view, Type(prim, joined)),), core.Reshape(joined, array), stm.loc)
        return replace(stm, exp=core.Index(view, (*stm.exp.dims[:at], Fix(Var(point)), *stm.exp.dims[at + 2 :]), True))

    body = replace(exp.body, stms=tuple(map(read, stms)))
    return as_one_row(h, replace(exp, space=SegSpace((*outer, (point, points), along)), body=body))


def read_columns(h: HostBuilder, exp: core.SegRed) -> set[Name]:
    """What is read of columns."""
    return {found.stm.pat[0].name for found in columns(h.builder(), exp, 1)}


def shares_columns(h: HostBuilder, exp: core.SegRed) -> bool:
    """Whether the results are rows that read the same columns, not those of a matrix each."""
    if len(exp.space.dims) != 3:
        return False
    return read_columns(h, exp).isdisjoint(dependents(exp.body.stms, {exp.space.indices[0]}))


def is_tall(s: Segop[core.SegMap | core.SegRed], exp: core.SegRed) -> Atom:
    """bool: are there rows and columns enough? For many rows of results the matrix must be large, too."""
    h, (*results, columns_, rows) = s.h, exp.space.widths
    long = h.op(Op.GE, rows, i64(LEAST_LENGTH), base="long")
    wide = h.choice(long, columns_, i64(0), "columns")
    if not shares_columns(h, exp):
        return h.op(Op.GE, wide, i64(LEAST_COLUMNS), base="tall")
    few, some = (h.op(Op.LT, results[0], i64(most), base="few") for most in (ROWS, MOST_ROWS))
    least = h.choice(few, h.op(Op.MUL, rows, i64(LEAST_COLUMNS)), i64(LARGE), "least")
    return h.op(Op.LT, least, h.choice(some, h.op(Op.MUL, wide, rows), i64(0), "size"), base="large")


def chunk_of_columns(h: HostBuilder, exp: core.SegRed) -> Atom:
    """How many columns a block takes, a multiple of 64: fewer with more rows of results."""
    if not shares_columns(h, exp):
        return i64(CHUNK)
    each = h.op(Op.QUOT, i64(SUMS >> 6), h.op(Op.MAX, exp.space.widths[0], i64(1)))
    return h.op(Op.MIN, i64(CHUNK), h.op(Op.MUL, h.op(Op.MAX, each, i64(1)), i64(64)))


def matrices(h: HostBuilder, exp: core.SegRed) -> tuple[Atom, ...]:
    """How many matrices there are, along each dimension; none for one."""
    return () if shares_columns(h, exp) else exp.space.widths[:-2]


def chunks_of_rows(h: HostBuilder, exp: core.SegRed, most: Atom) -> tuple[Atom, Atom]:
    """How many chunks of rows there are, and how long they are at most: at most `most`, and short enough for BLOCKS
    blocks."""
    *_, columns_, rows = exp.space.widths
    across = h.op(Op.MUL, h.product(matrices(h, exp)), h.ceil_div(columns_, chunk_of_columns(h, exp)))
    across = h.op(Op.MAX, across, i64(1))
    each = h.op(Op.ADD, h.op(Op.QUOT, h.op(Op.MUL, rows, across), i64(BLOCKS)), i64(1), base="rows")
    length = h.op(Op.MIN, most, h.op(Op.MAX, each, i64(LEAST_ROWS)), base="length")
    return h.op(Op.MAX, h.ceil_div(rows, length), i64(1), base="chunks"), length


Given = Callable[[Builder, list[Operand]], list[dict[Name, Value]]]
"""What is there of some rows of the matrix, by name, before the sums take them in."""


def nothing(_b: Builder, rows: list[Operand]) -> list[dict[Name, Value]]:
    """What is known of each row beforehand: no values."""
    return [{} for _ in rows]


@dataclass(slots=True)
class Stream:
    """A kernel under construction: the columns of its block are `first` to `last` of matrix `at`, of which it holds
    `sums` for each of `results` rows of results, if there is a dimension of such."""

    b: Builder
    exp: core.SegRed
    at: tuple[Operand, ...]
    first: Operand
    last: Operand
    results: Operand | None
    sums: list[ArrayRef]
    given: Given

    @contextmanager
    def columns(self) -> Iterator[Operand]:
        """`threads j`"""
        b, (name, _) = self.b, self.exp.space.dims[-2]
        j = b.fresh("j", Prim.I64)
        b.env[name] = j
        with b.threads(j, self.first, self.last):
            yield j

    @contextmanager
    def rows(self) -> Iterator[tuple[Operand, ...]]:
        """`for i`; gives the indices that results have before the column: none, without a loop, if there is one row."""
        b = self.b
        if self.results is None:
            yield ()
            return
        i = b.fresh("i", Prim.I64)
        b.env[self.exp.space.indices[0]] = i
        with b.loop(i, self.results):
            yield (i,)

    def places(self, row: tuple[Operand, ...], j: Operand) -> list[tuple[kir.KArray, Operand]]:
        """Where the sums of a result are."""
        here = (*(row or (ZERO,)), self.b.sub(j, self.first))
        return [(mem.mem, self.b.address(mem, here)) for mem in self.sums]


def streamed_kernel(
    h: HostBuilder,
    exp: core.SegRed,
    partial: list[Name],
    length: Atom,
    chunk_of_columns: Atom,
    base: str,
    given: Given = nothing,
) -> Made:
    """A block for each chunk of columns of a chunk of rows of a matrix, whose `length` is that of a chunk of rows."""
    b, (*outer, (_, width), along) = h.builder(), exp.space.dims
    n, most = b.operand(width), b.operand(chunk_of_columns)
    results = b.operand(outer.pop()[1]) if shares_columns(h, exp) else None
    chunks = b.op(Op.QUOT, Prim.I64, b.add(n, b.sub(most, i64(1))), most, base="chunks")
    first = b.mul(b.op(Op.REM, Prim.I64, b.block, chunks, base="chunk"), most)
    last = b.minimum(n, b.add(first, most))
    cut = (h.types[partial[0]].shape[-1], length)
    segment = b.op(Op.QUOT, Prim.I64, b.block, chunks, base="segment")
    at, chunk, lo, count = bind_segment(b, SegSpace((*outer, along)), cut, segment)
    parts = [output(b, name) for name in partial]
    sums = [
        b.alloc(
            "sums", part.mem.prim, (i64(1) if results is None else results, b.add(most, i64(PAD))), Mode.BLOCK.space
        )
        for part in parts
    ]
    neutral = [b.operand(a) for r in exp.reds for a in r.neutral]
    stream = Stream(b, exp, at, first, last, results, sums, given)
    with stream.rows() as row, stream.columns() as j:
        for place, ne in zip(stream.places(row, j), neutral, strict=True):
            b.emit(kir.Store(*place, ne))
    by_side = 1 if results is None and len(read_columns(h, exp)) > 1 else ROWS
    groups = b.op(Op.QUOT, Prim.I64, count, i64(by_side), base="groups")
    g, k = b.fresh("g", Prim.I64), b.fresh("k", Prim.I64)
    with b.loop(g, groups):
        begin = b.add(lo, b.mul(g, i64(by_side)))
        _take_in(stream, [b.add(begin, i64(r)) for r in range(by_side)])
    if by_side > 1:
        done = b.mul(groups, i64(by_side))
        with b.nested() as stms:
            _take_in(stream, [b.add(b.add(lo, done), k)])
        b.emit(kir.For(k, b.sub(count, done), tuple(stms)))
    with stream.rows() as row, stream.columns() as j:
        for part, (mem, own) in zip(parts, stream.places(row, j), strict=True):
            total = b.let("sum", mem.prim, kir.KLoad(mem, own))
            b.emit(kir.Store(part.mem, b.address(part, (*at, *row, j, chunk)), total))
    return h.finish(b, f"{base}_streamed")


def _take_in(s: Stream, rows: list[Operand]) -> None:
    """The sums take in some rows of the matrix: what all rows of results share is computed before their loop."""
    b, exp, along = s.b, s.exp, s.exp.space.indices[-1]
    envs = [{along: row, **of_row} for row, of_row in zip(rows, s.given(b, rows), strict=True)]
    varying, of_row = set(envs[0]), dependents(exp.body.stms, set(exp.space.indices[: 0 if s.results is None else 1]))
    with s.columns() as j:
        _jam(s, [stm for stm in exp.body.stms if of_row.isdisjoint(p.name for p in stm.pat)], varying, envs)
        with s.rows() as row:
            places = s.places(row, j)
            accs = [b.fresh("acc", mem.prim) for mem, _ in places]
            for acc, (mem, own) in zip(accs, places, strict=True):
                b.emit(kir.Declare(acc, b.let("sum", mem.prim, kir.KLoad(mem, own))))
            _jam(s, [stm for stm in exp.body.stms if not of_row.isdisjoint(p.name for p in stm.pat)], varying, envs)
            for env in envs:
                b.env.update(env)
                accumulate(b, exp, accs, [b.atom(a) for a in exp.body.result])
            for acc, place in zip(accs, places, strict=True):
                b.emit(kir.Store(*place, b.copy(acc)))


def _jam(s: Stream, stms: list[Stm], varying: set[Name], envs: list[dict[Name, Value]]) -> None:
    for stm in stms:
        jam_stm(s.b, stm, varying, envs)
