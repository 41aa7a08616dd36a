"""Names in scope: values, types and modules, with nesting by an undo trail so that long `let` chains cost no copies."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ..ir.errors import NOWHERE, Loc
from ..ir.types import Prim
from . import numeric
from .infer_make import PRIMS
from .syntax import Qual
from .types import Scheme, Size, SizeVar, TVar, Ty


@dataclass(frozen=True, slots=True)
class Binding:
    """A value: its type, where it was bound, and what it is as a size.

    `lifted`: type parameters that a function may stand for. `is_failed`: its definition has an error that was
    reported, so that uses need no message of their own."""

    scheme: Scheme
    loc: Loc
    size: Size
    lifted: frozenset[str]
    is_failed: bool
    is_prelude: bool


@dataclass(frozen=True, slots=True)
class TypeBinding:
    """A type abbreviation (or parameter): its parameters, what it stands for, and the anonymous sizes in that."""

    params: tuple[TVar | SizeVar, ...]
    type: Ty
    anonymous: tuple[SizeVar, ...]
    loc: Loc
    is_failed: bool


@dataclass(frozen=True, slots=True)
class ModuleBinding:
    """What a module offers."""

    values: dict[str, Binding]
    types: dict[str, TypeBinding]
    modules: dict[str, ModuleBinding]


class Scope:
    """The three name spaces at one place of the program."""

    __slots__ = ("modules", "trail", "types", "values")

    def __init__(self) -> None:
        self.values: dict[str, Binding] = {}
        self.types: dict[str, TypeBinding] = {
            p.value: TypeBinding((), PRIMS[p], (), NOWHERE, is_failed=False) for p in Prim
        }
        self.modules: dict[str, ModuleBinding] = {p.value: numeric_module(p) for p in Prim}
        self.trail: list[tuple[dict, str, object]] = []

    def mark(self) -> int:
        """Where a nested scope begins; `leave` it with the same number."""
        return len(self.trail)

    def leave(self, mark: int) -> None:
        while len(self.trail) > mark:
            names, name, old = self.trail.pop()
            if old is None:
                del names[name]
            else:
                names[name] = old

    def bind_value(self, name: str, binding: Binding) -> None:
        self._bind(self.values, name, binding)

    def bind_type(self, name: str, binding: TypeBinding) -> None:
        self._bind(self.types, name, binding)

    def bind_module(self, name: str, binding: ModuleBinding) -> None:
        self._bind(self.modules, name, binding)

    def open(self, module: ModuleBinding) -> None:
        """Bring the members of a module into scope."""
        for names, members in (
            (self.values, module.values),
            (self.types, module.types),
            (self.modules, module.modules),
        ):
            for name, member in members.items():
                self._bind(names, name, member)

    def _bind(self, names: dict, name: str, binding: object) -> None:
        self.trail.append((names, name, names.get(name)))
        names[name] = binding

    def offered(self, mark: int, hidden: frozenset[tuple[int, str]]) -> ModuleBinding:
        """What was bound since `mark` and still is, without the names in `hidden` (by the id of their name space)."""
        found = ModuleBinding({}, {}, {})
        spaces = {id(self.values): found.values, id(self.types): found.types, id(self.modules): found.modules}
        for names, name, _ in self.trail[mark:]:
            if (id(names), name) not in hidden:
                spaces[id(names)][name] = names[name]
        return found

    def find_module(self, path: Qual) -> ModuleBinding | None:
        found = self.modules.get(path[0])
        for name in path[1:]:
            found = None if found is None else found.modules.get(name)
        return found

    def find_value(self, name: Qual) -> tuple[Binding, int] | None:
        """The value that the longest prefix of modules leads to, and how many components name it."""
        head = name[0]
        if len(name) > 1 and (module := self.modules.get(head)) is not None:
            at = 1
            while at < len(name) - 1 and name[at] not in module.values and name[at] in module.modules:
                module, at = module.modules[name[at]], at + 1
            if name[at] in module.values:
                return module.values[name[at]], at + 1
        plain = self.values.get(head)
        return None if plain is None else (plain, 1)

    def find_type(self, name: Qual) -> TypeBinding | None:
        if len(name) == 1:
            return self.types.get(name[0])
        module = self.find_module(name[:-1])
        return None if module is None else module.types.get(name[-1])


@cache
def numeric_module(prim: Prim) -> ModuleBinding:
    """The built-in module of a scalar type."""
    values = {name: _member(prim, name, ty) for name, ty in numeric.members(prim).items()}
    return ModuleBinding(values, {"t": TypeBinding((), PRIMS[prim], (), NOWHERE, is_failed=False)}, {})


def _member(prim: Prim, name: str, ty: Ty) -> Binding:
    sizes = (numeric.FOLD_SIZE,) if isinstance(numeric.meanings(prim)[name], numeric.Fold) else ()
    size = SizeVar(f"{prim.value}.{name}", -4)
    return Binding(Scheme((), sizes, ty), NOWHERE, size, frozenset(), is_failed=False, is_prelude=False)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that `name` was perhaps meant to be."""
    near = difflib.get_close_matches(name, [n for n in names if n[0] != "_"], n=1, cutoff=0.65)
    return near[0] if near else None
