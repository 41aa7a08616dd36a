"""Maps whose results are only read with their dimensions in another order: points in that order.

    let xs = segmap (i < n, j < m) { e }       ⟶  let ys = segmap (j < m, i < n) { e }                         [P-Turn]
    .. rearrange (1, 0) xs ..                      let xs = rearrange (1, 0) ys

What is done to the columns of a matrix, `transpose (map f (transpose x))`, would else read them a row apart, and have
its results copied. It is done where a point is scalar code without loops, and no more of what it reads is then a row
apart: each reader rearranges the array, or is a map whose own last index is that of the dimension before the last. The
view behind goes when the program is simplified. What the map alone reads of a scan may be in any order, as its results
are stored where that is wanted (`kernels/lower.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TypeVar

from ...ir.core import (
    Assert,
    Body,
    Convert,
    Copied,
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
from ...ir.traverse import all_stms, bodies, free_in_stm, map_bodies, operands
from ...ir.types import Name, Names, Type, Var
from ..simplify.driver import simplify

Perm = tuple[int, ...]
T = TypeVar("T")


def turn_maps(prog: Prog) -> Prog:
    """`prog` with such maps of the host turned; simplified, if there are any."""
    walk = _Walk(Names(prog.next_name))
    functions = tuple(replace(fun, body=walk.body(fun.body)) for fun in prog.functions)
    return prog if walk.names.next == prog.next_name else simplify(Prog(prog.consts, functions, walk.names.next))


@dataclass(slots=True)
class _Walk:
    names: Names

    def body(self, body: Body) -> Body:
        stms: list[Stm] = []
        for k, stm in enumerate(body.stms):
            if not isinstance(stm.exp, SegOp) and bodies(stm.exp):
                stm = replace(stm, exp=map_bodies(self.body, stm.exp))
            returned = any(Var(p.name) in body.result for p in stm.pat)
            perm = None if returned else _wanted(stm, body.stms[:k], body.stms[k + 1 :])
            stms += [stm] if perm is None else self.turned(stm, perm)
        return Body(tuple(stms), body.result)

    def turned(self, stm: Stm, perm: Perm) -> Iterator[Stm]:
        """The map over the space in this order, and views of its results."""
        exp = stm.exp
        assert isinstance(exp, SegMap)
        back = tuple(perm.index(d) for d in range(len(perm)))
        made = tuple(Param(self.names.again(p.name), Type(p.type.prim, in_order(p.type.shape, perm))) for p in stm.pat)
        space = SegSpace(in_order(exp.space.dims, perm))
        yield replace(stm, pat=made, exp=replace(exp, space=space))
        for param, own in zip(stm.pat, made, strict=True):
            yield Stm((param,), Rearrange(back, own.name), (), (), stm.loc)


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
        case Rearrange(perm, _):
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
