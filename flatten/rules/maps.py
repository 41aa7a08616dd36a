"""Maps: G1, G2, the incremental rule, and `#[sequential_outer]`.

G(Σ, e)                 ⟶  segmap Σ e                     [G1]
G(Σ, map (λx̄ → e) x̄s)  ⟶  G((Σ, ⟨x̄ ∈ x̄s⟩), e)          [G2]
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...ir.attributes import has_attr
from ...ir.basic import whole
from ...ir.core import (
    Body,
    Copied,
    Copy,
    Fix,
    ForLoop,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    Rearrange,
    Replicate,
    Reshape,
    Scratch,
    Screma,
    SegMap,
    Stm,
    Update,
)
from ...ir.rename import rename_lambda, substitute_body
from ...ir.traverse import free_in_body, free_in_stm
from ...ir.types import I64, Atom, Const, Name, Prim, Var, i64
from ..context.distribute import expand_into, frontier, settle
from ..context.nest import Elem, Flow, Nest
from ..context.recompute_cost import HEAVY, weight_of
from ..context.segop_bodies import defer, element_of, emit_segmap, iota_element, overwritten_here, seg_body, single
from ..context.trace import Rule
from ..versions.call_stacks import on_stacks
from ..versions.guards import (
    FULL,
    OUTER,
    Choice,
    both,
    choose,
    choose_calls,
    choose_uniform,
    flattening_attrs,
    guarded,
)
from ..versions.intra import in_few, inside, inside_version, unless_inside
from ..versions.irregular import lengths_of, sequential_version
from ..versions.loop_defaults import in_turns, with_loops
from ..versions.parallelism import exploitable, exploitable_stm, holds_uniform, holds_varying, is_mixed, is_sequential
from ..versions.product_defaults import in_threads_pays
from .interchange import in_columns

FEW = 8
"""Rows of up to this many elements, known to be so, are made by a thread."""


def distributable(flow: Flow, nest: Nest, stm: Stm) -> bool:
    """Whether a SOAC of the nest can be kernels of its own: its width is invariant, its results are regular, it is
    worth it, and what it needs can be computed before it. If so, what it needs has been computed afterwards."""
    if not nest.dims:
        return True
    if not exploitable_stm(flow, stm, set()):
        return False
    wanted = frontier(flow, free_in_stm(stm))
    if wanted is None:
        return False
    settle(flow, nest, wanted)
    return True


def map_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """The versions of a map: in one thread per point (G1), in one collective per point, flattened (G2), under guards.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  if t ≤ Par(Σ') then segmap Σ' e else G(Σ', e)
    """
    match stm.exp:
        case Screma(_, _, f, (), ()) as exp if distributable(flow, nest, stm):
            pass
        case _:
            return None
    if has_attr(stm.attrs, "sequential_outer") and not nest.dims:
        return sequential_outer(flow, nest, stm)
    inner = enter(flow, nest, exp)
    return body_versions(flow, inner, flow.bind(nest, stm.pat), stm, f)


def body_versions(flow: Flow, inner: Nest, pat: tuple[Param, ...], stm: Stm, f: Lambda) -> Rule:
    """The versions of the body of the map `stm`, whose nest is entered."""
    varying = flow.known.varying
    flow.known.varying = varying and "sequentialise_nonuniform" not in flattening_attrs(stm.attrs)
    mixed, flow.known.mixed = flow.known.mixed, is_mixed(flow, f.body, _params(f))
    choice = OUTER
    in_thread = on_stacks(flow, f)
    if in_thread is not None:
        choice = choose_calls(flow, stm)
    elif exploitable(flow, f.body, _params(f)):
        choice = choose(flow, stm, f.body, holds_varying(flow, f.body, _params(f)))
    elif holds_uniform(f.body):
        choice = choose_uniform(flow, stm)
    elif gives_rows(f) and not has_attr(stm.attrs, "sequential_inner"):
        choice = FULL
    rule = _versions(flow, inner, pat, f, choice, in_thread or f)
    flow.known.varying, flow.known.mixed = varying, mixed
    return rule


def gives_rows(f: Lambda) -> bool:
    """Whether a function gives rows as they lie, or filled with a number, some elements replaced, and computes but
    scalars: each of their elements is for a thread."""
    own = {p.name for p in f.params} | {p.name for stm in f.body.stms for p in stm.pat}
    return any(t.shape for t in f.ret) and all(
        _is_row(stm, own) if any(p.type.shape for p in stm.pat) else weight_of(stm.exp) < HEAVY for stm in f.body.stms
    )


def _is_row(stm: Stm, own: set[Name]) -> bool:
    """Whether a statement of a function that binds `own` gives a row that is there, or one that is filled."""
    match stm.exp:
        case Index() | Rearrange() | Reshape() | Copied() | Copy():
            return True
        case Replicate() | Iota():
            return _is_long(stm, own)
        case Update(_, dims, _, _):
            return _is_long(stm, own) and all(isinstance(dim, Fix) for dim in dims)
        case _:
            return False


def _is_long(stm: Stm, own: set[Name]) -> bool:
    """Whether the row that a statement gives has a size that is the same for all points, and may have many elements."""
    sizes = stm.pat[0].type.shape
    return not is_small(sizes) and own.isdisjoint(size.name for size in sizes if isinstance(size, Var))


def is_small(sizes: tuple[Atom, ...]) -> bool:
    """Whether an array of these sizes is known to have few elements."""
    return math.prod(int(size.value) if isinstance(size, Const) else FEW + 1 for size in sizes) <= FEW


def _versions(flow: Flow, inner: Nest, pat: tuple[Param, ...], f: Lambda, choice: Choice, in_thread: Lambda) -> Rule:
    """The versions that are wanted, the last of them without a guard: all parallelism, or where that is not wanted a
    row to a thread, which runs `in_thread`."""

    def in_threads(to: tuple[Param, ...]) -> None:
        g1(flow, inner, to, in_thread)

    def flat(to: tuple[Param, ...]) -> None:
        g2(flow, inner, to, f)

    lengths = lengths_of(flow, inner, f.body.stms) if choice.outer or choice.inside else None
    versions = [sequential_version(flow, inner, lengths, in_threads)] if choice.outer and choice.full else []
    if lengths is None:
        versions = [with_loops(flow, inner, f.body, version) for version in versions]
    middle = inside(flow, f, lengths) if choice.inside else None
    if middle is not None:
        versions = [replace(version, pays=unless_inside(flow, inner, middle, choice.inside)) for version in versions]
    if sums_rows(flow, f.body):
        versions = [replace(version, pays=Const(Prim.BOOL, False)) for version in versions]
    if middle is not None:
        collectives = [inside_version(flow, inner, f, middle, row, lengths) for row in choice.inside]
        versions += [in_turns(flow, inner, f.body, one) if choice.full else one for one in collectives]
    if choice.full or not (choice.outer or versions):
        last = flat
    else:
        last = in_threads if choice.outer else versions.pop().emit
    if versions and (choice.full or choice.outer):
        pays = in_threads_pays(flow, inner, f.body) if choice.full else in_few(flow, inner)
        versions = [replace(version, pays=both(flow, version.pays, pays)) for version in versions]
    guarded(flow, pat, versions, last)
    return Rule.INCREMENTAL if versions else Rule.G2


def sums_rows(flow: Flow, body: Body) -> bool:
    """Is all that a body computes sums of rows, which interchanged makes none?"""
    heavy = [stm.exp for stm in body.stms if weight_of(stm.exp) >= HEAVY]
    match heavy:
        case [Screma(scans=(), reds=(_, *_)) as exp]:
            return in_columns(flow, exp) is not None
        case _:
            return False


def _params(f: Lambda) -> tuple[Name, ...]:
    return tuple(p.name for p in f.params)


def g1(flow: Flow, inner: Nest, pat: tuple[Param, ...], f: Lambda) -> Rule:
    """The body in one thread per point of the nest; SOACs left inside are sequential.

    G(Σ, e)  ⟶  segmap Σ e
    """
    flow.note(Rule.G1, f"{', '.join(str(p.name) for p in pat)} over {inner.points()}")
    emit_segmap(flow, inner.dims, pat, f.body, f.ret)
    return Rule.G1


def g2(flow: Flow, inner: Nest, pat: tuple[Param, ...], f: Lambda) -> Rule:
    """Descend into a map.

    G(Σ, map (λx̄ → e) x̄s)  ⟶  G((Σ, ⟨x̄ ∈ x̄s⟩), e)
    """
    flow.note(Rule.G2, ", ".join(str(p.name) for p in pat))
    flow.context.walk(flow, inner, f.body.stms, f.body.result)
    expand_into(flow, inner, f.body.result, pat)
    return Rule.G2


# ---- Σ, ⟨x̄ ∈ x̄s⟩ ---------------------------------------------------------------------------------------------------


def enter(flow: Flow, nest: Nest, exp: Screma) -> Nest:
    """The nest with the dimension of `exp`, whose lambda's parameters are from here on variables of the nest."""
    return enter_arrays(flow, nest, exp.width, exp.map.params, exp.arrays)


def enter_arrays(flow: Flow, nest: Nest, width: Atom, params: tuple[Param, ...], arrays: tuple[Name, ...]) -> Nest:
    """`Σ, ⟨x̄ ∈ x̄s⟩` for any elements and arrays of one width."""
    index = flow.fresh_param("i", I64).name
    inner = nest.inside((index, width))
    enter_at(flow, inner, index, params, arrays)
    return inner


def enter_at(flow: Flow, inner: Nest, index: Name, params: tuple[Param, ...], arrays: tuple[Name, ...]) -> None:
    """The elements of the arrays at an index of the nest are from here on variables of it."""
    for param, array in zip(params, arrays, strict=True):
        flow.known.types[param.name] = param.type
        if array in flow.known.deferred and array not in flow.known.elems:
            defer(flow, inner, _element(flow, param, array, Var(index)))
            continue
        elem = flow.known.elems.get(array, Elem(array, ()))
        if flow.known.uses.get(array, 0) > 1 and elem.array in flow.known.fresh:
            flow.known.fresh.discard(elem.array)  # others look at the rows that its elements stand for
            flow.known.lent.add(elem.array)
        flow.known.elems[param.name] = Elem(elem.array, (*elem.indices, index))


def _element(flow: Flow, param: Param, array: Name, index: Atom) -> tuple[Stm, ...]:
    """`x = xs[i]` where `xs` is a deferred statement: without the array where the element is known.

    (iota n from a by s)[i] = a + i * s        (replicate n v)[i] = v
    """
    source = flow.known.deferred[array].stm
    match source.exp:
        case Iota() as iota if not source.certs:
            flow.note(Rule.IOTA, str(param.name))
            stms, value = iota_element(flow.context.names, iota, index, param.name.base, flow.output.loc)
            return (*stms, single(Copied(value), param, flow.output.loc))
        case Replicate((_,), value) if not source.certs:
            return (single(Copied(value), param, flow.output.loc),)
        case Replicate((_, *shape), value) if not source.certs:
            return (single(Replicate(tuple(shape), value), param, flow.output.loc),)
        case _:
            shape = flow.known.types[array].shape
            return (single(element_of(array, shape, (index,)), param, flow.output.loc),)


# ---- attributes ----------------------------------------------------------------------------------------------------


def sequential_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """`#[sequential]` at the top level: one thread does it all.

    G(•, e)  ⟶  segmap (i < 1) e, of which element 0 is taken

    What e overwrites is copied in the thread, which owns nothing that was made outside of it.
    """
    if nest.dims or not is_sequential(stm):
        return None
    flow.note(Rule.SEQUENTIAL, ", ".join(str(p.name) for p in stm.pat))
    one = nest.inside((flow.fresh_param("i", I64).name, i64(1)))
    arrays = tuple(flow.fresh_param(p.name.base, p.type.array_of(i64(1))) for p in stm.pat)
    results = tuple(Var(p.name) for p in stm.pat)
    made = seg_body(flow, one.dims, _owning(flow, Body((stm,), results)))
    ret = tuple(p.type for p in stm.pat)
    flow.emit(arrays, SegMap(flow.context.machine.lowest.level, made.space, made.body, ret))
    for param, array in zip(stm.pat, arrays, strict=True):
        flow.emit((param,), element_of(array.name, array.type.shape, (i64(0),)))
    return Rule.SEQUENTIAL


def _owning(flow: Flow, body: Body) -> Body:
    """A body after copies of the arrays from outside that it overwrites."""
    overwritten = overwritten_here(flow, body)
    outside = [name for name in free_in_body(body) if name in overwritten]
    copies = [flow.fresh_param(name.base, flow.known.types[name]) for name in outside]
    inner = substitute_body(body, {name: Var(p.name) for name, p in zip(outside, copies, strict=True)})
    made = [single(Copy(name), p, flow.output.loc) for name, p in zip(outside, copies, strict=True)]
    return Body((*made, *inner.stms), inner.result)


def sequential_outer(flow: Flow, nest: Nest, stm: Stm) -> Rule:
    """`#[sequential_outer]`: a loop over the rows, in whose body all parallelism is inside.

    map (λx̄ → e) x̄s  ⟶  loop ys = scratch for i < n do ys with [i] <- (let x̄ = x̄s[i] in e)
    """
    flow.note(Rule.SEQ_OUTER, ", ".join(str(p.name) for p in stm.pat))
    exp = stm.exp
    assert isinstance(exp, Screma)
    # another version may have its parameters as elements of a nest
    f = flow.learn(rename_lambda(exp.map, flow.context.names))
    index = flow.fresh_param("i", I64).name
    scratches = tuple(Var(flow.emit_as(p.name.base, p.type, Scratch(p.type))) for p in stm.pat)
    params = flow.again(stm.pat)
    loads = tuple(
        single(element_of(array, flow.known.types[array].shape, (Var(index),)), param, stm.loc)
        for param, array in zip(f.params, exp.arrays, strict=True)
    )
    results = flow.again(stm.pat)
    stores = tuple(
        single(_store(param.name, index, param.type.shape, value), result, stm.loc)
        for param, result, value in zip(params, results, f.body.result, strict=True)
    )
    body = Body((*loads, *f.body.stms, *stores), tuple(Var(p.name) for p in results))
    loop = Loop(params, scratches, ForLoop(index, exp.width, Prim.I64), body)
    flow.context.walk(flow, nest, (replace(stm, exp=loop),), ())
    return Rule.SEQ_OUTER


def _store(array: Name, index: Name, shape: tuple[Atom, ...], value: Atom) -> Update:
    return Update(array, (Fix(Var(index)), *whole(shape[1:])), value, True)
