"""The numbers of a block are those of the one before and one more, as by division, wherever a worker begins."""

from __future__ import annotations

import ctypes
import itertools
from math import prod

import numpy as np
import pytest

import soac
from soac.kernels.devices.cpu.runtime import jit
from soac.kernels.kernel_ir.nodes import KLet, KOp
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.kernel_ir.values import symbol_of
from soac.kernels.lanes.block_numbers import block_numbers
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, ready

KERNEL = """
kernel digits(block; out_1: [i64]; n_2: i64, m_3: i64) {
  let t_4: i64 = add_i64! n_2 1
  let i_5: i64 = rem_i64 block t_4
  let rest_6: i64 = quot_i64 block t_4
  let j_7: i64 = rem_i64 rest_6 m_3
  let k_8: i64 = quot_i64 rest_6 m_3
  let l_9: i64 = rem_i64 i_5 2
  let t_10: i64 = mul_i64! block 4
  out_1[t_10] := i_5
  let t_11: i64 = add_i64! t_10 1
  out_1[t_11] := j_7
  let t_12: i64 = add_i64! t_10 2
  out_1[t_12] := k_8
  let t_13: i64 = add_i64! t_10 3
  out_1[t_13] := l_9
}
"""


def test_only_the_first_block_divides() -> None:
    kernel = parse_kernel(KERNEL)
    numbers = block_numbers(kernel)
    assert [(d.remainders, d.quotients) for d in numbers.digits] == [(("i_5",), ("rest_6",)), (("j_7",), ("k_8",))]
    assert [stm.var.name for stm in numbers.before] == ["t_4"]
    left = [s.var.name for s in all_statements(numbers.rest) if isinstance(s, KLet) and isinstance(s.rhs, KOp)]
    assert left == ["l_9", "t_10", "t_11", "t_12", "t_13"]


@pytest.mark.parametrize(
    ("n", "m", "first", "last"), [(0, 1, 0, 4), (2, 3, 0, 20), (2, 3, 7, 19), (4, 1, 9, 10), (1, 2, 5, 5)]
)
def test_counts_from_any_block(n: int, m: int, first: int, last: int) -> None:
    kernel = ready(parse_kernel(KERNEL), CPU_PASSES)
    symbol = symbol_of(kernel.name)
    code = jit.load_text(emit((kernel,)), (symbol,))
    out = np.full((24, 4), -1)
    words = np.array([0, 0, out.ctypes.data, n, m])
    arena = np.zeros(3, np.int64)
    words[1] = arena.ctypes.data
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code.address(symbol))
    run(words.ctypes.data, first, last, 0)
    for b in range(24):
        i, rest = b % (n + 1), b // (n + 1)
        wanted = [i, rest % m, rest // m, i % 2] if first <= b < last else [-1] * 4
        assert out[b].tolist() == wanted


def test_permutations_of_four_dimensions() -> None:
    program = soac.compile("""
        entry main [a][b][c][d] (xs: [a][b][c][d]i32): [c][a][b][d]i32 =
          tabulate c (\\k -> tabulate_3d a b d (\\i j l -> xs[i, j, k, l]))""")
    for shape in itertools.product((1, 3), (1, 5), (2, 7), (1, 9, 30)):
        xs = np.arange(prod(shape), dtype=np.int32).reshape(shape)
        assert np.array_equal(program.main(xs), xs.transpose(2, 0, 1, 3))
