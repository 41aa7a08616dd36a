"""Whether a member of a module fits what a signature says of it.

value   the definition's type has an instance that is the one wanted, up to what functions may do besides: consume
        less, give out more that is unique, choose a size where any is allowed
type    the same parameters, the same type; one that is abstract may hide sizes or functions only if it says so
"""

from __future__ import annotations

from ...ir.errors import CompileError, Label, Loc
from ..source.atoms import TypeParamKind
from ..source.types import Instance, Paths, Scheme, Size, SizeVar, TFun, TVar, Ty
from ..typing.errors import fault
from ..typing.scope import Binding, TypeBinding
from ..typing.show import Shower
from ..typing.sizes import ANY_SIZE, SizeClash, is_unknown
from ..typing.state import Work, substitute
from ..typing.type_expressions import LIFTED, SIZE_LIFTED
from ..typing.unify import Clash, Solver
from .abstract_types import Known, reveal

# ---- values ---------------------------------------------------------------------------------------------------------


def fit_value(work: Work, name: str, wanted: Scheme, found: Binding, known: Known, loc: Loc, spec: Loc) -> Instance:
    """What the parameters of a definition stand for where it is seen as `wanted`; E0224 when it does not fit."""
    solver = work.solver
    types: dict[int, Ty] = {var.id: solver.unknown() for var in found.scheme.types}
    sizes: dict[int, Size] = {var.id: solver.unknown_size() for var in found.scheme.sizes}
    got = substitute(solver, found.scheme.type, types, sizes)
    want, hidden = reveal(solver, wanted.type, known, solver.existential)
    places = {k.id: solver.unknown_size() for k in hidden}
    try:
        _fits(solver, solver.replace_sizes(want, dict(places)), got)
        _fit_hidden(solver, list(places.values()), found)
        _fit_lifted(solver, types, found)
    except (Clash, SizeClash) as clash:
        raise _misfit(work, name, want, found, clash, loc, spec) from None
    behind = found.behind
    if behind is None:
        by_type = {var.name: solver.zonk(types[var.id], {}) for var in found.scheme.types}
        return Instance(by_type, {var.name: solver.size(sizes[var.id]) for var in found.scheme.sizes})
    by_type = {n: solver.zonk(substitute(solver, t, types, sizes), {}) for n, t in behind.types.items()}
    by_size = {n: solver.put_in(size, sizes.get) for n, size in behind.sizes.items()}
    return Instance(by_type, by_size)


def _fits(solver: Solver, want: Ty, got: Ty) -> None:
    """A value of type `got` can stand where `want` is asked for; raises `Clash` or `SizeClash`."""
    want, got = solver.resolve(want), solver.resolve(got)
    if not (isinstance(want, TFun) and isinstance(got, TFun)):
        solver.unify_with(want, got, lambda n, m: _same_size(solver, n, m))
        return
    if not _within(got.consumes_at if got.consumes else (), want.consumes_at if want.consumes else ()):
        raise Clash(want, got, "the definition consumes its argument")
    _fits(solver, got.dom, want.dom)
    if not solver.is_scalar(want.cod) and not _within(
        want.fresh_at if want.fresh else (), got.fresh_at if got.fresh else ()
    ):
        raise Clash(want, got, "the result of the definition is not unique")
    param = solver.existential()
    chosen: dict[int, Size] = {k.id: solver.unknown_size() for k in want.exists}
    left = solver.replace_sizes(want.cod, {want.param_id: param, **chosen})
    _fits(solver, left, solver.replace_sizes(got.cod, {got.param_id: param}))


def _fit_hidden(solver: Solver, places: list[SizeVar], found: Binding) -> None:
    """A type that hides sizes says nothing of the size of a value, which must not have one that is known."""
    for place in places if not found.is_written else ():
        size = solver.size(place)
        if not isinstance(size, SizeVar) or not (is_unknown(size) or size.id in solver.origins):
            ty = found.scheme.type
            raise Clash(ty, ty, "its size is known, which the signature hides: say so, `: t`, where it is defined")


def _fit_lifted(solver: Solver, types: dict[int, Ty], found: Binding) -> None:
    """A parameter that stands for data only is not asked to be more; one that was not written may hide sizes."""
    for var in found.scheme.types:
        kinds = [] if var.name in found.lifted else [LIFTED]
        hides = var.name == f"t{var.id}" or solver.kinds.get(var.id) is SIZE_LIFTED
        kinds += [] if kinds == [] or hides else [SIZE_LIFTED]
        if solver.lifted_in(types[var.id], *kinds) is not None:
            which = "a parameter" if var.name == f"t{var.id}" else f"the parameter `'{var.name}`"
            raise Clash(types[var.id], var, f"{which} of the definition is not lifted")


def _within(inner: Paths, outer: Paths) -> bool:
    """Whether every part in `inner` is in one of `outer`."""
    return all(any(path[: len(whole)] == whole for whole in outer) for path in inner)


def _same_size(solver: Solver, a: Size, b: Size) -> None:
    solver.unify_size(a, b)
    a, b = solver.size(a), solver.size(b)
    open_end = is_unknown(a) or is_unknown(b) or ANY_SIZE in (a, b)
    if not open_end and not solver.same_size(a, b):
        raise SizeClash(a, b)


def _misfit(
    work: Work, name: str, want: Ty, found: Binding, clash: Clash | SizeClash, loc: Loc, spec: Loc
) -> CompileError:
    shower = Shower(work.solver)
    wanted, got = shower.type(want), shower.type(found.scheme.type)
    labels = [Label(spec, f"wanted: `{wanted}`")]
    labels += [Label(found.loc, f"defined: `{got}`")] if found.loc.line else []
    notes = [clash.reason] if isinstance(clash, Clash) and clash.reason else []
    return fault("E0224", f"`{name}` does not have the type that the signature asks for", loc, "here", labels, notes)


# ---- types ----------------------------------------------------------------------------------------------------------

_ORDER = (TypeParamKind.TYPE, TypeParamKind.SIZE_LIFTED, TypeParamKind.LIFTED)
_MAY = {TypeParamKind.SIZE_LIFTED: "hide sizes", TypeParamKind.LIFTED: "be a function"}


def fit_abstract(work: Work, name: str, wanted: TypeBinding, found: TypeBinding, loc: Loc) -> None:
    """E0224 where the type behind an abstract one has other parameters, or may hide more than the signature allows."""
    fit_parameters(name, wanted, found, loc)
    sizes = [work.solver.size(size) for size in work.solver.sizes_in(found.type, shown=True)]
    for param in found.params:
        if isinstance(param, SizeVar) and param not in sizes:
            message = f"type `{name}` is not constructive in its size `{param.name}`"
            raise fault("E0224", message, loc, "here", [Label(found.loc, f"no array in it is `[{param.name}]`")])
    if _ORDER.index(found.lift) > _ORDER.index(wanted.lift):
        message = f"type `{name}` may {_MAY[found.lift]}, but not in the signature"
        labels = [Label(wanted.loc, f"`type{found.lift.value[1:]}` would allow it"), Label(found.loc, "defined here")]
        raise fault("E0224", message, loc, "here", labels)


def fit_type(work: Work, name: str, wanted: TypeBinding, found: TypeBinding, known: Known, loc: Loc) -> None:
    """E0224 where a type is not the one that the signature says it is."""
    fit_parameters(name, wanted, found, loc)
    solver = work.solver
    types: dict[int, Ty] = {}
    sizes: dict[int, Size] = dict(zip([k.id for k in found.anonymous], wanted.anonymous))
    for mine, other in zip(wanted.params, found.params):
        match mine, other:
            case TVar(), TVar():
                types[other.id] = mine
            case SizeVar(), SizeVar():
                sizes[other.id] = mine
            case _:
                pass
    want, _ = reveal(solver, wanted.type, known)
    got = substitute(solver, found.type, types, sizes)
    try:
        solver.unify_with(want, got, lambda n, m: _same_size(solver, n, m))
    except (Clash, SizeClash):
        shower = Shower(solver)
        left, right = shower.type(want), shower.type(got)
        message = f"type `{name}` is not the one that the signature asks for"
        labels = [Label(wanted.loc, f"wanted: `{left}`")]
        labels += [Label(found.loc, f"defined: `{right}`")] if found.loc.line else []
        raise fault("E0224", message, loc, "here", labels) from None


def fit_parameters(name: str, wanted: TypeBinding, found: TypeBinding, loc: Loc) -> None:
    """E0224 where two types of one name take different parameters."""
    if [type(p) for p in wanted.params] != [type(p) for p in found.params]:
        message = f"type `{name}` has other parameters than the signature says"
        labels = [Label(wanted.loc, "in the signature")]
        labels += [Label(found.loc, "defined here")] if found.loc.line else []
        raise fault("E0224", message, loc, "here", labels)
