"""The adjoint of a branch: a branch that runs the chosen side forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.core import Body, If, Stm
from ...ir.traverse import bound_in_body, free_in_body
from ...ir.types import I64, Atom, Name, Type, Var, i64
from .adjoints import Places, Sweep, wanted

SweepBody = Callable[[Sweep, Body, Sequence[Atom | None]], None]


def branch_adjoints(sweep: Sweep, stm: Stm, exp: If, seeds: Sequence[Atom | None], sweep_body: SweepBody) -> None:
    """Adjoints of what is outside go through both sides: one side adds to them, the other leaves them as they are."""
    code = sweep.code
    bodies = [code.fresh_body(body) for body in (exp.then, exp.orelse)]
    free = dict.fromkeys([name for body in bodies for name in free_in_body(body)])
    names = wanted(code, list(free), sweep.active)
    sides = []
    for body in bodies:
        side = sweep.inside()
        side.dense.update((name, sweep.dense[name]) for name in names if name in sweep.dense)
        sweep_body(side, body, seeds)
        _keep_regular(side)
        sides.append(side)
    changed = [n for n in names if any(side.dense.get(n) != sweep.dense.get(n) for side in sides)]
    places = [
        (name, k, entry) for k, side in enumerate(sides) for name, found in side.places.items() for entry in found
    ]
    results = []
    types = [code.types[name] for name in changed]
    for _, _, entry in places:
        types += [I64.array_of(*entry.nest)] * len(entry.index) + [code.type_of(entry.values)]
    for k, side in enumerate(sides):
        found: list[Atom] = [side.dense[n] if n in side.dense else side.code.zeros(code.types[n]) for n in changed]
        for _, owner, entry in places:
            if owner == k:
                found += [*entry.index, entry.values]
            else:
                found += [side.code.replicate(entry.nest, i64(-1))] * len(entry.index)
                found.append(side.code.zeros(code.type_of(entry.values)))
        results.append(side.code.body(found))
    if not types:
        return
    out = iter(code.emit([code.param("adj", t) for t in types], If(exp.cond, results[0], results[1])))
    for name in changed:
        sweep.dense[name] = next(out)
    for name, _, entry in places:
        index = tuple([next(out) for _ in entry.index])
        sweep.add_places(name, Places(entry.nest, index, next(out)))


def _keep_regular(side: Sweep) -> None:
    """Places whose number or form is known in this side alone become an array."""
    bound = bound_in_body(side.code.body(()))
    for name, entries in list(side.places.items()):
        if any(_is_bound(side.code.type_of(e.values), e, bound) for e in entries):
            side.densify(name)


def _is_bound(type: Type, entry: Places, bound: dict[Name, None]) -> bool:
    return any(isinstance(size, Var) and size.name in bound for size in (*entry.nest, *type.shape))
