"""Indices that are one run of elements in some lanes and another one, or one element, in the others.

    max 0 (b + l)  =  0 where b + l < 0, else b + l        if b + l < n then b + l else b + l - n        lane l

A clamp or a choice of two of these, and what is a number more. An access is one masked load for each, where a gather
takes an access for each lane.
"""

from __future__ import annotations

from ...ir.ops import Op
from ...ir.types import Prim
from ..llvm.ops import apply
from .index_comparisons import compared
from .values import ALL_ON, Lanes, LaneValue, Linear, Mask, Run, Uniform, Varying, intersect, pointwise

MOST = 3
"""Accesses that take less than a gather."""
CLAMPS = {Op.MAX: Op.LT, Op.MIN: Op.GT}
"""Comparisons with a bound that a clamp puts in the place of what they hold for."""


Runs = tuple[Run, ...]
"""An index is what the first run says whose mask has the lane; the last one has all lanes."""


def joined(e: Lanes, op: Op, args: tuple[LaneValue, ...], result: LaneValue) -> None:
    """What is known of a clamp of indices, of a choice of two, and of the sum or difference of one and a number."""
    if not isinstance(result, Varying) or result.prim is not Prim.I64:
        return
    match op, args:
        case (Op.MAX | Op.MIN, (x, Uniform() as bound)) | (Op.MAX | Op.MIN, (Uniform() as bound, x)):
            found = _clamped(e, op, runs_of(e, x), bound)
        case Op.SELECT, (Varying(_, holds), x, y):
            some, others = runs_of(e, x), runs_of(e, y)
            within = tuple(Run(intersect(e, run.mask, holds), run.at) for run in some)
            found = (*within, *others) if some and others else ()
        case (Op.ADD | Op.SUB, (x, Uniform() as more)) | (Op.ADD, (Uniform() as more, x)):
            found = tuple(Run(run.mask, _plus(e, op, run.at, more.text)) for run in runs_of(e, x))
        case _:
            return
    if 1 < len(found) <= MOST and any(isinstance(run.at, Linear) for run in found):
        e.runs[result.texts] = found


def runs_of(e: Lanes, value: LaneValue) -> Runs:
    """The runs of an index; none where they are not known."""
    match value:
        case Uniform() | Linear(stride=1 | -1):
            return (Run((ALL_ON,) * e.unroll, value),)
        case Varying(_, texts):
            return e.runs.get(texts, ())
        case _:
            return ()


def _clamped(e: Lanes, op: Op, runs: Runs, bound: Uniform) -> Runs:
    """What is beyond the bound comes first: the runs that follow have what is left."""
    found: list[Run] = []
    for run in runs:
        if isinstance(run.at, Linear):
            found += [Run(intersect(e, run.mask, _beyond(e, op, run.at, bound)), bound), run]
        else:
            name = "smax" if op is Op.MAX else "smin"
            found.append(Run(run.mask, Uniform(Prim.I64, e.one.intrinsic(name, Prim.I64, run.at.text, bound.text))))
    return tuple(found)


def _beyond(e: Lanes, op: Op, x: Linear, bound: Uniform) -> Mask:
    """The lanes where the clamp is the bound."""
    args = (x, bound)
    found = compared(e, CLAMPS[op], Prim.I64, args)
    found = found or pointwise(e, Prim.BOOL, args, lambda v, texts: apply(v, CLAMPS[op], Prim.I64, texts))
    assert isinstance(found, Varying), "a run is not the same for all lanes"
    return found.texts


def _plus(e: Lanes, op: Op, at: Linear | Uniform, more: str) -> Linear | Uniform:
    """An element or a run some elements further on, or back."""
    match at:
        case Uniform(prim, text):
            return Uniform(prim, e.one.ins(op.value, prim, text, more))
        case Linear(prim, base, stride):
            return Linear(prim, e.one.ins(op.value, prim, base, more), stride, False)
