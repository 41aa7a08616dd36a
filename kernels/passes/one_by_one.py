"""Threads of a CPU that go their own ways through arrays, one after the other.

    threads i in lo..hi { .. while .. { .. k := k - 1; a[k] := x .. } .. }
    threads i in lo..hi { a = xs[i]; n = ys[i]; for k < n { .. zs[a + k] .. } }
      ⟶  for j < hi - lo { let i = lo + j; .. }

In lanes all wait for the one that goes on the longest, and each turn gathers, also what the turn before it has
scattered: an insertion sort of short rows takes twice the time, a walk along rows of varying length, through a hash
table or a list (`analysis/walks.py`) up to ten times, as trial division, counts of each row or a stack one and a half
to three times, and turns that all share but read here and there up to two and a half times. As scalar code the
processor begins the next thread while it waits for this one. Values, their order and the checks stay.
So does a thread that writes a row which lanes would scatter (`analysis/long_rows.py`): patches of an image, lines of
text. Loops whose threads only compute until they are done stay in lanes (but the last few: `lanes/last_lanes.py`), and
those that write where a counter says that all share. Threads whose results are reduced are taken in the same way, each
combined with those before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.core import Level
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Prim
from ..analysis.long_rows import writes_rows
from ..analysis.uniformity import Facts, find_facts
from ..analysis.walks import walks
from ..kernel_ir.fma import contracted_step
from ..kernel_ir.new_names import NewNames, taken_in
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
    Space,
    Store,
    Threads,
)
from ..kernel_ir.traverse import Renamed, all_statements, assigned, map_mentions, names, operands, rewritten


def one_by_one(kernel: Kernel) -> Kernel:
    """The kernel with such loops of threads as loops of the block; the same one where there are none."""
    if not any(isinstance(stm, For | KWhile | Store) for stm in all_statements(kernel.body)):
        return kernel
    turns = _Turns(find_facts(kernel.body), NewNames("w"))
    body = rewritten(kernel.body, turns.statement)
    return replace(kernel, body=body) if turns.new.made else kernel


def goes_one_by_one(kernel: Kernel) -> bool:
    """Whether it has such threads."""
    turns = _Turns(find_facts(kernel.body), NewNames("w"))
    return any(isinstance(stm, Threads) and turns.is_scalar(stm) for stm in all_statements(kernel.body))


@dataclass(frozen=True, slots=True)
class _Turns:
    """`facts`: of the kernel."""

    facts: Facts
    new: NewNames

    def statement(self, stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case Threads() if self.is_scalar(stm):
                return self.in_turn(stm, self.new.copy(), ())
            case BlockReduce() if self.wander(stm):
                return self.combined(stm)
            case _:
                return None

    def is_scalar(self, stm: Threads) -> bool:
        return stm.unit is Level.THREAD and (self.wander(stm) or writes_rows(stm.body, self.facts))

    def wander(self, stm: Threads | BlockReduce) -> bool:
        return stm.index.prim is Prim.I64 and (_store_along(stm.body) or walks(stm.body, self.facts))

    def in_turn(self, stm: Threads | BlockReduce, copy: Renamed, then: Iterable[KStm]) -> tuple[KStm, ...]:
        """A copy of the body and what is to follow it in a loop; its variables are others, since these are uniform."""
        turn, count = self.new.name("turn", Prim.I64), self.new.name("turns", Prim.I64)
        length = KLet(count, KOp(Op.SUB, Prim.I64, (stm.hi, stm.lo), True))
        first = KLet(copy.made(stm.index), KOp(Op.ADD, Prim.I64, (stm.lo, turn), True))
        body = (first, *copy.rewritten(stm.body), *then)
        return (length, For(turn, count, tuple(map_mentions(one, _shared) for one in body)))

    def combined(self, stm: BlockReduce) -> tuple[KStm, ...]:
        """`acc = ne; for j < hi - lo { let i = lo + j; body; acc := op acc values }; outs = acc`"""
        copy = self.new.copy()
        accs = tuple(self.new.name("acc", out.prim) for out in stm.outs)
        step = contracted_step(stm.step or stm.op, stm.body, stm.values)
        values = (copy.read(value) for value in stm.values)
        return (
            *(Declare(acc, ne) for acc, ne in zip(accs, stm.neutral, strict=True)),
            *self.in_turn(stm, copy, taken_in(copy, step, accs, values)),
            *(KLet(out, KConvert(out.prim, out.prim, acc)) for out, acc in zip(stm.outs, accs, strict=True)),
        )


def _shared(mention: KVar | KArray) -> KVar | KArray:
    """Arrays of a thread are arrays of the block while it is the turn of that thread."""
    if isinstance(mention, KArray) and mention.space is Space.PRIVATE:
        return replace(mention, space=Space.SHARED)
    return mention


def _store_along(body: Iterable[KStm]) -> bool:
    """Whether a loop with a condition stores where only its own turns say."""
    return any(isinstance(stm, KWhile) and _stores_along(stm) for stm in all_statements(body))


def _stores_along(loop: KWhile) -> bool:
    moving = set(assigned((loop,)))
    for stm in all_statements((*loop.before, *loop.body)):
        match stm:
            case KLet(var, rhs) if isinstance(rhs, KLoad | KAligned) or not moving.isdisjoint(names(*operands(stm))):
                moving.add(var.name)
            case Store(_, index, _) if not moving.isdisjoint(names(index)):
                return True
            case _:
                pass
    return False
