"""Sinking: a SOAC whose results only one side of a branch uses is executed there, and may be fused with its consumer.

    let ys = map f xs in if c then g ys else e  ⟶  if c then (let ys = map f xs in g ys) else e        [F-Sink]

So work is saved and never repeated: nothing is moved into a loop or a lambda. Only on the host: in a nest the branch
may vary where the SOAC does not. Views that only sunk SOACs read go with them; what reads an array that is ever
overwritten stays.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...ir.core import Body, If, Index, Iota, Loop, Prog, Rearrange, Replicate, Reshape, Screma, Stm
from ...ir.records import dataclass
from ...ir.traverse import bodies, free_in_body, free_in_stm, with_bodies
from ...ir.types import Name, Var
from ..aliasing.classes import Sharing, sharing_in


def sink(prog: Prog) -> Prog:
    """`prog` with SOACs sunk into the branches that alone use them."""
    sharing = sharing_in(prog)
    return replace(prog, functions=tuple(replace(fun, body=sink_in(fun.body, sharing)) for fun in prog.functions))


def sink_in(body: Body, sharing: Sharing) -> Body:
    """A body of the host; the last branch first, and what was sunk into a branch may be sunk deeper."""
    scope = _scope_of(body, sharing)
    for k in reversed(range(len(body.stms))):
        stm = scope.stms[k]
        if stm is not None and isinstance(stm.exp, If):
            scope.stms[k] = _sunk_into(k, stm, stm.exp, scope)
    return Body(tuple(_inside(stm, sharing) for stm in scope.stms if stm is not None), body.result)


def _inside(stm: Stm, sharing: Sharing) -> Stm:
    match stm.exp:
        case If() | Loop():
            return replace(stm, exp=with_bodies(stm.exp, tuple(sink_in(body, sharing) for body in bodies(stm.exp))))
        case _:
            return stm


@dataclass(slots=True)
class _Scope:
    """The statements of a body, None where one was sunk; which makes a name, and how many use it (the result too)."""

    stms: list[Stm | None]
    maker: dict[Name, int]
    uses: Counter[Name]
    sharing: Sharing


def _scope_of(body: Body, sharing: Sharing) -> _Scope:
    uses = Counter(name for stm in body.stms for name in free_in_stm(stm))
    uses.update({atom.name for atom in body.result if isinstance(atom, Var)})
    maker = {p.name: k for k, stm in enumerate(body.stms) for p in stm.pat}
    return _Scope(list(body.stms), maker, uses, sharing)


def _sunk_into(k: int, stm: Stm, branch: If, scope: _Scope) -> Stm:
    """The branch with what could be sunk into its sides; that is gone from the scope."""
    empty = Body((), ())
    beside = set(free_in_stm(replace(stm, exp=with_bodies(branch, (empty, empty)))))
    then, orelse = set(free_in_body(branch.then)), set(free_in_body(branch.orelse))
    sides = (
        _side(k, branch.then, then - orelse - beside, scope),
        _side(k, branch.orelse, orelse - then - beside, scope),
    )
    return replace(stm, exp=with_bodies(branch, sides))


def _side(k: int, body: Body, alone: set[Name], scope: _Scope) -> Body:
    """A side of the branch at `k`, `alone` in using these names, with what was sunk at its beginning."""
    sunk: dict[int, Stm] = {}
    left = Counter(alone)  # uses that are or go into the side
    waiting = {scope.maker[name] for name in alone if name in scope.maker}
    while waiting:
        number = max(waiting)  # users before makers
        waiting.remove(number)
        stm = scope.stms[number]
        if stm is None or number >= k or not _may_sink(stm, alone, left, scope):
            continue
        sunk[number], scope.stms[number] = stm, None
        free = free_in_stm(stm)
        left.update(list(free))
        waiting |= {scope.maker[name] for name in free if name in scope.maker}
    return Body((*(sunk[number] for number in sorted(sunk)), *body.stms), body.result)


def _may_sink(stm: Stm, alone: set[Name], left: Counter[Name], scope: _Scope) -> bool:
    """A SOAC, or a view that only SOACs read: nothing of it is used elsewhere, and its arrays stay what they are."""
    made = [p.name for p in stm.pat]
    match stm.exp:
        case Screma():
            pass
        case Iota() | Replicate() | Rearrange() | Reshape() | Index(safe=True):
            if not stm.pat[0].type.shape or not alone.isdisjoint(made):
                return False
        case _:
            return False
    if any(scope.uses[name] != left[name] for name in made):
        return False
    return not any(map(scope.sharing.consumed, (*made, *free_in_stm(stm))))
