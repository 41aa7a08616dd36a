"""Indices in a kernel of their own: they rely on an assertion that they are in bounds.

xs with [i] <- v            ⟶  ok = assert 0 ≤ i < n, p = i relying on ok; xs with! [p] <- v
xs with [a :+ c * s] <- vs  ⟶  ok = assert c = 0 ∨ 0 ≤ a, a + (c-1) * s < n, ..
"""

from __future__ import annotations

from ...ir.core import Assert, Copied, DimIndex, Fix, Index, PrimOp, Slice, Stm, Update
from ...ir.ops import Op, result_type
from ...ir.types import BOOL, I64, Atom, Name, Prim, Type, Var, i64, scalar
from .nest import Flow


def checked_places(flow: Flow, stms: list[Stm], write: Stm, t: Type) -> tuple[Atom, ...]:
    """The indices of an update of one element of an array of type `t`; `stms` grow by what checks them."""
    assert isinstance(write.exp, Update)
    places = tuple(dim.index for dim in write.exp.dims if isinstance(dim, Fix))
    certs = write.certs if write.exp.safe else (*write.certs, _in_bounds(flow, stms, write, places, t))
    if not certs:
        return places
    params = tuple(flow.fresh_param("p", I64) for _ in places)
    stms += [Stm((p,), Copied(place), certs, (), write.loc) for p, place in zip(params, places, strict=True)]
    return tuple(Var(p.name) for p in params)


def _in_bounds(flow: Flow, stms: list[Stm], stm: Stm, places: tuple[Atom, ...], t: Type) -> Name:
    """The assertion that an element is there, with the text of the update's own failure."""
    good: Atom | None = None
    for place, size in zip(places, t.shape, strict=True):
        both = _is_place(flow, stms, stm, place, size)
        good = both if good is None else _let(flow, stms, stm, Op.AND, good, both)
    assert good is not None
    shown = [part for k, place in enumerate(places) for part in ("index [" if k == 0 else ", ", place)]
    return _assert(flow, stms, stm, good, shown, t)


def checked_part(flow: Flow, stms: list[Stm], stm: Stm, t: Type) -> tuple[Name, ...]:
    """The assertions that the part of an array of type `t` which a statement reads or replaces is there."""
    assert isinstance(stm.exp, Index | Update)
    if all(isinstance(dim, Fix) for dim in stm.exp.dims):
        places = tuple(dim.index for dim in stm.exp.dims if isinstance(dim, Fix))
        return (_in_bounds(flow, stms, stm, places, t),)
    parts = [(k, dim) for k, dim in enumerate(stm.exp.dims) if dim != Slice(i64(0), t.shape[k], i64(1))]
    return tuple(_dim_in_bounds(flow, stms, stm, dim, k, t) for k, dim in parts)


def _dim_in_bounds(flow: Flow, stms: list[Stm], stm: Stm, dim: DimIndex, k: int, t: Type) -> Name:
    def let(op: Op, left: Atom, right: Atom) -> Atom:
        return _let(flow, stms, stm, op, left, right)

    match dim:
        case Fix(index):
            return _assert(flow, stms, stm, _is_place(flow, stms, stm, index, t.shape[k]), ["index [", index], t)
        case Slice(start, count, stride):
            last = let(Op.ADD, start, let(Op.MUL, let(Op.SUB, count, i64(1)), stride))
            ends = [_is_place(flow, stms, stm, end, t.shape[k]) for end in (start, last)]
            some = let(Op.AND, let(Op.LE, i64(0), count), let(Op.AND, *ends))
            good = let(Op.OR, let(Op.EQ, count, i64(0)), some)
            return _assert(flow, stms, stm, good, ["slice [", start, ":+", count, "*", stride], t)


def _is_place(flow: Flow, stms: list[Stm], stm: Stm, place: Atom, size: Atom) -> Atom:
    low, high = (
        _let(flow, stms, stm, op, left, right) for op, left, right in ((Op.LE, i64(0), place), (Op.LT, place, size))
    )
    return _let(flow, stms, stm, Op.AND, low, high)


def _let(flow: Flow, stms: list[Stm], stm: Stm, op: Op, left: Atom, right: Atom) -> Atom:
    """A number, or a truth value."""
    prim = Prim.BOOL if op in (Op.AND, Op.OR) else Prim.I64
    param = flow.fresh_param("in", scalar(result_type(op, prim)))
    stms.append(Stm((param,), PrimOp(op, prim, (left, right)), (), (), stm.loc))
    return Var(param.name)


def _assert(flow: Flow, stms: list[Stm], stm: Stm, good: Atom, shown: list[str | Atom], t: Type) -> Name:
    sizes = [part for size in t.shape for part in ("[", size, "]")]
    ok = flow.fresh_param("ok", BOOL)
    parts = (*shown, "] out of bounds for array of shape ", *sizes)
    stms.append(Stm((ok,), Assert(good, "R0101", parts), stm.certs, (), stm.loc))
    return ok.name
