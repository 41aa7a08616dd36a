"""What a function gives for an argument: the type of its result, with the sizes that it chooses."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.errors import CompileError, Loc
from . import syntax as s
from .infer_extent import extent
from .infer_fault import fault
from .infer_make import arrow
from .infer_size import SizeClash
from .infer_unify import Clash
from .infer_work import Work
from .types import Size, TFun, TVar, Ty

CHOSEN = "the size of this is known when the program runs"


def apply_type(
    work: Work,
    fun: Ty,
    arg_type: Ty,
    arg: s.Exp | None,
    at: tuple[int, Loc],
    fail: Callable[[Exception, TFun], CompileError],
) -> Ty | None:
    """The type of applying `fun`, by the expression `at`; None when it is no function; `fail` makes the error of an
    unfitting argument."""
    fun = work.solver.resolve(fun)
    match fun:
        case TVar("", _):
            result = work.solver.unknown()
            try:
                work.solver.unify(fun, arrow(arg_type, result))
            except (Clash, SizeClash) as clash:
                raise fail(clash, arrow(arg_type, result)) from None
            return result
        case TFun():
            try:
                work.solver.unify(fun.dom, arg_type)
            except (Clash, SizeClash) as clash:
                raise fail(clash, fun) from None
            return _result(work, fun, arg, at)
        case _:
            return None


def _result(work: Work, fun: TFun, arg: s.Exp | None, at: tuple[int, Loc]) -> Ty:
    """The type of a function's result, once it has its argument: sizes that name the parameter get the argument's, and
    those that the function chooses, or a function among its arguments, exist from now on."""
    solver, (node, loc) = work.solver, at
    if fun.name is None and not fun.exists and not solver.chosen:
        return fun.cod
    chosen = {k.id for k in fun.exists}
    if chosen or solver.chosen:
        shown, taken = solver.uses(fun.cod)
        _check_taken(work, fun, (taken - shown) & (chosen | solver.chosen), loc)
        chosen |= shown & solver.chosen
    sizes: dict[int, Size] = {tag: work.exists(node, loc, CHOSEN) for tag in sorted(chosen)}
    if fun.name is not None:
        sizes[fun.param_id] = work.exists(node, loc, CHOSEN) if arg is None else extent(work, arg, node)
    return solver.replace_sizes(fun.cod, sizes) if sizes else fun.cod


def _check_taken(work: Work, fun: TFun, hidden: set[int], loc: Loc) -> None:
    """E0226: a size that a function chooses must not be asked of an argument yet to come."""
    if hidden:
        message = "existential size would appear in a parameter of the function that comes back here"
        hint = "bind the argument's result with `let`, and apply the function to it"
        raise fault("E0226", message, loc, f"this is `{work.show(fun.cod)}`", hint=hint)
