"""Patterns: the type of a pattern, and the names it binds."""

from __future__ import annotations

from dataclasses import field, replace

from ...ir.errors import Label, Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import PLit, PVar, PWild
from ..source.declarations import ValDec
from ..source.names import leaves
from ..source.types import Paths, Size, SizeVar, TFun, TRecord, Ty, field_key, record
from .constraints import needs_constructor
from .errors import bound_twice, fault
from .literals import literal_type
from .size_expressions import hide
from .state import Work
from .type_expressions import Anonymous, resolve_type, unique_parts
from .unify import Clash


@dataclass(frozen=True, slots=True)
class Bound:
    """The names bound so far by the patterns of one scope."""

    names: dict[str, Loc] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    sizes: dict[int, Size] = field(default_factory=dict)  # of `let [n] ..`: what the value's type has for `n`


def bind_pattern(work: Work, pat: s.Pat, expected: Ty | None, bound: Bound, anonymous: Anonymous) -> Ty:
    """Bind the names of `pat` at type `expected` (None: not known yet); gives the type of the pattern."""
    match pat:
        case PVar(id=node, name=name, loc=loc):
            if name in bound.names:
                raise bound_twice("name in a pattern", name, loc, bound.names[name])
            bound.names[name] = loc
            bound.ids.add(node)
            ty = expected or work.solver.unknown()
            work.bind(name, node, ty, loc)
            return work.record(node, ty)
        case PWild(id=node):
            return work.record(node, expected or work.solver.unknown())
        case s.PAttr(pat=inner):
            return bind_pattern(work, inner, expected, bound, anonymous)
        case s.PAscript(pat=inner, type=te, loc=loc):
            ty = resolve_type(work, te, anonymous)
            if expected is not None:
                work.expect(
                    work.solver.replace_sizes(ty, bound.sizes), expected, loc, "the value does not match this pattern"
                )
            return bind_pattern(work, inner, ty, bound, anonymous)
        case PLit(literal=literal, loc=loc):
            ty = literal_type(work, literal, negative=False)
            if expected is not None:
                work.expect(expected, ty, loc, "literal pattern")
            return ty
        case s.PTuple(fields=fields, loc=loc) | s.PRecord(fields=fields, loc=loc):
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
    work.expect(whole, record(zip(names, parts)), loc, "the pattern does not match")
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


def function_type(work: Work, dec: ValDec | s.LetFun | s.Lambda, doms: list[Ty], cod: Ty, mark: int) -> Ty:
    """`p1 -> .. -> cod`. A parameter that is a plain name may be spoken of by the sizes after it; what else the body
    brought forth since `mark` merely exists, and is chosen by the function."""
    plain = {var.id for p in dec.params if (var := _plain(p)) is not None}
    hidden = hidden_names(dec.params)
    ty = hide(work, cod, set(hidden), {}, dec.id, dec.body.loc)
    spoken = _spoken(work, ty)
    for pat, dom in zip(reversed(dec.params), reversed(doms)):
        names = _spoken(work, dom)
        check_spoken(names, hidden, pat.loc, "parameter")
        spoken |= names
    fresh = unique_parts(dec.ret) if dec.ret is not None else ()
    for param, dom in zip(reversed(dec.params), reversed(doms)):
        var, takes = _plain(param), consumed_parts(param)
        name, node = (var.name, var.id) if var is not None and var.id in spoken else (None, -1)
        ty = TFun(name, dom, ty, bool(takes), bool(fresh), (), node, takes, fresh)
        fresh = ()
    return _with_exists(work, ty, _young(work, spoken, doms, mark) - plain) if isinstance(ty, TFun) else ty


def _young(work: Work, spoken: set[int], doms: list[Ty], mark: int) -> set[int]:
    """Sizes that came to exist since `mark`, but for those of parameters."""
    solver = work.solver
    young = {i for i in spoken if i in solver.origins and solver.age_of(i) >= mark}
    return young.difference(*[solver.uses(dom)[0] for dom in doms]) if young else young


def _with_exists(work: Work, fun: TFun, chosen: set[int]) -> TFun:
    """A function that chooses these sizes, where its result shows them."""
    if not chosen:
        return fun
    cod = work.solver.resolve(fun.cod)
    if isinstance(cod, TFun):
        return replace(fun, cod=_with_exists(work, cod, chosen))
    solver = work.solver
    shown = sorted(chosen & solver.uses(cod)[0])
    sizes = {i: solver.stand_in(SizeVar(f"k{i}", i), solver.existential()) for i in shown}
    found = (*fun.exists, *sizes.values())
    return replace(fun, cod=solver.replace_sizes(cod, dict(sizes)), exists=found)


def check_spoken(names: set[int], hidden: dict[int, PVar], loc: Loc, what: str) -> None:
    """E0226: a name inside a tuple or record is not one that the caller sees."""
    for tag in sorted(names & hidden.keys()):
        message = f"the type of this {what} refers to size `{hidden[tag].name}`, which the caller does not see"
        label = Label(hidden[tag].loc, "it is part of a tuple or record here")
        raise fault("E0226", message, loc, "", [label], hint=f"make `{hidden[tag].name}` a parameter of its own")


def _plain(pat: s.Pat) -> PVar | None:
    match pat:
        case PVar():
            return pat
        case s.PAscript(pat=inner) | s.PAttr(pat=inner):
            return _plain(inner)
        case _:
            return None


def hidden_names(pats: tuple[s.Pat, ...]) -> dict[int, PVar]:
    """The names that are parts of a parameter: a caller does not see them."""
    parts = [part for pat in pats if _plain(pat) is None for part in leaves(pat)]
    return {part.id: part for part in parts if isinstance(part, PVar)}


def _spoken(work: Work, ty: Ty) -> set[int]:
    """Ids of all names that the sizes of a type speak of."""
    found: set[int] = set()
    for size in work.solver.sizes_in(ty):
        found |= work.solver.names_in(size).keys()
    return found


def consumed_parts(pat: s.Pat) -> Paths:
    """The parts of a parameter that are consumed."""
    match pat:
        case s.PAscript(pat=inner, type=te):
            return unique_parts(te) or consumed_parts(inner)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            return tuple([(name, *path) for name, p in fields for path in consumed_parts(p)])
        case s.PAttr(pat=inner):
            return consumed_parts(inner)
        case PVar() | PWild() | PLit() | s.PConstr():
            return ()
