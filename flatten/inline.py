"""Inlining: every call becomes the statements of the function called, under fresh names.

    let ys = f x xs   ⟶   stms of f [x, xs / params];  let ys = result of f

Entry functions stay, other functions go once nothing calls them. So do calls of functions with kernels by hand, outside
of SOACs: `flatten/by_hand.py` makes versions of them. Callees are inlined before their callers, so that a
body is copied ready made. Growth is bounded: what would exceed the budget stays a call, unless it is the only one.
Calls of recursive functions stay. Functions that stay are given the constants of the program that they use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..ir.core import Apply, Attr, Body, Copied, FunDef, Prog, Soac, Stm
from ..ir.errors import Loc
from ..ir.lambda_lifting import lifted
from ..ir.nesting import check_body_levels
from ..ir.records import dataclass
from ..ir.rename import Renaming, rewrite_atom, rewrite_stm
from ..ir.traverse import (
    all_exps,
    bodies,
    called_functions,
    callees_first,
    map_bodies,
    may_fail,
    needed_functions,
    recursive_functions,
)
from ..ir.types import Atom, Name, Names, Var

GROWTH, MOST = 200, 40_000
"""How many times larger than it was a program may become, and from how many expressions on 10 times: calls inside of
kernels cost less than compiling for minutes."""

SMALL = 40
"""A body of no more expressions than this is copied whatever it costs."""


@dataclass(slots=True)
class Budget:
    """How many more expressions may be copied; functions that are not."""

    left: int
    recursive: frozenset[Name]

    def allows(self, size: int) -> bool:
        return size <= SMALL or size <= self.left


def inline(prog: Prog) -> Prog:
    """`prog` with its calls replaced by the bodies of the functions called."""
    names = Names(prog.next_name)
    sizes = {fun.name: _size(fun.body) for fun in prog.functions}
    calls = Counter(_calls(prog))
    recursive = recursive_functions(prog.functions)
    size = sum(sizes.values()) + len(prog.consts)
    budget = Budget(min(GROWTH * size, max(10 * size, MOST)), recursive)
    ready: dict[Name, FunDef] = {}
    for fun in callees_first(prog.functions, recursive):
        body = _inline_body(fun.body, ready, calls, budget, names)
        check_body_levels(body)
        ready[fun.name] = replace(fun, body=body)
    consts = _inline_body(Body(prog.consts, ()), ready, calls, budget, names).stms
    functions = tuple(ready[fun.name] for fun in prog.functions)
    inlined = Prog(consts, _still_needed(consts, functions), names.next)
    return lifted(inlined, lambda fun: fun.entry is not None)


def _size(body: Body) -> int:
    return sum(1 for _ in all_exps(body))


def _calls(prog: Prog) -> Iterator[Name]:
    for body in prog.bodies:
        yield from (exp.function for exp in all_exps(body) if isinstance(exp, Apply))


def _stays(function: Name, ready: dict[Name, FunDef], budget: Budget, inside: bool) -> bool:
    """Whether a call is left: of a recursive function, or of one with kernels by hand outside of SOACs."""
    return function in budget.recursive or (bool(ready[function].kernels) and not inside)


def _inline_body(
    body: Body, ready: dict[Name, FunDef], calls: Counter[Name], budget: Budget, names: Names, inside: bool = False
) -> Body:
    """`inside` of a SOAC, where no kernel by hand can be launched."""
    stms: list[Stm] = []
    for stm in body.stms:
        within = inside or isinstance(stm.exp, Soac)
        if isinstance(stm.exp, Apply) and _stays(stm.exp.function, ready, budget, inside):
            stms.append(stm)
        elif isinstance(stm.exp, Apply):
            stms.extend(_inline_call(stm, stm.exp, ready, calls, budget, names))
        elif bodies(stm.exp):
            again = partial(_inline_body, ready=ready, calls=calls, budget=budget, names=names, inside=within)
            exp = map_bodies(again, stm.exp)
            stms.append(stm if exp is stm.exp else replace(stm, exp=exp))
        else:
            stms.append(stm)
    return Body(tuple(stms), body.result)


def _inline_call(
    stm: Stm, call: Apply, ready: dict[Name, FunDef], calls: Counter[Name], budget: Budget, names: Names
) -> list[Stm]:
    """The statements of the function called, unless the program would grow too large."""
    fun = ready[call.function]
    size = _size(fun.body)
    if calls[fun.name] > 1:
        if not budget.allows(size):
            return [stm]
        budget.left -= size
    return called(fun, stm, call.args, names)


def called(fun: FunDef, stm: Stm, args: tuple[Atom, ...], names: Names) -> list[Stm]:
    """The statements of the function called, then its results as copies that keep the call's certificates."""
    renaming = _called_with(fun, stm, args, names)
    inlined = (_called_at(rewrite_stm(inner, renaming), stm.loc.as_call) for inner in fun.body.stms)
    stms = [_with_attrs(inner, stm.attrs) for inner in inlined]
    for param, atom in zip(stm.pat, fun.body.result, strict=True):
        stms.append(Stm((param,), Copied(rewrite_atom(atom, renaming)), stm.certs, (), stm.loc))
    return stms


def _called_at(stm: Stm, calls: tuple[Loc, ...]) -> Stm:
    """A statement of the function called, with the calls that lead to where it may fail."""
    exp = map_bodies(lambda inner: replace(inner, stms=tuple([_called_at(s, calls) for s in inner.stms])), stm.exp)
    if may_fail(exp):
        return replace(stm, loc=stm.loc.called(calls))
    return stm if exp is stm.exp else replace(stm, exp=exp)


def _called_with(fun: FunDef, stm: Stm, args: tuple[Atom, ...], names: Names) -> Renaming:
    """Parameters become the arguments, every name bound inside a fresh one; what is a result is called as the caller
    calls it."""
    place: dict[Name, Atom] = dict(zip((p.name for p in fun.params), args, strict=True))
    called = {atom.name: param.name for atom, param in zip(fun.body.result, stm.pat) if isinstance(atom, Var)}

    def bind(name: Name) -> Name:
        fresh = names.again(called.get(name, name))
        place[name] = Var(fresh)
        return fresh

    return Renaming(lambda name: place.get(name) or Var(name), bind, lambda function: function)


def _with_attrs(stm: Stm, attrs: tuple[Attr, ...]) -> Stm:
    """Attributes of a call are meant for the parallelism inside."""
    if not attrs or not bodies(stm.exp):
        return stm
    return replace(stm, attrs=tuple(dict.fromkeys((*attrs, *stm.attrs))))


def _still_needed(consts: tuple[Stm, ...], functions: tuple[FunDef, ...]) -> tuple[FunDef, ...]:
    """Entries, and what they still call."""
    entries = [fun.name for fun in functions if fun.entry is not None]
    needed = needed_functions(functions, (*entries, *called_functions(Body(consts, ()))))
    return tuple(fun for fun in functions if fun.name in needed)
