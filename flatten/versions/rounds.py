"""Versions of loops of the host: all rounds in one collective, where each of them is little work.

    G(•, loop z̄' = z̄ .. do e)  ⟶  if t ≤ room then segmap^l (i < 1) { G(•, loop z̄' = z̄ .. do e) }
                                  else loop z̄' = z̄ .. do G(•, e)

A round of the host costs a launch for each segop, and memory for its arrays. In a collective it costs neither, but no
other threads help: so a loop has this version where the points of its segops compute scalars alone, and takes it by
default where the widest segop and the largest array have at most `Machine.rounds` elements; `room` is by how many they
have less, and negative where they do not fit. Of loops inside one another the outermost that can has it.

A launch cannot be stopped, so how many rounds there are must be known before it: all together go through fewer than
`TURNS` elements, where a round counts as `LEAST` at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.attributes import has_attr
from ...ir.core import Apply, Body, Convert, Copy, Exp, ForLoop, If, Lambda, Loop, Param, PrimOp, SegOp, Stm
from ...ir.machine import ROUNDS, Mode
from ...ir.ops import Op
from ...ir.traverse import all_exps, bodies, free_names
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Var, i64
from ..aliasing.classes import overwritten_in
from ..context.nest import TOP, Flow
from ..context.segop_bodies import element_of, single
from .guards import Version, flattening_attrs, product_of
from .intra import Inside, folded, g_inside, inside, let, where_it_fits

TURNS = 1 << 25
LEAST = 32
"""Of elements: what all rounds have together is some tens of milliseconds; what the others of a round cost."""


def rounds_version(flow: Flow, stm: Stm) -> Version | None:
    """The version of a loop at the top level in which one collective goes through all rounds."""
    levels, mode = flow.context.machine.higher, flow.context.mode
    if not levels or flow.context.inside or flow.known.in_rounds or mode not in (Mode.INCREMENTAL, Mode.EVERY):
        return None
    if not _is_asked_for(stm) or not isinstance(stm.exp, Loop):
        return None
    if any(isinstance(exp, Apply) for exp in all_exps(stm.exp.body)):
        return None
    if flow.output.guards.made >= flow.context.machine.max_versions - 1:
        return None
    f = _as_lambda(flow, stm, stm.exp)
    turns = _turns(stm.exp)
    middle = inside(flow, f, None) if turns is not None else None
    if turns is None or middle is None or not all(_is_light(exp) for exp in all_exps(middle.body)):
        return None
    return Version(ROUNDS, lambda: _room(flow, middle, turns), lambda to: _emit(flow, to, middle, f))


def _is_asked_for(stm: Stm) -> bool:
    wanted = flattening_attrs(stm.attrs).isdisjoint({"no_intra", "only_inner"})
    return wanted and not any(has_attr(stm.attrs, name) for name in ("sequential", "sequential_outer"))


def _as_lambda(flow: Flow, stm: Stm, loop: Loop) -> Lambda:
    """The loop as the body of a map, which has its own copies of the arrays that it overwrites."""
    overwritten = overwritten_in(loop.body)
    copies: list[Stm] = []
    inits: list[Atom] = []
    for param, init in zip(loop.params, loop.inits, strict=True):
        if param.name in overwritten and isinstance(init, Var):
            own = flow.fresh_param(param.name.base, flow.type_of(init))
            copies.append(single(Copy(init.name), own, stm.loc))
            init = Var(own.name)
        inits.append(init)
    own_stm = replace(stm, exp=replace(loop, inits=tuple(inits)))
    return Lambda((), Body((*copies, own_stm), tuple(Var(p.name) for p in stm.pat)), tuple(p.type for p in stm.pat))


def _emit(flow: Flow, to: tuple[Param, ...], middle: Inside, f: Lambda) -> None:
    """The collective, and what it gives: the only elements of its results."""
    one = TOP.inside((flow.fresh_param("i", I64).name, i64(1)))
    arrays = tuple(flow.fresh_param(p.name.base, p.type.array_of(i64(1))) for p in to)
    g_inside(flow, one, arrays, middle, f.ret, flow.context.machine.higher[-1])
    for param, array in zip(to, arrays, strict=True):
        flow.emit((param,), element_of(array.name, array.type.shape, (i64(0),)))


def _turns(loop: Loop) -> list[tuple[Prim, Atom]] | None:
    """Bounds, with their types, whose product is no less than the rounds of a loop and of those inside of it; None
    where they are not known before it."""
    known: dict[Name, Atom] = {name: Var(name) for name in free_names(loop)}
    found: list[tuple[Prim, Atom]] = []
    for one in (loop, *(exp for exp in all_exps(loop.body) if isinstance(exp, Loop))):
        if not isinstance(one.form, ForLoop) or one.form.prim is Prim.U64:  # which i64 does not hold
            return None
        bound = one.form.bound if isinstance(one.form.bound, Const) else known.get(one.form.bound.name)
        if bound is None:
            return None
        known[one.form.index] = bound  # an index is less than the bound
        found.append((one.form.prim, bound))
    return found


def _room(flow: Flow, middle: Inside, turns: Sequence[tuple[Prim, Atom]]) -> Atom:
    """By how many elements the widest segop and the largest array are below the limit; negative if they do not fit, or
    if there are too many rounds."""
    limit = flow.context.machine.rounds
    row = replace(flow.context.machine.higher[-1], most=limit)
    spaces = tuple(dict.fromkeys((*middle.spaces, *(t.shape for t in middle.arrays))))
    most = folded(flow, Op.MAX, tuple(product_of(flow, space) for space in spaces))
    room = let(flow, "room", I64, Op.SUB, i64(limit), most)
    work = let(flow, "work", I64, Op.MAX, most, i64(LEAST))
    for prim, bound in turns:
        count = bound if prim is Prim.I64 else Var(flow.emit_as("count", I64, Convert(prim, Prim.I64, bound)))
        count = let(flow, "count", I64, Op.MIN, let(flow, "count", I64, Op.MAX, count, i64(1)), i64(TURNS))
        work = let(flow, "work", I64, Op.MIN, let(flow, "work", I64, Op.MUL, work, count), i64(TURNS))
    is_short = let(flow, "is_short", BOOL, Op.LT, work, i64(TURNS))
    room = Var(flow.emit_as("room", I64, PrimOp(Op.SELECT, Prim.I64, (is_short, room, i64(-1)))))
    return where_it_fits(flow, middle.spaces, middle.arrays, row, room)


# ---- what is little work -------------------------------------------------------------------------------------------


def _is_light(exp: Exp) -> bool:
    """Whether the points of a segop compute scalars, without loops."""
    return not isinstance(exp, SegOp) or all(map(_is_straight, bodies(exp)))


def _is_straight(body: Body) -> bool:
    return all(
        not any(p.type.shape for p in stm.pat)
        and (isinstance(stm.exp, If) or not any(True for _ in bodies(stm.exp)))
        and all(map(_is_straight, bodies(stm.exp)))
        for stm in body.stms
    )
