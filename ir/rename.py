"""Substitution and fresh renaming: one rewriting of uses and binders, and its two uses.

Names are unique in a program, so nothing can be captured: a substitution only looks at uses, a renaming gives every
binder that it meets a fresh name before it meets the uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .core import (
    Accumulate,
    Apply,
    ArrayLit,
    Assert,
    Body,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    Fix,
    ForLoop,
    FunDef,
    GuardCmp,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    Reduction,
    Replicate,
    Reshape,
    Scatter,
    Scratch,
    Screma,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    SegSpace,
    SizeParam,
    Slice,
    Soac,
    Stm,
    Update,
    WhileLoop,
    WithAcc,
)
from .depth import allow_depth
from .errors import IRError
from .records import dataclass
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
    match exp:
        case PrimOp(op, prim, args):
            return PrimOp(op, prim, _atoms(args, r))
        case Convert(source, target, arg):
            return Convert(source, target, rewrite_atom(arg, r))
        case Copied(atom):
            return Copied(rewrite_atom(atom, r))
        case Index(array, dims, safe):
            return Index(rewrite_name(array, r), _dims(dims, r), safe)
        case Update(array, dims, value, safe):
            return Update(rewrite_name(array, r), _dims(dims, r), rewrite_atom(value, r), safe)
        case Iota(count, start, step, prim):
            return Iota(rewrite_atom(count, r), rewrite_atom(start, r), rewrite_atom(step, r), prim)
        case Replicate(shape, value):
            return Replicate(_atoms(shape, r), rewrite_atom(value, r))
        case Scratch(type_):
            return Scratch(rewrite_type(type_, r))
        case ArrayLit(elems, row):
            return ArrayLit(_atoms(elems, r), rewrite_type(row, r))
        case Rearrange(perm, array):
            return Rearrange(perm, rewrite_name(array, r))
        case Reshape(shape, array):
            return Reshape(_atoms(shape, r), rewrite_name(array, r))
        case Concat(arrays, width):
            return Concat(_names(arrays, r), rewrite_atom(width, r))
        case Copy(array):
            return Copy(rewrite_name(array, r))
        case Assert(cond, code, parts):
            said = tuple([part if isinstance(part, str) else rewrite_atom(part, r) for part in parts])
            return Assert(rewrite_atom(cond, r), code, said)
        case GuardCmp(threshold, par, path, pays):
            return GuardCmp(threshold, rewrite_atom(par, r), path, rewrite_atom(pays, r))
        case SizeParam():
            return exp
        case If(cond, then, orelse):
            return If(rewrite_atom(cond, r), rewrite_body(then, r), rewrite_body(orelse, r))
        case Loop():
            return _rewrite_loop(exp, r)
        case Apply(function, args):
            return Apply(r.call(function), _atoms(args, r))
        case Screma() | Hist() | Scatter():
            return _rewrite_soac(exp, r)
        case WithAcc(width, arrays, f, dests):
            outer, inputs = rewrite_atom(width, r), _names(arrays, r)
            return WithAcc(outer, inputs, rewrite_lambda(f, r), _names(dests, r))
        case Accumulate(accs, index, values, op):
            new = None if op is None else _reduction(op, r)
            return Accumulate(_names(accs, r), _atoms(index, r), _atoms(values, r), new)
        case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
            return _rewrite_segop(exp, r)


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


def _rewrite_soac(exp: Soac, r: Renaming) -> Soac:
    width, arrays = rewrite_atom(exp.width, r), _names(exp.arrays, r)
    f = rewrite_lambda(exp.map, r)
    match exp:
        case Screma(_, _, _, scans, reds):
            return Screma(width, arrays, f, _reductions(scans, r), _reductions(reds, r))
        case Hist(_, _, _, op, dests, rank):
            return Hist(width, arrays, f, _reduction(op, r), _names(dests, r), rank)
        case Scatter(_, _, _, dests, rank):
            return Scatter(width, arrays, f, _names(dests, r), rank)


def _rewrite_segop(exp: SegOp, r: Renaming) -> SegOp:
    space = _space(exp.space, r)
    match exp:
        case SegMap(level, _, body, ret):
            return SegMap(level, space, rewrite_body(body, r), _types(ret, r))
        case SegRed(level, _, reds, body, ret, ends):
            rows = None if ends is None else rewrite_name(ends, r)
            return SegRed(level, space, _reductions(reds, r), rewrite_body(body, r), _types(ret, r), rows)
        case SegScan(level, _, scans, body, ret):
            return SegScan(level, space, _reductions(scans, r), rewrite_body(body, r), _types(ret, r))
        case SegScatter(level, _, dests, rank, body, safe):
            return SegScatter(level, space, _names(dests, r), rank, rewrite_body(body, r), safe)
        case SegHist(level, _, op, dests, rank, body):
            return SegHist(level, space, _reduction(op, r), _names(dests, r), rank, rewrite_body(body, r))
