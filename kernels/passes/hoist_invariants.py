"""What all threads of a loop check or divide alike, before the loop.

    threads i in lo..hi { check m != 0; q = k % m; .. q .. }  ⟶  if lo < hi { check m != 0; q = k % m; threads i .. }

LLVM leaves such a division where it is: it may trap, and a check before it may end the launch. A check stays behind
those that stand before it. Loops without such statements stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.ops import Op, can_fail
from ...ir.types import Const, Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KConvert, Kernel, KIf, KLet, KOp, KStm, KVar, Operand, Threads
from ..kernel_ir.traverse import assigned, defined, operands, rewritten, statements


def hoist_invariants(kernel: Kernel) -> Kernel:
    """The kernel with such checks and divisions before its thread loops; the same one where there are none."""
    mutable, made = assigned(kernel.body), [0]

    def on_stm(stm: KStm) -> tuple[KStm, ...] | None:
        if not isinstance(stm, Threads):
            return None
        before, rest = split(stm, mutable)
        if not any(map(may_fail, before)):
            return (stm,)
        made[0] += 1
        runs = KVar(f"runs.{made[0]}", Prim.BOOL)
        test = KLet(runs, KOp(Op.LT, Prim.I64, (stm.lo, stm.hi)))
        return (test, KIf(runs, (*before, replace(stm, body=rest)), ()))

    body = rewritten(kernel.body, on_stm)
    return replace(kernel, body=body) if made[0] else kernel


def split(loop: Threads, mutable: frozenset[str]) -> tuple[tuple[KStm, ...], tuple[KStm, ...]]:
    """What is the same for all threads and may stand before the loop, and the rest of its body."""
    inside = {*defined(loop.body), loop.index.name}
    before: list[KStm] = []
    rest: list[KStm] = []
    checked = False  # whether a check that stays stands before

    def outside(xs: Iterable[Operand]) -> bool:
        return all(isinstance(x, Const) or (x.name not in inside and x.name not in mutable) for x in xs)

    for stm in loop.body:
        fails = may_fail(stm)
        moves = isinstance(stm, kir.Check | kir.BoundsCheck) or (
            isinstance(stm, KLet) and isinstance(stm.rhs, KOp | KConvert)
        )
        if moves and outside(operands(stm)) and not (fails and checked):
            before.append(stm)
            inside -= {stm.var.name} if isinstance(stm, KLet) else set()
        else:
            rest.append(stm)
            checked = checked or any(isinstance(one, kir.Check | kir.BoundsCheck) for one in statements((stm,)))
    return tuple(before), tuple(rest)


def may_fail(stm: KStm) -> bool:
    """Whether a statement may end the launch, or is a division, which stands behind its check."""
    match stm:
        case kir.Check() | kir.BoundsCheck():
            return True
        case KLet(_, KOp(op, prim, args)):
            return can_fail(op, prim) and not (isinstance(args[-1], Const) and int(args[-1].value) > 0)
        case _:
            return False
