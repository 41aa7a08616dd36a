"""Reductions that find the place of an extremum: the extremum first, then where it is.

    (x, k) = reduce op (x0, -1) (threads j < n { e(j), j })        op chooses by the order of the integers x alone
    ⟶  for pieces of `PIECE_BYTES`:  m = reduce max (threads j { e(j) })
                                     if op chooses m:  x, k := m, reduce min (threads j { e(j) = m: j })

An extremum of a vector is an instruction, with its place it is three or more, and places of bytes have four times the
bits. Few pieces have a new extremum, unless elements ascend; then a piece is read again while the nearest cache has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.ops import COMPARISONS, Op
from ...ir.records import dataclass
from ...ir.scalar import apply
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.new_names import NewNames
from ..kernel_ir.nodes import BlockReduce, KConvert, KLambda, KLet, KOp, KStm, KVar, Operand

PIECE_BYTES = 1 << 11
"""What the nearest cache holds beside others."""
LEAST_PIECES = 4
"""Pieces of what is worth a second loop."""
MOST = 8
"""Statements that make an element which is made twice."""
I64_ZERO, I32_ZERO = Const(Prim.I64, 0), Const(Prim.I32, 0)
ORDERS = ((0, 1), (0, 0), (1, 0))
"""Of two values: less, equal, more."""
FOUND: dict[tuple[bool, ...], tuple[Op, Op]] = {
    (True, False, False): (Op.MAX, Op.MIN),
    (True, True, False): (Op.MAX, Op.MAX),
    (False, False, True): (Op.MIN, Op.MIN),
    (False, True, True): (Op.MIN, Op.MAX),
}
"""For which of these an operator chooses the right one: the value it finds is the greatest or the least, and so is the
place of that."""


@dataclass(frozen=True, slots=True)
class _Search:
    """A reduction; which are its components of values and numbers of elements; the step that takes in an element, its
    condition, and whether that chooses the left operand; what is found."""

    stm: BlockReduce
    v: int
    k: int
    step: KLambda
    cond: Operand
    is_left: bool
    value: Op
    place: Op


def searched(stm: BlockReduce, k: int, new: NewNames) -> tuple[KStm, ...]:
    """A reduction whose component k is the number of the element, of those from 0 to `hi`, as a search; as it is where
    it is none, or few elements come."""
    found = _search_of(stm, k)
    if found is None:
        return (stm,)
    accs = tuple(new.name("best", out.prim) for out in stm.outs)
    size = PIECE_BYTES // stm.outs[found.v].prim.bytes
    out: list[KStm] = [kir.Declare(acc, ne) for acc, ne in zip(accs, stm.neutral, strict=True)]
    pieces: list[KStm] = []
    last = new.let(pieces, Op.ADD, stm.hi, Const(Prim.I64, size - 1))
    count = new.let(pieces, Op.QUOT, last, Const(Prim.I64, size))
    part = new.name("part", Prim.I64)
    pieces.append(kir.For(part, count, _piece(found, accs, part, Const(Prim.I64, size), new)))
    long = new.let(out, Op.GE, stm.hi, Const(Prim.I64, LEAST_PIECES * size))
    whole = (stm, *map(kir.Assign, accs, stm.outs))
    inside = new.copy()
    out.append(kir.KIf(long, tuple(pieces), inside.rewritten(whole)))
    out += [KLet(o, KConvert(o.prim, o.prim, acc)) for o, acc in zip(stm.outs, accs, strict=True)]
    return tuple(out)


def _piece(found: _Search, accs: tuple[KVar, ...], part: KVar, size: Operand, new: NewNames) -> tuple[KStm, ...]:
    """The best so far updated by the elements of a piece."""
    out: list[KStm] = []
    start = new.let(out, Op.MUL, part, size)
    length = new.let(out, Op.MIN, size, new.let(out, Op.SUB, found.stm.hi, start))
    best = _reduced(found, found.value, start, length, new, None)
    (extremum,) = best.outs
    step = new.copy()
    step.names |= dict(zip(found.step.left, accs, strict=True))
    step.names |= {found.step.right[found.v]: extremum, found.step.right[found.k]: I32_ZERO}
    out += (best, *step.rewritten(found.step.body))
    where = _reduced(found, found.place, start, length, new, extremum)
    (place,) = where.outs
    then: list[KStm] = [where]
    first, at = new.name("first", Prim.I32), new.name("place", Prim.I32)
    then.append(KLet(first, KConvert(Prim.I64, Prim.I32, start)))
    then.append(KLet(at, KOp(Op.ADD, Prim.I32, (first, place), True)))
    then += (kir.Assign(accs[found.v], extremum), kir.Assign(accs[found.k], at))
    sides = ((), tuple(then)) if found.is_left else (tuple(then), ())
    return (*out, kir.KIf(step.read(found.cond), *sides))


def _reduced(
    found: _Search, op: Op, start: Operand, length: Operand, new: NewNames, extremum: Operand | None
) -> BlockReduce:
    """The extremum of a piece; of the numbers of those elements that are `extremum`, if there is one."""
    stm, copied, j = found.stm, new.copy(), new.name("j", Prim.I64)
    index = copied.made(stm.index)
    body: list[KStm] = [KLet(index, KOp(Op.ADD, Prim.I64, (start, j), True)), *copied.rewritten(stm.body)]
    value, prim = copied.read(stm.values[found.v]), stm.outs[found.v].prim
    if extremum is not None:
        hit, number, here = (new.name(*of) for of in (("hit", Prim.BOOL), ("number", Prim.I32), ("here", Prim.I32)))
        body.append(KLet(hit, KOp(Op.EQ, prim, (value, extremum))))
        body.append(KLet(number, KConvert(Prim.I64, Prim.I32, j)))
        body.append(KLet(here, KOp(Op.SELECT, Prim.I32, (hit, number, _neutral(op, Prim.I32)))))
        value, prim = here, Prim.I32
    x, y, out, found_here = (new.name(base, prim) for base in ("x", "y", "found", "better"))
    choose = KLambda((x,), (y,), (KLet(found_here, KOp(op, prim, (x, y))),), (found_here,))
    return BlockReduce(
        (out,), j, I64_ZERO, length, tuple(body), (value,), choose, (_neutral(op, prim),), True, stm.is_long
    )


def _neutral(op: Op, prim: Prim) -> Const:
    """What an extremum of integers begins with."""
    least = -(1 << (prim.bits - 1)) if prim.is_signed else 0
    return Const(prim, least if op is Op.MAX else least + (1 << prim.bits) - 1)


# ---- recognition ----------------------------------------------------------------------------------------------------


def _search_of(stm: BlockReduce, k: int) -> _Search | None:
    step, v = stm.step, 1 - k
    if step is None or len(stm.outs) != 2 or not stm.outs[v].prim.is_int or len(stm.body) > MOST:
        return None
    if not stm.commutative or not all(isinstance(one, KLet) for one in stm.body):
        return None
    made = {one.var: one.rhs for one in step.body if isinstance(one, KLet)}
    conditions: list[tuple[Operand, bool]] = []
    for result, left, right in zip(step.results, step.left, step.right, strict=True):
        match made.get(result) if isinstance(result, KVar) else None:
            case KOp(Op.SELECT, _, (cond, x, y)) if (x, y) in ((left, right), (right, left)):
                conditions.append((cond, x == left))
            case _:
                return None
    tables: set[tuple[bool, ...]] = set()
    for cond, is_left in conditions:
        known: list[dict[Operand, int]] = [
            {step.left[v]: x, step.right[v]: y, step.left[k]: place} for place in (0, -1) for x, y in ORDERS
        ]
        holds = [_value(cond, step.body, one) for one in known]
        tables.add(tuple(one is not None and bool(one) is not is_left for one in holds))
        if None in holds:
            return None
    ways = FOUND.get(next(iter(tables))[: len(ORDERS)]) if len(tables) == 1 else None
    return None if ways is None else _Search(stm, v, k, step, *conditions[0], *ways)


def _value(asked: Operand, stms: Iterable[KStm], known: dict[Operand, int]) -> int | None:
    """A condition where it is known which of two operands is more, and if the left number is one of an element; None
    where it depends on anything else."""
    left, right, number = known

    def of(x: Operand) -> int | None:
        return int(x.value) if isinstance(x, Const) and x.prim is Prim.BOOL else known.get(x)

    for stm in stms:
        match stm:
            case KLet(var, KOp(op, _, (x, y))) if op in COMPARISONS and {x, y} in ({left, right}, {number, I32_ZERO}):
                known[var] = int(apply(op, Prim.I64, (known.get(x, 0), known.get(y, 0))))
            case KLet(var, KOp(Op.AND | Op.OR as op, Prim.BOOL, (x, y))) if (a := of(x)) is not None:
                if (b := of(y)) is not None:
                    known[var] = a & b if op is Op.AND else a | b
            case KLet(var, KOp(Op.NOT, Prim.BOOL, (x,))) if (a := of(x)) is not None:
                known[var] = 1 - a
            case _:
                pass
    return of(asked)
