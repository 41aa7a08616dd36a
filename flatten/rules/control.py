"""Loops and branches: descended into at the top level, interchanged with the nest where they do not vary over it.

    G((Σ, ⟨x̄ ȳ ∈ x̄s ȳs⟩), loop z̄' = z̄ for i < n do e)
      ⟶  G(Σ, loop z̄s' = replicate m z̄ for i < n do map (λ.. → e) x̄s ȳs z̄s')            n invariant    [map-loop]
    G(Σ, if c then e1 else e2)  ⟶  if c then G(Σ, e1) else G(Σ, e2)                       c invariant    [map-if]

Loops whose trip count varies, while loops, and branches whose condition varies stay in the thread.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Body, Exp, ForLoop, If, Loop, Param, Stm
from ...ir.traverse import free_in_body
from ...ir.types import Atom, Var, scalar
from ..context.distribute import expand, expand_owned
from ..context.nest import Elem, Flow, Nest, host_body
from ..context.trace import Rule
from ..versions.guards import guarded
from ..versions.in_place import in_place_version
from ..versions.rounds import rounds_version
from .maps import distributable


def top_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """At the top level loops and branches stay, and what is inside them is flattened.

    G(•, loop z̄' = z̄ .. do e)  ⟶  loop z̄' = z̄ .. do G(•, e)             (beside versions of `versions/rounds.py`
                                                                         and `versions/in_place.py`)
    """
    if nest.dims:
        return None
    rounds, in_place = rounds_version(flow, stm), in_place_version(flow, stm)
    versions = [version for version in (rounds, in_place) if version is not None]
    if versions:
        rule = Rule.G0 if rounds is None else Rule.ROUNDS
        flow.note(rule, ", ".join(str(p.name) for p in stm.pat))
        in_rounds = flow.known.in_rounds
        flow.known.in_rounds = in_rounds or rounds is not None
        guarded(flow, stm.pat, versions, lambda to: _last(flow, replace(stm, pat=to)))
        flow.known.in_rounds = in_rounds
        return rule
    return _descend(flow, stm)


def _descend(flow: Flow, stm: Stm) -> Rule | None:
    """A loop or branch whose bodies are flattened."""
    match stm.exp:
        case Loop(params, inits, form, body):
            exp: Exp = Loop(params, inits, form, _flat(flow, body))
        case If(cond, then, orelse):
            exp = If(cond, _flat(flow, then), _flat(flow, orelse))
        case _:
            return None
    flow.note(Rule.G0, ", ".join(str(p.name) for p in stm.pat))
    flow.keep(Stm(stm.pat, exp, stm.certs, stm.attrs, stm.loc))
    return Rule.G0


def _last(flow: Flow, stm: Stm) -> None:
    """The version by which rounds are launched, and make new arrays."""
    _descend(flow, stm)


def _flat(flow: Flow, body: Body) -> Body:
    def work() -> tuple[Atom, ...]:
        flow.context.walk_top(flow, body)
        return body.result

    return host_body(flow, work)


def map_loop(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Interchange of a nest with a loop of invariant trip count whose body holds parallelism.

    G((Σ, ⟨x̄ ȳ ∈ x̄s ȳs⟩), loop z̄' = z̄ for i < n do e)  ⟶  G(Σ, loop z̄s' = replicate m z̄ for i < n do map (λ.. → e) ..)
    """
    match stm.exp:
        case Loop(params, inits, ForLoop(index, _, prim) as form, body) if distributable(flow, nest, stm):
            pass
        case _:
            return None
    flow.note(Rule.MAP_LOOP, ", ".join(str(p.name) for p in stm.pat))
    arrays = tuple(Var(name) for name in expand_owned(flow, nest, inits, free_in_body(body)))
    carried = tuple(flow.fresh_param(p.name.base, p.type.array_of(*nest.widths)) for p in params)
    flow.known.types[index] = scalar(prim)

    def work() -> tuple[Atom, ...]:
        for param, array in zip(params, carried, strict=True):
            _as_element(flow, nest, param, array)
        flow.context.walk(flow, nest, body.stms, body.result)
        return tuple(Var(name) for name in expand(flow, nest, body.result))

    flow.emit(flow.bind(nest, stm.pat), Loop(carried, arrays, form, host_body(flow, work)))
    return Rule.MAP_LOOP


def _as_element(flow: Flow, nest: Nest, param: Param, array: Param) -> None:
    flow.known.types[param.name] = param.type
    flow.known.elems[param.name] = Elem(array.name, nest.indices)
    flow.known.fresh.add(array.name)


def map_if(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Interchange of a nest with a branch of invariant condition.

    G(Σ, if c then e1 else e2)  ⟶  if c then G(Σ, e1) else G(Σ, e2)
    """
    match stm.exp:
        case If(cond, then, orelse) if distributable(flow, nest, stm):
            pass
        case _:
            return None
    flow.note(Rule.MAP_IF, ", ".join(str(p.name) for p in stm.pat))

    def branch(body: Body) -> Body:
        def work() -> tuple[Atom, ...]:
            flow.context.walk(flow, nest, body.stms, body.result)
            return tuple(Var(name) for name in expand(flow, nest, body.result))

        return host_body(flow, work)

    flow.emit(flow.bind(nest, stm.pat), If(cond, branch(then), branch(orelse)))
    return Rule.MAP_IF
