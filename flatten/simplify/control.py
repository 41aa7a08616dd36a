"""Rules for branches and loops.

An *expansion* replaces a statement by others, before its bodies are looked at; the other rules look at an `If` or
`Loop` whose bodies are simplified already and take values out of it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import (
    Body,
    Convert,
    Copied,
    Copy,
    Exp,
    Fix,
    ForLoop,
    GuardCmp,
    If,
    Index,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    Reshape,
    Scratch,
    Screma,
    Slice,
    Stm,
    Update,
    WhileLoop,
)
from ...ir.ops import Op, can_fail, is_short
from ...ir.traverse import bodies, free_in_stm
from ...ir.types import Atom, Const, Name, Prim, Type, Var, scalar
from ..aliasing.regions import form_of, minus
from .cse import key_of
from .env import Env
from .scalars import FALSE, TRUE

SPECULATED = 4
"""A branch with no more scalar operations than this may be computed without being chosen."""

FEW = 2
"""Results of a branch that a loop computes whether it takes it or not, each of which waits for the one before."""
TAGS = 8
"""Numbers below this one are often names of a few cases."""


def choose_branch(stm: Stm, env: Env) -> list[Stm] | None:
    """if true then b1 else b2  ⟶  b1        [S-IfConst]"""
    match stm.exp:
        case If(Const() as cond, then, orelse):
            body = then if cond == TRUE else orelse
            return [*body.stms, *env.bring(stm, zip(stm.pat, body.result, strict=True))]
        case _:
            return None


def select_scalars(stm: Stm, env: Env) -> list[Stm] | None:
    """if c then x else y  ⟶  select c x y, of scalars that cost little and cannot fail        [S-IfSelect]"""
    match stm.exp:
        case If(Var() as cond, then, orelse) if not any(p.type.shape for p in stm.pat):
            pass
        case _:
            return None
    if not (_is_cheap(then) and _is_cheap(orelse)) or isinstance(env.definition(cond), GuardCmp):
        return None
    if not env.in_thread and len(stm.pat) > FEW and _is_seldom(env.definition(cond)):
        return None
    chosen = [
        Stm((param,), PrimOp(Op.SELECT, param.type.prim, (cond, x, y)), stm.certs, (), stm.loc)
        for param, x, y in zip(stm.pat, then.result, orelse.result, strict=True)
    ]
    return [*then.stms, *orelse.stms, *chosen]


def _is_seldom(cond: Exp | None) -> bool:
    """An equality with a constant, which Ball and Larus (PLDI 1993) predict not to hold; a small one may be a tag, of
    which there are few."""
    match cond:
        case PrimOp(Op.EQ, prim, (Const(value=value), Var()) | (Var(), Const(value=value))):
            return prim.is_int and not 0 <= value < TAGS
        case _:
            return False


def _is_cheap(body: Body) -> bool:
    if len(body.stms) > SPECULATED:
        return False
    return all(_is_cheap_stm(stm) for stm in body.stms)


def _is_cheap_stm(stm: Stm) -> bool:
    if stm.certs:
        return False
    match stm.exp:
        case PrimOp(op, prim):
            return is_short(op) and not can_fail(op, prim)
        case Convert():
            return True
        case Copied():
            return not stm.pat[0].type.shape
        case _:
            return False


def share_between_branches(stm: Stm, env: Env) -> list[Stm] | None:
    """if c then {x = e; b} else {y = e; b'}  ⟶  x = e; if c then b else b' [x/y], of scalars        [S-IfShare]

    So that a branch with a load that both sides have may be cheap, and lanes load it once."""
    match stm.exp:
        case If(cond, then, orelse) if env.in_thread:
            pass
        case _:
            return None
    sides = {key: one for one in _shareable(then) if (key := key_of(one.exp)) is not None}
    pairs = [(sides[key], other) for other in _shareable(orelse) if (key := key_of(other.exp)) in sides]
    if not pairs:
        return None
    gone = {one.pat[0].name for pair in pairs for one in pair}
    copies = [copy for one, other in pairs for copy in env.bring(other, [(other.pat[0], Var(one.pat[0].name))])]
    left = (Body(tuple(s for s in side.stms if s.pat[0].name not in gone), side.result) for side in (then, orelse))
    return [*(one for one, _ in pairs), *copies, replace(stm, exp=If(cond, *left))]


def _shareable(side: Body) -> list[Stm]:
    """The statements that depend on no other one of a branch and have a scalar value for sure."""
    bound = {param.name for one in side.stms for param in one.pat}
    return [one for one in side.stms if _is_sure(one) and bound.isdisjoint(free_in_stm(one))]


def _is_sure(stm: Stm) -> bool:
    match stm.exp:
        case Index(safe=safe):
            return safe and not stm.certs and not stm.pat[0].type.shape
        case _:
            return _is_cheap_stm(stm)


def run_short_loop(stm: Stm, env: Env) -> list[Stm] | None:
    """loop x = e for i < 0 do b  ⟶  e;    loop x = e for i < 1 do b  ⟶  b [e/x, 0/i]        [S-LoopShort]"""
    match stm.exp:
        case Loop(params, inits, ForLoop(index, Const(_, bound), prim), body):
            if bound < 1:
                return env.bring(stm, zip(stm.pat, inits, strict=True))
            if bound > 1:
                return None
            start = Stm((Param(index, scalar(prim)),), Copied(Const(prim, 0)), (), (), stm.loc)
            first = env.bring(stm, zip(params, inits, strict=True))
            return [start, *first, *body.stms, *env.bring(stm, zip(stm.pat, body.result, strict=True))]
        case Loop(params, inits, WhileLoop(cond), _):
            where = [p.name for p in params].index(cond)
            return env.bring(stm, zip(stm.pat, inits, strict=True)) if inits[where] == FALSE else None
        case _:
            return None


def drop_invariant_params(stm: Stm, env: Env) -> list[Stm] | None:
    """loop (x, y) = (a, b) for i < n do (e, y)  ⟶  loop x = a for i < n do e [b/y];  y' = b        [S-LoopInvariant]"""
    match stm.exp:
        case Loop(params, inits, form, body):
            pass
        case _:
            return None
    gone = invariant_params(stm.exp, env)
    if not gone:
        return None
    kept = [k for k in range(len(params)) if k not in gone]
    for k in gone:
        env.types[params[k].name] = params[k].type
        env.alias(params[k].name, inits[k])
    brought = env.bring(stm, ((stm.pat[k], inits[k]) for k in gone))
    result = tuple(body.result[k] for k in kept)
    loop = Loop(tuple(params[k] for k in kept), tuple(inits[k] for k in kept), form, Body(body.stms, result))
    return [*brought, replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=loop)]


def invariant_params(loop: Loop, env: Env) -> list[int]:
    """The places of parameters that are what they were at first in every iteration; a condition is kept."""
    cond = loop.form.cond if isinstance(loop.form, WhileLoop) else None
    triples = enumerate(zip(loop.params, loop.inits, loop.body.result, strict=True))
    return [
        k
        for k, (param, init, result) in triples
        if result in (Var(param.name), init) and param.name != cond and _agree(param.type, env.type_of(init))
    ]


def _agree(x: Type, y: Type) -> bool:
    return x.prim is y.prim and x.rank == y.rank


def forget_first_values(stm: Stm, env: Env) -> list[Stm] | None:
    """loop y = ys for i < n do .. y with [i] = e  ⟶  loop y = scratch [n] for i < n do ..        [S-LoopOverwrites]

    All elements are overwritten, in order or backwards, and none is read. Parallel rounds of the host may be made in
    batches, each of which copies what it goes on with: such loops keep their values. What was checked for the number
    of the first values, the memory without values relies on."""
    match stm.exp:
        case Loop(params, inits, ForLoop(_, _, Prim.I64), body) as loop:
            if not env.in_thread and any(bodies(inner.exp) for inner in body.stms):
                return None
        case _:
            return None
    starts = list(inits)
    for k, (param, init) in enumerate(zip(params, inits, strict=True)):
        made = env.producer(init.name) if isinstance(init, Var) else None
        has_values = made is None or not isinstance(made.exp, Scratch)
        if param.type.shape and has_values and _is_overwritten(loop, k, env):
            type_ = env.type_of(init)
            checks = tuple(dict.fromkeys(_checks_of(init, env)))
            starts[k] = env.emit(param.name.base, Scratch(type_), type_, checks)
    return [replace(stm, exp=replace(loop, inits=tuple(starts)))] if starts != list(inits) else None


def _checks_of(array: Atom, env: Env) -> Iterator[Name]:
    """The checks that an array relies on, and the arrays that it has its size of."""
    stm = env.producer(array.name) if isinstance(array, Var) else None
    if stm is None:
        return
    yield from stm.certs
    if isinstance(stm.exp, Copied | Copy | Index | Rearrange | Reshape | Screma):
        for name in sorted(free_in_stm(stm), key=lambda name: name.tag):
            if env.types[name].shape:
                yield from _checks_of(Var(name), env)


def _is_overwritten(loop: Loop, k: int, env: Env) -> bool:
    """Whether the rounds do nothing with a parameter but overwrite a part of it, and have overwritten it in the end."""
    assert isinstance(loop.form, ForLoop)
    old, last, bound, index = loop.params[k], loop.body.result[k], loop.form.bound, loop.form.index
    defined = {p.name: stm for stm in loop.body.stms for p in stm.pat}
    if not isinstance(last, Var) or last.name not in defined:
        return False
    update = defined[last.name]
    match update.exp:
        case Update(array, dims, value) if array == old.name and value != Var(array):
            pass
        case _:
            return False
    own = [(dim, size) for dim, size in zip(dims, old.type.shape, strict=True) if isinstance(dim, Fix)]
    parts = zip(dims, whole(old.type.shape), strict=True)
    if len(own) != 1 or own[0][1] != bound or any(isinstance(dim, Slice) and dim != all_ for dim, all_ in parts):
        return False
    known = ChainMap(defined, env.definitions)
    place = form_of(own[0][0].index, known)
    backwards = minus(form_of(bound, known), {index: 1, None: 1})
    used = [name for s in loop.body.stms if s is not update for name in free_in_stm(s)]
    used += [atom.name for n, atom in enumerate(loop.body.result) if n != k and isinstance(atom, Var)]
    return place in ({index: 1}, backwards) and {old.name, last.name}.isdisjoint(used)


def drop_equal_results(stm: Stm, env: Env) -> Stm | None:
    """(x, y) = if c then (e, a) else (f, a)  ⟶  x = if c then e else f;  y = a        [S-IfSame]"""
    match stm.exp:
        case If(cond, then, orelse):
            pass
        case _:
            return None
    kept = [k for k, param in enumerate(stm.pat) if not _same_outside(param, then.result[k], orelse.result[k], env)]
    if len(kept) == len(stm.pat):
        return None
    for k in set(range(len(stm.pat))) - set(kept):
        for copy in env.bring(stm, [(stm.pat[k], then.result[k])]):
            env.step(copy)
    then = Body(then.stms, tuple(then.result[k] for k in kept))
    orelse = Body(orelse.stms, tuple(orelse.result[k] for k in kept))
    return env.resolve_stm(replace(stm, pat=tuple(stm.pat[k] for k in kept), exp=If(cond, then, orelse)))


def _same_outside(param: Param, x: Atom, y: Atom, env: Env) -> bool:
    if x != y or param.type.rank != env.type_of(x).rank:
        return False
    return isinstance(x, Const) or env.levels[x.name] <= env.here


EXPANSIONS = (choose_branch, select_scalars, run_short_loop, drop_invariant_params, forget_first_values)
