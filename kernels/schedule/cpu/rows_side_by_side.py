"""Reductions of the rows of a large matrix, several side by side: memory gives several streams faster than one.

    segmap (i < n) { redomap over j of f(a[i, j], x[j]) }
    ⟶  block = R rows: (y_0, .., y_R-1) = redomap over j of (f(a[i, j], x[j]), .., f(a[i + R - 1, j], x[j]))

What all rows read is read once for them. The rows of a last block that has fewer go one by one. Operators on several
numbers (the place of the greatest) compute for longer than memory takes, and there are registers for one row of them.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import Body, Fix, Index, Lambda, Param, Reduction, Screma, SegMap, SegSpace, Stm
from ....ir.ops import Op
from ....ir.rename import rename_body, substitute_body
from ....ir.traverse import all_stms
from ....ir.types import Atom, Name, Names, Prim, Type, Var, i64
from ...kernel_ir import nodes as kir
from ..host_builder import FALSE, HostBuilder, Made
from ..kernel_builder import Builder, Mode, Operand, Value
from ..soacs import put
from ..space import bind_space, output, row_of
from ..statements import gen_body
from ..table import Segop
from .unroll_and_jam import ROWS, ceil_div, is_plain, is_reduction

LEAST_BYTES = 1 << 24
"""Of a matrix that caches do not hold."""
LEAST_SIDE = 64
"""Rows and columns of it."""
LEAST_ROW_BYTES = 1 << 12
"""Of a row that is a stream: several shorter ones beside each other come slower than one after the other."""


def matrix_of_rows(exp: SegMap) -> Name | None:
    """The matrix, or array of such, that a map of reductions to one number each reads at rows of its points alone."""
    stms = exp.body.stms
    reductions = [stm for stm in stms if isinstance(stm.exp, Screma)]
    if not reductions or not all(is_reduction(stm) if stm in reductions else is_plain(stm) for stm in stms):
        return None
    if any(len(red.neutral) > 1 for stm in reductions if isinstance(stm.exp, Screma) for red in stm.exp.reds):
        return None
    point = tuple(Fix(Var(index)) for index in exp.space.indices)
    read: dict[Name, set[tuple[core.DimIndex, ...]]] = {}
    for stm in all_stms(exp.body):
        if isinstance(stm.exp, Index) and len(stm.exp.dims) == len(point) + 1:
            read.setdefault(stm.exp.array, set()).add(stm.exp.dims[:-1])
    found = [array for array, places in read.items() if places == {point}]
    return found[0] if len(found) == 1 else None


def is_large(h: HostBuilder, matrix: Type) -> Atom:
    """bool: must a matrix come from memory whenever it is read, and are its rows neither short nor few?"""
    least = i64(LEAST_BYTES // matrix.prim.bytes)
    large = h.op(Op.GE, h.product(matrix.shape), least, base="large")
    side = h.choice(large, h.op(Op.MIN, *matrix.shape[-2:]), i64(0), "side")
    return h.op(Op.GE, side, i64(LEAST_SIDE), base="large")


def are_streams(h: HostBuilder, matrix: Type) -> Atom:
    """bool: is a matrix large, and do rows of it come faster side by side?"""
    long = h.op(Op.GE, matrix.shape[-1], i64(LEAST_ROW_BYTES // matrix.prim.bytes), base="long")
    return long if long == FALSE else h.choice(is_large(h, matrix), long, FALSE, "streams")


def launch_rows(s: Segop[SegMap], _matrix: Name) -> None:
    """A block for some rows."""
    h, (*outer, n) = s.h, s.exp.space.widths
    made = side_by_side_kernel(s)
    h.launch(made, h.product((*outer, h.ceil_div(n, ROWS))), h.product((*outer, n)), made.cost / ROWS, s.stm.loc)


def side_by_side_kernel(s: Segop[SegMap]) -> Made:
    """A block for `ROWS` points along the innermost dimension."""
    b, (*outer, (_, width)) = s.h.builder(), s.exp.space.dims
    n = b.operand(width)
    tiles = ceil_div(b, n, ROWS)
    at = bind_space(b, SegSpace(tuple(outer)), b.op(Op.QUOT, Prim.I64, b.block, tiles, base="segment"))
    first = b.mul(b.op(Op.REM, Prim.I64, b.block, tiles, base="tile"), i64(ROWS))
    numbers = [b.add(first, i64(r)) for r in range(ROWS)]
    left = b.minimum(i64(ROWS), b.sub(n, first))
    for name, _ in s.outs:
        output(b, name)
    with b.nested() as several:
        rows_together(b, s, at, numbers)
    k = b.fresh("k", Prim.I64)
    with b.nested() as single, b.loop(k, left):
        rows_together(b, s, at, [b.add(first, k)])
    b.emit(kir.KIf(b.op(Op.EQ, Prim.I64, left, i64(ROWS)), tuple(several), tuple(single)))
    return s.h.finish(b, f"{s.base}_side_by_side")


def rows_together(
    b: Builder, s: Segop[SegMap], at: tuple[Operand, ...], numbers: list[Operand]
) -> list[tuple[Value, ...]]:
    """Computes what some points give, all of the outer point `at`, and stores it."""
    names = s.h.names
    indices = tuple(names.fresh("i") for _ in numbers)
    b.env.update(zip(indices, numbers, strict=True))
    values = iter(gen_body(b, side_by_side(names, s.exp.body, s.exp.space.indices[-1], indices), Mode.BLOCK))
    found = [tuple(next(values) for _ in s.outs) for _ in numbers]
    for number, each in zip(numbers, found, strict=True):
        for (name, _), value in zip(s.outs, each, strict=True):
            put(b, row_of(b, output(b, name), at), number, value, Mode.BLOCK)
    return found


def side_by_side(names: Names, body: Body, index: Name, points: tuple[Name, ...]) -> Body:
    """A body of reductions and plain statements for several points: its results for the first one, then for the next.
    A reduction takes in an element of each before the next ones."""
    each = [rename_body(substitute_body(body, {index: Var(point)}), names) for point in points]
    stms: list[Stm] = []
    for group in zip(*(one.stms for one in each), strict=True):
        stms += [_joined(group)] if isinstance(group[0].exp, Screma) else group
    return Body(tuple(stms), tuple(atom for one in each for atom in one.result))


def _joined(group: tuple[Stm, ...]) -> Stm:
    """One reduction with the components of all; what they all read is read once."""
    params: dict[Name, Param] = {}
    stms, results, reds = list[Stm](), list[Atom](), list[Reduction]()
    exps = [stm.exp for stm in group if isinstance(stm.exp, Screma)]
    for exp in exps:
        read = {p.name: params.setdefault(array, p) for array, p in zip(exp.arrays, exp.map.params, strict=True)}
        inner = substitute_body(exp.map.body, {name: Var(p.name) for name, p in read.items() if p.name != name})
        stms += inner.stms
        results += inner.result
        reds += exp.reds
    types = tuple(t for exp in exps for t in exp.map.ret)
    fun = Lambda(tuple(params.values()), Body(tuple(stms), tuple(results)), types)
    joined = Screma(exps[0].width, tuple(params), fun, (), tuple(reds))
    first = group[0]
    return Stm(tuple(p for stm in group for p in stm.pat), joined, first.certs, first.attrs, first.loc)
