"""Declarations: each top-level definition is inferred on its own, so that its errors hide no others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir.errors import CompileError, Diagnostic, Loc
from . import syntax as s
from .infer_alias import Gives
from .infer_attr import check_attr
from .infer_bind import Defined, generalise, infer_definition, refuse_functions
from .infer_cover import check_matches
from .infer_fault import DependsOnFailed, bound_twice, fault, unknown
from .infer_literal import check_literals
from .infer_make import PRIMS, UNIT
from .infer_need import DEFAULTS, Need
from .infer_scope import Binding, ModuleBinding, TypeBinding
from .infer_texp import declare_type
from .infer_unique import check_unique
from .infer_work import Pending, Work
from .types import Instance, Scheme, SizeVar, TFun, TVar, Ty, Typed


@dataclass(slots=True)
class Progress:
    """What is done so far: facts about nodes, and errors."""

    typed: Typed
    errors: list[Diagnostic]
    is_root: bool


def infer_decs(work: Work, decs: tuple[s.Dec, ...], progress: Progress) -> frozenset[tuple[int, str]]:
    """Infer the declarations of one file or module, in order; gives the names that are local to it."""
    first: dict[tuple[str, str], Loc] = {}
    hidden: set[tuple[int, str]] = set()
    outer, work.later = work.later, _values(decs)
    for dec in decs:
        inner = dec
        while isinstance(inner, s.LocalDec):
            inner = inner.dec
        try:
            _check_name(inner, first)
        except CompileError as error:
            progress.errors.extend(error.diagnostics)
            continue
        mark = work.scope.mark()
        _infer_dec(work, inner, progress)
        if inner is not dec:
            hidden |= {(id(names), name) for names, name, _ in work.scope.trail[mark:]}
    work.later = outer
    return frozenset(hidden)


def _values(decs: tuple[s.Dec, ...]) -> dict[str, s.ValDec]:
    inner = [dec.dec if isinstance(dec, s.LocalDec) else dec for dec in decs]
    return {dec.name: dec for dec in inner if isinstance(dec, s.ValDec)}


def _check_name(dec: s.Dec, first: dict[tuple[str, str], Loc]) -> None:
    """E0205: one name, one definition in a file."""
    match dec:
        case s.ValDec(name=name, name_loc=loc):
            what = "definition"
        case s.TypeDec(name=name, loc=loc):
            what = "type"
        case s.ModuleDec(name=name, loc=loc):
            what = "module"
        case s.ImportDec() | s.LocalDec() | s.OpenDec() | s.ModuleBind() | s.OpenModule() | s.ModuleTypeDec():
            return
    if (what, name) in first:
        raise bound_twice(what, name, loc, first[what, name])
    first[what, name] = loc


def _infer_dec(work: Work, dec: s.Dec, progress: Progress) -> None:
    try:
        match dec:
            case s.ValDec():
                _infer_value(work, dec, progress)
            case s.TypeDec():
                work.scope.bind_type(dec.name, declare_type(work, dec))
                _finish(work, progress)
            case s.ModuleDec():
                _infer_module(work, dec, progress)
            case s.OpenDec(module=name, loc=loc):
                found = work.scope.find_module(name)
                if found is None:
                    raise unknown("E0220", "module", ".".join(name), loc, work.scope.modules)
                work.scope.open(found)
            case s.ImportDec() | s.LocalDec() | s.ModuleBind() | s.OpenModule() | s.ModuleTypeDec():
                pass
    except CompileError as error:
        progress.errors.extend(error.diagnostics)
        _fail(work, dec)
    except DependsOnFailed:
        _fail(work, dec)


def _fail(work: Work, dec: s.Dec) -> None:
    """Bind what an erroneous declaration would have bound, so that its uses are silent."""
    work.pending = Pending()
    work.solver.forget_needs()
    work.solver.function = work.solver.fresh_id()
    work.defining.clear()
    work.owner = 0
    match dec:
        case s.ValDec(id=node, name=name, name_loc=loc):
            scheme = Scheme((), (), UNIT)
            binding = Binding(scheme, loc, SizeVar(name, node), frozenset(), is_failed=True, is_prelude=False)
            work.scope.bind_value(name, binding)
        case s.TypeDec(name=name, loc=loc):
            work.scope.bind_type(name, TypeBinding((), UNIT, (), loc, is_failed=True))
        case _:
            pass


def _infer_module(work: Work, dec: s.ModuleDec, progress: Progress) -> None:
    mark = work.scope.mark()
    outer, progress.is_root = progress.is_root, False
    hidden = infer_decs(work, dec.decs, progress)
    progress.is_root = outer
    offered: ModuleBinding = work.scope.offered(mark, hidden)
    work.scope.leave(mark)
    work.scope.bind_module(dec.name, offered)


# ---- values ---------------------------------------------------------------------------------------------------------


def _infer_value(work: Work, dec: s.ValDec, progress: Progress) -> None:
    for attr in dec.attrs:
        check_attr(work, attr, dec.name_loc)
    mark = work.scope.mark()
    try:
        defined = infer_definition(work, dec)
    finally:
        work.scope.leave(mark)
    scheme = _settle(work, defined, progress)
    if dec.is_entry or (progress.is_root and dec.name == "main"):
        _check_entry(work, dec, scheme)
    gives = check_unique(progress.typed.types, dec)
    scheme = replace(scheme, type=_with_gives(work, scheme.type, len(dec.params), gives))
    progress.typed.schemes[dec.id] = scheme
    progress.typed.types[dec.id] = scheme.type
    work.bind_scheme(dec.name, dec.id, scheme, dec.name_loc, defined.lifted)


def _with_gives(work: Work, ty: Ty, arity: int, gives: Gives) -> Ty:
    """A function type that says what is fresh in the result after `arity` arguments (scalars always are)."""
    if not isinstance(ty, TFun) or arity == 0 or (arity == 1 and work.solver.is_scalar(ty.cod)):
        return ty
    if arity > 1:
        return replace(ty, cod=_with_gives(work, ty.cod, arity - 1, gives))
    return replace(ty, fresh=bool(gives.fresh), fresh_at=gives.fresh, apart=gives.apart)


def _settle(work: Work, defined: Defined, progress: Progress) -> Scheme:
    """The end of a definition: decide what is open, generalise, check what had to wait, fill in."""
    settle_needs(work)
    scheme = generalise(work, defined)
    check_literals(work)
    refuse_functions(work)
    check_matches(work)
    memo = _finish(work, progress)
    return replace(scheme, type=work.solver.zonk(scheme.type, memo))


def _finish(work: Work, progress: Progress) -> dict[int, tuple[Ty, Ty]]:
    """Fill in what was found, and begin a new definition."""
    solver, pending, typed = work.solver, work.pending, progress.typed
    settle_needs(work)
    memo: dict[int, tuple[Ty, Ty]] = {}
    for node, ty in pending.types.items():
        typed.types[node] = solver.zonk(ty, memo)
    for node, instance in pending.instances.items():
        typed.instances[node] = Instance(
            {name: solver.zonk(ty, memo) for name, ty in instance.types.items()},
            {name: solver.size(size) for name, size in instance.sizes.items()},
        )
    for node, scheme in pending.schemes.items():
        typed.schemes[node] = replace(scheme, type=solver.zonk(scheme.type, memo))
    typed.resolved.update(pending.resolved)
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


def _check_entry(work: Work, dec: s.ValDec, scheme: Scheme) -> None:
    """E0219: an entry point has data in and data out, of known types."""
    if scheme.types:
        shown = work.show(scheme.type)
        message = f"entry point `{dec.name}` is polymorphic"
        raise fault("E0219", message, dec.name_loc, f"its type is `{shown}`", hint="give its parameters types")
    ty: Ty = scheme.type
    while isinstance(ty, TFun):
        if work.solver.has_function(ty.dom):
            shown = work.show(ty.dom)
            raise fault("E0219", f"entry point `{dec.name}` has a function among its parameters", dec.name_loc, shown)
        ty = ty.cod
    if work.solver.has_function(ty):
        raise fault("E0219", f"entry point `{dec.name}` has a function in its result", dec.name_loc, work.show(ty))
