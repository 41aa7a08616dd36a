"""Versions inside a warp or block: the goldens on every forced version, on the CPU device and on the tracer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from soac.frontend.compile import compile_text
from soac.ir.core import Level
from soac.ir.interpret import interpret
from soac.ir.machine import CPU, CUDA, Machine, Mode, is_inside
from soac.ir.types import i64
from soac.ir.version_tree import Sides
from soac.kernels.analysis.check_collectives import check_collectives
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.host_ir.nodes import HostProgram, Interpret
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.traverse import all_statements
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.kernels.tracer.run import Finding, TraceSettings, ready_kernels, show_finding, trace_kernels, trace_program
from soac.kernels.tracer.visibility import Missing
from soac.pipeline import Compiled, compile_core, compile_prog
from soac.versions import runs_of
from tests.support.fences import count_fences, without_fence

PROGRAMS = {
    "sumrows": """
        entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (+ 2) xs)) xss""",
    "normalise": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (\\xs -> let y = reduce (+) 0 xs in map (+ y) xs) xss""",
    "products": """
        entry main [n][m] (xss: [n][m]i32): [n][n]i32 =
          map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) xss) xss""",
    "three scans": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> scan (\\a b -> (a * b) % 7) 1 (scan i32.max i32.lowest (scan (+) 0 xs))) xss""",
    "backwards": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> let ys = scan (+) 0 xs in map2 (+) ys (ys[::-1])) xss""",
    "steps": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> loop xs for i < 3 do let s = reduce i32.max 0 xs in map (\\x -> x + s) (xs[::-1])) xss""",
    "loop of a length of its own": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> let s = reduce (+) 0 xs
                      in loop ys = xs for _i < i64.i32 (i32.abs (s % 3)) do map (+ s) (scan (+) 0 ys)) xss""",
    "branch of its own": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> let s = reduce (+) 0 xs in if s > 3 then scan (+) 0 xs else map (+ s) xs) xss""",
    "parallel in the loop alone": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> if m == 0 then xs else
                       loop ys = xs for i < i64.i32 (i32.abs (#[unsafe] xs[0] % 3)) do
                         scan (+) 0 (map (+ i32.i64 i) ys)) xss""",
    "parallel while": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> loop ys = xs while m > 0 && #[unsafe] ys[0] < 7 do
                       map2 (\\y z -> i32.max 1 (y + i32.abs z)) ys (ys[::-1])) xss""",
    "planes": """
        entry main [n][m] (xss: [n][m]i32): [n][n]i32 =
          map (\\xs -> let yss = map (\\y -> map (\\x -> x * y[0]) xs) xss
                      let zs = map (reduce (+) 0) yss in scan (+) 0 zs) xss""",
    "overwritten by a loop": """
        entry main [n][m] (xss: [n][m]i32): [n]i32 =
          map (\\xs -> let s = reduce (+) 0 xs
                      let ys = loop (ys: *[40]i32) = map (\\j -> s + i32.i64 j) (iota 40) for i < n do
                                 ys with [7 * i % 40] = s * 100
                      in i32.sum (map2 (*) ys (map i32.i64 (iota 40)))) xss""",
    "scatter": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> let s = reduce (+) 0 xs
                      in scatter (copy xs) (map (\\i -> m - 1 - i) (iota m)) (map (+ s) xs)) xss""",
    "hist": """
        entry main [n][m] (xss: [n][m]i32): [n][4]i32 =
          map (\\xs -> let s = reduce (+) 0 xs
                      in hist (+) 0 4 (map (\\x -> i64.i32 ((x + s) % 4)) xs) xs) xss""",
    "tuples": """
        entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
          map (\\xs -> let (a, b) = reduce (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, 0) (zip xs (map (* 2) xs))
                      in map (\\x -> x * a + b) xs) xss""",
}
MACHINES: dict[str, Machine] = {"cpu": CPU, "cuda": replace(CUDA, tile=None)}
SHAPES = ((0, 3), (3, 0), (1, 1), (2, 9), (3, 33))
WIDE = ((2, 9), (3, 33))
SETTINGS = TraceSettings(threads=16, warp=8)


@cache
def compiled(name: str, machine: str, mode: Mode, schedules: Machine | None = None) -> Compiled:
    return compile_prog(PROGRAMS[name], "levels.soac", mode, MACHINES[machine], checked=True, schedules=schedules)


def matrix(shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-3, 9, shape).astype(np.int32)


def versions(name: str, machine: str, mode: Mode) -> tuple[Sides, ...]:
    return runs_of(compiled(name, machine, mode).flat, "main")


each_program = pytest.mark.parametrize("name", PROGRAMS)
each_mode = pytest.mark.parametrize("mode", [Mode.INCREMENTAL, Mode.EVERY], ids=lambda mode: mode.value)


@each_program
@each_mode
@pytest.mark.parametrize("machine", ["cuda", "cpu"])
def test_every_version_on_the_device(name: str, mode: Mode, machine: str) -> None:
    prog = compiled(name, machine, mode, CPU)
    program = Executable.build(prog.host, prog.core.functions)
    for shape in SHAPES:
        expected, _ = interpret(prog.core, "main", [matrix(shape)])
        for version in versions(name, machine, mode):
            found, _ = program.run("main", [matrix(shape)], forced=version, threads=2)
            np.testing.assert_array_equal(found[0], expected[0], f"{shape} {version}")


@each_program
def test_every_version_on_the_tracer(name: str) -> None:
    """Races nowhere, also where the block is smaller than what it is to do."""
    prog = compiled(name, "cuda", Mode.EVERY)
    kernels = ready_kernels(prog)
    for shape in SHAPES:
        expected, _ = interpret(prog.core, "main", [matrix(shape)])
        for version in versions(name, "cuda", Mode.EVERY):
            report = trace_kernels(prog, kernels, "main", [matrix(shape)], version, SETTINGS)
            assert report.is_clean, [show_finding(f) for f in report.findings]
            np.testing.assert_array_equal(report.results[0], expected[0], f"{shape} {version}")


@each_program
def test_collectives_have_kernels(name: str) -> None:
    """Nothing inside a warp or block is left to the interpreter, and all statements are where they belong."""
    prog = compiled(name, "cuda", Mode.EVERY)
    assert {kernel.collective for kernel in prog.host.kernels} == {Level.BLOCK, Level.WARP}
    assert not interpreted(prog.host)
    for kernel in prog.host.kernels:
        assert check_collectives(ready(kernel, CUDA_PASSES)) == ()


def interpreted(host: HostProgram) -> list[str]:
    pending, found = [fun.body for fun in host.functions], []
    while pending:
        for stm in pending.pop().stms:
            found += [stm.exp.why] if isinstance(stm.exp, Interpret) else []
            pending += [getattr(stm.exp, field) for field in ("then", "orelse", "body") if hasattr(stm.exp, field)]
    return found


@each_program
def test_no_fence_is_redundant(name: str) -> None:
    """Without it there is a hazard, and in a warp what is missing is a fence of the warp."""
    prog = compiled(name, "cuda", Mode.EVERY)
    right = {kernel.name: ready(kernel, CUDA_PASSES) for kernel in prog.host.kernels}
    for version in versions(name, "cuda", Mode.EVERY):
        if not any(side and is_inside(guard) for guard, side in version.items()):
            continue
        for kernel in launched(prog, version):
            for number in range(count_fences(right[kernel])):
                mutant = {**right, kernel: without_fence(right[kernel], number)}
                missing = {f.hazard.missing for shape in WIDE for f in hazards(prog, mutant, version, shape)}
                assert missing, f"{kernel}: fence {number}"
                assert right[kernel].collective is not Level.WARP or missing == {Missing.WARP}


def launched(prog: Compiled, version: Sides) -> set[str]:
    return {launch.kernel for launch in trace_program(prog, "main", [matrix(WIDE[0])], version, SETTINGS).launches}


def hazards(prog: Compiled, kernels: dict[str, Kernel], version: Sides, shape: tuple[int, int]) -> tuple[Finding, ...]:
    return trace_kernels(prog, kernels.__getitem__, "main", [matrix(shape)], version, SETTINGS).findings


TILES = """
entry main [n][m] (xsss: [n][32][32]f32) (ysss: [m][32][32]f32) (as: [n][m][32][32]f32): [n][m][32][32]f32 =
  #[incremental_flattening(only_intra)]
  map2 (\\xss ass ->
          let zss = map (\\xs -> loop xs = copy xs for j < 32 do xs with [j] = xs[j] / xs[(j * j) % 32]) xss
          in map2 (\\as yss ->
                     map2 (\\row zs -> map2 (\\a ys -> f32.sqrt (a - f32.sum (map2 (*) zs ys))) row yss) as zss)
                  ass ysss)
       xsss as
"""


def test_a_known_width_takes_the_lanes_where_costs_are_about_equal() -> None:
    """The number of tiles may be less than there are lanes; their width is not."""
    made = compile_core(compile_text(TILES, "tiles.soac"), Mode.INCREMENTAL, CPU)
    threads = [
        stm
        for kernel in made.host.kernels
        for stm in all_statements(kernel.body)
        if isinstance(stm, kir.Threads) and stm.lo == i64(0)
    ]
    assert threads
    assert all(stm.hi == i64(32) for stm in threads)
