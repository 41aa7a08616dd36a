"""Declarations and module expressions.

A functor is checked once, with a parameter of which only the signature is known. Where it is applied, a copy of its
body is inferred again, in the scope of its definition and with the types of its argument: the copy is what is
elaborated. A functor inside such a copy (the rest of one with several parameters, too) is not checked another time.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.depth import MOST_LEVELS, too_deep
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ..source.copy_syntax import copied
from ..source.declarations import (
    Ascribed,
    Dec,
    Functor,
    ImportDec,
    LocalDec,
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
from ..source.types import UNIT, Applied, Scheme, Shown, SizeVar
from ..typing.errors import DependsOnFailed, bound_twice, fault, unknown
from ..typing.recursion import binds_itself
from ..typing.scope import (
    FAILED,
    Binding,
    FunctorBinding,
    ModuleBinding,
    ModuleLike,
    Scope,
    SignatureBinding,
    TypeBinding,
)
from ..typing.state import Pending, Work
from ..typing.type_expressions import declare_type
from ..typing.unknowns import TooDeep
from .definitions import Progress, finish, infer_value
from .signatures import seal, view

# ---- declarations ---------------------------------------------------------------------------------------------------


def infer_decs(work: Work, decs: tuple[Dec, ...], progress: Progress) -> frozenset[tuple[int, str]]:
    """Infer the declarations of one file or module, in order; gives the names that are local to it."""
    first: dict[tuple[str, str], Loc] = {}
    hidden: set[tuple[int, str]] = set()
    outer, work.later = work.later, _values(decs)
    for dec in decs:
        inner = dec
        while isinstance(inner, LocalDec):
            inner = inner.dec
        try:
            _check_name(inner, first)
        except CompileError as error:
            progress.errors.extend(error.diagnostics)
            continue
        mark = work.scope.mark()
        _infer_dec(work, inner, progress)
        bound = {(id(names), name) for names, name, _ in work.scope.trail[mark:]}
        is_local = inner is not dec or isinstance(dec, ImportDec)
        hidden = hidden | bound if is_local else hidden - bound
    work.later = outer
    return frozenset(hidden)


def _values(decs: tuple[Dec, ...]) -> dict[str, ValDec]:
    inner = [dec.dec if isinstance(dec, LocalDec) else dec for dec in decs]
    return {dec.name: dec for dec in inner if isinstance(dec, ValDec)}


def _check_name(dec: Dec, first: dict[tuple[str, str], Loc]) -> None:
    """E0205: one name, one definition in a file."""
    match dec:
        case ValDec(name=name, name_loc=loc):
            what = "definition"
        case TypeDec(name=name, loc=loc):
            what = "type"
        case ModuleDec(name=name, loc=loc):
            what = "module"
        case ModuleTypeDec(name=name, loc=loc):
            what = "module type"
        case ImportDec() | LocalDec() | OpenDec():
            return
    if (what, name) in first:
        raise bound_twice(what, name, loc, first[what, name])
    first[what, name] = loc


def _infer_dec(work: Work, dec: Dec, progress: Progress) -> None:
    scope = work.scope
    try:
        match dec:
            case ValDec():
                _infer_function(work, dec, progress)
            case TypeDec():
                scope.bind_type(dec.name, declare_type(work, dec))
                finish(work, progress)
            case ModuleDec(name=name, body=body):
                scope.bind_module(name, _checked_levels(infer_module(work, body, name, progress), _name_of(dec)))
            case ModuleTypeDec(name=name, sig=sig, loc=loc):
                binding = SignatureBinding(sig, scope.copy())
                _checked_levels(seal(work, binding, None, name, loc), loc)
                finish(work, progress)
                scope.bind_signature(name, binding)
            case OpenDec(body=body, loc=loc):
                scope.open(_no_functor(infer_module(work, body, "", progress), loc))
            case ImportDec(path=path, loc=loc):
                scope.open(work.files[work.imports[loc.file, path]])
            case LocalDec():
                pass
    except CompileError as error:
        progress.errors.extend(error.diagnostics)
        _fail(work, dec, scope)
    except TooDeep:
        progress.errors.extend(too_deep("types are", _name_of(dec)).diagnostics)
        _fail(work, dec, scope)
    except DependsOnFailed:
        _fail(work, dec, scope)


def _infer_function(work: Work, dec: ValDec, progress: Progress) -> None:
    """A value. Where a function that uses its own name has no type so, the name is the one outside (W0306): in programs
    from before functions could be recursive operators of modules are defined by those of numbers."""
    scope, said = work.scope, len(work.warnings)
    try:
        infer_value(work, dec, progress)
    except CompileError as error:
        if not binds_itself(work, dec, set()):
            raise
        _begin_anew(work, scope)
        work.of_outer.add(dec.id)
        of_first, work.warnings[said:] = work.warnings[said:], [_of_outer(dec)]
        try:
            infer_value(work, dec, progress)
        except (CompileError, DependsOnFailed, TooDeep):
            work.warnings[said:] = of_first
            raise error from None


def _of_outer(dec: ValDec) -> Diagnostic:
    message = f"`{dec.name}` in its own definition is the one outside of it: as a recursive function it has no type"
    return Diagnostic("W0306", message, Label(dec.name_loc, ""), hint="give one of the two another name")


def _name_of(dec: Dec) -> Loc:
    """Where a declaration names what it declares, or begins."""
    loc = dec.name_loc if isinstance(dec, ValDec) else dec.loc
    return _first_line(loc)


def _begin_anew(work: Work, scope: Scope) -> None:
    """Forget a declaration that has failed on the way."""
    work.scope = scope
    work.pending = Pending()
    work.solver.forget_needs()
    work.solver.function = work.solver.fresh_id()
    work.defining.clear()
    work.owner = 0


def _fail(work: Work, dec: Dec, scope: Scope) -> None:
    """Bind what an erroneous declaration would have bound, so that its uses are silent."""
    _begin_anew(work, scope)
    match dec:
        case ValDec(id=node, name=name, name_loc=loc):
            scheme = Scheme((), (), UNIT)
            binding = Binding(scheme, loc, SizeVar(name, node), frozenset(), is_failed=True, is_prelude=False)
            scope.bind_value(name, binding)
        case TypeDec(name=name, loc=loc):
            scope.bind_type(name, TypeBinding((), UNIT, (), loc, is_failed=True))
        case ModuleDec(name=name):
            scope.bind_module(name, FAILED)
        case ModuleTypeDec(name=name, sig=sig):
            scope.bind_signature(name, SignatureBinding(sig, scope, is_failed=True))
        case _:
            pass


# ---- module expressions ---------------------------------------------------------------------------------------------


def infer_module(work: Work, exp: ModuleExp, name: str, progress: Progress) -> ModuleLike:
    """What a module expression offers; `name` is what its abstract types are called by."""
    with work.inside(_first_line(exp.loc)):
        return _module(work, exp, name, progress)


def _module(work: Work, exp: ModuleExp, name: str, progress: Progress) -> ModuleLike:
    match exp:
        case ModuleName(name=path, loc=loc):
            found = work.scope.find_any_module(path)
            if found is None:
                raise unknown("E0220", "module", ".".join(path), loc, work.scope.module_names())
            return found
        case Structure(decs=decs):
            return _structure(work, decs, progress)
        case ModuleImport(path=path, loc=loc):
            return work.files[work.imports[loc.file, path]]
        case Ascribed(id=node, exp=inner, sig=sig):
            found = infer_module(work, inner, name, progress)
            sealed = seal(work, SignatureBinding(sig, work.scope), found, name, _place_of(inner))
            finish(work, progress)
            progress.typed.shown[node] = _shown(sealed)
            return sealed
        case Functor():
            return _functor(work, exp, progress)
        case ModuleCall():
            return _call(work, exp, name, progress)


def _checked_levels(module: ModuleLike, loc: Loc) -> ModuleLike:
    """A module, unless there are modules in modules in it too deeply; one that is shared counts once at each level."""
    level = [module]
    for _ in range(MOST_LEVELS):
        found = [inner for each in level if isinstance(each, ModuleBinding) for inner in each.modules.values()]
        level = list({id(inner): inner for inner in found}.values())
        if not level:
            return module
    raise too_deep("modules are", loc)


def _place_of(exp: ModuleExp) -> Loc:
    """Where a module that does not fit is underlined."""
    return _first_line(exp.loc)


def _first_line(loc: Loc) -> Loc:
    """A place, or where it begins if it has several lines."""
    return loc if loc.line == loc.end_line else Loc(loc.file, loc.line, loc.col, loc.line, loc.col + 1)


def _structure(work: Work, decs: tuple[Dec, ...], progress: Progress) -> ModuleBinding:
    mark = work.scope.mark()
    outer = progress.is_root, progress.is_inside
    progress.is_root, progress.is_inside = False, True
    hidden = infer_decs(work, decs, progress)
    progress.is_root, progress.is_inside = outer
    offered = work.scope.offered(mark, hidden)
    work.scope.leave(mark)
    return offered


def _no_functor(module: ModuleLike, loc: Loc) -> ModuleBinding:
    if isinstance(module, FunctorBinding):
        raise fault("E0220", "a functor is not a module", loc, "it needs an argument")
    if module.is_failed:
        raise DependsOnFailed
    return module


def _shown(module: ModuleLike) -> Shown | None:
    if isinstance(module, FunctorBinding):
        return None
    modules = {name: _shown(inner) for name, inner in module.modules.items()}
    return Shown(frozenset(module.values), frozenset(module.types), modules)


# ---- functors -------------------------------------------------------------------------------------------------------


def _functor(work: Work, exp: Functor, progress: Progress) -> ModuleLike:
    """`\\(p: mt) -> e`: the body has to make sense for any p that has the signature."""
    takes = SignatureBinding(exp.takes, work.scope.copy())
    functor = FunctorBinding(exp.param, takes, exp.body, None, work.scope.copy())
    if progress.is_copy:
        return functor
    before = len(progress.errors)
    mark = work.scope.mark()
    work.scope.bind_module(exp.param, seal(work, takes, None, exp.param, exp.takes.loc))
    try:
        infer_module(work, exp.body, exp.param, progress)
    finally:
        work.scope.leave(mark)
    return functor if len(progress.errors) == before else FAILED


def _call(work: Work, exp: ModuleCall, name: str, progress: Progress) -> ModuleLike:
    functor = infer_module(work, exp.functor, name, progress)
    if isinstance(functor, ModuleBinding):
        if functor.is_failed:
            raise DependsOnFailed
        text = "only a module with parameters takes arguments"
        raise fault("E0220", "this module has no parameters", exp.loc, text)
    arg = infer_module(work, exp.arg, functor.param, progress)
    result = apply_functor(work, functor, arg, name, _place_of(exp.arg), exp.id, progress)
    applied = progress.typed.applied.get(exp.id)
    if applied is not None:
        progress.typed.applied[exp.id] = replace(applied, result=_shown(result))
    return result


def apply_functor(
    work: Work, functor: FunctorBinding, arg: ModuleLike, name: str, loc: Loc, node: int, progress: Progress
) -> ModuleLike:
    """The result of a functor, and for the application `node` what is to be elaborated."""
    with work.inside(loc):
        return _apply(work, functor, arg, name, loc, node, progress)


def _apply(
    work: Work, functor: FunctorBinding, arg: ModuleLike, name: str, loc: Loc, node: int, progress: Progress
) -> ModuleLike:
    given = view(work, functor.takes, arg, functor.param, loc)
    finish(work, progress)
    scope = functor.scope.copy()
    scope.bind_module(functor.param, given)
    match functor.body:
        case None:
            result = None
        case FunctorBinding():
            result = apply_functor(work, functor.body, given, name, loc, node, progress)
        case body:
            copy = body if isinstance(body, Functor) else copied(work.solver.fresh_id, body)
            result = _inside(work, scope, copy, name, progress)
            progress.typed.applied[node] = Applied(copy, _shown(given), None)
    if functor.gives is None:
        assert result is not None, "a functor is known by its body or by its signature"
        return result
    sealed = seal(work, SignatureBinding(functor.gives, scope), result, name, loc)
    finish(work, progress)
    return sealed


def _inside(work: Work, scope: Scope, body: ModuleExp, name: str, progress: Progress) -> ModuleLike:
    """A functor's body in the scope of its definition; what there is to warn of has been said."""
    outer, said, work.scope = work.scope, len(work.warnings), scope
    was_copy, progress.is_copy = progress.is_copy, True
    try:
        return infer_module(work, body, name, progress)
    finally:
        work.scope, progress.is_copy = outer, was_copy
        del work.warnings[said:]
