"""What is left of full groups of lanes is full vectors without a mask, then one with it."""

from __future__ import annotations

import pytest

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KLet, KLoad, KOp, KVar, Operand, Space, Store, Threads
from soac.kernels.lanes.module import emit
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes

N = KVar("n", Prim.I64)


@pytest.mark.parametrize(("hi", "whole", "masked"), [(N, 3, 1), (i64(16), 2, 0), (i64(24), 3, 0), (i64(17), 2, 1)])
def test_what_is_left_of_groups(hi: Operand, whole: int, masked: int) -> None:
    """y[i] = x[at[i]] + x[at[i]], lanes 8 x 2: gathers of all lanes, and those of some."""
    at, x, y = KArray("at", Prim.I64, Space.GLOBAL), *(KArray(c, Prim.F32, Space.GLOBAL) for c in "xy")
    i, p, v, w = KVar("i", Prim.I64), KVar("p", Prim.I64), KVar("v", Prim.F32), KVar("w", Prim.F32)
    loop = Threads(
        i,
        i64(0),
        hi,
        (KLet(p, KLoad(at, i)), KLet(v, KLoad(x, p)), KLet(w, KOp(Op.ADD, Prim.F32, (v, v))), Store(y, i, w)),
    )
    kernel = Kernel("k", KVar("b", Prim.I64), (at, x, y), (N,), (loop,), (), Level.BLOCK)
    text = emit((choose_lanes(kernel, LaneSettings(width=8, unroll=2)),))
    gathers = [line for line in text.splitlines() if "call" in line and "masked.gather" in line]
    assert sum("splat (i1 true)" in line for line in gathers) == whole
    assert sum("splat (i1 true)" not in line for line in gathers) == masked


def test_copies_are_masked() -> None:
    """y[i] = x[i], lanes 8 x 2: a mask costs less than another loop where elements are only moved."""
    x, y = (KArray(c, Prim.F32, Space.GLOBAL) for c in "xy")
    i, v = KVar("i", Prim.I64), KVar("v", Prim.F32)
    loop = Threads(i, i64(0), N, (KLet(v, KLoad(x, i)), Store(y, i, v)))
    text = emit(
        (
            choose_lanes(
                Kernel("k", KVar("b", Prim.I64), (x, y), (N,), (loop,), (), Level.BLOCK),
                LaneSettings(width=8, unroll=2),
            ),
        )
    )
    assert text.count("= load <8 x float>") == 2


@pytest.mark.parametrize(
    ("prim", "width", "counted"), [(Prim.U8, 64, "i8"), (Prim.I16, 32, "i16"), (Prim.F32, 16, "i32")]
)
def test_lanes_of_a_mask_are_counted_in_what_fills_a_vector(prim: Prim, width: int, counted: str) -> None:
    x, y = (KArray(c, prim, Space.GLOBAL) for c in "xy")
    i, v = KVar("i", Prim.I64), KVar("v", prim)
    loop = Threads(i, i64(0), N, (KLet(v, KLoad(x, i)), Store(y, i, v)))
    kernel = Kernel("k", KVar("b", Prim.I64), (x, y), (N,), (loop,), (), Level.BLOCK)
    assert f"icmp slt <{width} x {counted}>" in emit((choose_lanes(kernel, LaneSettings()),))
