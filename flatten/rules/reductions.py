"""Reductions and scans in a nest: Gr, splitting off a map that is parallel itself, and interchange (IRWIM, ISWIM).

G(Σ, redomap ⊙ (λx̄ → e) d̄ x̄s)   ⟶  segred (Σ, ⟨x̄ ∈ x̄s⟩) ⊙ d̄ e         [Gr]
G(Σ, scanomap ⊙ (λx̄ → e) d̄ x̄s)  ⟶  segscan (Σ, ⟨x̄ ∈ x̄s⟩) ⊙ d̄ e        [Gr]
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Attr, Body, Copied, Lambda, Param, Reduction, Screma, SegRed, SegScan, Stm
from ...ir.rename import rename_lambda
from ...ir.traverse import free_in_lambda
from ...ir.types import Atom, Const, Prim, Type, Var
from ..context.distribute import expand_into
from ..context.nest import Flow, Nest
from ..context.recompute_cost import LIMIT, weight_of
from ..context.segop_bodies import fresh_reductions, is_identity, seg_body
from ..context.trace import Rule
from ..versions.call_stacks import on_stacks
from ..versions.guards import OUTER, choose_calls, choose_reduction, guarded, outer_version
from ..versions.loop_defaults import keeps_rounds
from ..versions.parallelism import exploitable
from ..versions.row_operators import has_row_operator, row_width
from .interchange import in_columns, interchanged_map
from .maps import distributable, enter

NO_OUTER = Attr("flattening", (Attr("no_outer", ()),))
"""On what a rule has taken apart: the whole had the version in which the map stays in the thread."""


def reduction_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """The versions of a redomap, scanomap or any Screma of the two.

    Where the map holds parallelism to exploit: a segred (segscan) whose body is sequential, or the map flattened for
    itself and then the reduction; else the segred alone. An operator on rows that works row by row is interchanged.
    """
    match stm.exp:
        case Screma(_, _, f, scans, reds) as exp if scans or reds:
            pass
        case _:
            return None
    if not all(_operator_is_invariant(flow, op) for op in scans + reds) or not distributable(flow, nest, stm):
        return None
    pat = flow.bind(nest, stm.pat)
    if is_identity(f):
        return _of_values(flow, nest, stm, exp, pat)
    has_rows = any(has_row_operator(flow, op) for op in scans + reds)
    choice = OUTER
    in_thread = on_stacks(flow, f)
    if in_thread is not None:
        choice = choose_calls(flow, stm)
    elif has_rows or exploitable(flow, f.body, [p.name for p in f.params]):
        choice = choose_reduction(flow, stm, has_rows)
    threads = replace(exp, map=in_thread or f)
    if not choice.full:
        return gr(flow, nest, threads, pat)
    if not choice.outer:
        return in_full(flow, nest, stm, exp, pat)
    _versions(flow, nest, stm, threads, pat)
    return Rule.INCREMENTAL


def _versions(flow: Flow, nest: Nest, stm: Stm, threads: Screma, pat: tuple[Param, ...]) -> None:
    """A segred (segscan) with the map of `threads` in its body, and all parallelism of `stm`. By default the first one
    is not taken where the other one makes no rows: sums of whole rows pay nowhere. Scans of rows may."""
    exp = stm.exp
    assert isinstance(exp, Screma)
    outer_pays = Const(Prim.BOOL, bool(exp.scans) or in_columns(flow, exp) is None)

    def in_threads(to: tuple[Param, ...]) -> None:
        gr(flow, nest, threads, to)

    def flat(to: tuple[Param, ...]) -> None:
        in_full(flow, nest, stm, exp, to)

    guarded(flow, pat, [replace(outer_version(flow, enter(flow, nest, exp), in_threads), pays=outer_pays)], flat)


def _operator_is_invariant(flow: Flow, op: Reduction) -> bool:
    """The operator of a segop is the same for all segments."""
    return all(map(flow.is_invariant, op.neutral)) and not any(map(flow.is_variant, free_in_lambda(op.op)))


# ---- Gr --------------------------------------------------------------------------------------------------------------


def gr(flow: Flow, nest: Nest, exp: Screma, pat: tuple[Param, ...]) -> Rule:
    """The reduction or scan of each segment, the map sequential in its body."""
    names = f"{', '.join(str(p.name) for p in pat)} over {nest.points(exp.width)}"
    if exp.scans:
        flow.note(Rule.GR_SCAN, names)
        emit_segscan(flow, enter(flow, nest, exp), exp.scans, pat, exp.map.body, exp.map.ret)
        return Rule.GR_SCAN
    flow.note(Rule.GR_RED, names)
    emit_segred(flow, enter(flow, nest, exp), exp.reds, pat, exp.map.body, exp.map.ret)
    return Rule.GR_RED


def emit_segred(
    flow: Flow, inner: Nest, reds: tuple[Reduction, ...], pat: tuple[Param, ...], body: Body, ret: tuple[Type, ...]
) -> None:
    """Emits `let pat = segred (inner) reds { body }` at the lowest level of the machine, with fresh operators."""
    made = seg_body(flow, inner.dims, body)
    level = flow.context.machine.lowest.level
    flow.emit(pat, SegRed(level, made.space, fresh_reductions(flow, reds), made.body, ret, None))


def emit_segscan(
    flow: Flow, inner: Nest, scans: tuple[Reduction, ...], pat: tuple[Param, ...], body: Body, ret: tuple[Type, ...]
) -> None:
    """Emits `let pat = segscan (inner) scans { body }` at the lowest level of the machine, with fresh operators."""
    made = seg_body(flow, inner.dims, body)
    flow.emit(
        pat, SegScan(flow.context.machine.lowest.level, made.space, fresh_reductions(flow, scans), made.body, ret)
    )


# ---- a map that is parallel itself -----------------------------------------------------------------------------------


def in_full(flow: Flow, nest: Nest, stm: Stm, exp: Screma, pat: tuple[Param, ...]) -> Rule:
    """All parallelism of a redomap: operator and map interchanged at once, or the map on its own first."""
    results = flow.again(stm.pat)
    rule = Rule.FISSION
    stms = fission(flow, exp, results, stm)
    if stms is None:
        rule = Rule.IRWIM if exp.reds else Rule.ISWIM
        stms = interchanged_map(flow, exp, results, stm.loc)
    if stms is None:
        return split(flow, nest, stm, exp, pat)
    flow.note(rule, ", ".join(str(p.name) for p in pat))
    walk_into(flow, nest, stms, results, pat)
    return rule


def fission(flow: Flow, exp: Screma, results: tuple[Param, ...], stm: Stm) -> tuple[Stm, ...] | None:
    """Operators on rows apart from the others (and by the width of the rows), where the map is cheap to have twice.

    redomap ⊙ ⊗ (λx̄ → e1 e2) x̄s  ⟶  redomap ⊙ (λx̄ → e1) x̄s, redomap ⊗ (λx̄ → e2) x̄s
    """
    kinds = tuple(row_width(flow, op) for op in exp.ops)
    has_mapped_values = len(exp.map.ret) > exp.num_ops
    weight = sum(weight_of(inner.exp) for inner in exp.map.body.stms)
    if len(set(kinds)) < 2 or has_mapped_values or weight > LIMIT:
        return None
    return tuple(_only(flow, exp, kinds, kind, results, stm) for kind in dict.fromkeys(kinds))


def _only(
    flow: Flow, exp: Screma, kinds: tuple[Atom | None, ...], kind: Atom | None, results: tuple[Param, ...], stm: Stm
) -> Stm:
    """The operators of one kind, with a map of their own."""
    places: list[int] = []
    position = 0
    for op, own in zip(exp.ops, kinds, strict=True):
        if own == kind:
            places += range(position, position + len(op.neutral))
        position += len(op.neutral)
    ops = tuple(op for op, own in zip(exp.ops, kinds, strict=True) if own == kind)
    f = exp.map
    part = Lambda(f.params, Body(f.body.stms, tuple(f.body.result[k] for k in places)), tuple(f.ret[k] for k in places))
    alone = replace(exp, map=flow.learn(rename_lambda(part, flow.context.names))).with_ops(ops)
    return Stm(tuple(results[k] for k in places), alone, (), (*stm.attrs, NO_OUTER), stm.loc)


def split(flow: Flow, nest: Nest, stm: Stm, exp: Screma, pat: tuple[Param, ...]) -> Rule:
    """Fission of the map from the reduction, so that the map can be flattened.

    redomap ⊙ f d̄ x̄s  ⟶  let ȳs = map f x̄s in reduce ⊙ d̄ ȳs

    The map has no version of its own with `f` in one thread: the segred with `f` in its body does that and more, unless
    points are few, and `f` has loops (`flatten/versions/loop_defaults.py`).
    """
    flow.note(Rule.SPLIT, ", ".join(str(p.name) for p in pat))
    results = flow.again(stm.pat)
    values = exp.num_ops
    inputs = tuple(flow.fresh_param("y", t.array_of(exp.width)) for t in exp.map.ret[:values])
    attrs = stm.attrs if keeps_rounds(flow, exp.map.body) else (*stm.attrs, NO_OUTER)
    mapped = Stm((*inputs, *results[values:]), Screma(exp.width, exp.arrays, exp.map, (), ()), (), attrs, stm.loc)
    operated = replace(exp, arrays=tuple(p.name for p in inputs), map=identity(flow, exp.map.ret[:values]))
    walk_into(flow, nest, (mapped, Stm(results[:values], operated, (), stm.attrs, stm.loc)), results, pat)
    return Rule.SPLIT


def identity(flow: Flow, types: tuple[Type, ...]) -> Lambda:
    """`λx̄ → x̄`."""
    params = tuple(flow.fresh_param("x", t) for t in types)
    return Lambda(params, Body((), tuple(Var(p.name) for p in params)), types)


def walk_into(
    flow: Flow, nest: Nest, stms: tuple[Stm, ...], results: tuple[Param, ...], pat: tuple[Param, ...]
) -> None:
    """Flatten statements of the nest, and bind `pat` to arrays of the values `results` that they define."""
    atoms = tuple(Var(p.name) for p in results)
    flow.context.walk(flow, nest, stms, atoms)
    if nest.dims:
        expand_into(flow, nest, atoms, pat)
        return
    for param, atom in zip(pat, atoms, strict=True):
        flow.emit((param,), Copied(atom))


def _of_values(flow: Flow, nest: Nest, stm: Stm, exp: Screma, pat: tuple[Param, ...]) -> Rule:
    """Operators on values that are there: each for itself where one is interchanged, else all together."""
    if not any(has_row_operator(flow, op) for op in exp.ops):
        return gr(flow, nest, exp, pat)
    flow.note(Rule.IRWIM if exp.reds else Rule.ISWIM, ", ".join(str(p.name) for p in pat))
    results = flow.again(stm.pat)
    walk_into(flow, nest, of_rows(flow, stm, exp, results), results, pat)
    return Rule.IRWIM if exp.reds else Rule.ISWIM


def of_rows(flow: Flow, stm: Stm, exp: Screma, results: tuple[Param, ...]) -> tuple[Stm, ...]:
    """A reduction or scan of rows that are there, interchanged; several of them, each by itself."""
    stms: list[Stm] = []
    position = 0
    for op in exp.ops:
        taken = slice(position, position + len(op.neutral))
        position = taken.stop
        alone = replace(exp, arrays=exp.arrays[taken], map=identity(flow, exp.map.ret[taken])).with_ops((op,))
        stms.append(Stm(results[taken], alone, (), stm.attrs, stm.loc))
    made = interchanged_map(flow, exp, results, stm.loc) if len(stms) == 1 else stms
    assert made is not None, "one operator on rows"
    return tuple(made)
