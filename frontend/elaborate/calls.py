"""Application. A known function is elaborated where it is called, with its arguments as they are: this is what makes
polymorphism, higher-order functions and tuples vanish. Some calls become calls of core functions instead
(`specialise.py`).
"""

from __future__ import annotations

from ...ir.errors import MAX_CALLS, IRError, Loc
from ..source import syntax as s
from ..source.declarations import ValDec
from .inline import inline
from .recursion import call_recursive, is_recursive
from .specialise import call_special, specialised
from .state import Stage
from .values import (
    Closure,
    Function,
    Native,
    Partial,
    Value,
    arity_of,
)


def apply(st: Stage, function: Value, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`function args`, any number of them."""
    while args:
        if not isinstance(function, Closure | Native | Partial):
            raise IRError(f"elaborate: a {type(function).__name__} is applied at {loc}")
        missing = arity_of(function)
        if len(args) < missing:
            return _partial(function, args)
        now, args = args[:missing], args[missing:]
        function = _saturated(st, function, now, loc, "" if args else hint)
    return function


def _partial(function: Function, args: tuple[Value, ...]) -> Partial:
    if isinstance(function, Partial):
        return Partial(function.function, function.args + args)
    return Partial(function, args)


def _saturated(st: Stage, function: Function, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    match function:
        case Partial(inner, earlier):
            return _saturated(st, inner, earlier + args, loc, hint)
        case Native(_, _, run):
            return run(st, args, loc, hint)
        case Closure():
            return _call(st, function, args, loc, hint)


def _call(st: Stage, function: Closure, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    if is_recursive(st, function):
        return call_recursive(st, function, args, loc, hint)
    special = specialised(st, function, args)
    if special is not None:
        return call_special(st, special, args, loc, hint)
    site, callers, place = st.site, st.callers, st.at(loc)
    in_library = function.fun.loc.file == st.prelude_file
    st.site = place if in_library else None
    if not in_library and isinstance(function.fun, ValDec | s.LetFun) and place != function.fun.loc:
        st.callers = (place, *callers)[:MAX_CALLS]  # an entry point is elaborated at its definition
    try:
        return inline(st, function, args, hint)
    finally:
        st.site, st.callers = site, callers
