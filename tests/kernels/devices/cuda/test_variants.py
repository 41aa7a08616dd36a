"""Kernels for all sizes that a search tries, compiled ahead by worker processes: no run compiles them again."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from soac.ir.machine import CUDA
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.variants import compile_ahead, variants_of
from soac.kernels.devices.device import on_host
from soac.pipeline import compile_prog
from tests.support.emulator import driver
from tests.support.emulator.driver import EmulatedDriver
from tests.support.emulator.emulate import COMPILER
from tests.support.null_driver import null_gpu

SOURCE = "def main [n] (xs: [n]f32): [n]f32 = map (* 2) xs"


def test_what_a_launch_may_be_set_to() -> None:
    """Blocks of five sizes, each with its own block or several, but the one that is loaded with the program."""
    gpu, null = null_gpu()
    compiled = compile_prog(SOURCE, "case", machine=CUDA)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu)
    (fun,) = compiled.host.functions
    assert len(variants_of(fun, 256, {"main_ys_0"})) == 9
    assert len(variants_of(fun, 96, {"main_ys_0"})) == 11
    assert null.loaded == 1
    assert list(program.complete("main")) == []


def ends(_text: str, _signatures: object) -> None:
    sys.exit()


def test_one_core_compiles_nothing_ahead() -> None:
    assert list(compile_ahead(ends, {("k", 64, False): ("text", [])}, cores=1)) == []


def test_what_cannot_be_compiled_is_left_to_the_run() -> None:
    assert list(compile_ahead(ends, {("k", 64, False): ("refused", [])}, cores=2)) == ["k"]


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: install g++ or clang++")
def test_runs_find_what_workers_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    compiled = compile_prog(SOURCE, "case", machine=CUDA)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, driver.emulated_gpu(EmulatedDriver()))
    assert list(program.complete("main", every=True)) == ["main_ys_0"] * 9

    def refuse(text: str, library: object) -> None:
        raise AssertionError("a run has compiled a kernel")

    monkeypatch.setattr(driver, "compile_library", refuse)
    for sizes in ({"main.block_size": 64}, {"main.block_size": 1024, "main.factor": 4}):
        results, _ = program.run("main", [np.arange(100, dtype=np.float32)], sizes)
        assert np.array_equal(on_host(results)[0], 2 * np.arange(100))
