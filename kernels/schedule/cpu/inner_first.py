"""Reductions whose points reduce something themselves: that first, as a map.

    segred (i < n, j < m) ⊙ { y = redomap ..; g(y, b[i, j]) }
    ⟶  t = segmap (i < n, j < m) { redomap .. }
        segred (i < n, j < m) ⊙ { g(t[i, j], b[i, j]) }

`t` has an element for each point. It is worth that in three cases:

    a product      whose elements, or what becomes of them, are results too, so that there is memory of that size
                   anyway: as a map it has panels, or rows that pass by
    rows           of which each point reduces one, and then calls a function or has an operator that chooses. In one
                   loop each row would end with a sum across its lanes, and with a function of one point; a map has
                   rows side by side or in lanes, and what follows has lanes over the points
    triangles      rows whose length is counted by the point (pairs of i and the j behind it). With lanes over the
                   points each group would take as many steps as its longest row, under masks
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Fix, Param, Stm
from ....ir.ops import EXPENSES, Expense, Op
from ....ir.records import dataclass
from ....ir.traverse import all_exps, free_in_body, free_in_stm
from ....ir.types import Atom, Name, Prim, Var, i64
from ..host_builder import FALSE, TRUE
from ..table import Segop, Table, run
from .factors import needed
from .packed_panels import can_pack
from .products import LEAST_COLUMNS
from .segmap import SEGMAP
from .segred import are_short, rows_of
from .streamed_rows import LARGE
from .unroll_and_jam import ROWS, is_plain, is_reduction, reductions_in

LEAST_POINTS = 64
"""From which on a second launch is worth it."""
MOST_SUMS = 4
"""Values of a point that the rest of it needs."""


@dataclass(frozen=True, slots=True)
class InnerFirst:
    """The map of what points reduce, by the name of each array of its results, and the reduction of the rest. Whether
    it is a product whose elements are kept, and whether points reduce rows and then take long, or rows whose length
    they count."""

    pat: tuple[Param, ...]
    inner: core.SegMap
    rest: core.SegRed
    is_product: bool
    has_rows: bool


def inner_first(s: Segop[core.SegRed]) -> InnerFirst | str:
    """Both parts, where each point reduces something by plain operators; else why not."""
    exp, names, body = s.exp, s.h.names, s.exp.body
    if exp.ends is not None:
        return "rows of varying length"
    sums = [stm for stm in body.stms if is_reduction(stm)]
    if not sums or not all(is_plain(stm) for stm in body.stms if stm not in sums):
        return "its points are not reductions and what follows them"
    rest = [stm for stm in needed(body, [a.name for a in body.result if isinstance(a, Var)], sums) if stm not in sums]
    read = free_in_body(Body(tuple(rest), body.result))
    kept = [p for stm in sums for p in stm.pat if p.name in read]
    if not kept or len(kept) > MOST_SUMS:
        return "more values of a point than are worth storing"
    of_points = Body(tuple(needed(body, [p.name for p in kept], ())), tuple(Var(p.name) for p in kept))
    is_product = exp.num_reds < len(s.stm.pat) and can_pack(exp.space, of_points)
    chooses = any(len(r.op.body.stms) > 1 for r in exp.reds)
    has_rows = (chooses or calls(rest)) and any(reads_row(body, stm, exp.space.indices[-1]) for stm in sums)
    has_rows |= any(isinstance(stm.exp, core.Screma) and stm.exp.width in counted(exp) for stm in sums)
    if not is_product and not has_rows:
        return "neither a product that is kept, nor rows before what takes long, nor rows of counted length"
    pat = tuple(Param(names.again(p.name), p.type.array_of(*exp.space.widths)) for p in kept)
    at = tuple(Fix(Var(name)) for name in exp.space.indices)
    loads = (Stm((p,), core.Index(t.name, at, True), (), (), s.stm.loc) for p, t in zip(kept, pat, strict=True))
    inner = core.SegMap(exp.level, exp.space, of_points, tuple(p.type for p in kept))
    return InnerFirst(pat, inner, replace(exp, body=Body((*loads, *rest), body.result)), is_product, has_rows)


def counted(exp: core.SegRed) -> set[Atom]:
    """What its points add to their index, or take it from: lengths that go up to a size."""
    found: set[Atom] = {Var(exp.space.indices[-1])}
    for stm in exp.body.stms:
        match stm.exp:
            case core.PrimOp(Op.ADD | Op.SUB | Op.MAX, Prim.I64, args) if not found.isdisjoint(args):
                found.add(Var(stm.pat[0].name))
            case _:
                pass
    return found


def reads_row(body: Body, stm: Stm, index: Name) -> bool:
    """Does a reduction take in a row, or elements of one, of an array from outside at this index of its point?"""
    made = {p.name for one in body.stms for p in one.pat}
    read = free_in_stm(stm)
    views = [one.exp for one in body.stms if any(p.name in read for p in one.pat)]
    return any(
        isinstance(exp, core.Index) and exp.array not in made and Fix(Var(index)) in exp.dims and len(exp.dims) > 1
        for exp in (*views, *all_exps(Body((stm,), ())))
    )


def calls(stms: list[Stm]) -> bool:
    """Is there a function, such as an exponential, that takes dozens of instructions?"""
    return any(isinstance(e, core.PrimOp) and EXPENSES[e.op] is Expense.CALL for e in all_exps(Body(tuple(stms), ())))


def are_worth_it(s: Segop[core.SegRed], found: InnerFirst) -> Atom:
    """bool: is a second launch worth it, by the sizes?"""
    product = is_large(s, found) if found.is_product else FALSE
    return s.h.choice(product, TRUE, are_many(s), "first") if found.has_rows else product


def is_large(s: Segop[core.SegRed], found: InnerFirst) -> Atom:
    """bool: has the product columns enough, and `ROWS` rows, or a large matrix for each?"""
    h, (*_, rows, columns), ((_, product), *_) = s.h, s.exp.space.widths, reductions_in(found.inner.body)
    many = h.choice(h.op(Op.GE, rows, i64(ROWS), base="many"), i64(LARGE), h.op(Op.MUL, columns, product.width), "size")
    wide = h.choice(h.op(Op.GE, columns, i64(LEAST_COLUMNS), base="wide"), many, i64(0), "size")
    return h.op(Op.GE, wide, i64(LARGE), base="enough")


def are_many(s: Segop[core.SegRed]) -> Atom:
    """bool: are there points enough for two launches, and rows too long for one with a row to a lane?"""
    h, widths = s.h, rows_of(s)
    points = h.product(s.exp.space.widths)
    points = points if isinstance(widths, str) else h.choice(are_short(s, widths), i64(0), points, "points")
    return h.op(Op.GE, points, i64(LEAST_POINTS), base="many")


def run_inner_first(s: Segop[core.SegRed], found: InnerFirst, table: Table) -> None:
    """The map, then the reduction by a table."""
    run(Segop(s.h, replace(s.stm, pat=found.pat), found.inner, s.base, []), SEGMAP)
    run(replace(s, exp=found.rest), table)
