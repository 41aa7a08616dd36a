"""What only a GPU shows: its memory and its end, streams and arrays of other libraries, the same bits in each run."""

from __future__ import annotations

import importlib
import os
import time
from typing import Any

import numpy as np
import pytest

import soac
from soac.ir.errors import RunError
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.import_arrays import adopted
from soac.kernels.host_ir.timing_events import Careful, Event, executions, whole_of

pytestmark = pytest.mark.gpu
SUMS = "def main [n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss"
GATHER = "def main [n] (xs: [n]i32) (is: [n]i64): [n]i32 = map (\\i -> xs[i]) is"
BIG = "def main (n: i64): i64 = let ys = scan (+) 0 (replicate n 1i64) in if n > 0 then ys[n - 1] else 0"
LOOP = """
def main [n][m] (k: i64) (xss: [n][m]f32): f32 =
  #[flattening(no_intra)] loop s = 1 for _i < k do reduce (+) 0 (map (\\xs -> reduce (+) 0 (map (* s) xs)) xss)
"""
TURNS = 50
TURNED = "def main [n][m] (xss: [n][m]f32): [m][n]f32 = map (\\c -> map (* 2) c) (transpose xss)"
BOTH = "def main [n] (xs: [n]f32): ([n]f32, f32) = (scan (+) 0 xs, reduce (+) 0 xs)"
NUMBERS = np.random.default_rng(0)
LOG_SIZE = int(os.environ.get("SOAC_GPU_LOG_SIZE", "26"))
"""Elements of the largest arrays, as a power of two."""


def test_a_failure_leaves_the_gpu_usable(gpu: Gpu) -> None:
    program = soac.compile(GATHER, device="cuda")
    xs, at = np.arange(1000, dtype=np.int32), np.arange(1000)
    for _ in range(3):
        with pytest.raises(RunError, match=r"index \[1000\] out of bounds for array of shape \[1000\]"):
            program.main(xs, at + 1)
        assert np.array_equal(program.main(xs, at[::-1].copy()).numpy(), xs[::-1])


def test_out_of_memory_leaves_the_gpu_usable(gpu: Gpu) -> None:
    program = soac.compile(BIG, device="cuda")
    with pytest.raises(RunError, match="device out of memory: needs"):
        program.main(1 << 38)
    assert program.main(1 << 20) == 1 << 20


def test_the_same_bits_in_each_run(gpu: Gpu) -> None:
    program = soac.compile(BOTH, device="cuda")
    xs = NUMBERS.random(min(1_000_003, (1 << LOG_SIZE) + 3), np.float32)
    first = [np.asarray(result) for result in program.main(xs)]
    for _ in range(20):
        assert all(np.array_equal(a, np.asarray(b)) for a, b in zip(first, program.main(xs), strict=True))


def test_events_time_what_runs(gpu: Gpu) -> None:
    """As the host does where the GPU works long; by the host's clock a branch takes a launch and a wait more."""
    program, edge = soac.compile(LOOP, device="cuda"), max(256, 1 << LOG_SIZE // 2)
    args = program.place("main", [np.int64(TURNS), np.ones((edge, edge), np.float32)])

    def timed(log: list[Event]) -> float:
        start = time.monotonic()
        program.timed("main", args, {}, {}, None, log)
        return time.monotonic() - start

    timed([])
    timed(Careful())
    log, careful = list[Event](), Careful()
    host, _ = timed(log), timed(careful)
    whole = whole_of(log)
    assert whole is not None
    assert host / 2 < whole <= host
    by_events, by_host = executions(log, whole), executions(careful, time.monotonic())
    assert len(by_events) == len(by_host) == TURNS
    assert 0 < sum(one.seconds for one in by_events) < min(whole, sum(one.seconds for one in by_host))


def test_rivals_give_the_same(gpu: Gpu) -> None:
    """What is compiled when a setting first asks for it."""
    program, edge = soac.compile(TURNED, device="cuda"), max(64, 1 << LOG_SIZE // 2)
    xss = NUMBERS.random((edge + 1, edge), np.float32)
    for value in (1, 2, 1):
        (found,) = program.call("main", [xss], {"main.mapping": value})
        assert np.array_equal(found.numpy(), 2 * xss.T)


LIBRARIES = {
    "cupy": (lambda cupy, a: cupy.asarray(a), lambda a: a.get()),
    "torch": (lambda torch, a: torch.from_numpy(a).cuda(), lambda a: a.cpu().numpy()),
    "jax": (lambda jax, a: jax.device_put(a, jax.devices("gpu")[0]), np.asarray),
    "numba": (lambda _, a: importlib.import_module("numba.cuda").to_device(a), lambda a: a.copy_to_host()),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_of_others(gpu: Gpu, name: str) -> None:
    """In and out without a copy; theirs may still be computed when we get it."""
    library = pytest.importorskip(name)
    make, back = LIBRARIES[name]
    xss = NUMBERS.random((512, 300), np.float32)
    try:
        given: Any = make(library, xss)
    except Exception as why:
        pytest.skip(f"{name} does not see the GPU: {why}")
    program = soac.compile(SUMS, device="cuda")
    held = adopted(gpu, given)
    assert isinstance(held, CudaArray)
    assert np.array_equal(held.numpy(), xss)
    sums = program.main(given)
    assert np.allclose(sums.numpy(), xss.sum(axis=1), rtol=1e-4)
    assert np.array_equal(back(given), xss)


def test_torch_and_cupy_take_ours(gpu: Gpu) -> None:
    sums = soac.compile(SUMS, device="cuda").main(np.ones((64, 32), np.float32))
    taken = 0
    for name, take in {
        "torch": lambda torch: torch.from_dlpack(sums),
        "cupy": lambda cupy: cupy.asarray(sums),
        "jax": lambda jax: jax.dlpack.from_dlpack(sums),
    }.items():
        try:
            library = importlib.import_module(name)
            seen: Any = take(library)
        except ImportError:
            continue
        assert float(seen.sum()) == 64 * 32
        taken += 1
    if taken == 0:
        pytest.skip("neither PyTorch nor CuPy nor JAX is installed")


def test_work_of_torch_is_waited_for(gpu: Gpu) -> None:
    torch = pytest.importorskip("torch")
    program, stream = soac.compile(SUMS, device="cuda"), torch.cuda.Stream()
    for _ in range(5):
        with torch.cuda.stream(stream):
            square = torch.rand(2048, 2048, device="cuda")
            for _ in range(20):
                square = square @ square / 1024
            given = torch.ones(2048, 2048, device="cuda") + square * 0
            sums = program.main(given)
        assert np.array_equal(sums.numpy(), np.full(2048, 2048, np.float32))
