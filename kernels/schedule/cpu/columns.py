"""A reduction that takes one element of each row of a matrix takes the column instead.

    redomap n op (\\row -> .. row[j] ..) xss    ⟶    let xs = xss[:, j] in redomap n op (\\x -> .. x ..) xs

The column is a view. What looks for the operands of a product then finds them, however they were written.
"""

from __future__ import annotations

from dataclasses import field, replace

from ....ir import core
from ....ir.core import Body, Fix, Index, Lambda, Param, Slice, Stm
from ....ir.records import dataclass
from ....ir.rename import substitute_body
from ....ir.traverse import free_in_stm
from ....ir.types import Name, Names, Var, i64


def with_columns(names: Names, body: Body) -> Body:
    """A body whose SOACs take columns where their functions take elements of rows."""
    stms: list[Stm] = []
    for stm in body.stms:
        stms += _of_columns(names, stm, stm.exp) if isinstance(stm.exp, core.Screma) else [stm]
    return Body(tuple(stms), body.result)


@dataclass(slots=True)
class _Operands:
    """The operands of the new SOAC, views for them, and what stands for elements of rows."""

    params: list[Param] = field(default_factory=list[Param])
    arrays: list[Name] = field(default_factory=list[Name])
    views: list[Stm] = field(default_factory=list[Stm])
    elements: dict[Name, Param] = field(default_factory=dict[Name, Param])


def _of_columns(names: Names, stm: Stm, exp: core.Screma) -> list[Stm]:
    """The statement over columns, after their views; alone where it takes no elements of rows."""
    found = _Operands()
    for param, array in zip(exp.map.params, exp.arrays, strict=True):
        loads = elements_of(exp.map, param) if param.type.shape else []
        if not loads:
            found.params.append(param)
            found.arrays.append(array)
        columns: dict[tuple[core.DimIndex, ...], Param] = {}
        for load, dims in loads:
            if dims not in columns:
                column = Param(names.again(load.pat[0].name), load.pat[0].type.array_of(exp.width))
                whole = Slice(i64(0), exp.width, i64(1))
                found.views.append(Stm((column,), Index(array, (whole, *dims), True), (), (), load.loc))
                columns[dims] = Param(names.again(load.pat[0].name), load.pat[0].type)
                found.params.append(columns[dims])
                found.arrays.append(column.name)
            found.elements[load.pat[0].name] = columns[dims]
    if not found.views:
        return [stm]
    kept = Body(tuple(s for s in exp.map.body.stms if s.pat[0].name not in found.elements), exp.map.body.result)
    inner = substitute_body(kept, {name: Var(param.name) for name, param in found.elements.items()})
    function = Lambda(tuple(found.params), inner, exp.map.ret)
    return [*found.views, replace(stm, exp=replace(exp, arrays=tuple(found.arrays), map=function))]


def elements_of(f: Lambda, row: Param) -> list[tuple[Stm, tuple[core.DimIndex, ...]]]:
    """The statements of a function that take the elements of a row at places that do not depend on it; none where it
    uses the row otherwise."""
    bound = {*(p.name for p in f.params), *(p.name for s in f.body.stms for p in s.pat)}
    found: list[tuple[Stm, tuple[core.DimIndex, ...]]] = []
    for stm in f.body.stms:
        match stm.exp:
            case Index(array, dims, True) if array == row.name and not stm.pat[0].type.shape and not stm.certs:
                if not bound.isdisjoint(d.index.name for d in dims if isinstance(d, Fix) and isinstance(d.index, Var)):
                    return []
                found.append((stm, dims))
            case _ if row.name in free_in_stm(stm):
                return []
            case _:
                pass
    return [] if Var(row.name) in f.body.result else found
