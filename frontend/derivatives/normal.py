"""The form that the two modes work on: calls replaced by bodies, one thing at a time.

    screma f scans reds   ⟶   a map, then each scan and each reduction of what it gives, on its own
    hist, scatter of f    ⟶   a map, then the histogram or scatter
    reduce (⊕, ⊗) of two independent operators      ⟶   two reductions (scans and histograms too)
    reduce (map2 ⊕) xss   ⟶   map (reduce ⊕) (transpose xss), and so on for scans and histograms

What is not used goes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...ir.commute import scalar_operation
from ...ir.core import (
    Apply,
    Body,
    Copied,
    FunDef,
    Hist,
    Lambda,
    Param,
    Reduction,
    Replicate,
    Scatter,
    Screma,
    Soac,
    Stm,
)
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.traverse import free_in_lambda, live, map_bodies, recursive_functions
from ...ir.types import I64, Atom, Name, Var, i64
from ..accumulators.lower import without_accumulators
from ..building.code import Code


@dataclass(frozen=True, slots=True)
class Functions:
    """The core functions that may be called, and for those with a derivative of their own its function: it takes the
    free variables, the results and their adjoints, and gives the adjoints of the arguments behind the free ones.
    `closed`: the recursive functions that read nothing from outside but constants of the program. Calls of these stay
    calls: of arguments that are constant they are constant."""

    defs: Mapping[Name, FunDef]
    custom: Mapping[Name, tuple[Name, int]]
    closed: frozenset[Name] = frozenset()


def normal_lambda(code: Code, functions: Functions, f: Lambda) -> Lambda:
    """A fresh copy of `f` in normal form."""
    copy = code.fresh_lambda(f)
    body = without_accumulators(code, copy.body)
    return replace(copy, body=normal_body(code, functions, body))


def normal_body(code: Code, functions: Functions, body: Body) -> Body:
    """`body`, whose names are used nowhere else, in normal form."""
    inner = code.inside()
    for stm in live(body).stms:
        inner.loc = stm.loc
        _normal_stm(inner, functions, stm)
    return inner.body(body.result)


def _normal_stm(code: Code, functions: Functions, stm: Stm) -> None:
    match stm.exp:
        case Apply(function, args) if function not in functions.custom and function not in functions.closed:
            fun = functions.defs.get(function)
            if fun is None or function in recursive_functions(tuple(functions.defs.values())):
                raise of_recursive_function(stm.loc)
            f = Lambda(fun.params, fun.body, tuple([r.type for r in fun.results]))
            results = code.inline(normal_lambda(code, functions, f), args)
            code.copies(stm, results)
        case Screma() | Hist() | Scatter() as exp:
            exp = map_bodies(lambda body: normal_body(code, functions, body), exp)
            assert isinstance(exp, Soac)
            start = len(code.stms)
            _normal_soac(code, replace(stm, exp=exp), exp)
            code.stms[start:] = [replace(one, certs=stm.certs, attrs=stm.attrs) for one in code.stms[start:]]
        case exp:
            code.keep(replace(stm, exp=map_bodies(lambda body: normal_body(code, functions, body), exp)))


def of_recursive_function(loc: Loc) -> CompileError:
    """E0228 for a recursive function whose arguments, or what it captures, vary."""
    text = "there is no derivative of a recursive function"
    hint = "write it as a loop, or give its derivative by `with_vjp`"
    return CompileError(Diagnostic("E0228", text, Label(loc, "differentiated here"), hint=hint))


# ---- one SOAC, one thing ------------------------------------------------------------------------------------------


def _normal_soac(code: Code, stm: Stm, exp: Soac) -> None:
    if isinstance(exp, Screma) and not exp.scans and not exp.reds:
        code.keep(stm)
        return
    if not _is_identity(exp.map):
        inputs = code.screma(Screma(exp.width, exp.arrays, exp.map, (), ()))
    else:
        by_param = dict(zip([p.name for p in exp.map.params], exp.arrays, strict=True))
        inputs = tuple([Var(by_param[atom.name]) for atom in exp.map.body.result if isinstance(atom, Var)])
    match exp:
        case Screma():
            _normal_screma(code, stm, exp, inputs)
        case Hist():
            _split_hist(code, stm.pat, exp, inputs)
        case Scatter():
            arrays, f = code.as_they_are(inputs)
            code.keep(replace(stm, exp=replace(exp, arrays=arrays, map=f)))


def _is_identity(f: Lambda) -> bool:
    """Whether each result is a parameter."""
    params = {Var(p.name) for p in f.params}
    return not f.body.stms and all(atom in params for atom in f.body.result)


def _normal_screma(code: Code, stm: Stm, exp: Screma, inputs: Sequence[Var]) -> None:
    pat = list(stm.pat)
    pending = list(inputs)
    for red in exp.ops:
        count = len(red.neutral)
        mine, pending = pending[:count], pending[count:]
        params, pat = pat[:count], pat[count:]
        for params_, red_, mine_ in _parts(code, red, params, mine):
            _fold(code, params_, exp.width, red_, mine_, bool(exp.scans))
    for param, array in zip(pat, pending, strict=True):
        code.emit((param,), Copied(array))


def _fold(code: Code, pat: Sequence[Param], width: Atom, red: Reduction, arrays: Sequence[Var], is_scan: bool) -> None:
    """One scan or reduction of arrays; of a mapped operator, a map of scans or reductions."""
    mapped = _mapped_operator(red.op)
    if mapped is not None:
        _fold_columns(code, pat, width, red, mapped, arrays, is_scan)
        return
    code.emit(pat, (code.scan if is_scan else code.reduction)(width, arrays, red))


def _fold_columns(
    code: Code, pat: Sequence[Param], width: Atom, red: Reduction, op: Lambda, arrays: Sequence[Var], is_scan: bool
) -> None:
    """fold (map2 ⊕) ne xss   ⟶   map (fold ⊕) ne (transpose xss)"""
    columns = [swapped(code, array) for array in arrays]
    neutral = [atom for atom in red.neutral if isinstance(atom, Var)]
    count = code.types[columns[0].name].shape[0]

    def rows(inner: Code, args: Sequence[Var]) -> Sequence[Atom]:
        xs, ne = args[: len(columns)], args[len(columns) :]
        types = [code.types[a.name] if is_scan else code.types[a.name].row() for a in xs]
        results = [inner.param("fold", t) for t in types]
        reduction = Reduction(code.fresh_lambda(op), tuple(ne), red.comm)
        for params_, red_, mine_ in _parts(code, reduction, results, xs):
            _fold(inner, params_, width, red_, mine_, is_scan)
        return [Var(p.name) for p in results]

    found = code.map(count, (*columns, *neutral), rows)
    for param, array in zip(pat, found, strict=True):
        code.emit((param,), Copied(swapped(code, array) if is_scan else array))


def swapped(code: Code, array: Var) -> Var:
    """The array with its two outermost dimensions exchanged."""
    rank = code.types[array.name].rank
    return code.rearrange((1, 0, *range(2, rank)), array)


# ---- operators ----------------------------------------------------------------------------------------------------


def _parts(
    code: Code, red: Reduction, pat: Sequence[Param], arrays: Sequence[Var]
) -> list[tuple[list[Param], Reduction, list[Var]]]:
    """The independent parts of an operator: component k of its result needs component k of its operands alone."""
    count = len(red.neutral)
    if count == 1:
        return [(list(pat), red, list(arrays))]
    components = [_component(red, k) for k in range(count)]
    if any(part is None for part in components):
        return [(list(pat), red, list(arrays))]
    parts = [replace(part, op=code.fresh_lambda(part.op)) for part in components if part is not None]
    return [([pat[k]], part, [arrays[k]]) for k, part in enumerate(parts)]


def _component(red: Reduction, k: int) -> Reduction | None:
    op, count = red.op, len(red.neutral)
    params = (op.params[k], op.params[count + k])
    part = Lambda(params, live(Body(op.body.stms, (op.body.result[k],))), (op.ret[k],))
    own = {p.name for p in op.params}
    return None if any(name in own for name in free_in_lambda(part)) else Reduction(part, (red.neutral[k],), red.comm)


def _mapped_operator(op: Lambda) -> Lambda | None:
    r"""The operator ⊕ of `\xs ys -> map2 (⊕) xs ys`."""
    match op.body.stms:
        case (Stm(pat, Screma(_, arrays, f, (), ())),):
            in_order = arrays == tuple([p.name for p in op.params])
            if in_order and op.body.result == tuple([Var(p.name) for p in pat]) and len(pat) * 2 == len(arrays):
                return f
        case _:
            pass
    return None


def scalar_operator(op: Lambda) -> Op | None:
    """The operation that an operator on single scalars is."""
    known = scalar_operation(op)
    return known.op if known is not None and known.op in {Op.ADD, Op.MUL, Op.MIN, Op.MAX} else None


# ---- histograms ---------------------------------------------------------------------------------------------------


def _split_hist(code: Code, pat: Sequence[Param], exp: Hist, inputs: Sequence[Var]) -> None:
    indices, values = list(inputs[: exp.rank]), list(inputs[exp.rank :])
    by_param = {p.name: dest for p, dest in zip(pat, exp.dests, strict=True)}
    for params, red, mine in _parts(code, exp.op, pat, values):
        dests = tuple([by_param[p.name] for p in params])
        _hist(code, params, replace(exp, dests=dests, op=red), indices, mine)


def _hist(code: Code, pat: Sequence[Param], exp: Hist, indices: Sequence[Var], values: Sequence[Var]) -> None:
    """One histogram; that of a mapped operator is one of the elements of its rows."""
    mapped = _mapped_operator(exp.op.op)
    if mapped is None:
        arrays, f = code.as_they_are([*indices, *values])
        code.emit(pat, replace(exp, arrays=arrays, map=f))
        return
    size = code.types[exp.dests[0]].shape[exp.rank]
    total = code.op(Op.MUL, exp.width, size, base="nm")
    spread = [_spread(code, index, size, total) for index in indices]
    own = code.let("is", Replicate((exp.width,), code.iota(size)), I64.array_of(exp.width, size))
    flat = [code.reshape((total, *code.types[v.name].shape[2:]), v) for v in values]
    some = code.op(Op.LT, i64(0), size)
    neutral = tuple([_first(code, some, ne) for ne in exp.op.neutral if isinstance(ne, Var)])
    inner = replace(exp, width=total, rank=exp.rank + 1, op=Reduction(mapped, neutral, exp.op.comm))
    by_param = dict(zip([p.name for p in pat], exp.dests, strict=True))
    for params, red, mine in _parts(code, inner.op, pat, flat):
        dests = tuple([by_param[p.name] for p in params])
        _hist(code, params, replace(inner, dests=dests, op=red), (*spread, code.reshape((total,), own)), mine)


def _first(code: Code, some: Atom, ne: Var) -> Var:
    """The neutral element of one row; of none, something of its type."""
    type = code.types[ne.name].row()
    return code.choose(some, lambda inner: [inner.at(ne, i64(0))], lambda inner: [inner.zeros(type)], [type])[0]


def _spread(code: Code, index: Var, size: Atom, total: Atom) -> Var:
    """Each index `size` times."""
    count = code.types[index.name].shape[0]
    wide = code.let("is", Replicate((size,), index), I64.array_of(size, count))
    return code.reshape((total,), code.rearrange((1, 0), wide))
