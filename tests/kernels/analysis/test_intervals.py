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
    assert found["next"] == range_of(Prim.I64)
    assert found["g"] == (0, 2**63 - 1)
    assert found["i"] == found["j"] == (0, 2**63 - 2)


SUMS = """
kernel k(block; xs: [u8], out: [i64]; n: i64, start: i64) {
  threads i in 0..n {
    var count: i64 = 5
    var twice: i64 = 1
    var inner: i64 = 0
    for j < n {
      let x: u8 = xs[j]
      let large: bool = gt_u8 x 7u8
      let c: i64 = count
      let d: i64 = add_i64 -2 c
      let e: i64 = select_i64 large d c
      count := e
      let t: i64 = twice
      let u: i64 = add_i64 t t
      twice := u
      for k < 10 {
        let a: i64 = inner
        let b: i64 = add_i64 a 3
        let f: i64 = select_i64 large b 77
        inner := f
        var own: i64 = 0
        let o: i64 = own
        let q: i64 = add_i64 o 1
        own := q
      }
    }
    out[i] := count
  }
  scan (sum: i64, other: i64) carry (total: i64, rest: i64) from (start, 0) neutral (0, 0) over s in 0..n {
    let y: u8 = xs[s]
    let z: i64 = u8_to_i64 y
    values z, z
    op (a1: i64, a2: i64) (b1: i64, b2: i64) {
      let c1: i64 = add_i64 a1 b1
      let c2: i64 = add_i64 a2 a2
      c1, c2
    }
    after
    out[s] := sum
  }
}
"""


def test_sums_grow_by_what_is_added_in_each_turn() -> None:
    found = find_intervals(parse_kernel(SUMS).body, {"n": (0, 1000), "start": (-3, 4)})
    assert found["count"] == (5 - 2 * 1000, 5)
    assert found["inner"] == (0, 77 + 3 * 10 * 1000)
    assert found["own"] == (0, 1)
    assert found["twice"] == found["other"] == range_of(Prim.I64)
    assert found["sum"] == found["c1"] == found["total"] == (-3, 4 + 255 * 1000)


def test_sums_wrap_where_there_are_too_many_addends() -> None:
    found = find_intervals(parse_kernel(SUMS).body, {"n": (0, 2**60), "start": (0, 0)})
    assert found["count"] == (5 - 2**61, 5)
    assert found["inner"] == found["sum"] == range_of(Prim.I64)
