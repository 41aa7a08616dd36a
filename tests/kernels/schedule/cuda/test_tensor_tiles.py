"""Products on tensor cores: values, hazards, text, and what the collective check refuses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.kernel_counts import functions, lines_of, loops, tally
from soac.flatten.tiling.choose import REGISTERS
from soac.ir import scalar
from soac.ir.core import Level
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CUDA
from soac.ir.types import Const, Prim, i64
from soac.ir.version_tree import size_params
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.fragments import INSTRUCTIONS, LANES, Role, place
from soac.kernels.kernel_ir.nodes import Kernel, KStm
from soac.kernels.kernel_ir.traverse import rewritten, statements
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.schedule.cuda import tensor_steps
from soac.kernels.tracer.run import TraceSettings, trace_kernels
from soac.pipeline import Compiled, compile_prog
from tests.support.emulator.emulate import COMPILER, Emulator, build, emulated

SOURCE = """
entry half [n][p][m] (xss: [n][p]f16) (yss: [p][m]f16): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (\\x y -> f32.f16 x * f32.f16 y) xs ys)) (transpose yss)) xss

entry brain [n][p][m] (xss: [n][p]bf16) (yss: [m][p]bf16): [n][m]f32 =
  map (\\xs -> map (\\ys -> 1 - f32.sum (map2 (\\x y -> f32.bf16 x * f32.bf16 y) xs ys)) yss) xss

entry single [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> #[tensor] f32.sum (map2 (*) xs ys)) (transpose yss)) xss

entry batches [b][n][p][m] (xsss: [b][n][p]f16) (yss: [p][m]f16): [b][n][m]f16 =
  map (\\xss -> map (\\xs -> map (\\ys -> #[tensor] f16.sum (map2 (*) xs ys)) (transpose yss)) xss) xsss

entry plain [n][p][m] (xss: [n][p]f16) (yss: [p][m]f16): [n][m]f16 =
  map (\\xs -> map (\\ys -> f16.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
ENTRIES = {"half": Prim.F16, "brain": Prim.BF16, "single": Prim.F32, "batches": Prim.F16}
SHAPES = [(0, 3, 2), (3, 0, 2), (1, 1, 1), (33, 17, 65), (130, 9, 20), (64, 40, 72), (128, 88, 128)]
"""The last two have rows that are copied by 16 bytes: tiles that are whole, steps that are left."""
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")


@cache
def compiled() -> Compiled:
    return compile_prog(SOURCE, "tensor.soac", machine=CUDA, checked=True)


def kernels_of(entry: str, program: Compiled | None = None) -> list[Kernel]:
    """Those on tensor cores, from R = 8 on."""
    found = (k for k in (program or compiled()).host.kernels if k.name.startswith(f"{entry}_"))
    return [k for k in found if any(isinstance(s, kir.Mma) for s in statements(k.body))]


def arguments(entry: str, n: int, p: int, m: int) -> list[np.ndarray]:
    """Small integers, of which every sum is exact."""
    if ENTRIES[entry] is Prim.BF16:
        pytest.importorskip("ml_dtypes")
    dtype, source = scalar.DTYPES[ENTRIES[entry]], np.random.default_rng(n + p + m)
    shapes = ((2, n, p) if entry == "batches" else (n, p)), ((m, p) if entry == "brain" else (p, m))
    return [source.integers(-9, 9, shape).astype(dtype) for shape in shapes]


def sizes(each: int) -> dict[str, int]:
    return {name: each if "registers" in name else 1 for name in size_params(compiled().flat)}


def outermost(entry: str) -> dict[str, bool]:
    return {f"{entry}.ys.suff_outer_0": True}


# ---- layouts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prim", INSTRUCTIONS)
def test_a_fragment_holds_each_element_once(prim: Prim) -> None:
    depth = INSTRUCTIONS[prim].depth
    sizes = {Role.LEFT: (16, depth), Role.RIGHT: (depth, 8), Role.SUM: (16, 8)}
    for role, layout in INSTRUCTIONS[prim].layouts.items():
        held = [place(layout, lane, k) for lane in range(LANES) for k in range(layout.count)]
        assert sorted(held) == list(itertools.product(*map(range, sizes[role])))


def test_layouts_are_those_of_the_manual() -> None:
    """PTX ISA: groupID = lane / 4, threadID_in_group = lane % 4."""
    for lane in range(LANES):
        group, member = divmod(lane, 4)
        layouts = INSTRUCTIONS[Prim.BF16].layouts
        for i in range(8):
            row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
            assert place(layouts[Role.LEFT], lane, i) == (row, member * 2 + (i & 1) + (8 if i >= 4 else 0))
        for i in range(4):
            assert place(layouts[Role.RIGHT], lane, i) == (member * 2 + (i & 1) + (8 if i >= 2 else 0), group)
            assert place(layouts[Role.SUM], lane, i) == (group + (8 if i >= 2 else 0), member * 2 + (i & 1))
        layouts = INSTRUCTIONS[Prim.F32].layouts
        rows, columns = (group, group + 8) * 2, (member, member, member + 4, member + 4)
        assert [place(layouts[Role.LEFT], lane, i) for i in range(4)] == list(zip(rows, columns, strict=True))
        assert [place(layouts[Role.RIGHT], lane, i) for i in range(2)] == [(member, group), (member + 4, group)]


# ---- values ------------------------------------------------------------------------------------------------------


@cache
def interpreted(entry: str, shape: tuple[int, int, int]) -> list[Any]:
    return prepare(compiled().core).run(entry, arguments(entry, *shape), Thresholds())[0]


@cache
def emulator(entry: str, each: int, threads: int) -> Emulator:
    return build((kernels_of(entry)[(8, 4, 2).index(each)],), threads)


@needs_compiler
@pytest.mark.parametrize(
    ("entry", "each", "threads"),
    [("half", 2, 64), ("half", 2, 1024), ("brain", 8, 256), ("single", 2, 64), ("batches", 4, 64)],
)
def test_the_values_are_those_of_the_interpreter(entry: str, each: int, threads: int) -> None:
    """Sums of small integers are exact in any order."""
    run = emulated(compiled(), emulator(entry, each, threads), 1).run
    for shape in SHAPES:
        ((found,), _) = run(entry, arguments(entry, *shape), sizes(each), outermost(entry))
        np.testing.assert_array_equal(found, interpreted(entry, shape)[0], f"{shape}")


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_tracer_finds_no_hazard_and_the_same_values(entry: str) -> None:
    kernels = {k.name: k for k in all_ready(kernels_of(entry), CUDA_PASSES)}
    for shape in ((1, 1, 1), (33, 17, 3), (32, 40, 40)):
        args = arguments(entry, *shape)
        report = trace_kernels(
            compiled(), kernels.__getitem__, entry, args, outermost(entry), TraceSettings(256), sizes(2)
        )
        (launch,) = report.launches
        assert launch.is_clean, launch.findings
        np.testing.assert_array_equal(report.results[0], interpreted(entry, shape)[0])


@needs_compiler
@pytest.mark.parametrize("asked", [(16, 1), (16, 2), (16, 3), (32, 2)])
def test_pipelines_of_any_depth_give_the_same_values(asked: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The product without asynchronous copies (one step), and those with longer and with more steps."""
    compiled()  # what other tests have, with the default
    monkeypatch.setattr(tensor_steps, "PIPELINES", (asked,))
    program = compile_prog(SOURCE, "tensor.soac", machine=CUDA, checked=True)
    halves, stages = asked
    for entry, prim in (("half", Prim.F16), ("brain", Prim.BF16), ("single", Prim.F32)):
        kernel = kernels_of(entry, program)[-1]
        tiles = [s for s in statements(kernel.body) if isinstance(s, kir.Alloc) and "tile" in s.array.name]
        assert (stages > 1) == any(isinstance(s, kir.AsyncCopy) for s in statements(kernel.body))
        depth = halves * 2 // prim.bytes
        assert all(int(s.count.value) >= max(2, stages) * depth * 32 for s in tiles if isinstance(s.count, Const))
        run = emulated(program, build((kernel,), 64), 1).run
        for shape in SHAPES:
            ((found,), _) = run(entry, arguments(entry, *shape), sizes(2), outermost(entry))
            np.testing.assert_array_equal(found, interpreted(entry, shape)[0], f"{shape}")
        kernels = {k.name: k for k in all_ready([kernel], CUDA_PASSES)}
        report = trace_kernels(
            program, kernels.__getitem__, entry, arguments(entry, 32, 136, 40), outermost(entry), TraceSettings(256),
            sizes(2),
        )  # fmt: skip
        assert all(launch.is_clean for launch in report.launches)


@needs_compiler
@pytest.mark.parametrize("entry", ["half", "single"])
def test_rounding_is_what_is_stated(entry: str) -> None:
    """Factors have 11 digits, products are exact, and each of p sums of f32 may be off by half a unit."""
    source, p = np.random.default_rng(1), 40
    xs, ys = (source.standard_normal(s).astype(scalar.DTYPES[ENTRIES[entry]]) for s in ((20, p), (p, 20)))
    run = emulated(compiled(), emulator(entry, 2, 64), 1).run
    ((found,), _) = run(entry, [xs, ys], sizes(2), outermost(entry))
    xs, ys = xs.astype(np.float64), ys.astype(np.float64)
    digits = 2.0**-10 if entry == "single" else 0.0
    bound = (digits + p * 2.0**-24) * (np.abs(xs) @ np.abs(ys))
    off = np.abs(np.asarray(found, np.float64) - xs @ ys)
    assert (off <= bound).all()
    assert (off > 2.0**-14).any() == (entry == "single")


# ---- text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("entry", "instruction"), [
    ("half", "m16n8k16.row.col.f32.f16.f16.f32"),
    ("brain", "m16n8k16.row.col.f32.bf16.bf16.f32"),
    ("single", "m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("batches", "m16n8k16.row.col.f32.f16.f16.f32"),
])  # fmt: skip
def test_instructions(entry: str, instruction: str) -> None:
    """Each thread of R = 8 has 4 x 4 products of fragments in a step: no other instruction goes to memory in the loop
    over whole steps than `ldmatrix` (tf32 of rows that are columns in memory: 8 words) and copies of 16 bytes; no
    more than 6.25 for each product. Nothing is in local memory."""
    kernel = kernels_of(entry)[0]
    try:
        ptx = compile_cuda(cuda_module([cuda_kernel(kernel)]), "compute_80").decode()
    except NoCompiler as missing:
        pytest.skip(str(missing))
    lines = lines_of(functions(ptx)[kernel.name])
    inner = [tally([op for op, _, _ in lines[b : e + 1] if op]) for b, e in loops(lines)]
    (loop,) = (one for one in inner if any(op.startswith("cp.async.cg") for op in one.operations))
    found = {op: count for op, count in loop.operations.items() if re.match(r"(ld|st|mma)", op)}
    steps, rest = divmod(found.pop(f"mma.sync.aligned.{instruction}"), 16)
    is_half, across = entry != "single", entry != "brain"
    matrices, wanted = "ldmatrix.sync.aligned.m8n8.x4", {}
    wanted[f"{matrices}.shared.b16"] = (4 if across else 6) * steps
    if across:
        wanted |= {f"{matrices}.trans.shared.b16": 2 * steps} if is_half else {"ld.shared.f32": 8 * steps}
    assert (rest, found) == (0, wanted)
    assert loop.loads == {128: 2 * steps}
    if is_half:
        assert loop.instructions <= 6.25 * 16 * steps
    assert ".local" not in ptx


def test_sums_of_f16_take_them_by_attribute_only() -> None:
    assert kernels_of("plain") == []
    assert len(kernels_of("batches")) == len(REGISTERS) - 1


# ---- what is refused ----------------------------------------------------------------------------------------------


def changed(kernel: Kernel, change: Callable[[KStm], tuple[KStm, ...] | None]) -> str:
    """What the collective check says of a kernel with other statements."""
    return "\n".join(map(str, check_collectives(replace(kernel, body=rewritten(kernel.body, change)), 256)))


def other_fragments(**fields: Any) -> Callable[[KStm], tuple[KStm, ...] | None]:
    def change(stm: KStm) -> tuple[KStm, ...] | None:
        is_left = isinstance(stm, kir.Distribute) and stm.role is Role.LEFT
        return (replace(stm, **fields),) if is_left else None

    return change


def test_a_conflict_of_layouts_names_both_pitches() -> None:
    kernel = kernels_of("half")[-1]
    assert changed(kernel, lambda stm: None) == ""
    found = changed(kernel, other_fragments(role=Role.RIGHT))
    assert "is stored as a row for every 1 threads, columns for every 4; " in found
    assert "expected a row for every 4 threads, columns for every 1: the left of the product" in found
    assert "mma " in found
    assert "in no matrix" in changed(kernel, other_fragments(role=None))


def test_incomplete_warps_are_refused() -> None:
    kernel = kernels_of("half")[-1]
    assert "belongs to 48 threads, not to whole warps" in changed(kernel, other_fragments(threads=48))

    def by_each(stm: KStm) -> tuple[KStm, ...] | None:
        if not isinstance(stm, kir.Threads) or not any(isinstance(s, kir.Mma) for s in stm.body):
            return None
        return (replace(stm, unit=Level.THREAD, hi=i64(256)),)

    found = changed(kernel, by_each)
    assert "matrices are multiplied by all threads of a warp; found " in found
    assert "one thread, expected " in found
    assert "a warp, 32 threads, in the body of `threads " in found
