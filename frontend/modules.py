"""Modules made plain: functors applied, module expressions written out, signatures forgotten.

    module f (p: mt) = { decs }    module m = f { args }
    ⟶  module m = { local module p = { args }  decs }

After this only `module m = { decs }` and `open m` are left. Applying a functor copies its body, with fresh node ids; a
name in the body means what it means where the functor is applied, with the modules that it was defined in opened first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from ..ir.errors import CompileError, Diagnostic, Label, Loc
from . import syntax as s


@dataclass(slots=True)
class Scope:
    """What the names of modules mean: a functor, or a module with the scope inside it."""

    known: dict[str, s.Functor | Scope] = field(default_factory=dict)

    def find(self, name: s.Qual) -> s.Functor | Scope | None:
        here: s.Functor | Scope | None = self
        for part in name:
            here = here.known.get(part) if isinstance(here, Scope) else None
        return here


@dataclass(slots=True)
class Expanding:
    """The files by what imports call them, and the supply of node ids."""

    files: Mapping[str, s.Module]
    next_id: int


def plain_modules(modules: tuple[s.Module, ...], next_id: int) -> tuple[s.Module, ...]:
    """The same program without functors and module expressions; `modules` in order of dependency."""
    work = Expanding({m.file: m for m in modules}, next_id)
    scope = Scope()
    plain: list[s.Module] = []
    for module in modules:
        decs = expand(work, module.decs, scope, module.file)
        plain.append(module if decs == module.decs else replace(module, decs=decs, next_id=work.next_id))
    return tuple(plain)


def expand(work: Expanding, decs: tuple[s.Dec, ...], scope: Scope, file: str) -> tuple[s.Dec, ...]:
    """Declarations made plain; what they bind is added to `scope`."""
    return tuple(plain for dec in decs for plain in expand_dec(work, dec, scope, file))


def expand_dec(work: Expanding, dec: s.Dec, scope: Scope, file: str) -> tuple[s.Dec, ...]:
    match dec:
        case s.ModuleTypeDec():
            return ()
        case s.LocalDec(inner, loc):
            return tuple(s.LocalDec(d, loc) for d in expand_dec(work, inner, scope, file))
        case s.ModuleDec(name, inner, loc):
            return bind(work, name, s.Structure(inner, loc), scope, file, loc)
        case s.ModuleBind(name, body, loc):
            return bind(work, name, body, scope, file, loc)
        case s.OpenModule(body, loc):
            name = f"opened{work.next_id}"
            work.next_id += 1
            made = bind(work, name, body, scope, file, loc)
            opened = scope.known.get(name)
            if isinstance(opened, Scope):
                scope.known.update(opened.known)
            return (*(s.LocalDec(d, loc) for d in made), s.OpenDec((name,), loc))
        case s.OpenDec(name):
            opened = scope.find(name)
            if isinstance(opened, Scope):
                scope.known.update(opened.known)
            return (dec,)
        case s.ValDec() | s.TypeDec() | s.ImportDec():
            return (dec,)


def bind(work: Expanding, name: str, body: s.ModuleExp, scope: Scope, file: str, loc: Loc) -> tuple[s.Dec, ...]:
    """`module name = body`: a functor is only noted, a module becomes a plain declaration."""
    value = functor_of(body, scope)
    if value is not None:
        scope.known[name] = value
        return ()
    inner = Scope(dict(scope.known))
    decs = structure(work, body, inner, file)
    scope.known[name] = Scope({n: v for n, v in inner.known.items() if scope.known.get(n) is not v})
    return (s.ModuleDec(name, decs, loc),)


def functor_of(body: s.ModuleExp, scope: Scope) -> s.Functor | None:
    """The functor that a module expression is, with the modules on the way to it opened in its body."""
    match body:
        case s.Functor():
            return body
        case s.ModuleName(name, loc):
            found = scope.find(name)
            if not isinstance(found, s.Functor):
                return None
            return opened_in(found, name[:-1], loc) if len(name) > 1 else found
        case s.ModuleCall():
            return applied(body, scope)
        case s.Structure() | s.ModuleImport():
            return None


def opened_in(functor: s.Functor, name: s.Qual, loc: Loc) -> s.Functor:
    """The functor with `open name` ahead of its innermost body."""
    if isinstance(functor.body, s.Functor):
        return replace(functor, body=opened_in(functor.body, name, loc))
    opening = s.LocalDec(s.OpenDec(name, loc), loc)
    decs = functor.body.decs if isinstance(functor.body, s.Structure) else (s.OpenModule(functor.body, loc),)
    return replace(functor, body=s.Structure((opening, *decs), loc))


def structure(work: Expanding, body: s.ModuleExp, scope: Scope, file: str) -> tuple[s.Dec, ...]:
    """The declarations of a module expression, plain; `scope` gets what they bind."""
    match body:
        case s.Structure(decs):
            return expand(work, decs, scope, file)
        case s.ModuleName(name, loc):
            return expand_dec(work, s.OpenDec(name, loc), scope, file)
        case s.ModuleImport(path, loc):
            return expand(work, copied(work, imported(work, path, file, loc).decs), scope, file)
        case s.ModuleCall(functor, arg, loc):
            found = functor_of(functor, scope)
            if found is None:
                text = "only a module with parameters takes arguments"
                raise CompileError(Diagnostic("E0220", "this module has no parameters", Label(loc, text)))
            given = bind(work, found.param, arg, scope, file, loc)
            return (*(s.LocalDec(d, loc) for d in given), *structure(work, copied(work, found.body), scope, file))
        case s.Functor(loc=loc):
            raise CompileError(Diagnostic("E0220", "a functor is not a module", Label(loc, "it needs an argument")))


def applied(call: s.ModuleCall, scope: Scope) -> s.Functor | None:
    """`f a` where f takes more arguments: the functor that is left, which binds `a` itself."""
    first = functor_of(call.functor, scope)
    if first is None or not isinstance(first.body, s.Functor):
        return None
    rest = first.body
    given = s.LocalDec(s.ModuleBind(first.param, call.arg, call.loc), call.loc)
    inner = rest.body.decs if isinstance(rest.body, s.Structure) else (s.OpenModule(rest.body, call.loc),)
    return replace(rest, body=s.Structure((given, *inner), call.loc))


def imported(work: Expanding, path: str, file: str, loc: Loc) -> s.Module:
    """The file that `import "path"` in `file` means; it has been loaded by now."""
    wanted = os.path.normpath(os.path.join(os.path.dirname(file), path))
    for name, module in work.files.items():
        if os.path.normpath(os.path.splitext(name)[0]) == wanted:
            return module
    raise CompileError(Diagnostic("E0207", f'cannot find import "{path}"', Label(loc, "imported here")))


def copied(work: Expanding, node: Any) -> Any:
    """A copy of a piece of syntax in which every node has an id of its own."""
    if isinstance(node, tuple):
        return tuple([copied(work, part) for part in node])
    if not is_dataclass(node) or isinstance(node, (Loc, type)):
        return node
    changes: dict[str, Any] = {}
    for part in fields(node):
        value = getattr(node, part.name)
        if part.name == "id":
            changes["id"] = work.next_id
            work.next_id += 1
        elif isinstance(value, tuple) or is_dataclass(value):
            changes[part.name] = copied(work, value)
    return replace(node, **changes)
