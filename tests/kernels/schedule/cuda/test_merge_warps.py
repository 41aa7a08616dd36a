"""Rows of varying length in equal parts, a warp for each: values, whatever the number of parts; barriers and shares;
lanes that short rows keep at work."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from soac.ir.core import Level
from soac.ir.machine import CUDA
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.devices.cuda.executable import CudaExecutable
from soac.kernels.passes.pipeline import CUDA_PASSES, all_ready
from soac.kernels.schedule import merge_path
from soac.kernels.tracer.run import TraceSettings, ready_kernels, trace_kernels
from soac.pipeline import Compiled, compile_prog
from soac.versions import runs_of
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

COMPOSED = """
-- The functions x -> (2 (k % 5) - 3) x + k one after the other, as many as each number says: they do not commute, and
-- no product of odd numbers is 0, which would forget what was before.
entry main [n] (lengths: [n]i64): ([n]i32, [n]i32) =
  unzip (map (\\l -> reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                           (map (\\k -> (i32.i64 (k % 5 * 2 - 3), i32.i64 k)) (iota l))) lengths)
"""
LENGTHS = {
    "short and long": [3, 0, 90, 1, 1, 0, 40, 200, 2, 0],
    "empty": [0, 0, 0],
    "one long row": [700],
    "many short": [k % 4 for k in range(300)],
    "ends at parts": [32, 31, 33, 64, 0, 0, 63, 128],
}


def linear(length: int) -> tuple[int, int]:
    a, b = np.int32(1), np.int32(0)
    with np.errstate(over="ignore"):
        for k in range(length):
            c = np.int32(k % 5 * 2 - 3)
            a, b = c * a, c * b + np.int32(k)
    return int(a), int(b)


def compiled(grain: int, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    monkeypatch.setattr(merge_path, "GRAIN", grain)
    return compile_prog(COMPOSED, "composed.soac", machine=CUDA)


def flat(made: Compiled) -> dict[str, bool]:
    """The last version."""
    *_, last = runs_of(made.flat, "main")
    return last


@pytest.mark.parametrize("grain", [merge_path.WARPS, 40 * merge_path.WARPS, 1 << 12])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_values(lengths: str, grain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced without a hazard, and emulated in several orders."""
    made, args = compiled(grain, monkeypatch), [np.array(LENGTHS[lengths])]
    wanted = np.array([linear(length) for length in LENGTHS[lengths]], np.int32).T
    report = trace_kernels(made, ready_kernels(made), "main", args, flat(made), TraceSettings(64))
    assert report.is_clean
    np.testing.assert_array_equal(np.stack(report.results), wanted)
    for order in (0, 1, 5) if COMPILER is not None else ():
        gpu = emulated_gpu(EmulatedDriver(order=order))
        found, _ = CudaExecutable.build(made.host, made.core.functions, gpu, 64).run("main", args, forced=flat(made))
        np.testing.assert_array_equal(np.stack([array.numpy() for array in found]), wanted)


def test_parts_are_warps_that_wait_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a thread for each part combines their carries."""
    made = compiled(1 << 12, monkeypatch)
    kernels = {kernel.name: kernel for kernel in all_ready(made.host.kernels, CUDA_PASSES)}
    args = [np.full(200, 8)]
    launched = trace_kernels(made, ready_kernels(made), "main", args, flat(made)).launches
    carry = next(k for k, launch in enumerate(launched) if launch.kernel.rpartition("_")[0].endswith("_carry"))
    parts = launched[carry - 1]
    assert kernels[parts.kernel].collective is Level.WARP
    assert parts.blocks == -(-(200 + 1600) // ((1 << 12) // merge_path.WARPS))
    text = cuda_kernel(kernels[parts.kernel])
    assert (text.together, "__syncthreads" in text.text) == (3, False)


PRODUCTS = """
entry main [n][m] (off: [n]i64) (value: [m]f32) (x: [m]f32): [n - 1]f32 =
  map (\\i -> reduce (+) 0 (map (\\k -> value[k] * x[k]) (off[i]..<off[i+1]))) (iota (n - 1))
"""
PARTS = {"of 8": [8] * 340, "of one": [1] * 765, "of 20": [20] * 73, "long": [200] * 10, "empty": [0] * 1020}
MOST = {"of 8": (825, 30), "of one": (965, 15), "of 20": (825, 30), "long": (290, 28), "empty": (725, 0)}


@cache
def products() -> Compiled:
    return compile_prog(PRODUCTS, "products.soac", machine=CUDA)


@pytest.mark.parametrize("rows", PARTS)
def test_short_rows_are_side_by_side(rows: str) -> None:
    """Statements of the busiest thread of a part, and lanes that load elements at once: by one row after the other 958
    and 8 for rows of 8, 4,250 and one for those of one, beside what all threads do for each row."""
    made, off = products(), np.concatenate([[0], np.cumsum(PARTS[rows])]).astype(np.int64)
    value, x = np.random.default_rng(8).integers(-9, 9, (2, off[-1])).astype(np.float32)
    report = trace_kernels(made, ready_kernels(made), "main", [off, value, x], flat(made), TraceSettings(64))
    wanted = [np.sum(value[a:b] * x[a:b]) for a, b in pairwise(off)]
    np.testing.assert_array_equal(report.results[0], np.array(wanted, np.float32))
    assert report.is_clean
    loads = [s for launch in report.launches for s in launch.sites if s.array.name.startswith("value_")]
    parts = next(launch for launch in report.launches if "carry" in [s.array.name[:5] for s in launch.sites])
    most, lanes = MOST[rows]
    assert parts.work.padded <= most * parts.blocks * 32
    assert sum(s.lanes for s in loads) >= lanes * sum(s.requests for s in loads)
