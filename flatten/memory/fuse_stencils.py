r"""Fusion of maps through neighbours: what is cheap is computed again where it is read, rather than stored.

    let ys = segmap (i < n+1) { g }                     ⟶  let zs = segmap (i < n) { .. g[i] .. g[i+1] .. }  [M-Stencil]
    let zs = segmap (i < n) { .. ys[i] .. ys[i+1] .. }

Fluxes and their divergence, differences of differences. Each index of a read is that of its own dimension of the
reader, with something added: points lie as they lay, and each is computed once for each read. Reads of one point are
one, none is in a branch. What is computed more than once takes at most `LIMIT` operations more, or little more than it
takes to store and load it (`stencil_cost.py`); it cannot fail, and nothing that it reads is overwritten.

    ⟶  let zs = if bytes of ys >= FAR then segmap .. else let ys = segmap .. in segmap ..              [M-FarStencil]

where it takes more, but less than memory beyond the caches does. This is a pass behind all that looks for a map that
makes an array.
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
    If,
    Index,
    Level,
    Param,
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
from ...ir.types import BOOL, I64, Atom, Name, Names, Prim, Var, i64
from ..aliasing.classes import Sharing, sharing_in
from ..context.recompute_cost import LIMIT, is_total, weight_of
from ..simplify.driver import simplify
from .stencil_cost import excess

SLIGHT = 4.0
"""Instructions for a point, about what an element takes that is stored and loaded from a near cache."""
MOST = 30.0
"""Instructions for a point that beyond the caches take less time than such an element."""
FAR = 1 << 20
"""Bytes of an array from which on it does not stay in the caches of a core."""
OTHER = -1
"""Stands for what is not an index with something added: it may be the same at many points."""
RESULT = -1
"""The position of a body's result among those that use a name."""


def fuse_stencils(prog: Prog) -> Prog:
    """`prog` with cheap maps of the host computed where their neighbours are read; simplified, if there are any."""
    return _Walk(Names(prog.next_name), sharing_in(prog), SLIGHT).prog(prog)


def fuse_far_stencils(prog: Prog) -> Prog:
    """`prog` with maps that are not so cheap computed where their neighbours are read, if they are large."""
    return _Walk(Names(prog.next_name), sharing_in(prog), MOST).prog(prog)


@dataclass(frozen=True, slots=True)
class _Walk:
    """`most`: instructions more for a point."""

    names: Names
    sharing: Sharing
    most: float

    def prog(self, prog: Prog) -> Prog:
        functions = tuple(replace(fun, body=self.body(fun.body)) for fun in prog.functions)
        return prog if self.names.next == prog.next_name else simplify(Prog(prog.consts, functions, self.names.next))

    def body(self, body: Body) -> Body:
        """The last maps are taken first, so that what they read comes after them."""
        stms = host_stms(self.body, body)
        users: dict[Name, set[int]] = {atom.name: {RESULT} for atom in body.result if isinstance(atom, Var)}
        for k, stm in enumerate(stms):
            for name in free_in_stm(stm):
                users.setdefault(name, set()).add(k)
        left: dict[int, tuple[Stm, ...]] = {k: (stm,) for k, stm in enumerate(stms)}
        for k in reversed(range(len(stms))):
            by = set[int]().union(*(users.get(p.name, ()) for p in stms[k].pat))
            if len(by) != 1 or RESULT in by or not _is_cheap_map(stms[k], self.sharing):
                continue
            (reader,) = by
            *_, reads = left[reader]
            fused = _computed_there(stms[k], reads, self.names, self.most)
            if fused is None:
                continue
            for name in free_in_stm(stms[k]):
                users[name] = users[name] - {k} | {reader}
            left[reader] = (fused,) if self.most == SLIGHT else self.by_size(stms[k], reads, fused)
            del left[k]
        return Body(tuple(stm for some in left.values() for stm in some), body.result)

    def by_size(self, made: Stm, reader: Stm, fused: Stm) -> tuple[Stm, ...]:
        """The fused reader where the array that is made is large, else both."""
        names, (array, *_) = self.names, made.pat
        size: Atom = i64(sum(p.type.prim.bytes for p in made.pat))
        stms: list[Stm] = []
        for width in array.type.shape:
            more = Param(names.fresh("bytes"), I64)
            stms.append(Stm((more,), PrimOp(Op.MUL, Prim.I64, (size, width)), (), (), made.loc))
            size = Var(more.name)
        far = Param(names.fresh("far"), BOOL)
        stms.append(Stm((far,), PrimOp(Op.GE, Prim.I64, (size, i64(FAR))), (), (), made.loc))
        one, both = (
            rename_body(Body(side, tuple(Var(p.name) for p in reader.pat)), names)
            for side in ((fused,), (made, reader))
        )
        return *stms, replace(reader, exp=If(Var(far.name), one, both), certs=(), attrs=())


def _is_cheap_map(stm: Stm, sharing: Sharing) -> bool:
    """A map of threads to scalars, which cannot fail and whose inputs and results nothing overwrites."""
    exp = stm.exp
    if not isinstance(exp, SegMap) or exp.level is not Level.THREAD or stm.attrs or any(t.shape for t in exp.ret):
        return False
    if not _is_total(exp.body) or any(p.type.shape for s in exp.body.stms for p in s.pat):
        return False
    return not any(map(sharing.consumed, (*free_in_stm(stm), *(p.name for p in stm.pat))))


def _is_total(body: Body) -> bool:
    """Whether no statement of the body, or of a branch in it, can fail where it is executed."""
    return all(
        is_total(stm.exp) or (isinstance(stm.exp, If) and _is_total(stm.exp.then) and _is_total(stm.exp.orelse))
        for stm in body.stms
    )


def _computed_there(made: Stm, reader: Stm, names: Names, most: float) -> Stm | None:
    """The reader with the map's statements in place of its reads; None where it has to be stored, or takes no more than
    what is done at once. `most`: instructions more for a point."""
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
    again = (len(places.found) - 1) * sum(weight_of(s.exp) for s in exp.body.stms)
    more = 0.0 if again <= LIMIT else excess(exp, into, results.keys())
    if more > most or (most > SLIGHT >= more):
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
