"""Top-level values: each is inferred on its own, so that its errors hide no others."""

from __future__ import annotations

from dataclasses import replace

from ...ir.errors import CompileError, Diagnostic, Label
from ...ir.records import dataclass
from ..source.declarations import ValDec
from ..source.types import PRIMS, Instance, Scheme, SizeVar, TArray, TFun, TVar, Ty, Typed
from ..typing.attributes import check_attr
from ..typing.bindings import Defined, generalise, infer_definition, refuse_functions
from ..typing.causality import check_causality
from ..typing.constraints import DEFAULTS, Need
from ..typing.errors import fault
from ..typing.exhaustiveness import check_matches
from ..typing.literals import check_literals
from ..typing.sizes import is_unknown
from ..typing.state import Pending, Work
from ..typing.unknowns import Zonked
from ..uniqueness.aliases import Gives
from ..uniqueness.check import check_unique
from .abstract_types import reveal


@dataclass(slots=True)
class Progress:
    """What is done so far: facts about nodes, and errors. `is_copy`: what is looked at is a copy of the body of a
    functor, which was checked where the functor is defined. `is_inside`: it is in a module within a file."""

    typed: Typed
    errors: list[Diagnostic]
    is_root: bool
    is_copy: bool
    is_inside: bool = False


def infer_value(work: Work, dec: ValDec, progress: Progress) -> None:
    for attr in dec.attrs:
        check_attr(work, attr, dec.name_loc)
    if dec.is_entry and progress.is_inside:
        message = f"entry point `{dec.name}` is inside a module"
        raise fault("E0219", message, dec.name_loc, "only a file has entry points", hint="write `def` here")
    mark = work.scope.mark()
    try:
        defined = infer_definition(work, dec)
    finally:
        work.scope.leave(mark)
    scheme, lifted = _settle(work, defined, progress)
    if dec.is_entry or (progress.is_root and dec.name == "main"):
        _check_entry(work, dec, scheme)
    gives = check_unique(progress.typed.types, dec, lambda ty: reveal(work.solver, ty, work.hidden)[0])
    scheme = replace(scheme, type=_with_gives(work, scheme.type, len(dec.params), gives))
    progress.typed.schemes[dec.id] = scheme
    progress.typed.types[dec.id] = scheme.type
    work.bind_scheme(dec.name, dec.id, scheme, dec.name_loc, lifted, is_written=dec.ret is not None)


def _with_gives(work: Work, ty: Ty, arity: int, gives: Gives) -> Ty:
    """A function type that says what is fresh in the result after `arity` arguments (scalars always are)."""
    if isinstance(ty, TFun) and arity == 0 and gives.lends:
        return replace(ty, lends=True)
    if not isinstance(ty, TFun) or arity == 0 or (arity == 1 and work.solver.is_scalar(ty.cod)):
        return ty
    if arity > 1:
        return replace(ty, cod=_with_gives(work, ty.cod, arity - 1, gives))
    return replace(ty, fresh=bool(gives.fresh), fresh_at=gives.fresh, apart=gives.apart, lends=bool(gives.lends))


def _settle(work: Work, defined: Defined, progress: Progress) -> tuple[Scheme, frozenset[str]]:
    """The end of a definition: decide what is open, generalise, check what had to wait, fill in."""
    settle_needs(work)
    scheme, lifted = generalise(work, defined, is_local=False)
    check_literals(work)
    refuse_functions(work)
    _warn_of_compared(work)
    check_matches(work)
    _check_sizes(work, scheme.type)
    check_causality(work, defined.body)
    work.solver.chosen &= set().union(*map(work.solver.names_in, work.solver.sizes_in(scheme.type)))
    memo = finish(work, progress)
    return replace(scheme, type=work.solver.zonk(scheme.type, memo)), lifted


def _warn_of_compared(work: Work) -> None:
    """W0304: arrays are compared by functions."""
    for ty, name, loc in work.pending.compared if not work.is_prelude else ():
        if any(isinstance(part, TArray) for part in work.solver.inside(ty)):
            message = f"comparing arrays with `{name}` is deprecated"
            hint = "compare their elements: `and (map2 (==) xs ys)`"
            work.warnings.append(Diagnostic("W0304", message, Label(loc, f"of `{work.show(ty)}`"), hint=hint))


def _check_sizes(work: Work, ty: Ty) -> None:
    """E0227: nothing says what a size is."""
    solver = work.solver
    own = {tag for size in solver.sizes_in(ty) for tag in solver.names_in(size)}
    for var, loc, what in work.pending.sizes:
        size = solver.size(var)
        if isinstance(size, SizeVar) and is_unknown(size) and size.id not in own and size.id not in solver.open:
            hint = "say it with an explicit type ascription, e.g. `: [n]t`"
            message = f"ambiguous size: {what} is not determined here"
            raise fault("E0227", message, loc, "nothing says how large this is", hint=hint)


def finish(work: Work, progress: Progress) -> Zonked:
    """Fill in what was found, and begin a new definition."""
    solver, pending, typed = work.solver, work.pending, progress.typed
    settle_needs(work)
    memo: Zonked = {}
    for node, ty in pending.types.items():
        typed.types[node] = solver.zonk(ty, memo)
    for node, instance in pending.instances.items():
        typed.instances[node] = Instance(
            {name: solver.zonk(ty, memo) for name, ty in instance.types.items()},
            {name: solver.size(size) for name, size in instance.sizes.items()},
            {name: made for name, size in instance.sizes.items() if (made := solver.made(size)) is not None},
        )
        sizes = instance.sizes.values()
        typed.needed.update((i, n) for size in sizes for i, n in solver.names_in(size).items() if i in solver.origins)
    for node, ty in pending.results.items():
        typed.results[node] = solver.zonk(ty, memo)
    for node, scheme in pending.schemes.items():
        typed.schemes[node] = replace(scheme, type=solver.zonk(scheme.type, memo))
    typed.resolved.update(pending.resolved)
    typed.recursive.update(pending.recursive)
    work.pending = Pending()
    solver.forget_needs()
    return memo


def settle_needs(work: Work) -> None:
    """Numbers that nothing decided get their default; E0217 for a record or sum that is not known."""
    solver = work.solver
    for node, need in list(solver.needs.items()):
        if need.prims is not None and node not in solver.bound_types:
            prim = next((p for p in DEFAULTS if p in need.prims), min(need.prims, key=lambda p: p.value))
            solver.unify(TVar("", node), PRIMS[prim])
    for node, need in list(solver.needs.items()):
        if node not in solver.bound_types and (need.fields or need.constructors):
            raise _undetermined(work, node, need)


def _undetermined(work: Work, node: int, need: Need) -> CompileError:
    shown = work.show(TVar("", node))
    kind = "record" if need.fields else "sum type"
    return fault("E0217", f"the {kind} `{shown}` is not known here", need.loc, need.why, hint="add a type annotation")


def _check_entry(work: Work, dec: ValDec, scheme: Scheme) -> None:
    """E0219: an entry point has data in and data out, of known types, and its arguments tell all its sizes."""
    if scheme.types:
        shown = work.show(scheme.type)
        message = f"entry point `{dec.name}` is polymorphic"
        raise fault("E0219", message, dec.name_loc, f"its type is `{shown}`", hint="give its parameters types")
    ty, given = reveal(work.solver, scheme.type, work.hidden)[0], set[int]()
    while isinstance(ty, TFun):
        _check_data(work, dec, ty.dom, "among its parameters")
        given |= {size.id for size in work.solver.sizes_in(ty.dom) if isinstance(size, SizeVar)}
        ty = ty.cod
    _check_data(work, dec, ty, "in its result")
    for size in scheme.sizes:
        if size.id not in given:
            where = next((p.loc for p in dec.tparams if p.name == size.name), dec.name_loc)
            message = f"entry point `{dec.name}` has a size that no argument tells"
            hint = "give a parameter an array of that size, or pass the size as an `i64`"
            raise fault("E0219", message, where, f"its type is `{work.show(scheme.type)}`", hint=hint)


def _check_data(work: Work, dec: ValDec, ty: Ty, where: str) -> None:
    if work.solver.has_function(ty):
        raise fault("E0219", f"entry point `{dec.name}` has a function {where}", dec.name_loc, work.show(ty))
