"""What decides how fast the kernels of a GPU are, held by their PTX: loads under way, multiply-adds, fences, spills."""

from __future__ import annotations

import re

import pytest

from benchmarks import kernel_counts
from benchmarks.kernel_counts import (
    ARCH,
    CASES,
    Counted,
    counted,
    functions,
    kernels_of,
    lines_of,
    loops,
    tally,
    texts_of,
    width,
)
from soac.kernels.cuda_c.module import cuda_module
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda, nvrtc, resources

NAMES = ("row sums, teams", "scan", "product f32", "softmax, rows in registers", "nbody, tiles")


@pytest.fixture(scope="module")
def found() -> dict[str, Counted]:
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(str(why))
    return {one.case: one for one in kernels_of([case for case in CASES if case.name in NAMES])}


def test_a_product_is_multiply_adds(found: dict[str, Counted]) -> None:
    """Of a step of 8 elements: 512, 32 loads of shared memory, 5 copies, and no more than 60 others."""
    loop, use = found["product f32"].ptx, found["product f32"].use
    assert loop.operations["fma.rn.f32"] == 512
    assert loop.operations["ld.shared.v4.f32"] == 32
    assert loop.loads == {32: 4, 128: 1}
    assert loop.instructions <= 512 + 32 + 5 + 60
    assert (use.spill_stores, use.spill_loads, use.stack) == (0, 0, 0)
    assert found["product f32"].warps == 16
    if (sass := found["product f32"].sass) is not None:
        assert 512 / sass.instructions >= 0.8


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize(
    ("asked", "copies", "waits", "most"), [((), 2, 1, 96), (((16, 2),), 2, 0, 75), (((16, 1),), 0, None, 361)]
)
def test_pipelines_of_tensor_tiles_are_compared(
    asked: tuple[tuple[int, int], ...], copies: int, waits: int | None, most: int
) -> None:
    """Of a step of 16 `mma`: copies of 16 bytes, for which group of them it waits, instructions."""
    (case,) = (case for case in CASES if case.name == "tensor f16")
    with kernel_counts.with_pipelines(asked):
        (one,) = kernels_of([case])
        (text,) = (k.text for k in texts_of(case.source).values() if case.says in k.text)
    steps, rest = divmod(sum(n for op, n in one.ptx.operations.items() if op.startswith("mma.sync")), 16)
    assert (rest, one.ptx.loads.get(128, 0)) == (0, copies * steps)
    assert one.ptx.instructions <= most * steps
    assert max(map(int, re.findall(r"wait_for_copies<(\d)>", text)), default=None) == waits
    assert (one.use.spill_stores, one.use.stack) == (0, 0)


@pytest.mark.usefixtures("found")
def test_a_share_of_a_long_product_is_a_product() -> None:
    """The kernel of split-K: 4 x 4 results, steps of 16 elements, nothing spilt."""
    (kernel,) = (k for k in texts_of(kernel_counts.MATMUL).values() if re.search(r"\bshare\b", k.text))
    module = cuda_module([kernel])
    loop = counted(functions(compile_cuda(module, "compute_90").decode())[kernel.name])
    assert loop.operations["fma.rn.f32"] == 16 * 4 * 4
    assert loop.loads == {32: 4, 128: 1}
    use = resources(module, ARCH)[kernel.name]
    assert (use.spill_stores, use.spill_loads, use.stack) == (0, 0, 0)


def test_a_scan_has_a_tile_under_way(found: dict[str, Counted]) -> None:
    """16 loads for each thread before the first use, words at once, no fence."""
    (text,) = (k.text for k in texts_of(kernel_counts.SCAN).values() if "for each tile of a segment" in k.text)
    assert "publish(" not in text
    assert "post(" in text
    operations = found["scan"].ptx.operations
    assert operations["ld.global.nc.f32"] == 32  # of a whole tile, and of the last one
    assert {"ld.relaxed.gpu.global.u64", "st.relaxed.gpu.global.u64"} <= operations.keys()
    assert not any(re.match(r"membar|fence|.*\.(acquire|release)", op) for op in operations)
    assert found["scan"].warps >= 40


def test_teams_have_several_loads_under_way(found: dict[str, Counted]) -> None:
    """Of a long segment 4 elements; of short ones an element of each of 4, whose shuffles are side by side too."""
    (kernel,) = (k for k in texts_of(kernel_counts.ROWS).values() if "a team of threads" in k.text)
    lines = lines_of(functions(compile_cuda(cuda_module([kernel]), "compute_90").decode())[kernel.name])
    inner = [tally([op for op, _, _ in lines[b : e + 1] if op]) for b, e in loops(lines)]
    assert {loop.loads[32] for loop in inner if loop.loads} == {4}
    assert max(loop.operations.get("shfl.sync.down.b32", 0) for loop in inner) == 4
    assert found["row sums, teams"].warps == 64


def test_a_row_is_read_once_into_registers(found: dict[str, Counted]) -> None:
    """All loads of a thread at once, no row in shared memory, and as many warps as there can be."""
    one = found["softmax, rows in registers"]
    assert one.ptx.loads[32] == 4
    assert one.use.shared <= 128
    assert (one.use.spill_stores, one.use.stack, one.warps) == (0, 0, 64)


def test_tiles_are_read_four_elements_at_once(found: dict[str, Counted]) -> None:
    """Of 4 interactions: a load of 128 bits for each of 4 arrays, in shared memory."""
    operations = found["nbody, tiles"].ptx.operations
    assert operations["ld.shared.v4.f32"] == 4
    assert found["nbody, tiles"].ptx.loads == {}


def ptx_of(source: str, says: str) -> list[str]:
    (kernel,) = (k for k in texts_of(source).values() if says in k.text)
    return functions(compile_cuda(cuda_module([kernel]), "compute_90").decode())[kernel.name]


def divisions(lines: list[str]) -> list[int]:
    """How many an iteration of each of its innermost loops has."""
    found = lines_of(lines)
    return [sum(op.startswith(("div.u", "rem.u", "div.s")) for op, _, _ in found[b : e + 1]) for b, e in loops(found)]


@pytest.mark.usefixtures("found")
def test_an_index_is_not_taken_apart_to_be_put_together_again() -> None:
    """i * m + j of point (i, j) is the thread's; with another space around it, a quotient is left."""
    flat = "def main (n: i64) (m: i64): [n][m]i64 = map (\\i -> map (\\j -> (i * m + j) ^ 5) (iota m)) (iota n)"
    assert "div" not in " ".join(ptx_of(flat, "main_ys_0"))


@pytest.mark.usefixtures("found")
def test_a_segment_is_divided_once() -> None:
    """The indices of a segment stand before the loop over its elements."""
    nest = "map2 (\\xss y -> map (\\xs -> f32.sum (map (* y) xs)) xss) xsss ys"
    lines = ptx_of(f"def main [a][b][c] (xsss: [a][b][c]f32) (ys: [a]f32) = {nest}", "a team of threads")
    assert [n for n in divisions(lines) if n] == [4], "that of four short segments at once"


PTX = """
.visible .entry k(
){
$L__BB0_1:
	ld.global.nc.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd1];
	@%p1 bra 	$L__BB0_3;
$L__BB0_2:
	fma.rn.f32 	%f1, %f1, %f2, %f3;
	cp.async.cg.shared.global [%r1], [%rd1], 16;
	add.s64 	%rd1, %rd1, 4;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	@%p3 bra 	$L__BB0_1;
	ret;
}
"""


def test_what_is_counted() -> None:
    """Of two loops the inner one; the widths of loads in PTX and in machine code."""
    (lines,) = functions(PTX).values()
    assert len(list(loops(lines_of(lines)))) == 1
    loop = counted(lines)
    assert (loop.instructions, loop.loads) == (4, {128: 1})
    wide = {"ld.global.nc.v2.f64": 128, "LDG.E.128.CONSTANT": 128, "LDG.E.CONSTANT": 32, "LDG.E.U8": 8, "LDGSTS.E": 32}
    assert {op: width(op) for op in wide} == wide
