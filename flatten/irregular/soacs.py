"""Parallelism whose width varies over the nest: maps, reductions, scans as operations on flat data.

Σf = (q < total), the flat nest of the width (`flatten/versions/segment_descriptors.py`), in which `x̄ = x̄s[k]`:

    G(Σ, map (λx̄ → e) x̄s)           ⟶  ys = G(Σf, e), of which each point has its segment                [flat map]
    G(Σ, scanomap ⊙ (λx̄ → e) d̄ x̄s)  ⟶  segscan Σf ⊙' d̄' { (k = 0, e) }, likewise                        [flat scan]
    G(Σ, redomap ⊙ (λx̄ → e) d̄ x̄s)   ⟶  segred (p < n*m, q < total) rows ends ⊙ d̄ e                       [flat redomap]

where ⊙' starts again at flags: (f, a) ⊙' (g, b) = (f ∨ g, if g then b else a ⊙ b). A reduction beside a scan is the
last element of each segment of the flat scan, d̄ if it is empty.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import (
    Body,
    If,
    Lambda,
    Param,
    PrimOp,
    Reduction,
    Screma,
    SegRed,
    SegScan,
    Stm,
)
from ...ir.ops import Op
from ...ir.rename import rename_lambda, substitute_body
from ...ir.traverse import free_in_stm
from ...ir.types import BOOL, Atom, Const, Name, Prim, Type, Var, i64
from ..context.distribute import frontier, settle
from ..context.nest import Elem, Flow, Nest, Segments
from ..context.recompute_cost import is_total
from ..context.segop_bodies import defer, fresh_reductions, is_identity, seg_body, single
from ..context.statements import Statements
from ..context.trace import Rule
from ..rules.maps import body_versions, enter_at
from ..rules.reductions import identity
from ..versions.parallelism import exploitable, flattens_varying
from ..versions.segment_descriptors import bind_rows, can_be_counted, flat_nest, over_nest, rows_nest, segments


def varying_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A map, reduction or scan whose width varies over the nest, on flat data. What a map gives is of one size, what
    the others work on are numbers (for the rest see `rows.py`)."""
    match stm.exp:
        case Screma(_, _, f) as exp if flow.is_regular(f.ret) and flattens_varying(flow, stm, set()):
            if any(t.shape for t in f.ret[: exp.num_ops]):
                return None
        case _:
            return None
    wanted = frontier(flow, free_in_stm(stm))
    if wanted is None:
        return None
    settle(flow, nest, wanted)
    if not exp.ops:
        return flat_map(flow, nest, stm, exp)
    if not is_identity(f) and exploitable(flow, f.body, [p.name for p in f.params]):
        return split_varying(flow, nest, stm, exp)
    if exp.scans or len(f.ret) > exp.num_ops:
        return flat_scan(flow, nest, stm, exp)
    return flat_red(flow, nest, stm, exp)


def enter_rows(
    flow: Flow, flat: Nest, k: Name, seg: Segments, params: tuple[Param, ...], arrays: tuple[Name, ...]
) -> None:
    """`x̄ = x̄s[k]`, elements of the flat data where `xs` is a segment of the same descriptor."""
    for param, array in zip(params, arrays, strict=True):
        row = flow.known.rows.get(array)
        if row is not None and row.segments.rows == seg.rows:
            if flow.known.uses.get(array, 0) > 1:
                flow.known.fresh.discard(row.array)  # others look at the rows that its elements stand for
            flow.known.types[param.name] = param.type
            flow.known.elems[param.name] = Elem(row.array, flat.indices[-1:])
        else:
            enter_at(flow, flat, k, (param,), (array,))


def flat_map(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> Rule:
    """The body of the map over the flat nest, in as many versions as any map has.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  G(Σf, e)        Σf = (q < total)
    """
    flow.note(Rule.FLAT_MAP, ", ".join(str(p.name) for p in stm.pat))
    seg = segments(flow, nest, exp.width, stm)
    flats = tuple(
        flow.fresh_param(p.name.base, t.array_of(seg.total)) for p, t in zip(stm.pat, exp.map.ret, strict=True)
    )
    with flat_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        body_versions(flow, flat, flats, stm, exp.map)
    bind_rows(flow, nest, seg, stm.pat, tuple(p.name for p in flats))
    return Rule.FLAT_MAP


def split_varying(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> Rule:
    """redomap ⊙ f d̄ x̄s  ⟶  let ȳs = map f x̄s in reduce ⊙ d̄ ȳs        where the map is parallel itself"""
    flow.note(Rule.SPLIT, ", ".join(str(p.name) for p in stm.pat))
    values = exp.num_ops
    inputs = tuple(flow.fresh_param("y", t.array_of(exp.width)) for t in exp.map.ret[:values])
    mapped = Screma(exp.width, exp.arrays, exp.map, (), ())
    operated = replace(exp, arrays=tuple(p.name for p in inputs), map=identity(flow, exp.map.ret[:values]))
    stms = (
        Stm((*inputs, *stm.pat[values:]), mapped, (), stm.attrs, stm.loc),
        Stm(stm.pat[:values], operated, (), stm.attrs, stm.loc),
    )
    flow.context.walk(flow, nest, stms, tuple(Var(p.name) for p in stm.pat))
    return Rule.SPLIT


# ---- scans -----------------------------------------------------------------------------------------------------------


def flat_scan(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> Rule:
    """One scan of the flat data for all operators, starting again at each segment.

    G(Σ, scanomap ⊙ (λx̄ → e) d̄ x̄s)  ⟶  segscan Σf ⊙' d̄' { (k = 0, e) }
    """
    flow.note(Rule.FLAT_SCAN, ", ".join(str(p.name) for p in stm.pat))
    seg = segments(flow, nest, exp.width, stm)
    with flat_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        flats = emit_flagged_scan(flow, flat, k, exp.ops, exp.map.body, exp.map.ret)
    cut = exp.num_reds
    bind_rows(flow, nest, seg, stm.pat[cut:], flats[cut:])
    last_of_segments(flow, nest, seg, exp.reds, stm.pat[:cut], flats[:cut])
    return Rule.FLAT_SCAN


def emit_flagged_scan(
    flow: Flow, flat: Nest, k: Name, ops: tuple[Reduction, ...], body: Body, ret: tuple[Type, ...]
) -> tuple[Name, ...]:
    """The scan of flat data, starting again where `k = 0`: arrays for the values of the body."""
    total = flat.widths[0]
    inner = Statements(flow)
    flag = inner.op("flag", Op.EQ, Var(k), i64(0))
    made = seg_body(flow, flat.dims, Body((*inner.stms, *body.stms), (flag, *body.result)))
    pat = tuple(flow.fresh_param("s", t.array_of(total)) for t in (BOOL, *ret))
    level = flow.context.machine.lowest.level
    flow.emit(pat, SegScan(level, made.space, (flagged(flow, ops),), made.body, (BOOL, *ret)))
    return tuple(p.name for p in pat[1:])


def flagged(flow: Flow, ops: tuple[Reduction, ...]) -> Reduction:
    """(f, ā) ⊙' (g, b̄) = (f ∨ g, if g then b̄ else ā ⊙ b̄), with neutral element (false, d̄); all operators in one."""
    types = tuple(t for op in ops for t in op.op.ret)
    f, g = (flow.fresh_param(base, BOOL) for base in "fg")
    left = tuple(flow.fresh_param("a", t) for t in types)
    right = tuple(flow.fresh_param("b", t) for t in types)
    inner = Statements(flow)
    results: list[Atom] = [inner.op("either", Op.OR, Var(f.name), Var(g.name))]
    place = 0
    for op in ops:
        taken = slice(place, place + len(op.neutral))
        place += len(op.neutral)
        again = tuple(flow.fresh_param("r", t) for t in op.op.ret)
        inner.stms += _unless(flow, g.name, op.op, left[taken], right[taken], again)
        results += [Var(p.name) for p in again]
    neutral = (Const(Prim.BOOL, False), *(atom for op in ops for atom in op.neutral))
    return Reduction(Lambda((f, *left, g, *right), inner.body(*results), (BOOL, *types)), neutral, False)


def _unless(
    flow: Flow, flag: Name, op: Lambda, left: tuple[Param, ...], right: tuple[Param, ...], to: tuple[Param, ...]
) -> list[Stm]:
    """`to = if flag then right else op left right`; without a branch where the operator cannot fail."""
    fresh = rename_lambda(op, flow.context.names)
    args = dict(zip((p.name for p in fresh.params), (Var(p.name) for p in left + right), strict=True))
    body = substitute_body(fresh.body, args)
    others = tuple(Var(p.name) for p in right)
    if not all(is_total(stm.exp) for stm in body.stms):
        return [Stm(to, If(Var(flag), Body((), others), body), (), (), flow.output.loc)]
    choices = [
        single(PrimOp(Op.SELECT, p.type.prim, (Var(flag), other, value)), p, flow.output.loc)
        for p, other, value in zip(to, others, body.result, strict=True)
    ]
    return [*body.stms, *choices]


def last_of_segments(
    flow: Flow, nest: Nest, seg: Segments, reds: tuple[Reduction, ...], pat: tuple[Param, ...], flats: tuple[Name, ...]
) -> None:
    """`r = if 0 < n then scanned[end - 1] else d`, deferred: what needs it loads it."""
    if not pat:
        return
    outer = Statements(flow)
    some = outer.op("some", Op.LT, i64(0), Var(seg.length))
    defer(flow, nest, tuple(outer.stms))
    neutral = [atom for red in reds for atom in red.neutral]
    for param, flat, ne in zip(pat, flats, neutral, strict=True):
        inner = Statements(flow)
        last = inner.at(param.name.base, flat, inner.op("p", Op.SUB, Var(seg.end), i64(1)))
        choice = If(some, inner.body(last), Body((), (ne,)))
        defer(flow, nest, (single(choice, param, flow.output.loc),))


# ---- reductions ------------------------------------------------------------------------------------------------------


def flat_red(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> Rule:
    """One segred of all rows, whatever their lengths: a device cuts it into equal parts.

    G(Σ, redomap ⊙ (λx̄ → e) d̄ x̄s)  ⟶  segred (p < n*m, q < total) rows ends ⊙ d̄ e
    """
    flow.note(Rule.FLAT_RED, ", ".join(str(p.name) for p in stm.pat))
    seg = segments(flow, nest, exp.width, stm)
    arrays = tuple(
        flow.fresh_param(p.name.base, t.array_of(seg.points)) for p, t in zip(stm.pat, exp.map.ret, strict=True)
    )
    with rows_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        made = seg_body(flow, flat.dims, exp.map.body)
    reds, level = fresh_reductions(flow, exp.reds), flow.context.machine.lowest.level
    certs, flow.output.certs = flow.output.certs, (*flow.output.certs, can_be_counted(flow, seg.total))
    flow.emit(arrays, SegRed(level, made.space, reds, made.body, exp.map.ret, seg.ends_by_point))
    flow.output.certs = certs
    for param, array in zip(stm.pat, arrays, strict=True):
        flow.known.types[param.name] = param.type
        flow.known.elems[param.name] = Elem(over_nest(flow, nest, array.name), nest.indices)
        flow.known.fresh.add(flow.known.elems[param.name].array)
    return Rule.FLAT_RED
