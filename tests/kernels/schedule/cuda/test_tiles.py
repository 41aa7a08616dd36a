"""Tiled segmaps of a GPU: values in several thread orders, no hazards, faults that must be found, registers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from soac.flatten.tiling.choose import REGISTERS
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CUDA
from soac.ir.ops import Op
from soac.ir.types import Prim, i64
from soac.ir.version_tree import size_params
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda.nvrtc import NoCompiler, nvrtc, resources
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import KArray, Kernel, KStm, Space
from soac.kernels.kernel_ir.traverse import children, statements, with_children
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.passes.place_fences import place_fences
from soac.kernels.tracer.run import KernelTrace, TraceSettings, trace_kernels
from soac.kernels.tracer.visibility import Kind
from soac.pipeline import Compiled, compile_prog
from tests.support.emulator.emulate import COMPILER, Emulator, build, emulated
from tests.support.fences import count_fences, without_fence
from tests.support.gpu_programs import same

SOURCE = """
entry product [n][p][m] (xss: [n][p]f32) (yss: [p][m]f32): [n][m]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss

entry bytes [n][p][m] (xss: [n][p]i8) (yss: [m][p]i8): [n][m]i8 =
  map (\\xs -> map (\\ys -> i8.sum (map2 (*) xs ys)) yss) xss

entry batches [b][n][p][m] (xsss: [b][n][p]f64) (yss: [p][m]f64): [b][n][m]f64 =
  map (\\xss -> map (\\xs -> map (\\ys -> 1 - f64.sum (map2 (*) xs ys)) (transpose yss)) xss) xsss

entry composed [n][p][m] (fss: [n][p]i32) (gss: [m][p]i32): ([n][m]i32, [n][m]i32) =
  let compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
  in unzip (map (\\fs -> unzip (map (\\gs -> reduce compose (1, 0) (zip fs gs)) gss)) fss)

entry weighed [n][p][m] (ws: [n]i32) (vs: [m]i32) (xss: [n][p]i32) (yss: [m][p]i32) (as: [p]i16): [n][m]i64 =
  map2 (\\w xs -> map2 (\\v ys ->
    let t = w * 3 - v
    in i64.i32 (w + v + i32.sum (map3 (\\x y a -> (x - t) * (y + w) + i32.i16 a) xs ys as))) vs yss) ws xss
"""

ENTRIES = ("product", "bytes", "batches", "composed", "weighed")
SHAPES = [(0, 3, 2), (3, 0, 2), (1, 1, 1), (5, 17, 9), (65, 33, 20), (16, 16, 128), (130, 9, 132)]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")


@cache
def compiled() -> Compiled:
    return compile_prog(SOURCE, "tiles.soac", machine=CUDA, checked=True)


@cache
def emulator(threads: int) -> Emulator:
    return build(compiled().host.kernels, threads)


def arguments(entry: str, n: int, p: int, m: int) -> list[np.ndarray]:
    def ints(dtype: type, *shape: int) -> np.ndarray:
        return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)

    match entry:
        case "product":
            return [ints(np.float32, n, p), ints(np.float32, p, m)]
        case "bytes":
            return [ints(np.int8, n, p), ints(np.int8, m, p)]
        case "batches":
            return [ints(np.float64, 2, n, p), ints(np.float64, p, m)]
        case "composed":
            return [ints(np.int32, n, p), ints(np.int32, m, p)]
        case _:
            return [ints(np.int32, *s) for s in ((n,), (m,), (n, p), (m, p))] + [ints(np.int16, p)]


def sizes(each: int) -> dict[str, int]:
    """Settings with which tiles of this kind are taken, however few there are."""
    return {name: each if "registers" in name else 1 for name in size_params(compiled().flat)}


def outermost(entry: str) -> dict[str, bool]:
    """The version with a point for each thread."""
    return {f"{entry}.ys.suff_outer_0": True}


def kernels_of(entry: str) -> list[Kernel]:
    """The tiled ones, from R = 8 on."""
    return [k for k in compiled().host.kernels if k.name.startswith(f"{entry}_") and registers_of(k)]


def registers_of(kernel: Kernel) -> list[kir.Distribute]:
    return [s for s in statements(kernel.body) if isinstance(s, kir.Distribute)]


# ---- values ------------------------------------------------------------------------------------------------------


@cache
def interpreted(entry: str, shape: tuple[int, int, int]) -> list[Any]:
    return prepare(compiled().core).run(entry, arguments(entry, *shape), Thresholds())[0]


@needs_compiler
@pytest.mark.parametrize("each", REGISTERS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_values_are_those_of_the_interpreter(entry: str, each: int) -> None:
    runs = {order: emulated(compiled(), emulator(256), order).run for order in (0, 1, 5)}
    for shape in SHAPES:
        args, wanted = arguments(entry, *shape), interpreted(entry, shape)
        for order, run in runs.items():
            found, _ = run(entry, args, sizes(each), outermost(entry))
            for x, y in zip(found, wanted, strict=True):
                same(x, y, f"{shape} {order}")


@needs_compiler
@pytest.mark.parametrize("threads", [64, 1024])
@pytest.mark.parametrize("entry", ["product", "bytes"])
def test_blocks_of_any_size(entry: str, threads: int) -> None:
    """Threads that take several indices of a loop have as many accumulators; others may have none."""
    args = arguments(entry, 40, 18, 35)
    for each in REGISTERS:
        ((found,), _) = emulated(compiled(), emulator(threads), 3).run(entry, args, sizes(each), outermost(entry))
        wanted = args[0] @ (args[1] if entry == "product" else args[1].T)
        np.testing.assert_array_equal(found, wanted)


# ---- hazards -----------------------------------------------------------------------------------------------------


@cache
def fenced() -> Compiled:
    """The program with the fences that its tiled kernels need."""
    host = compiled().host
    kernels = tuple(place_fences(k) if registers_of(k) else k for k in host.kernels)
    return replace(compiled(), host=replace(host, kernels=kernels))


def traced(entry: str, each: int, shape: tuple[int, int, int], program: Compiled | None = None) -> KernelTrace:
    """The tiled launch, blocks of 256."""
    program = fenced() if program is None else program
    by_name = {k.name: k for k in program.host.kernels}
    args, block = arguments(entry, *shape), TraceSettings(256)
    report = trace_kernels(program, by_name.__getitem__, entry, args, outermost(entry), block, sizes(each))
    (launch,) = report.launches
    return launch


@pytest.mark.parametrize("each", [2, 1])
@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_is_out_of_order(entry: str, each: int) -> None:
    for shape in ((1, 1, 1), (16 * each + 1, 18, 3)):
        launch = traced(entry, each, shape)
        assert launch.is_clean, launch.findings


@pytest.mark.parametrize("each", [8, 4])
def test_blocks_of_many_results_are_clean(each: int) -> None:
    launch = traced("product", each, (3, 18, 16 * each))
    assert launch.is_clean, launch.findings


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_step_has_one_barrier(entry: str) -> None:
    """The copies go into another stage: that is known, and no fence is put between them and the use of this one. What
    is left behind the steps has one before it is copied, and one before it is used."""
    for kernel in kernels_of(entry):
        placed = place_fences(kernel)
        loops = [s.body for s in statements(placed.body) if isinstance(s, kir.For)]
        assert [n for body in loops if (n := sum(isinstance(s, kir.Fence) for s in body))] == [1, 1]
        assert count_fences(placed) == 4
        assert check_collectives(placed, 256) == ()


def mutated(number: int, change: object) -> Compiled:
    """The program with one of its kernels changed when its fences are placed."""
    name, host = kernels_of("product")[number].name, fenced().host
    kernels = tuple(change(k) if k.name == name else k for k in host.kernels)  # type: ignore[operator]
    return replace(fenced(), host=replace(host, kernels=kernels))


def rewritten(stms: tuple[KStm, ...], change: object) -> tuple[KStm, ...]:
    """Every statement by what `change` makes of it, inside out; None leaves it out."""
    inner = (with_children(s, tuple(rewritten(part, change) for part in children(s))) for s in stms)
    changed = (change(s) for s in inner)  # type: ignore[operator]
    return tuple(s for s in changed if s is not None)


def never_swapped(kernel: Kernel) -> Kernel:
    """The copies go into the stage that is used."""

    def change(stm: KStm) -> KStm:
        match stm:
            case kir.KLet(kir.KVar(name) as var, kir.KOp(Op.SUB, prim, (far, _))) if name.startswith("to_"):
                return kir.KLet(var, kir.KOp(Op.SUB, prim, (far, i64(3))))
            case _:
                return stm

    return replace(kernel, body=rewritten(kernel.body, change))


def without_waits(kernel: Kernel) -> Kernel:
    return replace(kernel, body=rewritten(kernel.body, lambda s: None if isinstance(s, kir.WaitCopies) else s))


def one_late(kernel: Kernel) -> Kernel:
    """The copies of the latest step are still under way."""
    late = lambda s: replace(s, latest=s.latest + 1) if isinstance(s, kir.WaitCopies) else s  # noqa: E731
    return replace(kernel, body=rewritten(kernel.body, late))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (never_swapped, Kind.RAW),
        (without_waits, Kind.RAW),
        (one_late, Kind.RAW),
        (lambda kernel: without_fence(kernel, 1), Kind.RAW),
    ],
    ids=["double buffer not swapped", "no wait for copies", "a wait too late", "no fence"],
)
def test_faults_are_found(change: object, kind: Kind) -> None:
    launch = traced("product", 1, (5, 100, 17), mutated(3, change))
    assert launch.counts[kind], launch.counts


def test_too_much_shared_memory_is_found() -> None:
    """Of three tiles with room for all of them, and of four as large as an array may be."""
    kernel = kernels_of("weighed")[0]
    assert check_collectives(kernel, 256) == ()
    more = tuple(kir.Alloc(KArray(f"more_{k}", Prim.I64, Space.SHARED), i64(2048)) for k in range(3))
    (found,) = check_collectives(replace(kernel, body=(*more, *kernel.body)), 256)
    assert "bytes of shared memory" in str(found)


def test_registers_belong_to_their_indices() -> None:
    """A loop over other indices has other threads at them."""
    kernel = kernels_of("product")[3]

    def shorter(stm: KStm) -> KStm:
        return replace(stm, lo=i64(1)) if isinstance(stm, kir.Threads) and stm.hi == i64(256) else stm

    found = check_collectives(replace(kernel, body=rewritten(kernel.body, shorter)), 256)
    assert found
    assert all("belongs to the indices" in str(one) for one in found)


# ---- what the hardware is asked for --------------------------------------------------------------------------------


def test_accumulators_are_registers() -> None:
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(str(why))
    kernels = [k for entry in ENTRIES for k in kernels_of(entry)]
    found = resources(cuda_module(map(cuda_kernel, all_ready(kernels, CUDA_PASSES))), "sm_90")
    for kernel in kernels:
        used = found[kernel.name]
        assert (used.stack, used.spill_stores, used.spill_loads) == (0, 0, 0), kernel.name
        assert used.shared <= 40 << 10


def test_sectors_of_a_product() -> None:
    """64 x 64 results of 16 elements: each element of either operand is moved once, each result too."""
    launch = traced("product", 4, (64, 16, 64))
    moved = {site.place: site.units for site in launch.sites if site.array.space is Space.GLOBAL}
    assert sum(moved.values()) == (64 * 16 + 16 * 64 + 64 * 64) * 4 // 32
    shared = {site.place: site.units / site.requests for site in launch.sites if site.array.space is Space.SHARED}
    assert max(turns for place, turns in shared.items() if "later" not in place) <= 2
    assert max(shared.values()) <= 4  # a warp's 512 bytes
