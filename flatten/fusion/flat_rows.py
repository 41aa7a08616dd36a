r"""A reduction of a matrix whose elements stand in one row goes over its rows.

    redomap (n*m) ⊕ f (reshape [n*m] xss)  ⟶  redomap n ⊕ (\xs -> redomap m ⊕ f xs) xss                     [F-FlatRows]

⊕ is associative, so that it may take each row for itself. The nest of maps that makes `xss` is fused with the two, and
the matrix is never there; without it simplification maps over the flat inputs (S-ReshapeMap), where that is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import Body, Lambda, Param, Screma, Stm
from ...ir.rename import rename_lambda
from ...ir.types import Name, Type, Var
from .graph import Context


def reduce_rows(stm: Stm, matrices: Sequence[Name], context: Context) -> Stm | None:
    """The reduction of the elements of matrices of one shape, one for each of its arrays, as one of their rows."""
    exp = stm.exp
    assert isinstance(exp, Screma)
    shapes = {context.types[matrix].shape for matrix in matrices}
    if exp.scans or not exp.reds or len(exp.map.ret) > exp.num_reds or len(shapes) != 1:
        return None
    (shape,) = shapes
    if len(shape) != 2 or any(param.type.shape for param in exp.map.params):
        return None
    names, (n, m) = context.names, shape
    rows = tuple(Param(names.again(p.name), Type(p.type.prim, (m,))) for p in exp.map.params)
    found = tuple(Param(names.again(p.name), p.type) for p in stm.pat)
    context.types.update((p.name, p.type) for p in (*rows, *found))
    reds = tuple(replace(red, op=rename_lambda(red.op, names)) for red in exp.reds)
    inner = Stm(found, Screma(m, tuple(p.name for p in rows), exp.map, (), reds), (), stm.attrs, stm.loc)
    row = Lambda(rows, Body((inner,), tuple(Var(p.name) for p in found)), exp.map.ret)
    return replace(stm, exp=Screma(n, tuple(matrices), row, (), exp.reds))
