"""Loops of warps as loops of threads: the only ones that printers, the tracer and later passes know.

    threads w in 0..k of warps { let x = f(w); threads t in 0..n { A }; fence; threads u in 0..m { B } }
    ⟶  threads i in 0..32k { w = i / 32; t = i % 32; if t < n { x = f(w); A } }
       fence
       threads i in 0..32k { w = i / 32; u = i % 32; if u < m { x = f(w); B } }

Index i is executed by thread i mod 32 of warp i / 32 of the block, since a block has whole warps. What a warp computes
for its loops has no memory (`analysis/check_collectives.py`), so that each loop may compute it again. A branch of warps
goes into the loops; a loop, which all warps execute as often, stays around them. A fence of warps becomes one of the
block, which orders more. A loop of blocks is executed by the one that there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from ...ir.core import Level
from ...ir.errors import IRError
from ...ir.machine import WARP
from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim, i64
from ..kernel_ir import nodes as kir
from ..kernel_ir.execution import spreads
from ..kernel_ir.nodes import Kernel, KIf, KLet, KOp, KStm, KVar, Threads
from ..kernel_ir.traverse import Renamed, rewritten

Stms = tuple[KStm, ...]


def divide_warps(kernel: Kernel) -> Kernel:
    """The kernel with loops of threads alone."""
    numbers = count()

    def on_stm(stm: KStm) -> Stms | None:
        if not isinstance(stm, Threads) or stm.unit is Level.THREAD:
            return None
        if stm.unit is Level.BLOCK:
            return (kir.For(stm.index, stm.hi, rewritten(stm.body, on_stm)),)
        if not isinstance(stm.hi, Const):
            raise IRError("a loop of warps goes to a constant")
        return tuple(_Warps(stm.index, int(stm.hi.value), numbers).divided(stm.body, (), ()))

    body = rewritten(kernel.body, on_stm)
    return kernel if body is kernel.body else replace(kernel, body=body)


@dataclass(frozen=True, slots=True)
class _Warps:
    """A loop of `warps`: its index, and numbers for copies of what it computes."""

    index: KVar
    warps: int
    numbers: Iterator[int]

    def divided(self, stms: Stms, before: Stms, where: tuple[tuple[kir.Operand, bool], ...]) -> Iterator[KStm]:
        """The loops of threads for statements of a warp, after what it has computed `before`, for the warps `where`
        conditions hold."""
        for stm in stms:
            match stm:
                case Threads():
                    yield self.threads(stm, before, where)
                case kir.Fence() | kir.Note():
                    yield stm
                case kir.Mma() if not where and not before:
                    yield stm
                case KIf(cond, then, orelse) if spreads(stm):
                    yield from self.divided(then, before, (*where, (cond, True)))
                    yield from self.divided(orelse, before, (*where, (cond, False)))
                case kir.For(index, bound, body) if spreads(stm):
                    inner = tuple(self.divided(body, before, where))
                    yield kir.For(index, bound, inner, stm.unroll)
                case _ if spreads(stm):
                    raise IRError(f"a warp has no such statement: {type(stm).__name__}")
                case _:
                    before = (*before, stm)

    def threads(self, loop: Threads, before: Stms, where: tuple[tuple[kir.Operand, bool], ...]) -> KStm:
        """A thread loop of all warps."""
        body = loop.body
        if loop.hi != i64(WARP.threads):
            inside = KVar(f"{loop.index.name}_inside", Prim.BOOL)
            body = (KLet(inside, KOp(Op.LT, Prim.I64, (loop.index, loop.hi))), KIf(inside, body, ()))
        for cond, side in reversed(where):
            body = (KIf(cond, body, ()) if side else KIf(cond, (), body),)
        suffix = f"_w{next(self.numbers)}"
        me, width = KVar(f"{self.index.name}{suffix}_thread", Prim.I64), i64(WARP.threads)
        warp = KLet(self.index, KOp(Op.QUOT, Prim.I64, (me, width), True))
        lane = KLet(loop.index, KOp(Op.REM, Prim.I64, (me, width), True))
        copied = Renamed(suffix, {}).rewritten((warp, lane, *before, *body))
        return Threads(me, i64(0), i64(WARP.threads * self.warps), copied)
