"""Fusion of loops: a loop that only maps its arrays, element by element, is a map of loops.

    loop zs = ys for i < t do map (λz w → e) zs ws  ⟶  map (λy w → loop z = y for i < t do e) ys ws        [F-LoopMap]

The same work without arrays between the iterations; and as a map it is fused with what makes ys and ws, and with what
reads its result, by the other rules: that is how maps get into and out of loops. In a nest, where its points are many
and share what is uniform, the map may also read elements and rows that each iteration chooses:

    loop zs = ys for i < t do let w = ws[i]; row = xss[is[i]] in map (λz x → e) zs row
      ⟶  map (λy j → loop z = y for i < t do let w = ws[i]; row = xss[is[i]]; x = row[j] in e) ys (iota n)

It is the inverse of map-loop
(`flatten/rules/control.py`), for maps that hold nothing that a loop of the host could exploit: scalar code, and nests
of maps with scalar code. What is carried on must be arrays that the map has as inputs or makes.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.core import Body, Fix, ForLoop, If, Index, Iota, Lambda, Loop, Param, Screma, Stm
from ...ir.errors import Loc
from ...ir.records import dataclass
from ...ir.rename import substitute_body
from ...ir.traverse import bodies, free_in_lambda, free_in_stm
from ...ir.types import I64, Atom, Name, Names, Prim, Var, i64
from ..context.recompute_cost import HEAVY, LIMIT, is_total, weight_of
from ..context.widths import is_small


def loop_to_map(stm: Stm, names: Names, in_nest: bool = False) -> tuple[Stm, ...] | None:
    """loop zs = ys for i < t do map (λz w → e) zs ws  ⟶  map (λy w → loop z = y for i < t do e) ys ws"""
    found = _only_map(stm, in_nest)
    if found is None or not _is_pointwise(found):
        return None
    loop, screma, rows = found.loop, found.screma, found.rows
    iota, j = Param(names.fresh("is"), I64.array_of(screma.width)), Param(names.fresh("j"), I64)
    firsts = tuple(Param(names.again(p.name), p.type.row()) for p in loop.params)
    params = tuple(Param(names.again(p.name), p.type.row()) for p in loop.params)
    element: dict[Name, Atom] = {old.name: Var(new.name) for old, new in zip(loop.params, params, strict=True)}
    pairs = list(zip(screma.arrays, screma.map.params, strict=True))
    shared = [(xs, x) for xs, x in pairs if xs not in element and xs not in rows]
    chosen = [Stm((x,), Index(xs, (Fix(Var(j.name)),), True), (), (), rows[xs]) for xs, x in pairs if xs in rows]
    known = {x.name: element[xs] for xs, x in zip(screma.arrays, screma.map.params, strict=True) if xs in element}
    code = substitute_body(Body((*found.scalars, *chosen, *screma.map.body.stms), screma.map.body.result), known)
    made = dict(zip((p.name for p in found.map.pat), code.result, strict=True))
    nexts = tuple({**element, **made}[atom.name] for atom in loop.body.result if isinstance(atom, Var))
    results = tuple(Param(names.again(p.name), p.type.row()) for p in stm.pat)
    inits = tuple(Var(p.name) for p in firsts)
    inner = Stm(results, Loop(params, inits, loop.form, Body(code.stms, nexts)), (), (), stm.loc)
    body = Body((inner,), tuple(Var(p.name) for p in results))
    counted, count = ((j,), (iota.name,)) if chosen else ((), ())
    f = Lambda((*firsts, *(x for _, x in shared), *counted), body, tuple(p.type for p in results))
    arrays = (*(init.name for init in loop.inits if isinstance(init, Var)), *(xs for xs, _ in shared), *count)
    certs = tuple(dict.fromkeys((*stm.certs, *found.map.certs)))
    numbers = Stm((iota,), Iota(screma.width, i64(0), i64(1), Prim.I64), (), (), stm.loc)
    mapped = Stm(stm.pat, Screma(screma.width, arrays, f, (), ()), certs, (), stm.loc)
    return (numbers, mapped) if chosen else (mapped,)


SHARED = 3 * LIMIT
"""The most that scalars of an iteration weigh in a nest, whose points compute them for all lanes at once: row and
column of an index, say."""


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A loop of a known number of iterations, whose body is one map and before it cheap scalars and `rows` of arrays,
    each with its place in the source."""

    loop: Loop
    scalars: tuple[Stm, ...]
    rows: Mapping[Name, Loc]
    map: Stm
    screma: Screma


def _only_map(stm: Stm, in_nest: bool) -> _Mapping | None:
    match stm.exp:
        case Loop(form=ForLoop(), body=Body((*scalars, Stm(exp=Screma(_, _, _, (), ()) as screma, attrs=()) as map_))):
            pass
        case _:
            return None
    in_nest = in_nest and not is_small(screma.width)
    rows = {s.pat[0].name: s.loc for s in scalars if in_nest and _is_row(s, screma)}
    plain = (s for s in scalars if s.pat[0].name not in rows)
    if stm.attrs or not all(_is_plain(s, in_nest) for s in plain):
        return None
    weight = sum(weight_of(s.exp) for s in scalars)
    return _Mapping(stm.exp, tuple(scalars), rows, map_, screma) if weight <= (SHARED if in_nest else LIMIT) else None


def _is_plain(stm: Stm, in_nest: bool) -> bool:
    """A scalar that each point may compute; in a nest also what may fail: where a point has an iteration, the program
    had it."""
    if stm.pat[0].type.shape or stm.attrs:
        return False
    return isinstance(stm.exp, Index) or is_total(stm.exp) if in_nest else is_total(stm.exp) and not stm.certs


def _is_row(stm: Stm, screma: Screma) -> bool:
    """A row of scalars, as long as the map, which only the map reads."""
    (row,) = stm.pat if len(stm.pat) == 1 else (None,)
    if row is None or not isinstance(stm.exp, Index) or row.type.shape != (screma.width,):
        return False
    return row.name in screma.arrays and row.name not in free_in_lambda(screma.map)


def _is_pointwise(found: _Mapping) -> bool:
    """Whether the loop carries arrays of the map's width, of which each element depends on the elements beside it."""
    loop, screma = found.loop, found.screma
    if not loop.params or any(p.type.shape[:1] != (screma.width,) for p in loop.params):
        return False
    carried = {p.name for p in loop.params}
    made = {p.name for p in found.map.pat}
    inside = carried | made | {p.name for s in found.scalars for p in s.pat}
    beside = {*free_in_lambda(screma.map), *(name for s in found.scalars for name in free_in_stm(s))}
    in_turn = inside - carried - found.rows.keys()
    if not carried.isdisjoint(beside) or not in_turn.isdisjoint((*screma.arrays, *_sizes(found))):
        return False
    nexts = [atom.name for atom in loop.body.result if isinstance(atom, Var)]
    handed_on = all(name in carried | made for name in nexts) and len(nexts) == len(loop.params)
    return handed_on and is_scalar_nest(screma.map.body)


def _sizes(found: _Mapping) -> list[Name]:
    """The names that sizes of the loop and of the map depend on."""
    sizes = [found.screma.width, *(size for p in found.loop.params for size in p.type.shape)]
    return [size.name for size in sizes if isinstance(size, Var)]


def is_scalar_nest(body: Body) -> bool:
    """Scalar code, or a map of such, once: nothing that is worth a kernel of its own."""
    maps = [stm.exp for stm in body.stms if isinstance(stm.exp, Screma)]
    rest = [stm for stm in body.stms if not isinstance(stm.exp, Screma)]
    if len(maps) > 1 or not all(map(is_scalar, rest)):
        return False
    return all(not exp.scans and not exp.reds and is_scalar_nest(exp.map.body) for exp in maps)


def is_scalar(stm: Stm) -> bool:
    """Scalars from scalars and elements of arrays, branches and loops of such."""
    if any(p.type.shape for p in stm.pat):
        return False
    if isinstance(stm.exp, If | Loop):
        return all(is_scalar(inner) for body in bodies(stm.exp) for inner in body.stms)
    return weight_of(stm.exp) < HEAVY
