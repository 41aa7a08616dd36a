"""What a launch takes of its stacks (`kernels/analysis/stack_sizes.py`), as code: from the scalars of the launch."""

from __future__ import annotations

from .....ir.ops import can_fail
from .....ir.types import Const, Prim
from ....analysis.stack_sizes import TOGETHER, StackSizes
from ....kernel_ir import nodes as kir
from ....kernel_ir.nodes import KStm, Operand, Space
from ....kernel_ir.shared_stack import UNIT, is_static
from ....kernel_ir.traverse import children, rhs_operands
from ....llvm import ops as lanes_ops
from ....llvm.convert import convert
from ....llvm.text import Vec, literal

UNKNOWN = "-1"
Values = dict[str, str]


def peak(one: Vec, sizes: StackSizes, scalars: tuple[str, ...], space: Space) -> str:
    """i64: the bytes of the stack of a block or of a thread; `UNKNOWN` where only the kernel finds out."""
    if not sizes.takes:
        return "0"
    values = {sizes.kernel.scalars[k].name: scalars[k] for k in sizes.used}
    found = peak_of(one, sizes, sizes.kernel.body, values, space)
    return UNKNOWN if found is None else found


def peak_of(one: Vec, sizes: StackSizes, stms: tuple[KStm, ...], values: Values, space: Space) -> str | None:
    """Of the arrays of one space in a list; None where it depends on what is not in `values`."""
    held: str | None = "0"
    most: str | None = "0"
    for stm in stms:
        match stm:
            case kir.KLet(var, rhs) if var.name in sizes.needed:
                if (value := value_of(one, rhs, values)) is not None:
                    values[var.name] = value
            case kir.Alloc(array, count) if array.space is space and not is_static(stm):
                held = added(one, held, stack_bytes(one, known(count, values), array.prim.bytes))
            case _:
                inside = [peak_of(one, sizes, inner, values, space) for inner in children(stm)]
                join, whole = added if isinstance(stm, TOGETHER) else larger, "0"
                for part in inside:
                    whole = join(one, whole, part)
                most = larger(one, most, added(one, held, whole))
    return larger(one, most, held)


def added(one: Vec, a: str | None, b: str | None) -> str | None:
    """a + b"""
    if a is None or b is None:
        return None
    if "0" in (a, b):
        return b if a == "0" else a
    return one.ins("add", Prim.I64, a, b)


def larger(one: Vec, a: str | None, b: str | None) -> str | None:
    """The larger one, of numbers that are not negative."""
    if a is None or b is None:
        return None
    if a == b or "0" in (a, b):
        return b if a == "0" else a
    return one.intrinsic("smax", Prim.I64, a, b)


def stack_bytes(one: Vec, count: str | None, size: int) -> str | None:
    """What `count` elements of `size` bytes take."""
    if count is None:
        return None
    wanted = one.ins("mul", Prim.I64, count, str(size))
    some = one.intrinsic("smax", Prim.I64, wanted, "1")
    return one.ins("and", Prim.I64, one.ins("add", Prim.I64, some, str(UNIT - 1)), str(-UNIT))


def known(operand: Operand, values: Values) -> str | None:
    """The value of an operand; None for a variable that has none in `values`."""
    return literal(operand.prim, operand.value) if isinstance(operand, Const) else values.get(operand.name)


def value_of(one: Vec, rhs: kir.Rhs, values: Values) -> str | None:
    """None where it depends on what is not known. An operation that would fail, whose kernel has ended before it,
    gives anything."""
    operands = rhs_operands(rhs)
    args = tuple(value for arg in operands if (value := known(arg, values)) is not None)
    if not args or len(args) < len(operands):
        return None
    match rhs:
        case kir.KOp(op, prim):
            if can_fail(op, prim) and not isinstance(operands[1], Const):
                good = one.ins("icmp sgt" if prim.is_signed else "icmp ne", prim, args[1], "0")
                args = args[0], one.select(prim, good, args[1], "1")
            return lanes_ops.apply(one, op, prim, args)
        case kir.KConvert(source, target):
            return convert(one, source, target, args[0])
        case _:
            return None
