"""Versions of parallelism of varying width: sequential in the threads of the nest, or on flat data.

The sequential version pays for the longest row. Where the widths are cheap to know, its guard compares the parallelism
that is left of the points: all work over the work of the longest row,

    if t ≤ Par(Σ) / ε then segmap Σ e else G(Σ, e)        ε = Par(Σ) * max ns / sum ns

ε is the padded work of one thread per row: 1 for rows of one length, up to Par(Σ) if one row has all elements. An entry
of `ns` is 1 and the widths of the point. In a nest with other parallelism, statements of varying width have versions
of their own.
"""

from __future__ import annotations

from ..ir.core import Body, Param, PrimOp, Reduction, Reshape, Screma, SegRed, Stm
from ..ir.ops import Op
from ..ir.traverse import free_in_stm
from ..ir.types import BOOL, I64, Atom, Name, Prim, Var, i64
from .irregular import binary, saturating_sum
from .nest import Elem, Flow, Nest
from .parallelism import flattens_varying, is_varying_stm
from .segbody import element_of, emit_segmap, seg_body, single
from .spread import expand_into, frontier
from .trace import Rule
from .versions import Emit, Version, guarded, outer_version, parallelism_of
from .weight import HEAVY, LIMIT, weight_of

GRAIN = 1 << 14
"""Work that is done before the kernels of the flat version are started: its elements count as parallelism."""

# ---- the guard -------------------------------------------------------------------------------------------------------


def sequential_version(flow: Flow, nest: Nest, stms: tuple[Stm, ...], emit: Emit) -> Version:
    """The version that runs these statements in the threads of the nest, taken where these have enough to do."""
    measured = measured_by(flow, stms)
    if measured is None:
        return outer_version(flow, nest, emit)
    return Version("suff_balance", lambda: balance(flow, nest, *measured), emit)


def measured_by(flow: Flow, stms: tuple[Stm, ...]) -> tuple[tuple[Stm, ...], tuple[Atom, ...]] | None:
    """The widths that vary among these statements, and what computes them; None if that is not cheap."""
    bound = {p.name: stm for stm in stms for p in stm.pat}
    widths = tuple(dict.fromkeys(width for stm in stms for width in _varying_width(flow, stm, set(bound))))
    needed: dict[Name, Stm] = {}
    work = [width.name for width in widths if isinstance(width, Var)]
    while work:
        name = work.pop()
        if name in bound and name not in needed:
            needed[name] = bound[name]
            work.extend(free_in_stm(bound[name]))
    before = tuple(stm for stm in stms if any(p.name in needed for p in stm.pat))
    if not widths or any(weight_of(stm.exp) > LIMIT or any(p.type.shape for p in stm.pat) for stm in before):
        return None
    given = {name for stm in before for name in free_in_stm(stm)} | {w.name for w in widths if isinstance(w, Var)}
    return (before, widths) if frontier(flow, given - set(bound)) is not None else None


def _varying_width(flow: Flow, stm: Stm, varies: set[Name]) -> tuple[Atom, ...]:
    return (stm.exp.width,) if isinstance(stm.exp, Screma) and flattens_varying(flow, stm, varies) else ()


def balance(flow: Flow, nest: Nest, before: tuple[Stm, ...], widths: tuple[Atom, ...]) -> Atom:
    """`sum ns / max ns`, or `sum ns` where that is below `GRAIN`; 0 if there are no points."""
    flow.note(Rule.BALANCE, ", ".join(str(w.name) for w in widths if isinstance(w, Var)))
    work = flow.fresh_param("works", I64.array_of(*nest.widths))
    emit_segmap(flow, nest.dims, (work,), _work(flow, before, widths), (I64,))
    points = parallelism_of(flow, nest)
    array = work.name if nest.depth == 1 else flow.emit_as("works", I64.array_of(points), Reshape((points,), work.name))
    p, x = flow.fresh_param("p", I64), flow.fresh_param("x", I64)
    load = single(element_of(array, (points,), (Var(p.name),)), x, flow.loc)
    made = seg_body(flow, ((p.name, points),), Body((load,), (Var(x.name), Var(x.name))))
    reds = (saturating_sum(flow), Reduction(binary(flow, Op.MAX), (i64(1),), True))
    total, most = flow.fresh_param("work", I64), flow.fresh_param("longest", I64)
    flow.emit((total, most), SegRed(flow.machine.lowest.level, made.space, reds, made.body, (I64, I64)))
    spread = flow.emit_as("balance", I64, PrimOp(Op.QUOT, Prim.I64, (Var(total.name), Var(most.name))))
    little = flow.emit_as("little", BOOL, PrimOp(Op.LT, Prim.I64, (Var(total.name), i64(GRAIN))))
    return Var(flow.emit_as("par", I64, PrimOp(Op.SELECT, Prim.I64, (Var(little), Var(total.name), Var(spread)))))


def _work(flow: Flow, before: tuple[Stm, ...], widths: tuple[Atom, ...]) -> Body:
    """`1 + max 0 w1 + max 0 w2 ..`; a sum that overflows counts as large."""
    stms = list(before)

    def let(op: Op, left: Atom, right: Atom) -> Atom:
        param = flow.fresh_param("w", I64)
        stms.append(single(PrimOp(op, Prim.I64, (left, right)), param, flow.loc))
        return Var(param.name)

    total: Atom = i64(1)
    for width in widths:
        total = let(Op.ADD, total, let(Op.MIN, let(Op.MAX, width, i64(0)), i64(1 << 56)))
    return Body(tuple(stms), (total,))


# ---- statements beside other parallelism -----------------------------------------------------------------------------


def versions_rule(flow: Flow, nest: Nest, stms: tuple[Stm, ...], result: tuple[Atom, ...]) -> int:
    """Statements of varying width that others of the nest follow, sequential or flat under a guard; gives how many of
    `stms`, the first ones, are done.

    G(Σ, let x̄ = e1 in e2)  ⟶  let x̄s = if t ≤ Par(Σ)/ε then segmap Σ e1 else G(Σ, e1) in G(Σ', e2)
    """
    count = _group(flow, stms)
    if not flow.mixed or not count or flow.guards.made + 1 >= flow.machine.max_versions:
        return 0
    group, rest = stms[:count], stms[count:]
    needed = {name for stm in rest for name in free_in_stm(stm)} | {a.name for a in result if isinstance(a, Var)}
    pat = tuple(p for stm in group for p in stm.pat if p.name in needed)
    wanted = {name for stm in group for name in free_in_stm(stm)}
    if any(p.type.shape for p in pat) or not pat or frontier(flow, wanted) is None:
        return 0
    atoms = tuple(Var(p.name) for p in pat)

    def in_threads(to: tuple[Param, ...]) -> None:
        flow.note(Rule.G1, ", ".join(str(p.name) for p in to))
        emit_segmap(flow, nest.dims, to, Body(group, atoms), tuple(p.type for p in pat))

    def flat(to: tuple[Param, ...]) -> None:
        mixed, flow.mixed = flow.mixed, False
        flow.walk(flow, nest, group, atoms)
        flow.mixed = mixed
        expand_into(flow, nest, atoms, to)

    arrays = tuple(flow.fresh_param(p.name.base, p.type.array_of(*nest.widths)) for p in pat)
    guarded(flow, arrays, [sequential_version(flow, nest, group, in_threads)], flat)
    for param, array in zip(pat, arrays, strict=True):
        flow.elems[param.name] = Elem(array.name, nest.indices)
        flow.fresh.add(array.name)
    return count


def _group(flow: Flow, stms: tuple[Stm, ...]) -> int:
    """How many of the first statements are of varying width, or cheap and between two that are."""
    varies: set[Name] = set()
    count = 0
    for place, stm in enumerate(stms):
        if is_varying_stm(flow, stm, varies):
            count = place + 1
        elif place == 0 or weight_of(stm.exp) >= HEAVY:
            break
        varies.update(p.name for p in stm.pat)
    return count
