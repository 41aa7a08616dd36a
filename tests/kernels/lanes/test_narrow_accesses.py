"""Gathers and scatters that machines have none for: lanes that are off access the first element or a spare one."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KIf, KLet, KLoad, KOp, KVar, Space, Store, Threads
from soac.kernels.lanes.module import Abilities, emit
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes
from tests.support.kernel_interpreter import compiled, interpret

I64 = Prim.I64
N, IX, P, ON = KVar("n", I64), KVar("i", I64), KVar("p", I64), KVar("on", Prim.BOOL)


def permuted(prim: Prim) -> Kernel:
    """y[at[i]] = x[at[i]] at all i with at[i] >= 0."""
    at, x, y = KArray("at", I64, Space.GLOBAL), *(KArray(c, prim, Space.GLOBAL) for c in "xy")
    v = KVar("v", prim)
    moved = KIf(ON, (KLet(v, KLoad(x, P)), Store(y, P, v)), ())
    loop = Threads(IX, i64(0), N, (KLet(P, KLoad(at, IX)), KLet(ON, KOp(Op.GE, I64, (P, i64(0)))), moved))
    return Kernel("k", KVar("b", I64), (at, x, y), (N,), (loop,), (), Level.BLOCK)


@pytest.mark.parametrize("prim", [Prim.U8, Prim.BOOL, Prim.I16, Prim.F16, Prim.F32], ids=lambda p: p.value)
def test_lanes_that_are_off_change_nothing(prim: Prim) -> None:
    kernel, source = permuted(prim), np.random.default_rng(1)
    run = compiled(kernel, LaneSettings(width=8, unroll=2))
    for n in (0, 1, 7, 8, 17, 50):
        at = np.where(source.random(n) < 0.4, -(1 << 40), source.permutation(n))
        x = source.integers(0, 100, max(1, n)).astype(DTYPES[prim])
        ours, theirs = ({"at": at, "x": x, "y": np.zeros_like(x)} for _ in range(2))
        assert interpret(kernel, theirs, {"n": n}, 1) == set()
        assert run(ours, {"n": n}, 1)[0] == 0
        np.testing.assert_array_equal(ours["y"], theirs["y"])


@pytest.mark.parametrize(
    ("prim", "here", "masks"),
    [(Prim.U8, True, False), (Prim.F16, True, False), (Prim.F32, True, True), (Prim.F32, False, False)],
)
def test_masks_are_for_machines_that_have_them(prim: Prim, here: bool, masks: bool) -> None:
    text = emit((choose_lanes(permuted(prim), LaneSettings(width=8, unroll=1)),), None, Abilities(masks=here))
    for kind in ("masked.gather", "masked.scatter"):
        calls = [line for line in text.splitlines() if "call" in line and kind in line]
        assert calls
        assert any("splat (i1 true)" not in line for line in calls) == masks
