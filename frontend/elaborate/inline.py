"""Elaborating a function where it is called: its parameters are bound to the arguments as they are."""

from __future__ import annotations

from ...ir.depth import too_deep
from ..source import syntax as s
from .shapes import bind_pattern, check_type
from .state import Stage
from .values import Closure, Env, Open, TypeArgument, Value, has_too_many_levels


def inline(st: Stage, function: Closure, args: tuple[Value, ...], hint: str) -> Value:
    """The value of the body with the parameters bound to `args`, at the end of the current body."""
    fun = function.fun
    env = instantiated(st, function)
    for pat, arg in zip(fun.params, args, strict=True):
        if has_too_many_levels(arg):
            raise too_deep("values are", st.at(st.here))
        bind_pattern(st, pat, arg, env)
    result = st.evaluate(fun.body, env, hint)
    if fun.ret is not None:
        result = check_type(st, result, fun.ret, env, "the result", fun.ret.loc)
    return result


def instantiated(st: Stage, function: Closure) -> Env:
    """The frame of a call: its size parameters, written or not, still open, its type parameters as the use says."""
    env = function.env.child()
    if isinstance(function.fun, s.Lambda):
        return env
    use = function.use
    if use is not None and use.instance.types:
        env = env.with_types({name: TypeArgument(type, use.env) for name, type in use.instance.types.items()})
    for size in st.typed.schemes[function.fun.id].sizes:
        env.values[size.name] = Open(size.name, env, use, st.builder)
    return env
