"""The adjoint of a branch: a branch that runs the chosen side forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.core import Body, If
from ...ir.traverse import free_in_body
from ...ir.types import Atom, Name
from .adjoints import Sweep, wanted

SweepBody = Callable[[Sweep, Body, Sequence[Atom | None]], None]


def branch_adjoints(sweep: Sweep, exp: If, seeds: Sequence[Atom | None], sweep_body: SweepBody) -> None:
    """Adjoints of what is outside go through both sides: one side adds to them, the other leaves them as they are."""
    bodies = [sweep.code.fresh_body(body) for body in (exp.then, exp.orelse)]
    free = dict.fromkeys([name for body in bodies for name in free_in_body(body)])
    names = wanted(sweep.code, list(free), sweep.active)
    choose(sweep, exp.cond, names, [lambda side, body=body: sweep_body(side, body, seeds) for body in bodies])


def choose(sweep: Sweep, cond: Atom, names: Sequence[Name], runs: Sequence[Callable[[Sweep], None]]) -> None:
    """A branch whose sides add to the adjoints of `names` and to accumulators."""
    code = sweep.code
    sweep.settle(names)
    sides: list[Sweep] = []
    for run in runs:
        side = sweep.inside()
        side.dense.update((name, sweep.dense[name]) for name in names if name in sweep.dense)
        run(side)
        side.settle(names)
        sides.append(side)
    changed = [n for n in names if any(side.dense.get(n) != sweep.dense.get(n) for side in sides)]
    accs = dict.fromkeys([name for side in sides for name in side.accs])
    results: list[Body] = []
    for side in sides:
        found: list[Atom] = [side.dense[n] if n in side.dense else side.code.zeros(code.types[n]) for n in changed]
        results.append(side.code.body([*found, *[side.acc(name) for name in accs]]))
    types = [code.types[name] for name in (*changed, *accs)]
    if not types:
        return
    out = iter(code.emit([code.param("adj", t) for t in types], If(cond, results[0], results[1])))
    for name in changed:
        sweep.dense[name] = next(out)
    for name in accs:
        sweep.accs[name] = next(out)
