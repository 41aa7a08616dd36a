"""Signatures: a module seen through a module type.

    module m: { type t  val x: t } = e        m has what the signature says, and t is a type of its own

A signature is kept as it is written, with the names it may speak of, and read anew wherever a module is seen through
it. Reading it makes the module that the outside sees. Where there is a module behind it, every member is looked up
there and has to fit (E0224, `matching.py`); without one, for the parameter of a functor, the members are taken on
trust.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.errors import Label, Loc
from ...ir.records import dataclass
from ..source.atoms import Qual, TypeParamKind
from ..source.copy_syntax import copied
from ..source.declarations import (
    Include,
    ModuleSpec,
    SigArrow,
    SigName,
    Signature,
    SigWith,
    Spec,
    TypeDec,
    TypeSpec,
    ValSpec,
)
from ..source.types import Instance, Scheme, Size, SizeVar, TFun, TOpaque, TVar, Ty
from ..typing.errors import DependsOnFailed, bound_twice, fault, unknown
from ..typing.scope import Binding, FunctorBinding, ModuleBinding, ModuleLike, Scope, SignatureBinding, TypeBinding
from ..typing.sizes import is_unknown
from ..typing.state import Work
from ..typing.type_expressions import LIFTED, Anonymous, bind_type_param, check_type_params, declare_type, resolve_type
from ..uniqueness.aliases import lends
from .abstract_types import reveal_module
from .matching import fit_abstract, fit_parameters, fit_type, fit_value

Refined = dict[Qual, TypeBinding]
"""What `with` says of types, by their path; what is used is taken out."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A module that is looked at: what its abstract types are called by, which module inside the one at hand it is,
    where that is, and what the types stand for."""

    name: str
    inside: str
    loc: Loc
    known: dict[int, TypeBinding]


def seal(work: Work, sig: SignatureBinding, impl: ModuleLike | None, name: str, loc: Loc) -> ModuleLike:
    """The module `impl` as the outside sees it through `sig`: abstract types are types of their own."""
    place = _Place(name, "", loc, {})
    sealed = _seal(work, sig, impl, place, {})
    work.hidden.update(place.known)
    return sealed


def view(work: Work, sig: SignatureBinding, impl: ModuleLike, name: str, loc: Loc) -> ModuleLike:
    """The module `impl` as the body of a functor sees it that takes a `sig`: with its own types."""
    place = _Place(name, "", loc, {})
    return reveal_module(work.solver, _seal(work, sig, impl, place, {}), place.known)


def _seal(work: Work, sig: SignatureBinding, impl: ModuleLike | None, place: _Place, refined: Refined) -> ModuleLike:
    if isinstance(impl, ModuleBinding) and impl.is_failed:
        raise DependsOnFailed
    with work.inside(place.loc):
        return _seal_inside(work, sig, impl, place, refined)


def _seal_inside(
    work: Work, sig: SignatureBinding, impl: ModuleLike | None, place: _Place, refined: Refined
) -> ModuleLike:
    match sig.sig:
        case SigName(name=name, loc=loc):
            return _seal(work, _named(work, sig.scope, name, loc), impl, place, refined)
        case SigWith(sig=inner, name=name, loc=loc):
            wanted = refined | {name: _refinement(work, sig.sig, sig.scope)}
            sealed = _seal(work, SignatureBinding(inner, sig.scope), impl, place, wanted)
            if name in wanted:
                raise fault("E0214", f"the module type has no abstract type `{'.'.join(name)}`", loc, "refined here")
            for used in [path for path in refined if path not in wanted]:
                del refined[used]
            return sealed
        case SigArrow() as arrow:
            return _functor(work, arrow, sig.scope, impl, place)
        case Signature(specs=specs):
            if isinstance(impl, FunctorBinding):
                raise fault("E0224", "this is a functor, and a module is wanted", place.loc, "here")
            return _members(work, specs, sig.scope, impl, place, refined)


def _named(work: Work, scope: Scope, name: Qual, loc: Loc) -> SignatureBinding:
    found = scope.find_signature(name)
    if found is None:
        raise unknown("E0220", "module type", ".".join(name), loc, scope.signatures)
    if found.is_failed:
        raise DependsOnFailed
    return found


def _refinement(work: Work, sig: SigWith, scope: Scope) -> TypeBinding:
    """The type that `with` puts in."""
    outer, work.scope = work.scope, scope.copy()
    try:
        dec = TypeDec(sig.name[-1], sig.params, sig.type, sig.loc, LIFTED)
        return declare_type(work, copied(work.solver.fresh_id, dec))
    finally:
        work.scope = outer


def _functor(work: Work, sig: SigArrow, scope: Scope, impl: ModuleLike | None, place: _Place) -> FunctorBinding:
    """`(p: mt) -> mt`: a functor behind it has to give what is wanted when it is applied to what it is promised."""
    if isinstance(impl, ModuleBinding):
        raise fault("E0224", "this is a module, and a functor is wanted", place.loc, "here")
    takes = SignatureBinding(sig.takes, scope.copy())
    functor = FunctorBinding(sig.param or "_", takes, impl, sig.gives, scope.copy())
    if impl is not None:
        work.apply_functor(functor, seal(work, takes, None, functor.param, place.loc), place.name, place.loc)
    return functor


# ---- members --------------------------------------------------------------------------------------------------------


def _members(
    work: Work, specs: tuple[Spec, ...], scope: Scope, impl: ModuleBinding | None, place: _Place, refined: Refined
) -> ModuleBinding:
    """`{ specs }`: a specification may speak of those before it."""
    outer, work.scope = work.scope, scope.copy()
    made = ModuleBinding({}, {}, {}, {})
    try:
        for spec in copied(work.solver.fresh_id, specs):
            _member(work, spec, impl, place, refined, made)
    finally:
        work.scope = outer
    return made


def _member(
    work: Work, spec: Spec, impl: ModuleBinding | None, place: _Place, refined: Refined, made: ModuleBinding
) -> None:
    match spec:
        case ValSpec(name=name, loc=loc):
            _check_new(made.values, "value", name, loc)
            found = None if impl is None else _lookup(impl.values, "value", name, place, loc)
            made.values[name] = _value(work, spec, found, place)
            work.scope.bind_value(name, made.values[name])
        case TypeSpec(name=name, loc=loc) | TypeDec(name=name, loc=loc):
            _check_new(made.types, "type", name, loc)
            found = None if impl is None else _lookup(impl.types, "type", name, place, loc)
            made.types[name] = _type(work, spec, found, place, refined)
            work.scope.bind_type(name, made.types[name])
        case ModuleSpec(name=name, sig=sig, loc=loc):
            _check_new(made.modules, "module", name, loc)
            found = None if impl is None else _lookup(impl.modules, "module", name, place, loc)
            made.modules[name] = _module(work, name, SignatureBinding(sig, work.scope), found, place, refined)
            work.scope.bind_module(name, made.modules[name])
        case Include(sig=sig, loc=loc):
            included = _seal(work, SignatureBinding(sig, work.scope), impl, place, refined)
            if isinstance(included, FunctorBinding):
                raise fault("E0224", "the type of a functor cannot be included", loc, "here")
            made.values.update(included.values)
            made.types.update(included.types)
            made.modules.update(included.modules)
            work.scope.open(included)


def _check_new(members: dict, what: str, name: str, loc: Loc) -> None:
    if name in members:
        raise bound_twice(what, name, loc, members[name].loc if hasattr(members[name], "loc") else loc)


def _lookup(members: dict, what: str, name: str, place: _Place, spec: Loc):
    """The member that a specification asks for."""
    if name not in members:
        message = f"the module has no {what} `{place.inside}{name}`"
        raise fault("E0224", message, place.loc, "here", [Label(spec, "the signature asks for it")])
    return members[name]


def _module(
    work: Work, name: str, sig: SignatureBinding, found: ModuleLike | None, place: _Place, refined: Refined
) -> ModuleLike:
    """`module m: mt`, with what was said of the types of m."""
    inner = {path[1:]: refined.pop(path) for path in list(refined) if len(path) > 1 and path[0] == name}
    made = _seal(work, sig, found, replace(place, name=f"{place.name}.{name}", inside=f"{place.inside}{name}."), inner)
    refined.update({(name, *path): binding for path, binding in inner.items()})
    return made


def _type(
    work: Work, spec: TypeSpec | TypeDec, found: TypeBinding | None, place: _Place, refined: Refined
) -> TypeBinding:
    """`type t = ..`: the same type. `type t`: an abstract one, or what it was refined to."""
    if found is not None and found.is_failed:
        raise DependsOnFailed
    match spec:
        case TypeDec():
            binding = declare_type(work, spec)
        case TypeSpec(name=name):
            abstract, tag = _abstract(work, spec, place)
            binding = refined.pop((name,), abstract)
            if binding is not abstract:
                fit_parameters(place.inside + name, abstract, binding, place.loc)
                binding = replace(binding, lift=spec.lift)
            elif found is not None:
                fit_abstract(work, place.inside + name, abstract, found, place.loc)
                place.known[tag] = found
                return binding
    if found is not None:
        fit_type(work, place.inside + spec.name, binding, found, place.known, place.loc)
    return binding


def _abstract(work: Work, spec: TypeSpec, place: _Place) -> tuple[TypeBinding, int]:
    """A type that equals nothing but itself, and its id."""
    mark, tag = work.scope.mark(), work.solver.fresh_id()
    check_type_params(spec.params)
    params = tuple([bind_type_param(work, p) for p in spec.params])
    work.scope.leave(mark)
    if spec.lift is not TypeParamKind.TYPE:
        work.solver.kinds[tag] = spec.lift
    types, sizes = [p for p in params if isinstance(p, TVar)], [p for p in params if isinstance(p, SizeVar)]
    opaque = TOpaque(f"{place.name}.{spec.name}", tag, tuple(types), tuple(sizes))
    return TypeBinding(params, opaque, (), spec.loc, is_failed=False, lift=spec.lift), tag


def _value(work: Work, spec: ValSpec, found: Binding | None, place: _Place) -> Binding:
    if found is not None and found.is_failed:
        raise DependsOnFailed
    mark, tag, owner = work.scope.mark(), work.solver.fresh_id(), work.owner
    work.owner = tag
    check_type_params(spec.tparams)
    params = [bind_type_param(work, p) for p in spec.tparams]
    written = resolve_type(work, spec.type, Anonymous.FREE)
    work.scope.leave(mark)
    work.owner = owner
    types, sizes = [p for p in params if isinstance(p, TVar)], [p for p in params if isinstance(p, SizeVar)]
    ty, invented = _any_sizes(work, written)
    scheme = Scheme(tuple(types), (*sizes, *invented), ty)
    behind: Instance | None = None
    if found is not None:
        behind = fit_value(work, place.inside + spec.name, scheme, found, place.known, place.loc, spec.loc)
        if isinstance(ty, TFun) and lends(found.scheme.type):
            ty = replace(ty, lends=True)
    for size in work.solver.sizes_in(ty):
        work.solver.settle_size(size)
    scheme = replace(scheme, type=work.solver.zonk(ty, {}))
    lifted = frozenset(v.name for p, v in zip(spec.tparams, params) if p.kind is LIFTED)
    size = SizeVar(spec.name, tag) if found is None else found.size
    return Binding(scheme, spec.loc, size, lifted, is_failed=False, is_prelude=False, behind=behind)


def _any_sizes(work: Work, ty: Ty) -> tuple[Ty, list[SizeVar]]:
    """`[]t -> ..` is `[n]t -> ..`: a size that is left out in a parameter is a parameter of the value."""
    found: list[SizeVar] = []

    def change(size: Size) -> Size:
        if not is_unknown(size):
            return size
        tag = work.solver.fresh_id()
        found.append(SizeVar(f"?{tag}", tag))
        return found[-1]

    def walk(ty: Ty) -> Ty:
        if not isinstance(ty, TFun):
            return ty
        return replace(ty, dom=work.solver.map_sizes(ty.dom, change), cod=walk(ty.cod))

    return walk(ty), found
