"""Type inference: Hindley-Milner with overloaded numbers, and sizes in the types of arrays.

    infer_scope     names                    infer_unify    unknowns, and making types equal
    infer_need      what is asked of them    infer_size     sizes
    infer_texp      type expressions         infer_pattern  patterns
    infer_exp       expressions, by way of   infer_apply    calls and operators
                                             infer_array    arrays and records
                                             infer_bind     definitions, let, lambda, match
                                             infer_loop     loops
    infer_dec       declarations             infer_cover    whether a match is complete
    infer_unique    consumption, by way of   infer_alias    what shares data, and infer_flow
    infer_show      types as text            infer_fault    the codes of messages

What a reader of `Typed` should know: a size that names a value is `SizeVar(name, id)` with the id of the node that
binds it (a `PVar` or a definition); size parameters, names of `let [n]`, loop counters and sizes that merely exist have
ids of their own. The type recorded for a `PVar` therefore says what each of these ids stands for: whoever has the value
of the variable can read the sizes off. A size named "" was not determined, `_` equals every size.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..ir.errors import CompileError, Diagnostic, Label, Loc
from .infer_dec import Progress, infer_decs
from .infer_exp import start_work
from .infer_work import Work
from .syntax import Module
from .types import Typed

FRAMES = 6_000  # enough for the deepest nesting that the parser lets through
MOST_ERRORS = 20


def infer(modules: tuple[Module, ...]) -> tuple[Typed, tuple[Diagnostic, ...]]:
    """The types of a program: its files in order of dependency, the prelude first. Raises `CompileError`."""
    work = start_work(max((module.next_id for module in modules), default=0) + 1)
    progress = Progress(Typed({}, {}, {}, {}), [], is_root=False)
    with _deep_recursion():
        for at, module in enumerate(modules):
            work.is_prelude = at == 0 and len(modules) > 1
            progress.is_root = at == len(modules) - 1
            _infer_file(work, module, progress)
    if progress.errors:
        raise CompileError(*progress.errors[:MOST_ERRORS])
    return progress.typed, tuple(work.warnings)


def _infer_file(work: Work, module: Module, progress: Progress) -> None:
    """One file; its local names are gone afterwards."""
    mark = work.scope.mark()
    try:
        hidden = infer_decs(work, module.decs, progress)
    except RecursionError:
        where = Label(Loc(module.file, 1, 1, 1, 2), "in this file")
        raise CompileError(Diagnostic("E0103", "types are nested too deeply", where)) from None
    offered = work.scope.offered(mark, hidden)
    work.scope.leave(mark)
    work.scope.open(offered)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
