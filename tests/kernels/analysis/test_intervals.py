"""Intervals of integers contain all values of an operation, and those of loops what grows."""

from __future__ import annotations

import itertools

import pytest

from soac.ir import scalar
from soac.ir.ops import Op
from soac.ir.types import Prim
from soac.kernels.analysis.intervals import find_intervals, of_operation, range_of
from soac.kernels.kernel_ir.parse import parse_kernel

BINARY = [
    Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.MOD, Op.REM, Op.DIV, Op.QUOT, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR,
    Op.USHR, Op.LT, Op.POW, Op.MULHI,
]  # fmt: skip
UNARY = [Op.NEG, Op.NOT, Op.ABS, Op.SGN, Op.POPC, Op.CLZ, Op.CTZ]
INTERVALS = [(-3, 2), (0, 0), (0, 5), (1, 4), (3, 3), (-128, -120), (100, 127), (-128, 127), (7, 12)]


@pytest.mark.parametrize("op", BINARY + UNARY, ids=lambda op: op.value)
@pytest.mark.parametrize("prim", [Prim.I8, Prim.U8], ids=lambda prim: prim.value)
def test_contains_all_values(op: Op, prim: Prim) -> None:
    least, _ = range_of(prim)
    known = [(a, b) for a, b in INTERVALS if a >= least]
    for intervals in itertools.product(known, repeat=1 if op in UNARY else 2):
        low, high = of_operation(op, prim, [*intervals])
        ends = [sorted({a, min(a + 1, b), (a + b) // 2, b}) for a, b in intervals]
        for args in itertools.product(*ends):
            try:
                value = int(scalar.apply(op, prim, args))
            except scalar.ScalarFailure:
                continue
            assert low <= value <= high, (intervals, args, value)


def test_what_grows_may_be_anything() -> None:
    kernel = parse_kernel("""
kernel k(block; xs: [u8], out: [i64]; n: i64) {
  threads i in 0..n {
    var h: i64 = 7
    var g: i64 = 0
    for j < n {
      let x: u8 = xs[j]
      let y: i64 = u8_to_i64 x
      let old: i64 = h
      let t: i64 = add_i64 old y
      let u: i64 = mod_i64 t 100
      h := u
      let count: i64 = g
      let next: i64 = add_i64 count 1
      g := next
      let m: i64 = min_i64 n 3
    }
    out[i] := h
  }
}
""")
    found = find_intervals(kernel.body)
    assert found["h"] == (0, 99)
    assert found["t"] == (0, 99 + 255)
    assert found["y"] == (0, 255)
    assert found["m"] == (-(2**63), 3)
    for name in ("next", "g", "i", "j"):
        assert found[name] == range_of(Prim.I64)
