r"""What a scan or filter reads of a matrix whose elements stand in one row is computed there.

    scan (n*m) f (reshape [n*m] (map (\x -> map (\y -> g x y) ys) xs))
      ⟶  scan (n*m) f (map (\i -> g xs[i / m] ys[i % m]) (iota (n*m)))                                [F-DividedRows]

`replicate` may stand for either map. So a filter of all pairs of elements, or of the places of a grid, makes no arrays
of these; kernels go over the rows one by one (`kernels/passes/split_at_multiples.py`). For scalar code, where the
matrix is read for this alone or its elements are cheap. A reduction goes over rows (`flat_rows.py`), and so do other
scatters and histograms (`memory/fuse_points.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import Body, Fix, Index, Iota, Lambda, Param, PrimOp, Replicate, Reshape, Screma, Stm
from ...ir.ops import Op
from ...ir.rename import rename_lambda
from ...ir.traverse import live
from ...ir.types import I64, Atom, Name, Names, Prim, Type, Var, i64
from ..context.recompute_cost import weight_of
from .graph import Context
from .loops import is_scalar

CHEAP = 8
"""Up to this weight an element is computed again."""


def map_of_places(view: Stm, matrix: Stm, alone: bool, context: Context) -> tuple[Stm, Stm] | None:
    """The places and the map over them that gives the elements of `view`, the reshaped `matrix`; `alone`: nothing else
    reads that."""
    names, exp = context.names, view.exp
    assert isinstance(exp, Reshape)
    shape = context.types[exp.array].shape
    if len(shape) != 2 or len(exp.shape) != 1:
        return None
    place, row, column = (names.fresh(base) for base in ("p", "i", "j"))
    found = _element(matrix, exp.array, (Var(row), Var(column)), names)
    if found is None or not (alone or sum(weight_of(stm.exp) for stm in found.stms) <= CHEAP):
        return None
    (width,), (param,) = exp.shape, view.pat
    divided = (
        Stm((Param(name, I64),), PrimOp(op, Prim.I64, (Var(place), shape[1])), (), (), view.loc)
        for name, op in ((row, Op.DIV), (column, Op.MOD))
    )
    f = Lambda((Param(place, I64),), Body((*divided, *found.stms), found.result), (Type(param.type.prim, ()),))
    places = Param(names.fresh("places"), Type(Prim.I64, (width,)))
    context.types[places.name] = places.type
    iota = Stm((places,), Iota(width, i64(0), i64(1), Prim.I64), (), (), view.loc)
    certs = tuple(dict.fromkeys((*view.certs, *matrix.certs)))
    return iota, replace(view, exp=Screma(width, (places.name,), f, (), ()), certs=certs)


def _element(stm: Stm, matrix: Name, at: tuple[Var, Var], names: Names) -> Body | None:
    """The element at a row and column of a matrix, as the body that computes it."""
    match stm.exp:
        case Replicate((_, _), value):
            return Body((), (value,))
        case Replicate((_,), Var(row)):
            param = Param(names.fresh("x"), Type(stm.pat[0].type.prim, ()))
            return Body((_read(param, row, at[1:], stm),), (Var(param.name),))
        case Screma(_, arrays, f, (), ()):
            number = next(k for k, p in enumerate(stm.pat) if p.name == matrix)
        case _:
            return None
    f = rename_lambda(f, names)
    source = dict(zip((p.name for p in f.params), arrays, strict=True))
    made = f.body.result[number]
    inner = next((one for one in f.body.stms if any(Var(p.name) == made for p in one.pat)), None)
    column = None if inner is None or inner.certs else _column(inner, made, source, at, stm)
    if column is None:
        return None
    loads = [_read(p, source[p.name], at[:1], stm) for p in f.params]
    body = live(Body((*loads, *(one for one in f.body.stms if one is not inner), *column.stms), column.result))
    return body if all(is_scalar(one) or one in loads for one in body.stms) else None


def _column(inner: Stm, made: Atom, source: Mapping[Name, Name], at: tuple[Var, Var], stm: Stm) -> Body | None:
    """The element at a column of what a row is computed by. `source`: what the function has rows or elements of."""
    match inner.exp:
        case Replicate((_,), value):
            return Body((), (value,))
        case Screma(_, arrays, g, (), ()):
            pass
        case _:
            return None
    if any(p.type.shape for p in g.params):
        return None
    loads = (
        _read(p, source.get(ys, ys), at if ys in source else at[1:], stm)
        for p, ys in zip(g.params, arrays, strict=True)
    )
    number = next(k for k, p in enumerate(inner.pat) if Var(p.name) == made)
    return Body((*loads, *g.body.stms), (g.body.result[number],))


def _read(param: Param, array: Name, at: tuple[Var, ...], stm: Stm) -> Stm:
    return Stm((param,), Index(array, (*map(Fix, at), *whole(param.type.shape)), True), (), (), stm.loc)
