"""Arrays of a block that are known to be in shared memory: which text that is, and that launches take the right one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.kernel_counts import functions
from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import CudaKernel, cuda_kernel, cuda_module
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.nvrtc import NoCompiler, compile_cuda
from soac.kernels.kernel_ir.nodes import Kernel, Space
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

SOURCE = """
entry rows [n][m] (xss: [n][m]i64): [n][m]i64 =
  map (\\xs -> let ys = scan (+) 0 xs in scan (+) 0 (map (\\i -> ys[m - 1 - i]) (iota m))) xss
entry found [n] (ns: [n]i64): [n]i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) let ys = scan (+) 0 (map2 (*) xs (rotate 1 xs)) in reduce (+) 0 ys) ns
"""


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_prog(SOURCE, "near.soac", machine=CUDA)


def texts(compiled: Compiled, entry: str, far: bool) -> list[CudaKernel]:
    """The kernels of an entry that have arrays of a block on a stack."""
    kernels: tuple[Kernel, ...] = all_ready(compiled.host.kernels, CUDA_PASSES)
    made = [cuda_kernel(kernel, far=far) for kernel in kernels if kernel.name.startswith(entry)]
    return [text for text in made if Space.SHARED in text.stacks]


def test_arrays_are_near_where_a_launch_tells_their_sizes(compiled: Compiled) -> None:
    """Then nothing can lack room, and blocks need not take turns."""
    near, far = texts(compiled, "rows", far=False), texts(compiled, "rows", far=True)
    assert near
    for text in near:
        assert (text.near, text.take_turns, text.fails) == (True, False, False)
        assert "take(stack" not in text.text
    for text in far:
        assert (text.near, text.take_turns, text.fails) == (False, True, True)
    assert [text.near for text in texts(compiled, "found", far=False)] == [False] * len(texts(compiled, "found", True))


def test_near_arrays_have_instructions_of_shared_memory(compiled: Compiled) -> None:
    """And no generic ones; those of the other text are generic."""
    for far in (False, True):
        for text in texts(compiled, "rows", far):
            try:
                ptx = compile_cuda(cuda_module([text]), "compute_90").decode()
            except NoCompiler as why:
                pytest.skip(str(why))
            generic = re.findall(r"\b(?:ld|st)\.(?:v\d\.)?[bsuf]\d+", "\n".join(functions(ptx)[text.name]))
            assert bool(generic) == far


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
@pytest.mark.parametrize("compiled_host", [True, False], ids=["compiled", "python"])
def test_a_launch_takes_what_has_room(compiled: Compiled, compiled_host: bool) -> None:
    """Long rows do not fit the shared memory of a small GPU: they are in global memory."""
    driver = EmulatedDriver(compiled_host=compiled_host)
    driver.properties = replace(driver.properties, shared_bytes=4 << 10)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, emulated_gpu(driver), 64)
    for width, far in ((40, False), (900, True), (30, True)):
        xss = np.arange(3 * width, dtype=np.int64).reshape(3, width)
        for forced in runs_of(compiled.flat, "rows"):
            (got,), _ = program.run("rows", [xss], forced=forced)
            assert np.array_equal(got.numpy(), np.cumsum(np.cumsum(xss, 1)[:, ::-1], 1))
        assert any(key[4] for key in program.device.others) == far
