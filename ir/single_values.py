"""Expressions of one result as closures over a frame: scalars, indices and new arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import arrays, parallel, scalar
from .core import (
    ArrayLit,
    Assert,
    Concat,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    Fix,
    GuardCmp,
    Index,
    Iota,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    SizeParam,
    Slice,
    Stm,
    Update,
)
from .errors import IRError, Loc, run_error
from .frames import Layout, Single, Step, getter, row_type
from .ops import can_fail
from .parallel import Frame, Value, Values
from .types import Name, Prim

Fault = Callable[[Sequence[arrays.At], np.ndarray], Exception]


def prim_step(layout: Layout, exp: PrimOp, stm: Stm) -> Step:
    """Operations on scalars are most of what runs: one closure for operation and store."""
    f = scalar.meaning(exp.op, exp.prim)
    if can_fail(exp.op, exp.prim):
        f = _failing(f, stm.loc)
    places = [layout.atom(a) for a in exp.args]
    (to,) = layout.bind_all(stm.pat)
    match places:
        case [x, y]:

            def binary(frame: Frame) -> None:
                frame[to] = f(frame[x], frame[y])

            return binary
        case [x]:

            def unary(frame: Frame) -> None:
                frame[to] = f(frame[x])

            return unary
        case _:
            args = getter(tuple(places))

            def general(frame: Frame) -> None:
                frame[to] = f(*args(frame))

            return general


def _failing(f: scalar.Meaning, loc: Loc) -> scalar.Meaning:
    """`f` whose failures are reported at `loc`."""

    def g(*args: scalar.Value) -> scalar.Value:
        try:
            return f(*args)
        except scalar.ScalarFailure as failure:
            raise run_error(failure.code, failure.text, loc) from None

    return g


def single(layout: Layout, exp: Exp, loc: Loc) -> Single | None:
    """The value of a basic expression but an operation (`prim_step`); None for expressions of several results."""
    match exp:
        case Convert(source, target, arg):
            x, g = layout.atom(arg), scalar.conversion(source, target)
            return lambda frame: g(frame[x])
        case Copied(atom):
            x = layout.atom(atom)
            return lambda frame: frame[x]
        case Copy(array):
            x = layout.name(array)
            return lambda frame: frame[x]
        case Index(array, dims, safe):
            return _index(layout, array, dims, _fault_at(loc, safe), safe)
        case Update():
            return _update(layout, exp, _fault_at(loc, exp.safe))
        case Assert():
            return _assert(layout, exp, loc)
        case GuardCmp(threshold, par, _, pays):
            x, y, decide = layout.atom(par), layout.atom(pays), layout.decide
            return lambda frame: decide(frame[0], threshold, frame[x], frame[y])
        case SizeParam(name, default):
            size_of = layout.size_of
            return lambda frame: size_of(frame[0], name, default)
        case _:
            return _new_array(layout, exp)


def _new_array(layout: Layout, exp: Exp) -> Single | None:
    match exp:
        case Iota(count, start, step, prim):
            n, first, by = layout.atom(count), layout.atom(start), layout.atom(step)
            return lambda frame: arrays.iota(frame[n], frame[first], frame[by], prim)
        case Replicate(shape, value):
            sizes, x, prim = layout.atoms(shape), layout.atom(value), layout.prim(value)
            return lambda frame: arrays.replicate(tuple(sizes(frame)), frame[x], prim)
        case Scratch(type_):
            sizes, prim = layout.atoms(type_.shape), type_.prim
            return lambda frame: arrays.scratch(tuple(sizes(frame)), prim)
        case ArrayLit(elems, row):
            values, t = layout.atoms(elems), row_type(layout, row)
            return lambda frame: t.collect(frame, values(frame), (len(elems),))
        case Rearrange(perm, array):
            x = layout.name(array)
            return lambda frame: frame[x].transpose(perm)
        case Reshape(shape, array):
            x, sizes = layout.name(array), layout.atoms(shape)
            return lambda frame: frame[x].reshape(arrays.settled(tuple(sizes(frame))))
        case Concat(names, _):
            values = layout.names(names)
            return lambda frame: np.concatenate(values(frame))
        case _:
            return None


def _fault_at(loc: Loc, safe: bool) -> Fault:
    """The exception for an index out of bounds: the user's fault, ours where the index is said to be safe."""

    def fault(ats: Sequence[arrays.At], xs: np.ndarray) -> Exception:
        text = arrays.out_of_bounds_text(ats, xs.shape)
        return IRError(f"{text}, though marked safe, at {loc}") if safe else run_error("R0101", text, loc)

    return fault


def _index(layout: Layout, array: Name, dims: tuple[DimIndex, ...], fault: Fault, safe: bool) -> Single:
    """An element or a slice. A safe slice that holds nothing may be of any size, one of an array without elements at
    any place: those of a nest without points are."""
    xs = layout.name(array)
    if len(dims) == 1 and isinstance(dims[0], Fix):
        i = layout.atom(dims[0].index)

        def element(frame: Frame) -> Value:
            index, source = frame[i], frame[xs]
            if 0 <= index < source.shape[0]:
                return source.item(index)
            raise fault([arrays.At(index, None, None)], source)

        return element
    if all(isinstance(d, Fix) for d in dims):
        indices = layout.atoms(d.index for d in dims if isinstance(d, Fix))

        def deep_element(frame: Frame) -> Value:
            index, source = indices(frame), frame[xs]
            if arrays.inside(index, source.shape):
                return source.item(index)
            raise fault([arrays.At(i, None, None) for i in index], source)

        return deep_element
    places = _index_places(layout, dims)

    def select(frame: Frame) -> Value:
        ats, source = places(frame), frame[xs]
        if safe and (source.size == 0 or any(at.count == 0 for at in ats)):
            return np.empty([at.count for at in ats if at.count is not None], source.dtype)
        _require_in_bounds(ats, source, fault)
        return arrays.select(source, ats)

    return select


def _update(layout: Layout, exp: Update, fault: Fault) -> Single:
    xs, v, places = layout.name(exp.array), layout.atom(exp.value), _index_places(layout, exp.dims)

    def update(frame: Frame) -> Value:
        ats = places(frame)
        _require_in_bounds(ats, frame[xs], fault)
        return arrays.updated(frame[xs], ats, frame[v])

    return update


def _index_places(layout: Layout, dims: tuple[DimIndex, ...]) -> Callable[[Frame], list[arrays.At]]:
    gets = [_dim_places(layout, dim) for dim in dims]
    return lambda frame: [arrays.At(*get(frame)) for get in gets]


def _dim_places(layout: Layout, dim: DimIndex) -> Values:
    match dim:
        case Fix(index):
            i = layout.atom(index)
            return lambda frame: (frame[i], None, None)
        case Slice(start, count, stride):
            return layout.atoms((start, count, stride))


def _require_in_bounds(ats: Sequence[arrays.At], xs: np.ndarray, fault: Fault) -> None:
    if not arrays.in_bounds(ats, xs.shape):
        raise fault(ats, xs)


def _assert(layout: Layout, exp: Assert, loc: Loc) -> Single:
    cond = layout.atom(exp.cond)
    said = [part if isinstance(part, str) else (layout.atom(part), layout.prim(part)) for part in exp.parts]

    def check(frame: Frame) -> Value:
        if frame[cond]:
            return True
        texts = [part if isinstance(part, str) else value_text(frame[part[0]], part[1]) for part in said]
        raise run_error(exp.code, "".join(texts), loc)

    return check


def value_text(value: Value, prim: Prim) -> str:
    """A value as a message shows it."""
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(value_text(row, prim) for row in parallel.rows_of(value, len(value))) + "]"
    return scalar.text_of(prim, value)
