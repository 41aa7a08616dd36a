"""Bulk operations in a nest: what needs no kernel, since it is a view or the same for all points.

G((Σ, ⟨x ∈ y⟩), rearrange (k1..kn) x)  ⟶  G(Σ, rearrange (0, 1+k1 .. 1+kn) y)        [rearrange]
"""

from __future__ import annotations

from ..ir.core import (
    Body,
    Concat,
    Copied,
    Copy,
    DimIndex,
    If,
    Index,
    Param,
    PrimOp,
    Rearrange,
    Reshape,
    Stm,
)
from ..ir.ops import Op
from ..ir.traverse import free_in_stm, index_atoms
from ..ir.types import BOOL, I64, Atom, Name, Prim, Type, Var, i64, scalar
from .nest import Dim, Elem, Flow, Nest
from .segbody import element_of, emit_segmap, single, whole
from .spread import expand, frontier, settle
from .trace import Rule
from .weight import HEAVY, is_total


def invariant_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """A total operation on what is invariant to the nest is computed once, before it.

    G(Σ, let x = e1 in e2)  ⟶  let x = e1 in G(Σ, e2)        if no variable of Σ is free in e1
    """
    if not nest.dims or not is_total(stm.exp) or any(map(flow.is_variant, free_in_stm(stm))):
        return None
    if any(p.name in flow.consumed for p in stm.pat):
        return None
    flow.note(Rule.INVARIANT, ", ".join(str(p.name) for p in stm.pat))
    flow.keep(stm)
    return Rule.INVARIANT


def alias_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Another name of an element is the same element; so is a copy that nobody overwrites."""
    match stm:
        case Stm((param,), Copied(Var(source)), (), _, _):
            pass
        case Stm((param,), Copy(source), (), _, _) if param.name not in flow.consumed:
            pass
        case _:
            return None
    elem = flow.elems.get(source)
    if elem is None:
        return None
    return _now_element(flow, param, elem, Rule.ALIAS)


def _now_element(flow: Flow, param: Param, elem: Elem, rule: Rule) -> Rule:
    """`param` is an element of an array that others see too."""
    flow.note(rule, str(param.name))
    flow.fresh.discard(elem.array)
    flow.elems[param.name] = elem
    return rule


def rearrange_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), rearrange (k1..kn) x)  ⟶  G(Σ, rearrange (0, 1+k1 .. 1+kn) y)"""
    match stm:
        case Stm((param,), Rearrange(perm, source), (), _, _) if (elem := flow.elems.get(source)) is not None:
            pass
        case _:
            return None
    outer = len(elem.indices)
    shape = flow.types[elem.array].shape
    whole_perm = (*range(outer), *(outer + k for k in perm))
    new_type = Type(param.type.prim, tuple(shape[k] for k in whole_perm))
    flow.fresh.discard(elem.array)
    array = flow.emit_as(param.name.base, new_type, Rearrange(whole_perm, elem.array))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.REARRANGE)


def reshape_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), reshape [s] x)  ⟶  G(Σ, reshape [m][s] y)        m the width of y; s invariant"""
    match stm:
        case Stm((param,), Reshape(new, source), (), _, _) if nest.dims and all(map(flow.is_invariant, new)):
            pass
        case _:
            return None
    elem = flow.elems.get(source)
    if elem is None:
        elem = _array_of_deferred(flow, nest, source)
    if elem is None:
        return None
    outer = flow.types[elem.array].shape[: len(elem.indices)]
    flow.fresh.discard(elem.array)
    array = flow.emit_as(param.name.base, param.type.array_of(*outer), Reshape(outer + new, elem.array))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.RESHAPE)


def _array_of_deferred(flow: Flow, nest: Nest, name: Name) -> Elem | None:
    """An array for a deferred row of regular size."""
    deferred = flow.deferred.get(name)
    if deferred is None or deferred.weight >= HEAVY or not flow.is_regular((flow.types[name],)):
        return None
    (array,) = expand(flow, nest, (Var(name),))
    return Elem(array, nest.indices)


def slice_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), x[a:+n*s])  ⟶  G(Σ, y[:, a:+n*s])        a, n, s invariant, known in bounds"""
    match stm:
        case Stm((param,), Index(source, dims, True), (), _, _) if param.type.shape and nest.dims:
            pass
        case _:
            return None
    elem = flow.elems.get(source)
    if elem is None or not all(map(flow.is_invariant, index_atoms(dims))):
        return None
    outer = flow.types[elem.array].shape[: len(elem.indices)]
    all_dims: tuple[DimIndex, ...] = (*whole(outer), *dims)
    flow.fresh.discard(elem.array)
    array = flow.emit_as(param.name.base, param.type.array_of(*outer), Index(elem.array, all_dims, True))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.SLICE)


def concat_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, concat xs ys)  ⟶  segmap (Σ, k < n+m) { if k < n then xs[k] else ys[k-n] }"""
    match stm:
        case Stm((param,), Concat(arrays, _), (), _, _) if nest.dims:
            pass
        case _:
            return None
    wanted = frontier(flow, arrays)
    if wanted is None or not flow.is_regular((param.type, *(flow.types[a] for a in arrays))):
        return None
    settle(flow, nest, wanted)
    flow.note(Rule.CONCAT, str(param.name))
    inner: tuple[Dim, ...] = tuple((flow.fresh_param("k", I64).name, size) for size in param.type.shape)
    body = pick(flow, arrays, tuple(Var(k) for k, _ in inner), scalar(param.type.prim))
    emit_segmap(flow, nest.dims + inner, flow.bind(nest, stm.pat), body, (scalar(param.type.prim),))
    return Rule.CONCAT


def pick(flow: Flow, arrays: tuple[Name, ...], indices: tuple[Atom, ...], element: Type) -> Body:
    """The element at `indices` of the concatenation: from the last array backwards, one branch around the other."""
    offsets: list[Atom] = [i64(0)]
    before: list[Stm] = []
    for array in arrays[:-1]:
        size = flow.types[array].shape[0]
        offsets.append(_binary(flow, before, Op.ADD, offsets[-1], size) if len(offsets) > 1 else size)
    chosen = _at(flow, arrays[-1], offsets[-1], indices, element)
    for array, offset, end in zip(arrays[-2::-1], offsets[-2::-1], offsets[:0:-1], strict=True):
        here = _at(flow, array, offset, indices, element)
        is_here = flow.fresh_param("c", BOOL)
        value = flow.fresh_param("x", element)
        test = single(PrimOp(Op.LT, Prim.I64, (indices[0], end)), is_here, flow.loc)
        choice = single(If(Var(is_here.name), here, chosen), value, flow.loc)
        chosen = Body((test, choice), (Var(value.name),))
    return Body((*before, *chosen.stms), chosen.result)


def _at(flow: Flow, array: Name, offset: Atom, indices: tuple[Atom, ...], element: Type) -> Body:
    stms: list[Stm] = []
    first = indices[0] if offset == i64(0) else _binary(flow, stms, Op.SUB, indices[0], offset)
    value = flow.fresh_param("x", element)
    stms.append(single(element_of(array, flow.types[array].shape, (first, *indices[1:])), value, flow.loc))
    return Body(tuple(stms), (Var(value.name),))


def _binary(flow: Flow, stms: list[Stm], op: Op, left: Atom, right: Atom) -> Atom:
    made = flow.fresh_param("p", I64)
    stms.append(single(PrimOp(op, Prim.I64, (left, right)), made, flow.loc))
    return Var(made.name)
