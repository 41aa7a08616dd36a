"""How much of its stacks (`stacks.py`) a kernel takes, as far as the scalars of a launch tell.

    peak(s; rest) = max(peak inside of s, |s| + peak(rest))        |s|: the bytes of an array of the list, else 0

So a launch gives the block and each thread what they take, and no more. An array whose size depends on more (on the
number of the block or the thread, on what is loaded) has an unknown size: these kernels start with little, say what
they lack, and are run again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...ir import scalar
from ...ir.ops import can_fail
from ...ir.records import dataclass
from ...ir.scalar import ScalarFailure
from ...ir.types import Const
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import Kernel, KStm, KVar, Operand, Space
from ..kernel_ir.shared_stack import is_static, stack_bytes
from ..kernel_ir.traverse import children, rhs_operands, statements

Scalar = bool | int | float
UNKNOWN = math.inf
TOGETHER = (kir.BlockScan, kir.WarpTurns)
"""Statements whose second list sees the arrays of the first."""


@dataclass(frozen=True, slots=True)
class Peak:
    """Bytes of the stack of a block and of that of each thread, `UNKNOWN` where only the kernel finds out."""

    block: float
    thread: float


@dataclass(frozen=True, slots=True)
class StackSizes:
    """What says how much a kernel takes: the variables that sizes are computed of, and the positions of those of its
    scalars that are among them."""

    kernel: Kernel
    takes: bool
    needed: frozenset[str]
    used: tuple[int, ...]

    @staticmethod
    def of(kernel: Kernel) -> StackSizes:
        stms = list(statements(kernel.body))
        counts = [stm.count for stm in stms if isinstance(stm, kir.Alloc) and not is_static(stm)]
        needed = {count.name for count in counts if isinstance(count, KVar)}
        for stm in reversed(stms):
            if isinstance(stm, kir.KLet) and stm.var.name in needed:
                needed |= {arg.name for arg in rhs_operands(stm.rhs) if isinstance(arg, KVar)}
        used = tuple(k for k, var in enumerate(kernel.scalars) if var.name in needed)
        return StackSizes(kernel, bool(counts), frozenset(needed), used)

    def tells(self, space: Space) -> bool:
        """Whether a launch tells how much the arrays of a space take: the sizes of all follow from its
        scalars, by operations that are defined for all of them."""
        known = {var.name for var in self.kernel.scalars}
        for stm in statements(self.kernel.body):
            match stm:
                case kir.KLet(var, kir.KOp(op, prim, (_, KVar()))) if can_fail(op, prim):
                    pass
                case kir.KLet(var, kir.KOp() | kir.KConvert() as rhs):
                    operands = rhs_operands(rhs)
                    if operands and all(isinstance(x, Const) or x.name in known for x in operands):
                        known.add(var.name)
                case kir.Alloc(array, KVar(name=name)) if array.space is space and not is_static(stm):
                    if name not in known:
                        return False
                case _:
                    pass
        return True

    def peak_of(self, used: Sequence[Scalar]) -> Peak:
        """For a launch in which the scalars at `used` have these values."""
        values = {self.kernel.scalars[k].name: value for k, value in zip(self.used, used, strict=True)}
        return Peak(*(self.peak(self.kernel.body, dict(values), space) for space in (Space.SHARED, Space.PRIVATE)))

    def peak(self, stms: tuple[KStm, ...], values: dict[str, Scalar], space: Space) -> float:
        """Of the arrays of one space in a list; `values` of variables that are known."""
        held = most = 0.0
        for stm in stms:
            match stm:
                case kir.KLet(var, rhs) if var.name in self.needed:
                    if (value := value_of(rhs, values)) is not None:
                        values[var.name] = value
                case kir.Alloc(array, count) if array.space is space and not is_static(stm):
                    size = known(count, values)
                    held += UNKNOWN if size is None else stack_bytes(int(size), array.prim.bytes)
                case _:
                    inside = [self.peak(inner, values, space) for inner in children(stm)]
                    most = max(most, held + (sum(inside) if isinstance(stm, TOGETHER) else max(inside, default=0)))
        return max(most, held)


def takes_stack(kernel: Kernel, space: Space) -> bool:
    """Whether arrays of a space are taken from a stack: the block's, or the threads' own."""
    allocs = (stm for stm in statements(kernel.body) if isinstance(stm, kir.Alloc))
    return any(stm.array.space is space and not is_static(stm) for stm in allocs)


def known(operand: Operand, values: Mapping[str, Scalar]) -> Scalar | None:
    """The value of an operand; None for a variable that has none in `values`."""
    return operand.value if isinstance(operand, Const) else values.get(operand.name)


def value_of(rhs: kir.Rhs, values: Mapping[str, Scalar]) -> Scalar | None:
    """None where it depends on what is not known, or is not defined."""
    operands = rhs_operands(rhs)
    args = tuple(value for arg in operands if (value := known(arg, values)) is not None)
    if not args or len(args) < len(operands):
        return None
    try:
        match rhs:
            case kir.KOp(op, prim):
                return scalar.apply(op, prim, args)
            case kir.KConvert(source, target):
                return scalar.conversion(source, target)(args[0])
            case _:
                return None
    except ScalarFailure:
        return None
