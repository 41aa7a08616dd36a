"""The sum over the rows of a map of arrays that the rows compute by maps: the sum moves inside.

    sum (map (\\x -> map f ys) xs)   ⟶   map (\\y -> redomap (+) (\\x -> f y) 0 xs) ys

Nothing of the size of both is made. What the row computes beside is kept in an array for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...ir.core import Body, Copied, Hist, Iota, Lambda, Loop, Param, Rearrange, Replicate, Screma, Stm
from ...ir.errors import NOWHERE
from ...ir.rename import substitute_body, substitute_exp, substitute_type
from ...ir.traverse import all_exps, free_in_lambda, free_in_stm, names_in_types
from ...ir.types import Atom, Name, Var
from ..building.code import Code
from .normal import live

CONSTANT = Copied | Iota | Rearrange | Replicate
"""What cannot fail and is cheap to make outside of a map, where its rows may be none."""


def sum_of_rows(
    code: Code, width: Atom, arrays: Sequence[Var], params: Sequence[Param], stms: Sequence[Stm], atom: Atom
) -> Atom:
    r"""The sum of `map (\params -> stms in atom) arrays`."""
    stms, atom = _without_constants(code, params, stms, atom)
    type = code.type_of(atom)
    view = _view_of(stms, atom)
    if view is not None:
        source = sum_of_rows(code, width, arrays, params, stms, Var(view.array))
        assert isinstance(source, Var)
        return code.rearrange(view.perm, source)
    inner = None if not type.shape else _inner_map(stms, atom)
    if type.shape and inner is not None:
        found = _moved_inside(code, width, arrays, params, stms, *inner)
        if found is not None:
            return found
    f = code.fresh_lambda(Lambda(tuple(params), _needed(stms, [atom]), (type,)))
    names = tuple([a.name for a in arrays])
    if not type.shape:
        return code.screma(Screma(width, names, f, (), (code.adder(type),)), "total")[0]
    return code.sum_rows(code.screma(Screma(width, names, f, (), ()))[0])


def _without_constants(
    code: Code, params: Sequence[Param], stms: Sequence[Stm], atom: Atom
) -> tuple[Sequence[Stm], Atom]:
    """The statements of the row that depend on it; others are computed once, where nothing in them can fail."""
    varies = {p.name for p in params}
    kept: list[Stm] = []
    mapping: dict[Name, Atom] = {}
    for stm in stms:
        own = free_in_stm(stm)
        if isinstance(stm.exp, CONSTANT) and not stm.certs and not any(name in varies for name in own):
            mapping[stm.pat[0].name] = _computed_once(code, stm, mapping)
        else:
            kept.append(stm)
            varies.update(p.name for p in stm.pat)
    if not mapping:
        return stms, atom
    body = substitute_body(Body(tuple(kept), (atom,)), mapping)
    return body.stms, body.result[0]


def _computed_once(code: Code, stm: Stm, mapping: Mapping[Name, Atom]) -> Atom:
    """The value of a statement whose result has another name in each sum that needs it."""
    exp = substitute_exp(stm.exp, mapping)
    if isinstance(exp, Copied):
        return exp.atom
    return code.let(stm.pat[0].name.base, exp, substitute_type(stm.pat[0].type, mapping))


def _view_of(stms: Sequence[Stm], atom: Atom) -> Rearrange | None:
    """The transposition that `atom` is of something else that the row computes."""
    made = {stm.pat[0].name: stm.exp for stm in stms}
    match made.get(atom.name) if isinstance(atom, Var) else None:
        case Rearrange(_, array) as exp if array in made:
            return exp
        case _:
            return None


def _needed(stms: Sequence[Stm], result: Sequence[Atom]) -> Body:
    body = Body(tuple(stms), tuple(result))
    return replace(body, stms=tuple(live(body)))


def _map_of(stms: Sequence[Stm], name: Name) -> tuple[int, Screma, int] | None:
    """The place and the map whose result `name` is, and which of its results; `replicate n x` is one too."""
    for at, stm in enumerate(stms):
        for k, param in enumerate(stm.pat):
            if param.name != name or stm.certs:
                continue
            match stm.exp:
                case Screma(scans=(), reds=()) as exp:
                    return at, exp, k
                case Replicate((count,), value):
                    return at, Screma(count, (), Lambda((), Body((), (value,)), (param.type.row(),)), (), ()), 0
                case Copied(Var(other)):
                    return _map_of(stms, other)
                case _:
                    return None
    return None


def _inner_map(stms: Sequence[Stm], atom: Atom) -> tuple[Screma, Atom] | None:
    """The map that computes `atom`, with the cheap maps that its inputs come from taken in; and the result of its
    lambda."""
    found = _map_of(stms, atom.name) if isinstance(atom, Var) else None
    if found is None:
        return None
    _, exp, k = found
    result = exp.map.body.result[k]
    while sources := [(a, *m) for a in exp.arrays if (m := _map_of(stms, a)) is not None and not _is_expensive(*m[1:])]:
        array, _, source, which = max(sources, key=lambda one: one[1])  # after all that use it
        exp = _absorbed(exp, array, source, which)
    body = _needed(exp.map.body.stms, [result])
    return replace(exp, map=Lambda(exp.map.params, body, ())), result


def _is_expensive(exp: Screma, which: int) -> bool:
    """Whether a result of a map is rather kept than computed again."""
    body = _needed(exp.map.body.stms, [exp.map.body.result[which]])
    return any(isinstance(e, Loop | Hist) or (isinstance(e, Screma) and (e.scans or e.reds)) for e in all_exps(body))


def _absorbed(exp: Screma, array: Name, source: Screma, k: int) -> Screma:
    """The map with the body of the one that makes `array` before its own."""
    f, g = exp.map, source.map
    pairs = list(zip(exp.arrays, f.params, strict=True))
    copies = [Stm((p,), Copied(g.body.result[k]), (), (), NOWHERE) for a, p in pairs if a == array]
    rest = [(a, p) for a, p in pairs if a != array]
    missing = [(a, p) for a, p in zip(source.arrays, g.params, strict=True) if p not in f.params]
    inputs = rest + missing
    known = {p.name for stm in f.body.stms for p in stm.pat}
    before = [stm for stm in g.body.stms if stm.pat[0].name not in known]
    made = {p.name for stm in g.body.stms for p in stm.pat} | {p.name for p in g.params}
    at = max([k + 1 for k, stm in enumerate(f.body.stms) if stm.pat[0].name in made], default=0)
    body = Body((*before, *f.body.stms[:at], *copies, *f.body.stms[at:]), f.body.result)
    arrays = tuple([a for a, _ in inputs])
    return replace(exp, arrays=arrays, map=Lambda(tuple([p for _, p in inputs]), body, f.ret))


def _moved_inside(
    code: Code,
    width: Atom,
    arrays: Sequence[Var],
    params: Sequence[Param],
    stms: Sequence[Stm],
    exp: Screma,
    result: Atom,
) -> Atom | None:
    given = {p.name: a for p, a in zip(params, arrays, strict=True)}
    bound = given.keys() | {p.name for stm in stms for p in stm.pat}
    free = [n for n in free_in_lambda(exp.map) if n in bound]
    needed = dict.fromkeys([*[a for a in exp.arrays if a in bound], *free])
    kept = [n for n in needed if n not in given]
    if any(n in bound for n in names_in_types(code.types[name] for name in needed)):
        return None
    if kept:
        types = tuple([code.types[n] for n in kept])
        f = code.fresh_lambda(Lambda(tuple(params), _needed(stms, [Var(n) for n in kept]), types))
        made = code.screma(Screma(width, tuple([a.name for a in arrays]), f, (), ()), "kept")
        given.update(zip(kept, made, strict=True))
    inputs = [_swapped(code, given[a]) if a in bound else Var(a) for a in exp.arrays] or [code.iota(exp.width)]

    def rows(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        own = list(zip(exp.arrays, exp.map.params, xs, strict=False))
        copies = [Stm((p,), Copied(x), (), (), code.loc) for a, p, x in own if a not in bound]
        sources = [x for a, _, x in own if a in bound] + [given[n] for n in free]
        their = [p for a, p, _ in own if a in bound] + [Param(n, code.types[n]) for n in free]
        if not sources:
            sources, their = list(arrays), list(params)
        return [sum_of_rows(inner, width, sources, their, (*copies, *exp.map.body.stms), result)]

    return code.map(exp.width, inputs, rows)[0]


def _swapped(code: Code, array: Var) -> Var:
    rank = code.types[array.name].rank
    return code.rearrange((1, 0, *range(2, rank)), array)
