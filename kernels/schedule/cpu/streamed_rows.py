"""Reductions of the columns of a tall matrix, whose rows are read as they lie.

    segred (j < m, k < p) op { f(x[k], b[k, j]) }
    ⟶  block = (chunk of columns, chunk of k):
        threads j { sums[j] = ne }
        for each R indices k: threads j { acc = sums[j]; acc op= f(..), R times; sums[j] = acc }
        threads j { part[j, chunk] = sums[j] }

A loop along a column for each lane would touch a line of every row for few columns. Here the sums stay in the nearest
cache and R rows pass by side by side. The parts of the chunks are combined as those of any reduction (`segred.py`). The
order of the sum stays within a chunk.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import SegSpace
from ....ir.ops import Op
from ....ir.types import Atom, Name, Prim, i64
from ...kernel_ir import nodes as kir
from ..host_builder import HostBuilder, Made
from ..kernel_builder import Builder, Mode, Operand
from ..space import bind_segment, output, scalar
from ..statements import gen_body
from ..table import Segop
from .split_k import reads_columns
from .unroll_and_jam import ROWS, accumulate, ceil_div, is_plain

CHUNK = 512
"""Columns of a block."""
LEAST_COLUMNS, LEAST_LENGTH = 8, 64


def can_stream(h: HostBuilder, exp: core.SegRed) -> bool:
    """A vector of reductions of columns, by plain statements."""
    return len(exp.space.dims) == 2 and all(map(is_plain, exp.body.stms)) and reads_columns(h, exp)


def is_tall(s: Segop[core.SegMap | core.SegRed], exp: core.SegRed) -> Atom:
    """bool: are there rows and columns enough?"""
    h, (columns, rows) = s.h, exp.space.widths
    long = h.op(Op.GE, rows, i64(LEAST_LENGTH), base="long")
    return h.op(Op.GE, h.choice(long, columns, i64(0), "columns"), i64(LEAST_COLUMNS), base="tall")


def streamed_kernel(h: HostBuilder, exp: core.SegRed, partial: list[Name], length: Atom, base: str) -> Made:
    """A block for each chunk of columns of a chunk of rows; `length`: of a chunk of rows."""
    b, ((column, width), along) = h.builder(), exp.space.dims
    n = b.operand(width)
    chunks = ceil_div(b, n, CHUNK)
    first = b.mul(b.op(Op.REM, Prim.I64, b.block, chunks, base="chunk"), i64(CHUNK))
    last = b.minimum(n, b.add(first, i64(CHUNK)))
    cut = (h.types[partial[0]].shape[-1], length)
    segment = b.op(Op.QUOT, Prim.I64, b.block, chunks, base="segment")
    _, chunk, lo, count = bind_segment(b, SegSpace((along,)), cut, segment)
    parts = [output(b, name) for name in partial]
    sums = [b.alloc("sums", part.mem.prim, (i64(CHUNK),), Mode.BLOCK.space).mem for part in parts]
    neutral = [b.operand(a) for r in exp.reds for a in r.neutral]

    def over_columns(values: list[Operand] | None, rows: list[Operand]) -> None:
        """`threads j`: sums are these values, or take in some rows, or are given."""
        j = b.fresh("j", Prim.I64)
        b.env[column] = j
        with b.nested() as stms:
            own = b.sub(j, first)
            olds = values or [b.let("sum", mem.prim, kir.KLoad(mem, own)) for mem in sums]
            results = _taken_in(b, exp, along[0], olds, rows) if rows else olds
            for part, mem, result in zip(parts, sums, results, strict=True):
                is_last = values is None and not rows
                target = (part.mem, b.address(part, (j, chunk))) if is_last else (mem, own)
                b.emit(kir.Store(*target, result))
        b.emit(kir.Threads(j, first, last, tuple(stms)))

    over_columns(neutral, [])
    groups = b.op(Op.QUOT, Prim.I64, count, i64(ROWS), base="groups")
    g, k = b.fresh("g", Prim.I64), b.fresh("k", Prim.I64)
    with b.nested() as stms:
        begin = b.add(lo, b.mul(g, i64(ROWS)))
        over_columns(None, [b.add(begin, i64(r)) for r in range(ROWS)])
    b.emit(kir.For(g, groups, tuple(stms)))
    done = b.mul(groups, i64(ROWS))
    with b.nested() as stms:
        over_columns(None, [b.add(b.add(lo, done), k)])
    b.emit(kir.For(k, b.sub(count, done), tuple(stms)))
    over_columns(None, [])
    return h.finish(b, f"{base}_streamed")


def _taken_in(b: Builder, exp: core.SegRed, along: Name, olds: list[Operand], rows: list[Operand]) -> list[Operand]:
    """The sums of a column after some rows."""
    accs = [b.fresh("acc", old.prim) for old in olds]
    for acc, old in zip(accs, olds, strict=True):
        b.emit(kir.Declare(acc, old))
    for row in rows:
        b.env[along] = row
        accumulate(b, exp, accs, [scalar(value) for value in gen_body(b, exp.body, Mode.THREAD)])
    return [b.copy(acc) for acc in accs]
