"""Which arrays are overwritten at some place, seen through aliases.

A kernel that overwrites a row it has loaded needs a copy of its own; loads ask here. The answer errs on the safe
side: a name is listed if any statement overwrites it or something that may share its memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.core import (
    Apply,
    Body,
    Copied,
    Exp,
    FunDef,
    Hist,
    If,
    Index,
    Loop,
    Prog,
    Rearrange,
    Reshape,
    Scatter,
    Screma,
    Stm,
)
from ...ir.traverse import consumed_by, scoped_bodies
from ...ir.types import Atom, Name, Var


def consumed_names(prog: Prog) -> set[Name]:
    """All names of `prog` that are overwritten, or that share memory with one that is."""
    bodies = [Body(prog.consts, ()), *(fun.body for fun in prog.functions)]
    return _consumed_in(bodies, {fun.name: _consumed_places(fun) for fun in prog.functions})


def consumed_in(body: Body) -> set[Name]:
    """The same for a body without calls."""
    return _consumed_in([body], {})


def _consumed_in(bodies: list[Body], taken: dict[Name, tuple[int, ...]]) -> set[Name]:
    overwritten: list[Name] = []
    shares: dict[Name, list[Name]] = {}
    while bodies:
        for stm in bodies.pop().stms:
            overwritten += consumed_by(stm.exp)
            overwritten += _consumed_by_call(stm.exp, taken)
            for target, source in _aliases(stm):
                if isinstance(source, Var):
                    shares.setdefault(target, []).append(source.name)
            bodies.extend(body for _, body in scoped_bodies(stm.exp))
    return _reachable(overwritten, shares)


def shared_with(array: Name, stms: Iterable[Stm]) -> set[Name]:
    """`array` and the names bound in `stms` that may share its memory."""
    shares: dict[Name, list[Name]] = {}
    work = list(stms)
    while work:
        stm = work.pop()
        for target, source in _aliases(stm):
            if isinstance(source, Var):
                shares.setdefault(source.name, []).append(target)
        work.extend(inner for _, body in scoped_bodies(stm.exp) for inner in body.stms)
    return _reachable([array], shares)


def _consumed_places(fun: FunDef) -> tuple[int, ...]:
    return tuple(k for k, p in enumerate(fun.params) if p.name in fun.consumes)


def _consumed_by_call(exp: Exp, taken: dict[Name, tuple[int, ...]]) -> list[Name]:
    match exp:
        case Apply(function, args):
            given = [args[k] for k in taken.get(function, ())]
            return [arg.name for arg in given if isinstance(arg, Var)]
        case _:
            return []


def _reachable(start: list[Name], edges: dict[Name, list[Name]]) -> set[Name]:
    found: set[Name] = set()
    work = list(start)
    while work:
        name = work.pop()
        if name not in found:
            found.add(name)
            work.extend(edges.get(name, ()))
    return found


def _aliases(stm: Stm) -> list[tuple[Name, Atom]]:
    """Pairs (target, source): overwriting the target overwrites the source."""
    targets = [p.name for p in stm.pat]
    match stm.exp:
        case Copied(atom):
            return [(targets[0], atom)]
        case Index(array, _, _) | Rearrange(_, array) | Reshape(_, array):
            return [(targets[0], Var(array))]
        case If(_, then, orelse):
            return [*zip(targets, then.result, strict=True), *zip(targets, orelse.result, strict=True)]
        case Loop(params, inits, _, body):
            names = [p.name for p in params]
            return [
                *zip(names, inits, strict=True),
                *zip(names, body.result, strict=True),
                *zip(targets, body.result, strict=True),
                *zip(targets, inits, strict=True),
            ]
        case Apply(_, args):
            return [(target, arg) for target in targets for arg in args]
        case Screma(_, arrays, f, _, _) | Hist(_, arrays, f, _, _, _) | Scatter(_, arrays, f, _, _):
            return [(p.name, Var(array)) for p, array in zip(f.params, arrays, strict=True)]
        case _:
            return []
