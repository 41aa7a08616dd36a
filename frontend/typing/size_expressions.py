"""Expressions as sizes: what an expression says as a size, and what becomes of it where its names end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

from ...ir.errors import Loc
from ..source import syntax as s
from ..source.atoms import Ident, Lit, Operator, Qual
from ..source.types import Size, SizeConst, SizeExp, SizeVar, TPrim, Ty
from .show import show_exp
from .state import Work

BINDS = s.Lambda | s.Let | s.Loop | s.Match


def binds_names(exp: s.Exp) -> bool:
    """Whether an expression brings names of its own: then it does not stand for a size."""
    todo: list[object] = [exp]
    while todo:
        node = todo.pop()
        if isinstance(node, BINDS):
            return True
        if isinstance(node, tuple):
            todo.extend(node)
        elif is_dataclass(node) and not isinstance(node, Loc):
            todo.extend(getattr(node, part.name) for part in fields(node))
    return False


def extent(work: Work, exp: s.Exp, node: int) -> Size:
    """The value of `exp` as a size; one that nobody knows, computed at `node`, where it binds names."""
    if binds_names(exp):
        return work.exists(node, exp.loc, "the size is computed here")
    return size_of(work, exp)


def size_of(work: Work, exp: s.Exp) -> Size:
    """An expression that binds no names, as a size: two are the same when they read the same."""
    match exp:
        case Lit(value=int(value)) if not isinstance(value, bool):
            return SizeConst(value)
        case Ident(name=name):
            return _name(work, exp, name)
        case s.Ascript(exp=inner) | s.Coerce(exp=inner) | s.Attributed(body=inner) | s.Assert(body=inner):
            return size_of(work, inner)
        case s.Chain():
            return _chain(work, exp)
        case s.OpenIn(module=module, body=body) if (found := work.scope.find_module(module)) is not None:
            mark = work.scope.mark()
            work.scope.open(found)
            size = size_of(work, body)
            work.scope.leave(mark)
            return size
        case _:
            tags, parts = _taken_apart(work, exp)
            return _made(work, exp, tags, parts)


def _made(work: Work, exp: s.Exp, op: tuple[str, ...], parts: tuple[Size, ...]) -> SizeExp:
    work.solver.note_shape(exp.id, op, parts)
    return SizeExp(show_exp(exp), exp)


def _name(work: Work, exp: s.Exp, name: Qual) -> Size:
    found = work.scope.find_value(name)
    if found is None:
        return _made(work, exp, name, ())
    size, count = found[0].size, found[1]
    if isinstance(size, SizeVar) and size.id < 0:  # members of the numeric modules share an id
        return _made(work, exp, name, ())
    return size if count == len(name) else _made(work, exp, (".", *name[count:]), (size,))


def _chain(work: Work, exp: s.Chain) -> Size:
    """`a + b - c` is `(a + b) - c`."""
    size = size_of(work, exp.first)
    for at, (op, right) in enumerate(exp.rest, 1):
        tags, user = _operator(work, op)
        parts = (*user, size, size_of(work, right))
        part = exp if at == len(exp.rest) else replace(exp, id=work.solver.fresh_id(), rest=exp.rest[:at])
        size = _made(work, part, tags, parts)
    return size


def _operator(work: Work, op: Operator) -> tuple[tuple[str, ...], tuple[Size, ...]]:
    """An operator; one that is defined in the program is told apart by its definition."""
    found = work.scope.find_value(op.name)
    return (".".join(op.name),), (found[0].size,) if found is not None else ()


def _taken_apart(work: Work, exp: s.Exp) -> tuple[tuple[str, ...], tuple[Size, ...]]:
    """What an expression is made up of, but for the expressions inside; and those."""
    tags, parts = [type(exp).__name__], list[Size]()
    todo: list[object] = [getattr(exp, part.name) for part in reversed(fields(exp)) if part.name != "id"]
    while todo:
        match todo.pop():
            case Operator() as op:
                more, user = _operator(work, op)
                tags.extend(more)
                parts.extend(user)
            case tuple(inner):
                tags.append(str(len(inner)))
                todo.extend(reversed(inner))
            case Loc():
                pass
            case node if isinstance(node, s.Exp):
                tags.append("")
                parts.append(size_of(work, node))
            case node if is_dataclass(node):
                tags.append(type(node).__name__)
                todo.extend(getattr(node, part.name) for part in reversed(fields(node)) if part.name != "id")
            case node:
                tags.append(str(node))
    return tuple(tags), tuple(parts)


def hide(work: Work, ty: Ty, ids: set[int], given: Mapping[int, Size], node: int, loc: Loc) -> Ty:
    """`ty` outside the scope of the names `ids`, which ends with the expression `node`: a name that a size speaks of
    becomes the expression `given` for it, or else, and where that speaks of another, a size that merely exists."""
    solver = work.solver
    ty = solver.resolve(ty)
    if not (ids or given) or isinstance(ty, TPrim):
        return ty
    hidden, known = ids - given.keys(), dict[int, Size]()

    def put_given(name: int) -> Size | None:
        return look_up(name) if name in given else None

    def look_up(name: int) -> Size | None:
        if name not in known and name in ids:
            size = solver.put_in(given[name], put_given) if name in given else None
            if size is None or not hidden.isdisjoint(solver.names_in(size)):
                size = work.exists(node, loc, "the size is known here only")
            known[name] = size
        return known.get(name)

    return solver.map_sizes(ty, lambda size: solver.put_in(size, look_up))
