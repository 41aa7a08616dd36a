"""Branches whose condition, and loops whose trip count or state, varies over the nest.

    G(Σ, if c then e1 else e2)  ⟶  let zs1 = G(Σ1, e1) in let zs2 = G(Σ2, e2) in merge c zs1 zs2        [varying branch]

Σ1 is the flat nest of the width `if c then 1 else 0`, the points that take the first branch: nothing is executed where
the program would not have. A point finds its result at the start of its segment, of one element or none.

    G(Σ, loop z̄ = z̄0 for i < n do e)  ⟶  loop z̄s = .. for i < max n do G(Σ, if i < n then e else z̄)    [varying loop]

and `while` any row goes on. State of varying size is carried as flat data; where an iteration changes its size, with
the sizes, of which each iteration makes the descriptor anew.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import (
    Body,
    Copied,
    ForLoop,
    If,
    Loop,
    Param,
    PrimOp,
    Reshape,
    SegRed,
    Stm,
    WhileLoop,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import substitute_type
from ...ir.traverse import free_in_body, free_in_stm
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64, scalar
from ..context.distribute import expand, expand_owned, frontier, settle
from ..context.nest import Elem, Flow, Nest, Segments, host_body
from ..context.segop_bodies import defer, emit_segmap, seg_body, single
from ..context.statements import Statements, monoid
from ..context.trace import Rule
from ..versions.guards import parallelism_of
from ..versions.parallelism import branches_vary, loop_varies
from ..versions.segment_descriptors import bind_rows, by_point, flat_nest, is_varying, segments, segments_of
from .rows import flat_rows
from .writes import last_row, own_rows

# ---- branches --------------------------------------------------------------------------------------------------------


def varying_if_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """The points of each branch are flattened for themselves.

    G(Σ, if c then e1 else e2)  ⟶  let zs1 = G(Σ1, e1) in let zs2 = G(Σ2, e2) in merge c zs1 zs2
    """
    match stm.exp:
        case If(cond, then, orelse) if branches_vary(flow, stm, set()):
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
    made = Statements(flow)
    first = made.op("taken", Op.SELECT, cond, i64(1), i64(0))
    second = made.op("taken", Op.SUB, i64(1), first)
    defer(flow, nest, tuple(made.stms))
    return first, second


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
        flow.context.walk(flow, flat, body.stms, body.result)
        made: list[Taken] = []
        for param, atom in zip(stm.pat, body.result, strict=True):
            if is_varying(flow, param.type) or own & set(param.type.shape[:1]):
                made.append(Taken(*flat_rows(flow, flat, atom, stm), seg))
            else:
                (array,) = expand(flow, flat, (regular(flow, flat, atom, param.type),))
                made.append(Taken(array, None, seg))
    return made


def regular(flow: Flow, nest: Nest, atom: Atom, t: Type) -> Atom:
    """`atom` under its type outside of the body that gives it, whose sizes are the same all over the nest."""
    if not isinstance(atom, Var) or flow.is_regular((flow.known.types[atom.name],)):
        return atom
    param = flow.fresh_param(atom.name.base, t)
    defer(flow, nest, (single(Reshape(t.shape, atom.name), param, flow.output.loc),))
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
    return single(If(cond, then, orelse), to, flow.output.loc)


def _at(flow: Flow, side: Taken, indices: tuple[Atom, ...], to: Param) -> Body:
    inner, point = Statements(flow), Var(side.points.start)
    if side.starts is None:
        places = (point, *indices)
    else:
        places = (inner.op("p", Op.ADD, inner.at("start", side.starts, point), indices[0]), *indices[1:])
    return inner.body(inner.at(to.name.base, side.array, *places))


# ---- loops -----------------------------------------------------------------------------------------------------------


def varying_loop_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A loop whose trip count or state varies over the nest is a loop over the longest of them.

    G(Σ, loop z̄ = z̄0 for i < n do e)  ⟶  loop z̄s = .. for i < max n do G(Σ, if i < n then e else z̄)
    """
    match stm.exp:
        case Loop() as loop if loop_varies(flow, stm, set()):
            wanted = frontier(flow, free_in_stm(stm))
        case _:
            return None
    if wanted is None:
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.VARYING_LOOP, ", ".join(str(p.name) for p in stm.pat))
    state = State(stm, loop, tuple(_kept(flow, nest, stm, loop, p) for p in loop.params))
    carried = _carried(flow, nest, state)
    match loop.form:
        case ForLoop(index, bound, prim):
            made = _for(flow, nest, state, carried, ForLoop(index, bound, prim))
        case WhileLoop(cond):
            made = _while(flow, nest, state, carried, cond)
    _bind(flow, nest, state, stm.pat, made)
    return Rule.VARYING_LOOP


Kept = Segments | int | None
"""How a parameter of a loop is carried: as an array over the nest; as flat data of this descriptor; or (the place of
its size among the parameters) as flat data whose descriptor each iteration makes anew."""


@dataclass(frozen=True, slots=True)
class State:
    """A loop of the nest and how its parameters are carried."""

    stm: Stm
    loop: Loop
    kept: tuple[Kept, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The places of parameters that are sizes of others: how much each is for all points is carried too."""
        return tuple(dict.fromkeys(kept for kept in self.kept if isinstance(kept, int)))


def _kept(flow: Flow, nest: Nest, stm: Stm, loop: Loop, param: Param) -> Kept:
    sizes = {Var(p.name): place for place, p in enumerate(loop.params)}
    if param.type.shape and param.type.shape[0] in sizes:
        return sizes[param.type.shape[0]]
    return segments(flow, nest, param.type.shape[0], stm) if is_varying(flow, param.type) else None


@dataclass(frozen=True, slots=True)
class Carried:
    """Values for the parameters of a loop: of each size the sum over all points, and an array for each parameter."""

    totals: dict[int, Atom]
    arrays: tuple[Name, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        return (*self.totals.values(), *map(Var, self.arrays))


def _carried(flow: Flow, nest: Nest, state: State) -> Carried:
    """What a loop starts with: arrays over the nest, flat data of what varies in size."""
    loop = state.loop
    reads = free_in_body(loop.body)
    given = list(zip(loop.params, loop.inits, state.kept, strict=True))
    atoms = tuple(regular(flow, nest, atom, p.type) for p, atom, kept in given if kept is None)
    arrays = iter(expand_owned(flow, nest, atoms, reads))
    segs = _segments_now(flow, nest, state, loop.inits)
    found = tuple(
        own_rows(flow, nest, seg, (_name(atom),), reads)[0] if seg is not None else next(arrays)
        for (_, atom, _), seg in zip(given, segs, strict=True)
    )
    return Carried(_totals(state, segs), found)


def _nexts(flow: Flow, nest: Nest, state: State, atoms: tuple[Atom, ...]) -> Carried:
    """What an iteration hands to the next one."""
    given = list(zip(state.loop.params, atoms, state.kept, strict=True))
    arrays = iter(expand(flow, nest, tuple(regular(flow, nest, a, p.type) for p, a, kept in given if kept is None)))
    segs = _segments_now(flow, nest, state, atoms)
    found = tuple(
        last_row(flow, nest, seg, _name(atom)) if seg is not None else next(arrays)
        for atom, seg in zip(atoms, segs, strict=True)
    )
    return Carried(_totals(state, segs), found)


def _segments_now(flow: Flow, nest: Nest, state: State, atoms: tuple[Atom, ...]) -> tuple[Segments | None, ...]:
    """The descriptors of the rows that are carried on, of the sizes that they have now."""

    def now(atom: Atom, kept: Kept) -> Segments | None:
        if not isinstance(kept, int):
            return kept
        return segments(flow, nest, flow.known.types[_name(atom)].shape[0], replace(state.stm, exp=Copied(atom)))

    return tuple(map(now, atoms, state.kept))


def _totals(state: State, segs: tuple[Segments | None, ...]) -> dict[int, Atom]:
    given = {kept: seg for kept, seg in zip(state.kept, segs, strict=True) if isinstance(kept, int)}
    return {size: seg.total for size in state.sizes if (seg := given[size]) is not None}


def _name(atom: Atom) -> Name:
    assert isinstance(atom, Var)
    return atom.name


def _params(flow: Flow, nest: Nest, state: State) -> tuple[Carried, tuple[Param, ...]]:
    """Parameters for what is carried."""
    totals = {size: flow.fresh_param("total", I64) for size in state.sizes}

    def array_type(t: Type, kept: Kept) -> Type:
        match kept:
            case None:
                return t.array_of(*nest.widths)
            case int():
                return Type(t.prim, (Var(totals[kept].name), *t.shape[1:]))
            case Segments():
                return Type(t.prim, (kept.total, *t.shape[1:]))

    arrays = tuple(
        flow.fresh_param(p.name.base, array_type(p.type, kept))
        for p, kept in zip(state.loop.params, state.kept, strict=True)
    )
    carried = Carried({size: Var(p.name) for size, p in totals.items()}, tuple(p.name for p in arrays))
    return carried, (*totals.values(), *arrays)


def _bind(flow: Flow, nest: Nest, state: State, pat: tuple[Param, ...], carried: Carried) -> None:
    """Variables of the nest as elements or rows of what a loop carries."""
    rows: list[tuple[Param, Segments | int, Name]] = []
    for param, kept, array in zip(pat, state.kept, carried.arrays, strict=True):
        flow.known.types[param.name] = param.type
        if kept is None:
            flow.known.elems[param.name] = Elem(array, nest.indices)
            flow.known.fresh.add(array)
        else:
            rows.append((param, kept, array))
    made = {size: segments_of(flow, nest, Var(pat[size].name), total) for size, total in carried.totals.items()}
    for param, kept, array in rows:
        bind_rows(flow, nest, made[kept] if isinstance(kept, int) else kept, (param,), (array,))


def _iteration(flow: Flow, nest: Nest, state: State, active: Atom | None, carried: Carried) -> Carried:
    """One iteration for the rows that go on; gives what is carried next."""
    loop = state.loop
    _bind(flow, nest, state, loop.params, carried)
    if active is None:
        flow.context.walk(flow, nest, loop.body.stms, loop.body.result)
        return _nexts(flow, nest, state, loop.body.result)
    results = with_sizes_again(flow, loop.params)
    stays = Body((), tuple(Var(p.name) for p in loop.params))
    atoms = tuple(Var(p.name) for p in results)
    flow.context.walk(flow, nest, (Stm(results, If(active, loop.body, stays), (), (), flow.output.loc),), atoms)
    return _nexts(flow, nest, state, atoms)


def with_sizes_again(flow: Flow, params: tuple[Param, ...]) -> tuple[Param, ...]:
    """The same under fresh names, the sizes in types too."""
    again = [flow.context.names.again(p.name) for p in params]
    names: dict[Name, Atom] = {p.name: Var(name) for p, name in zip(params, again, strict=True)}
    made = tuple(Param(name, substitute_type(p.type, names)) for p, name in zip(params, again, strict=True))
    flow.known.types.update((p.name, p.type) for p in made)
    return made


def _for(flow: Flow, nest: Nest, state: State, inits: Carried, form: ForLoop) -> Carried:
    (carried, params), varies = _params(flow, nest, state), not flow.is_invariant(form.bound)
    most = _greatest(flow, nest, form.bound, form.prim) if varies else form.bound
    flow.known.types[form.index] = scalar(form.prim)

    def work() -> tuple[Atom, ...]:
        active: Atom | None = None
        if varies:
            test = flow.fresh_param("active", BOOL)
            less = PrimOp(Op.LT, form.prim, (Var(form.index), form.bound))
            defer(flow, nest, (single(less, test, flow.output.loc),))
            active = Var(test.name)
        return _iteration(flow, nest, state, active, carried).atoms

    body = host_body(flow, work)
    results = with_sizes_again(flow, params)
    flow.emit(results, Loop(params, inits.atoms, ForLoop(form.index, most, form.prim), body))
    return _given(state, results)


def _while(flow: Flow, nest: Nest, state: State, inits: Carried, cond: Name) -> Carried:
    carried, params = _params(flow, nest, state)
    place = [p.name for p in state.loop.params].index(cond)
    go = flow.fresh_param("go", BOOL)

    def work() -> tuple[Atom, ...]:
        after = _iteration(flow, nest, state, Var(cond), carried)
        return (_any(flow, nest, after.arrays[place]), *after.atoms)

    first = _any(flow, nest, inits.arrays[place])
    body = host_body(flow, work)
    results = with_sizes_again(flow, (go, *params))
    flow.emit(results, Loop((go, *params), (first, *inits.atoms), WhileLoop(go.name), body))
    return _given(state, results[1:])


def _given(state: State, results: tuple[Param, ...]) -> Carried:
    """What a loop gives, by the names it is bound to."""
    count = len(state.sizes)
    totals: dict[int, Atom] = {size: Var(p.name) for size, p in zip(state.sizes, results[:count], strict=True)}
    return Carried(totals, tuple(p.name for p in results[count:]))


def _greatest(flow: Flow, nest: Nest, bound: Atom, prim: Prim) -> Atom:
    """The greatest trip count of the nest, 0 if there is none."""
    (bounds,) = expand(flow, nest, (bound,))
    return _reduced(flow, nest, bounds, Op.MAX, Const(prim, 0))


def _any(flow: Flow, nest: Nest, flags: Name) -> Atom:
    return _reduced(flow, nest, flags, Op.OR, Const(Prim.BOOL, False))


def _reduced(flow: Flow, nest: Nest, array: Name, op: Op, neutral: Const) -> Atom:
    """The reduction of an array over the nest, of all its points."""
    points, element = parallelism_of(flow, nest), scalar(neutral.prim)
    array = by_point(flow, nest, array, points)
    p, inner = flow.fresh_param("p", element), Statements(flow)
    red = monoid(flow, op, neutral)
    made = seg_body(flow, ((p.name, points),), inner.body(inner.at("x", array, Var(p.name))))
    reduced = SegRed(flow.context.machine.lowest.level, made.space, (red,), made.body, (element,), None)
    return Var(flow.emit_as("most", element, reduced))
