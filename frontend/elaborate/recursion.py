"""Recursive functions: core functions that call themselves, or each other.

A function of the program that is used inside of its own definition becomes one core function for each form of its
types and each choice of the functions that it takes. The form has a variable for every size that is not a constant,
so that it fits whatever the function calls itself with. What its functions capture is free in the core function, until
`lifted` makes it parameters: these functions are the same in all calls, and so is what they capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.core import FunDef
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.types import I64, Atom, Var
from ..source.declarations import ValDec
from .inline import inline, instantiated
from .loops import component_names
from .shapes import coerce_sizes
from .specialise import Special, call_with, consumed_names, parameters, variable_sizes, without_sizes
from .state import Builder, Stage, body_of, with_names
from .type_forms import TypeForms, unrolled
from .values import (
    Arr,
    Closure,
    Component,
    Function,
    Rec,
    Sum,
    Value,
    atoms_of,
    sizes_of,
    with_sizes,
)

Values = tuple[Value, ...]

MOST_FORMS = 64
"""How many forms of one function may be in the making at once: more are without end."""


def is_recursive(st: Stage, function: Closure) -> bool:
    return isinstance(function.fun, ValDec) and function.fun.id in st.recursive


def call_recursive(st: Stage, function: Closure, args: Values, loc: Loc, hint: str) -> Value:
    """A call of the core function, made now if it is the first of its form."""
    fun = function.fun
    assert isinstance(fun, ValDec)
    arrows, result = unrolled(st.typed.schemes[fun.id].type, len(fun.params))
    shapes, env = TypeForms(), instantiated(st, function)
    forms = tuple([shapes.parameter(arrow, env) for arrow in arrows])
    given = shapes.value(result, env)
    functions = tuple([f for arg in args for f in _functions(arg)])
    which = tuple(map(id, functions))
    key = ("recursive", fun.id, forms, given, which)
    if key not in st.memo:
        st.memo["functions", which] = functions  # while they live, no other function has their ids
        _check_forms(st, fun, loc)
        _make(st, function, forms, given, args, key)
    found = st.memo[key]
    assert isinstance(found, Special)
    return call_with(st, found, _given(st, forms, args, loc), loc, hint)


def _given(st: Stage, forms: Values, args: Values, loc: Loc) -> tuple[Atom, ...]:
    """What the sizes of the forms stand for, then the other data of the arguments, whose sizes agree where those of the
    forms are the same."""
    known: dict[Atom, Atom] = {}
    fitted: list[Value] = []
    for form, arg in zip(forms, args, strict=True):
        data = _without_functions(arg)
        if isinstance(form, Component) and isinstance(form.atom, Var) and isinstance(data, Component):
            known[form.atom] = data.atom
        wanted: list[Atom | None] = []
        for asked, size in zip(sizes_of(form), sizes_of(data), strict=True):
            wanted.append(known.setdefault(asked, size) if isinstance(asked, Var) else asked)
        fitted.append(coerce_sizes(st, data, wanted, "an argument", loc))
    sizes = variable_sizes(forms)
    pairs = [
        pair
        for form, arg in zip(forms, fitted, strict=True)
        for pair in zip(atoms_of(form), atoms_of(arg), strict=True)
    ]
    return (*[known[size] for size in sizes], *[atom for asked, atom in pairs if asked not in sizes])


def _make(st: Stage, function: Closure, forms: Values, given: Value, args: Values, key: tuple[object, ...]) -> None:
    """The core function for arguments in these `forms`, whose result is in the form `given`. It is known while its body
    is elaborated."""
    fun = function.fun
    assert isinstance(fun, ValDec)
    with st.apart(Builder(st.globals)) as builder:
        bases = [b for pat, form in zip(fun.params, forms, strict=True) for b in component_names(pat, form)]
        sizes, params, inner = parameters(st, forms, bases)
        known: dict[Atom, Atom] = {}
        for form, arg in zip(forms, inner, strict=True):
            known |= zip(sizes_of(form), sizes_of(arg), strict=True)
            known |= {old: new for old, new in zip(atoms_of(form), atoms_of(arg), strict=True) if isinstance(old, Var)}
        fresh = {s: st.param("n", I64) for s in sizes_of(given) if isinstance(s, Var) and s not in known}
        outside = with_sizes(given, [Var(fresh[s].name) if s in fresh else known.get(s, s) for s in sizes_of(given)])
        name = st.fresh(fun.name)
        names = tuple([param.name for param in (*sizes, *params)])
        st.memo[key] = Special(name, names, tuple([param.name for param in fresh.values()]), outside)
        whole = tuple(map(_with_functions, inner, args))
        result = inline(st, without_sizes(function), whole, "")
        result, chosen = _as_declared(st, result, outside, {Var(p.name) for p in fresh.values()}, fun.loc)
    results = (*fresh.values(), *with_names(st, "result", outside)[0])
    body = body_of(builder, [*chosen, *atoms_of(result)])
    consumed = consumed_names(st, fun.params, whole, function.env)
    st.functions.append(FunDef(name, (*sizes, *params), consumed, results, body, None, fun.attrs, fun.loc))


def _check_forms(st: Stage, fun: ValDec, loc: Loc) -> None:
    """E0206: each form calls for another one."""
    count = ("forms", fun.id)
    made = st.memo.get(count, 0)
    assert isinstance(made, int)
    if made >= MOST_FORMS:
        message = f"`{fun.name}` calls itself with other functions or types without end"
        raise CompileError(Diagnostic("E0206", message, Label(st.at(loc), "called here")))
    st.memo[count] = made + 1


def _as_declared(st: Stage, result: Value, outside: Value, fresh: set[Var], loc: Loc) -> tuple[Value, list[Atom]]:
    """The result with the sizes that its type has outside, and what the function chooses for the `fresh` ones."""
    chosen: dict[Atom, Atom] = {}
    wanted: list[Atom | None] = []
    for asked, size in zip(sizes_of(outside), sizes_of(result), strict=True):
        wanted.append(chosen.setdefault(asked, size) if asked in fresh else asked)
    return coerce_sizes(st, result, wanted, "the result", loc), list(chosen.values())


# ---- functions among arguments ---------------------------------------------------------------------------------------


def _functions(value: Value) -> Iterator[Function]:
    match value:
        case Rec(fields):
            for _, field in fields:
                yield from _functions(field)
        case Component() | Arr() | Sum():
            pass
        case _ if isinstance(value, Function):
            yield value
        case _:
            pass


def _without_functions(value: Value) -> Value:
    """The value with nothing in the place of functions."""
    match value:
        case Rec(fields):
            return Rec(tuple([(name, _without_functions(field)) for name, field in fields]))
        case Component() | Arr() | Sum():
            return value
        case _:
            return Rec(())


def _with_functions(value: Value, given: Value) -> Value:
    """The value with the functions of a value of the same form."""
    match value, given:
        case Rec(fields), Rec(others):
            pairs = zip(fields, others, strict=True)
            return Rec(tuple([(name, _with_functions(field, other)) for (name, field), (_, other) in pairs]))
        case _, Component() | Arr() | Sum():
            return value
        case _:
            return given
