"""Loops that have done their work when a flag has settled: `all`, `any`, searches for one that fits.

    acc := true;  for i < n { .. acc := acc and c }

A round does nothing but change the flag, and to one value alone; so none that follows does once it has that. Such a
loop may end there. Checks of the rounds that are left out are those of values that nothing needs.
"""

from __future__ import annotations

from ...ir.ops import EXPENSES, Expense, Op
from ...ir.types import Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import Assign, For, KConvert, KLet, KOp, KVar, KWhile
from ..kernel_ir.traverse import statements

WITHOUT_EFFECT = (
    KLet | kir.Declare | Assign | kir.Check | kir.BoundsCheck | kir.KIf | For | KWhile | kir.Alloc | kir.Store
)
"""What a round may have, if all that it assigns and stores to is its own."""


def settling(loop: For) -> tuple[KVar, bool] | None:
    """The flag that is all that a loop changes behind it, and the value that it keeps once it has it."""
    stms = tuple(statements(loop.body))
    own = {stm.var for stm in stms if isinstance(stm, kir.Declare)}
    changes = [stm.var for stm in stms if isinstance(stm, Assign) and stm.var not in own]
    if len(changes) != 1 or not all(isinstance(stm, WITHOUT_EFFECT) for stm in stms):
        return None
    arrays = {stm.array for stm in stms if isinstance(stm, kir.Alloc)}
    if any(isinstance(stm, kir.Store) and stm.array not in arrays for stm in stms):
        return None
    values = {stm.var: stm.rhs for stm in loop.body if isinstance(stm, KLet)}
    match loop.body[-1]:
        case Assign(flag, KVar() as last) if flag == changes[0] and flag.prim is Prim.BOOL:
            pass
        case _:
            return None
    before = {var for var, rhs in values.items() if rhs == KConvert(flag.prim, flag.prim, flag)}
    match values.get(last):
        case KOp(Op.AND | Op.OR as op, _, args) if not before.isdisjoint(args):
            return flag, op is Op.OR
        case _:
            return None


def is_costly(loop: For) -> bool:
    """Whether a round is more than LLVM would make vectors of: another loop, or an operation of many instructions."""
    return any(
        isinstance(stm, For | KWhile)
        or (isinstance(stm, KLet) and isinstance(stm.rhs, KOp) and EXPENSES[stm.rhs.op] is not Expense.INSTRUCTION)
        for stm in statements(loop.body)
    )
