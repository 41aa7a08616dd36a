r"""What a scan or filter reads of a matrix of places, whose elements stand in one row, is computed there.

    scan (n*m) f (reshape [n*m] (map (\i -> map (\j -> g i j) (iota m)) (iota n)))
      ⟶  scan (n*m) f (map (\p -> g (p / m) (p % m)) (iota (n*m)))                                [F-DividedRows]

`replicate` may stand for either map. So a filter of all pairs of indices, or of the places of a grid, makes no arrays
of these, whose numbers have 64 bits; kernels go over long rows one by one (`kernels/passes/split_at_multiples.py`).
Where elements of other arrays are read there stays a matrix: it is written and read in less time than short rows are
divided and gathered (1.5 to 4 times as long with 3 to 20 columns). For scalar code, where the matrix is read for this
alone or its elements are cheap. A reduction goes over rows (`flat_rows.py`), and so do other scatters and histograms
(`memory/fuse_points.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.core import Body, Fix, Index, Iota, Lambda, Param, PrimOp, Replicate, Reshape, Screma, Stm
from ...ir.ops import Op
from ...ir.rename import rename_lambda
from ...ir.traverse import all_stms, live
from ...ir.types import I64, Name, Names, Prim, Type, Var, i64
from ..context.recompute_cost import weight_of
from .graph import Context
from .loops import is_scalar

CHEAP = 8
"""Up to this weight an element is computed again."""


def map_of_places(
    view: Stm, matrix: Stm, alone: bool, made: Mapping[Name, Stm], context: Context
) -> tuple[Stm, Stm] | None:
    """The places and the map over them that gives the elements of `view`, the reshaped `matrix`; `alone`: nothing else
    reads that. `made`: the statements around."""
    names, exp = context.names, view.exp
    assert isinstance(exp, Reshape)
    shape = context.types[exp.array].shape
    if len(shape) != 2 or len(exp.shape) != 1:
        return None
    place, row, column = (names.fresh(base) for base in ("p", "i", "j"))
    found = _element(matrix, exp.array, (Var(row), Var(column)), names)
    if found is None or not (alone or sum(weight_of(stm.exp) for stm in found.stms) <= CHEAP):
        return None
    read = {stm.exp.array for stm in all_stms(found) if isinstance(stm.exp, Index)}
    if not all(name in made and isinstance(made[name].exp, Iota) for name in read):
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
            return Body((_read(param, row, at[1], stm),), (Var(param.name),))
        case Screma(_, arrays, f, (), ()):
            number = next(k for k, p in enumerate(stm.pat) if p.name == matrix)
        case _:
            return None
    f = rename_lambda(f, names)
    made = f.body.result[number]
    inner = next((one for one in f.body.stms if any(Var(p.name) == made for p in one.pat)), None)
    match inner:
        case Stm(exp=Replicate((_,), value), certs=()):
            column = Body((), (value,))
        case Stm(exp=Screma(_, ys, g, (), ()), certs=()):
            place = next(k for k, p in enumerate(inner.pat) if Var(p.name) == made)
            reads = (_read(p, xs, at[1], stm) for p, xs in zip(g.params, ys, strict=True))
            column = Body((*reads, *g.body.stms), (g.body.result[place],))
        case _:
            return None
    loads = (_read(p, xs, at[0], stm) for p, xs in zip(f.params, arrays, strict=True))
    body = live(Body((*loads, *(one for one in f.body.stms if one is not inner), *column.stms), column.result))
    return body if all(map(is_scalar, body.stms)) else None


def _read(param: Param, array: Name, at: Var, stm: Stm) -> Stm:
    return Stm((param,), Index(array, (Fix(at),), True), (), (), stm.loc)
