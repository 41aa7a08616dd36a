"""Values of the lanes of a block at once: what an operation makes of what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...ir import scalar
from ...ir.ops import Op
from ...ir.types import Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import Operand

Known = bool | int | float | np.ndarray
Value = Known | None
"""One for all lanes, one for each lane, or unknown."""

_FAST: Mapping[Op, Callable[..., np.ndarray]] = {
    Op.ADD: np.add, Op.SUB: np.subtract, Op.MUL: np.multiply, Op.MIN: np.minimum, Op.MAX: np.maximum,
    Op.EQ: np.equal, Op.NE: np.not_equal, Op.LT: np.less, Op.LE: np.less_equal, Op.GT: np.greater,
    Op.GE: np.greater_equal,
}  # fmt: skip
"""What 64-bit integers have in common with NumPy's."""
_LOGIC: Mapping[Op, Callable[..., np.ndarray]] = {Op.AND: np.logical_and, Op.OR: np.logical_or, Op.NOT: np.logical_not}
_DIVISION: Mapping[Op, Callable[..., np.ndarray]] = {
    Op.QUOT: np.floor_divide, Op.DIV: np.floor_divide, Op.REM: np.remainder, Op.MOD: np.remainder,
}  # fmt: skip
"""Of an integer that is not negative by one that is positive."""


def value_of(get: Callable[[Operand], Value], rhs: kir.Rhs) -> Value:
    """The value of a right-hand side that is no access, for all lanes, by those of operands; None where one of them is
    unknown."""
    match rhs:
        case kir.KConvert(source, target, arg):
            return elementwise(scalar.conversion(source, target), [get(arg)])
        case kir.KOp(op, prim, args):
            values = [get(arg) for arg in args]
            if any(value is None for value in values):
                return None
            fast = of_lanes(op, prim, values)
            return elementwise(scalar.meaning(op, prim), values) if fast is None else fast(*values)
        case kir.KAligned(_, index, count):  # arrays are taken to begin at a sector
            at = get(index)
            return None if at is None else at % count == 0
        case kir.KLoad():
            raise AssertionError("loads are accesses")


def of_lanes(op: Op, prim: Prim, values: list[Value]) -> Callable[..., np.ndarray] | None:
    """What NumPy has for an operation on known values of which some differ between lanes."""
    if not any(isinstance(v, np.ndarray) for v in values):
        return None
    if op is Op.SELECT:
        return choice
    if prim is Prim.BOOL:
        return _LOGIC.get(op)
    if prim is not Prim.I64:
        return None
    if op in _DIVISION and np.min(np.asarray(values[0])) >= 0 and np.min(np.asarray(values[1])) > 0:
        return _DIVISION[op]
    return _FAST.get(op)


def choice(chosen: Value, value: Known, other: Known) -> np.ndarray:
    """`value` in the lanes that are chosen, `other` in the others, in numbers that have both."""
    return np.where(np.asarray(chosen), *(np.asarray(x, None if _fits(x) else object) for x in (value, other)))


def _fits(x: Known) -> bool:
    """Whether NumPy has a number beside signed integers."""
    return not isinstance(x, int) or -(1 << 63) <= x < 1 << 63


def elementwise(meaning: Callable[..., scalar.Value], values: list[Value]) -> Value:
    """`meaning` lane by lane; unknown where a lane's operation has no value: such a lane does not run."""
    if any(value is None for value in values):
        return None
    try:
        if not any(isinstance(value, np.ndarray) for value in values):
            return meaning(*values)
        lanes = [v.tolist() if isinstance(v, np.ndarray) else None for v in values]
        count = next(len(lane) for lane in lanes if lane is not None)
        columns = [lane if lane is not None else [v] * count for lane, v in zip(lanes, values)]
        return in_lanes([meaning(*row) for row in zip(*columns)])
    except (scalar.ScalarFailure, OverflowError):
        return None


def in_lanes(values: list[scalar.Value]) -> np.ndarray:
    """A value for each lane; unsigned integers that need it stay Python's."""
    if isinstance(values[0], (bool, float)):
        return np.array(values)
    fits = all(-(1 << 63) <= value < 1 << 63 for value in values)
    return np.array(values, np.int64 if fits else object)
