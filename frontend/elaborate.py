"""Typed syntax to core: a staged evaluation of the program.

Functions, tuples, records, modules and size parameters are values of the elaborator (`values.py`) and are computed
away; scalars and arrays are atoms of the core, and what happens to them becomes core statements
(`elaborate_build.py`). The evaluator proper is `elaborate_exp.py`. Only entry points and what they reach are
elaborated; errors in the rest have been found by inference.
"""

from __future__ import annotations

from ..ir.core import FunDef, Prog
from ..ir.traverse import called_functions
from ..ir.types import Name
from . import syntax as s
from .elaborate_build import Stage
from .elaborate_call import apply
from .elaborate_entry import entry_function
from .elaborate_exp import evaluate
from .elaborate_scalar import builtin_operators, numeric_modules
from .types import Typed
from .unzipped import parts_of
from .values import Abbreviation, Definition, Env, ModuleValue, Value, empty_env


def elaborate(modules: tuple[s.Module, ...], typed: Typed) -> Prog:
    """The core of a program: its files in dependency order, the prelude first and the root file last."""
    st = Stage(typed, {module.file: module.text for module in modules}, modules[0].file if len(modules) > 1 else "")
    st.evaluate = lambda exp, env, hint: evaluate(st, exp, env, hint)
    st.apply = lambda function, args, loc, hint: apply(st, function, args, loc, hint)
    st.counts = _mentions(modules[-1 if len(modules) == 1 else 1 :])
    env = empty_env()
    env.values.update(builtin_operators(st))
    env.modules = numeric_modules(st)
    scope = _Scope(env)
    for module in modules:
        scope = _Scope(env.base())
        scope.declare_all(module.decs)
        env = env.base()
        show(env, scope.offered)
    entries = [entry_function(st, dec, home) for dec, home in scope.entries]
    functions = _reached(st.functions, entries)
    return Prog(tuple(st.globals.stms), functions, st.names.next)


def _reached(functions: list[FunDef], entries: list[FunDef]) -> tuple[FunDef, ...]:
    """The entries and the functions they call, callees first."""
    by_name: dict[Name, FunDef] = {fun.name: fun for fun in functions}
    wanted: set[Name] = set()
    waiting = list(entries)
    while waiting:
        for name in called_functions(waiting.pop().body):
            if name not in wanted:
                wanted.add(name)
                waiting.append(by_name[name])
    return (*[fun for fun in functions if fun.name in wanted], *entries)


def _mentions(modules: tuple[s.Module, ...]) -> dict[str, int]:
    """How often each name occurs in the expressions of the program."""
    counts: dict[str, int] = {}
    waiting: list[object] = [module.decs for module in modules]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting += node
            continue
        if isinstance(node, s.Ident | s.Operator):
            counts[node.name[-1]] = counts.get(node.name[-1], 0) + 1
        waiting += parts_of(node).values()
    return counts


# ---- declarations -------------------------------------------------------------------------------------------------


class _Scope:
    """The declarations of a file or a module: names in scope so far, and those it offers to others.

    Files come in order of dependency, and a file sees what all files before it offer."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.offered = ModuleValue({}, {}, {})
        self.entries: list[tuple[s.ValDec, Env]] = []

    def declare_all(self, decs: tuple[s.Dec, ...]) -> None:
        for dec in decs:
            self.declare(dec, self.offered)

    def declare(self, dec: s.Dec, offered: ModuleValue) -> None:
        """Bring `dec` into scope and add its names to `offered`."""
        match dec:
            case s.ValDec(name=name):
                if dec.is_entry or name == "main":
                    self.entries.append((dec, self.env))
                offered.values[name] = Definition(dec, self.env)
                self.bind_value(name, offered.values[name])
            case s.TypeDec(name):
                offered.types[name] = Abbreviation(dec, self.env)
                self.env = self.env.base()
                self.env.types = self.env.types | {name: offered.types[name]}
            case s.LocalDec(inner):
                self.declare(inner, ModuleValue({}, {}, {}))
            case s.ModuleDec(name, decs):
                scope = _Scope(self.env.base())
                scope.declare_all(decs)
                offered.modules[name] = scope.offered
                self.env = self.env.base()
                self.env.modules = self.env.modules | {name: scope.offered}
                self._note_constants(scope.offered.values)
            case s.OpenDec(name):
                module = self.env.module(name)
                self.env = self.env.base()
                show(self.env, module)
                offered.values.update(module.values)
                offered.types.update(module.types)
                offered.modules.update(module.modules)
            case s.ImportDec() | s.ModuleBind() | s.OpenModule() | s.ModuleTypeDec():
                pass

    def bind_value(self, name: str, value: Value) -> None:
        """What was defined before keeps what it saw: a name that hides another gets a frame of its own."""
        if self.env.lookup(name) is not None:
            self.env = self.env.base()
        self.env.values[name] = value
        self._note_constants({name: value})

    def _note_constants(self, values: dict[str, Value]) -> None:
        """Inferred sizes may speak of constants that are hidden, or in modules: they have their ids."""
        for value in values.values():
            if isinstance(value, Definition) and not value.dec.params:
                self.env.values[value.dec.id] = value


def show(env: Env, module: ModuleValue) -> None:
    """Bring what `module` offers into the frame `env`."""
    env.values.update(module.values)
    env.types = env.types | module.types
    env.modules = env.modules | module.modules
