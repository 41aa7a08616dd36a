"""Indices of an update in a kernel of its own: they rely on an assertion that they are in bounds.

xs with [i] <- v  ⟶  ok = assert 0 ≤ i < n, p = i relying on ok; xs with! [p] <- v
"""

from __future__ import annotations

from ...ir.core import Assert, Copied, Fix, PrimOp, Stm, Update
from ...ir.ops import Op
from ...ir.types import BOOL, I64, Atom, Name, Prim, Type, Var, i64
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


def _in_bounds(flow: Flow, stms: list[Stm], write: Stm, places: tuple[Atom, ...], t: Type) -> Name:
    """The assertion that an element is there, with the text of the update's own failure."""

    def let(op: Op, prim: Prim, left: Atom, right: Atom) -> Atom:
        param = flow.fresh_param("in", BOOL)
        stms.append(Stm((param,), PrimOp(op, prim, (left, right)), (), (), write.loc))
        return Var(param.name)

    good: Atom | None = None
    for place, size in zip(places, t.shape, strict=True):
        both = let(Op.AND, Prim.BOOL, let(Op.LE, Prim.I64, i64(0), place), let(Op.LT, Prim.I64, place, size))
        good = both if good is None else let(Op.AND, Prim.BOOL, good, both)
    assert good is not None
    shown = [part for k, place in enumerate(places) for part in ("index [" if k == 0 else ", ", place)]
    sizes = [part for size in t.shape for part in ("[", size, "]")]
    ok = flow.fresh_param("ok", BOOL)
    parts = (*shown, "] out of bounds for array of shape ", *sizes)
    stms.append(Stm((ok,), Assert(good, "R0101", parts), write.certs, (), write.loc))
    return ok.name
