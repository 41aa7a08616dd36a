"""Maps whose results are only read with their dimensions in another order: points in that order.

    let xs = segmap (i < n, j < m) { e }       ⟶  let ys = segmap (j < m, i < n) { e }                         [P-Turn]
    .. rearrange (1, 0) xs ..                      .. ys ..

What is done to the columns of a matrix, `transpose (map f (transpose x))`, would else read them a row apart, and have
its results copied. It is done where a point is scalar code without loops, and no more of what it reads is then a row
apart: each reader rearranges the array, or is a map whose own last index is that of the dimension before the last. What
the map alone reads of a scan may be in any order, as its results are stored where that is wanted
(`kernels/lower.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from ...ir.core import (
    Assert,
    Body,
    Convert,
    Copied,
    Copy,
    DimIndex,
    Fix,
    If,
    Index,
    Level,
    Param,
    PrimOp,
    Prog,
    Rearrange,
    SegMap,
    SegOp,
    SegScan,
    SegSpace,
    Stm,
)
from ...ir.records import dataclass
from ...ir.rename import substitute_body
from ...ir.traverse import all_stms, bodies, free_in_stm, map_bodies, operands, rewritten
from ...ir.types import Name, Names, Type, Var
from ..simplify.driver import simplify

Perm = tuple[int, ...]
T = TypeVar("T")


def turn_maps(prog: Prog) -> Prog:
    """`prog` with such maps of the host turned; simplified, if a view was copied that is none now."""
    walk = _Walk(Names(prog.next_name))
    functions = tuple(replace(fun, body=walk.body(fun.body)) for fun in prog.functions)
    turned = prog if walk.names.next == prog.next_name else Prog(prog.consts, functions, walk.names.next)
    return simplify(turned) if walk.copied else turned


@dataclass(slots=True)
class _Walk:
    names: Names
    copied: bool = False

    def body(self, body: Body) -> Body:
        stms: list[Stm] = []
        left = body
        while left.stms:
            stm, left = left.stms[0], Body(left.stms[1:], left.result)
            if not isinstance(stm.exp, SegOp) and bodies(stm.exp):
                stm = replace(stm, exp=map_bodies(self.body, stm.exp))
            returned = any(Var(p.name) in left.result for p in stm.pat)
            perm = None if returned else _wanted(stm, tuple(stms), left.stms)
            if perm is not None:
                stm, left = self.turned(stm, perm, left)
            stms.append(stm)
        return Body(tuple(stms), left.result)

    def turned(self, stm: Stm, perm: Perm, behind: Body) -> tuple[Stm, Body]:
        """The map over the space in this order, and what comes behind with its results in this order."""
        exp = stm.exp
        assert isinstance(exp, SegMap)
        made = tuple(Param(self.names.again(p.name), Type(p.type.prim, in_order(p.type.shape, perm))) for p in stm.pat)
        own = {param.name: one.name for param, one in zip(stm.pat, made, strict=True)}
        views = {
            view.name: Var(own[reader.exp.array])
            for reader in behind.stms
            if isinstance(reader.exp, Rearrange) and reader.exp.array in own
            for view in reader.pat
        }
        self.copied |= any(isinstance(reader.exp, Copy) and reader.exp.array in views for reader in behind.stms)
        rest = tuple(reader for reader in behind.stms if not any(p.name in views for p in reader.pat))
        readers = substitute_body(_reading(Body(rest, behind.result), own, perm), views)
        return replace(stm, pat=made, exp=replace(exp, space=SegSpace(in_order(exp.space.dims, perm)))), readers


def _reading(body: Body, own: Mapping[Name, Name], perm: Perm) -> Body:
    """A body that reads elements of arrays where they are in those whose dimensions have this order."""

    def read(stm: Stm) -> tuple[Stm, ...] | None:
        match stm.exp:
            case Index(array, dims) if array in own:
                return (replace(stm, exp=replace(stm.exp, array=own[array], dims=in_order(dims, perm))),)
            case _:
                return None

    return rewritten(body, read)


def in_order(dims: tuple[T, ...], perm: Perm) -> tuple[T, ...]:
    """Dimensions as a rearrangement has them."""
    return tuple(dims[d] for d in perm)


def _wanted(stm: Stm, before: tuple[Stm, ...], behind: tuple[Stm, ...]) -> Perm | None:
    """The order in which all readers go through the results of a map whose points may be in another one."""
    match stm.exp:
        case SegMap(Level.THREAD, space, body, ret) if len(space.dims) > 1 and not any(t.shape for t in ret):
            pass
        case _:
            return None
    if not all(map(_is_straight, all_stms(body))):
        return None
    orders = {order for p in stm.pat for reader in behind for order in orders_of(p.name, reader)}
    perm = next(iter(orders)) if len(orders) == 1 else None
    if perm is None or perm[-1] == len(perm) - 1:
        return None
    scans = {p.name for one in before if isinstance(one.exp, SegScan) for p in one.pat}
    scans -= {name for other in (*before, *behind) for name in free_in_stm(other)}
    now, turned = (_apart(body, space.indices[d], scans) for d in (-1, perm[-1]))
    return perm if turned <= now else None


def _is_straight(stm: Stm) -> bool:
    plain = isinstance(stm.exp, Index | PrimOp | Convert | Assert | Copied | If)
    return plain and not any(p.type.shape for p in stm.pat)


def orders_of(array: Name, reader: Stm) -> Iterator[Perm | None]:
    """In which orders of its dimensions a statement reads an array; None for one that is not known."""
    if array not in free_in_stm(reader):
        return
    match reader.exp:
        case Rearrange(perm, _) if not reader.certs:
            yield perm
        case SegMap(Level.THREAD, space, body, _) if space.dims and Var(array) not in body.result:
            last = depending(body, space.indices[-1])
            for stm in all_stms(body):
                match stm.exp:
                    case Index(name, dims) if name == array and all(isinstance(dim, Fix) for dim in dims):
                        along = [d for d, dim in enumerate(dims) if _goes_along(dim, last)]
                        rank = len(dims)
                        if along:
                            yield (*range(rank - 2), rank - 1, rank - 2) if along == [rank - 2] else None
                    case exp if Var(array) in operands(exp) or any(Var(array) in one.result for one in bodies(exp)):
                        yield None
                    case _:
                        pass
        case _:
            yield None


def _apart(body: Body, index: Name, anyhow: Collection[Name]) -> int:
    """How many reads of a body are a row apart for neighbours along an index, but for arrays that lie `anyhow`."""
    here = depending(body, index)
    count = 0
    for stm in all_stms(body):
        match stm.exp:
            case Index(array, (*outer, last)) if array not in anyhow and not _goes_along(last, here):
                count += any(_goes_along(dim, here) for dim in outer)
            case _:
                pass
    return count


def depending(body: Body, index: Name) -> frozenset[Name]:
    """What depends on an index, itself included."""
    found = {index}
    for stm in all_stms(body):
        if not found.isdisjoint(free_in_stm(stm)):
            found.update(p.name for p in stm.pat)
    return frozenset(found)


def _goes_along(dim: DimIndex, names: frozenset[Name]) -> bool:
    """Whether an index is one of these."""
    return isinstance(dim, Fix) and isinstance(dim.index, Var) and dim.index.name in names
