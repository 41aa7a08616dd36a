"""The adjoint of a branch: a branch that runs the chosen side forward and backward.

What a side computes by expensive operations on scalars is a further result of the branch, and not computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...ir.core import Body, If, PrimOp, Stm
from ...ir.ops import is_short
from ...ir.records import dataclass
from ...ir.traverse import free_in_body
from ...ir.types import Atom, Name, Var, zero
from .adjoints import Sweep, wanted


@dataclass(frozen=True, slots=True)
class BranchTape:
    """What the sides of a branch compute, as results of the branch."""

    kept: Mapping[Name, Var]


def keep_branch(sweep: Sweep, stm: Stm, exp: If) -> BranchTape:
    """Emits the branch with what its sides compute as further results."""
    code, sides = sweep.code, (exp.then, exp.orelse)
    found = [[each.pat[0] for each in side.stms if is_kept(each)] for side in sides]
    pat = [code.like(p, "") for params in found for p in params]
    bodies: list[Body] = []
    for side, own in zip(sides, found, strict=True):
        more = [Var(p.name) if params is own else zero(p.type.prim) for params in found for p in params]
        bodies.append(replace(side, result=(*side.result, *more)))
    code.keep(replace(stm, pat=(*stm.pat, *pat), exp=If(exp.cond, bodies[0], bodies[1])))
    return BranchTape({p.name: Var(q.name) for p, q in zip([p for params in found for p in params], pat, strict=True)})


def is_kept(stm: Stm) -> bool:
    """Whether a statement is a division or call of floats, which is not computed again."""
    return isinstance(stm.exp, PrimOp) and stm.exp.prim.is_float and not is_short(stm.exp.op)


def branch_adjoints(sweep: Sweep, exp: If, tape: BranchTape, seeds: Sequence[Atom | None]) -> None:
    """Adjoints of what is outside go through both sides: one side adds to them, the other leaves them as they are."""
    sides = exp.then, exp.orelse
    bodies = [sweep.code.fresh_body(body) for body in sides]
    values: dict[Name, Var] = {}
    for side, body in zip(sides, bodies, strict=True):
        for old, new in zip(side.stms, body.stms, strict=True):
            values.update((new.pat[0].name, kept) for p in old.pat if (kept := tape.kept.get(p.name)) is not None)
    free = dict.fromkeys([name for body in bodies for name in free_in_body(body)])
    names = wanted(sweep.code, list(free), sweep.active)

    def run(body: Body) -> Callable[[Sweep], None]:
        def sweep_side(side: Sweep) -> None:
            side.values.update(values)
            side.run(body, seeds)

        return sweep_side

    choose(sweep, exp.cond, names, [run(body) for body in bodies])


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
