"""Branches whose condition, and loops whose trip count or state, varies over the nest.

    G(Σ, if c then e1 else e2)  ⟶  let zs1 = G(Σ1, e1) in let zs2 = G(Σ2, e2) in merge c zs1 zs2        [varying branch]

Σ1 is the flat nest of the width `if c then 1 else 0`, the points that take the first branch: nothing is executed where
the program would not have. A point finds its result at the start of its segment, of one element or none.

    G(Σ, loop z̄ = z̄0 for i < n do e)  ⟶  loop z̄s = .. for i < max n do G(Σ, if i < n then e else z̄)    [varying loop]

and `while` any row goes on. State of varying size is carried as flat data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...ir.core import (
    Body,
    Copied,
    ForLoop,
    If,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Reduction,
    Reshape,
    SegRed,
    Stm,
    WhileLoop,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_body, free_in_stm
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64, scalar
from ..context.distribute import expand, expand_owned, frontier, settle
from ..context.nest import Elem, Flow, Nest, Segments, host_body
from ..context.segop_bodies import defer, element_of, emit_segmap, seg_body, single
from ..context.trace import Rule
from ..versions.guards import parallelism_of
from ..versions.parallelism import branches_vary, loop_varies
from ..versions.segment_descriptors import bind_rows, flat_nest, is_varying, segments
from .writes import last_row, own_rows

# ---- branches --------------------------------------------------------------------------------------------------------


def varying_if_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """The points of each branch are flattened for themselves.

    G(Σ, if c then e1 else e2)  ⟶  let zs1 = G(Σ1, e1) in let zs2 = G(Σ2, e2) in merge c zs1 zs2
    """
    match stm.exp:
        case If(cond, then, orelse) if nest.dims and branches_vary(flow, stm, set()):
            wanted = frontier(flow, free_in_stm(stm))
        case _:
            return None
    if wanted is None:
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.VARYING_IF, ", ".join(str(p.name) for p in stm.pat))
    first, second = _taken(flow, nest, cond)
    sides = (_side(flow, nest, stm, first, then), _side(flow, nest, stm, second, orelse))
    for place, param in enumerate(stm.pat):
        _merge(flow, nest, stm, param, cond, (sides[0][place], sides[1][place]))
    return Rule.VARYING_IF


def _taken(flow: Flow, nest: Nest, cond: Atom) -> tuple[Atom, Atom]:
    """1 where the first (the second) branch is taken, else 0."""
    first, second = flow.fresh_param("taken", I64), flow.fresh_param("taken", I64)
    stms = (
        single(PrimOp(Op.SELECT, Prim.I64, (cond, i64(1), i64(0))), first, flow.loc),
        single(PrimOp(Op.SUB, Prim.I64, (i64(1), Var(first.name))), second, flow.loc),
    )
    defer(flow, nest, stms)
    return Var(first.name), Var(second.name)


@dataclass(frozen=True, slots=True)
class Taken:
    """A result of a branch: an array over the points that take it, or (`starts`) flat data of their rows."""

    array: Name
    starts: Name | None
    points: Segments


def _side(flow: Flow, nest: Nest, stm: Stm, taken: Atom, body: Body) -> list[Taken]:
    """The branch over the points that take it."""
    seg = segments(flow, nest, taken, stm)
    own = {Var(p.name) for p in stm.pat}
    with flat_nest(flow, nest, seg) as (flat, _):
        flow.walk(flow, flat, body.stms, body.result)
        made: list[Taken] = []
        for param, atom in zip(stm.pat, body.result, strict=True):
            if is_varying(flow, param.type) or own & set(param.type.shape[:1]):
                made.append(Taken(*_rows(flow, flat, atom, stm), seg))
            else:
                (array,) = expand(flow, flat, (regular(flow, flat, atom, param.type),))
                made.append(Taken(array, None, seg))
    return made


def _rows(flow: Flow, flat: Nest, atom: Atom, stm: Stm) -> tuple[Name, Name]:
    """Flat data of what is a row of varying size for each point of the branch, and where the rows start."""
    assert isinstance(atom, Var)
    seg = segments(flow, flat, flow.types[atom.name].shape[0], replace(stm, exp=Copied(atom)))
    return last_row(flow, flat, seg, atom.name), seg.starts


def regular(flow: Flow, nest: Nest, atom: Atom, t: Type) -> Atom:
    """`atom` under its type outside of the body that gives it, whose sizes are the same all over the nest."""
    if not isinstance(atom, Var) or flow.is_regular((flow.types[atom.name],)):
        return atom
    param = flow.fresh_param(atom.name.base, t)
    defer(flow, nest, (single(Reshape(t.shape, atom.name), param, flow.loc),))
    return Var(param.name)


def _merge(flow: Flow, nest: Nest, stm: Stm, param: Param, cond: Atom, sides: tuple[Taken, Taken]) -> None:
    """The result of the branch that was taken: deferred if it is a scalar, else copied."""
    element = scalar(param.type.prim)
    if not param.type.shape:
        defer(flow, nest, (_choice(flow, cond, sides, (), param),))
        return
    value = flow.fresh_param(param.name.base, element)
    if sides[0].starts is None:
        inner = tuple((flow.fresh_param("l", I64).name, size) for size in param.type.shape)
        body = _choice(flow, cond, sides, tuple(Var(name) for name, _ in inner), value)
        emit_segmap(flow, nest.dims + inner, flow.bind(nest, (param,)), Body((body,), (Var(value.name),)), (element,))
        return
    seg = segments(flow, nest, param.type.shape[0], stm)
    made = flow.fresh_param(param.name.base, Type(param.type.prim, (seg.total, *param.type.shape[1:])))
    with flat_nest(flow, nest, seg) as (flat, k):
        inner = tuple((flow.fresh_param("l", I64).name, size) for size in param.type.shape[1:])
        body = _choice(flow, cond, sides, (Var(k), *(Var(name) for name, _ in inner)), value)
        emit_segmap(flow, flat.dims + inner, (made,), Body((body,), (Var(value.name),)), (element,))
    bind_rows(flow, nest, seg, (param,), (made.name,))


def _choice(flow: Flow, cond: Atom, sides: tuple[Taken, Taken], indices: tuple[Atom, ...], to: Param) -> Stm:
    """`if c then zs1[start1, k] else zs2[start2, k]`"""
    then, orelse = (_at(flow, side, indices, to) for side in sides)
    return single(If(cond, then, orelse), to, flow.loc)


def _at(flow: Flow, side: Taken, indices: tuple[Atom, ...], to: Param) -> Body:
    value = flow.fresh_param(to.name.base, to.type)
    shape = flow.types[side.array].shape
    if side.starts is None:
        load = element_of(side.array, shape, (Var(side.points.start), *indices))
        return Body((single(load, value, flow.loc),), (Var(value.name),))
    start, place = flow.fresh_param("start", I64), flow.fresh_param("p", I64)
    stms = (
        single(element_of(side.starts, (side.points.total,), (Var(side.points.start),)), start, flow.loc),
        single(PrimOp(Op.ADD, Prim.I64, (Var(start.name), indices[0])), place, flow.loc),
        single(element_of(side.array, shape, (Var(place.name), *indices[1:])), value, flow.loc),
    )
    return Body(stms, (Var(value.name),))


# ---- loops -----------------------------------------------------------------------------------------------------------


def varying_loop_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A loop whose trip count or state varies over the nest is a loop over the longest of them.

    G(Σ, loop z̄ = z̄0 for i < n do e)  ⟶  loop z̄s = .. for i < max n do G(Σ, if i < n then e else z̄)
    """
    match stm.exp:
        case Loop() as loop if nest.dims and loop_varies(flow, stm, set()):
            wanted = frontier(flow, free_in_stm(stm))
        case _:
            return None
    if wanted is None:
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.VARYING_LOOP, ", ".join(str(p.name) for p in stm.pat))
    descriptors = [_descriptor(flow, nest, stm, p) for p in loop.params]
    inits = _inits(flow, nest, loop, descriptors)
    match loop.form:
        case ForLoop(index, bound, prim):
            made = _for(flow, nest, loop, descriptors, inits, ForLoop(index, bound, prim))
        case WhileLoop(cond):
            made = _while(flow, nest, loop, descriptors, inits, cond)
    _bind(flow, nest, stm.pat, descriptors, made)
    return Rule.VARYING_LOOP


def _descriptor(flow: Flow, nest: Nest, stm: Stm, param: Param) -> Segments | None:
    return segments(flow, nest, param.type.shape[0], stm) if is_varying(flow, param.type) else None


def _inits(flow: Flow, nest: Nest, loop: Loop, descriptors: list[Segments | None]) -> tuple[Name, ...]:
    """What a loop starts with: arrays over the nest, flat data of what varies in size."""
    reads = free_in_body(loop.body)
    given = list(zip(loop.params, loop.inits, descriptors, strict=True))
    atoms = tuple(regular(flow, nest, atom, p.type) for p, atom, seg in given if seg is None)
    arrays = iter(expand_owned(flow, nest, atoms, reads))
    return tuple(
        own_rows(flow, nest, seg, (_name(atom),), reads)[0] if seg is not None else next(arrays)
        for _, atom, seg in given
    )


def _nexts(
    flow: Flow, nest: Nest, loop: Loop, descriptors: list[Segments | None], atoms: tuple[Atom, ...]
) -> tuple[Name, ...]:
    """What an iteration hands to the next one."""
    given = list(zip(loop.params, atoms, descriptors, strict=True))
    arrays = iter(expand(flow, nest, tuple(regular(flow, nest, atom, p.type) for p, atom, seg in given if seg is None)))
    return tuple(last_row(flow, nest, seg, _name(atom)) if seg is not None else next(arrays) for _, atom, seg in given)


def _name(atom: Atom) -> Name:
    assert isinstance(atom, Var)
    return atom.name


def _params(flow: Flow, nest: Nest, loop: Loop, descriptors: list[Segments | None]) -> tuple[Param, ...]:
    return tuple(
        flow.fresh_param(
            p.name.base,
            p.type.array_of(*nest.widths) if seg is None else Type(p.type.prim, (seg.total, *p.type.shape[1:])),
        )
        for p, seg in zip(loop.params, descriptors, strict=True)
    )


def _bind(
    flow: Flow, nest: Nest, pat: tuple[Param, ...], descriptors: list[Segments | None], arrays: tuple[Name, ...]
) -> None:
    """Variables of the nest as elements or rows of what a loop carries."""
    for param, seg, array in zip(pat, descriptors, arrays, strict=True):
        flow.types[param.name] = param.type
        if seg is None:
            flow.elems[param.name] = Elem(array, nest.indices)
            flow.fresh.add(array)
        else:
            bind_rows(flow, nest, seg, (param,), (array,))


def _iteration(
    flow: Flow,
    nest: Nest,
    loop: Loop,
    descriptors: list[Segments | None],
    active: Atom | None,
    carried: tuple[Param, ...],
) -> tuple[Name, ...]:
    """One iteration for the rows that go on; gives what is carried next."""
    _bind(flow, nest, loop.params, descriptors, tuple(p.name for p in carried))
    if active is None:
        flow.walk(flow, nest, loop.body.stms, loop.body.result)
        return _nexts(flow, nest, loop, descriptors, loop.body.result)
    results = flow.again(loop.params)
    stays = Body((), tuple(Var(p.name) for p in loop.params))
    atoms = tuple(Var(p.name) for p in results)
    flow.walk(flow, nest, (Stm(results, If(active, loop.body, stays), (), (), flow.loc),), atoms)
    return _nexts(flow, nest, loop, descriptors, atoms)


def _for(
    flow: Flow, nest: Nest, loop: Loop, descriptors: list[Segments | None], inits: tuple[Name, ...], form: ForLoop
) -> tuple[Name, ...]:
    params, varies = _params(flow, nest, loop, descriptors), not flow.is_invariant(form.bound)
    most = _greatest(flow, nest, form.bound, form.prim) if varies else form.bound
    flow.types[form.index] = scalar(form.prim)

    def work() -> tuple[Atom, ...]:
        active: Atom | None = None
        if varies:
            test = flow.fresh_param("active", BOOL)
            less = PrimOp(Op.LT, form.prim, (Var(form.index), form.bound))
            defer(flow, nest, (single(less, test, flow.loc),))
            active = Var(test.name)
        return tuple(map(Var, _iteration(flow, nest, loop, descriptors, active, params)))

    body = host_body(flow, work)
    results = flow.again(params)
    flow.emit(results, Loop(params, tuple(map(Var, inits)), ForLoop(form.index, most, form.prim), body))
    return tuple(p.name for p in results)


def _while(
    flow: Flow, nest: Nest, loop: Loop, descriptors: list[Segments | None], inits: tuple[Name, ...], cond: Name
) -> tuple[Name, ...]:
    params = _params(flow, nest, loop, descriptors)
    place = [p.name for p in loop.params].index(cond)
    go = flow.fresh_param("go", BOOL)

    def work() -> tuple[Atom, ...]:
        after = _iteration(flow, nest, loop, descriptors, Var(cond), params)
        return (_any(flow, nest, after[place]), *map(Var, after))

    first = _any(flow, nest, inits[place])
    body = host_body(flow, work)
    results = flow.again((go, *params))
    flow.emit(results, Loop((go, *params), (first, *map(Var, inits)), WhileLoop(go.name), body))
    return tuple(p.name for p in results[1:])


def _greatest(flow: Flow, nest: Nest, bound: Atom, prim: Prim) -> Atom:
    """The greatest trip count of the nest, 0 if there is none."""
    (bounds,) = expand(flow, nest, (bound,))
    return _reduced(flow, nest, bounds, Op.MAX, prim, Const(prim, 0))


def _any(flow: Flow, nest: Nest, flags: Name) -> Atom:
    return _reduced(flow, nest, flags, Op.OR, Prim.BOOL, Const(Prim.BOOL, False))


def _reduced(flow: Flow, nest: Nest, array: Name, op: Op, prim: Prim, neutral: Const) -> Atom:
    """The reduction of an array over the nest, of all its points."""
    points, element = parallelism_of(flow, nest), scalar(prim)
    if nest.depth > 1:
        array = flow.emit_as(array.base, element.array_of(points), Reshape((points,), array))
    a, b, r, x, p = (flow.fresh_param(base, element) for base in ("a", "b", "r", "x", "p"))
    combine = single(PrimOp(op, prim, (Var(a.name), Var(b.name))), r, flow.loc)
    red = Reduction(Lambda((a, b), Body((combine,), (Var(r.name),)), (element,)), (neutral,), True)
    load = single(element_of(array, (points,), (Var(p.name),)), x, flow.loc)
    made = seg_body(flow, ((p.name, points),), Body((load,), (Var(x.name),)))
    reduced = SegRed(flow.machine.lowest.level, made.space, (red,), made.body, (element,), None)
    return Var(flow.emit_as("most", element, reduced))
