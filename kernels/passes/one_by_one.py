"""Threads of a CPU that go their own ways through arrays, one after the other.

    threads i in lo..hi { .. while .. { .. k := k - 1; a[k] := x .. } .. }
      ⟶  for j < hi - lo { let i = lo + j; .. while .. { .. } .. }

In lanes all wait for the one that goes on the longest, and each turn gathers what the turn before it has scattered: an
insertion sort of short rows takes twice the time. Loops whose threads only compute until they are done stay in lanes,
and those that write where a counter says that all share. Threads whose results are reduced are taken in the same way,
each combined with those before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.core import Level
from ...ir.ops import Op
from ...ir.types import Prim
from ..kernel_ir.fma import contracted_step
from ..kernel_ir.new_names import taken_in
from ..kernel_ir.nodes import (
    BlockReduce,
    Declare,
    For,
    KAligned,
    KArray,
    KConvert,
    Kernel,
    KLet,
    KLoad,
    KOp,
    KStm,
    KVar,
    KWhile,
    Operand,
    Space,
    Store,
    Threads,
)
from ..kernel_ir.traverse import Renamed, all_statements, assigned, map_mentions, names, operands, rewritten


def one_by_one(kernel: Kernel) -> Kernel:
    """The kernel with such loops of threads as loops of the block; the same one where there are none."""
    body = rewritten(kernel.body, _in_turn)
    return kernel if body == kernel.body else replace(kernel, body=body)


def _in_turn(stm: KStm) -> tuple[KStm, ...] | None:
    match stm:
        case Threads(index, lo, hi, body, _, Level.THREAD) if _wander(body):
            return _turns(index, lo, hi, body)
        case BlockReduce(index=index) if index.prim is Prim.I64 and _wander(stm.body):
            return _combined(stm)
        case _:
            return None


def _turns(index: KVar, lo: Operand, hi: Operand, body: tuple[KStm, ...]) -> tuple[KStm, ...]:
    count, turn = KVar(f"{index.name}.count", Prim.I64), KVar(f"{index.name}.turn", Prim.I64)
    length = KLet(count, KOp(Op.SUB, Prim.I64, (hi, lo)))
    first = KLet(index, KOp(Op.ADD, Prim.I64, (lo, turn)))
    return (length, For(turn, count, (first, *(map_mentions(one, _shared) for one in body))))


def _combined(stm: BlockReduce) -> tuple[KStm, ...]:
    """`acc = ne; for j < hi - lo { let i = lo + j; body; acc := op acc values }; outs = acc`"""
    step = contracted_step(stm.step or stm.op, stm.body, stm.values)
    accs = tuple(KVar(f"{out.name}.acc", out.prim) for out in stm.outs)
    combined = taken_in(Renamed("", {}), step, accs, stm.values)
    return (
        *(Declare(acc, ne) for acc, ne in zip(accs, stm.neutral, strict=True)),
        *_turns(stm.index, stm.lo, stm.hi, (*stm.body, *combined)),
        *(KLet(out, KConvert(out.prim, out.prim, acc)) for out, acc in zip(stm.outs, accs, strict=True)),
    )


def _shared(mention: KVar | KArray) -> KVar | KArray:
    """Arrays of a thread are arrays of the block while it is the turn of that thread."""
    if isinstance(mention, KArray) and mention.space is Space.PRIVATE:
        return replace(mention, space=Space.SHARED)
    return mention


def _wander(body: Iterable[KStm]) -> bool:
    """Whether a loop with a condition stores where only its own turns say."""
    return any(isinstance(stm, KWhile) and _stores_along(stm) for stm in all_statements(body))


def _stores_along(loop: KWhile) -> bool:
    moving = set(assigned((loop,)))
    for stm in all_statements((*loop.before, *loop.body)):
        match stm:
            case KLet(var, rhs) if not isinstance(rhs, KLoad) and not moving.isdisjoint(names(*operands(stm))):
                moving.add(var.name)
            case KLet(var, KLoad() | KAligned()):
                moving.add(var.name)
            case Store(_, index, _) if not moving.isdisjoint(names(index)):
                return True
            case _:
                pass
    return False
