"""Updates of arrays of varying size, and of parts of varying size.

    G(Σ, xs with [a :+ c * s] <- vs)  ⟶  segscatter Σf ds { start + a + k * s, vs[k] }        Σf the flat nest of c

with `start` where the segment of `xs` begins in the flat data; (Σ, k < c) for an invariant c. Where several dimensions
of the part vary, Σf is that of their product.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from ...ir.core import Copied, PrimOp, SegScatter, Slice, Stm, Update
from ...ir.ops import Op
from ...ir.traverse import free_in_stm
from ...ir.types import I64, Atom, Const, Prim, Var
from ..context.checked_indices import checked_part
from ..context.distribute import frontier, settle
from ..context.nest import Flow, Nest
from ..context.segop_bodies import defer, seg_body, single
from ..context.statements import Statements
from ..context.trace import Rule
from ..rules.writes import nest_atoms, own, places_of, read_before
from ..versions.segment_descriptors import bind_rows, flat_nest, is_varying, segments
from .writes import own_rows, relied_on


def varying_update_rule(flow: Flow, nest: Nest, stm: Stm) -> Rule | None:
    """Replacing a part of an array of varying size, or a part of varying size, in place.

    G(Σ, xs with [a :+ c * s] <- vs)  ⟶  segscatter Σf ds { start + a + k * s, vs[k] }
    """
    match stm:
        case Stm((param,), Update(array, _, _, safe)) if nest.dims and flow.known.varying:
            wanted = frontier(flow, [name for name in free_in_stm(stm) if name != array])
        case _:
            return None
    is_regular = flow.is_regular((param.type,)) and not all(isinstance(size, Const) for size in param.type.shape)
    if wanted is None or not (is_regular or is_varying(flow, param.type)):
        return None
    if array in flow.known.deferred and array not in flow.known.elems and frontier(flow, (array,)) is None:
        return None
    certs, checks = relied_on(flow, stm), list[Stm]()
    settle(flow, nest, wanted)
    settle(flow, nest, read_before(flow, stm, array))
    flow.note(Rule.UPDATE, str(param.name))
    if not safe:
        certs = (*certs, *checked_part(flow, checks, replace(stm, certs=()), param.type))
    defer(flow, nest, tuple(checks))
    _write(flow, nest, replace(stm, certs=certs))
    return Rule.UPDATE


def _write(flow: Flow, nest: Nest, stm: Stm) -> None:
    """The write of a part that is there, by what the statement relies on, which is checked for all points."""
    exp, (param,) = stm.exp, stm.pat
    assert isinstance(exp, Update)
    reads = [name for name in free_in_stm(stm) if name != exp.array]
    seg = segments(flow, nest, param.type.shape[0], stm) if is_varying(flow, param.type) else None
    (owned,) = own(flow, nest, (exp.array,), reads) if seg is None else own_rows(flow, nest, seg, (exp.array,), reads)
    with _part(flow, nest, stm, exp) as (space, at, element):
        places, value = places_of(element, exp, at, stm.certs), exp.value
        if at:
            assert isinstance(value, Var)
            value = element.at("v", value.name, *at)
        if seg is None:
            places = nest_atoms(nest) + places
        else:
            places = (element.op("p", Op.ADD, Var(seg.start), places[0]), *places[1:])
        made = seg_body(flow, space.dims, element.body(*places, value))
    pat = flow.bind(nest, stm.pat) if seg is None else (flow.fresh_param(param.name.base, flow.known.types[owned]),)
    flow.emit(pat, SegScatter(flow.context.machine.lowest.level, made.space, (owned,), len(places), made.body, True))
    if seg is not None:
        bind_rows(flow, nest, seg, stm.pat, (pat[0].name,))


@contextmanager
def _part(flow: Flow, nest: Nest, stm: Stm, exp: Update) -> Generator[tuple[Nest, tuple[Atom, ...], Statements]]:
    """The nest of all elements that an update writes, their places in the part, and what computes these."""
    dims = [(flow.fresh_param("k", I64), dim.count) for dim in exp.dims if isinstance(dim, Slice)]
    at = tuple(Var(k.name) for k, _ in dims)
    inner = tuple((k.name, count) for k, count in dims if flow.is_invariant(count))
    varying = [(k, count) for k, count in dims if not flow.is_invariant(count)]
    if not varying:
        yield nest.inside(*inner), at, Statements(flow)
        return
    width = varying[0][1]
    for _, count in varying[1:]:
        product = Statements(flow)
        width = product.op("w", Op.MUL, width, count)
        defer(flow, nest, tuple(product.stms))
    with flat_nest(flow, nest, segments(flow, nest, width, stm)) as (flat, place):
        element = Statements(flow)
        rest: Atom = Var(place)
        for k, count in reversed(varying[1:]):
            element.stms.append(single(PrimOp(Op.REM, Prim.I64, (rest, count)), k, flow.output.loc))
            rest = element.op("k", Op.QUOT, rest, count)
        element.stms.append(single(Copied(rest), varying[0][0], flow.output.loc))
        yield flat.inside(*inner), at, element
