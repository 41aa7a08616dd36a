"""Type inference: Hindley-Milner with overloaded numbers, and sizes in the types of arrays.

    infer_scope     names                    infer_unify    unknowns, and making types equal
    infer_need      what is asked of them    infer_size     sizes
    infer_texp      type expressions         infer_pattern  patterns
    infer_exp       expressions, by way of   infer_apply    calls and operators
                                             infer_array    arrays and records
                                             infer_bind     definitions, let, lambda, match
                                             infer_loop     loops
    infer_dec       declarations, modules    infer_cover    whether a match is complete
    infer_value     top-level values         infer_opaque   abstract types, seen through
    infer_signature modules seen through module types, by way of infer_fits
    infer_unique    consumption, by way of   infer_alias    what shares data, and infer_flow,
                                             infer_called, infer_function
    infer_show      types as text            infer_fault    the codes of messages

What a reader of `Typed` should know: a size that names a value is `SizeVar(name, id)` with the id of the node that
binds it (a `PVar` or a definition); size parameters, names of `let [n]`, loop counters and sizes that merely exist have
ids of their own. The type recorded for a `PVar` therefore says what each of these ids stands for: whoever has the value
of the variable can read the sizes off. A size named "" was not determined, `_` equals every size.
"""

from __future__ import annotations

from dataclasses import fields, replace

from ...ir.depth import allow_depth, too_deep
from ...ir.errors import CompileError, Diagnostic, Loc
from ...ir.records import dataclass
from ..source.declarations import Module
from ..source.imports import imports_of, library_of
from ..source.types import Typed
from ..typing.expressions import start_work
from ..typing.scope import ModuleBinding
from ..typing.state import Work
from ..typing.unknowns import TooDeep
from .abstract_types import reveal_all
from .declarations import apply_functor, infer_decs
from .definitions import Progress

MOST_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Known:
    """The prelude, and what inference knows behind it. The ids of other files start at the module's `next_id`."""

    module: Module
    work: Work
    progress: Progress


@dataclass(frozen=True, slots=True)
class Inferred:
    """What inference found, with errors or without: `typed` has the definitions that are right. `work` shows types, and
    has what every file offers and where names are bound."""

    typed: Typed
    work: Work
    errors: tuple[Diagnostic, ...]


def infer(modules: tuple[Module, ...], known: Known | None = None) -> tuple[Typed, tuple[Diagnostic, ...]]:
    """The types of a program: its files in order of dependency, the prelude first. Raises `CompileError`.

    `known`: where to start, if it speaks of the first of several modules."""
    found = inferred(modules, known)
    if found.errors:
        raise CompileError(*found.errors[:MOST_ERRORS])
    return found.typed, tuple(found.work.warnings)


def inferred(modules: tuple[Module, ...], known: Known | None = None) -> Inferred:
    """As `infer`; errors of definitions are among what it gives."""
    whole = Loc(modules[-1].file, 1, 1, 1, 2)
    first_id = max((module.next_id for module in modules), default=0) + 1
    if known is not None and len(modules) > 1 and modules[0] is known.module:
        work, progress, done = _work_behind(known.work, first_id), _progress_behind(known.progress), 1
        first = known.module.next_id
    else:
        work, progress, done, first = start_work(first_id), _no_progress(), 0, 0
    _infer_rest(work, modules, progress, done)
    try:
        if not progress.errors:
            reveal_all(work.solver, progress.typed, work.hidden, first)
    except TooDeep:
        raise too_deep("types are", whole) from None
    return Inferred(progress.typed, work, tuple(progress.errors))


def infer_prelude(module: Module) -> Known:
    """The prelude by itself, to start from: it is the same for all programs."""
    work, progress = start_work(module.next_id + 1), _no_progress()
    root = replace(module, file="", decs=())  # somebody for whom the prelude is the library
    _infer_rest(work, (module, root), progress, 0)
    return Known(replace(module, next_id=work.solver.next_id), work, progress)


def _no_progress() -> Progress:
    return Progress(Typed({}, {}, {}, {}), [], is_root=False, is_copy=False)


def _work_behind(before: Work, first_id: int) -> Work:
    """A work of its own that knows what `before` does."""
    work = start_work(first_id)
    work.solver = before.solver.copy(first_id)
    work.scope = before.scope.copy()
    for field in fields(work):
        known = getattr(before, field.name)
        if isinstance(known, dict | list | set):
            setattr(work, field.name, known.copy())
    return work


def _progress_behind(before: Progress) -> Progress:
    typed = before.typed
    copies = Typed(*(getattr(typed, field.name).copy() for field in fields(typed)))
    return Progress(copies, list(before.errors), is_root=False, is_copy=False)


def _infer_rest(work: Work, modules: tuple[Module, ...], progress: Progress, done: int) -> None:
    """All files but the first `done`."""
    work.apply_functor = lambda functor, arg, name, loc: apply_functor(
        work, functor, arg, name, loc, work.solver.fresh_id(), progress
    )
    work.imports = imports_of(modules)
    allow_depth()
    _infer_files(work, modules, progress, done)


def _infer_files(work: Work, modules: tuple[Module, ...], progress: Progress, done: int) -> None:
    """Every file sees the library and what it imports."""
    shared, library = work.scope, library_of(modules)
    for at, module in list(enumerate(modules))[done:]:
        work.is_prelude = at == 0 and len(modules) > 1
        progress.is_root = at == len(modules) - 1
        work.scope = shared.copy()
        work.files[module.file] = _infer_file(work, module, progress)
        if module.file in library:
            shared.open(work.files[module.file])
    work.scope = shared


def _infer_file(work: Work, module: Module, progress: Progress) -> ModuleBinding:
    """What one file offers."""
    mark = work.scope.mark()
    hidden = infer_decs(work, module.decs, progress)
    return work.scope.offered(mark, hidden)
