"""Which statements may run where the program would not have run them."""

from __future__ import annotations

from ...ir.ops import EXPENSES, Expense, can_fail
from ..kernel_ir.nodes import Assign, Declare, KConvert, KLet, KOp, KStm


def is_harmless(stm: KStm) -> bool:
    """Cheap, and safe even where no lane is on."""
    match stm:
        case KLet(_, KOp(op, prim, _)):
            return not can_fail(op, prim) and EXPENSES[op] is Expense.INSTRUCTION
        case KLet(_, KConvert()) | Declare() | Assign():
            return True
        case _:
            return False
