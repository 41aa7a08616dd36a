"""Reductions over rows, whose points reduce a row of their own and then call a function: the rows first, as a map.

    segred (i < n) ⊙ { y = redomap over j of f(a[i, j], x[j]); g(y, b[i]) }
    ⟶  t = segmap (i < n) { redomap over j of f(a[i, j], x[j]) }
        segred (i < n) ⊙ { g(t[i], b[i]) }

In one loop each row would end with a sum across its lanes, with g of one point, and with an operator that chooses. A
map has rows side by side or in lanes, and what follows has lanes over the points. `t` has an element for each row.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.core import Body, Fix, Param, Stm
from ....ir.ops import EXPENSES, Expense, Op
from ....ir.records import dataclass
from ....ir.traverse import all_exps, free_in_body, free_in_stm
from ....ir.types import Atom, Name, Var, i64
from ..table import Segop, Table, run
from .packed_panels import needed
from .segmap import SEGMAP
from .segred import are_short, rows_of
from .unroll_and_jam import is_plain, is_reduction

LEAST_POINTS = 64
"""From which on a second launch is worth it."""
MOST_SUMS = 4
"""Values of a row that the rest of its point needs."""


@dataclass(frozen=True, slots=True)
class RowsFirst:
    """The map of the rows, by the name of each array of its results, and the reduction of the rest."""

    pat: tuple[Param, ...]
    rows: core.SegMap
    rest: core.SegRed


def rows_first(s: Segop[core.SegRed]) -> RowsFirst | str:
    """Both parts, where each point reduces a row of an array in memory by plain operators; else why not."""
    exp, names, body = s.exp, s.h.names, s.exp.body
    if exp.ends is not None:
        return "rows of varying length"
    sums = [stm for stm in body.stms if is_reduction(stm)]
    if not sums or not all(is_plain(stm) for stm in body.stms if stm not in sums):
        return "its points are not reductions and what follows them"
    if not any(reads_row(body, stm, exp.space.indices[-1]) for stm in sums):
        return "its points read no rows of their own"
    wanted = [atom.name for atom in body.result if isinstance(atom, Var)]
    rest = [stm for stm in needed(body, wanted, sums) if stm not in sums]
    if not calls(rest) and all(len(r.op.body.stms) == 1 for r in exp.reds):
        return "what follows its reductions is cheap"
    read = free_in_body(Body(tuple(rest), body.result))
    kept = [p for stm in sums for p in stm.pat if p.name in read]
    if not kept or len(kept) > MOST_SUMS:
        return "more values of a row than are worth storing"
    pat = tuple(Param(names.again(p.name), p.type.array_of(*exp.space.widths)) for p in kept)
    at = tuple(Fix(Var(name)) for name in exp.space.indices)
    loads = (Stm((p,), core.Index(t.name, at, True), (), (), s.stm.loc) for p, t in zip(kept, pat, strict=True))
    of_rows = Body(tuple(needed(body, [p.name for p in kept], ())), tuple(Var(p.name) for p in kept))
    rows = core.SegMap(exp.level, exp.space, of_rows, tuple(p.type for p in kept))
    return RowsFirst(pat, rows, replace(exp, body=Body((*loads, *rest), body.result)))


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


def are_many(s: Segop[core.SegRed], _: RowsFirst) -> Atom:
    """bool: are there points enough for two launches, and rows too long for one with a row to a lane?"""
    h, widths = s.h, rows_of(s)
    points = h.product(s.exp.space.widths)
    points = points if isinstance(widths, str) else h.choice(are_short(s, widths), i64(0), points, "points")
    return h.op(Op.GE, points, i64(LEAST_POINTS), base="many")


def run_rows_first(s: Segop[core.SegRed], found: RowsFirst, table: Table) -> None:
    """The map, then the reduction by a table."""
    run(Segop(s.h, replace(s.stm, pat=found.pat), found.rows, s.base, []), SEGMAP)
    run(replace(s, exp=found.rest), table)
