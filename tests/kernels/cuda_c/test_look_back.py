"""Looking back along a chain: whatever the tiles before have posted, sums or totals, near or far, it is one fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.ops import Op
from soac.ir.scalar import DTYPES
from soac.ir.types import Const, Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KVar, Space
from soac.kernels.kernel_ir.tile_words import elements, packed, unpacked, word_bytes, words_of
from tests.support.emulator.emulate import COMPILER, build

THREADS, TILE, FIRST = 64, 150, 3
"""A window is as many tiles as there are threads, of the widest elements half as many: several are before this tile."""
KINDS = {
    "f32": (Prim.F32,), "pair": (Prim.F32, Prim.F64), "many": (Prim.I64, Prim.U8, Prim.F64), "bf16": (Prim.BF16,),
    "wide": (Prim.F64,) * 9,
}  # fmt: skip


def one_look(prims: tuple[Prim, ...]) -> Kernel:
    """out_k[0] = what stands before the tile, whose own value is 1: each component is x, y -> 2 x + y, which keeps
    order."""
    words = KArray("words", Prim.U64, Space.GLOBAL)
    outs = tuple(KArray(f"out{k}", prim, Space.GLOBAL) for k, prim in enumerate(prims))
    lefts, rights, founds = ([KVar(f"{base}{k}", p) for k, p in enumerate(prims)] for base in ("l", "r", "found"))
    body, results = list[kir.KStm](), list[KVar]()
    for left, right in zip(lefts, rights, strict=True):
        twice, total = KVar(f"twice_{left.name}", left.prim), KVar(f"total_{left.name}", left.prim)
        body.append(kir.KLet(twice, kir.KOp(Op.ADD, left.prim, (left, left))))
        body.append(kir.KLet(total, kir.KOp(Op.ADD, left.prim, (twice, right))))
        results.append(total)
    op = kir.KLambda(tuple(lefts), tuple(rights), tuple(body), tuple(results))
    ones, zeros = (tuple(Const(p, type_(p, x)) for p in prims) for x in (1, 0))
    tile = KVar("tile", Prim.I64)
    look = kir.LookBack(tuple(founds), words, tile, i64(FIRST), ones, op, zeros)
    stores = (kir.Store(out, i64(0), found) for out, found in zip(outs, founds, strict=True))
    return Kernel("k", KVar("b", Prim.I64), (words, *outs), (tile,), (look, *stores), (), Level.BLOCK)


def type_(prim: Prim, x: int) -> Any:
    return float(x) if prim.is_float else x


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: nothing is emulated")
@pytest.mark.parametrize("kind", KINDS)
def test_the_fold_is_from_the_left(kind: str) -> None:
    prims = KINDS[kind]
    emulator, size = build((one_look(prims),), THREADS), elements(prims)
    values, before = dict[int, int](), {FIRST: 0}
    for k in range(FIRST, TILE):  # small numbers, so that all types hold them
        values[k] = k % 2 if before[k] < 16 else -before[k]
        before[k + 1] = 2 * before[k] + values[k]
    for totals in ((), (TILE - 1,), (FIRST + 1, FIRST + 20, TILE - 70), (TILE - 64, TILE - 65), (FIRST,)):
        words = np.zeros((TILE + 1) * size, np.uint64)
        for k in range(FIRST, TILE):
            status, posted = (kir.TOTAL, before[k + 1]) if k in totals else (kir.SUM, values[k])
            words[k * size : (k + 1) * size] = packed(status, [wrapped(p, posted) for p in prims], prims)
        for order in (0, 1, 5):
            given, outs = words.copy(), [np.zeros(1, DTYPES[p]) for p in prims]
            emulator.launch("k", 1, [given, *outs], [TILE], order)
            assert [x[0] for x in outs] == [wrapped(p, before[TILE]) for p in prims], (totals, order)
            status, own = unpacked([int(x) for x in given[TILE * size :]], prims)
            assert (status, own) == (kir.TOTAL, [wrapped(p, 2 * before[TILE] + 1) for p in prims])


def wrapped(prim: Prim, x: int) -> Any:
    return float(x) if prim.is_float else x % 256 if prim is Prim.U8 else x


def test_words() -> None:
    assert [word_bytes(prims) for prims in KINDS.values()] == [8, 16, 16, 8, 16]
    assert [words_of(prims) for prims in KINDS.values()] == [
        ((Prim.F32,),), ((Prim.F32, Prim.F64),), ((Prim.I64,), (Prim.U8, Prim.F64)), ((Prim.BF16,),),
        ((Prim.F64,),) * 9,
    ]  # fmt: skip
    for prims in KINDS.values():
        values = [wrapped(p, 200) for p in prims]
        assert unpacked(packed(kir.SUM, values, prims), prims) == (kir.SUM, values)
