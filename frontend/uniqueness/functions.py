"""What a function value may stand for, by ownership, and types as they are written.

    *t -> ..  cannot stand where  t -> ..  is expected: what is passed to it is not known to be used only once
    .. -> t   cannot stand where  .. -> *t  is expected: its result may share data with anything

A function that has consumed an array may be called once, so it is neither passed on nor returned. A size expression is
evaluated where it cannot be seen, and consumes nothing of its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.errors import Loc
from ..source import syntax as s
from ..source.atoms import Ident, Lit, PLit, PVar, PWild, TEName
from ..source.types import TFun, TPrim, TRecord, Ty
from ..typing.errors import fault
from ..typing.type_expressions import unique_parts
from .aliases import GLOBAL, Alias, Function, places_of, spread
from .walk import Flow

# ---- functions ------------------------------------------------------------------------------------------------------


def check_function(expected: Ty, found: Ty, alias: Alias, loc: Loc) -> None:
    """E0221 where a function of type `found` does more than one of type `expected`."""
    taken = 0
    while isinstance(expected, TFun) and isinstance(found, TFun):
        taken += 1
        _check_argument(expected.consumes, found, loc)
        _check_result(expected.fresh, found, alias, taken, loc)
        expected, found = expected.cod, found.cod


def check_written(te: s.TypeExp, found: Ty, alias: Alias, loc: Loc) -> None:
    """The same for a function whose type is written."""
    if isinstance(te, s.TEArrow) and isinstance(alias, Function) and alias.once is not None:
        return
    taken = 0
    while isinstance(te, s.TEArrow) and isinstance(found, TFun):
        taken += 1
        _check_argument(bool(unique_parts(te.dom)), found, loc)
        _check_result(bool(unique_parts(te.cod)), found, alias, taken, loc)
        te, found = te.cod, found.cod


def _check_argument(may_consume: bool, found: TFun, loc: Loc) -> None:
    if found.consumes and not may_consume and places_of(spread(found.dom, frozenset({(GLOBAL, ())}))):
        note = "what is passed to it is not known to be used only once"
        raise fault("E0221", "a function that consumes its argument cannot be passed here", loc, "", (), [note])


def _check_result(is_unique: bool, found: TFun, alias: Alias, taken: int, loc: Loc) -> None:
    if not is_unique or isinstance(found.cod, TFun) or _is_scalar(found.cod):
        return
    known = isinstance(alias, Function) and alias.arity == taken
    if not (alias.gives.fresh if isinstance(alias, Function) and known else found.fresh):
        note = "its result may share data with something else"
        message = "a function whose result is not unique cannot be passed here"
        raise fault("E0221", message, loc, "", (), [note], "let it return a `copy`")


def _is_scalar(ty: Ty) -> bool:
    return isinstance(ty, TPrim) or (isinstance(ty, TRecord) and all(_is_scalar(t) for _, t in ty.fields))


# ---- types as written -----------------------------------------------------------------------------------------------


def check_sizes(flow: Flow, te: s.TypeExp, walk: Callable[[Flow, s.Exp], Alias]) -> None:
    """E0221 for a size expression that consumes."""
    for size in sizes_in(te):
        if not isinstance(size, Lit | Ident):
            flow.around.append("a size")
            before = dict(flow.consumed)
            walk(flow, size)
            flow.consumed = before
            flow.around.pop()


def sizes_in(te: s.TypeExp | s.TESize) -> Iterator[s.Exp]:
    """The size expressions of a type."""
    match te:
        case s.TEArray(size=size, elem=elem):
            if size is not None:
                yield size
            yield from sizes_in(elem)
        case s.TESize(size=size):
            if size is not None:
                yield size
        case s.TEUnique(elem=elem) | s.TEExists(type=elem):
            yield from sizes_in(elem)
        case s.TEApply(args=parts):
            for part in parts:
                yield from sizes_in(part)
        case s.TETuple(fields=fields) | s.TERecord(fields=fields):
            for _, part in fields:
                yield from sizes_in(part)
        case s.TESum(constructors=constructors):
            for _, parts in constructors:
                for part in parts:
                    yield from sizes_in(part)
        case TEName() | s.TEArrow():
            return


def types_in(pat: s.Pat) -> Iterator[s.TypeExp]:
    """The types that are written in a pattern."""
    match pat:
        case s.PAscript(pat=inner, type=te):
            yield te
            yield from types_in(inner)
        case s.PAttr(pat=inner):
            yield from types_in(inner)
        case s.PConstr(args=parts):
            for part in parts:
                yield from types_in(part)
        case s.PTuple(fields=fields) | s.PRecord(fields=fields):
            for _, part in fields:
                yield from types_in(part)
        case PVar() | PWild() | PLit():
            return
