"""Updates of all but the ends of an array by a map that reads neighbours there: one map over the whole array.

    let ys = segmap (i < n - 2) { e[i] }       ⟶  segmap (k < n) { if 1 <= k && k < 1 + (n - 2)            [P-Interior]
    in a with [1 :+ n - 2] <- ys                                   then let i = k - 1 in e[i] else a[k] }

Such a map cannot be in place (`in_place.py`, which comes before): its results would be stored, and copied into `a`.
Where the ends are a constant number of elements, copying these instead is less work; a loop then has two arrays that
take turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...ir.core import (
    Body,
    DimIndex,
    Fix,
    If,
    Index,
    Level,
    Param,
    PrimOp,
    Prog,
    SegMap,
    SegSpace,
    Slice,
    Stm,
    Update,
)
from ...ir.errors import Loc
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_body
from ...ir.traverse import host_stms, types_in
from ...ir.types import BOOL, I64, Atom, Const, Name, Names, Prim, Type, Var, scalar
from ..aliasing.classes import Sharing, sharing_in
from ..aliasing.regions import form_of, is_plain
from ..simplify.driver import simplify
from .scope import may_move, uses_in

ENDS = 16
"""Elements at both ends of a dimension together that are copied at most."""


def interior_updates(prog: Prog) -> Prog:
    """`prog` with maps over whole arrays for updates of their interior by the host; simplified, if there are any."""
    walk = _Walk(Names(prog.next_name), sharing_in(prog), types_in(prog), {})
    functions = tuple(replace(fun, body=walk.body(fun.body)) for fun in prog.functions)
    return prog if walk.names.next == prog.next_name else simplify(Prog(prog.consts, functions, walk.names.next))


@dataclass(slots=True)
class _Walk:
    """`defined`: where names of the host are bound."""

    names: Names
    sharing: Sharing
    types: Mapping[Name, Type]
    defined: dict[Name, Stm]

    def body(self, body: Body) -> Body:
        self.defined.update((p.name, stm) for stm in body.stms for p in stm.pat)
        stms = list(host_stms(self.body, body))
        uses = uses_in(stms, body.result)
        for k in reversed(range(len(stms))):
            number = self.made_for(stms, k, uses)
            if number is not None:
                stms[k] = self.whole(stms[number], stms[k])
                del stms[number]
                return self.body(Body(tuple(stms), body.result))
        return Body(tuple(stms), body.result)

    def made_for(self, stms: list[Stm], k: int, uses: Counter[Name]) -> int | None:
        """The place of the map whose results the update at `k` alone uses, for all but the ends of its array."""
        match stms[k].exp:
            case Update(array, dims, Var(value), True) if uses[value] == 1 and self.is_interior(array, dims):
                pass
            case _:
                return None
        number = next((j for j in range(k) if any(p.name == value for p in stms[j].pat)), None)
        if number is None:
            return None
        match stms[number].exp:
            case SegMap(Level.THREAD, space, body, (t,)) if not t.shape and len(space.dims) == len(dims):
                return number if is_plain(body) and may_move(self.sharing, stms[number], stms[number + 1 : k]) else None
            case _:
                return None

    def is_interior(self, array: Name, dims: tuple[DimIndex, ...]) -> bool:
        """Whether a constant number of elements of each dimension is left out."""
        return all(
            isinstance(dim, Slice) and dim.stride == Const(Prim.I64, 1) and self.is_inside(dim, size)
            for dim, size in zip(dims, self.types[array].shape, strict=True)
        )

    def is_inside(self, dim: Slice, size: Atom) -> bool:
        left = form_of(size, self.defined)
        for name, factor in form_of(dim.count, self.defined).items():
            left = {**left, name: left.get(name, 0) - factor}
        return isinstance(dim.start, Const) and all(
            c == 0 if name is not None else 0 <= c <= ENDS for name, c in left.items()
        )

    def whole(self, map_: Stm, update: Stm) -> Stm:
        """The map over the whole array."""
        exp, to = map_.exp, update.exp
        assert isinstance(exp, SegMap)
        assert isinstance(to, Update)
        shape = self.types[to.array].shape
        space = SegSpace(tuple((self.names.again(i), size) for i, size in zip(exp.space.indices, shape, strict=True)))
        stms, inner = list[Stm](), list[Stm]()
        conds: list[Atom] = []
        for k, i, dim in zip(space.indices, exp.space.indices, to.dims, strict=True):
            assert isinstance(dim, Slice)
            conds += self.bounds(stms, k, dim, map_.loc)
            inner.append(Stm((Param(i, I64),), PrimOp(Op.SUB, Prim.I64, (Var(k), dim.start)), (), (), map_.loc))
        cond: Atom = Const(Prim.BOOL, True)
        for one in conds:
            cond = self.op(stms, Op.AND, Prim.BOOL, cond, one, map_.loc)
        here = rename_body(Body((*inner, *exp.body.stms), exp.body.result), self.names)
        kept = Param(self.names.fresh("kept"), exp.ret[0])
        load = Stm((kept,), Index(to.array, tuple(Fix(Var(k)) for k in space.indices), True), (), (), map_.loc)
        result = Param(self.names.fresh("x"), exp.ret[0])
        stms.append(Stm((result,), If(cond, here, Body((load,), (Var(kept.name),))), (), (), map_.loc))
        certs = tuple(dict.fromkeys((*map_.certs, *update.certs)))
        made = SegMap(exp.level, space, Body(tuple(stms), (Var(result.name),)), exp.ret)
        return Stm(update.pat, made, certs, (), map_.loc)

    def bounds(self, stms: list[Stm], k: Name, dim: Slice, loc: Loc) -> Iterator[Atom]:
        """start <= k, k < start + count"""
        if dim.start != Const(Prim.I64, 0):
            yield self.op(stms, Op.LE, Prim.I64, dim.start, Var(k), loc)
        end = self.op(stms, Op.ADD, Prim.I64, dim.count, dim.start, loc)
        yield self.op(stms, Op.LT, Prim.I64, Var(k), end, loc)

    def op(self, stms: list[Stm], op: Op, prim: Prim, x: Atom, y: Atom, loc: Loc) -> Atom:
        result = BOOL if op in (Op.LE, Op.LT) else scalar(prim)
        param = Param(self.names.fresh("at"), result)
        stms.append(Stm((param,), PrimOp(op, prim, (x, y)), (), (), loc))
        return Var(param.name)
