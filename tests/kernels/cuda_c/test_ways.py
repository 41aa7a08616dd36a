"""Which versions may launch a kernel, as the check without a GPU sees it."""

from __future__ import annotations

from pathlib import Path

from soac.ir.machine import CUDA
from soac.pipeline import compile_prog
from soac.versions import runs_of
from tests.kernels.cuda_c.test_programs import needs_compiler
from tests.support.emulator.checks import Outcome, emulate, runs
from tests.support.emulator.subjects import ROOT, of_file
from tests.support.emulator.ways import ways_to

ROWS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let total = f32.sum xs in map (\\x -> x / total) xs) xss
entry other [n] (xs: [n]f32): f32 = f32.sum xs
"""


def test_the_version_of_a_block_launches_its_kernel_alone() -> None:
    compiled = compile_prog(ROWS, "rows.soac", machine=CUDA)
    ways, versions = ways_to(compiled.host), list(runs_of(compiled.flat, "main"))
    of_block = {"main.ys.suff_outer_0": False, "main.ys.suff_intra_warp_0": False, "main.ys.suff_intra_0": True}
    assert of_block in versions
    assert set(ways) == {kernel.name for kernel in compiled.host.kernels}
    (taken,) = [name for name, some in ways.items() if any(way.is_open("main", of_block) for way in some)]
    assert [version for version in versions if any(way.is_open("main", version) for way in ways[taken])] == [of_block]
    assert not any(way.is_open("other", of_block) for way in ways[taken])


@needs_compiler
def test_launches_are_on_their_ways() -> None:
    """Emulated, no version launches a kernel that it may not."""
    subject = of_file(ROOT / "programs" / "p06_reduce_then_map.soac")
    launched, ways = emulate(subject, Outcome(), (0,)), ways_to(subject.compiled.host)
    seen = 0
    for run in runs(subject, set()):
        for name in launched.get(run.key, frozenset()) & ways.keys():
            assert any(way.is_open(run.call.entry, run.forced) for way in ways[name]), (run.label, name)
            seen += 1
    assert seen > len(ways)


def test_no_call_is_made_up_that_writes_two_values_to_a_place(tmp_path: Path) -> None:
    """Threads write in any order."""
    (file := tmp_path / "last.soac").write_text(
        "entry main [n] (xs: [n]i64): [2]i64 = scatter [0, 0] (map (% 2) xs) xs\n", encoding="utf-8"
    )
    assert {call.label for call in of_file(file).calls} == {
        "made up of [0], 0",
        "made up of [0], 1",
        "made up of [0], 8",
    }
