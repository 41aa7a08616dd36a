"""Levels that nest: block{warp{thread}}, and warps that wait for no block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.interpret import Thresholds, prepare
from soac.ir.machine import CPU, CUDA
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.devices.cpu.executable import Executable
from soac.kernels.kernel_ir import nodes as kir
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.traverse import statements
from soac.kernels.passes.pipeline import CUDA_PASSES, ready
from soac.kernels.tracer.run import TraceSettings, trace_program
from soac.pipeline import compile_prog
from soac.testing.structure import structure
from soac.versions import runs_of
from tests.support.programs import ROOT

ROWS = """
entry main [a][n][m] (xsss: [a][n][m]i32): [a][n]i32 =
  map (\\xss -> let ys = map (\\xs -> i32.sum xs) xss in scan (+) 0 (map2 (-) ys (ys[::-1]))) xsss"""
WEIGHTED = """
entry main [a][n][m] (xsss: [a][n][m]i32) (ws: [n]i32): [a][n]i32 =
  map (\\xss -> let ys = map2 (\\w xs -> w * i32.maximum (map (+ w) xs) - 1) ws xss
               in scan (+) 0 (map2 (-) ys (ys[::-1]))) xsss"""
IN_ORDER = """
def compose (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a * c, b * c + d)
entry main [a][n][m] (xsss: [a][n][m]i32): [a][n]i32 =
  map (\\xss -> let ys = map (\\xs -> let (p, q) = reduce compose (1, 0) (map (\\x -> (x, 1)) xs) in p + q) xss
               in scan (+) 0 (map2 (-) ys (ys[::-1]))) xsss"""


@pytest.mark.parametrize("text", [ROWS, WEIGHTED, IN_ORDER], ids=["rows", "weighted", "in order"])
@pytest.mark.parametrize("shape", [(2, 3, 70), (1, 11, 0)])
def test_warps_of_a_block_reduce_its_rows(text: str, shape: tuple[int, int, int]) -> None:
    compiled = compile_prog(text, "nested.soac", machine=CUDA, checked=True)
    assert any(path.endswith("SegMap/SegMap/SegRed") for path in structure(compiled.flat))
    xsss = np.random.default_rng(1).integers(-4, 5, shape).astype(np.int32)
    args = [xsss, xsss[0, :, 0].copy() if shape[2] else np.ones(shape[1], np.int32)][: 1 + (text is WEIGHTED)]
    with np.errstate(over="ignore"):
        (wanted,) = prepare(compiled.core).run("main", args, Thresholds())[0]
    for version in runs_of(compiled.flat, "main"):
        report = trace_program(compiled, "main", args, version, TraceSettings(threads=64))
        assert report.is_clean
        np.testing.assert_array_equal(report.results[0], wanted)


def test_lanes_run_nested_levels() -> None:
    """A CPU gives what warps do to its lanes."""
    compiled = compile_prog(WEIGHTED, "nested.soac", machine=CUDA, checked=True, schedules=CPU)
    program = Executable.build(compiled.host, compiled.core.functions)
    xsss, ws = np.arange(2 * 3 * 40, dtype=np.int32).reshape(2, 3, 40), np.arange(3, dtype=np.int32)
    (wanted,) = prepare(compiled.core).run("main", [xsss, ws], Thresholds())[0]
    for version in runs_of(compiled.flat, "main"):
        np.testing.assert_array_equal(program.run("main", [xsss, ws], forced=version)[0][0], wanted)


def warp_kernels() -> Iterator[Kernel]:
    for name in ("p06_reduce_then_map", "p13_three_scans", "softmax"):
        path = ROOT / "programs" / f"{name}.soac"
        compiled = compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)
        yield from (kernel for kernel in compiled.host.kernels if kernel.collective is Level.WARP)


def test_a_warp_waits_for_no_block() -> None:
    """Its fences are those of a warp, and a block of threads has several."""
    made = [(kernel, cuda_kernel(ready(kernel, CUDA_PASSES))) for kernel in warp_kernels()]
    assert len(made) >= 3
    assert all("__syncthreads" not in text.text and text.together > 1 for _, text in made)
    waits = [text for kernel, text in made if any(isinstance(s, kir.BlockScan) for s in statements(kernel.body))]
    assert waits
    assert all("__syncwarp()" in text.text for text in waits)
