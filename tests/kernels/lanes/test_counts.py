"""Sums of truth values are counted by vectors: the same numbers, at all lengths, beside other reductions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import soac
from soac.ir.types import Prim, i64
from soac.kernels.analysis.uniformity import find_facts
from soac.kernels.analysis.widest_type import widest_type
from soac.kernels.kernel_ir.counts import counted, without
from soac.kernels.kernel_ir.nodes import BlockReduce, Kernel
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.passes.choose_lanes import LANES_OF_BYTES, LaneSettings, choose_lanes, fitted
from soac.kernels.passes.pipeline import CPU_PASSES, ready

PROGRAM = """
entry spaces [n] (xs: [n]u8): i64 = i64.sum (map (\\x -> if x == 32 then 1 else 0) xs)
entry changes [n] (xs: [n]u8): i32 = i32.sum (map (\\i -> i32.bool (i > 0 && xs[i] != xs[i - 1])) (iota n))
entry beside [n] (xs: [n]u8): (i64, u8, i64, i64) =
  let count f = i64.sum (map (\\x -> i64.bool (f x)) xs)
  in (count (> 99), u8.maximum xs, i64.sum (map i64.u8 xs), count (< 9))
entry both [n] (xs: [n]u8): (i64, u8) = (i64.sum (map (\\x -> i64.bool (x > 99)) xs), u8.maximum xs)
entry rows [n][m] (xss: [n][m]i16): [n]i64 = map (\\xs -> i64.sum (map (\\x -> i64.bool (x > 0)) xs)) xss
entry floats [n] (xs: [n]f32): i64 = length (filter (> 3) xs)
entry small [n] (xs: [n]u8): u8 = u8.sum (map (\\x -> u8.bool (x > 3)) xs)
entry never [n] (xs: [n]u8): i64 = i64.sum (map (\\_ -> i64.bool (n < 0)) xs)
"""
WANTED: dict[str, Callable[[np.ndarray], tuple[Any, ...]]] = {
    "spaces": lambda xs: ((xs == 32).sum(),),
    "changes": lambda xs: ((xs[1:] != xs[:-1]).sum(),),
    "beside": lambda xs: ((xs > 99).sum(), xs.max(initial=0), xs.sum(dtype=np.int64), (xs < 9).sum()),
    "both": lambda xs: ((xs > 99).sum(), xs.max(initial=0)),
    "small": lambda xs: ((xs > 3).sum() % 256,),
    "never": lambda xs: (0,),
}


@cache
def program() -> soac.Program:
    return soac.compile(PROGRAM)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", WANTED)
def test_counts_bytes(name: str, threads: int) -> None:
    random = np.random.default_rng(1)
    run = program().prepare(name, threads=threads)
    for n in (0, 1, 7, 63, 64, 65, 255, 256, 257, 1000, 100_003):
        xs = random.integers(0, 256, n).astype(np.uint8)
        assert [int(x) for x in run((xs,))] == [int(x) for x in WANTED[name](xs)], n


def test_counts_in_rows_and_of_floats() -> None:
    random = np.random.default_rng(2)
    for shape in ((0, 5), (3, 0), (3, 1000), (200, 17), (5, 63)):
        xss = random.integers(-5, 6, shape).astype(np.int16)
        (got,) = program().prepare("rows", threads=1)((xss,))
        np.testing.assert_array_equal(got, (xss > 0).sum(1))
    xs = np.array([np.nan, 4, 3, np.inf, -1] * 77, np.float32)
    assert program().prepare("floats", threads=1)((xs,)) == [2 * 77]


KERNEL = """
kernel k(block; xs: [u8], out: [i64]; n: i64) {
  reduce commutative (a: i64, b: u8) from (0, 0u8) over i in 0..n {
    let x: u8 = xs[i]
    let c: bool = eq_u8 x 32u8
    let one: i64 = bool_to_i64 c
    values one, x
    op (p: i64, q: u8) (r: i64, s: u8) {
      let t: i64 = OPERATION
      let u: u8 = max_u8 q s
      t, u
    }
  }
  out[block] := a
}
"""


def reduction(operation: str) -> tuple[Kernel, BlockReduce]:
    kernel = parse_kernel(KERNEL.replace("OPERATION", operation))
    stm = kernel.body[0]
    assert isinstance(stm, BlockReduce)
    return kernel, stm


def test_what_counts_has_no_lanes() -> None:
    kernel, stm = reduction("add_i64 r p")
    assert list(counted(stm)) == [0]
    rest = without(stm, counted(stm))
    assert [x.name for x in rest.outs] == ["b"]
    assert rest.neutral != stm.neutral
    assert len(rest.op.body) == 1
    assert widest_type(kernel.body, find_facts(kernel.body)) is Prim.U8


@pytest.mark.parametrize("operation", ["max_i64 p r", "add_i64 p p", "add_i64 p 1"])
def test_other_operators_do_not_count(operation: str) -> None:
    kernel, stm = reduction(operation)
    assert not counted(stm)
    assert widest_type(kernel.body, find_facts(kernel.body)) is Prim.I64
    assert i64(0) in stm.neutral


ALIKE = """
entry main [n][m] (text: [n]u8) (pattern: [m]u8): i64 =
  i64.sum (map (\\i -> i64.bool (and (map2 (==) (text[i:i+m] :> [m]u8) pattern))) (iota (n - m + 1)))
"""


def test_truth_values_that_loops_carry_have_lanes_of_one_register() -> None:
    """LLVM takes those of two registers apart where a round ends."""
    program = soac.compile(ALIKE)
    kernel = next(k for k in program.compiled.host.kernels if k.name == "main_add_0")
    made = choose_lanes(ready(kernel, CPU_PASSES), LaneSettings())
    widths = [k.lanes.width for k in (made, fitted(made, 16 * 32, LANES_OF_BYTES // 2)) if k.lanes is not None]
    assert widths == [LANES_OF_BYTES, LANES_OF_BYTES // 2]
    random = np.random.default_rng(3)
    for n in (3, 40, 63, 64, 65, 700, 100_003):
        text = random.integers(0, 3, n).astype(np.uint8)
        found = np.lib.stride_tricks.sliding_window_view(text, 3) == text[:3]
        assert int(program.main(text, text[:3].copy())) == found.all(axis=1).sum()
