"""Abstract types, seen through: what a signature hides is put in again.

While a program is inferred, an abstract type is a `TOpaque` and equals nothing but itself. A functor's body, which has
been checked with an abstract parameter, is inferred again for each argument with the argument's own types; and when
inference is over, every type is, so that nothing after it knows of abstract types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...ir.records import dataclass
from ..source.types import (
    Scheme,
    Size,
    SizeVar,
    TFun,
    TOpaque,
    TVar,
    Ty,
    Typed,
    map_parts,
)
from ..typing.scope import Binding, FunctorBinding, ModuleBinding, ModuleLike, TypeBinding
from ..typing.sizes import ANY_SIZE
from ..typing.state import substitute
from ..typing.unify import Solver
from ..typing.unknowns import deeper

Known = Mapping[int, TypeBinding]
"""What abstract types stand for, by id."""


Make = Callable[[], SizeVar]


def reveal(solver: Solver, ty: Ty, known: Known, taken: Make = lambda: ANY_SIZE) -> tuple[Ty, tuple[SizeVar, ...]]:
    """`ty` with what abstract types stand for, and the sizes that this brings to light. A function takes what it is
    given (`taken` makes the sizes of parameters), and chooses the sizes of its result."""
    found: list[SizeVar] = []
    return _Revealing(solver, known, taken).type(ty, _noting(solver, found), 0), tuple(found)


def _noting(solver: Solver, found: list[SizeVar]) -> Make:
    def make() -> SizeVar:
        found.append(solver.existential())
        return found[-1]

    return make


@dataclass(frozen=True, slots=True)
class _Revealing:
    solver: Solver
    known: Known
    taken: Make

    def type(self, ty: Ty, make: Make, depth: int) -> Ty:
        ty, inside = self.solver.resolve(ty), deeper(depth)
        match ty:
            case TFun():
                found: list[SizeVar] = []
                dom = self.type(ty.dom, self.taken, inside)
                cod = self.type(ty.cod, _noting(self.solver, found), inside)
                return replace(ty, dom=dom, cod=cod, exists=(*ty.exists, *found))
            case TOpaque() if (behind := self.known.get(ty.id)) is not None:
                types = tuple([self.type(t, make, inside) for t in ty.types])
                return self.type(self._put_in(behind, types, ty.sizes, make), make, inside)
            case _:
                return map_parts(ty, lambda t: self.type(t, make, inside), lambda size: size)

    def _put_in(self, behind: TypeBinding, types: tuple[Ty, ...], sizes: tuple[Size, ...], make: Make) -> Ty:
        """The type behind, with the arguments of the abstract one."""
        by_type = {p.id: t for p, t in zip([p for p in behind.params if isinstance(p, TVar)], types, strict=True)}
        by_size = {p.id: n for p, n in zip([p for p in behind.params if isinstance(p, SizeVar)], sizes, strict=True)}
        hidden: dict[int, Size] = {k.id: make() for k in behind.anonymous}
        return substitute(self.solver, behind.type, by_type, by_size | hidden)


# ---- modules --------------------------------------------------------------------------------------------------------


def reveal_module(solver: Solver, module: ModuleLike, known: Known) -> ModuleLike:
    """A module with the same members, nothing in their types hidden."""
    if isinstance(module, FunctorBinding) or not known:
        return module
    values = {name: _reveal_value(solver, value, known) for name, value in module.values.items()}
    types = {name: _reveal_type(solver, binding, known) for name, binding in module.types.items()}
    modules = {name: reveal_module(solver, inner, known) for name, inner in module.modules.items()}
    return ModuleBinding(values, types, modules, module.signatures, module.is_failed)


def _reveal_value(solver: Solver, value: Binding, known: Known) -> Binding:
    return replace(value, scheme=replace(value.scheme, type=reveal(solver, value.scheme.type, known)[0]))


def _reveal_type(solver: Solver, binding: TypeBinding, known: Known) -> TypeBinding:
    ty, sizes = reveal(solver, binding.type, known)
    return replace(binding, type=ty, anonymous=(*binding.anonymous, *sizes))


# ---- at the end -----------------------------------------------------------------------------------------------------


def reveal_all(solver: Solver, typed: Typed, known: Known, first: int) -> None:
    """What inference found of the nodes from `first` on, with nothing hidden: those before know of no hidden type."""
    if not known:
        return
    memo: dict[int, tuple[Ty, Ty]] = {}

    def shown(ty: Ty) -> Ty:
        if id(ty) not in memo:
            memo[id(ty)] = (ty, reveal(solver, ty, known)[0] if _is_hiding(solver, ty) else ty)
        return memo[id(ty)][1]

    for node, ty in typed.types.items():
        if node >= first:
            typed.types[node] = shown(ty)
    for node, scheme in typed.schemes.items():
        if node >= first:
            typed.schemes[node] = Scheme(scheme.types, scheme.sizes, shown(scheme.type))
    for node, instance in typed.instances.items():
        if node >= first:
            typed.instances[node] = replace(instance, types={name: shown(ty) for name, ty in instance.types.items()})


def _is_hiding(solver: Solver, ty: Ty) -> bool:
    return any(isinstance(part, TOpaque) for part in solver.inside(ty))
