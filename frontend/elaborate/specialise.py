"""Functions of the core. A top-level function of the program that takes only data, is mentioned more than once and is
not small becomes one core function for each form of its arguments; calls of it become `Apply`.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.core import Apply, Body, FunDef, Param
from ...ir.errors import IRError, Loc
from ...ir.records import dataclass
from ...ir.traverse import all_exps
from ...ir.types import I64, Atom, Name, Prim, Var
from ..source import syntax as s
from ..source.atoms import TEName
from ..source.declarations import ValDec
from ..source.types import Instance, TPrim, TRecord, Ty
from .assertions import note_sizes
from .by_hand import kernel_of
from .inline import inline
from .loops import component_names
from .shapes import UnknownSize, expand, resolve_type
from .state import Builder, Stage, body_of, emit_pattern, with_names
from .values import (
    Arr,
    Closure,
    Component,
    Env,
    Rec,
    Sum,
    Use,
    Value,
    atoms_of,
    components,
    has_accumulator,
    is_data,
    rebuild,
    sizes_of,
    with_atoms,
    with_sizes,
)

SMALL = 20  # statements: below, a function is elaborated at each call
LARGE = 200  # above, even one whose result has sizes of its own becomes a core function


@dataclass(frozen=True, slots=True)
class Special:
    """A definition made a core function for one form of arguments.

    `params`: its parameters, sizes first; `fresh`: the sizes it chooses, its first results; `result`: the value it
    gives, in terms of both."""

    name: Name
    params: tuple[Name, ...]
    fresh: tuple[Name, ...]
    result: Value


def specialised(st: Stage, function: Closure, args: tuple[Value, ...]) -> Special | None:
    """The core function for this call, made now if it is the first of its form; None if it is to be inlined."""
    types = closed_types(function.use)
    if types is None or not _may_be_special(st, function, args):
        return None
    assert isinstance(function.fun, ValDec)
    key = ("function", function.fun.id, types, signature(args))
    if key not in st.memo:
        st.memo[key] = None  # a call of itself, if there were one, would be inlined
        st.memo[key] = _specialise(st, function, args)
    found = st.memo[key]
    assert found is None or isinstance(found, Special)
    return found


def _may_be_special(st: Stage, function: Closure, args: tuple[Value, ...]) -> bool:
    fun = function.fun
    if not isinstance(fun, ValDec) or fun.loc.file == st.prelude_file:
        return False
    if any(attr.name == "inline" for attr in fun.attrs):
        return False
    is_shared = st.counts.get(fun.name, 0) > 1 or fun.id in st.by_hand
    return is_shared and all(is_data(arg) and not has_accumulator(arg) for arg in args)


def closed_types(use: Use | None) -> tuple[object, ...] | None:
    """What the type parameters stand for, if that has no sizes: those would be of the place of use."""
    if use is None:
        return ()
    found = []
    for name, type in sorted(use.instance.types.items()):
        closed = _closed_type(type, use.env)
        if closed is None:
            return None
        found.append((name, closed))
    return tuple(found)


def _closed_type(type: Ty, env: Env) -> object:
    type, env = resolve_type(type, env)
    match type:
        case TPrim(prim):
            return prim.value
        case TRecord(fields):
            parts = [(name, _closed_type(field, env)) for name, field in fields]
            return None if any(part is None for _, part in parts) else tuple(parts)
        case _:
            return None


def variable_sizes(args: tuple[Value, ...]) -> list[Var]:
    """The sizes of the arguments that are not constants, each once."""
    return list(dict.fromkeys(size for arg in args for size in sizes_of(arg) if isinstance(size, Var)))


def signature(args: tuple[Value, ...]) -> tuple[object, ...]:
    """The form of first-order arguments: their trees, and which of their sizes and i64 scalars are the same."""
    sizes: dict[Atom, int] = {size: i for i, size in enumerate(variable_sizes(args))}
    return tuple([_form(arg, sizes, 0) for arg in args])


def _form(value: Value, sizes: dict[Atom, int], rank: int) -> object:
    match value:
        case Component(atom, prim):
            return (prim.value, sizes.get(atom, -1) if rank == 0 and prim is Prim.I64 else -1)
        case Arr(size, row):
            return ("[]", sizes.get(size, size), _form(row, sizes, rank + 1))
        case Rec(fields):
            return ("{}", tuple([(name, _form(field, sizes, rank)) for name, field in fields]))
        case Sum(_, cases):
            return ("|", tuple([(name, tuple([_form(a, sizes, rank) for a in args])) for name, args in cases]))
        case _:
            raise IRError("elaborate: a function among first-order arguments")


def _specialise(st: Stage, function: Closure, args: tuple[Value, ...]) -> Special | None:
    fun = function.fun
    assert isinstance(fun, ValDec)
    with st.apart(Builder(st.globals)) as builder:
        bases = [base for pat, arg in zip(fun.params, args, strict=True) for base in component_names(pat, arg)]
        sizes, params, inner_args = parameters(st, args, bases)
        try:
            result = inline(st, without_sizes(function), inner_args, "")
        except UnknownSize:  # it depends on the place of use after all
            return None
    count = sum(1 for _ in all_exps(Body(tuple(builder.stms), ())))
    own = own_sizes(st, result, builder, [*sizes, *params]) if is_data(result) else None
    keep = fun.id in st.by_hand or any(attr.name == "noinline" for attr in fun.attrs)
    if own is None or not atoms_of(result) or (not keep and count < (LARGE if own else SMALL)):
        return None
    consumed = consumed_names(st, fun.params, inner_args, function.env)
    definition, special = finish_function(st, (*sizes, *params), builder, result, own, fun)
    kernels = tuple(_kernel(st, dec, env, args, special) for dec, env in st.by_hand.get(fun.id, ()))
    st.functions.append(replace(definition, consumes=consumed, kernels=kernels))
    return special


def _kernel(st: Stage, dec: ValDec, env: Env, args: tuple[Value, ...], special: Special) -> FunDef:
    """A version by hand of the function that was made for such arguments."""
    with st.apart(Builder(st.globals)):
        bases = [base for pat, arg in zip(dec.params, args, strict=False) for base in component_names(pat, arg)]
        sizes, params, inner_args = parameters(st, args, bases)
        both = (*sizes, *params)
        mine: dict[Atom, Atom] = {Var(old): Var(new.name) for old, new in zip(special.params, both, strict=True)}
        return kernel_of(st, dec, env, both, inner_args, special.result, mine)


def without_sizes(function: Closure) -> Closure:
    """`function` for any place of use of its type."""
    use = function.use
    return (
        function if use is None else Closure(function.fun, function.env, Use(Instance(use.instance.types, {}), use.env))
    )


def parameters(
    st: Stage, args: tuple[Value, ...], bases: list[str]
) -> tuple[list[Param], list[Param], tuple[Value, ...]]:
    """Fresh parameters for arguments like `args`: sizes first, then the components; and the arguments made of them.

    A scalar that is one of the sizes needs no parameter of its own."""
    sizes: dict[Atom, Param] = {}
    for size in variable_sizes(args):
        sizes[size] = st.param(size.name.base, I64)
    note_sizes(st, [Var(param.name) for param in sizes.values()])
    params: list[Param] = []
    values: list[Value] = []
    names = iter(bases)
    for arg in args:
        resized = with_sizes(arg, [Var(sizes[size].name) if size in sizes else size for size in sizes_of(arg)])
        atoms: list[Atom] = []
        for atom, type in components(resized):
            base = next(names)
            if type == I64 and atom in sizes:
                atoms.append(Var(sizes[atom].name))
                continue
            params.append(st.param(base or "x", type))
            atoms.append(Var(params[-1].name))
        values.append(with_atoms(resized, atoms))
    return list(sizes.values()), params, tuple(values)


def own_sizes(st: Stage, result: Value, builder: Builder, params: list[Param]) -> list[Atom]:
    """The sizes of a result that are not parameters or constants of the program."""
    known = {Var(param.name) for param in params}
    return list(dict.fromkeys(a for a in sizes_of(result) if st.is_local(a, builder) and a not in known))


def finish_function(
    st: Stage, params: tuple[Param, ...], builder: Builder, result: Value, own: list[Atom], fun: ValDec
) -> tuple[FunDef, Special]:
    """The core function whose body is `builder` with `result`; its own sizes are its first results."""
    name = st.fresh(fun.name)
    fresh = {atom: st.param("n", I64) for atom in own}
    outside = with_sizes(result, [Var(fresh[a].name) if a in fresh else a for a in sizes_of(result)])
    results, _ = with_names(st, "result", outside)
    body = body_of(builder, own + atoms_of(result))
    definition = FunDef(name, params, (), (*fresh.values(), *results), body, None, fun.attrs, fun.loc)
    names = tuple([param.name for param in params])
    return definition, Special(name, names, tuple([param.name for param in fresh.values()]), outside)


def consumed_names(st: Stage, pats: tuple[s.Pat, ...], args: tuple[Value, ...], env: Env) -> tuple[Name, ...]:
    """The array parameters that are written as unique, `*t`."""
    found: list[Name] = []
    for pat, arg in zip(pats, args, strict=True):
        if isinstance(pat, s.PAscript):
            found += _unique_names(st, pat.type, arg, env)
    return tuple(found)


def _unique_names(st: Stage, type: s.TypeExp, value: Value, env: Env) -> list[Name]:
    match type, value:
        case s.TEUnique(), _:
            return array_names(value)
        case s.TETuple(fields=types) | s.TERecord(fields=types), Rec(fields) if len(types) == len(fields):
            written = dict(types)
            pairs = [(written[name], field) for name, field in fields]
        case TEName(), Rec():
            inner, home = expand(st, type, env)
            return [] if inner is type else _unique_names(st, inner, value, home)
        case _:
            return []
    return [name for elem, field in pairs for name in _unique_names(st, elem, field, env)]


def array_names(value: Value) -> list[Name]:
    return [atom.name for atom, type in components(value) if type.shape and isinstance(atom, Var)]


def call_special(st: Stage, special: Special, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """A call with the sizes of the arguments first."""
    sizes = variable_sizes(args)
    given = (*sizes, *[atom for arg in args for atom, type in components(arg) if not (type == I64 and atom in sizes)])
    return call_with(st, special, given, loc, hint)


def call_with(st: Stage, special: Special, given: tuple[Atom, ...], loc: Loc, hint: str) -> Value:
    """`Apply` to arguments for the parameters; its results in the form of the function's value."""
    known: dict[Atom, Atom] = dict(zip([Var(name) for name in special.params], given, strict=True))
    chosen = [st.param("n", I64) for _ in special.fresh]
    known |= {Var(old): Var(new.name) for old, new in zip(special.fresh, chosen, strict=True)}
    result = rebuild(special.result, lambda part: part.atom, lambda size: known.get(size, size))
    values, result = with_names(st, hint or special.name.base, result)
    emit_pattern(st, (*chosen, *values), Apply(special.name, given), loc)
    note_sizes(st, [Var(param.name) for param in chosen])
    return result
