"""Rows that a collective keeps in registers: which arrays may be such, and the kernel with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soac.ir.machine import BLOCK, CUDA
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Space
from soac.kernels.kernel_ir.parse import parse_kernel
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.schedule.cuda.row_registers import KeptRows, rows_in_registers
from soac.kernels.tracer.run import TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import compile_prog
from tests.support.programs import ROOT

KERNEL = """kernel k(block; ys: [f32]; m: i64, n: i64) {{
  xs = new shared f32[m]
  reduce {how} (s: f32) from (0.0f32) over i in 0..m {{
    let x: f32 = ys[i]
    xs[i] := x
    values x
    op (a: f32) (b: f32) {{
      let c: f32 = add_f32 a b
      c
    }}
  }}
  threads j in 0..{hi} {{
    let k: i64 = add_i64 j 0
    let y: f32 = xs[{at}]
    let z: f32 = div_f32 y s
    ys[j] := z
  }}
}}"""


def kept(how: str = "commutative", hi: str = "m", at: str = "j") -> KeptRows | None:
    return rows_in_registers(parse_kernel(KERNEL.format(how=how, hi=hi, at=at)))


def test_elements_at_the_index_of_whole_loops_are_registers() -> None:
    found = kept()
    assert found is not None
    assert ([v.name for v in found.lengths], found.most) == (["m"], BLOCK.most)
    kinds = [type(stm) for stm in statements(found.kernel.body)]
    assert kinds.count(kir.Distribute) == 1
    assert kir.Alloc not in kinds
    assert not check_collectives(found.kernel)


@pytest.mark.parametrize("other", [{"how": "ordered"}, {"hi": "n"}, {"at": "0"}, {"at": "k"}, {"at": "m"}])
def test_other_accesses_stay_in_memory(other: dict[str, str]) -> None:
    """Another order or range of indices, the element of another thread, an index that is not the loop's itself."""
    assert kept(**other) is None


def test_long_loops_are_not_written_out() -> None:
    """A loop of a hundred statements would be written out for each element of a thread."""
    chain = "".join(f"let t{k}: f32 = div_f32 y {'s' if k == 0 else f't{k - 1}'}\n    " for k in range(100))
    text = KERNEL.format(how="commutative", hi="m", at="j").replace("let z: f32 = div_f32 y s", chain)
    assert rows_in_registers(parse_kernel(text.replace(":= z", ":= t99"))) is None
    assert kept() is not None


def test_registers_of_other_indices_are_misplaced() -> None:
    """The check finds loops over another range than that of the registers."""
    found = kept()
    assert found is not None
    other = found.kernel.scalars[1]
    loops = (replace(s, hi=other) if isinstance(s, kir.Threads) else s for s in found.kernel.body)
    (why,) = check_collectives(replace(found.kernel, body=tuple(loops)))
    assert "xs belongs to the indices of loops over 0..m" in str(why)


def test_a_guard_that_says_that_rows_are_short_leaves_one_kernel() -> None:
    """Softmax with a warp or a block for each row: kernels with registers alone, since longer rows are not taken."""
    path = ROOT / "programs" / "softmax.soac"
    compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
    kernels = ready_kernels(compiled)
    rows = np.linspace(-3, 3, 2 * 300, dtype=np.float32).reshape(2, 300)
    guards = {f"softmax.ys.suff_{name}_0": name == "intra" for name in ("outer", "intra_warp", "intra")}
    report = trace_kernels(compiled, kernels, "softmax", [rows], guards, TraceSettings(threads=64))
    assert report.is_clean
    (launch,) = report.launches
    assert keeps(kernels(launch.kernel)) == {kir.Distribute}
    kept_by = [keeps(k) for k in compiled.host.kernels if k.name.startswith("softmax_ys")]
    assert (kept_by.count({kir.Distribute}), kept_by.count({kir.Alloc})) == (2, 0)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        np.asarray(report.results[0], np.float32), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5
    )


ROWS_BESIDE = """
entry main [n][d][u] (xsss: [n][d][u]f32) (yss: [n][u]f32): ([n][d][u]f32, [n][u]f32) =
  unzip (map2 (\\xss ys -> let zs = map (* 2) ys
                          let total = f32.sum zs
                          in (map (map (/ total)) xss, map (/ total) zs))
              xsss yss)
"""


def test_the_host_takes_them_for_short_rows() -> None:
    """A guard says that d * u is small, and u is not where d is 0: kernels with shared memory for longer rows, too."""
    compiled = compile_prog(ROWS_BESIDE, "rows.soac", machine=CUDA)
    kept_by = [keeps(k) for k in compiled.host.kernels]
    assert (kept_by.count({kir.Distribute}), kept_by.count({kir.Alloc})) == (2, 2)


def keeps(kernel: kir.Kernel) -> set[type]:
    """How a kernel keeps what its block has."""
    kinds = {type(s) for s in statements(kernel.body) if isinstance(s, kir.Distribute)}
    shared = {type(s) for s in statements(kernel.body) if isinstance(s, kir.Alloc) and s.array.space is Space.SHARED}
    return kinds | shared
