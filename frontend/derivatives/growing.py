"""A loop that appends to arrays as a loop that writes into arrays of the size that they reach in the end.

loop (k = 0, xs : [k]t = []) for i < n do (k + m, xs ++ ys)
⟶   let size = loop k = 0 for i < n do k + m
     loop (k = 0, xs : [size]t) for i < n do (k + m, xs with [k : k + m] = ys)
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import Body, Concat, Copied, ForLoop, Loop, Slice, Stm, Update
from ...ir.traverse import free_in_body, free_in_stm, live, names_in_types
from ...ir.types import Atom, Type, Var, i64
from ..building.code import Code


def in_place(code: Code, stm: Stm) -> list[Stm]:
    """The statements for `stm`, a loop that appends or anything else."""
    loop = stm.exp
    if not isinstance(loop, Loop) or not isinstance(loop.form, ForLoop):
        return [stm]
    grown = _grown(loop)
    if not grown:
        return [stm]
    outer = code.inside()
    sizes = {k: _size(outer, loop, total) for k, (total, _) in grown.items()}
    params, inits = list(loop.params), list(loop.inits)
    stms = list(loop.body.stms)
    result = list(loop.body.result)
    for k, (total, at) in grown.items():
        param = loop.params[k]
        rest = param.type.shape[1:]
        params[k] = outer.param(param.name.base, Type(param.type.prim, (sizes[k], *rest)))
        inits[k] = outer.zeros(params[k].type)
        concat = stms[at]
        assert isinstance(concat.exp, Concat)
        rows = concat.exp.arrays[1]
        part = Slice(Var(loop.params[total].name), code.types[rows].shape[0], i64(1))
        made = outer.param(param.name.base, params[k].type)
        update = Update(params[k].name, (part, *whole(rest)), Var(rows), True)
        stms[at] = replace(concat, pat=(made,), exp=update)
        result[k] = Var(made.name)
    body = Body(tuple(stms), tuple(result))
    found = outer.loop(params, inits, loop.form, body)
    for param, atom in zip(stm.pat, found, strict=True):
        outer.keep(Stm((param,), Copied(outer.sized(atom, param.type)), stm.certs, (), stm.loc))
    return outer.stms


def _grown(loop: Loop) -> dict[int, tuple[int, int]]:
    """The parameters that are appended to, if none changes its size otherwise: of each that of its size, and which
    statement appends."""
    place = {p.name: k for k, p in enumerate(loop.params)}
    found: dict[int, tuple[int, int]] = {}
    for k, param in enumerate(loop.params):
        carried = [name for name in names_in_types([param.type]) if name in place]
        if not carried:
            continue
        size = param.type.shape[0]
        appends = [at for at, stm in enumerate(loop.body.stms) if param.name in free_in_stm(stm)]
        if len(carried) != 1 or size != Var(carried[0]) or len(appends) != 1:
            return {}
        total, stm = place[carried[0]], loop.body.stms[appends[0]]
        match stm.exp:
            case Concat((first, _), _) if first == param.name and loop.body.result[k] == Var(stm.pat[0].name):
                if loop.inits[total] != i64(0):
                    return {}
                found[k] = total, appends[0]
            case _:
                return {}
    return found


def _size(code: Code, loop: Loop, total: int) -> Atom:
    """What parameter `total` is in the end: the loop with what that needs alone."""
    copy = code.fresh_loop(loop)
    needed = {total}
    while True:
        kept = sorted(needed)
        body = live(Body(copy.body.stms, tuple([copy.body.result[k] for k in kept])))
        used = free_in_body(body)
        more = {k for k, p in enumerate(copy.params) if p.name in used} - needed
        if not more:
            break
        needed |= more
    params, inits = [copy.params[k] for k in kept], [copy.inits[k] for k in kept]
    return code.loop(params, inits, copy.form, body)[kept.index(total)]
