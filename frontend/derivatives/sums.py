"""The sum over the rows of a map of arrays that the rows compute by maps: the sum moves inside.

    sum (map (\\x -> map f ys) xs)   ⟶   map (\\y -> redomap (+) (\\x -> f y) 0 xs) ys

Nothing of the size of both is made. What the row computes beside is kept in an array for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...ir.core import Body, Copied, Hist, Iota, Lambda, Loop, Param, Rearrange, Replicate, Screma, Stm
from ...ir.errors import NOWHERE
from ...ir.records import dataclass
from ...ir.rename import substitute_body, substitute_exp, substitute_type
from ...ir.traverse import all_exps, free_in_lambda, free_in_stm, live, names_in_types
from ...ir.types import Atom, Name, Var
from ..building.code import Code
from .normal import swapped

CONSTANT = Copied | Iota | Rearrange | Replicate
"""What cannot fail and is cheap to make outside of a map, where its rows may be none."""


@dataclass(slots=True)
class Rows:
    r"""`map (\params -> stms ..) arrays`, of which several results are wanted. What a sum keeps of all rows is an input
    for those that come after it."""

    width: Atom
    arrays: list[Var]
    params: list[Param]
    stms: Sequence[Stm]

    def keep(self, code: Code, names: Sequence[Name]) -> None:
        """Computes `names` for all rows."""
        types = tuple([code.types[n] for n in names])
        f = code.fresh_lambda(Lambda(tuple(self.params), _needed(self.stms, *map(Var, names)), types))
        self.arrays += code.screma(Screma(self.width, tuple([a.name for a in self.arrays]), f, (), ()), "kept")
        self.params += [Param(n, t) for n, t in zip(names, types, strict=True)]
        self.stms = self.without_inputs(code, self.stms)

    def without_inputs(self, code: Code, stms: Sequence[Stm]) -> list[Stm]:
        """The statements but for what they compute of the inputs."""
        given = {p.name for p in self.params}
        kept: list[Stm] = []
        for stm in stms:
            if any(p.name not in given for p in stm.pat):
                pat = tuple([code.like(p, "") if p.name in given else p for p in stm.pat])
                kept.append(replace(stm, pat=pat))
        return kept


def sums_of_rows(
    code: Code, width: Atom, arrays: Sequence[Var], params: Sequence[Param], body: Body
) -> tuple[list[Atom], Rows]:
    r"""The sums of the results of `map (\params -> body) arrays`, and the rows with what was kept of them."""
    body = _without_constants(code, params, body)
    rows = Rows(width, list(arrays), list(params), body.stms)
    return [_sum(code, rows, atom) for atom in body.result], rows


def _sum(code: Code, rows: Rows, atom: Atom) -> Atom:
    type = code.type_of(atom)
    view = _view_of(rows.stms, atom)
    if view is not None:
        source = _sum(code, rows, Var(view.array))
        assert isinstance(source, Var)
        return code.rearrange(view.perm, source)
    inner = None if not type.shape else _inner_map(rows.stms, atom)
    if type.shape and inner is not None:
        found = _moved_inside(code, rows, *inner)
        if found is not None:
            return found
    f = code.fresh_lambda(Lambda(tuple(rows.params), _needed(rows.stms, atom), (type,)))
    names = tuple([a.name for a in rows.arrays])
    if not type.shape:
        return code.screma(Screma(rows.width, names, f, (), (code.adder(type),)), "total")[0]
    return code.sum_rows(code.screma(Screma(rows.width, names, f, (), ()))[0])


def moves_inside(stms: Sequence[Stm], atom: Atom) -> bool:
    """Whether a row computes `atom`, an array, by a map."""
    view = _view_of(stms, atom)
    return moves_inside(stms, Var(view.array)) if view is not None else _inner_map(stms, atom) is not None


def _without_constants(code: Code, params: Sequence[Param], body: Body) -> Body:
    """What of a row depends on it; other things are computed once, where nothing in them can fail."""
    varies = {p.name for p in params}
    kept: list[Stm] = []
    mapping: dict[Name, Atom] = {}
    for stm in body.stms:
        own = free_in_stm(stm)
        if isinstance(stm.exp, CONSTANT) and not stm.certs and not any(name in varies for name in own):
            mapping[stm.pat[0].name] = _computed_once(code, stm, mapping)
        else:
            kept.append(stm)
            varies.update(p.name for p in stm.pat)
    return substitute_body(replace(body, stms=tuple(kept)), mapping) if mapping else body


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


def _needed(stms: Sequence[Stm], *result: Atom) -> Body:
    return live(Body(tuple(stms), result))


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
    return replace(exp, map=Lambda(exp.map.params, _needed(exp.map.body.stms, result), ())), result


def _is_expensive(exp: Screma, which: int) -> bool:
    """Whether a result of a map is rather kept than computed again."""
    body = _needed(exp.map.body.stms, exp.map.body.result[which])
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


def _moved_inside(code: Code, outer: Rows, exp: Screma, result: Atom) -> Atom | None:
    bound = {p.name for p in outer.params} | {p.name for stm in outer.stms for p in stm.pat}
    free = [n for n in free_in_lambda(exp.map) if n in bound]
    needed = dict.fromkeys([*[a for a in exp.arrays if a in bound], *free])
    if any(n in bound for n in names_in_types(code.types[name] for name in needed)):
        return None
    given = {p.name for p in outer.params}
    kept = [n for n in needed if n not in given]
    if kept:
        outer.keep(code, kept)
    full = {p.name: a for p, a in zip(outer.params, outer.arrays, strict=True)}
    inputs = [swapped(code, full[a]) if a in bound else Var(a) for a in exp.arrays] or [code.iota(exp.width)]

    def rows(inner: Code, xs: Sequence[Var]) -> Sequence[Atom]:
        own = list(zip(exp.arrays, exp.map.params, xs, strict=False))
        copies = [Stm((p,), Copied(x), (), (), code.loc) for a, p, x in own if a not in bound]
        sources = [x for a, _, x in own if a in bound] + [full[n] for n in free]
        their = [p for a, p, _ in own if a in bound] + [Param(n, code.types[n]) for n in free]
        if not sources:
            sources, their = outer.arrays, outer.params
        body = Body((*copies, *exp.map.body.stms), (result,))
        return sums_of_rows(inner, outer.width, sources, their, body)[0]

    return code.map(exp.width, inputs, rows)[0]
