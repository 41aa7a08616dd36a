"""Accumulators: `intrinsics.scatter_stream`, `intrinsics.hist_stream` and `intrinsics.acc_write` of the prelude.

An accumulator is the destination as the function of a stream sees it. Its type is abstract, so all that the function
can do is write to it and give it back; as a value it carries the operator of its stream.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.core import Accumulate, Body, Lambda, Param, Reduction, WithAcc
from ...ir.errors import CompileError, Diagnostic, Label, Loc
from ...ir.types import Var
from ..accumulators.trace import trace
from ..building.code import Code
from .indexing import distinct_arrays
from .shapes import coerce_like
from .soacs import dummy_input, names_of, operator, row_params
from .state import Stage, body_of, emit_pattern, to_i64, with_names
from .values import Accumulator, Arr, Closure, Component, Native, Partial, Value, atoms_of, components

Args = tuple[Value, ...]


def scatter_stream_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`scatter_stream dest f bs`."""
    dest, function, rows = args
    return _stream(st, distinct_arrays(st, dest, loc), None, function, rows, loc, hint)


def hist_stream_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`hist_stream dest op ne f bs`."""
    dest, op, ne, function, rows = args
    dest = distinct_arrays(st, dest, loc)
    assert isinstance(dest, Arr)
    ne = coerce_like(st, ne, dest.row, "the neutral element", loc)
    combine = Reduction(operator(st, op, ne, loc), tuple(atoms_of(ne)), True)
    return _stream(st, dest, combine, function, rows, loc, hint)


def _stream(
    st: Stage, dest: Value, combine: Reduction | None, function: Value, rows: Value, loc: Loc, hint: str
) -> Value:
    assert isinstance(rows, Arr)
    assert isinstance(function, Closure | Native | Partial)
    types = [type for _, type in components(dest)]
    with st.nested() as builder:
        accs, arrays = with_names(st, "acc", dest)
        given = Accumulator(arrays, combine)
        earlier = function.args if isinstance(function, Partial) else ()
        row = Partial(function.function if isinstance(function, Partial) else function, (*earlier, given))
        params, args = row_params(st, row, [rows])
        result = coerce_like(st, st.apply(row, args, loc, ""), dest, "the accumulator", loc)
    inputs = components(rows)
    if not inputs:
        params, inputs = dummy_input(st, rows.size, builder, loc)
    body = body_of(builder, atoms_of(result))
    _check_result(st, accs, body, loc)
    pat, result = with_names(st, hint or "dest", dest)
    lam = Lambda((*accs, *params), body, tuple(types))
    exp = WithAcc(rows.size, names_of([atom for atom, _ in inputs]), lam, names_of(atoms_of(dest)))
    emit_pattern(st, tuple(pat), exp, loc)
    return result


def _check_result(st: Stage, accs: Sequence[Param], body: Body, loc: Loc) -> None:
    """E0229 unless the function of a stream gives the accumulator that it was given."""
    roots = {p.name: p.name for p in accs}
    trace(body, roots)
    for acc, atom in zip(accs, body.result, strict=True):
        if not isinstance(atom, Var) or roots.get(atom.name) != acc.name:
            text = "the function of a stream gives another accumulator than it was given"
            hint = "give back what `acc_write` gives"
            raise CompileError(Diagnostic("E0229", text, Label(st.at(loc), "of this stream"), hint=hint))


def acc_write_value(st: Stage, args: Args, loc: Loc, hint: str) -> Value:
    """`acc_write acc i v`."""
    acc, index, value = args
    assert isinstance(acc, Accumulator)
    assert isinstance(acc.arrays, Arr)
    assert isinstance(index, Component)
    value = coerce_like(st, value, acc.arrays.row, "the value", loc)
    place = to_i64(st, index.atom, index.prim, loc)
    op = acc.combine
    if op is not None:
        op = Reduction(Code(st.names, st.types, loc).fresh_lambda(op.op), op.neutral, op.comm)
    pat, arrays = with_names(st, hint or "acc", acc.arrays)
    exp = Accumulate(names_of(atoms_of(acc.arrays)), (place,), tuple(atoms_of(value)), op)
    emit_pattern(st, tuple(pat), exp, loc)
    return Accumulator(arrays, op)
