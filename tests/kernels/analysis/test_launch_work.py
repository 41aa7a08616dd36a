"""The work of a launch: threads within bounds that follow from counters and from the lanes of a group."""

from __future__ import annotations

from soac.kernels.analysis.cost import LANES
from soac.kernels.analysis.launch_work import launch_work
from soac.kernels.kernel_ir.parse import parse_kernel

KERNEL = """
kernel pieces(block; out_1: [f64]; n_2: i64, pieces_3: i64) {
  for piece_4 < pieces_3 {
    let begin_5: i64 = mul_i64! piece_4 group
    let t_6: i64 = add_i64! begin_5 group
    let end_7: i64 = min_i64 n_2 t_6
    threads i_8 in begin_5..end_7 {
      out_1[i_8] := 1.0f64
    }
  }
}
"""


def test_a_loop_counts_as_its_middle_round() -> None:
    """Pieces of one group each are no more work than all threads at once."""
    kernel = parse_kernel(KERNEL)
    n, pieces = kernel.scalars
    many = launch_work(kernel, 1, {n: 64 * LANES, pieces: 64})
    assert many == launch_work(kernel, 1, {n: 64 * LANES, pieces: 32}) * 2 - 1
    assert many < 64 * 16
