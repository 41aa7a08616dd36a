"""Every operation and conversion at every type in CUDA C, emulated, against `ir/scalar.py`."""

from __future__ import annotations

import numpy as np
import pytest

from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.ops import Op, operand_types, result_type
from soac.ir.types import Prim, i64
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, KConvert, KLet, KLoad, KOp, KVar, Space, Store
from tests.kernels.llvm.test_ops import ELEMENTARY, RhsOf, Row, Value, arguments, convertible, operations, same
from tests.support.emulator.emulate import COMPILER, Emulator, build
from tests.support.prims import EACH, PRIMS

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
INDEX, N, BLOCK = KVar("i", Prim.I64), KVar("n", Prim.I64), KVar("b", Prim.I64)
LIBRARY_OPS = frozenset({Op.SINPI, Op.COSPI, Op.TANPI})
"""Stand-ins of the emulator, not CUDA's functions: not worth a comparison."""


def kernel_of(name: str, rhs_of: RhsOf, types: tuple[Prim, ...], result: Prim) -> kir.Kernel:
    arrays = tuple(KArray(f"a{k}", t, Space.GLOBAL) for k, t in enumerate(types))
    out, y = KArray("out", result, Space.GLOBAL), KVar("y", result)
    xs = tuple(KVar(f"x{k}", t) for k, t in enumerate(types))
    loads = tuple(KLet(x, KLoad(a, INDEX)) for x, a in zip(xs, arrays, strict=True))
    body = (*loads, KLet(y, rhs_of(xs)), Store(out, INDEX, y))
    return kir.Kernel(name, BLOCK, (*arrays, out), (N,), (kir.Threads(INDEX, i64(0), N, body),), (), Level.BLOCK)


def name_of(op: Op) -> str:
    return f"op_{op.value}"


def results(emulator: Emulator, name: str, rows: list[Row]) -> list[Value]:
    *inputs, out = emulator.kernels[name].arrays
    data = [np.array(c, scalar.DTYPES[a.prim]) for a, c in zip(inputs, zip(*rows, strict=True), strict=True)]
    found = np.zeros(len(rows), scalar.DTYPES[out.prim])
    emulator.launch(name, 1, [*data, found], [len(rows)], 0)
    return found.tolist()


@pytest.mark.parametrize("prim", EACH)
def test_operations(prim: Prim) -> None:
    ops = [op for op in operations(prim) if op not in LIBRARY_OPS]
    kernels = tuple(
        kernel_of(name_of(op), lambda xs, op=op: KOp(op, prim, xs), operand_types(op, prim), result_type(op, prim))
        for op in ops
    )
    emulator = build(kernels, 32)
    wrong: list[str] = []
    for op in ops:
        rows = arguments(op, prim)
        for row, got in zip(rows, results(emulator, name_of(op), rows), strict=True):
            want = scalar.apply(op, prim, row)
            if op is Op.NEXTAFTER and row == (0.0, 0.0):
                continue
            scale = 1.0 if op is Op.LGAMMA else 0.0
            if not same(got, want, result_type(op, prim), 4.0 if op in ELEMENTARY else 0.0, scale):
                wrong.append(f"{op.value}_{prim.value}{row} = {want}, emulated {got}")
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("source", PRIMS, ids=lambda p: p.value)
def test_conversions(source: Prim) -> None:
    rows = convertible(source)
    targets = PRIMS
    emulator = build(
        tuple(kernel_of(f"to_{t.value}", lambda xs, t=t: KConvert(source, t, xs[0]), (source,), t) for t in targets), 32
    )
    wrong: list[str] = []
    for target in targets:
        for (x,), got in zip(rows, results(emulator, f"to_{target.value}", rows), strict=True):
            want = scalar.convert(source, target, x)
            if not same(got, want, target, 0.0):
                wrong.append(f"{x} from {source.value} to {target.value} = {want}, emulated {got}")
    assert not wrong, "\n".join(wrong[:40])
