"""Scans of the columns of matrices, whose rows are read and written as they lie.

    segscan (i < n, j < m, k < p) op { f(x[i, k, j]) }        results that lie as ys[i, k, j]
    ⟶  block = (i, chunk of columns):
        threads j { accs[j] = ne }
        for each R indices k: threads j { acc = accs[j]; R times: acc = acc op f(x[i, k, j]), ys[i, k, j] = acc
                                          next[j] = acc };  threads j { accs[j] = next[j] }

A loop along a column for each lane touches a few lines of a row and goes on to the next row, which may be pages away.
The order is that of each column. With two arrays of sums no loop reads what it stores, so that its last threads need no
mask (`lanes/repeated_ends.py`).
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import Fix, SegSpace
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.types import Atom, Name, Prim, Var, i64
from ...analysis.cost import EXTENT, cost
from ...kernel_ir import nodes as kir
from ..host_builder import Made
from ..kernel_builder import ONE, ZERO, ArrayRef, Builder, Mode, Operand, Value, is_const, scalar
from ..soacs import is_simple, k_lambda, neutral_of
from ..space import bind_space, output
from ..table import Schedule, Segop, in_memory
from .segscan import Followed, combined, scanned_in
from .unroll_and_jam import ROWS, is_plain, jam_stm

MOST, LEAST = 1 << 12, 1 << 8
"""Columns of a block: as many as the nearest cache has results for, and pieces of rows that are worth a block."""
BLOCKS = 8
LEAST_ROWS, LARGE = 2 * ROWS, 1 << 18
"""Rows, and elements of a matrix, which a near cache does not hold."""
MOST_COST = 6.0
"""What a step may cost, two for each component, so that it takes no longer than memory."""
GROUP = 256
"""Bytes of a row that a group of lanes takes at once, for which it goes down the columns but once."""

OfScan = Segop[core.SegScan]


def scans_columns(s: OfScan) -> bool | str:
    """Whether results and operands lie with the dimension before the scanned one innermost; or why not."""
    exp, dims = s.exp, s.exp.space.dims
    if len(dims) < 2 or isinstance(s, Followed):
        return "a single segment, or a scan with what follows it"
    if not all(is_simple(scan.op) for scan in exp.scans) or not all(map(is_plain, exp.body.stms)):
        return "an operator on arrays, or elements that loop"
    if not all(p.name in s.h.views for p in s.results):
        return "its results lie by segments"
    b, (column, _) = s.h.builder(), dims[-2]
    op = k_lambda(b, exp.scans)
    if 2.0 * len(op.results) + cost(op.body) > MOST_COST:
        return "an operator that takes longer than its operands"
    bound = {p.name for stm in exp.body.stms for p in stm.pat}
    for stm in exp.body.stms:
        match stm.exp:
            case core.PrimOp() | core.Convert():
                pass
            case core.Index(array, at, True) if array not in bound and not stm.pat[0].type.shape:
                if not is_by_rows(b.array(array), at, column, bound):
                    return "it reads what does not lie by columns"
            case _:
                return "elements that are more than arithmetic"
    return True


def is_by_rows(ref: object, at: tuple[core.DimIndex, ...], column: Name, bound: set[Name]) -> bool:
    """Whether neighbouring columns are neighbours in an array, or it does not depend on the column."""
    if not isinstance(ref, ArrayRef):
        return False
    names = [d.index.name if isinstance(d, Fix) and isinstance(d.index, Var) else None for d in at]
    if not bound.isdisjoint(names) or names.count(column) > 1:
        return False
    return column not in names or is_const(ref.strides[names.index(column)], 1)


def are_wide(s: OfScan, _: bool) -> Atom:
    """bool: are there columns and rows enough, more than a near cache holds?"""
    h, (*_outer, columns, rows) = s.h, s.exp.space.widths
    wide = h.op(Op.GT, columns, i64(GROUP // max(p.type.prim.bytes for p in s.results)), base="wide")
    long = h.choice(h.op(Op.GE, rows, i64(LEAST_ROWS), base="long"), rows, i64(0), "rows")
    return h.op(Op.GE, h.op(Op.MUL, h.choice(wide, columns, i64(0), "columns"), long), i64(LARGE), base="large")


def scan_columns(s: OfScan, _: bool) -> None:
    """A block for each chunk of columns of a matrix."""
    h, s, (*outer, columns, _rows) = s.h, in_memory(s), s.exp.space.widths
    across = h.op(Op.MAX, h.product(tuple(outer)), i64(1))
    each = h.ceil_div(h.op(Op.MUL, columns, across), i64(BLOCKS))
    each = h.op(Op.MIN, h.op(Op.MAX, h.op(Op.QUOT, each, i64(64)), i64(LEAST // 64)), i64(MOST // 64))
    chunk = h.op(Op.MUL, each, i64(64), base="chunk")
    made = columns_kernel(s, chunk)
    blocks = h.op(Op.MUL, h.product(tuple(outer)), h.ceil_div(columns, chunk))
    h.launch(made, blocks, h.product(s.exp.space.widths), made.cost / EXTENT, s.stm.loc)


@dataclass(frozen=True, slots=True)
class Columns:
    """A kernel under construction: columns `first` to `last` of matrix `at`; what is scanned so far and what comes
    next, and the results."""

    b: Builder
    exp: core.SegScan
    at: tuple[Operand, ...]
    first: Operand
    last: Operand
    accs: list[ArrayRef]
    next: list[ArrayRef]
    refs: list[ArrayRef]


def columns_kernel(s: OfScan, chunk: Atom) -> Made:
    """`chunk`: columns of a block."""
    h, exp, b = s.h, s.exp, s.h.builder()
    *outer, (_, width), (_, length) = exp.space.dims
    n, most, count = b.operand(width), b.operand(chunk), b.operand(length)
    chunks = b.op(Op.QUOT, Prim.I64, b.add(n, b.sub(most, ONE)), most, base="chunks")
    first = b.mul(b.op(Op.REM, Prim.I64, b.block, chunks, base="chunk"), most)
    matrix = b.op(Op.QUOT, Prim.I64, b.block, chunks, base="matrix")
    at = bind_space(b, SegSpace(tuple(outer)), matrix) if outer else ()
    refs = [output(b, name) for name, _ in s.outs]
    neutral = neutral_of(b, exp.scans)
    accs, following = (
        [b.alloc(base, ne.prim, (most,), Mode.BLOCK.space) for ne in neutral] for base in ("accs", "next")
    )
    c = Columns(b, exp, at, first, b.minimum(n, b.add(first, most)), accs, following, refs)
    j = b.fresh("j", Prim.I64)
    with b.threads(j, first, c.last):
        for acc, ne in zip(accs, neutral, strict=True):
            b.emit(kir.Store(acc.mem, b.sub(j, first), ne))
    groups = b.op(Op.QUOT, Prim.I64, count, i64(ROWS), base="groups")
    with b.loop(b.fresh("g", Prim.I64), groups) as g:
        begin = b.mul(g, i64(ROWS))
        take_in(c, [b.add(begin, i64(r)) for r in range(ROWS)])
    done = b.mul(groups, i64(ROWS))
    with b.loop(b.fresh("k", Prim.I64), b.sub(count, done)) as k:
        take_in(c, [b.add(done, k)])
    return h.finish(b, f"{s.base}_columns")


def take_in(c: Columns, rows: list[Operand]) -> None:
    """Some rows of the matrix, one after the other for each column."""
    b, exp, j = c.b, c.exp, c.b.fresh("j", Prim.I64)
    (column, _), (along, _) = exp.space.dims[-2:]
    envs: list[dict[Name, Value]] = [{along: row} for row in rows]
    with b.threads(j, c.first, c.last):
        b.env[column], varying = j, {along}
        for stm in exp.body.stms:
            jam_stm(b, stm, varying, envs)
        place = b.sub(j, c.first)
        found = tuple(b.let("acc", acc.mem.prim, kir.KLoad(acc.mem, place)) for acc in c.accs)
        for row, env in zip(rows, envs, strict=True):
            b.env.update(env)
            values = tuple(scalar(b.atom(a)) for a in exp.body.result)
            found = combined(b, exp, found, values[: scanned_in(exp)])
            for ref, value in zip(c.refs, (*found, *values[scanned_in(exp) :]), strict=True):
                b.emit(kir.Store(ref.mem, b.address(ref, (*c.at, j, row)), value))
        for acc, value in zip(c.next, found, strict=True):
            b.emit(kir.Store(acc.mem, place, value))
    with b.threads(b.fresh("j", Prim.I64), ZERO, b.sub(c.last, c.first)) as j:
        for acc, following in zip(c.accs, c.next, strict=True):
            b.emit(kir.Store(acc.mem, j, b.let("acc", acc.mem.prim, kir.KLoad(following.mem, j))))


COLUMNS = Schedule("columns side by side", scan_columns, scans_columns, are_wide)
