"""Expressions as sizes: what an expression says as a size, and what becomes of it where its names end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace

from ...ir.errors import Loc
from ...ir.records import dataclass
from ..source import syntax as s
from ..source.atoms import Ident, Lit, Operator, Qual
from ..source.names import nodes
from ..source.types import Size, SizeConst, SizeExp, SizeVar, TFun, TPrim, Ty, with_parts
from .show import show_exp
from .sizes import size_key
from .state import Work
from .unify import Solver

BINDS = s.Lambda | s.Let | s.Loop | s.Match


def binds_names(exp: s.Exp) -> bool:
    """Whether an expression brings names of its own: then it does not stand for a size."""
    return any(isinstance(node, BINDS) for node in nodes(exp))


def extent(work: Work, exp: s.Exp, node: int) -> Size:
    """The value of `exp` as a size; an unknown one, computed at `node`, where it binds names."""
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
    work.uses[exp.loc] = found[0].loc
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
    """An operator; one that is defined in the program is identified by its definition."""
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
    becomes the expression `given` for it, or else, and where that speaks of another, it is lost. A size that speaks of
    a lost name becomes, as a whole, one that merely exists, and does so inside of others: ([m + 1]t, [m + 1 + i]t) is
    ([k]t, [k + i]t) outside of `m`. For what functions in the value give, this holds anew: u -> [m]v is u -> ?[k].[k]v.
    """
    solver = work.solver
    ty = solver.resolve(ty)
    if not ids or isinstance(ty, TPrim):
        return ty
    hiding = _Hiding(solver, ids, given, {}, [])
    return hiding.level(ty, lambda: work.exists(node, loc, "the size is known here only"))


@dataclass(frozen=True, slots=True)
class _Hiding:
    """`known`: what the names become, None for one that is lost; `wholes`: lost sizes with what they became."""

    solver: Solver
    ids: set[int]
    given: Mapping[int, Size]
    known: dict[int, Size | None]
    wholes: list[tuple[Size, Size]]

    def level(self, ty: Ty, make: Callable[[], SizeVar], depth: int = 0) -> Ty:
        """A type that may have sizes of its own: that of a value, or of what a function gives. Simple sizes are looked
        at first, so that they are found inside of others."""
        shown = [size for size in self.solver.sizes_in(ty, shown=True) if self._is_hidden(size)]
        for size in sorted(shown, key=lambda n: shape.depth if (shape := self.solver.shape_of(n)) else 0):
            self._size(size, make)
        return self._type(ty, make, depth)

    def _type(self, ty: Ty, make: Callable[[], SizeVar], depth: int) -> Ty:
        return self.solver.map_sizes(
            ty, lambda size: self._size(size, make), lambda fun, inside: self._function(fun, make, inside), depth
        )

    def _function(self, fun: TFun, make: Callable[[], SizeVar], depth: int) -> Ty:
        def make_inside() -> SizeVar:
            made.append(self.solver.existential())
            return made[-1]

        made: list[SizeVar] = []
        dom = self._type(fun.dom, make, depth)
        cod = replace(self, wholes=list(self.wholes)).level(fun.cod, make_inside, depth)
        same = dom is fun.dom and cod is fun.cod
        return fun if same else replace(with_parts(fun, dom, cod), exists=(*fun.exists, *made))

    def _size(self, size: Size, make: Callable[[], SizeVar]) -> Size:
        if not self._is_hidden(size):
            return size
        found = self._put_in(size, {})
        if self._is_hidden(found):
            self.wholes.append((size, make()))
            return self.wholes[-1][1]
        return found

    def _is_hidden(self, size: Size) -> bool:
        return not self.ids.isdisjoint(self.solver.names_in(size))

    def _put_in(self, size: Size, done: dict[int, Size]) -> Size:
        """`size` with what is known put in for names, and for lost sizes what they became."""
        size = self.solver.size(size)
        key = size_key(size)
        if isinstance(size, SizeConst):
            return size
        if key in done:
            return done[key]
        whole = next((new for old, new in self.wholes if self.solver.same_size(old, size)), None)
        shape = self.solver.shape_of(size)
        if whole is not None or shape is None:
            name = self._name(size.id) if isinstance(size, SizeVar) and size.id in self.ids else None
            done[key] = whole or name or size
        else:
            parts = tuple([self._put_in(part, done) for part in shape.parts])
            same = all(new is self.solver.size(old) for new, old in zip(parts, shape.parts))
            done[key] = size if same else self.solver.made_of(shape.op, parts)
        return done[key]

    def _name(self, name: int) -> Size | None:
        if name not in self.known:
            size = self.solver.put_in(self.given[name], self._given) if name in self.given else None
            self.known[name] = None if size is None or self._is_hidden(size) else size
        return self.known[name]

    def _given(self, name: int) -> Size | None:
        return self._name(name) if name in self.given else None
