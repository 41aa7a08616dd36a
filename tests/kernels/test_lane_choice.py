"""Lanes over rows or over the elements of a row: chosen by cost, at run time where that depends on the length."""

from __future__ import annotations

import numpy as np
import pytest

from soac.flatten.levels import CPU, Mode
from soac.flatten.tree import sites
from soac.frontend.compile import compile_text
from soac.ir.core import PrimOp
from soac.ir.interpret import interpret
from soac.ir.ops import Op
from soac.ir.types import Const, Prim
from soac.kernels import kir
from soac.kernels.cost import cost_at
from soac.kernels.cpu import Executable
from soac.kernels.host import HostBody, HostIf
from soac.kernels.kir import KArray, KVar, Space
from soac.pipeline import Compiled, compile_core

THREE_SCANS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  let ys = map (\\xs -> let bs = scan (+) 0 xs
                       let cs = scan i32.max i32.lowest bs
                       in scan (\\a b -> if b == 0 then a else b) 0 cs) xss
  in ys
"""
SMALL = """
entry main [n] (xss: [n][3]i32): [n][3]i32 =
  let ys = map (\\xs -> let bs = scan (+) 0 xs in scan i32.max i32.lowest bs) xss in ys
"""


def compiled(text: str) -> Compiled:
    return compile_core(compile_text(text, "lanes.soac"), Mode.EVERY, CPU)


def compared_lengths(made: Compiled) -> list[int]:
    """What the host compares before it chooses between two kernels of one version."""
    found: list[int] = []

    def walk(body: HostBody) -> None:
        for stm in body.stms:
            match stm.exp:
                case PrimOp(Op.GE, _, (_, Const(_, least))):
                    found.append(int(least))
                case HostIf(_, then, orelse):
                    walk(then)
                    walk(orelse)
                case _:
                    pass

    for fun in made.host.functions:
        walk(fun.body)
    return found


@pytest.mark.parametrize("width", [0, 1, 3, 31, 64, 65, 300])
def test_both_forms_give_the_same(width: int) -> None:
    made = compiled(THREE_SCANS)
    program = Executable.build(made.host, made.flat.functions)
    data = np.random.default_rng(width).integers(-3, 4, (20, width)).astype(np.int32)
    (expected,), _ = interpret(made.core, "main", [data])
    (site,) = sites(made.flat)
    for leaf in site.leaves:
        (found,), _ = program.run("main", [data], forced=leaf, threads=1)
        np.testing.assert_array_equal(found, expected)


def test_the_length_of_rows_decides() -> None:
    """Short rows are walked by lanes of their own, long ones shared; a constant length leaves nothing to compare."""
    lengths = [least for least in compared_lengths(compiled(THREE_SCANS)) if least != 256]
    assert lengths
    assert all(16 <= length <= 1024 for length in lengths)
    assert [least for least in compared_lengths(compiled(SMALL)) if least != 256] == []


def test_strides_cost_more_along_long_rows() -> None:
    """`a[i*m + j]` with lanes over i is a gather of lines that short rows share, `a[j*m + i]` is one access."""
    i, j, m, t, u, x = (KVar(name, Prim.I64) for name in "ijmtux")
    array = KArray("a", Prim.I64, Space.GLOBAL)

    def step(row: KVar, place: KVar, length: float) -> float:
        body = (
            kir.KLet(t, kir.KOp(Op.MUL, Prim.I64, (row, m))),
            kir.KLet(u, kir.KOp(Op.ADD, Prim.I64, (t, place))),
            kir.KLet(x, kir.KLoad(array, u)),
        )
        loop = kir.For(j, m, body)
        return cost_at((kir.Threads(i, Const(Prim.I64, 0), m, (loop,)),), length, 256.0) / length

    assert step(i, j, 16.0) > 4 * step(j, i, 16.0)
    assert step(i, j, 64.0) > 4 * step(j, i, 64.0)
    assert step(i, j, 1024.0) > 8 * step(i, j, 64.0)
