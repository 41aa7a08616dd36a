"""The differential operators: `jvp2`, `vjp2` and `with_vjp`; the prelude defines the others by these.

A function is known here, so its derivative is made at once, innermost first: what is differentiated contains no
derivatives any more. A function with a derivative of its own becomes two core functions, which reverse mode finds in
`Stage.custom`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Apply, FunDef, Lambda, Param, Stm
from ...ir.errors import Loc
from ...ir.traverse import free_in_body, free_in_lambda, needed_functions, recursive_functions
from ...ir.types import I64, Atom, Name, Type, Var
from ..building.code import Code, is_zero
from ..derivatives.forward import jvp
from ..derivatives.normal import Functions
from ..derivatives.ownership import with_copies
from ..derivatives.reverse import vjp
from .assertions import note_sizes
from .shapes import coerce_like, coerce_sizes
from .state import Stage, adopt, body_of, emit_pattern, union, with_names
from .values import Value, atoms_of, components, sizes_of, tuple_of, with_atoms, with_sizes

Args = tuple[Value, ...]


def jvp_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`jvp2 f x x'`: the result of `f x`, and its tangent where x has tangent x'."""
    f, x, tangent = args
    tangent = coerce_like(st, tangent, x, "the tangent", loc)
    lam, result, own = _function(st, f, (x,), loc)
    code = _code(st, loc)
    seeds = [None if is_zero(a) else a for a in atoms_of(tangent)]
    results, tangents = jvp(code, _functions(st), lam, atoms_of(x), seeds)
    primal = _primal(result, own, results)
    found = [code.zeros(type) if t is None else t for (_, type), t in zip(components(primal), tangents, strict=False)]
    _emit(st, code, [*results, *found])
    note_sizes(st, list(results[len(found) :]))
    return tuple_of(primal, with_atoms(primal, found))


def vjp_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`vjp2 f x y'`: the result of `f x`, and the adjoint of x where the result has adjoint y'."""
    f, x, adjoint = args
    lam, result, own = _function(st, f, (x,), loc)
    wanted = [None if size in own else size for size in sizes_of(result)]
    adjoint = coerce_sizes(st, adjoint, wanted, "the adjoint", loc)
    code = _code(st, loc)
    seeds = [None if is_zero(a) else a for a in atoms_of(adjoint)]
    results, adjoints = vjp(code, _functions(st), lam, atoms_of(x), [*seeds, *[None] * len(own)])
    found = [code.zeros(type) if a is None else a for (_, type), a in zip(components(x), adjoints, strict=True)]
    primal = _primal(result, own, results)
    _emit(st, code, [*results, *found])
    note_sizes(st, list(results[len(seeds) :]))
    return tuple_of(primal, with_atoms(x, found))


def _code(st: Stage, loc: Loc) -> Code:
    return Code(st.names, st.types, st.at(loc))


def _functions(st: Stage) -> Functions:
    defs = {fun.name: fun for fun in st.functions}
    recursive = recursive_functions(tuple(st.functions))
    closed = {
        name for name in recursive if all(_is_closed(st, defs[f]) for f in needed_functions(st.functions, [name]))
    }
    return Functions(defs, st.custom, frozenset(closed))


def _is_closed(st: Stage, fun: FunDef) -> bool:
    """Whether a function uses nothing but its parameters and constants of the program."""
    own = {p.name for p in fun.params}
    return all(name in own or st.home.get(name.tag) is st.globals for name in free_in_body(fun.body))


def _function(st: Stage, f: Value, like: Sequence[Value], loc: Loc) -> tuple[Lambda, Value, list[Atom]]:
    """`f` on values like those given, as a lambda; its value in the names of the lambda, and the sizes that it has
    from inside of it, which are its last results."""
    with st.nested() as builder:
        given = [with_names(st, "x", value) for value in like]
        result = st.apply(f, tuple([value for _, value in given]), loc, "")
    own = list(dict.fromkeys(size for size in sizes_of(result) if st.is_local(size, builder)))
    types = [type for _, type in components(result)]
    params = tuple([p for mine, _ in given for p in mine])
    lam = Lambda(params, body_of(builder, [*atoms_of(result), *own]), (*types, *([I64] * len(own))))
    return lam, result, own


def _primal(result: Value, own: Sequence[Atom], atoms: Sequence[Atom]) -> Value:
    """The value of a function whose lambda gave `atoms`."""
    count = len(atoms) - len(own)
    known = dict(zip(own, atoms[count:], strict=True))
    return with_atoms(with_sizes(result, [known.get(s, s) for s in sizes_of(result)]), atoms[:count])


def _emit(st: Stage, code: Code, results: Sequence[Atom]) -> None:
    """Puts the statements of a derivative into the body in hand."""
    stms = with_copies(code, _functions(st), code.stms, results)
    adopt(st, [replace(stm, certs=union(st.builder.certs, stm.certs)) for stm in stms])


# ---- derivatives of one's own -------------------------------------------------------------------------------------


def with_vjp_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`with_vjp f f' x`: `f x`, whose adjoint is what f' gives for the result and its adjoint."""
    f, derivative, x = args
    lam, result, own = _function(st, f, (x,), loc)
    sizes = [st.param("n", I64) for _ in own]
    known = dict(zip(own, [Var(p.name) for p in sizes], strict=True))
    value = with_sizes(result, [known.get(s, s) for s in sizes_of(result)])
    pat, value = with_names(st, hint or "y", value)
    back, given, _ = _function(st, derivative, (value, value), loc)
    with st.nested() as builder:
        given = coerce_like(st, given, x, "the adjoint", loc)
    stms = (*back.body.stms, *builder.stms)
    back = replace(back, body=replace(back.body, stms=stms, result=tuple(atoms_of(given))), ret=_types(x))
    made = {p.name for p in sizes}
    free = [n for n in dict.fromkeys((*free_in_lambda(lam), *free_in_lambda(back))) if _is_passed(st, n, made)]
    extra = [Param(p.name, p.type) for p in sizes]
    dummies = [st.param("unused", I64) for _ in sizes]
    half = len(pat)
    back = replace(back, params=(*back.params[:half], *extra, *back.params[half:], *dummies))
    primal, adjoint = (_lifted(st, base, free, each, loc) for base, each in (("f", lam), ("f_vjp", back)))
    st.custom[primal] = (adjoint, len(free))
    exp = Apply(primal, (*[Var(n) for n in free], *atoms_of(x)))
    emit_pattern(st, (*pat, *sizes), exp, loc)
    note_sizes(st, [Var(p.name) for p in sizes])
    return value


def _types(value: Value) -> tuple[Type, ...]:
    return tuple([type for _, type in components(value)])


def _is_passed(st: Stage, name: Name, made: set[Name]) -> bool:
    """Whether a function must be given `name`: constants of the program are known everywhere."""
    return name not in made and st.home[name.tag] is not st.globals


def _lifted(st: Stage, base: str, free: Sequence[Name], f: Lambda, loc: Loc) -> Name:
    """The core function that takes the `free` names first, then what `f` takes."""
    code = _code(st, loc)
    lam = code.fresh_lambda(Lambda((*[Param(n, st.types[n]) for n in free], *f.params), f.body, f.ret))
    stms: list[Stm] = with_copies(code, _functions(st), lam.body.stms, lam.body.result)
    results = tuple([Param(st.names.fresh("result"), t) for t in lam.ret])
    name = st.fresh(base)
    st.functions.append(FunDef(name, lam.params, (), results, replace(lam.body, stms=tuple(stms)), None, (), loc))
    return name
