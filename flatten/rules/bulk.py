"""Bulk operations in a nest: what needs no kernel, since it is a view or the same for all points.

G((Σ, ⟨x ∈ y⟩), rearrange (k1..kn) x)  ⟶  G(Σ, rearrange (0, 1+k1 .. 1+kn) y)        [rearrange]
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.basic import whole
from ...ir.core import (
    Assert,
    Body,
    Concat,
    Copied,
    Copy,
    DimIndex,
    Exp,
    If,
    Index,
    Param,
    PrimOp,
    Rearrange,
    Reshape,
    Scratch,
    Stm,
)
from ...ir.ops import Op
from ...ir.traverse import free_in_stm, index_atoms
from ...ir.types import BOOL, I64, Atom, Name, Prim, Type, Var, i64, scalar, zero
from ..context.distribute import expand, frontier, settle
from ..context.nest import Dim, Elem, Flow, Nest
from ..context.recompute_cost import HEAVY, is_certain, is_movable
from ..context.segop_bodies import emit_segmap
from ..context.statements import Statements
from ..context.trace import Rule
from ..versions.guards import parallelism_of


def invariant_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """What is invariant to the nest is computed once, before it: what may fail only if the nest has a point, and what
    reads an element at a place that was computed so.

    G(Σ, let x = e1 in e2)  ⟶  let x = e1 in G(Σ, e2)        if no variable of Σ is free in e1
    """
    if not nest.dims or not is_movable(stm) or any(map(flow.is_variant, free_in_stm(stm))):
        return None
    if any(p.name in flow.known.consumed for p in stm.pat):
        return None
    flow.note(Rule.INVARIANT, ", ".join(str(p.name) for p in stm.pat))
    relies = not flow.known.unread.isdisjoint(free_in_stm(stm))
    if not is_certain(stm) or (relies and isinstance(stm.exp, Index) and not stm.pat[0].type.shape):
        stm, relies = replace(stm, exp=_where_there_are_points(flow, nest, stm)), True
    if relies:
        flow.known.unread.update(p.name for p in stm.pat)
    flow.keep(stm)
    return Rule.INVARIANT


def _where_there_are_points(flow: Flow, nest: Nest, stm: Stm) -> Exp:
    """The expression, such that it cannot fail where Σ has no point: what it gives there is not used.

    e  ⟶  if Σ has points then e else unread        assert c  ⟶  assert (c or Σ has no points)
    """
    some = Var(flow.emit_as("some", BOOL, PrimOp(Op.LT, Prim.I64, (i64(0), parallelism_of(flow, nest)))))
    if isinstance(stm.exp, Assert):
        return replace(stm.exp, cond=flow.op("cond", Op.OR, flow.op("none", Op.NOT, some), stm.exp.cond))
    pat, unread = flow.again(stm.pat), flow.again(stm.pat)
    values = tuple(Stm((p,), _unread(p.type), (), (), stm.loc) for p in unread)
    return If(some, _giving(pat, (replace(stm, pat=pat, certs=(), attrs=()),)), _giving(unread, values))


def _unread(t: Type) -> Exp:
    return Scratch(t) if t.shape else Copied(zero(t.prim))


def _giving(pat: tuple[Param, ...], stms: tuple[Stm, ...]) -> Body:
    return Body(stms, tuple(Var(p.name) for p in pat))


def alias_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Another name of an element is the same element; so is a copy that is never overwritten."""
    match stm:
        case Stm((param,), Copied(Var(source)), (), _, _):
            pass
        case Stm((param,), Copy(source), (), _, _) if param.name not in flow.known.consumed:
            pass
        case _:
            return None
    elem = flow.known.elems.get(source)
    if elem is None:
        return None
    return _now_element(flow, param, elem, Rule.ALIAS)


def _now_element(flow: Flow, param: Param, elem: Elem, rule: Rule) -> Rule:
    """`param` is an element of an array that others see too."""
    flow.note(rule, str(param.name))
    flow.known.fresh.discard(elem.array)
    flow.known.elems[param.name] = elem
    return rule


def rearrange_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), rearrange (k1..kn) x)  ⟶  G(Σ, rearrange (0, 1+k1 .. 1+kn) y)"""
    match stm:
        case Stm((param,), Rearrange(perm, source)) if not flow.relies_on_nest(stm):
            elem = flow.known.elems.get(source)
        case _:
            return None
    if elem is None:
        return None
    outer = len(elem.indices)
    shape = flow.known.types[elem.array].shape
    whole_perm = (*range(outer), *(outer + k for k in perm))
    new_type = Type(param.type.prim, tuple(shape[k] for k in whole_perm))
    array = flow.emit_as(param.name.base, new_type, Rearrange(whole_perm, elem.array))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.REARRANGE)


def reshape_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), reshape [s] x)  ⟶  G(Σ, reshape [m][s] y)        m the width of y; s invariant"""
    match stm:
        case Stm((param,), Reshape(new, source)) if nest.dims and all(map(flow.is_invariant, new)):
            pass
        case _:
            return None
    if flow.relies_on_nest(stm):
        return None
    elem = flow.known.elems.get(source)
    if elem is None:
        elem = _array_of_deferred(flow, nest, source)
    if elem is None:
        return None
    outer = flow.known.types[elem.array].shape[: len(elem.indices)]
    array = flow.emit_as(param.name.base, param.type.array_of(*outer), Reshape(outer + new, elem.array))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.RESHAPE)


def _array_of_deferred(flow: Flow, nest: Nest, name: Name) -> Elem | None:
    """An array for a deferred row of regular size."""
    deferred = flow.known.deferred.get(name)
    if deferred is None or deferred.weight >= HEAVY or not flow.is_regular((flow.known.types[name],)):
        return None
    (array,) = expand(flow, nest, (Var(name),))
    return Elem(array, nest.indices)


def slice_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G((Σ, ⟨x ∈ y⟩), x[a:+n*s])  ⟶  G(Σ, y[:, a:+n*s])        a, n, s invariant, known in bounds"""
    match stm:
        case Stm((param,), Index(source, dims, True)) if param.type.shape and nest.dims:
            pass
        case _:
            return None
    elem = flow.known.elems.get(source)
    if elem is None or not all(map(flow.is_invariant, index_atoms(dims))) or flow.relies_on_nest(stm):
        return None
    outer = flow.known.types[elem.array].shape[: len(elem.indices)]
    all_dims: tuple[DimIndex, ...] = (*whole(outer), *dims)
    array = flow.emit_as(param.name.base, param.type.array_of(*outer), Index(elem.array, all_dims, True))
    return _now_element(flow, param, Elem(array, elem.indices), Rule.SLICE)


def concat_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """G(Σ, concat xs ys)  ⟶  segmap (Σ, k < n+m) { if k < n then xs[k] else ys[k-n] }"""
    match stm:
        case Stm((param,), Concat(arrays, _)) if nest.dims and not flow.relies_on_nest(stm):
            pass
        case _:
            return None
    wanted = frontier(flow, arrays)
    if wanted is None or not flow.is_regular((param.type, *(flow.known.types[a] for a in arrays))):
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
    before = Statements(flow)
    for array in arrays[:-1]:
        size = flow.known.types[array].shape[0]
        offsets.append(before.op("p", Op.ADD, offsets[-1], size) if len(offsets) > 1 else size)
    chosen = _at(flow, arrays[-1], offsets[-1], indices)
    for array, offset, end in zip(arrays[-2::-1], offsets[-2::-1], offsets[:0:-1], strict=True):
        here = _at(flow, array, offset, indices)
        inner = Statements(flow)
        choice = If(inner.op("c", Op.LT, indices[0], end), here, chosen)
        chosen = inner.body(inner.let("x", choice, element))
    return Body((*before.stms, *chosen.stms), chosen.result)


def _at(flow: Flow, array: Name, offset: Atom, indices: tuple[Atom, ...]) -> Body:
    inner = Statements(flow)
    first = indices[0] if offset == i64(0) else inner.op("p", Op.SUB, indices[0], offset)
    return inner.body(inner.at("x", array, first, *indices[1:]))
