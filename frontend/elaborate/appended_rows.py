"""Rows of varying length one after the other: a loop that appends to flat data.

    loop (k = 0, shape, data: [k]b = [], values) for i < n do
      let (m, bs: [m]b, c) = f as[i]  in (k + m, shape with [i] = m, data ++ bs, values with [i] = c)

No iteration reads what others have made, so that the loop is flattened as a map is (`flatten/irregular/appends.py`).
"""

from __future__ import annotations

from ...ir.basic import whole
from ...ir.core import Concat, Exp, Fix, ForLoop, Index, Loop, Param, Replicate, Scratch, Update
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.types import I64, Atom, Prim, Type, Var, i64, zero
from .assertions import note_sizes
from .shapes import coerce_sizes
from .soacs import row_params, sizes_of_first_row
from .state import Builder, Stage, body_of, emit, emit_pattern, prim_op
from .values import (
    Arr,
    Component,
    Rec,
    Value,
    arrays_of,
    atoms_of,
    components,
    sizes_of,
    tuple_of,
    with_atoms,
)


def appended_rows_value(st: Stage, args: tuple[Value, ...], loc: Loc, hint: str) -> Value:
    """`appended_rows f as`: the lengths of the rows `(f a).0`, the rows one after the other, all `(f a).1`."""
    function, xs = args
    assert isinstance(xs, Arr)
    width = xs.size
    with st.nested() as builder:
        index = st.param("i", I64)
        params, values = row_params(st, function, [xs])
        for param, (array, _) in zip(params, arrays_of(xs), strict=True):
            dims = (Fix(Var(index.name)), *whole(param.type.shape))
            emit_pattern(st, (param,), Index(array.name, dims, True), loc)
        given = _regular(st, function, xs, builder, st.apply(function, values, loc, ""), loc)
        assert isinstance(given, Rec)
        (_, row), (_, value) = given.fields
        assert isinstance(row, Arr)
        total, shape, data, rows = _carried(st, row, value, width)
        longer = prim_op(st, Op.ADD, Prim.I64, (Var(total.name), row.size), loc)
        place = (Fix(Var(index.name)),)
        nexts = [longer, emit(st, "shape", Update(shape.name, place, row.size, True), shape.type, loc)]
        for param, (rows_, _) in zip(data, arrays_of(row), strict=True):
            exp = Concat((param.name, rows_.name), longer)
            nexts.append(emit(st, "data", exp, param.type.row().array_of(longer), loc))
        for param, atom in zip(rows, atoms_of(value), strict=True):
            exp = Update(param.name, (*place, *whole(param.type.shape[1:])), atom, True)
            nexts.append(emit(st, "values", exp, param.type, loc))
    carried = (total, shape, *data, *rows)
    inits = [i64(0), *[_start(st, param.type, param in data, loc) for param in carried[1:]]]
    body = body_of(builder, nexts)
    return _bind(st, Loop(carried, tuple(inits), ForLoop(index.name, width, Prim.I64), body), row, value, width, loc)


def _carried(st: Stage, row: Arr, value: Value, width: Atom) -> tuple[Param, Param, list[Param], list[Param]]:
    """How many elements, the lengths of the rows, flat data, and what else the function gives."""
    total, shape = st.param("k", I64), st.param("shape", I64.array_of(width))
    data = [st.param("data", type.row().array_of(Var(total.name))) for _, type in components(row)]
    return total, shape, data, [st.param("values", type.array_of(width)) for _, type in components(value)]


def _start(st: Stage, type: Type, is_data: bool, loc: Loc) -> Atom:
    """Nothing yet: flat data without any rows, or rows that are all written."""
    if is_data:
        empty = Type(type.prim, (i64(0), *type.shape[1:]))
        return emit(st, "none", Replicate(empty.shape, zero(type.prim)), empty, loc)
    return emit(st, "rows", Scratch(type), type, loc)


def _bind(st: Stage, exp: Exp, row: Arr, value: Value, width: Atom, loc: Loc) -> Value:
    total, shape, data, rows = _carried(st, row, value, width)
    emit_pattern(st, (total, shape, *data, *rows), exp, loc)
    note_sizes(st, [Var(total.name)])
    lengths = Arr(width, Component(Var(shape.name), Prim.I64))
    flat = Arr(Var(total.name), with_atoms(row.row, [Var(p.name) for p in data]))
    return tuple_of(lengths, flat, Arr(width, with_atoms(value, [Var(p.name) for p in rows])))


def _regular(st: Stage, function: Value, xs: Arr, builder: Builder, given: Value, loc: Loc) -> Value:
    """What the function gives, of which only the length of the row is its own."""
    sizes = sizes_of(given)
    inner = [i for i, size in enumerate(sizes) if i > 0 and st.is_local(size, builder)]
    if not inner:
        return given
    with st.resumed(builder.parent or builder):
        outside = sizes_of_first_row(st, function, [xs], inner, loc)
    wanted = [outside.get(i) for i in range(len(sizes))]
    return coerce_sizes(st, given, wanted, "a row", loc)
