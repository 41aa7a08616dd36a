"""Rows of more than one dimension in parallelism of varying width: maps that give rows of varying size, and operators
that work on rows.

    G(Σ, map (λx̄ → r) x̄s)  ⟶  rs = G(Σf, r), ys = reshape [w][v] rs[start :+ w*v]          r: [v]t, v varies over Σ

The rows of all points together are flat data again, of a width that varies over the flat nest Σf; those of one point
lie one after the other, since the size of a row does not vary within it.

    G(Σ, scan (map ⊕) (replicate m d) xss)    ⟶  segscan (j < m, q < total) ⊙' d' { (k = 0, xss[k, j]) }
    G(Σ, reduce (map ⊕) (replicate m d) xss)  ⟶  G(Σ, map (λj → redomap ⊕ d (λx → x[j]) xss) (iota m))
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import (
    Body,
    Copied,
    If,
    Index,
    Lambda,
    Param,
    Rearrange,
    Reduction,
    Reshape,
    Screma,
    SegScan,
    Slice,
    Stm,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import free_in_stm
from ...ir.types import BOOL, I64, Atom, Name, Type, Var, i64
from ..context.distribute import expand, frontier, settle
from ..context.nest import Elem, Flow, Nest
from ..context.segop_bodies import defer, is_identity, seg_body, single
from ..context.statements import Statements
from ..context.trace import Rule
from ..rules.interchange import element_reduction, interchanged_map
from ..rules.maps import enter
from ..rules.reductions import of_rows
from ..rules.writes import nest_atoms
from ..versions.parallelism import flattens_varying, gives_varying_rows, works_on_varying_rows
from ..versions.row_operators import has_row_operator, row_width
from ..versions.segment_descriptors import bind_rows, flat_nest, is_varying, segments
from .soacs import enter_rows, flagged, split_varying
from .writes import last_row

# ---- rows of varying size in rows of varying number ------------------------------------------------------------------


def rows_of_rows_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A map that gives rows whose size varies over the nest, as its own width may.

    G(Σ, map (λx̄ → r) x̄s)  ⟶  rs = G(Σf, r), ys = reshape [w][v] rs[start :+ w*v]
    """
    match stm.exp:
        case Screma(_, _, f, scans, reds) as exp if nest.dims and not flow.is_regular(f.ret):
            wanted = frontier(flow, free_in_stm(stm))
        case _:
            return None
    varies = flattens_varying(flow, stm, set())
    if wanted is None or not (varies or gives_varying_rows(flow, stm, set())):
        return None
    if scans or reds:
        return split_varying(flow, nest, stm, exp)
    settle(flow, nest, wanted)
    flow.note(Rule.FLAT_MAP, ", ".join(str(p.name) for p in stm.pat))
    (_rows_in_segments if varies else _rows_in_rows)(flow, nest, stm, exp)
    return Rule.FLAT_MAP


def _rows_in_segments(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> None:
    """The rows of all points one after the other, over the flat nest of a width that varies."""
    seg = segments(flow, nest, exp.width, stm)
    with flat_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        made = _walked(flow, flat, stm, exp.map)
    first = Place(Var(seg.length), (seg.total,), (Var(seg.start),))
    for param, (array, starts) in zip(stm.pat, made, strict=True):
        if starts is None:
            bind_rows(flow, nest, seg, (param,), (array,))
        else:
            _bind_rows_of_rows(flow, nest, first, param, array, starts)


def _rows_in_rows(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> None:
    """The same over the nest and a dimension for a width that is the same for all points."""
    inner = enter(flow, nest, exp)
    made = _walked(flow, inner, stm, exp.map)
    first = Place(exp.width, inner.widths, (*nest_atoms(nest), i64(0)))
    for param, (array, starts) in zip(stm.pat, made, strict=True):
        if starts is None:
            flow.known.types[param.name] = param.type
            flow.known.elems[param.name] = Elem(array, nest.indices)
            flow.known.fresh.add(array)
        else:
            _bind_rows_of_rows(flow, nest, first, param, array, starts)


def _walked(flow: Flow, nest: Nest, stm: Stm, f: Lambda) -> list[tuple[Name, Name | None]]:
    """What the body gives at each point: an array over the nest, or flat data and where the rows start."""
    flow.context.walk(flow, nest, f.body.stms, f.body.result)
    return [
        flat_rows(flow, nest, atom, stm) if is_varying(flow, t) else (expand(flow, nest, (atom,))[0], None)
        for t, atom in zip(f.ret, f.body.result, strict=True)
    ]


def flat_rows(flow: Flow, nest: Nest, atom: Atom, stm: Stm) -> tuple[Name, Name]:
    """Flat data of what is a row of varying size for each point of the nest, and where the rows start."""
    assert isinstance(atom, Var)
    seg = segments(flow, nest, flow.known.types[atom.name].shape[0], replace(stm, exp=Copied(atom)))
    return last_row(flow, nest, seg, atom.name), seg.starts


@dataclass(frozen=True, slots=True)
class Place:
    """Where the first of a point's rows has its start: at these indices of the starts, if any of `count` exists."""

    count: Atom
    shape: tuple[Atom, ...]
    indices: tuple[Atom, ...]


def _bind_rows_of_rows(flow: Flow, nest: Nest, at: Place, param: Param, array: Name, starts: Name) -> None:
    """`ys = reshape [w][v] array[s :+ w*v]`, s where the first row of the point starts."""
    rows, size, *rest = param.type.shape
    made, load = Statements(flow), Statements(flow)
    some = made.op("some", Op.LT, i64(0), at.count)
    start = If(some, load.body(load.at("s", starts, *at.indices)), Body((), (i64(0),)))
    s, count = made.let("s", start, I64), made.op("count", Op.MUL, rows, size)
    view = Index(array, (Slice(s, count, i64(1)), *whole(tuple(rest))), True)
    part = made.let(param.name.base, view, Type(param.type.prim, (count, *rest)))
    defer(flow, nest, (*made.stms, single(Reshape(param.type.shape, part.name), param, flow.output.loc)))


# ---- operators on rows -----------------------------------------------------------------------------------------------


def row_operators_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A reduction or scan of varying width whose operator works row by row, on rows of one size; or one of any width on
    rows whose size varies.

    G(Σ, reduce (map ⊕) (replicate m d) xss)  ⟶  G(Σ, map (λj → redomap ⊕ d (λx → x[j]) xss) (iota m))
    """
    match stm.exp:
        case Screma(_, _, f, scans) as exp if nest.dims:
            pass
        case _:
            return None
    if not any(has_row_operator(flow, op) for op in exp.ops) or frontier(flow, free_in_stm(stm)) is None:
        return None
    varies = flattens_varying(flow, stm, set())
    if not (varies or (works_on_varying_rows(flow, stm, set()) and all(_is_flat(flow, op) for op in exp.ops))):
        return None
    if not is_identity(f):
        stms = None if scans else interchanged_map(flow, exp, stm.pat, stm.loc)
        if stms is None:
            return split_varying(flow, nest, stm, exp)
        flow.note(Rule.IRWIM, ", ".join(str(p.name) for p in stm.pat))
        flow.context.walk(flow, nest, stms, tuple(Var(p.name) for p in stm.pat))
        return Rule.IRWIM
    if varies and len(scans) == 1:
        return flat_scan_of_rows(flow, nest, stm, exp)
    flow.note(Rule.IRWIM, ", ".join(str(p.name) for p in stm.pat))
    stms = of_rows(flow, stm, exp, stm.pat)
    flow.context.walk(flow, nest, stms, tuple(Var(p.name) for p in stm.pat))
    return Rule.IRWIM


def _is_flat(flow: Flow, op: Reduction) -> bool:
    """Whether an operator works on numbers, or row by row."""
    return has_row_operator(flow, op) or not any(t.shape for t in op.op.ret)


def flat_scan_of_rows(flow: Flow, nest: Nest, stm: Stm, exp: Screma) -> Rule:
    """The columns of the flat data, scanned side by side, each starting again at every segment.

    G(Σ, scan (map ⊕) (replicate m d) xss)    ⟶  segscan (j < m, q < total) ⊙' d' { (k = 0, xss[k, j]) }
    """
    (op,) = exp.scans
    width, element = row_width(flow, op), element_reduction(flow, op, flow.output.loc)
    assert width is not None
    flow.note(Rule.ISWIM, ", ".join(str(p.name) for p in stm.pat))
    seg = segments(flow, nest, exp.width, stm)
    types = tuple(t.row() for t in exp.map.ret)
    j, inner = flow.fresh_param("j", I64), Statements(flow)
    with flat_nest(flow, nest, seg) as (flat, k):
        enter_rows(flow, flat, k, seg, exp.map.params, exp.arrays)
        flag = inner.op("flag", Op.EQ, Var(k), i64(0))
        values = [inner.at("x", x.name, Var(j.name)) for x in exp.map.params]
        made = seg_body(flow, ((j.name, width), *flat.dims), inner.body(flag, *values))
    ret = (BOOL, *types)
    scanned = tuple(flow.fresh_param("s", t.array_of(width, seg.total)) for t in ret)
    level = flow.context.machine.lowest.level
    flow.emit(scanned, SegScan(level, made.space, (flagged(flow, (element,)),), made.body, ret))
    rows = tuple(
        flow.emit_as(p.name.base, Type(t.prim, (seg.total, width)), Rearrange((1, 0), s.name))
        for p, t, s in zip(stm.pat, types, scanned[1:], strict=True)
    )
    bind_rows(flow, nest, seg, stm.pat, rows)
    for row in rows:
        flow.known.fresh.discard(row)  # a view, which may not be overwritten
    return Rule.ISWIM
