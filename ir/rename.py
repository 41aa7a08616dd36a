"""Substitution and fresh renaming: one rewriting of uses and binders, and its two uses.

Names are unique in a program, so nothing can be captured: a substitution only looks at uses, a renaming gives every
binder that it meets a fresh name before it meets the uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .core import (
    Body,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    FunDef,
    Lambda,
    Loop,
    Param,
    Prog,
    Reduction,
    SegSpace,
    Slice,
    Stm,
    WhileLoop,
)
from .depth import allow_depth
from .errors import IRError
from .records import dataclass
from .syntax import FIELDS
from .types import Atom, Const, Name, Names, Type, Var


@dataclass(frozen=True, slots=True)
class Renaming:
    """What becomes of a name where it is used, where it is bound (asked before any use in its scope), and of the name
    of a function that is called."""

    use: Callable[[Name], Atom]
    bind: Callable[[Name], Name]
    call: Callable[[Name], Name]


def substituting(mapping: Mapping[Name, Atom]) -> Renaming:
    """Replaces the uses of the names in `mapping`; binders stay."""
    return Renaming(lambda name: mapping.get(name) or Var(name), _unchanged, _unchanged)


def _unchanged(name: Name) -> Name:
    return name


def refreshing(names: Names) -> Renaming:
    """Gives every binder a fresh name; free names stay."""
    fresh: dict[Name, Var] = {}

    def bind(name: Name) -> Name:
        fresh[name] = Var(names.again(name))
        return fresh[name].name

    return Renaming(lambda name: fresh.get(name) or Var(name), bind, _unchanged)


def substitute_exp(exp: Exp, mapping: Mapping[Name, Atom]) -> Exp:
    """The expression with atoms for free names; bound names stay, and must not occur in the atoms."""
    return rewrite_exp(exp, substituting(mapping)) if mapping else exp


def substitute_body(body: Body, mapping: Mapping[Name, Atom]) -> Body:
    """As `substitute_exp`, of a body."""
    return rewrite_body(body, substituting(mapping)) if mapping else body


def substitute_lambda(f: Lambda, mapping: Mapping[Name, Atom]) -> Lambda:
    """As `substitute_exp`, of a lambda."""
    return rewrite_lambda(f, substituting(mapping)) if mapping else f


def substitute_type(t: Type, mapping: Mapping[Name, Atom]) -> Type:
    """As `substitute_exp`, of the sizes of a type."""
    return rewrite_type(t, substituting(mapping)) if mapping else t


def rename_body(body: Body, names: Names) -> Body:
    """A copy of `body` in which every name bound inside is fresh."""
    return rewrite_body(body, refreshing(names))


def rename_lambda(f: Lambda, names: Names) -> Lambda:
    """A copy of `f` in which parameters and every name bound inside are fresh."""
    return rewrite_lambda(f, refreshing(names))


def rename_exp(exp: Exp, names: Names) -> Exp:
    """A copy of `exp` in which every name bound inside is fresh."""
    return rewrite_exp(exp, refreshing(names))


def rename_fun(fun: FunDef, names: Names) -> FunDef:
    """A copy of `fun` in which every name bound inside is fresh (its own name stays)."""
    return rewrite_fun(fun, refreshing(names))


def renumbered(prog: Prog) -> Prog:
    """`prog` with all names numbered by first occurrence, so that a printed text does not depend on how many names
    a pass has used up."""
    allow_depth()
    names = Names(0)
    functions = {fun.name: names.again(fun.name) for fun in prog.functions}

    def call(name: Name) -> Name:
        return functions.get(name, name)

    r = replace(refreshing(names), call=call)
    consts = tuple(rewrite_stm(stm, r) for stm in prog.consts)
    funs = tuple(replace(rewrite_fun(fun, r), name=functions[fun.name]) for fun in prog.functions)
    return Prog(consts, funs, names.next)


def rewrite_atom(atom: Atom, r: Renaming) -> Atom:
    """What a use of the atom becomes; constants stay."""
    return r.use(atom.name) if isinstance(atom, Var) else atom


def rewrite_name(name: Name, r: Renaming) -> Name:
    """A name in a place where only a name can stand (an array, a certificate, a loop condition)."""
    match r.use(name):
        case Var(new):
            return new
        case Const() as const:
            raise IRError(f"{name} is used as a name and cannot become the constant {const.value}")


def rewrite_type(t: Type, r: Renaming) -> Type:
    """The type with its sizes as uses."""
    return Type(t.prim, tuple([rewrite_atom(size, r) for size in t.shape])) if t.shape else t


def rewrite_params(params: tuple[Param, ...], r: Renaming) -> tuple[Param, ...]:
    """Binds all names first: the type of one may use another."""
    new = [r.bind(p.name) for p in params]
    return tuple([Param(name, rewrite_type(p.type, r)) for name, p in zip(new, params, strict=True)])


def rewrite_stm(stm: Stm, r: Renaming) -> Stm:
    """The statement with its uses rewritten, then its pattern bound."""
    exp = rewrite_exp(stm.exp, r)
    certs = tuple([rewrite_name(c, r) for c in stm.certs]) if stm.certs else ()
    return Stm(rewrite_params(stm.pat, r), exp, certs, stm.attrs, stm.loc)


def rewrite_body(body: Body, r: Renaming) -> Body:
    """The body, statement by statement, then its result."""
    stms: list[Stm] = []
    for stm in body.stms:
        stms.append(rewrite_stm(stm, r))
    return Body(tuple(stms), _atoms(body.result, r))


def rewrite_lambda(f: Lambda, r: Renaming) -> Lambda:
    """The lambda: parameters bound, then its body and types."""
    params = rewrite_params(f.params, r)
    body = rewrite_body(f.body, r)
    return Lambda(params, body, tuple([rewrite_type(t, r) for t in f.ret]))


def rewrite_fun(fun: FunDef, r: Renaming) -> FunDef:
    """The function: parameters bound, then what it consumes, its body and its results."""
    params = rewrite_params(fun.params, r)
    consumes = tuple(rewrite_name(name, r) for name in fun.consumes)
    body = rewrite_body(fun.body, r)
    return replace(fun, params=params, consumes=consumes, results=rewrite_params(fun.results, r), body=body)


def _atoms(atoms: tuple[Atom, ...], r: Renaming) -> tuple[Atom, ...]:
    return tuple([rewrite_atom(a, r) for a in atoms])


def _names(names: tuple[Name, ...], r: Renaming) -> tuple[Name, ...]:
    return tuple([rewrite_name(n, r) for n in names])


def _dims(dims: tuple[DimIndex, ...], r: Renaming) -> tuple[DimIndex, ...]:
    return tuple([Fix(rewrite_atom(d.index, r)) if isinstance(d, Fix) else _slice(d, r) for d in dims])


def _slice(dim: Slice, r: Renaming) -> Slice:
    return Slice(rewrite_atom(dim.start, r), rewrite_atom(dim.count, r), rewrite_atom(dim.stride, r))


def _reductions(reds: tuple[Reduction, ...], r: Renaming) -> tuple[Reduction, ...]:
    return tuple([_reduction(red, r) for red in reds])


def _reduction(red: Reduction, r: Renaming) -> Reduction:
    return Reduction(rewrite_lambda(red.op, r), _atoms(red.neutral, r), red.comm)


def _space(space: SegSpace, r: Renaming) -> SegSpace:
    """Widths are of the outer scope: rewritten before the indices are bound."""
    widths = _atoms(space.widths, r)
    return SegSpace(tuple([(r.bind(name), w) for name, w in zip(space.indices, widths, strict=True)]))


def _types(types: tuple[Type, ...], r: Renaming) -> tuple[Type, ...]:
    return tuple([rewrite_type(t, r) for t in types])


def rewrite_exp(exp: Exp, r: Renaming) -> Exp:
    """`exp` with every use and every binder renamed, at any depth."""
    if isinstance(exp, Loop):
        return _rewrite_loop(exp, r)
    return type(exp)(*[rewrite(getattr(exp, name), r) for name, rewrite in _REWRITTEN[type(exp)]])


def _rewrite_loop(loop: Loop, r: Renaming) -> Loop:
    inits = _atoms(loop.inits, r)
    match loop.form:
        case ForLoop(index, bound, prim):
            outer = rewrite_atom(bound, r)
            params = rewrite_params(loop.params, r)
            form = ForLoop(r.bind(index), outer, prim)
        case WhileLoop(cond):
            params = rewrite_params(loop.params, r)
            form = WhileLoop(rewrite_name(cond, r))
    return Loop(params, inits, form, rewrite_body(loop.body, r))


_BY_KIND: Mapping[str, Callable[[Any, Renaming], Any]] = {
    "operand": rewrite_atom,
    "operands": _atoms,
    "elements": _atoms,
    "shape": _atoms,
    "where": rewrite_atom,
    "name": rewrite_name,
    "names": _names,
    "rows": lambda ends, r: None if ends is None else rewrite_name(ends, r),
    "function": lambda name, r: r.call(name),
    "type": rewrite_type,
    "types": _types,
    "dims": _dims,
    "said": lambda parts, r: tuple([part if isinstance(part, str) else rewrite_atom(part, r) for part in parts]),
    "space": _space,
    "body": rewrite_body,
    "lambda": rewrite_lambda,
    "reduction": _reduction,
    "reductions": _reductions,
    "scans": _reductions,
    "optional": lambda op, r: None if op is None else _reduction(op, r),
}
_REWRITTEN: Mapping[type, tuple[tuple[str, Callable[[Any, Renaming], Any]], ...]] = {
    node: tuple((name, _BY_KIND.get(kind, lambda value, r: value)) for name, kind in found)
    for node, found in FIELDS.items()
}
"""How each field becomes another one; what has no kind of these stays."""
