"""Reductions and scans whose operator works row by row: the map of the operator goes outside.

    redomap (map ⊕) (replicate m d) (λx → e) xs
        ⟶  map (λj → redomap ⊕ d (λx → e[j]) xs) (iota m)                     [IRWIM]
    scanomap (map ⊕) (replicate m d) (λx → e) xs
        ⟶  transpose (map (λj → scanomap ⊕ d (λx → e[j]) xs) (iota m))        [ISWIM]

Sound because ⊕ is applied to equal positions only; afterwards the operator is on scalars (or on shorter rows, and
the rule applies again) and there is a map to exploit.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Body, If, Iota, Lambda, Param, Rearrange, Reduction, Replicate, Screma, Stm
from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.rename import rename_lambda, substitute_body
from ...ir.traverse import free_in_stm
from ...ir.types import I64, Atom, Name, Prim, Type, Var, i64
from ..context.nest import Flow
from ..context.recompute_cost import HEAVY, weight_of
from ..context.segop_bodies import element_of, single
from ..versions.parallelism import is_plain_map
from ..versions.row_operators import RowOperator, row_operator


def element_reduction(flow: Flow, op: Reduction, loc: Loc) -> Reduction:
    """⊕ d of an operator on rows; a d that is a row itself is made in the flow."""
    rows = row_operator(flow, op, any_width=True)
    assert rows is not None
    neutral, made = _element_neutral(flow, rows, loc)
    for stm in made:
        flow.keep(stm)
    return Reduction(_element_operator(flow, rows), neutral, op.comm)


def _element_neutral(flow: Flow, rows: RowOperator, loc: Loc) -> tuple[tuple[Atom, ...], tuple[Stm, ...]]:
    """The neutral element of ⊕, and the statements that make it where it is a row itself."""
    atoms: list[Atom] = []
    stms: list[Stm] = []
    for replicate, param in zip(rows.neutral, rows.params, strict=False):
        if len(replicate.shape) == 1:
            atoms.append(replicate.value)
            continue
        row = flow.fresh_param("ne", param.type.row())
        stms.append(single(Replicate(replicate.shape[1:], replicate.value), row, loc))
        atoms.append(Var(row.name))
    return tuple(atoms), tuple(stms)


def _element_operator(flow: Flow, rows: RowOperator) -> Lambda:
    """⊕ on elements: the body of the operator's map, with the elements as parameters."""
    params = tuple(flow.fresh_param(p.name.base, p.type.row()) for p in rows.params)
    element = {p.name: Var(new.name) for p, new in zip(rows.params, params, strict=True)}
    body = substitute_body(
        rows.g.body, {q.name: element[array] for q, array in zip(rows.g.params, rows.arrays, strict=True)}
    )
    result = tuple(body.result[k] for k in rows.picked)
    ret = tuple(rows.g.ret[k] for k in rows.picked)
    return flow.learn(rename_lambda(Lambda(params, Body(body.stms, result), ret), flow.context.names))


def _transpose(array: Name, param: Param, loc: Loc) -> Stm:
    return single(Rearrange((1, 0, *range(2, param.type.rank)), array), param, loc)


# ---- of what a map computes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """`λx̄ → let stms in r̄`: cheap statements and at most one map (`last`), the rows r̄ known element by element."""

    before: tuple[Stm, ...]
    last: tuple[Stm, ...]
    result: tuple[Atom, ...]
    ret: tuple[Type, ...]


def rows_of(f: Lambda) -> Rows | None:
    """What the lambda of a redomap gives as rows, if an element of them is cheap to have alone."""
    expensive = [stm for stm in f.body.stms if weight_of(stm.exp) >= HEAVY]
    if len(expensive) > 1 or not all(is_plain_map(stm.exp) and not stm.certs for stm in expensive):
        return None
    before = tuple(stm for stm in f.body.stms if weight_of(stm.exp) < HEAVY)
    made = {p.name for stm in expensive for p in stm.pat}
    if any(made & free_in_stm(stm).keys() for stm in before):
        return None
    return Rows(before, tuple(expensive), f.body.result, f.ret)


def in_columns(flow: Flow, exp: Screma) -> tuple[Rows, tuple[RowOperator, ...], Atom] | None:
    """What the fused rule takes, if it applies: all operators work row by row over one width, which is given too, and
    no values are only mapped."""
    operators = tuple(row for row in (row_operator(flow, op) for op in exp.ops) if row is not None)
    rows = rows_of(exp.map)
    if rows is None or len(operators) != len(exp.ops):
        return None
    widths = {row.width for row in operators} | {last.exp.width for last in rows.last if isinstance(last.exp, Screma)}
    if len(widths) > 1 or len(exp.map.ret) != exp.num_ops:
        return None
    (width,) = widths
    return rows, operators, width


def interchanged_map(flow: Flow, exp: Screma, results: tuple[Param, ...], loc: Loc) -> tuple[Stm, ...] | None:
    """The fused rule: no row is ever made."""
    found = in_columns(flow, exp)
    if found is None:
        return None
    rows, operators, width = found
    j = flow.fresh_param("j", I64)
    f = _column(flow, exp, operators, rows, j, loc)
    count = flow.fresh_param("is", I64.array_of(width))
    indices = single(Iota(width, i64(0), i64(1), Prim.I64), count, loc)
    made = tuple(
        flow.fresh_param(p.name.base, t.array_of(width)) if exp.scans else p
        for p, t in zip(results, f.ret, strict=True)
    )
    mapped = Stm(made, Screma(width, (count.name,), f, (), ()), (), (), loc)
    scans = zip(made[: exp.num_scans], results[: exp.num_scans], strict=True)
    return (indices, mapped, *(_transpose(p.name, result, loc) for p, result in scans))


def _column(flow: Flow, exp: Screma, operators: tuple[RowOperator, ...], rows: Rows, j: Param, loc: Loc) -> Lambda:
    """`λj → redomap ⊕ d (λx̄ → r̄[j]) x̄s`, under fresh names."""
    stms: list[Stm] = []
    ops: list[Reduction] = []
    for row, op in zip(operators, exp.ops, strict=True):
        neutral, made = _element_neutral(flow, row, loc)
        stms += made
        ops.append(Reduction(_element_operator(flow, row), neutral, op.comm))
    element = Lambda(exp.map.params, _elements(flow, rows, j), tuple(t.row() for t in rows.ret))
    reduced = replace(exp, map=element).with_ops(tuple(ops))
    types = tuple(t.array_of(exp.width) if exp.scans else t for t in element.ret)
    pat = tuple(flow.fresh_param("y", t) for t in types)
    body = Body((*stms, Stm(pat, reduced, (), (), loc)), tuple(Var(p.name) for p in pat))
    return flow.learn(rename_lambda(Lambda((j,), body, types), flow.context.names))


def _elements(flow: Flow, rows: Rows, j: Param) -> Body:
    """`let stms in r̄[j]`"""
    stms = list(rows.before)
    known: dict[Name, Atom] = {}
    match rows.last:
        case (Stm(pat, Screma(_, arrays, g, _, _), _, _, loc),):
            loads = zip(g.params, arrays, strict=True)
            stms += [_load(flow, array, param, j, loc) for param, array in loads]
            stms += g.body.stms
            known.update((p.name, atom) for p, atom in zip(pat, g.body.result, strict=True))
        case _:
            pass
    made_by = {p.name: (stm, k) for stm in rows.before for k, p in enumerate(stm.pat)}
    result: list[Atom] = []
    for atom, row in zip(rows.result, rows.ret, strict=True):
        assert isinstance(atom, Var)
        if atom.name in known:
            result.append(known[atom.name])
            continue
        param = flow.fresh_param(atom.name.base, row.row())
        stms.append(_element_at(flow, atom, param, j, made_by.get(atom.name)))
        result.append(Var(param.name))
    return Body(tuple(stms), tuple(result))


def _load(flow: Flow, array: Name, param: Param, j: Param, loc: Loc) -> Stm:
    return single(element_of(array, flow.known.types[array].shape, (Var(j.name),)), param, loc)


def _element_at(flow: Flow, row: Var, param: Param, j: Param, made_by: tuple[Stm, int] | None) -> Stm:
    """`r[j]`; of a branch, in the branch: `(if c then r else s)[j] = if c then r[j] else s[j]`."""
    match made_by:
        case (Stm(exp=If(cond, then, orelse), certs=certs, loc=loc), k):
            sides = (_branch_at(flow, body, k, param, j, loc) for body in (then, orelse))
            return Stm((param,), If(cond, *sides), certs, (), loc)
        case _:
            return _load(flow, row.name, param, j, flow.output.loc)


def _branch_at(flow: Flow, body: Body, k: int, param: Param, j: Param, loc: Loc) -> Body:
    row = body.result[k]
    assert isinstance(row, Var)
    element = flow.fresh_param(param.name.base, param.type)
    load = _load(flow, row.name, element, j, loc)
    return Body((*body.stms, load), (Var(element.name),))
