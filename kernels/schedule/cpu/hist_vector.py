r"""Histograms of arrays whose operator works element by element.

    op xs ys = map f xs ys      bins[key, j] := f bins[key, j] value[j]

It is the histogram of `f` on scalars, whose bins have more dimensions than a point has indices: parts, and what puts
them together, are those of `f`. A point makes its value once; points are taken in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....ir import core
from ....ir.core import Lambda, Param
from ....ir.ops import Op
from ....ir.records import dataclass
from ....ir.traverse import free_in_lambda
from ....ir.types import Name, Prim, Var, i64
from ...kernel_ir import nodes as kir
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, Value, scalar
from ..soacs import is_simple, split_indices
from ..statements import gen_body
from .hist_chunk import Cut, applied, bind_unit, chunk_of, inside_of, memory

Indices = tuple[Operand, ...]

FEW, WIDE = 4, 64
"""Rows of a few elements are code without a loop; those of fewer than `WIDE` are less work in a plain loop, which LLVM
may make vectors of, than as groups of lanes of which the most are masked."""


def by_element(exp: core.SegHist) -> core.SegHist | None:
    """With the operator on elements in place of one on arrays; None where it is not made of one."""
    f = element_operator(exp.op.op)
    if f is None or f is exp.op.op or not is_simple(f):
        return None
    return replace(exp, op=replace(exp.op, op=f))


def element_operator(op: Lambda) -> Lambda | None:
    r"""`\xs ys -> map (\x y -> e) xs ys  ⟶  \x y -> e`, through all dimensions; an array is read at its own element
    alone."""
    arrays = [p for p in op.params if p.type.shape]
    if not arrays:
        return op
    match op.body.stms:
        case [core.Stm(pat=pat, exp=core.Screma(arrays=inputs, map=f, scans=(), reds=()))] if len(arrays) == len(
            op.params
        ) and sorted(map(str, inputs)) == sorted(str(p.name) for p in op.params):
            made = _in_order(op, pat, inputs, f)
            return None if made is None else element_operator(made)
        case _:
            return None


def _in_order(op: Lambda, pat: tuple[Param, ...], inputs: tuple[Name, ...], f: Lambda) -> Lambda | None:
    """`f` with parameters and results in the order of the operator's."""
    places = {p.name: k for k, p in enumerate(pat)}
    results = [places.get(a.name) if isinstance(a, Var) else None for a in op.body.result]
    taken = [k for k in results if k is not None]
    if len(taken) != len(results) or {p.name for p in op.params} & set(free_in_lambda(f)):
        return None
    params = tuple(f.params[inputs.index(p.name)] for p in op.params)
    body = replace(f.body, result=tuple(f.body.result[k] for k in taken))
    return Lambda(params, body, tuple(f.ret[k] for k in taken))


def rows_kernel(h: HostBuilder, exp: core.SegHist, cut: Cut, targets: tuple[Name, ...], base: str) -> Made:
    """A chunk's points, one after the other."""
    b = h.builder()
    arrays = [memory(b, h.types[name].prim, name) for name in targets]
    chunk = chunk_of(b, exp, cut)
    unit, k = b.fresh("unit", Prim.I64), b.fresh("k", Prim.I64)
    with b.nested() as stms:
        lo, hi = bind_unit(b, exp, cut, b.add(chunk.first, unit))
        with b.nested() as step:
            b.env[exp.space.dims[-1][0]] = b.add(lo, k)
            row_at(b, exp, cut, arrays, chunk.base)
        b.emit(kir.For(k, b.sub(hi, lo), tuple(step)))
    b.emit(kir.For(unit, b.sub(chunk.last, chunk.first), tuple(stms)))
    return h.finish(b, base)


def row_at(b: Builder, exp: core.SegHist, cut: Cut, arrays: list[kir.KArray], base: Operand) -> None:
    """The point at the indices that are bound."""
    assert len(exp.updates) == 1, "several updates of a point are of scalars"
    at, values = split_indices(gen_body(b, exp.body, Mode.BLOCK), exp.rank)
    own, shape = at[cut.fixed :], tuple(b.operand(width) for width in cut.shape)
    with b.nested() as stms:
        place = base
        for i, stride in zip(own, b.strides(shape), strict=False):
            place = b.add(place, b.mul(i, stride))
        inner = shape[len(own) :]
        rows = tuple(ArrayRef(mem, place, inner, b.strides(inner), True) for mem in arrays)
        by_width(b, Row(exp.op.op, rows, values))
    b.emit(kir.KIf(inside_of(b, own, shape[: len(own)]), tuple(stms), ()))


# ---- the elements of a row ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """`rows[j] op= values[j]` for all j of a shape."""

    op: Lambda
    rows: tuple[ArrayRef, ...]
    values: tuple[Value, ...]

    @property
    def shape(self) -> tuple[Operand, ...]:
        return self.rows[0].shape


def by_width(b: Builder, row: Row) -> None:
    """Without a loop, one by one, or on the lanes."""
    narrow = b.op(Op.LT, Prim.I64, row.shape[-1], i64(WIDE), base="narrow")
    code = kir.KIf(narrow, one_by_one(b, row), on_lanes(b, row))
    for count in reversed(range(1, FEW + 1)):
        exactly = b.op(Op.EQ, Prim.I64, row.shape[-1], i64(count))
        code = kir.KIf(exactly, written_out(b, row, count), (code,))
    b.emit(code)


def written_out(b: Builder, row: Row, count: int) -> tuple[kir.KStm, ...]:
    """All elements are read before the first is written: they are different ones."""

    def elements(outer: Indices) -> None:
        places = [(*outer, i64(j)) for j in range(count)]
        made = [combined_at(b, row, at) for at in places]
        for at, results in zip(places, made, strict=True):
            store_at(b, row, at, results)

    return loops(b, row.shape[:-1], elements)


def one_by_one(b: Builder, row: Row) -> tuple[kir.KStm, ...]:
    """A loop for each dimension, in whose innermost body an element is combined."""
    return loops(b, row.shape, lambda at: combine_at(b, row, at))


def on_lanes(b: Builder, row: Row) -> tuple[kir.KStm, ...]:
    """Loops over the outer dimensions, and lanes over the innermost one."""

    def elements(outer: Indices) -> None:
        with b.threads(b.fresh("j", Prim.I64), ZERO, row.shape[-1]) as j:
            combine_at(b, row, (*outer, j))

    return loops(b, row.shape[:-1], elements)


def loops(b: Builder, shape: Indices, body: Callable[[Indices], None]) -> tuple[kir.KStm, ...]:
    """`for j < n { for k < m { .. } }`"""
    variables = tuple(b.fresh("j", Prim.I64) for _ in shape)
    with b.nested() as stms, b.loops(variables, shape):
        body(variables)
    return tuple(stms)


def combine_at(b: Builder, row: Row, at: Indices) -> None:
    """`rows[at] op= values[at]`, for all components."""
    store_at(b, row, at, combined_at(b, row, at))


def combined_at(b: Builder, row: Row, at: Indices) -> tuple[Operand, ...]:
    """`rows[at] op values[at]`, not stored yet."""
    old, new = (tuple(scalar(b.element(x, at)) for x in xs) for xs in (row.rows, row.values))
    return applied(b, row.op, old, new)


def store_at(b: Builder, row: Row, at: Indices, results: tuple[Operand, ...]) -> None:
    """`rows[at] := results`, one for each component."""
    for target, result in zip(row.rows, results, strict=True):
        b.emit(kir.Store(target.mem, b.address(target, at), result))
