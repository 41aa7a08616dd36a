"""Bodies of segops: what a kernel over a nest has to load and to compute again.

A kernel is given statements over the nest. Around them come, in this order: loads of the nest's variables that they
use (`let xs = xss[i, :]`), then the deferred statements that they need ("minimal kernels": a scalar statement travels
into the kernels that use it). All names bound in a kernel are fresh, since several kernels may compute the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...ir.core import (
    Body,
    Convert,
    Copy,
    DimIndex,
    Exp,
    Fix,
    Index,
    Iota,
    Lambda,
    Level,
    Param,
    PrimOp,
    Reduction,
    SegMap,
    SegSpace,
    Slice,
    Stm,
)
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.rename import refreshing, rename_lambda, rewrite_body
from ...ir.traverse import free_in_body, free_in_stm
from ...ir.types import Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from ..aliasing.classes import overwritten_in
from .nest import Deferred, Dim, Elem, Flow, Nest
from .recompute_cost import HEAVY, weight_of
from .trace import Rule


@dataclass(frozen=True, slots=True)
class Needs:
    """Indices of the nests around flat ones (those of the innermost first: the others follow from them), elements to
    load, and deferred statements to compute in program order."""

    places: tuple[Deferred, ...]
    loads: dict[Name, Elem]
    stms: tuple[Deferred, ...]


def needs(flow: Flow, wanted: Iterable[Name]) -> Needs:
    """Everything of the nest that `wanted` stand for, directly or not."""
    places: dict[int, Deferred] = {}
    loads: dict[Name, Elem] = {}
    stms: dict[int, Deferred] = {}
    work = list(wanted)
    while work:
        name = work.pop()
        if (place := flow.known.coordinates.get(name)) is not None:
            places[place.order] = place
            work.extend(free_in_stm(place.stm))
        elif (elem := flow.known.elems.get(name)) is not None:
            loads[name] = elem
            work.extend(elem.indices)
        elif (found := flow.known.deferred.get(name)) is not None and found.order not in stms:
            stms[found.order] = found
            work.extend(free_in_stm(found.stm))
    inwards = sorted(places.values(), key=lambda place: (-place.depth, place.order))
    return Needs(tuple(inwards), loads, tuple(stms[order] for order in sorted(stms)))


def defer(flow: Flow, nest: Nest, stms: tuple[Stm, ...]) -> None:
    """Leave statements to the kernels that need them."""
    for stm in stms:
        weight = weight_of(stm.exp)
        for name in free_in_stm(stm):
            if name not in flow.known.elems and (used := flow.known.deferred.get(name)) is not None:
                weight += used.weight
        made = Deferred(stm, nest.depth, min(weight, 2 * HEAVY), flow.output.next_order)
        flow.output.next_order += 1
        flow.known.types.update((p.name, p.type) for p in stm.pat)
        flow.known.deferred.update((p.name, made) for p in stm.pat)


def element_of(array: Name, shape: tuple[Atom, ...], indices: tuple[Atom, ...]) -> Index:
    """`array[i, j, :, :]` for leading indices that are known to be in bounds."""
    fixed: tuple[DimIndex, ...] = tuple(Fix(i) for i in indices)
    return Index(array, fixed + whole(shape[len(indices) :]), True)


def whole(shape: tuple[Atom, ...]) -> tuple[DimIndex, ...]:
    """The slices that take all of every dimension."""
    return tuple(Slice(i64(0), size, i64(1)) for size in shape)


def load(flow: Flow, name: Name, elem: Elem, overwritten: set[Name], loc: Loc) -> tuple[Stm, ...]:
    """The statements that bind a variable of the nest in a thread; a row that the thread overwrites is copied."""
    row = flow.known.types[name]
    shape = flow.known.types[elem.array].shape
    exp = element_of(elem.array, shape, tuple(Var(i) for i in elem.indices))
    if not row.shape or name not in overwritten:
        return (Stm((Param(name, row),), exp, (), (), loc),)
    view = flow.fresh_param(name.base, row)
    return (Stm((view,), exp, (), (), loc), Stm((Param(name, row),), Copy(view.name), (), (), loc))


@dataclass(frozen=True, slots=True)
class SegBody:
    """A space and a body over it, ready to stand in a segop."""

    space: SegSpace
    body: Body


def seg_body(flow: Flow, dims: tuple[Dim, ...], inner: Body) -> SegBody:
    """`inner` over the space `dims`, completed with what it needs of the nest, under fresh names."""
    needed = needs(flow, free_in_body(inner))
    again = [deferred.stm for deferred in needed.stms]
    overwritten = overwritten_in(Body((*again, *inner.stms), inner.result))
    loads = [stm for name, elem in needed.loads.items() for stm in load(flow, name, elem, overwritten, flow.output.loc)]
    if again:
        flow.note(Rule.SKIP_SCALARS, ", ".join(str(p.name) for stm in again for p in stm.pat))
    places = [place.stm for place in needed.places]
    body = Body((*places, *loads, *again, *inner.stms), inner.result)
    renaming = refreshing(flow.context.names)
    space = SegSpace(tuple((renaming.bind(index), width) for index, width in dims))
    return SegBody(space, rewrite_body(body, renaming))


def fresh_reductions(flow: Flow, reds: tuple[Reduction, ...]) -> tuple[Reduction, ...]:
    """Operators under fresh names: every version has its own."""
    return tuple(Reduction(rename_lambda(r.op, flow.context.names), r.neutral, r.comm) for r in reds)


def emit_segmap(flow: Flow, dims: tuple[Dim, ...], pat: tuple[Param, ...], inner: Body, ret: tuple[Type, ...]) -> None:
    """`let pat = segmap (dims) { inner }`."""
    emit_segmap_at(flow, flow.context.machine.lowest.level, dims, pat, inner, ret)


def emit_segmap_at(
    flow: Flow, level: Level, dims: tuple[Dim, ...], pat: tuple[Param, ...], inner: Body, ret: tuple[Type, ...]
) -> None:
    """`let pat = segmap^level (dims) { inner }`."""
    made = seg_body(flow, dims, inner)
    flow.emit(pat, SegMap(level, made.space, made.body, ret))


def is_identity(f: Lambda) -> bool:
    r"""`\x y -> x y`."""
    return not f.body.stms and f.body.result == tuple(Var(p.name) for p in f.params)


def single(exp: Exp, param: Param, loc: Loc) -> Stm:
    """`let param = exp`."""
    return Stm((param,), exp, (), (), loc)


def iota_element(names: Names, iota: Iota, index: Atom, base: str, loc: Loc) -> tuple[tuple[Stm, ...], Atom]:
    """`(iota n from a by s)[i] = a + i * s`: the statements, and the element."""
    prim = iota.prim
    stms: list[Stm] = []

    def let(exp: Exp) -> Atom:
        made = Param(names.fresh(base), scalar(prim))
        stms.append(single(exp, made, loc))
        return Var(made.name)

    value = index if prim is Prim.I64 else let(Convert(Prim.I64, prim, index))
    if iota.step != Const(prim, 1):
        value = let(PrimOp(Op.MUL, prim, (value, iota.step)))
    if iota.start != Const(prim, 0):
        value = let(PrimOp(Op.ADD, prim, (value, iota.start)))
    return tuple(stms), value
