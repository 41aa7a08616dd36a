r"""A reduction of a matrix whose elements stand in one row goes over its rows.

    redomap (n*m) ⊕ f (reshape [n*m] xss)  ⟶  redomap n ⊕ (\xs -> redomap m ⊕ f xs) xss                     [F-FlatRows]

⊕ is associative, so that it may take each row for itself. A nest of maps that makes `xss` is fused with the two, and
the matrix is never there; without it simplification maps over the flat inputs (S-ReshapeMap), where that is possible.
Of a view, as a window of a grid is, elements would be copied to stand in one row, or found by division. Rows of more
dimensions are flattened in their turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Body, Lambda, Param, PrimOp, Reshape, Screma, Stm
from ...ir.ops import Op
from ...ir.rename import rename_lambda
from ...ir.types import I64, Name, Prim, Type, Var
from .graph import Context


def reduce_rows(stm: Stm, arrays: Sequence[Name], context: Context) -> Stm | None:
    """The reduction of the elements of arrays of one shape, one for each of its own, as one of their rows."""
    exp = stm.exp
    assert isinstance(exp, Screma)
    shapes = {context.types[array].shape for array in arrays}
    if exp.scans or not exp.reds or len(exp.map.ret) > exp.num_reds or len(shapes) != 1:
        return None
    (shape,) = shapes
    if len(shape) < 2 or any(param.type.shape for param in exp.map.params):
        return None

    def bound(base: str, type_: Type) -> Param:
        param = Param(context.names.fresh(base), type_)
        context.types[param.name] = type_
        return param

    width, before = shape[1], list[Stm]()
    for size in shape[2:]:
        total = bound("nm", I64)
        before.append(Stm((total,), PrimOp(Op.MUL, Prim.I64, (width, size)), (), (), stm.loc))
        width = Var(total.name)
    rows = given = tuple(bound(p.name.base, Type(p.type.prim, shape[1:])) for p in exp.map.params)
    if len(shape) > 2:
        given = tuple(bound(p.name.base, Type(p.type.prim, (width,))) for p in exp.map.params)
        before += [
            Stm((flat,), Reshape((width,), row.name), (), (), stm.loc) for flat, row in zip(given, rows, strict=True)
        ]
    found = tuple(bound(p.name.base, p.type) for p in stm.pat)
    reds = tuple(replace(red, op=rename_lambda(red.op, context.names)) for red in exp.reds)
    inner = Stm(found, Screma(width, tuple(p.name for p in given), exp.map, (), reds), (), stm.attrs, stm.loc)
    row = Lambda(rows, Body((*before, inner), tuple(Var(p.name) for p in found)), exp.map.ret)
    return replace(stm, exp=Screma(shape[0], tuple(arrays), row, (), exp.reds))
