"""Writes in a nest: scatter, hist and update. What is overwritten becomes an array over the nest that nothing else
holds; the indices of the nest go in front of the indices of the write.

    G(Σ, scatter n (λx̄ → i v) x̄s d)   ⟶  segscatter (Σ, ⟨x̄ ∈ x̄s⟩) ds { Σ i v }
    G(Σ, hist n ⊕ (λx̄ → i v) x̄s d)    ⟶  seghist (Σ, ⟨x̄ ∈ x̄s⟩) ⊕ ds { Σ i v }
    G(Σ, hist n (map ⊕) id is vss d)  ⟶  seghist (Σ, ⟨i ∈ is, vs ∈ vss⟩, ⟨k, v ∈ vs⟩) ⊕ ds { Σ i k v }
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.attributes import PART
from ...ir.basic import whole
from ...ir.core import (
    Body,
    Copied,
    Fix,
    Hist,
    Lambda,
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
from ...ir.traverse import free_in_lambda, free_in_stm, index_atoms
from ...ir.types import I64, Atom, Name, Prim, Var
from ..context.checked_indices import checked_places
from ..context.distribute import Frontier, expand_owned, frontier, settle
from ..context.late_rows import LateRows, late_rows
from ..context.nest import Flow, Nest
from ..context.segop_bodies import SegBody, fresh_reductions, is_identity, needs, seg_body
from ..context.statements import Statements
from ..context.trace import Rule
from ..versions.parallelism import exploitable
from ..versions.row_operators import row_operator
from .interchange import element_reduction
from .maps import distributable, enter_arrays, is_small
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
    in_rows = not flow.context.machine.keeps_rows and any(p.type.shape for p in op.op.params)
    if _is_parallel(flow, exp) or (in_rows and not is_identity(exp.map)):
        return split_write(flow, nest, stm, exp)
    if in_rows and row_operator(flow, op, any_width=True) is not None:
        return _by_elements(flow, nest, stm, exp)
    flow.note(Rule.GR_HIST, ", ".join(str(p.name) for p in stm.pat))
    owned, pat, made = _write(flow, nest, stm, exp)
    (fresh_op,) = fresh_reductions(flow, (exp.op,))
    level = flow.context.machine.lowest.level
    flow.emit(pat, SegHist(level, made.space, fresh_op, owned, nest.depth + exp.rank, made.body))
    return Rule.GR_HIST


def _by_elements(flow: Flow, nest: Nest, stm: Stm, exp: Hist) -> Rule:
    """A histogram of rows that are there, whose operator works on them element by element, as one of the elements:
    threads without caches of their own do not go through a row each.

    G(Σ, hist n (map ⊕) id is vss d)  ⟶  seghist (Σ, ⟨i ∈ is, vs ∈ vss⟩, ⟨k, v ∈ vs⟩) ⊕ ds { Σ i k v }
    """
    flow.note(Rule.HIST_ROWS, ", ".join(str(p.name) for p in stm.pat))
    owned = own(flow, nest, exp.dests, exp.arrays)
    inner = enter_arrays(flow, nest, exp.width, exp.map.params, exp.arrays)
    pat = flow.bind(nest, stm.pat)
    places, values = exp.map.params[: exp.rank], exp.map.params[exp.rank :]
    op = exp.op
    while (rows := row_operator(flow, op, any_width=True)) is not None:
        op = element_reduction(flow, op, stm.loc)
        elements = tuple(flow.fresh_param("x", value.type.row()) for value in values)
        inner = enter_arrays(flow, inner, rows.width, elements, tuple(value.name for value in values))
        values = elements
    at = (*nest_atoms(nest), *(Var(p.name) for p in places), *map(Var, inner.indices[nest.depth + 1 :]))
    made = seg_body(flow, inner.dims, Body((), (*at, *(Var(p.name) for p in values))))
    (fresh_op,) = fresh_reductions(flow, (op,))
    flow.emit(pat, SegHist(flow.context.machine.lowest.level, made.space, fresh_op, owned, len(at), made.body))
    return Rule.HIST_ROWS


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

    Where there are caches, rows that a thread makes alone stay with the write, and are never there all at once.
    """
    flow.note(Rule.SPLIT, ", ".join(str(p.name) for p in stm.pat))
    f, values = exp.map, range(exp.rank, len(exp.map.ret))
    cut = late_rows(f, values, flow.context.names) if flow.context.machine.keeps_rows else None
    first = f if cut is None else flow.learn(cut.first)
    made = tuple(flow.fresh_param("y", t.array_of(exp.width)) for t in first.ret)
    names = tuple(p.name for p in made)
    mapped = Stm(made, Screma(exp.width, exp.arrays, first, (), ()), (), stm.attrs, stm.loc)
    if cut is None:
        write = replace(exp, arrays=names, map=identity(flow, f.ret))
    else:
        arrays = (*names, *(exp.arrays[k] for k in cut.used))
        write = replace(exp, arrays=arrays, map=_with_rows(flow, f, cut))
    results = flow.again(stm.pat)
    pat = flow.bind(nest, stm.pat)
    walk_into(flow, nest, (mapped, Stm(results, write, (), stm.attrs, stm.loc)), results, pat)
    return Rule.SPLIT


def _with_rows(flow: Flow, f: Lambda, cut: LateRows) -> Lambda:
    """What is left of `f` for the write: it takes what was made before, and makes the rows."""
    early = iter(tuple(flow.fresh_param("y", t) for k, t in enumerate(f.ret) if k not in cut.late))
    rows = iter(cut.second.body.result)
    result = [next(rows) if k in cut.late else next(early) for k in range(len(f.ret))]
    params = [x for x in result if isinstance(x, Param)]
    body = Body(cut.second.body.stms, tuple(Var(x.name) if isinstance(x, Param) else x for x in result))
    return flow.learn(Lambda((*params, *cut.second.params), body, f.ret))


# ---- update --------------------------------------------------------------------------------------------------------


def update_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Replacing a part of a large row, in place; a small row is copied in its thread with the part replaced.

    G((Σ, ⟨xs v ∈ xss vs⟩), xs with [i, a:+n*s] <- v)  ⟶  G(Σ, xss with [:, i, a:+n*s] <- vs)      i, a, n, s invariant
    G(Σ, xs with [i, a:+n*s] <- v)  ⟶  segscatter (Σ, k < n) xss { Σ i (a + k*s) v[k] }      else
    """
    match stm.exp:
        case Update(array, dims, new, safe) if nest.dims and (safe or not any(isinstance(d, Slice) for d in dims)):
            pass
        case _:
            return None
    (param,) = stm.pat
    counts = tuple(dim.count for dim in dims if isinstance(dim, Slice))
    has_variant_size = not flow.is_regular((param.type,)) or not all(map(flow.is_invariant, counts))
    if has_variant_size or is_small(param.type.shape) or flow.relies_on_nest(stm):
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
    values = flow.known.elems.get(new.name) if counts and isinstance(new, Var) else None
    if values is not None and values.indices == nest.indices and all(map(flow.is_invariant, index_atoms(dims))):
        flow.emit(pat, Update(owned, (*whole(nest.widths), *dims), Var(values.array), True))
    else:
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
    element, value = Statements(flow), exp.value
    if inner:
        assert isinstance(value, Var)
        at = tuple(Var(k) for k, _ in inner)
        places, value = places_of(element, exp, at, ()), element.at("v", value.name, *at)
    else:
        places = checked_places(flow, element.stms, replace(stm, certs=()), flow.known.types[exp.array])
    made = seg_body(flow, nest.dims + inner, element.body(*nest_atoms(nest), *places, value))
    rank = nest.depth + len(exp.dims)
    flow.emit(pat, SegScatter(flow.context.machine.lowest.level, made.space, (owned,), rank, made.body, exp.safe))


def places_of(made: Statements, exp: Update, at: tuple[Atom, ...], certs: tuple[Name, ...]) -> tuple[Atom, ...]:
    """The indices of the element `at` of the part that an update replaces, relying on `certs`."""
    inside = iter(at)
    places: list[Atom] = []
    for dim in exp.dims:
        match dim:
            case Fix(index):
                places.append(made.let("p", Copied(index), I64, certs) if certs else index)
            case Slice(start, _, stride):
                step = made.op("p", Op.MUL, next(inside), stride)
                places.append(made.let("p", PrimOp(Op.ADD, Prim.I64, (start, step)), I64, certs))
    return tuple(places)
