"""Names in scope: values, types, modules and module types, with nesting by an undo trail so that long `let` chains cost
no copies."""

from __future__ import annotations

from dataclasses import field
from functools import cache

from ...ir.errors import NOWHERE, Loc
from ...ir.records import dataclass
from ...ir.types import Prim
from ..source import numeric_modules as numeric
from ..source.atoms import Qual, TypeParamKind
from ..source.declarations import ModuleExp, ModuleType
from ..source.types import PRIMS, UNIT, Instance, Scheme, Size, SizeVar, TVar, Ty


@dataclass(frozen=True, slots=True)
class Binding:
    """A value: its type, where it was bound, and what it is as a size.

    `lifted`: type parameters that a function may stand for. `is_failed`: its definition has an error that was
    reported, so that uses need no message of their own. `behind`: for a value seen through a signature, what the
    parameters of its definition stand for, in terms of those of `scheme`. `is_written`: its definition says its type,
    which may hide sizes. `is_recursive`: its definition is not complete here."""

    scheme: Scheme
    loc: Loc
    size: Size
    lifted: frozenset[str]
    is_failed: bool
    is_prelude: bool
    behind: Instance | None = None
    is_written: bool = True
    is_recursive: bool = False


@dataclass(frozen=True, slots=True)
class TypeBinding:
    """A type abbreviation (or parameter): its parameters, what it stands for, the anonymous sizes in that, and what it
    says that it may hide."""

    params: tuple[TVar | SizeVar, ...]
    type: Ty
    anonymous: tuple[SizeVar, ...]
    loc: Loc
    is_failed: bool
    lift: TypeParamKind = TypeParamKind.TYPE


@dataclass(frozen=True, slots=True)
class ModuleBinding:
    """What a module offers. `is_failed`: an error in it was reported, and nothing is known of it."""

    values: dict[str, Binding]
    types: dict[str, TypeBinding]
    modules: dict[str, ModuleLike]
    signatures: dict[str, SignatureBinding]
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class SignatureBinding:
    """A module type: as it is written, and the names that it may speak of."""

    sig: ModuleType
    scope: Scope
    is_failed: bool = False


@dataclass(frozen=True, slots=True)
class FunctorBinding:
    """A module with a parameter.

    `body`: what its application gives, a module expression, or another functor whose result is seen as a module of type
    `gives`; None where a signature alone says that there is a functor. `scope`: the names that both may speak of."""

    param: str
    takes: SignatureBinding
    body: ModuleExp | FunctorBinding | None
    gives: ModuleType | None
    scope: Scope


ModuleLike = ModuleBinding | FunctorBinding

_UNKNOWN_VALUE = Binding(Scheme((), (), UNIT), NOWHERE, SizeVar("", -5), frozenset(), is_failed=True, is_prelude=False)
_UNKNOWN_TYPE = TypeBinding((), UNIT, (), NOWHERE, is_failed=True)
FAILED = ModuleBinding({}, {}, {}, {}, is_failed=True)


@dataclass(slots=True, eq=False)
class Scope:
    """The four name spaces at one place of the program."""

    values: dict[str, Binding]
    types: dict[str, TypeBinding]
    modules: dict[str, ModuleLike]
    signatures: dict[str, SignatureBinding]
    trail: list[tuple[dict, str, object]] = field(default_factory=list)

    def copy(self) -> Scope:
        """The names as they are now, whatever becomes of this scope."""
        return Scope(dict(self.values), dict(self.types), dict(self.modules), dict(self.signatures))

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

    def bind_module(self, name: str, binding: ModuleLike) -> None:
        self._bind(self.modules, name, binding)

    def bind_signature(self, name: str, binding: SignatureBinding) -> None:
        self._bind(self.signatures, name, binding)

    def open(self, module: ModuleBinding) -> None:
        """Bring the members of a module into scope."""
        for names, members in (
            (self.values, module.values),
            (self.types, module.types),
            (self.modules, module.modules),
            (self.signatures, module.signatures),
        ):
            for name, member in members.items():
                self._bind(names, name, member)

    def _bind(self, names: dict, name: str, binding: object) -> None:
        self.trail.append((names, name, names.get(name)))
        names[name] = binding

    def offered(self, mark: int, hidden: frozenset[tuple[int, str]]) -> ModuleBinding:
        """What was bound since `mark` and still is, without the names in `hidden` (by the id of their name space)."""
        found = ModuleBinding({}, {}, {}, {})
        spaces = {
            id(self.values): found.values,
            id(self.types): found.types,
            id(self.modules): found.modules,
            id(self.signatures): found.signatures,
        }
        for names, name, _ in self.trail[mark:]:
            if (id(names), name) not in hidden:
                spaces[id(names)][name] = names[name]
        return found

    def module(self, name: str) -> ModuleLike | None:
        """The module or functor of that name; those of scalar types are made when they are asked for."""
        found = self.modules.get(name)
        return numeric_module(numeric.MODULES[name]) if found is None and name in numeric.MODULES else found

    def module_names(self) -> list[str]:
        return [*numeric.MODULES, *self.modules]

    def find_any_module(self, path: Qual) -> ModuleLike | None:
        """The module or functor that `path` leads to."""
        found = self.module(path[0])
        for name in path[1:]:
            if not isinstance(found, ModuleBinding):
                return None
            found = found if found.is_failed else found.modules.get(name)
        return found

    def find_module(self, path: Qual) -> ModuleBinding | None:
        found = self.find_any_module(path)
        return found if isinstance(found, ModuleBinding) else None

    def find_value(self, name: Qual) -> tuple[Binding, int] | None:
        """The value that the longest prefix of modules leads to, and how many components name it."""
        head = name[0]
        if len(name) > 1 and isinstance(module := self.module(head), ModuleBinding):
            at = 1
            while at < len(name) - 1 and name[at] not in module.values:
                inner = module.modules.get(name[at])
                if not isinstance(inner, ModuleBinding):
                    break
                module, at = inner, at + 1
            if name[at] in module.values:
                return module.values[name[at]], at + 1
            if module.is_failed:
                return _UNKNOWN_VALUE, len(name)
        plain = self.values.get(head)
        return None if plain is None else (plain, 1)

    def find_type(self, name: Qual) -> TypeBinding | None:
        if len(name) == 1:
            return self.types.get(name[0])
        module = self.find_module(name[:-1])
        if module is not None and module.is_failed:
            return _UNKNOWN_TYPE
        return None if module is None else module.types.get(name[-1])

    def find_signature(self, name: Qual) -> SignatureBinding | None:
        if len(name) == 1:
            return self.signatures.get(name[0])
        module = self.find_module(name[:-1])
        return None if module is None else module.signatures.get(name[-1])


def outermost() -> Scope:
    """What every program has: the scalar types; `Scope.module` has their modules."""
    types = {p.value: TypeBinding((), PRIMS[p], (), NOWHERE, is_failed=False) for p in Prim}
    return Scope({}, types, {}, {})


@cache
def numeric_module(prim: Prim) -> ModuleBinding:
    """The built-in module of a scalar type."""
    values = {name: _member(prim, name, ty) for name, ty in numeric.members(prim).items()}
    types = {name: TypeBinding((), PRIMS[p], (), NOWHERE, is_failed=False) for name, p in numeric.types(prim).items()}
    return ModuleBinding(values, types, {}, {})


def _member(prim: Prim, name: str, ty: Ty) -> Binding:
    sizes = (numeric.FOLD_SIZE,) if isinstance(numeric.meanings(prim)[name], numeric.Fold) else ()
    size = SizeVar(f"{prim.value}.{name}", -4)
    return Binding(Scheme((), sizes, ty), NOWHERE, size, frozenset(), is_failed=False, is_prelude=False)
