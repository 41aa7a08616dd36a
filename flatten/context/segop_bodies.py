"""Bodies of segops: what a kernel over a nest has to load and to compute again.

A kernel is given statements over the nest. Around them come, in this order: loads of the nest's variables that they
use (`let xs = xss[i, :]`), then the deferred statements that they need ("minimal kernels": a scalar statement travels
into the kernels that use it). All names bound in a kernel are fresh, since several kernels may compute the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import chain

from ...ir.basic import whole
from ...ir.core import (
    Apply,
    Assert,
    Body,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Exp,
    Fix,
    If,
    Index,
    Iota,
    Lambda,
    Level,
    Param,
    PrimOp,
    Rearrange,
    Reduction,
    Reshape,
    SegMap,
    SegRed,
    SegSpace,
    Stm,
)
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import refreshing, rename_lambda, rewrite_body
from ...ir.traverse import all_exps, free_in_body, free_in_stm
from ...ir.types import BOOL, Atom, Const, Name, Names, Prim, Type, Var, i64, scalar
from ..aliasing.classes import overwritten_in
from .checked_indices import checked_part
from .nest import Deferred, Dim, Elem, Flow, Nest, host_body
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


def load(flow: Flow, name: Name, elem: Elem, overwritten: set[Name], loc: Loc) -> tuple[Stm, ...]:
    """The statements that bind a variable of the nest in a thread; a row that the thread overwrites is copied."""
    shape = flow.known.types[elem.array].shape
    exp = element_of(elem.array, shape, tuple(Var(i) for i in elem.indices))
    return _own(flow, single(exp, Param(name, flow.known.types[name]), loc), overwritten)


def _own(flow: Flow, stm: Stm, overwritten: set[Name], bound: Collection[Name] = ()) -> tuple[Stm, ...]:
    """A statement of a thread; of an array from outside, not `bound` in it, the thread has a copy of the part that it
    overwrites."""
    match stm:
        case Stm((param,), Index(array) | Reshape(_, array) | Rearrange(_, array)) if (
            param.type.shape and param.name in overwritten and array not in bound
        ):
            view = flow.fresh_param(param.name.base, param.type)
            return (replace(stm, pat=(view,)), single(Copy(view.name), param, stm.loc))
        case _:
            return (stm,)


def overwritten_here(flow: Flow, body: Body) -> set[Name]:
    """What a body overwrites; if it calls functions, whatever the program overwrites."""
    calls = any(isinstance(exp, Apply) for exp in all_exps(body))
    return overwritten_in(body) | (flow.known.consumed if calls else set[Name]())


@dataclass(frozen=True, slots=True)
class SegBody:
    """A space and a body over it, ready to stand in a segop."""

    space: SegSpace
    body: Body


def seg_body(flow: Flow, dims: tuple[Dim, ...], inner: Body) -> SegBody:
    """`inner` over the space `dims`, completed with what it needs of the nest, under fresh names."""
    needed = needs(flow, free_in_body(inner))
    if not needed.places:
        for deferred in needed.stms:
            _check_before(flow, dims, deferred)
    again = [deferred.stm for deferred in needed.stms]
    overwritten = overwritten_here(flow, Body((*again, *inner.stms), inner.result))
    loads = [stm for name, elem in needed.loads.items() for stm in load(flow, name, elem, overwritten, flow.output.loc)]
    if again:
        flow.note(Rule.SKIP_SCALARS, ", ".join(str(p.name) for stm in again for p in stm.pat))
    places = [place.stm for place in needed.places]
    bound = {p.name for stm in (*places, *loads, *again) for p in stm.pat}
    own = (_own(flow, stm, overwritten, bound) for stm in again)
    body = Body((*places, *loads, *chain.from_iterable(own), *inner.stms), inner.result)
    renaming = refreshing(flow.context.names)
    space = SegSpace(tuple((renaming.bind(index), width) for index, width in dims))
    return SegBody(space, rewrite_body(body, renaming))


def _check_before(flow: Flow, dims: tuple[Dim, ...], row: Deferred) -> None:
    """An assertion, or a row that may be out of bounds, that a kernel over more dimensions would not even look at where
    these have no point, is checked before: the statement at hand relies on that.

    let row = xss[i] in segmap (i < n, j < m) { .. row[j] .. }
        ⟶  if m <= 0 then segred (i < n) and { assert 0 ≤ i < |xss| } else true;  segmap ..
    """
    exp, outer, deeper = row.stm.exp, dims[: row.depth], [width for _, width in dims[row.depth :]]
    is_row = isinstance(exp, Index) and not exp.safe and bool(row.stm.pat[0].type.shape)
    if not (is_row or isinstance(exp, Assert)) or all(isinstance(w, Const) and w.value > 0 for w in deeper):
        return
    cert = flow.known.checked_rows.get(row.order)
    if cert is None:
        checks: list[Stm] = []
        array = flow.known.types[exp.array] if isinstance(exp, Index) else None
        good = checked_part(flow, checks, row.stm, array) if array is not None else (row.stm.pat[0].name,)
        all_good = flow.fresh_param("good", BOOL)
        checks.append(Stm((all_good,), Copied(Const(Prim.BOOL, True)), good, (), row.stm.loc))
        body = Body(tuple(checks), (Var(all_good.name),))
        cert = flow.known.checked_rows[row.order] = _for_all_points(flow, outer, deeper, body)
    if cert not in flow.output.certs:
        flow.output.certs = (*flow.output.certs, cert)


def _for_all_points(flow: Flow, dims: tuple[Dim, ...], deeper: list[Atom], body: Body) -> Name:
    """Whether `body` holds at all points, where one of the widths `deeper` is 0, or negative."""
    width = deeper[0]
    for other in deeper[1:]:
        width = flow.op("least", Op.MIN, width, other)
    empty = flow.emit_as("empty", BOOL, PrimOp(Op.LE, Prim.I64, (width, i64(0))))

    here = host_body(flow, lambda: (Var(everywhere(flow, dims, body)),))
    return flow.emit_as("good", BOOL, If(Var(empty), here, Body((), (Const(Prim.BOOL, True),))))


def everywhere(flow: Flow, dims: tuple[Dim, ...], body: Body) -> Name:
    """Whether `body` holds at all points."""
    good, value = flow.fresh_param("good", BOOL), body
    for depth in range(len(dims) - 1, -1, -1):
        good = flow.fresh_param("good", BOOL.array_of(*(w for _, w in dims[:depth])))
        made = seg_body(flow, dims[: depth + 1], value)
        lowest = flow.context.machine.lowest.level
        flow.emit((good,), SegRed(lowest, made.space, (_both(flow),), made.body, (BOOL,), None))
        element = flow.fresh_param("good", BOOL)
        at = tuple(Var(index) for index, _ in dims[:depth])
        taken = single(element_of(good.name, good.type.shape, at), element, flow.output.loc)
        value = Body((taken,), (Var(element.name),))
    return good.name


def relied_on(flow: Flow, dims: tuple[Dim, ...], certs: tuple[Name, ...]) -> Name:
    """A check that holds if all of these do, at all points."""
    true = flow.fresh_param("good", BOOL)
    checked = Stm((true,), Copied(Const(Prim.BOOL, True)), certs, (), flow.output.loc)
    return everywhere(flow, dims, Body((checked,), (Var(true.name),)))


def _both(flow: Flow) -> Reduction:
    """`reduce_comm (&&) true`."""
    x, y, both = (flow.fresh_param(base, BOOL) for base in ("x", "y", "both"))
    body = Body(
        (single(PrimOp(Op.AND, Prim.BOOL, (Var(x.name), Var(y.name))), both, flow.output.loc),), (Var(both.name),)
    )
    return Reduction(Lambda((x, y), body, (BOOL,)), (Const(Prim.BOOL, True),), True)


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
