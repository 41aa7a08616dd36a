"""Loads of neighbours: one is done as it stands, of the others one vector; the values are those of memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from llvmlite.binding import parse_assembly

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.scalar import DTYPES
from soac.ir.types import Prim, i64
from soac.kernels.devices.cpu.runtime.jit import Host, has_shifts
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KIf, KLet, KLoad, KOp, KStm, KVar, Space, Store, Threads
from soac.kernels.lanes.module import Abilities, emit
from soac.kernels.lanes.neighbours import neighbours
from soac.kernels.passes.choose_lanes import LaneSettings, choose_lanes
from tests.support.kernel_interpreter import compiled

N, INDEX = KVar("n", Prim.I64), KVar("i", Prim.I64)
MARGIN = 40
"""Elements on both sides of those that have a thread."""


def sums(prim: Prim, shifts: list[int], written: int | None = None) -> Kernel:
    """y[i] = x[i + shifts[0]] + x[i + shifts[1]] + ..; after the load of number `written`, x[i + MARGIN] := 1."""
    x, y = (KArray(c, prim, Space.GLOBAL) for c in "xy")
    body: list[KStm] = []
    total = None
    for k, shift in enumerate(shifts):
        at, v = KVar(f"at{k}", Prim.I64), KVar(f"v{k}", prim)
        body += [KLet(at, KOp(Op.ADD, Prim.I64, (INDEX, i64(MARGIN + shift)))), KLet(v, KLoad(x, at))]
        if k == written:
            there = KVar("there", Prim.I64)
            body += [KLet(there, KOp(Op.ADD, Prim.I64, (INDEX, i64(MARGIN)))), Store(x, there, v)]
        both = KVar(f"sum{k}", prim)
        body.append(KLet(both, KOp(Op.ADD, prim, (v, v if total is None else total))))
        total = both
    assert total is not None
    loop = Threads(INDEX, i64(0), N, (*body, Store(y, INDEX, total)))
    return Kernel("k", KVar("b", Prim.I64), (x, y), (N,), (loop,), (), Level.BLOCK)


@pytest.mark.parametrize(
    ("shifts", "loads"),
    [([0], 4), ([-1, 0, 1], 6), ([0, -1, 1], 6), ([0, 15], 5), ([0, 16], 8), ([0, 20, 25], 9), ([-2, -1, 0, 1, 2], 8)],
)
def test_loads_of_a_group(shifts: list[int], loads: int) -> None:
    """Lanes 16 x 4 of 32 bits: four vectors of the first, one of each that is less than a vector away."""
    text = emit((choose_lanes(sums(Prim.F32, shifts), LaneSettings(width=16, unroll=4)),))
    singles = len(shifts)  # what is left of groups: full vectors, one by one
    assert text.count("= load <16 x float>") == loads + singles


@pytest.mark.parametrize(("prim", "width"), [(Prim.U8, 16), (Prim.F32, 8)])
def test_short_vectors_are_loaded(prim: Prim, width: int) -> None:
    """Vectors of less than a line of the cache, whose shifts take several instructions."""
    text = emit((choose_lanes(sums(prim, [0, 1]), LaneSettings(width=width, unroll=4)),))
    assert "i32 1, i32 2, i32 3" not in "".join(line for line in text.splitlines() if "shufflevector" in line)


def test_targets_without_shifts() -> None:
    """With AVX2 alone loads are cheaper; NEON has an instruction for it."""
    text = emit(
        (choose_lanes(sums(Prim.F32, [-1, 0, 1]), LaneSettings(width=16, unroll=4)),), target=Abilities(shifts=False)
    )
    assert text.count("= load <16 x float>") == 12 + 3
    found = [
        Host("x86_64-linux", "", "+avx2"),
        Host("x86_64-linux", "", "+avx2,+avx512f"),
        Host("aarch64-linux", "", ""),
    ]
    assert [has_shifts(target) for target in found] == [False, True, True]


def test_stores_between() -> None:
    """What is written between two loads is read by the second."""
    made = choose_lanes(sums(Prim.F32, [0, 1], 0), LaneSettings(width=16, unroll=4))
    assert neighbours(made) == {}
    (near,) = neighbours(choose_lanes(sums(Prim.F32, [0, 1]), LaneSettings(width=16, unroll=4))).values()
    assert list(near) == ["v1"]


def test_names_of_copies() -> None:
    """A pass that writes a body twice keeps its names: in the second copy the first load is in a branch."""
    kernel = sums(Prim.F32, [0, 1])
    (loop,), y = kernel.body, kernel.arrays[1]
    assert isinstance(loop, Threads)
    early, first, _, late, second, *_ = loop.body
    never, v0, v1 = KVar("never", Prim.BOOL), KVar("v0", Prim.F32), KVar("v1", Prim.F32)
    inside = KIf(never, (first, Store(y, INDEX, v0)), ())
    body = (early, KLet(never, KOp(Op.LT, Prim.I64, (INDEX, i64(0)))), inside, late, second, Store(y, INDEX, v1))
    made = choose_lanes(replace(kernel, body=(loop, Threads(INDEX, i64(0), N, body))), LaneSettings(width=16, unroll=4))
    assert set(neighbours(made)) == {id(loop.body)}
    parse_assembly(emit((made,))).verify()


@settings(max_examples=25, deadline=None)
@given(
    prim=st.sampled_from([Prim.I32, Prim.F32, Prim.I64, Prim.F64, Prim.I16]),
    shifts=st.lists(st.integers(-20, 20), min_size=2, max_size=6),
    n=st.integers(0, 200),
    shape=st.sampled_from([(16, 4), (16, 2), (8, 4), (16, 1)]),
)
def test_values(prim: Prim, shifts: list[int], n: int, shape: tuple[int, int]) -> None:
    """Machine code gives the sums of the elements, exactly: they are small integers."""
    kernel, lanes = sums(prim, shifts), LaneSettings(width=shape[0], unroll=shape[1])
    event("neighbours" if neighbours(choose_lanes(kernel, lanes)) else "none")
    x = (np.arange(n + 2 * MARGIN) % 97).astype(DTYPES[prim])
    y = np.zeros(n, DTYPES[prim])
    compiled(kernel, lanes)({"x": x, "y": y}, {"n": n}, 1)
    parts = [x[MARGIN + shift : MARGIN + shift + n] for shift in shifts]
    assert y.tolist() == (parts[0] + sum(parts, np.zeros(n, DTYPES[prim]))).tolist()
