r"""Maps that are concatenated in a nest are one map, each of whose elements belongs to one of them.

    ys = map f xs;  concat ys zs  ⟶  map (\k -> if k < n then f xs[k] else zs[k - n]) (iota (n + m))           [F-Join]

The parts are never there, and what reads the row can be fused with it. For maps by scalar code that nothing else uses.
Each element is computed once, as before; what several parts of one map share is computed for each of them, if it is
cheap. Not on the host: there each map writes to its place of the result (`kernels/host_ir/parts_in_place.py`).

    ys = concat [a] xs;  map f ys[s:]  ⟶  map (\k -> f (if k < 1 then a else xs[k - 1])) (s...n)              [F-Ends]

A few elements before an array or behind it need no copy of the array where one SOAC reads it, or a part of it without
gaps: differences of neighbours, sums up to an element but without it. Loops over threads are cut at such ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...ir.attributes import is_opaque
from ...ir.basic import whole
from ...ir.core import Body, Concat, Exp, Fix, If, Index, Iota, Lambda, Param, PrimOp, Screma, Slice, Stm
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.rename import rename_lambda
from ...ir.types import BOOL, I64, Atom, Const, Name, Prim, Type, Var, i64, scalar
from ..context.recompute_cost import LIMIT, weight_of
from .graph import Context, Node, Scope, may_move, node_of
from .loops import is_scalar

PARTS = 8
"""A concatenation of more parts stays one: each part is a test for those behind it."""
ENDS = 4
"""Elements at the ends of an array that are read where they are."""


def join(node: Node, scope: Scope) -> Node | None:
    """The map in place of a concatenation of scalars; `scope` gets its numbers, and loses the maps."""
    stm, exp = node.stm, node.stm.exp
    if not isinstance(exp, Concat) or is_opaque(stm) or len(exp.arrays) > PARTS or stm.pat[0].type.rank != 1:
        return None
    numbers = _maps_of(node, exp.arrays, scope)
    if not numbers:
        return None
    maps = [scope.remove(number).stm for number in numbers]
    iota, made = _chosen(stm, exp, maps, scope.context)
    scope.add(node_of(iota))
    scope.context.fired.append(join.__name__)
    return node_of(made)


def map_with_ends(stm: Stm, part: Stm, context: Context) -> tuple[Stm, Stm] | None:
    """Numbers, and the map over them in place of an array with a few elements at its ends, or of `part` of that."""
    exp = stm.exp
    if not isinstance(exp, Concat) or is_opaque(stm) or len(exp.arrays) > PARTS or stm.pat[0].type.rank != 1:
        return None
    widths = [context.types[array].shape[0] for array in exp.arrays]
    ends = [int(width.value) for width in widths if isinstance(width, Const)]
    if len(ends) + 1 != len(widths) or sum(ends) > ENDS:
        return None
    match part.exp:
        case Index(_, (Slice(start, count, step),), True) if step == i64(1):
            return _chosen(
                replace(part, certs=(*stm.certs, *part.certs)), exp, (), context, Iota(count, start, step, Prim.I64)
            )
        case Concat():
            return _chosen(stm, exp, (), context)
        case _:
            return None


def _chosen(
    stm: Stm, exp: Concat, maps: Sequence[Stm], context: Context, numbers: Iota | None = None
) -> tuple[Stm, Stm]:
    """Numbers, all if not others, and the map over them that chooses between the parts; `maps` make some of these."""
    maker = {p.name: one for one in maps for p in one.pat}
    (param,), numbers = stm.pat, numbers or Iota(exp.width, i64(0), i64(1), Prim.I64)
    ks, k = Param(context.names.fresh("ks"), I64.array_of(numbers.count)), Param(context.names.fresh("k"), I64)
    context.types[ks.name] = ks.type
    row = _Row(stm, maker, Var(k.name), param.type.prim, context)
    f = Lambda((k,), row.body(exp.arrays), (scalar(param.type.prim),))
    certs = tuple(dict.fromkeys(cert for one in (*maps, stm) for cert in one.certs))
    iota = Stm((ks,), numbers, (), (), stm.loc)
    return iota, Stm(stm.pat, Screma(numbers.count, (ks.name,), f, (), ()), certs, stm.attrs, stm.loc)


def _maps_of(node: Node, arrays: Sequence[Name], scope: Scope) -> list[int]:
    """The maps that the concatenation alone uses and that may be computed where it is."""
    found: list[int] = []
    for array in arrays:
        match scope.maker_of(array):
            case (number, maker) if number not in found and _is_joined(maker.stm, arrays, scope):
                if may_move(number, maker, node, [], scope):
                    found.append(number)
            case _:
                pass
    return found


def _is_joined(stm: Stm, arrays: Sequence[Name], scope: Scope) -> bool:
    match stm.exp:
        case Screma(_, (_, *_), f, (), ()) if not stm.attrs and all(map(is_scalar, f.body.stms)):
            made = [p.name for p in stm.pat]
        case _:
            return False
    if any(scope.is_needed(name) or name not in arrays for name in made):
        return False
    times = sum(arrays.count(name) for name in made)
    return times == 1 or sum(weight_of(s.exp) for s in f.body.stms) <= LIMIT


@dataclass(frozen=True, slots=True)
class _Row:
    """What the map computes: its element at `k`, of scalars of `prim`; `maker` has the maps by what they made."""

    stm: Stm
    maker: Mapping[Name, Stm]
    k: Atom
    prim: Prim
    context: Context

    def body(self, arrays: Sequence[Name]) -> Body:
        """From the last array backwards, one branch around the other."""
        before: list[Stm] = []
        starts: list[Atom] = [i64(0)]
        for array in arrays[:-1]:
            starts.append(self.op(before, Op.ADD, starts[-1], self.context.types[array].shape[0]))
        chosen = self.element(arrays[-1], starts[-1])
        for array, start, end in zip(arrays[-2::-1], starts[-2::-1], starts[:0:-1], strict=True):
            test = self.bound(PrimOp(Op.LT, Prim.I64, (self.k, end)), "c", BOOL)
            choice = self.bound(If(_result(test), self.element(array, start), chosen), "x", scalar(self.prim))
            chosen = Body((test, choice), (_result(choice),))
        return Body((*before, *chosen.stms), chosen.result)

    def element(self, array: Name, start: Atom) -> Body:
        """The element at `k` of an array that begins at `start`: f xs[k - start] if a map makes it."""
        stms: list[Stm] = []
        alone = self.context.types[array].shape == (i64(1),)
        at = Fix(i64(0) if alone else self.op(stms, Op.SUB, self.k, start))
        made = self.maker.get(array)
        if made is None:
            stms.append(self.bound(Index(array, (at,), True), "x", scalar(self.prim)))
            return Body(tuple(stms), (_result(stms[-1]),))
        assert isinstance(made.exp, Screma)
        f = rename_lambda(made.exp.map, self.context.names)
        for p, xs in zip(f.params, made.exp.arrays, strict=True):
            stms.append(Stm((p,), Index(xs, (at, *whole(p.type.shape)), True), (), (), made.loc))
        number = [p.name for p in made.pat].index(array)
        return Body((*stms, *f.body.stms), (f.body.result[number],))

    def op(self, stms: list[Stm], op: Op, x: Atom, y: Atom) -> Atom:
        """`x op y`, for a sum or a difference."""
        if y == i64(0):
            return x
        if op is Op.ADD and x == i64(0):
            return y
        stms.append(self.bound(PrimOp(op, Prim.I64, (x, y)), "at", I64))
        return _result(stms[-1])

    def bound(self, exp: Exp, base: str, t: Type) -> Stm:
        param = Param(self.context.names.fresh(base), t)
        self.context.types[param.name] = t
        return Stm((param,), exp, (), (), self.stm.loc)


def _result(stm: Stm) -> Atom:
    return Var(stm.pat[0].name)
