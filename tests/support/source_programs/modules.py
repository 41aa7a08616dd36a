"""What declarations mean: definitions, types, modules and functors, without their signatures, which only hide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from soac.frontend.source import atoms as a
from soac.frontend.source import declarations as d
from tests.support.source_programs.evaluate import evaluate, function
from tests.support.source_programs.patterns import of_type
from tests.support.source_programs.prelude import prelude
from tests.support.source_programs.state import Constant, Env, State, Wrong
from tests.support.source_programs.values import Undetermined, Value, apply

Places = Mapping[tuple[int, int], str]


def run_program(module: d.Module, entry: str, args: Sequence[Value], literals: Places) -> tuple[Value, State]:
    """The result of an entry point for arguments in the form of values, and what was counted."""
    st = State(literals, evaluate)
    env = Env(prelude(st))
    with np.errstate(all="ignore"):
        declare(st, module.decs, env)
        for value in env.values.values():
            if isinstance(value, Constant):
                _computed_once(value)
        found = env.values[entry]
        return (apply(found, *args) if args else found()), st


def _computed_once(constant: Constant) -> None:
    """A constant that fails makes all calls fail, those too that do not need it. Raises Failure."""
    with suppress(Wrong, Undetermined):  # it has sizes or types of who uses it
        constant()


def declare(st: State, decs: tuple[d.Dec, ...], env: Env) -> None:
    """The names of declarations, in an environment of their own."""
    for dec in decs:
        match dec:
            case d.ValDec():
                _define(st, dec, env)
            case d.TypeDec(name, params, right):
                env.types[name] = (params, right, _as_now(env))
            case d.LocalDec(inner):
                declare(st, (inner,), env)
            case d.ModuleDec(name, body):
                env.modules[name] = module_of(st, body, env)
            case d.OpenDec(body):
                opened = module_of(st, body, env)
                env.values.update(opened.values)
                env.types.update(opened.types)
                env.modules.update(opened.modules)
            case d.ModuleTypeDec():
                pass
            case _:
                raise Wrong(f"no meaning of {type(dec).__name__}")


def _define(st: State, dec: d.ValDec, env: Env) -> None:
    if not (dec.name[0].isalpha() or dec.name[0] == "_"):
        st.operators.add(dec.name)
    scope = _as_now(env)
    sizes = tuple([p.name for p in dec.tparams if p.kind is a.TypeParamKind.SIZE])
    if dec.params:
        env.values[dec.name] = function(st, dec.params, dec.body, scope, sizes, dec.ret)
    elif dec.ret is not None:
        env.values[dec.name] = Constant(lambda: of_type(st, dec.body, dec.ret, scope))
    else:
        env.values[dec.name] = Constant(lambda: evaluate(st, dec.body, scope))


def _as_now(env: Env) -> Env:
    """The names so far: a definition sees no later one of the same name."""
    now = Env(env.up)
    now.values.update(env.values)
    now.types.update(env.types)
    now.modules.update(env.modules)
    return now


def module_of(st: State, body: d.ModuleExp, env: Env) -> Any:
    """A module, or a functor as a function of modules."""
    match body:
        case d.ModuleName(name):
            found: Any = env.module(name[0])
            for part in name[1:]:
                found = found.module(part)
            return found
        case d.Structure(decs):
            inner = Env(env)
            declare(st, decs, inner)
            return inner
        case d.Ascribed(_, exp, _):
            return module_of(st, exp, env)
        case d.Functor(param, _, inside):
            return _functor(st, param, inside, _as_now(env))
        case d.ModuleCall(_, functor, arg):
            return module_of(st, functor, env)(module_of(st, arg, env))
        case _:
            raise Wrong(f"no meaning of {type(body).__name__}")


def _functor(st: State, param: str, body: d.ModuleExp, env: Env) -> Callable[[Env], Any]:
    def call(arg: Env) -> Any:
        inner = Env(env)
        inner.modules[param] = arg
        return module_of(st, body, inner)

    return call
