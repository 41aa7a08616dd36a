"""Functions that take as parameters what is free in them, and hand it on in calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .core import Apply, Body, Exp, FunDef, Param, Prog, Stm
from .rename import substitute_body, substitute_type
from .traverse import bound_in_body, called_functions, free_in_body, map_bodies, names_in_types, types_in
from .types import Atom, Name, Names, Type, Var

Free = Mapping[Name, tuple[Name, ...]]


def lifted(prog: Prog, sees_constants: Callable[[FunDef], bool]) -> Prog:
    """`prog` whose functions have nothing free in them but constants of the program, where they may see these."""
    types = types_in(prog)
    free = _free(prog, sees_constants, types)
    if not any(free.values()):
        return prog
    names = Names(prog.next_name)
    functions = tuple([_taking(fun, free, types, names) for fun in prog.functions])
    return Prog(_passing(Body(prog.consts, ()), free).stms, functions, names.next)


def _free(prog: Prog, sees_constants: Callable[[FunDef], bool], types: Mapping[Name, Type]) -> Free:
    """By function the names that it is to be given, what its callees need among them."""
    constants = {param.name for stm in prog.consts for param in stm.pat}
    own = {fun.name: {p.name for p in fun.params} | set(bound_in_body(fun.body)) for fun in prog.functions}
    for fun in prog.functions:
        own[fun.name] |= constants if sees_constants(fun) else set()
    free = {
        fun.name: dict.fromkeys(n for n in free_in_body(fun.body) if n not in own[fun.name]) for fun in prog.functions
    }
    changed = True
    while changed:
        changed = False
        for fun in prog.functions:
            found = dict(free[fun.name])
            for callee in called_functions(fun.body):
                found |= free[callee]
            found |= dict.fromkeys(names_in_types([types[name] for name in found]))
            found = {name: None for name in found if name not in own[fun.name]}
            changed = changed or len(found) != len(free[fun.name])
            free[fun.name] = found
    return {name: tuple(found) for name, found in free.items()}


def _taking(fun: FunDef, free: Free, types: Mapping[Name, Type], names: Names) -> FunDef:
    body = _passing(fun.body, free)
    fresh = {name: names.again(name) for name in free[fun.name]}
    mapping: dict[Name, Atom] = {old: Var(new) for old, new in fresh.items()}
    extra = tuple([Param(new, substitute_type(types[old], mapping)) for old, new in fresh.items()])
    return replace(fun, params=(*fun.params, *extra), body=substitute_body(body, mapping))


def _passing(body: Body, free: Free) -> Body:
    """`body` with the further arguments of calls."""

    def exp_of(exp: Exp) -> Exp:
        if isinstance(exp, Apply):
            return Apply(exp.function, (*exp.args, *map(Var, free[exp.function]))) if free[exp.function] else exp
        return map_bodies(lambda inner: _passing(inner, free), exp)

    return replace(body, stms=tuple([_with_exp(stm, exp_of(stm.exp)) for stm in body.stms]))


def _with_exp(stm: Stm, exp: Exp) -> Stm:
    return stm if exp is stm.exp else replace(stm, exp=exp)
