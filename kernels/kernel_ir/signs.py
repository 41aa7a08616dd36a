"""Which integers of a kernel are known not to be negative.

    0 <= block    0 <= i in a loop from a number >= 0    x + y, x * y (exact), min x y, select c x y of such numbers
    rem x y of such an x                                 max x y where one of them is

What holds in a loop of threads besides: its end is more than 0, and so are the operands whose least it is.
"""

from __future__ import annotations

from dataclasses import field

from ...ir.ops import Op
from ...ir.reachable import reachable
from ...ir.records import dataclass
from ...ir.types import Const, Prim
from .nodes import KConvert, KLet, KOp, KStm, Operand, Rhs

DEEP = 24
"""How far definitions are followed."""


@dataclass(slots=True)
class Ranges:
    """How immutable variables are defined, as far as they have been seen, and which are loop indices that are not
    negative."""

    rhs: dict[Operand, Rhs] = field(default_factory=dict)
    naturals: set[Operand] = field(default_factory=set)

    def note(self, stm: KStm) -> None:
        if isinstance(stm, KLet):
            self.rhs[stm.var] = stm.rhs

    def positive_with(self, end: Operand) -> frozenset[Operand]:
        """What is more than 0 where `end` is."""

        def above(x: Operand) -> tuple[Operand, ...]:
            match self.rhs.get(x):
                case KOp(Op.MIN, Prim.I64, args):
                    return args
                case _:
                    return ()

        return frozenset(reachable([end], above))

    def is_natural(self, x: Operand, positive: frozenset[Operand], depth: int = DEEP) -> bool:
        """Is `x` known to be at least 0, where what is in `positive` is more than 0?"""
        if isinstance(x, Const):
            return int(x.value) >= 0
        if x in self.naturals or x in positive:
            return True
        if not depth:
            return False

        def natural(y: Operand) -> bool:
            return self.is_natural(y, positive, depth - 1)

        match self.rhs.get(x):
            case KOp(Op.ADD | Op.MUL, _, args, True) | KOp(Op.MIN, _, args):
                return all(map(natural, args))
            case KOp(Op.MAX, _, args):
                return any(map(natural, args))
            case KOp(Op.SELECT, _, (_, y, z)):
                return natural(y) and natural(z)
            case KOp(Op.REM, _, (y, _)):
                return natural(y)
            case KConvert(source, target, y) if source.is_signed and target.is_signed and target.bits >= source.bits:
                return natural(y)
            case _:
                return False
