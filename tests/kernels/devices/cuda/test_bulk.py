"""Bulk operations of the CUDA device against those of the CPU device, on arrays and views of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soac.ir.scalar import DTYPES
from soac.ir.types import Prim
from soac.kernels.devices.cpu.executable import CpuDevice
from soac.kernels.devices.cpu.kernel_code import KernelCode
from soac.kernels.devices.cuda.array import CudaArray
from soac.kernels.devices.cuda.bulk import Axis, merged, tiles
from soac.kernels.devices.cuda.device import CudaDevice
from tests.support import prims
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")
PRIMS = (Prim.I8, Prim.F16, Prim.I32, Prim.F64, Prim.BOOL)


@pytest.fixture(scope="module")
def device() -> CudaDevice:
    gpu = emulated_gpu()
    return gpu.call(lambda: CudaDevice.of(gpu, (), 64))


@pytest.fixture(scope="module")
def cpu() -> CpuDevice:
    return CpuDevice(KernelCode(), {}, 1)


def numbers(shape: tuple[int, ...], prim: Prim, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).integers(0, 100, shape)
    return (drawn % 2 == 0) if prim is Prim.BOOL else drawn.astype(DTYPES[prim])


def both(device: CudaDevice, cpu: CpuDevice, array: np.ndarray, steps: Callable[[Any, Any], Any]) -> None:
    """`steps` gives the same on both devices."""
    wanted = steps(cpu, array.copy())
    got = device.gpu.call(lambda: device.to_host(steps(device, device.from_host(array))))
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert np.array_equal(got, wanted)


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda d, a: d.view(a, (1,)),
    "every second": lambda d, a: d.view(a, (slice(0, None, 2),)),
    "backwards": lambda d, a: d.view(a, (slice(None, None, -1), slice(3, 0, -2))),
    "nothing": lambda d, a: d.view(a, (slice(0, 0, 1),)),
    "column": lambda d, a: d.view(a, (slice(0, 3, 1), 2)),
    "element": lambda d, a: d.view(a, (1, 2, 0)),
    "transposed": lambda d, a: d.rearrange(a, (1, 0, 2)),
    "turned": lambda d, a: d.rearrange(a, (2, 0, 1)),
    "transposed part": lambda d, a: d.rearrange(d.view(a, (slice(1, 3, 1), slice(4, 0, -1))), (2, 1, 0)),
}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "copy": lambda d, a: d.copy(a),
    "dense": lambda d, a: d.dense(a),
    "flat": lambda d, a: d.reshape(a, (int(np.prod(a.shape)),)),
    "repeated": lambda d, a: d.replicate((2, 3), a, Prim.I32),
    "joined": lambda d, a: d.concat([a, a], Prim.I32, (2 * a.shape[0], *a.shape[1:])) if a.shape else a,
    "rows": lambda d, a: d.literal([a, a, a], Prim.I32, (3, *a.shape)),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_views(device: CudaDevice, cpu: CpuDevice, view: str, operation: str) -> None:
    both(device, cpu, numbers((3, 5, 4), Prim.I32), lambda d, a: OPERATIONS[operation](d, VIEWS[view](d, a)))


@pytest.mark.parametrize("prim", PRIMS, ids=lambda p: p.value)
@pytest.mark.parametrize(
    "shape, perm",
    [((40, 33), (1, 0)), ((3, 37, 65), (0, 2, 1)), ((70, 2, 9), (2, 1, 0)), ((9, 3, 5, 10), (3, 1, 2, 0)),
     ((2,) * 10, (9, 7, 8, 5, 6, 3, 4, 1, 2, 0)), ((5, 1, 0), (2, 0, 1)), ((7, 9), (1, 0))],
)  # fmt: skip
def test_transposition(device: CudaDevice, cpu: CpuDevice, prim: Prim, shape: tuple, perm: tuple) -> None:
    both(device, cpu, numbers(shape, prim), lambda d, a: d.copy(d.rearrange(a, perm)))


def test_matrices_are_transposed_by_tiles() -> None:
    assert tiles(merged((40, 33), (33, 1), (1, 40))) is not None
    assert tiles(merged((4, 40, 33), (40 * 33, 33, 1), (1320, 1, 40))) is not None
    assert tiles(merged((40, 2), (2, 1), (1, 40))) is None
    assert tiles(merged((40, 33), (33, 1), (66, 2))) is None


def test_dimensions_are_merged() -> None:
    assert merged((3, 4, 5), (20, 5, 1), (20, 5, 1)) == (Axis(60, 1, 1),)
    assert merged((3, 1, 5), (5, 5, 1), (50, 7, 1)) == (Axis(3, 5, 50), Axis(5, 1, 1))


@pytest.mark.parametrize("prim", prims.PRIMS, ids=lambda p: p.value)
def test_filled(device: CudaDevice, cpu: CpuDevice, prim: Prim) -> None:
    """Also where no bits are set, where bytes or halves repeat, and into strided places."""
    repeating = np.frombuffer(b"\x12\x34\x56\x3a" * 2 + b"\x11" * 8, DTYPES[prim])[[0, -1]].tolist()
    for value in (DTYPES[prim].type(0).item(), DTYPES[prim].type(1).item(), *repeating * (prim is not Prim.BOOL)):
        both(device, cpu, numbers((1,), prim), lambda d, a, value=value: d.replicate((3, 700), value, prim))

    def written(d: Any, a: Any) -> Any:
        d.write(a, (slice(None, None, -2), slice(1, 4, 2)), DTYPES[prim].type(1).item())
        d.write(a, (0, 0), DTYPES[prim].type(0).item())
        return a

    both(device, cpu, numbers((5, 6), prim, 3), written)


@pytest.mark.parametrize("prim", [p for p in prims.PRIMS if p is not Prim.BOOL], ids=lambda p: p.value)
def test_iota(device: CudaDevice, cpu: CpuDevice, prim: Prim) -> None:
    for count, start, step in ((0, 0, 1), (1000, 0, 1), (300, 7, -3), (5, 0, 0)):
        wanted = cpu.iota(count, start, step, prim)
        got = device.gpu.call(lambda c=count, s=start, t=step: device.to_host(device.iota(c, s, t, prim)))
        assert np.array_equal(got, wanted)


def test_rows_are_written(device: CudaDevice, cpu: CpuDevice) -> None:
    def written(d: Any, a: Any) -> Any:
        d.write(a, (2,), d.view(a, (0,)))
        for rows, others in ((slice(0, 2, 1), slice(1, 3, 1)), (slice(1, 3, 1), slice(0, 2, 1))):
            d.write(a, (rows,), d.view(a, (others,)))
        d.write(a, (slice(0, 3, 1),), d.view(a, (slice(None, None, -1), slice(None, None, -1))))
        return a

    both(device, cpu, numbers((3, 5), Prim.I16), written)


def test_elements_are_read(device: CudaDevice) -> None:
    array = numbers((4, 3), Prim.F16)
    got = device.gpu.call(lambda: device.read(device.from_host(array), (2, 1)))
    assert got == array[2, 1].item()
    assert isinstance(device.gpu.call(lambda: device.read(device.from_host(array > 3), (0, 0))), bool)


def test_any_rank_is_filled(device: CudaDevice, cpu: CpuDevice) -> None:
    def written(d: Any, a: Any) -> Any:
        d.write(d.rearrange(a, (9, 7, 8, 5, 6, 3, 4, 1, 2, 0)), (slice(0, 1, 1),), 5)
        return a

    both(device, cpu, numbers((2,) * 10, Prim.I32), written)


def test_array_looks_like_an_array() -> None:
    gpu = emulated_gpu(EmulatedDriver())
    array = gpu.call(lambda: gpu.upload(np.arange(6, dtype=np.int16).reshape(2, 3)))
    assert (array.shape, array.ndim, array.size, array.nbytes, len(array)) == ((2, 3), 2, 6, 12, 2)
    assert array.dtype == np.int16
    assert np.asarray(array, np.float32).dtype == np.float32
    assert [row.tolist() for row in array] == [[0, 1, 2], [3, 4, 5]]
    assert repr(array) == "CudaArray([2][3]i16 on the emulator)"
    with pytest.raises(ValueError, match="by a copy"):
        np.asarray(array, copy=False)
    scalar = CudaArray(gpu, array.block, array.address, (), (), Prim.I16)
    with pytest.raises(TypeError):
        len(scalar)
