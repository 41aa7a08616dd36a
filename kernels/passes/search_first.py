"""Reductions that find the first place: whether a piece has one, then which.

    reduce min (threads i in lo..hi { if c(i) then first + i else limit })
    ⟶  for pieces, until one has what is no more than `limit`:
           if reduce or (threads i of the piece { c(i) }):  acc := min acc (reduce min (threads i of the piece { .. }))
           else:  acc := min acc limit

Most pieces have none, for which a comparison in its own width does; all places behind the first are greater.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.dead_code import needed
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import Assign, BlockReduce, KConvert, KIf, KLambda, KLet, KOp, KStm, KVar, Operand
from ..kernel_ir.traverse import defined, names

PIECE = 1 << 10
LEAST_PIECES = 2
"""Pieces of what is worth a second loop."""
TRUE, FALSE = Const(Prim.BOOL, True), Const(Prim.BOOL, False)


@dataclass(frozen=True, slots=True)
class _First:
    """A place is `first` more than the index, where `cond` has the value `holds`; else there is `limit`."""

    cond: Operand
    holds: bool
    first: Operand
    limit: Operand


def searched_first(stm: BlockReduce, new: NewNames) -> tuple[KStm, ...] | None:
    """A reduction for the first place as a search; None where it is none."""
    found = _first_of(stm)
    if found is None:
        return None
    (result,), (neutral,) = stm.outs, stm.neutral
    best, going = new.name("best"), new.name("going", Prim.BOOL)
    out: list[KStm] = [kir.Declare(best, neutral)]
    length = new.let(out, Op.SUB, stm.hi, stm.lo)
    pieces: list[KStm] = [kir.Declare(going, TRUE)]
    count = new.let(pieces, Op.QUOT, new.let(pieces, Op.ADD, length, i64(PIECE - 1)), i64(PIECE))
    part, goes = new.name("part"), new.name("goes", Prim.BOOL)
    still = KLet(goes, KConvert(Prim.BOOL, Prim.BOOL, going))
    pieces.append(kir.For(part, count, (still, KIf(goes, _piece(stm, found, (best, going), part, new), ()))))
    whole = new.copy().rewritten((stm, Assign(best, result)))
    out.append(KIf(new.let(out, Op.GE, length, i64(LEAST_PIECES * PIECE)), tuple(pieces), whole))
    return (*out, KLet(result, KConvert(Prim.I64, Prim.I64, best)))


def _piece(stm: BlockReduce, found: _First, mutable: tuple[KVar, KVar], part: KVar, new: NewNames) -> tuple[KStm, ...]:
    """The best so far with the places of a piece, and whether another piece comes."""
    best, going = mutable
    out: list[KStm] = []
    lo = new.let(out, Op.ADD, stm.lo, new.let(out, Op.MUL, part, i64(PIECE)))
    hi = new.let(out, Op.MIN, stm.hi, new.let(out, Op.ADD, lo, i64(PIECE)))
    old = new.name("old")
    out.append(KLet(old, KConvert(Prim.I64, Prim.I64, best)))
    some = new.copy().statement(replace(_some(stm, found, new), lo=lo, hi=hi))
    then: list[KStm] = [new.copy().statement(replace(stm, lo=lo, hi=hi))]
    assert isinstance(some, BlockReduce), "a copy"
    assert isinstance(then[0], BlockReduce), "a copy"
    (here,) = then[0].outs
    then.append(Assign(best, new.let(then, Op.MIN, old, here)))
    behind = new.let(then, Op.GE, here, new.let(then, Op.ADD, hi, found.first))
    more = new.let(then, Op.LT, found.limit, here)
    then.append(Assign(going, new.let(then, Op.OR, behind, more, Prim.BOOL)))
    orelse: list[KStm] = []
    orelse.append(Assign(best, new.let(orelse, Op.MIN, old, found.limit)))
    return (*out, some, KIf(some.outs[0], tuple(then), tuple(orelse)))


def _some(stm: BlockReduce, found: _First, new: NewNames) -> BlockReduce:
    """Whether there is a place."""
    x, y, either, out, hit = (new.name(base, Prim.BOOL) for base in ("x", "y", "either", "some", "hit"))
    cond = KConvert(Prim.BOOL, Prim.BOOL, found.cond) if found.holds else KOp(Op.NOT, Prim.BOOL, (found.cond,))
    body = (*needed(stm.body, set(names(found.cond))), KLet(hit, cond))
    op = KLambda((x,), (y,), (KLet(either, KOp(Op.OR, Prim.BOOL, (x, y))),), (either,))
    return replace(stm, outs=(out,), body=body, values=(hit,), op=op, neutral=(FALSE,))


def _first_of(stm: BlockReduce) -> _First | None:
    made: dict[Operand, kir.Rhs] = {one.var: one.rhs for one in stm.body if isinstance(one, KLet)}
    own = defined(stm.body) | {stm.index.name}
    match stm.op.body, stm.values:
        case (KLet(var, KOp(Op.MIN, Prim.I64, args)),), (value,) if (
            stm.op.results == (var,) and set(args) == {*stm.op.left, *stm.op.right} and len(made) == len(stm.body)
        ):
            choice = made.get(value)
        case _:
            return None
    match choice:
        case KOp(Op.SELECT, _, (cond, x, y)) if stm.commutative and stm.step is None:
            sides = (x, y, True), (y, x, False)
        case _:
            return None
    for place, limit, holds in sides:
        first = _offset(stm.index, place, made.get(place))
        if first is not None and names(first, limit, stm.lo, stm.hi).isdisjoint(own):
            return _First(cond, holds, first, limit)
    return None


def _offset(index: KVar, place: Operand, made: kir.Rhs | None) -> Operand | None:
    """How much more than the index a place is that grows with it."""
    match made:
        case None if place == index:
            return i64(0)
        case KOp(Op.ADD, Prim.I64, (x, y), True) if index in (x, y):
            return y if x == index else x
        case _:
            return None
