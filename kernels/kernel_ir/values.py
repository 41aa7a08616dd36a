"""Values of kernel IR: variables, arrays, and what a statement may compute. `nodes.py` has them too."""

from __future__ import annotations

from enum import Enum

from ...ir.ops import Op
from ...ir.records import dataclass
from ...ir.types import Const, Prim


@dataclass(frozen=True, slots=True)
class KVar:
    """A scalar variable of the kernel; one value per block where it is uniform, else one per thread."""

    name: str
    prim: Prim


Operand = KVar | Const


class Space(Enum):
    """Where an array lives: GLOBAL outlives the launch; SHARED is the block's; PRIVATE is one array for each thread,
    made inside of a thread loop; REGISTERS one for each index of thread loops (`Distribute`)."""

    GLOBAL = "global"
    SHARED = "shared"
    PRIVATE = "private"
    REGISTERS = "registers"


@dataclass(frozen=True, slots=True)
class KArray:
    """An array of scalars, addressed by a flat element index (i64). Bools are stored as bytes 0 and 1."""

    name: str
    prim: Prim
    space: Space


# ---- right-hand sides --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KOp:
    """An operation of the table. Integer division and power need no check here: a `Check` precedes them, so their
    operands are good in every thread that runs the statement (threads that are masked off must not trap). `exact`: the
    result does not overflow, as in the index arithmetic of arrays that there are; a number is divided that is not
    negative, by a positive one."""

    op: Op
    prim: Prim
    args: tuple[Operand, ...]
    exact: bool = False


@dataclass(frozen=True, slots=True)
class KConvert:
    """`arg`, a `source`, as a `target`; it means what `Convert` of the core IR means."""

    source: Prim
    target: Prim
    arg: Operand


@dataclass(frozen=True, slots=True)
class KLoad:
    """`array[index]`; in bounds in every thread that runs it."""

    array: KArray
    index: Operand


@dataclass(frozen=True, slots=True)
class KAligned:
    """Does `array[index]` begin at a multiple of `count` elements, so that a row of them is one access? (bool)"""

    array: KArray
    index: Operand
    count: int


Rhs = KOp | KConvert | KLoad | KAligned


def symbol_of(name: str) -> str:
    """The symbol of a kernel: apart from those of the C library."""
    return f"kernel.{name}"


def folded(op: Op, args: tuple[Operand, ...]) -> Operand | None:
    """What an operation on flags that are known gives, where that is one of its operands or a flag."""
    match op, args:
        case Op.SELECT, (Const(_, holds), x, y):
            return x if holds else y
        case (Op.AND, (Const(Prim.BOOL, holds), x)) | (Op.AND, (x, Const(Prim.BOOL, holds))):
            return x if holds else Const(Prim.BOOL, False)
        case (Op.OR, (Const(Prim.BOOL, holds), x)) | (Op.OR, (x, Const(Prim.BOOL, holds))):
            return Const(Prim.BOOL, True) if holds else x
        case Op.NOT, (Const(Prim.BOOL, holds),):
            return Const(Prim.BOOL, not holds)
        case _:
            return None
