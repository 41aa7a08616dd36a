"""Writes in a nest: scatter, hist and update. What is overwritten becomes an array over the nest that nothing else
holds; the indices of the nest go in front of the indices of the write.

    G(Σ, scatter n (λx̄ → i v) x̄s d)   ⟶  segscatter (Σ, ⟨x̄ ∈ x̄s⟩) ds { Σ i v }
    G(Σ, hist n ⊕ (λx̄ → i v) x̄s d)    ⟶  seghist (Σ, ⟨x̄ ∈ x̄s⟩) ⊕ ds { Σ i v }
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.attributes import PART
from ...ir.core import (
    Body,
    Copied,
    Exp,
    Fix,
    Hist,
    Param,
    PrimOp,
    Scatter,
    Screma,
    SegHist,
    SegScatter,
    Slice,
    Stm,
    Update,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_lambda, free_in_stm
from ...ir.types import I64, Atom, Const, Name, Prim, Var, scalar
from ..context.checked_indices import checked_places
from ..context.distribute import Frontier, expand_owned, frontier, settle
from ..context.nest import Flow, Nest
from ..context.segop_bodies import SegBody, element_of, fresh_reductions, is_identity, needs, seg_body, single
from ..context.trace import Rule
from ..versions.parallelism import exploitable
from .maps import distributable, enter_arrays
from .reductions import identity, walk_into

# ---- what is overwritten ---------------------------------------------------------------------------------------------


def own(flow: Flow, nest: Nest, dests: tuple[Name, ...], reads: Iterable[Name]) -> tuple[Name, ...]:
    """The arrays over the nest that a write to `dests` overwrites: in place where nothing else of the nest looks at
    them, else copies."""
    if not nest.dims:
        return dests
    arrays = expand_owned(flow, nest, tuple(Var(dest) for dest in dests), reads)
    flow.known.fresh.difference_update(arrays)
    return arrays


def nest_atoms(nest: Nest) -> tuple[Atom, ...]:
    """The indices of a nest as atoms, outermost first."""
    return tuple(Var(index) for index in nest.indices)


# ---- scatter and hist ------------------------------------------------------------------------------------------------


def scatter_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, scatter n (λx̄ → i v) x̄s d)  ⟶  segscatter (Σ, ⟨x̄ ∈ x̄s⟩) ds { Σ i v }"""
    match stm.exp:
        case Scatter() as exp if distributable(flow, nest, stm):
            pass
        case _:
            return None
    if _is_parallel(flow, exp):
        return split_write(flow, nest, stm, exp)
    flow.note(Rule.GR_SCATTER, ", ".join(str(p.name) for p in stm.pat))
    owned, pat, made = _write(flow, nest, stm, exp)
    level = flow.context.machine.lowest.level
    attrs = tuple(attr for attr in stm.attrs if attr == PART)
    flow.emit(pat, SegScatter(level, made.space, owned, nest.depth + exp.rank, made.body), attrs)
    return Rule.GR_SCATTER


def hist_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, hist n ⊕ (λx̄ → i v) x̄s d)  ⟶  seghist (Σ, ⟨x̄ ∈ x̄s⟩) ⊕ ds { Σ i v }"""
    match stm.exp:
        case Hist(op=op) as exp:
            pass
        case _:
            return None
    same_operator = all(map(flow.is_invariant, op.neutral)) and not any(map(flow.is_variant, free_in_lambda(op.op)))
    if not same_operator or not distributable(flow, nest, stm):
        return None
    if _is_parallel(flow, exp):
        return split_write(flow, nest, stm, exp)
    flow.note(Rule.GR_HIST, ", ".join(str(p.name) for p in stm.pat))
    owned, pat, made = _write(flow, nest, stm, exp)
    (fresh_op,) = fresh_reductions(flow, (exp.op,))
    level = flow.context.machine.lowest.level
    flow.emit(pat, SegHist(level, made.space, fresh_op, owned, nest.depth + exp.rank, made.body))
    return Rule.GR_HIST


def _write(
    flow: Flow, nest: Nest, stm: Stm, exp: Scatter | Hist
) -> tuple[tuple[Name, ...], tuple[Param, ...], SegBody]:
    """The destinations over the nest, the arrays that they become, and what computes the indices and values."""
    f = exp.map
    owned = own(flow, nest, exp.dests, (*exp.arrays, *free_in_lambda(f)))
    inner = enter_arrays(flow, nest, exp.width, f.params, exp.arrays)
    pat = flow.bind(nest, stm.pat)
    return owned, pat, seg_body(flow, inner.dims, Body(f.body.stms, nest_atoms(nest) + f.body.result))


def _is_parallel(flow: Flow, exp: Scatter | Hist) -> bool:
    return not is_identity(exp.map) and exploitable(flow, exp.map.body, [p.name for p in exp.map.params])


def split_write(flow: Flow, nest: Nest, stm: Stm, exp: Scatter | Hist) -> Rule:
    """Fission of the map from the write, so that the map can be flattened.

    scatter n f x̄s d  ⟶  let īs v̄s = map f x̄s in scatter n id īs v̄s d
    """
    flow.note(Rule.SPLIT, ", ".join(str(p.name) for p in stm.pat))
    made = tuple(flow.fresh_param("y", t.array_of(exp.width)) for t in exp.map.ret)
    names = tuple(p.name for p in made)
    mapped = Stm(made, Screma(exp.width, exp.arrays, exp.map, (), ()), (), stm.attrs, stm.loc)
    f = identity(flow, exp.map.ret)
    results = flow.again(stm.pat)
    match exp:
        case Scatter(width, _, _, dests, rank):
            write: Scatter | Hist = Scatter(width, names, f, dests, rank)
        case Hist(width, _, _, op, dests, rank):
            write = Hist(width, names, f, op, dests, rank)
    pat = flow.bind(nest, stm.pat)
    walk_into(flow, nest, (mapped, Stm(results, write, (), stm.attrs, stm.loc)), results, pat)
    return Rule.SPLIT


# ---- update --------------------------------------------------------------------------------------------------------


def update_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Replacing a part of a large row, in place; a small row is copied in its thread with the part replaced.

    G(Σ, xs with [i, a:+n*s] <- v)  ⟶  segscatter (Σ, k < n) xss { Σ i (a + k*s) v[k] }
    """
    match stm.exp:
        case Update(array, dims, _, safe) if nest.dims and (safe or not any(isinstance(d, Slice) for d in dims)):
            pass
        case _:
            return None
    (param,) = stm.pat
    counts = tuple(dim.count for dim in dims if isinstance(dim, Slice))
    has_variant_size = not flow.is_regular((param.type,)) or not all(map(flow.is_invariant, counts))
    if has_variant_size or all(isinstance(size, Const) for size in param.type.shape) or flow.relies_on_nest(stm):
        return None
    wanted = frontier(flow, [n for n in free_in_stm(stm) if n != array]) if counts else frontier(flow, ())
    if wanted is None or (
        array in flow.known.deferred and array not in flow.known.elems and frontier(flow, (array,)) is None
    ):
        return None
    settle(flow, nest, wanted)
    if not counts:
        settle(flow, nest, read_before(flow, stm, array))
    flow.note(Rule.UPDATE, str(param.name))
    (owned,) = own(flow, nest, (array,), [name for name in free_in_stm(stm) if name != array])
    pat = flow.bind(nest, stm.pat)
    _emit_update(flow, nest, stm, owned, pat)
    return Rule.UPDATE


def read_before(flow: Flow, stm: Stm, array: Name) -> Frontier:
    """The place and the value of an update, where these are scalars that are computed from elements of the array that
    it overwrites."""
    names = tuple(n for n in free_in_stm(stm) if n != array and n in flow.known.deferred and n not in flow.known.elems)
    elem, row, needed = flow.known.elems.get(array), flow.known.rows.get(array), needs(flow, names)
    read = {load.array for load in needed.loads.values()}.union(*(free_in_stm(d.stm) for d in needed.stms))
    overwritten = {known.array for known in (elem, row) if known is not None}
    is_scalar = not any(flow.known.types[name].shape for name in names)
    return Frontier(names if is_scalar and not overwritten.isdisjoint(read) else ())


def _emit_update(flow: Flow, nest: Nest, stm: Stm, owned: Name, pat: tuple[Param, ...]) -> None:
    exp = stm.exp
    assert isinstance(exp, Update)
    inner = tuple((flow.fresh_param("k", I64).name, dim.count) for dim in exp.dims if isinstance(dim, Slice))
    stms: list[Stm] = []
    value = exp.value
    if inner:
        at = tuple(Var(k) for k, _ in inner)
        places, value = places_of(flow, stms, exp, at, ()), element_of_part(flow, stms, value, at)
    else:
        places = checked_places(flow, stms, replace(stm, certs=()), flow.known.types[exp.array])
    body = Body(tuple(stms), (*nest_atoms(nest), *places, value))
    made = seg_body(flow, nest.dims + inner, body)
    rank = nest.depth + len(exp.dims)
    flow.emit(pat, SegScatter(flow.context.machine.lowest.level, made.space, (owned,), rank, made.body, exp.safe))


def places_of(
    flow: Flow, stms: list[Stm], exp: Update, at: tuple[Atom, ...], certs: tuple[Name, ...]
) -> tuple[Atom, ...]:
    """The indices of the element `at` of the part that an update replaces, relying on `certs`."""

    def let(exp: Exp, certs: tuple[Name, ...]) -> Atom:
        place = flow.fresh_param("p", I64)
        stms.append(Stm((place,), exp, certs, (), flow.output.loc))
        return Var(place.name)

    inside = iter(at)
    places: list[Atom] = []
    for dim in exp.dims:
        match dim:
            case Fix(index):
                places.append(let(Copied(index), certs) if certs else index)
            case Slice(start, _, stride):
                step = let(PrimOp(Op.MUL, Prim.I64, (next(inside), stride)), ())
                places.append(let(PrimOp(Op.ADD, Prim.I64, (start, step)), certs))
    return tuple(places)


def element_of_part(flow: Flow, stms: list[Stm], value: Atom, at: tuple[Atom, ...]) -> Atom:
    """The element `at` of what an update puts in the place of a part."""
    assert isinstance(value, Var)
    t = flow.known.types[value.name]
    element = flow.fresh_param("v", scalar(t.prim))
    stms.append(single(element_of(value.name, t.shape, at), element, flow.output.loc))
    return Var(element.name)
