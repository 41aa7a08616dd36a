"""A GPU's schedules as CUDA C, emulated in several thread orders: the interpreter's values, the same bits always."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from soac.ir.interpret import Thresholds, prepare
from soac.kernels.cuda_c.module import cuda_kernel, cuda_module
from soac.kernels.devices.cuda.nvrtc import NoCompiler, Nvrtc, compile_cuda, nvrtc
from soac.kernels.devices.disk_cache import Cache
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.versions import runs_of
from tests.support.emulator.emulate import COMPILER, Emulator, build, emulated
from tests.support.gpu_programs import arguments, compiled, floats, keyed, same

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
CALLS = arguments()


@cache
def emulator() -> Emulator:
    return build(compiled().host.kernels)


@needs_compiler
@pytest.mark.parametrize("entry", CALLS)
def test_the_values_are_those_of_the_interpreter(entry: str) -> None:
    oracle = prepare(compiled().core)
    for args in CALLS[entry]:
        wanted = oracle.run(entry, args, Thresholds())[0]
        for version in runs_of(compiled().flat, entry):
            for order in (0, 1, 5):
                found, _ = emulated(compiled(), emulator(), order).run(entry, args, None, version)
                for x, y in zip(found, wanted, strict=True):
                    same(x, y, f"{[np.shape(a) for a in args]} {version} {order}")


@needs_compiler
@pytest.mark.parametrize(
    ("entry", "args"),
    [
        ("means", [np.float32(0.1) * floats(20000)]),
        ("sum", [np.float32(0.1) * floats(9000)]),
        ("weights", keyed(7, 9000)),
    ],
    ids=["look back", "chunks", "histogram"],
)
def test_floats_have_the_same_bits_in_each_run(entry: str, args: list) -> None:
    runs = [emulated(compiled(), emulator(), order).run(entry, args)[0][0] for order in (0, 1, 2, 3, 4, 5, 6)]
    assert len({run.tobytes() for run in runs}) == 1


def test_a_cubin_does_not_depend_on_places_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled in one folder is found in another."""
    there, here = (f'// {folder}/a.soac:1\nextern "C" __global__ void f() {{\n  // {folder}\n}}\n' for folder in "ab")
    monkeypatch.setattr("soac.kernels.devices.cuda.nvrtc.nvrtc", lambda: Nvrtc(ctypes.CDLL(None), (13, 0)))
    monkeypatch.setattr("soac.kernels.devices.cuda.nvrtc._compiled", lambda library, text, arch: (text.encode(), ""))
    cache = Cache(tmp_path)
    first = compile_cuda(there, "sm_90", cache)
    assert compile_cuda(here, "sm_90", cache) == first
    assert compile_cuda(here.replace("f()", "g()"), "sm_90", cache) != first


def test_every_kernel_compiles_for_a_gpu() -> None:
    try:
        nvrtc()
    except NoCompiler as why:
        pytest.skip(str(why))
    kernels = all_ready(compiled().host.kernels, CUDA_PASSES)
    assert compile_cuda(cuda_module(map(cuda_kernel, kernels)), "sm_90")[:4] == b"\x7fELF"
