"""Patterns: the type of a pattern, and the names it binds."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from ..ir.errors import Loc
from . import syntax as s
from .infer_fault import bound_twice, fault
from .infer_literal import literal_type
from .infer_make import field_key, record, tuple_of
from .infer_need import needs_constructor
from .infer_texp import Anonymous, resolve_type
from .infer_unify import Clash
from .infer_work import Work
from .types import Paths, SizeVar, TFun, TRecord, Ty


@dataclass(frozen=True, slots=True)
class Bound:
    """The names bound so far by the patterns of one scope."""

    names: dict[str, Loc] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)


def bind_pattern(work: Work, pat: s.Pat, expected: Ty | None, bound: Bound, anonymous: Anonymous) -> Ty:
    """Bind the names of `pat` at type `expected` (None: not known yet); gives the type of the pattern."""
    match pat:
        case s.PVar(id=node, name=name, loc=loc):
            if name in bound.names:
                raise bound_twice("name in a pattern", name, loc, bound.names[name])
            bound.names[name] = loc
            bound.ids.add(node)
            ty = expected or work.solver.unknown()
            work.bind(name, node, ty, loc)
            return work.record(node, ty)
        case s.PWild(id=node):
            return work.record(node, expected or work.solver.unknown())
        case s.PAttr(pat=inner):
            return bind_pattern(work, inner, expected, bound, anonymous)
        case s.PAscript(pat=inner, type=te, loc=loc):
            ty = resolve_type(work, te, anonymous)
            if expected is not None:
                work.expect(ty, expected, loc, "value for this pattern")
            return bind_pattern(work, inner, ty, bound, anonymous)
        case s.PLit(literal=literal, loc=loc):
            ty = literal_type(work, literal, negative=False)
            if expected is not None:
                work.expect(expected, ty, loc, "literal pattern")
            return ty
        case s.PTuple(elems=elems, loc=loc):
            parts = _parts(work, [str(i) for i in range(len(elems))], expected, loc)
            return tuple_of([bind_pattern(work, p, t, bound, anonymous) for p, t in zip(elems, parts)])
        case s.PRecord(fields=fields, loc=loc):
            names = [name for name, _ in fields]
            parts = _parts(work, names, expected, loc)
            return record([(n, bind_pattern(work, p, t, bound, anonymous)) for (n, p), t in zip(fields, parts)])
        case s.PConstr():
            return _constructor(work, pat, expected, bound, anonymous)


def _parts(work: Work, names: list[str], expected: Ty | None, loc: Loc) -> list[Ty | None]:
    """The types of the components named, from the type of the whole."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise bound_twice("field in a pattern", name, loc, loc)
    if expected is None:
        return [None] * len(names)
    whole = work.solver.resolve(expected)
    if isinstance(whole, TRecord):
        found = dict(whole.fields)
        if sorted(found, key=field_key) == sorted(names, key=field_key):
            return [found[name] for name in names]
    parts: list[Ty] = [work.solver.unknown() for _ in names]
    work.expect(whole, record(zip(names, parts)), loc, "pattern")
    return [*parts]


def _constructor(work: Work, pat: s.PConstr, expected: Ty | None, bound: Bound, anonymous: Anonymous) -> Ty:
    whole = expected or work.solver.unknown()
    args = tuple(work.solver.unknown() for _ in pat.args)
    try:
        work.solver.ask(whole, needs_constructor(pat.name, args, pat.loc))
    except Clash as clash:
        shown = work.show(whole)
        raise fault("E0216", f"`#{pat.name}` does not match `{shown}`", pat.loc, clash.reason or "") from None
    for inner, ty in zip(pat.args, args):
        bind_pattern(work, inner, ty, bound, anonymous)
    return work.record(pat.id, whole)


def function_type(
    work: Work, params: tuple[s.Pat, ...], doms: list[Ty], cod: Ty, consumes: list[Paths], fresh: Paths, mark: int
) -> Ty:
    """`p1 -> .. -> cod`. A parameter that is a plain name may be spoken of by the sizes after it; what else the body
    brought forth since `mark` merely exists."""
    plain = {var.id: var for p in params if (var := _plain(p)) is not None}
    inner = _names_of(params) - plain.keys()
    ty = work.hide(cod, inner)
    exists, spoken = _existentials(work, ty, plain.keys(), mark)
    if exists:
        sizes = {i: work.solver.existential() for i in exists}
        ty, exists_now = work.solver.replace_sizes(ty, dict(sizes)), tuple(sizes.values())
    else:
        exists_now = ()
    for param, dom, takes in zip(reversed(params), reversed(doms), reversed(consumes)):
        var = _plain(param)
        name, node = (var.name, var.id) if var is not None and var.id in spoken else (None, -1)
        ty = TFun(name, dom, ty, bool(takes), bool(fresh), exists_now, node, takes, fresh)
        fresh, exists_now = (), ()
        spoken |= _spoken(work, dom)
    return ty


def _plain(pat: s.Pat) -> s.PVar | None:
    match pat:
        case s.PVar():
            return pat
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return _plain(inner)
        case _:
            return None


def _names_of(pats: tuple[s.Pat, ...]) -> set[int]:
    found: set[int] = set()
    todo = list(pats)
    while todo:
        match todo.pop():
            case s.PVar(id=node):
                found.add(node)
            case s.PTuple(elems=elems):
                todo.extend(elems)
            case s.PRecord(fields=fields):
                todo.extend(p for _, p in fields)
            case s.PConstr(args=args):
                todo.extend(args)
            case s.PAscript(pat=inner) | s.PAttr(pat=inner):
                todo.append(inner)
            case s.PWild() | s.PLit():
                pass
    return found


def _spoken(work: Work, ty: Ty) -> set[int]:
    """Ids of all names that the sizes of a type speak of."""
    found: set[int] = set()
    for size in work.solver.sizes_in(ty):
        found |= work.solver.names_in(size)
    return found


def _existentials(work: Work, cod: Ty, params: Container[int], mark: int) -> tuple[list[int], set[int]]:
    """Sizes of a result that only its function knows, in order; and all names that the result speaks of."""
    cod, solver = work.solver.resolve(cod), work.solver
    spoken = _spoken(work, cod)
    if isinstance(cod, TFun):
        return [], spoken
    named = [size.id for size in solver.sizes_in(cod) if isinstance(size, SizeVar) and size.name]
    young = [i for i in dict.fromkeys(named) if i not in params and i not in solver.parameters]
    return [i for i in young if solver.ages.get(i, i) >= mark], spoken
