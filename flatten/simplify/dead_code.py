"""Dead code: statements, results, loop parameters and inputs that are not used.

Backward through every body with the set of names in use. Everything is pure; what may fail and is unused goes too
(the law of failure). A statement with several results is first cut down to those in use, then its bodies are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import is_

from ...ir.core import (
    Body,
    Exp,
    FunDef,
    If,
    Lambda,
    Loop,
    Param,
    Prog,
    Reduction,
    Scatter,
    Screma,
    SegMap,
    SegRed,
    SegScan,
    Soac,
    Stm,
    WhileLoop,
)
from ...ir.traverse import COMPOUND, free_in_stm, map_bodies, names_in_types, operands, result_types, scoped_bodies
from ...ir.types import Atom, Name, Type, Var

Live = set[Name]


def remove_dead(prog: Prog) -> Prog:
    """`prog` without what is not used."""
    live: Live = set()
    functions = list[FunDef]()
    for fun in reversed(prog.functions):
        _use_types((p.type for p in (*fun.params, *fun.results)), live)
        functions.append(replace(fun, body=_live_body(fun.body, live)))
    consts = _live_body(Body(prog.consts, ()), live).stms
    return Prog(consts, tuple(reversed(functions)), prog.next_name)


def without_dead(body: Body) -> Body:
    """`body` without what is not used in it."""
    return _live_body(body, set())


def _live_body(body: Body, live: Live) -> Body:
    _use(body.result, live)
    kept: list[Stm] = []
    for stm in reversed(body.stms):
        if _is_live(stm.pat, live):
            kept.append(_live_stm(stm, live))
    kept.reverse()
    return body if len(kept) == len(body.stms) and all(map(is_, kept, body.stms)) else Body(tuple(kept), body.result)


def _is_live(pat: tuple[Param, ...], live: Live) -> bool:
    for param in pat:  # noqa: SIM110 (asked of every statement: a generator takes twice the time)
        if param.name in live:
            return True
    return False


def _use(atoms: Iterable[Atom], live: Live) -> None:
    for atom in atoms:
        if isinstance(atom, Var):
            live.add(atom.name)


def _use_types(types: Iterable[Type], live: Live) -> None:
    for type_ in types:
        if type_.shape:
            _use(type_.shape, live)


def _live_stm(stm: Stm, live: Live) -> Stm:
    """`stm` cut down to what is in use; what it uses is noted."""
    for param in reversed(stm.pat):
        if param.type.shape and param.name in live:
            _use(param.type.shape, live)
    if len(stm.pat) > 1:
        stm = _live_results(stm, live)
    if type(stm.exp) in COMPOUND:  # most are not
        exp = map_bodies(lambda body: _live_body(body, live), stm.exp)
        for params, _ in scoped_bodies(stm.exp):
            _use_types((p.type for p in params), live)
        _use_types(result_types(exp), live)
        exp = _live_inputs(exp, live)
        stm = stm if exp is stm.exp else replace(stm, exp=exp)
    _use(operands(stm.exp), live)
    live.update(stm.certs)
    _use_types([param.type for param in stm.pat], live)
    return stm


def _live_inputs(exp: Exp, live: Live) -> Exp:
    """map (\\x y -> e) xs ys  ⟶  map (\\x -> e) xs, where e does not use y        [S-DeadInput]"""
    if not isinstance(exp, Soac):
        return exp
    kept = [k for k, param in enumerate(exp.map.params) if param.name in live]
    if len(kept) == len(exp.arrays):
        return exp
    f = Lambda(tuple(exp.map.params[k] for k in kept), exp.map.body, exp.map.ret)
    return replace(exp, arrays=tuple(exp.arrays[k] for k in kept), map=f)


# ---- results ------------------------------------------------------------------------------------------------------


def _live_results(stm: Stm, live: Live) -> Stm:
    """Only the results in use, where the expression can do without the others        [S-DeadResult]"""
    used = [k for k, param in enumerate(stm.pat) if param.name in live]
    if len(used) == len(stm.pat):
        return stm
    match stm.exp:
        case If(cond, then, orelse):
            return _cut(stm, used, If(cond, _only(then, used), _only(orelse, used)))
        case Loop():
            return _cut_loop(stm, stm.exp, used)
        case Screma():
            return _cut_screma(stm, stm.exp, used)
        case Scatter(dests=dests, rank=rank, map=f):
            places = [*range(rank), *(rank + k for k in used)]
            exp = replace(stm.exp, dests=tuple(dests[k] for k in used), map=_only_of(f, places))
            return _cut(stm, used, exp)
        case SegMap(ret=ret, body=body):
            exp = replace(stm.exp, body=_only(body, used), ret=tuple(ret[k] for k in used))
            return _cut(stm, used, exp)
        case SegRed(reds=reds):
            kept, ops = _used_operators(reds, used, len(stm.pat))
            exp = replace(stm.exp, reds=ops, body=_only(stm.exp.body, kept), ret=tuple(stm.exp.ret[k] for k in kept))
            return _cut(stm, kept, exp) if ops else stm
        case SegScan(scans=scans):
            kept, ops = _used_operators(scans, used, len(stm.pat))
            exp = replace(stm.exp, scans=ops, body=_only(stm.exp.body, kept), ret=tuple(stm.exp.ret[k] for k in kept))
            return _cut(stm, kept, exp) if ops else stm
        case _:
            return stm


def _cut(stm: Stm, kept: list[int], exp: Exp) -> Stm:
    return replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=exp)


def _only(body: Body, kept: list[int]) -> Body:
    return Body(body.stms, tuple(body.result[k] for k in kept))


def _only_of(f: Lambda, kept: list[int]) -> Lambda:
    return Lambda(f.params, _only(f.body, kept), tuple(f.ret[k] for k in kept))


def _cut_screma(stm: Stm, screma: Screma, used: list[int]) -> Stm:
    kept, ops = _used_operators(screma.ops, used, len(stm.pat))
    return _cut(stm, kept, replace(screma, map=_only_of(screma.map, kept)).with_ops(ops))


def _used_operators(
    operators: tuple[Reduction, ...], used: list[int], results: int
) -> tuple[list[int], tuple[Reduction, ...]]:
    """An operator stays with all its results if one is in use; after the operators come mapped results, each by
    itself. Gives the results that stay, and the operators."""
    wanted = set(used)
    kept: list[int] = []
    ops: list[Reduction] = []
    start = 0
    for reduction in operators:
        places = range(start, start + len(reduction.neutral))
        start = places.stop
        if not wanted.isdisjoint(places):
            kept.extend(places)
            ops.append(reduction)
    kept.extend(k for k in range(start, results) if k in wanted)
    return kept, tuple(ops)


def _cut_loop(stm: Stm, loop: Loop, used: list[int]) -> Stm:
    """A parameter stays if its result is in use, or if another that stays is computed from it."""
    kept = sorted(_needed_params(loop, used))
    if len(kept) == len(loop.params):
        return stm
    exp = Loop(
        tuple(loop.params[k] for k in kept),
        tuple(loop.inits[k] for k in kept),
        loop.form,
        _only(loop.body, kept),
    )
    return _cut(stm, kept, exp)


def _needed_params(loop: Loop, used: list[int]) -> set[int]:
    position = {param.name: k for k, param in enumerate(loop.params)}
    definition = {param.name: stm for stm in loop.body.stms for param in stm.pat}
    needed: set[int] = set()
    pending: list[Name] = [loop.params[k].name for k in used]
    if isinstance(loop.form, WhileLoop):
        pending.append(loop.form.cond)
    visited: set[Name] = set()
    while pending:
        name = pending.pop()
        if name in visited:
            continue
        visited.add(name)
        if name in position:
            k = position[name]
            needed.add(k)
            pending.extend(names_in_types((loop.params[k].type,)))
            pending.extend(atom.name for atom in (loop.body.result[k],) if isinstance(atom, Var))
        elif name in definition:
            stm = definition[name]
            visited.update(param.name for param in stm.pat)
            pending.extend(free_in_stm(stm))
    return needed
