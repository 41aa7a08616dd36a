"""What one launch of a kernel costs, by the numbers that it is launched with: how much effort its code is worth.

The unit is a statement for a group of lanes. Of a loop whose number of steps follows from those numbers, that counts;
of others, the largest of the numbers, which mostly are sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...ir import scalar
from ...ir.ops import is_short
from ...ir.records import dataclass
from ...ir.scalar import ScalarFailure
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import Kernel, KStm, KVar, Operand, Rhs
from ..kernel_ir.traverse import children, operators
from .cost import EXTENT, LANES

LONG = 8.0
"""What a division or a call counts."""


def launch_work(kernel: Kernel, blocks: int, numbers: Mapping[KVar, int]) -> float:
    """The work of a launch of `blocks` like the first one, with these values of integer scalars."""
    largest = float(max((EXTENT, *numbers.values())))
    return blocks * _Work({kernel.block: 0, kir.GROUP: LANES, **numbers}, largest).of(kernel.body)


@dataclass(slots=True)
class _Work:
    """`values`: the integers that are known so far, of a counter the middle one; `unknown`: the steps of loops whose
    bounds are not known."""

    values: dict[KVar, int]
    unknown: float

    def of(self, stms: Iterable[KStm]) -> float:
        return sum(map(self.of_one, stms))

    def of_one(self, stm: KStm) -> float:
        match stm:
            case kir.KLet(var, rhs):
                value = self.value(rhs)
                if value is not None:
                    self.values[var] = value
                return 1.0 if not isinstance(rhs, kir.KOp) or is_short(rhs.op) else LONG
            case kir.For(index, bound):
                steps = self.steps(bound)
                self.values[index] = max(0, int(steps) - 1) // 2
            case kir.KWhile():
                steps = self.unknown
            case kir.Threads(_, lo, hi) | kir.BlockReduce(_, _, lo, hi) | kir.BlockScan(_, _, _, lo, hi):
                first, end = self.number(lo), self.number(hi)
                points = self.unknown if first is None or end is None else max(0, end - first)
                steps = -(-points // LANES)
            case _:
                steps = 1.0
        inside = sum(map(self.of, children(stm))) + sum(self.of(op.body) for op in operators(stm))
        return 1.0 + steps * (1.0 + inside)

    def steps(self, bound: Operand) -> float:
        number = self.number(bound)
        return self.unknown if number is None else float(max(0, number))

    def number(self, operand: Operand) -> int | None:
        return int(operand.value) if isinstance(operand, Const) else self.values.get(operand)

    def value(self, rhs: Rhs) -> int | None:
        """What an integer operation gives, where its operands are known."""
        match rhs:
            case kir.KOp(op, prim, args) if prim.is_int:
                known = tuple(self.number(arg) for arg in args)
            case _:
                return None
        if None in known:
            return None
        try:
            return int(scalar.apply(op, prim, tuple(n for n in known if n is not None)))
        except ScalarFailure:
            return None
