"""The device through PyCUDA itself, on a stand-in for the driver's library.

    python -m tests.support.emulator.pycuda_check

The library path must lead to the stand-in (`libcuda.cpp`, compiled as libcuda.so.1). Everything is as with a GPU, but
that a module holds emulated kernels.
"""

from __future__ import annotations

import ctypes
import gc
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.devices import described_gpu, missing_for_cuda
from soac.ir.errors import RunError
from soac.ir.machine import CUDA
from soac.kernels.devices.cuda import pycuda_driver
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.bulk import bulk_module
from soac.kernels.devices.cuda.driver import DriverRefusal, GpuLost, Signature
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.marks import FEWEST
from soac.kernels.devices.cuda.nvrtc import compile_cuda
from soac.kernels.devices.cuda.pycuda_driver import PyCuda
from soac.kernels.devices.device import on_host
from soac.kernels.host_ir.timing_events import Event, executions, whole_of
from soac.pipeline import compile_prog
from tests.support.emulator.driver import compile_library, emulated_text

SOURCE = """
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
entry gather [n] (xs: [n]f16) (is: [n]i64) (y: f16) (b: bool): [n]f16 = map (\\i -> if b then xs[i] * y else xs[i]) is
entry big (n: i64): i64 = let ys = #[opaque] scan (+) 0 (replicate n 1i64) in if n > 0 then ys[n - 1] else 0
entry turned [n][m] (xss: [n][m]f64): [m][n]f64 = copy (transpose xss)
"""


class StandIn(PyCuda):
    """Modules are emulated; all else is PyCUDA's."""

    def load(self, text: str, signatures: Sequence[Signature]) -> dict[str, Any]:
        library = compile_library(emulated_text(text, signatures), Path(tempfile.mkdtemp(), "kernels.so"))
        pycuda_driver.compile_cuda = lambda text, arch: bytes(library) + b"\0"
        return super().load(text, signatures)


def main() -> None:
    assert missing_for_cuda() == ()
    assert described_gpu() == "stand-in, sm_90, 64.0 MiB, driver for CUDA 13.0"
    assert compile_cuda(bulk_module()[0], "sm_90")  # NVRTC asks the driver's library, too
    gpu = Gpu(StandIn.open())
    assert gpu.driver.properties.arch == "sm_90"
    compiled = compile_prog(SOURCE, "stand_in.soac", machine=CUDA)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu, 64)
    values(program)
    other = threading.Thread(target=values, args=(program,))
    other.start()
    other.join()
    memory(program)
    exchange(program)
    timed(program)
    refusal(program)
    fault(program)
    print("ok")


def call(program: CudaExecutable, entry: str, *args: Any) -> list[Any]:
    return on_host(program.run(entry, args, convert=to_arguments)[0])


def values(program: CudaExecutable) -> None:
    xss = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert np.array_equal(call(program, "sums", xss)[0], xss.sum(axis=1))
    halves, at = np.array([1.5, -2.0, 0.25], np.float16), np.array([2, 0, 1])
    assert np.array_equal(call(program, "gather", halves, at, np.float16(2), True)[0], halves[at] * 2)
    wide = np.arange(1200, dtype=np.float64).reshape(40, 30)
    assert np.array_equal(call(program, "turned", wide)[0], wide.T)
    with pytest.raises(RunError, match=r"index \[7\]"):
        call(program, "gather", halves, at + 5, np.float16(2), True)


def memory(program: CudaExecutable) -> None:
    with pytest.raises(RunError, match=r"device out of memory: needs 128\.0 MiB for .*, free \S+ MiB of 64\.0 MiB"):
        call(program, "big", 1 << 24)
    gc.collect()
    assert call(program, "big", 1 << 10) == [1 << 10]
    program.gpu.call(program.gpu.pool.trim)


def exchange(program: CudaExecutable) -> None:
    """What others see is memory of a GPU; streams are theirs and ours."""
    (sums,), _ = program.run("sums", [np.ones((3, 4), np.int32)])
    assert isinstance(sums, CudaArray)
    assert sums.__dlpack_device__() == (2, 0)
    interface = sums.__cuda_array_interface__ | {"stream": 1, "shape": (1, 3)}
    with_rows = type("Shown", (), {"__cuda_array_interface__": interface})()
    assert call(program, "sums", with_rows)[0].tolist() == [12]
    del sums, with_rows
    gc.collect()
    program.gpu.call(program.gpu.pool.take_back)


def timed(program: CudaExecutable) -> None:
    """Events of the driver, recorded by machine code and by Python."""
    for _ in range(2):
        log: list[Event] = []
        program.run("sums", [np.ones((3, 4), np.int32)], log=log)
        whole = whole_of(log)
        assert whole is not None
        (site,) = executions(log, whole)
        assert 0 < site.seconds < whole
    driver = program.gpu.driver
    assert isinstance(driver, PyCuda)
    assert len(driver.events) == FEWEST


def refusal(program: CudaExecutable) -> None:
    """An error that leaves the context as it was ends the call alone."""
    driver, number = program.gpu.driver, program.gpu.bulk["iota_8"]
    with pytest.raises(DriverRefusal):
        program.gpu.call(lambda: driver.launch(number, 1, 64, 1 << 20, [0] * 11))
    values(program)


def fault(program: CudaExecutable) -> None:
    ctypes.CDLL("libcuda.so.1").stand_in_break()
    with pytest.raises(GpuLost, match="illegal memory access"):
        values(program)


if __name__ == "__main__":
    main()
