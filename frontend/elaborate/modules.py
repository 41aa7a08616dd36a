"""Declarations and modules while a program is elaborated: which names are in scope where.

A module is what it offers; a functor is known by the scope of its definition, and inference has made a copy of its body
for each application. Signatures only take names away (`Shown`).
"""

from __future__ import annotations

from ...ir.records import dataclass
from ..parsing.kernels import implemented
from ..source.declarations import (
    Ascribed,
    Dec,
    Functor,
    ImportDec,
    LocalDec,
    Module,
    ModuleCall,
    ModuleDec,
    ModuleExp,
    ModuleImport,
    ModuleName,
    ModuleTypeDec,
    OpenDec,
    Structure,
    TypeDec,
    ValDec,
)
from ..source.imports import Imports, imports_of, library_of
from ..source.types import Shown
from .scalars import any_module
from .state import Stage
from .values import Abbreviation, Definition, Env, FunctorValue, ModuleLike, ModuleValue, Value


@dataclass(frozen=True, slots=True)
class _Files:
    """The files so far and what their imports mean. `root`: a frame that everything sees, for constants by their ids:
    inferred sizes speak of them, be they hidden or in modules."""

    st: Stage
    imports: Imports
    offered: dict[str, ModuleValue]
    root: Env


def declare_files(st: Stage, modules: tuple[Module, ...], root: Env) -> _Scope:
    """The scope of the last file. Every file sees the library and what it imports."""
    files, library = _Files(st, imports_of(modules), {}, root), library_of(modules)
    shared, scope = root.base(), _Scope(files, root)
    for module in modules:
        scope = _Scope(files, shared.base())
        scope.declare_all(module.decs)
        files.offered[module.file] = scope.offered
        if module.file in library:
            shared = shared.base()
            show(shared, scope.offered)
    return scope


class _Scope:
    """The declarations of a file or a module: names in scope so far, and those it offers to others."""

    def __init__(self, files: _Files, env: Env) -> None:
        self.files = files
        self.env = env
        self.offered = ModuleValue({}, {}, {})
        self.entries: list[tuple[ValDec, Env]] = []

    def declare_all(self, decs: tuple[Dec, ...]) -> None:
        for dec in decs:
            self.declare(dec, self.offered)

    def declare(self, dec: Dec, offered: ModuleValue) -> None:
        """Bring `dec` into scope and add its names to `offered`."""
        match dec:
            case ValDec(name=name):
                if dec.is_entry or name == "main":
                    self.entries.append((dec, self.env))
                offered.values[name] = Definition(dec, self.env)
                function = implemented(dec)
                found = self.env.lookup(function) if function is not None else None
                if isinstance(found, Definition):
                    self.files.st.by_hand.setdefault(found.dec.id, []).append((dec, self.env))
                self._bind_value(dec, offered.values[name])
            case TypeDec(name):
                offered.types[name] = Abbreviation(dec, self.env)
                self.env = self.env.base()
                self.env.types = self.env.types | {name: offered.types[name]}
            case LocalDec(inner):
                self.declare(inner, ModuleValue({}, {}, {}))
            case ModuleDec(name, body):
                offered.modules[name] = self.module(body)
                self.env = self.env.base()
                self.env.modules = self.env.modules | {name: offered.modules[name]}
            case OpenDec(body):
                module = self.module(body)
                assert isinstance(module, ModuleValue), "inference lets only modules be opened"
                self._open(module)
                offered.values.update(module.values)
                offered.types.update(module.types)
                offered.modules.update(module.modules)
            case ImportDec(path, loc):
                self._open(self.files.offered[self.files.imports[loc.file, path]])
            case ModuleTypeDec():
                pass

    def _bind_value(self, dec: ValDec, value: Value) -> None:
        """What was defined before keeps what it saw: a name that hides another gets a frame of its own."""
        if self.env.lookup(dec.name) is not None:
            self.env = self.env.base()
        self.env.values[dec.name] = value
        if not dec.params or dec.id in self.files.st.recursive:
            self.files.root.values[dec.id] = value

    def _open(self, module: ModuleValue) -> None:
        self.env = self.env.base()
        show(self.env, module)

    def module(self, exp: ModuleExp) -> ModuleLike:
        """What a module expression stands for."""
        match exp:
            case ModuleName(name):
                return any_module(self.env, name)
            case Structure(decs):
                scope = _Scope(self.files, self.env.base())
                scope.declare_all(decs)
                return scope.offered
            case ModuleImport(path, loc):
                return self.files.offered[self.files.imports[loc.file, path]]
            case Ascribed(node, inner):
                return restricted(self.module(inner), self.files.st.typed.shown[node])
            case Functor(param):
                return FunctorValue(param, self.env)
            case ModuleCall(node, functor, arg):
                return self._apply(self.module(functor), self.module(arg), node)

    def _apply(self, functor: ModuleLike, arg: ModuleLike, node: int) -> ModuleLike:
        applied = self.files.st.typed.applied[node]
        assert isinstance(functor, FunctorValue), "inference lets only functors be applied"
        env = functor.env.base()
        env.modules = env.modules | {functor.param: restricted(arg, applied.arg)}
        return restricted(_Scope(self.files, env).module(applied.body), applied.result)


def restricted(module: ModuleLike, shown: Shown | None) -> ModuleLike:
    """What a signature leaves of a module."""
    if shown is None or isinstance(module, FunctorValue):
        return module
    values = {name: value for name, value in module.values.items() if name in shown.values}
    types = {name: type for name, type in module.types.items() if name in shown.types}
    modules = {name: restricted(module.modules[name], inner) for name, inner in shown.modules.items()}
    return ModuleValue(values, types, modules)


def show(env: Env, module: ModuleValue) -> None:
    """Bring what `module` offers into the frame `env`."""
    env.values.update(module.values)
    env.types = env.types | module.types
    env.modules = env.modules | module.modules
