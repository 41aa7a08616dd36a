r"""Fusion of maps through neighbours: what is cheap is computed again where it is read, rather than stored.

    let ys = segmap (i < n+1) { g }                     ⟶  let zs = segmap (i < n) { .. g[i] .. g[i+1] .. }  [M-Stencil]
    let zs = segmap (i < n) { .. ys[i] .. ys[i+1] .. }

Fluxes and their divergence, differences of differences. Each index of a read is that of its own dimension of the
reader, with something added: points lie as they lay, and each is computed once for each read. Reads of one point are
one, none is in a branch. What is computed more than once takes at most `LIMIT` operations more; it cannot fail, and
nothing that it reads is overwritten.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from ...ir.attributes import is_opaque
from ...ir.core import (
    Body,
    Copied,
    DimIndex,
    Exp,
    Fix,
    Index,
    Level,
    PrimOp,
    Prog,
    SegMap,
    SegRed,
    SegScan,
    Stm,
)
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_body, substitute_body
from ...ir.traverse import free_in_stm, host_stms
from ...ir.types import Atom, Name, Names, Var
from ..aliasing.classes import Sharing, sharing_in
from ..context.recompute_cost import LIMIT, is_total_body, weight_of
from ..simplify.driver import simplify

OTHER = -1
"""Stands for what is not an index with something added: it may be the same at many points."""
RESULT = -1
"""The position of a body's result among those that use a name."""


def fuse_stencils(prog: Prog) -> Prog:
    """`prog` with cheap maps of the host computed where their neighbours are read; simplified, if there are any."""
    sharing, names = sharing_in(prog), Names(prog.next_name)

    def on_body(body: Body) -> Body:
        stms = host_stms(on_body, body)
        return Body(_fused(stms, body.result, sharing, names), body.result)

    functions = tuple(replace(fun, body=on_body(fun.body)) for fun in prog.functions)
    return prog if names.next == prog.next_name else simplify(Prog(prog.consts, functions, names.next))


def _fused(stms: tuple[Stm, ...], result: tuple[Atom, ...], sharing: Sharing, names: Names) -> tuple[Stm, ...]:
    """The statements of a body, the last maps taken first, so that what they read comes after them."""
    users: dict[Name, set[int]] = {atom.name: {RESULT} for atom in result if isinstance(atom, Var)}
    for k, stm in enumerate(stms):
        for name in free_in_stm(stm):
            users.setdefault(name, set()).add(k)
    left = dict(enumerate(stms))
    for k in reversed(range(len(stms))):
        by = set[int]().union(*(users.get(p.name, ()) for p in stms[k].pat))
        if len(by) != 1 or RESULT in by or not _is_cheap_map(left[k], sharing):
            continue
        (reader,) = by
        fused = _computed_there(left[k], left[reader], names)
        if fused is None:
            continue
        for name in free_in_stm(left[k]):
            users[name] = users[name] - {k} | {reader}
        left[reader] = fused
        del left[k]
    return tuple(left.values())


def _is_cheap_map(stm: Stm, sharing: Sharing) -> bool:
    """A map of threads to scalars, which cannot fail and whose inputs and results nothing overwrites."""
    exp = stm.exp
    if not isinstance(exp, SegMap) or exp.level is not Level.THREAD or stm.attrs or any(t.shape for t in exp.ret):
        return False
    if not is_total_body(exp.body) or any(p.type.shape for s in exp.body.stms for p in s.pat):
        return False
    return not any(map(sharing.consumed, (*free_in_stm(stm), *(p.name for p in stm.pat))))


def _computed_there(made: Stm, reader: Stm, names: Names) -> Stm | None:
    """The reader with the map's statements in place of its reads; None where it has to be stored."""
    exp, into = made.exp, reader.exp
    assert isinstance(exp, SegMap)
    if not isinstance(into, SegMap | SegRed | SegScan) or into.level is not Level.THREAD or is_opaque(reader):
        return None
    if isinstance(into, SegRed) and into.ends is not None:
        return None
    if len(into.space.dims) != len(exp.space.dims):
        return None
    results = {p.name: atom for p, atom in zip(made.pat, exp.body.result, strict=True)}
    places = _Reads(frozenset(results), {name: frozenset((d,)) for d, name in enumerate(into.space.indices)}, set())
    if not places.are_stencil(into.body):
        return None
    if (len(places.found) - 1) * sum(weight_of(s.exp) for s in exp.body.stms) > LIMIT:
        return None
    body = _Inlining(exp, results, names).body(into.body)
    fused = replace(reader, exp=replace(into, body=body), certs=tuple(dict.fromkeys((*made.certs, *reader.certs))))
    return None if free_in_stm(fused) & results.keys() else fused


@dataclass(frozen=True, slots=True)
class _Reads:
    """The places at which arrays are read. `sources`: the dimensions whose index the values of a body come from."""

    arrays: frozenset[Name]
    sources: dict[Name, Set[int]]
    found: set[tuple[DimIndex, ...]]

    def are_stencil(self, body: Body) -> bool:
        """Whether the arrays are read by elements alone, each index made of that of its own dimension."""
        if any(isinstance(atom, Var) and atom.name in self.arrays for atom in body.result):
            return False
        for stm in body.stms:
            match stm.exp:
                case Index(array, dims, True) if array in self.arrays:
                    if not all(isinstance(dim, Fix) and self.of(dim.index) == {d} for d, dim in enumerate(dims)):
                        return False
                    self.found.add(dims)
                case _ if not self.arrays.isdisjoint(free_in_stm(stm)):
                    return False
                case _:
                    pass
            found = frozenset[int]().union(*(self.of(Var(name)) for name in free_in_stm(stm)))
            if found and not _is_offset(stm.exp):
                found |= {OTHER}
            self.sources.update((p.name, found) for p in stm.pat)
        return True

    def of(self, atom: Atom) -> Set[int]:
        return self.sources.get(atom.name, frozenset()) if isinstance(atom, Var) else frozenset()


def _is_offset(exp: Exp) -> bool:
    match exp:
        case PrimOp(op):
            return op in (Op.ADD, Op.SUB)
        case _:
            return isinstance(exp, Copied)


@dataclass(frozen=True, slots=True)
class _Inlining:
    """A map whose `results` are computed where they are read."""

    exp: SegMap
    results: dict[Name, Atom]
    names: Names

    def body(self, body: Body) -> Body:
        return Body(tuple(new for stm in body.stms for new in self.statement(stm)), body.result)

    def statement(self, stm: Stm) -> tuple[Stm, ...]:
        match stm.exp:
            case Index(array, dims) if array in self.results:
                at = {
                    name: dim.index
                    for name, dim in zip(self.exp.space.indices, dims, strict=True)
                    if isinstance(dim, Fix)
                }
                there = Body(self.exp.body.stms, (self.results[array],))
                made = rename_body(substitute_body(there, at), self.names)
                return (*made.stms, replace(stm, exp=Copied(made.result[0])))
            case _:
                return (stm,)
