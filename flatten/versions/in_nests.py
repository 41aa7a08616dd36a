"""Loops in maps whose rounds change arrays, or a part of them by the bounds of their counter, as updates of that.

    loop a = a0 for k < n do map (\\i row → if i <= k then row else map2 (\\x u → x - row[k] * u) row a[k]) (iota n) a
      ⟶  loop a = copy a0 for k < n do
           let column = copy a[k+1:, k]
           let rows = map (\\i' → map (\\j → a[i' + k+1, j] - column[i'] * a[k, j]) (iota n)) (iota (n - (k+1)))
           in a with [k+1:, :] <- rows

Where bounds must be brought into the array, or points read nothing of each other and change all of it, the loop stays
as it is. Arrays of one shape are made by one map. What it makes is made in the part by the rules for that
(`flatten/memory/in_place.py`, `kernels/schedule/updates_in_place.py`).
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.basic import Iota, is_iota
from ...ir.core import Body, Copy, If, Lambda, Loop, Param, Screma, Slice, Stm, Update
from ...ir.records import dataclass
from ...ir.traverse import all_stms, live, map_bodies
from ...ir.types import I64, Atom, Const, Prim, Type, Var, i64
from ..aliasing.classes import overwritten_in
from ..aliasing.regions import Defined
from ..context.found_sizes import own_sizes
from ..context.nest import Flow
from ..context.statements import Statements
from .changed_arrays import Step, step_of
from .changed_points import Counted, Points, points_that_change, stays_inside


def parts_in_nests(flow: Flow, body: Body) -> Body:
    """The body of a function with such loops of its maps."""
    stms = tuple(all_stms(body))
    flow.known.numbers.update(p.name for stm in stms if is_iota(stm.exp) for p in stm.pat)
    return _Walk(flow, {p.name: stm for stm in stms for p in stm.pat}).body(body, inside=False)


@dataclass(frozen=True, slots=True)
class _Walk:
    flow: Flow
    defined: Defined

    def body(self, body: Body, *, inside: bool) -> Body:
        """`inside`: of a map, at any depth."""
        stms: list[Stm] = []
        for stm in body.stms:
            inner = inside or not isinstance(stm.exp, Loop | If)
            stm = replace(stm, exp=map_bodies(lambda own, i=inner: self.body(own, inside=i), stm.exp))
            stms += self.loop(stm, stm.exp) if inside and isinstance(stm.exp, Loop) else (stm,)
        return Body(tuple(stms), body.result)

    def loop(self, stm: Stm, loop: Loop) -> tuple[Stm, ...]:
        """A loop of a map, after the copies of the arrays that it did not change before."""
        steps = {k: step for k in range(len(loop.body.stms)) if (step := self.step(loop, k)) is not None}
        if not steps or own_sizes(loop.params):
            return (stm,)
        stms: list[Stm] = []
        for k, one in enumerate(loop.body.stms):
            stms += self.round(loop, steps[k]) if k in steps else (one,)
        before = Statements(self.flow)
        changed = {name for step in steps.values() for group in step.groups for t in group.targets for name in t.same}
        changed -= overwritten_in(loop.body)
        inits = tuple(
            before.let(p.name.base, Copy(init.name), p.type) if isinstance(init, Var) and p.name in changed else init
            for p, init in zip(loop.params, loop.inits, strict=True)
        )
        body = Body(tuple(stms), loop.body.result)
        self.flow.known.consumed |= overwritten_in(body) | {init.name for init in inits if isinstance(init, Var)}
        return (*before.stms, replace(stm, exp=replace(loop, inits=inits, body=body)))

    def step(self, loop: Loop, k: int) -> Step | None:
        """Statement `k` if it changes arrays, or parts of them by bounds that stay inside."""
        if not isinstance(loop.body.stms[k].exp, Screma):
            return None
        found = step_of(self.flow, loop, k)
        if found is None or any(part.checks for taken in found.taken for part in taken.values()):
            return None
        counted = Counted(loop, self.defined)
        bounds = [
            (form, size)
            for group in found.groups
            for dim, size in zip(group.box.dims, group.shape, strict=True)
            for form in dim
            if form is not None
        ]
        small = any(isinstance(size, Const) for group in found.groups for size in group.shape)
        is_part = all(stays_inside(counted, form, size) for form, size in bounds)
        return found if is_part and (bounds or any(found.taken)) and not small else None

    def round(self, loop: Loop, step: Step) -> list[Stm]:
        """The maps over the points that change, one for each shape, and the updates by what they make."""
        made = Statements(self.flow)
        for points in points_that_change(made, step, Counted(loop, self.defined)):
            dims = tuple(Slice(start, count, i64(1)) for _, start, count in points.space)
            for target, part in zip(points.group.targets, self.maps(made, points, step), strict=True):
                update = Update(target.old, dims, part, True)
                made.stms.append(Stm((target.made,), update, step.stm.certs, (), step.stm.loc))
        return made.stms

    def maps(self, made: Statements, points: Points, step: Step) -> tuple[Atom, ...]:
        """map (λi' → map (λj' → e) (iota m)) (iota n)"""
        counts = tuple(count for *_, count in points.space)
        iotas = [made.let("is", Iota(count, i64(0), i64(1), Prim.I64), I64.array_of(count)) for count in counts]
        self.flow.known.numbers.update(iota.name for iota in iotas)
        results, body = [target.made for target in points.group.targets], live(points.body)
        for depth in reversed(range(len(counts))):
            index = Param(points.space[depth][0], I64)
            rows = tuple(Type(p.type.prim, counts[depth + 1 :]) for p in results)
            soac = Screma(counts[depth], (iotas[depth].name,), Lambda((index,), body, rows), (), ())
            pat = tuple(self.flow.fresh_param(p.name.base, Type(p.type.prim, counts[depth:])) for p in results)
            certs = step.stm.certs if depth == 0 else ()
            body = Body((Stm(pat, soac, certs, (), step.stm.loc),), tuple(Var(p.name) for p in pat))
        made.stms += body.stms
        return body.result
