"""Compiled host programs of a GPU on a driver that does nothing: what they ask of it, and the time that this takes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soac.arguments import to_arguments
from soac.ir.machine import CUDA
from soac.kernels.devices.cpu.runtime import thread_pool
from soac.kernels.devices.cuda import libcuda
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.devices.cuda.host import structs
from soac.kernels.devices.cuda.host.runtime import FOLDER
from soac.kernels.devices.cuda.library import objects
from soac.pipeline import Compiled, compile_prog
from tests.support.null_driver import NullDriver, null_gpu

ROOT = Path(__file__).parents[4]
MODEL = [np.float32(x) for x in (0.03, 5, 0.2, 0.6, 0.5)]
SMALL = [16, 32, 256, 256, *MODEL]
"""LocVolCalib small: 256 steps, one less than it is asked for."""
TURNS = 6000
"""Of the loop that stands for the driver's own work: below two microseconds, which it takes at least."""


def compiled_file(name: str) -> Compiled:
    path = ROOT / "programs" / f"{name}.soac"
    return compile_prog(path.read_text(encoding="utf-8"), str(path), machine=CUDA)


@pytest.fixture(scope="module")
def lud() -> Compiled:
    return compiled_file("lud")


def build(compiled: Compiled, compiled_host: bool = True) -> tuple[CudaExecutable, NullDriver]:
    gpu, driver = null_gpu(compiled_host)
    return CudaExecutable.build(compiled.host, compiled.core.functions, gpu), driver


def counts(program: CudaExecutable, entry: str, args: list[Any]) -> tuple[int, int, int]:
    """Launches, downloads and allocations of a second call."""
    program.run(entry, args, convert=to_arguments)
    native = program.gpu.native
    assert native is not None
    words = native.words
    words.launches = words.downloads = words.allocations = 0
    program.run(entry, args, convert=to_arguments)
    return words.launches, words.downloads, words.allocations


def test_structs_are_those_of_the_code() -> None:
    text = (FOLDER / "types.ll").read_text(encoding="utf-8")
    for struct in structs.STRUCTS:
        names = re.search(rf"^%{struct.__name__} = type .*  ; (.*)$", text, re.MULTILINE)
        assert names is not None
        assert names[1].split() == [name.rstrip("_") for name, *_ in struct._fields_]
    assert f"[{structs.VARIANTS} x ptr]" in text


def test_a_gpu_begins_with_the_functions_of_the_driver() -> None:
    """Libraries fill these fields by one copy of the addresses that they have found."""
    names = [name for name, *_ in structs.Gpu._fields_]
    assert names[: len(libcuda.FUNCTIONS)] == list(libcuda.FUNCTIONS)
    assert objects.FUNCTIONS[: len(libcuda.FUNCTIONS)] == tuple(libcuda.FUNCTIONS.values())


def test_lud_waits_once(lud: Compiled) -> None:
    """The pivots are read by kernels. The result of the call before is still in use."""
    program, _ = build(lud)
    assert counts(program, "main", [np.ones((256, 256), np.float32)]) == (3 * 255 - 1, 1, 1)


FILLS = {
    "u8": ("200", 0), "i16": ("-2", 0), "f16": ("0.1", 0), "f32": ("1.5", 0), "bool": ("true", 0),
    "i64": ("-1", 0), "f64": ("0.1", 1), "u64": ("0x1234567812345678", 0), "i32": ("7", 0),
}  # fmt: skip
"""Elements, and the launches that fill an array with them: none where the driver sets memory to words of 4 bytes."""


@pytest.mark.parametrize("prim", FILLS)
@pytest.mark.parametrize("compiled_host", [True, False], ids=["compiled", "python"])
def test_fills_are_the_drivers(prim: str, compiled_host: bool) -> None:
    """They were kernels where any bit of the element is set."""
    value, launches = FILLS[prim]
    program, driver = build(
        compile_prog(f"def main (n: i64): []{prim} = replicate n ({value})", "fill.soac", machine=CUDA), compiled_host
    )
    if compiled_host:
        assert counts(program, "main", [np.int64(1000)])[0] == launches
    else:
        program.run("main", [np.int64(1000)], convert=to_arguments)
        assert driver.launches == launches


def test_both_runners_launch_the_same(lud: Compiled) -> None:
    args = [np.ones((40, 40), np.float32)]
    launches, downloads, _ = counts(build(lud)[0], "main", args)
    program, driver = build(lud, compiled_host=False)
    program.run("main", args, convert=to_arguments)
    assert (driver.launches, driver.downloads) == (launches, downloads)


def test_a_step_of_locvolcalib() -> None:
    program, driver = build(compiled_file("locvolcalib"))
    launches, downloads, allocations = counts(program, "main", SMALL)
    one_less = counts(program, "main", [*SMALL[:3], SMALL[3] - 1, *SMALL[4:]])
    assert launches - one_less[0] <= 8
    assert (downloads, allocations) == (1, 1)
    driver.spin(TURNS)
    ours, bare = quickest(
        lambda: program.run("main", SMALL, convert=to_arguments), lambda: driver.loop(launches), times=40
    )
    assert ours <= 1.5 * bare, f"{1e6 * ours / launches:.2f} us for a launch, {1e6 * bare / launches:.2f} in a loop"


def test_a_loop_of_the_host_is_stopped() -> None:
    """As a time limit stops it (`autotune/measure.py`); the GPU goes on."""
    source = "entry main [n] (xs: [n]i64) (k: i64): [n]i64 = loop xs for i < k do #[opaque] map (+ i) xs"
    program, _ = build(compile_prog(source, "loop.soac", machine=CUDA))
    timer = threading.Timer(0.3, thread_pool.request_stop)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program.run("main", [np.arange(3), np.int64(1 << 60)], convert=to_arguments)
    assert len(program.run("main", [np.arange(3), np.int64(2)], convert=to_arguments)[0]) == 1


def quickest(*jobs: Callable[[], object], times: int) -> list[float]:
    """Processor time of all threads, the least of each job; they take turns, so that other work slows both."""
    found: list[list[float]] = [[] for _ in jobs]
    for _ in range(times):
        for job, taken in zip(jobs, found, strict=True):
            begin = time.process_time()
            job()
            taken.append(time.process_time() - begin)
    return list(map(min, found))
