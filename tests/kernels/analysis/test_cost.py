"""What the estimate of costs says of clamped indices and of memory of the lanes."""

from __future__ import annotations

from soac.ir.ops import Op
from soac.ir.types import Const, Prim
from soac.kernels.analysis.cost import GATHER, cost
from soac.kernels.kernel_ir.nodes import KArray, KLet, KLoad, KOp, KStm, KVar, Operand, Space, Store, Threads

ZERO = Const(Prim.I64, 0)
i, n, place, x = (KVar(name, Prim.I64) for name in ("i", "n", "place", "x"))


def loaded(*before: KStm, array: KArray, at: Operand) -> float:
    return cost((Threads(i, ZERO, n, (*before, KLet(x, KLoad(array, at)))),))


def test_clamps_weigh_nothing_but_themselves() -> None:
    """Loops are cut where they do nothing."""
    array, far = KArray("xs", Prim.I64, Space.GLOBAL), KVar("far", Prim.I64)
    clamped = KLet(place, KOp(Op.MIN, Prim.I64, (n, i)))
    moved = KLet(far, KOp(Op.ADD, Prim.I64, (place, n)))
    contiguous = loaded(array=array, at=i)
    assert loaded(clamped, moved, array=array, at=far) <= 3 * contiguous
    anywhere = KLet(place, KOp(Op.REM, Prim.I64, (i, n)))
    assert loaded(anywhere, array=array, at=place) > GATHER / 2 * contiguous


def test_a_bin_in_memory_of_the_lanes_waits_for_the_last_store() -> None:
    private, everyones = (KArray("bins", Prim.I64, space) for space in (Space.PRIVATE, Space.GLOBAL))
    at = KLet(place, KOp(Op.REM, Prim.I64, (i, n)))
    first, second = (cost((Threads(i, ZERO, n, (at, Store(array, place, i))),)) for array in (private, everyones))
    assert first > 1.5 * second
