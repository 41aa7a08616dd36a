r"""Versions of loops of the host whose last map makes the next value of an array: in the place of the one before.

    loop a = a0 for k < n do map (\i row → if i <= k then row else map2 (\x u → x - row[k] * u) row a[k]) (iota n) a
      ⟶  if t <= bytes of a
         then loop a = copy a0 for k < n do
                let column = copy a[k+1:, k]
                in segscatter (i' < n - (k+1), j < n) a { i = i' + k+1; (i, j, a[i, j] - column[i'] * a[k, j]) }
         else loop a = a0 for k < n do ..

A round that makes a new array reads one and writes another: twice the memory. In place it needs of the old array,
besides a point's own element, what no point overwrites, and copies of rows, columns and elements, which are taken
before. What the map gives back as it was (`flatten/aliasing/changed.py`) is not touched. The version is the default
from `LEAST` bytes on: below, both arrays stay in the nearest cache, and the copies cost more than they save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.core import (
    Body,
    Copy,
    ForLoop,
    Lambda,
    Loop,
    Param,
    Screma,
    SegScatter,
    SegSpace,
    Stm,
    WhileLoop,
)
from ...ir.machine import IN_PLACE, Mode
from ...ir.ops import Op
from ...ir.rename import rename_lambda
from ...ir.traverse import (
    live,
)
from ...ir.types import Atom, Var, i64, scalar
from ..aliasing.classes import overwritten_in
from ..context.found_sizes import own_sizes
from ..context.nest import Flow, host_body
from ..context.statements import Statements
from .changed_arrays import Group, Step, step_of
from .changed_points import points_that_change
from .guards import Version, flattening_attrs, product_of

LEAST = 1 << 15
"""Bytes of an array from which on it is worth it, for each copy in a round: two of them do not fit the nearest cache
together. Half of that for each dimension along which not all change: what does not is copied else."""

ROW = 32
"""Elements of a row: shorter ones are better mapped, which has schedules for them."""


def in_place_version(flow: Flow, stm: Stm) -> Version | None:
    """The version of a loop at the top level whose rounds change arrays in place."""
    if not isinstance(stm.exp, Loop) or not _may_have_one(flow, stm, stm.exp):
        return None
    loop = _renamed(flow, stm.exp)
    steps = {k: step for k in range(len(loop.body.stms)) if (step := step_of(flow, loop, k)) is not None}
    if not steps:
        return None
    groups = [group for step in steps.values() for group in step.groups]
    pays = _pays(flow, groups, max(map(_copies, steps.values())))
    return Version(IN_PLACE, lambda: _bytes(flow, groups), lambda to: _emit(flow, stm, to, loop, steps), pays)


def _may_have_one(flow: Flow, stm: Stm, loop: Loop) -> bool:
    """Whether the machine has caches, versions are wanted and not too many, and a map gives arrays of the loop."""
    context = flow.context
    if not context.machine.keeps_rows or context.inside or context.mode not in (Mode.INCREMENTAL, Mode.EVERY):
        return False
    if "only_inner" in flattening_attrs(stm.attrs) or own_sizes(loop.params):
        return False
    results = {atom.name for atom in loop.body.result if isinstance(atom, Var)}
    made = (p for s in loop.body.stms if isinstance(s.exp, Screma) for p in s.pat)
    in_budget = flow.output.guards.made < context.machine.max_versions - 1
    return in_budget and any(p.type.shape and p.name in results for p in made)


def _renamed(flow: Flow, loop: Loop) -> Loop:
    """The loop under names of its own."""
    counter = (Param(loop.form.index, scalar(loop.form.prim)),) if isinstance(loop.form, ForLoop) else ()
    types = tuple(p.type for p in loop.params)
    f = flow.learn(rename_lambda(Lambda((*loop.params, *counter), loop.body, types), flow.context.names))
    new = {old.name: param.name for old, param in zip((*loop.params, *counter), f.params, strict=True)}
    match loop.form:
        case ForLoop(index) as form:
            return Loop(f.params[:-1], loop.inits, replace(form, index=new[index]), f.body)
        case WhileLoop(cond):
            return Loop(f.params, loop.inits, WhileLoop(new[cond]), f.body)


def _bytes(flow: Flow, groups: list[Group]) -> Atom:
    """The bytes of the arrays that change; negative where one is empty, of which no part can be taken."""
    sizes = [product_of(flow, group.shape) for group in groups]
    total: Atom = i64(0)
    for group, size in zip(groups, sizes, strict=True):
        each = sum(target.made.type.prim.bytes for target in group.targets)
        total = flow.op("bytes", Op.ADD, total, flow.op("bytes", Op.MUL, size, i64(each)))
    least = sizes[0]
    for size in sizes[1:]:
        least = flow.op("least", Op.MIN, least, size)
    return flow.op("bytes", Op.SELECT, flow.op("some", Op.LT, i64(0), least), total, i64(-1))


def _copies(step: Step) -> int:
    """How many rows and columns are copied in each round."""
    parts = [part for taken in step.taken for part in taken.values() if any(isinstance(dim, int) for dim in part.dims)]
    return sum(not any(part.is_as(other) for other in parts[:k]) for k, part in enumerate(parts))


def _pays(flow: Flow, groups: list[Group], copies: int) -> Atom:
    """Whether the largest array has enough bytes, in rows that are not short."""
    largest = max(groups, key=lambda group: len(group.shape))
    parts = sum(bounds != (None, None) for bounds in largest.box.dims)
    least = (LEAST >> parts) * max(1, copies) // max(target.made.type.prim.bytes for target in largest.targets)
    pays: Atom = flow.op("pays", Op.LE, i64(least), product_of(flow, largest.shape))
    if len(largest.shape) > 1:
        pays = flow.op("pays", Op.AND, pays, flow.op("pays", Op.LE, i64(ROW), largest.shape[-1]))
    return pays


def _emit(flow: Flow, stm: Stm, to: tuple[Param, ...], loop: Loop, steps: Mapping[int, Step]) -> None:
    """The loop with its own copies of the arrays that it did not change before."""
    changed = {name for step in steps.values() for group in step.groups for t in group.targets for name in t.same}
    overwritten = overwritten_in(loop.body)
    inits = tuple(
        Var(flow.emit_as(p.name.base, p.type, Copy(init.name)))
        if isinstance(init, Var) and p.name in changed and p.name not in overwritten
        else init
        for p, init in zip(loop.params, loop.inits, strict=True)
    )

    def work() -> tuple[Atom, ...]:
        done = 0
        for k in (*sorted(steps), len(loop.body.stms)):
            flow.context.walk_top(flow, Body(loop.body.stms[done:k], loop.body.result))
            if k in steps:
                _emit_step(flow, steps[k])
            done = k + 1
        return loop.body.result

    body = host_body(flow, work)
    flow.keep(replace(stm, pat=to, exp=Loop(loop.params, inits, loop.form, body)))


def _emit_step(flow: Flow, step: Step) -> None:
    """What points read of others, then the points that change, of each group."""
    made = Statements(flow)
    for points in points_that_change(made, step, None):
        pat = tuple(target.made for target in points.group.targets)
        dests = tuple(target.old for target in points.group.targets)
        body = live(Body(points.body.stms, (*map(Var, points.group.indices), *points.body.result)))
        threads = SegSpace(tuple((index, count) for index, _, count in points.space))
        scatter = SegScatter(flow.context.machine.lowest.level, threads, dests, len(points.space), body, True)
        made.stms.append(Stm(pat, scatter, step.stm.certs, (), step.stm.loc))
    for stm in made.stms:
        flow.keep(stm)
