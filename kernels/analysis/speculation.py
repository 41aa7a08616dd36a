"""Which statements may run where the program would not have run them."""

from __future__ import annotations

from ...ir.ops import Op, can_fail
from ..kernel_ir.nodes import Assign, Declare, KConvert, KLet, KOp, KStm


def is_harmless(stm: KStm) -> bool:
    """Cheap, and safe even where no lane is on."""
    match stm:
        case KLet(_, KOp(op, prim, _)):
            return not can_fail(op, prim) and op in _CHEAP
        case KLet(_, KConvert()) | Declare() | Assign():
            return True
        case _:
            return False


_CHEAP = frozenset(
    {
        Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.AND, Op.OR, Op.XOR, Op.NOT, Op.NEG, Op.ABS, Op.FMA, Op.SELECT,
        Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.SHL, Op.SHR, Op.USHR,
    }
)  # fmt: skip
