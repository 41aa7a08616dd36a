"""Arrays of the CUDA device to and from other libraries: the CUDA array interface and DLPack.

The memory of the emulated driver is the host's, so that NumPy (and JAX, where it is installed) are real consumers and
producers; objects of our own stand for those that have memory of a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soac.ir.types import Prim
from soac.kernels.devices.cuda import dlpack
from soac.kernels.devices.cuda.array import CudaArray, Foreign
from soac.kernels.devices.cuda.dlpack import CUDA, Tensor, consumed, produced
from soac.kernels.devices.cuda.gpu import Gpu
from soac.kernels.devices.cuda.import_arrays import adopted
from tests.support.emulator.driver import EmulatedDriver, emulated_gpu
from tests.support.emulator.emulate import COMPILER

XS = np.arange(12, dtype=np.float32).reshape(3, 4)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler: CUDA C cannot be emulated")


@pytest.fixture(scope="module")
def gpu() -> Gpu:
    return emulated_gpu()


def on(gpu: Gpu, array: np.ndarray) -> CudaArray:
    return gpu.call(lambda: gpu.upload(array))


def columns(array: CudaArray) -> CudaArray:
    """The transposed view."""
    return CudaArray(array.gpu, array.block, array.address, array.shape[::-1], array.strides[::-1], array.prim)


# ---- the CUDA array interface ------------------------------------------------------------------------------------


class Interface:
    """What another library shows of an array."""

    def __init__(self, array: np.ndarray, **more: object) -> None:
        self.array = array
        whole = {"shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, True), "version": 3}
        self.__cuda_array_interface__ = whole | more


def test_interface(gpu: Gpu) -> None:
    array = on(gpu, XS)
    shown = array.__cuda_array_interface__
    assert shown == {
        "shape": (3, 4), "typestr": "<f4", "data": (array.address, False), "strides": None, "stream": None,
        "version": 3,
    }  # fmt: skip
    assert columns(array).__cuda_array_interface__["strides"] == (4, 16)
    assert on(gpu, np.zeros((0, 3), np.int8)).__cuda_array_interface__["data"] == (0, False)
    assert on(gpu, np.ones(2, np.bool_)).__cuda_array_interface__["typestr"] == "|b1"


def test_memory_that_was_shown_goes_back_to_the_driver() -> None:
    """Somebody may still read it in another stream, so it is not used again."""
    gpu = emulated_gpu(EmulatedDriver())
    array = on(gpu, XS)
    assert array.__cuda_array_interface__
    used = gpu.driver.memory()[0]
    del array
    gc.collect()
    gpu.call(gpu.pool.take_back)
    assert gpu.driver.memory()[0] > used
    assert gpu.pool.held == 0


@needs_compiler
@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[1], lambda a: a[:0]],
)  # fmt: skip
def test_interface_as_an_argument(gpu: Gpu, view: Callable[[np.ndarray], np.ndarray]) -> None:
    given = view(XS)
    array = adopted(gpu, Interface(given, strides=given.strides))
    assert isinstance(array, CudaArray)
    assert array.shape == given.shape
    assert given.size == 0 or array.address == given.ctypes.data
    assert np.array_equal(array.numpy(), given)


def test_the_named_stream_is_waited_for() -> None:
    gpu = emulated_gpu(EmulatedDriver())
    assert isinstance(gpu.driver, EmulatedDriver)
    adopted(gpu, Interface(XS, stream=None))
    assert gpu.driver.awaited == []
    for stream in (1, 2, 4096):
        adopted(gpu, Interface(XS, stream=stream))
    assert gpu.driver.awaited == [1, 2, 4096]


def test_the_owner_lives_as_long_as_the_array(gpu: Gpu) -> None:
    owner = Interface(XS)
    alive = weakref.ref(owner)
    array = adopted(gpu, owner)
    del owner
    assert alive() is not None
    del array
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "more, why",
    [({"mask": object()}, "mask"), ({"typestr": "<c8"}, "<c8"), ({"typestr": ">f4"}, ">f4"),
     ({"strides": (16, 3)}, "whole elements")],
)  # fmt: skip
def test_what_no_array_of_ours_can_be(gpu: Gpu, more: dict[str, object], why: str) -> None:
    with pytest.raises(BufferError, match=why):
        adopted(gpu, Interface(XS, **more))


def test_what_is_on_the_host_stays(gpu: Gpu) -> None:
    for value in (XS, np.float32(1), 3, [1, 2], "text"):
        assert adopted(gpu, value) is value


# ---- DLPack ------------------------------------------------------------------------------------------------------


class Device:
    """An array of another library: a NumPy array, shown by DLPack."""

    def __init__(self, array: np.ndarray, place: tuple[int, int] = (dlpack.CPU, 0)) -> None:
        self.array = array
        self.place = place
        self.streams: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None = None) -> object:
        self.streams.append(stream)
        size = self.array.itemsize
        strides = tuple(stride // size for stride in self.array.strides)
        tensor = Tensor(self.array.ctypes.data, self.place, Prim.F32, self.array.shape, strides)
        return produced(tensor, self, max_version is not None, 0)


class Old(Device):
    """One of before versions."""

    def __dlpack__(self, *, stream: object = None) -> object:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


@needs_compiler
@pytest.mark.parametrize("prim", [p for p in Prim if p is not Prim.BF16], ids=lambda p: p.value)
def test_numpy_takes_an_array_without_a_copy(gpu: Gpu, prim: Prim) -> None:
    from soac.ir.scalar import DTYPES

    given = (np.arange(12).reshape(3, 4) % 2).astype(DTYPES[prim])
    array = on(gpu, given)
    for view, wanted in ((array, given), (columns(array), given.T)):
        taken = np.from_dlpack(view)
        assert taken.ctypes.data == array.address
        assert taken.dtype == given.dtype
        assert np.array_equal(taken, wanted)


def test_jax_takes_an_array(gpu: Gpu) -> None:
    jax = pytest.importorskip("jax")
    array = on(gpu, XS)
    taken = jax.dlpack.from_dlpack(array)
    assert np.array_equal(np.asarray(taken), XS)
    back = adopted(gpu, taken)
    assert isinstance(back, CudaArray)
    assert np.array_equal(back.numpy(), XS)


def test_memory_lives_as_long_as_a_consumer(gpu: Gpu) -> None:
    array = on(gpu, XS)
    taken, block = np.from_dlpack(array), array.block
    del array
    gc.collect()
    assert np.array_equal(taken, XS)
    assert block in lenders()
    del taken
    gc.collect()
    assert block not in lenders()


def lenders() -> list[object]:
    return [owner.block for *_, owner in dlpack.lent.values() if isinstance(owner, CudaArray)]


def test_a_capsule_that_is_not_taken_is_forgotten(gpu: Gpu) -> None:
    array = on(gpu, XS)
    for version in (None, (1, 0)):
        capsule = array.__dlpack__(max_version=version)
        assert array.block in lenders()
        del capsule
        gc.collect()
        assert array.block not in lenders()


def test_versions(gpu: Gpu) -> None:
    """A consumer that names no version gets the structure of before there were any."""
    array = on(gpu, XS)
    for version, name in ((None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 3), b"dltensor_versioned")):
        capsule = array.__dlpack__(max_version=version)
        assert ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name)
        tensor, owner = consumed(capsule)
        assert (tensor.address, tensor.shape, tensor.strides) == (array.address, (3, 4), (4, 1))
        with pytest.raises(BufferError, match="has been used"):
            consumed(capsule)
        del owner


@needs_compiler
def test_copies(gpu: Gpu) -> None:
    array = on(gpu, XS)
    taken = np.from_dlpack(array, copy=True)
    assert taken.ctypes.data != array.address
    assert np.array_equal(taken, XS)


def test_other_devices_are_refused(gpu: Gpu) -> None:
    array = on(gpu, XS)
    with pytest.raises(BufferError, match="host memory"):
        array.__dlpack__(dl_device=(CUDA, 3))
    there = emulated_gpu(EmulatedDriver(place=(CUDA, 0)))
    with pytest.raises(BufferError, match="ambiguous"):
        on(there, XS).__dlpack__(stream=0)
    assert on(there, XS).__dlpack_device__() == (CUDA, 0)


@pytest.mark.parametrize("kind", [Device, Old])
def test_producers_get_our_stream(kind: type[Device]) -> None:
    """They let it wait for their work."""
    gpu = emulated_gpu(EmulatedDriver(place=(CUDA, 0)))
    given = kind(XS, (CUDA, 0))
    array = adopted(gpu, given)
    assert given.streams == [gpu.driver.stream]
    assert isinstance(array, CudaArray)
    assert array.address == XS.ctypes.data
    assert np.array_equal(array.numpy(), XS)
    alive, block = weakref.ref(given), array.block
    assert isinstance(block, Foreign)
    del given, array, block
    gc.collect()
    assert alive() is None


def test_an_array_of_another_gpu_is_left_to_its_interface() -> None:
    gpu = emulated_gpu(EmulatedDriver(place=(CUDA, 0)))
    given = Device(XS, (CUDA, 1))
    assert adopted(gpu, given) is given
    assert given.streams == []


def test_elements_that_the_language_has_not(gpu: Gpu) -> None:
    with pytest.raises(BufferError, match="not a capsule"):
        consumed(object())
    with pytest.raises(BufferError, match="128 bits"):
        consumed(np.zeros(3, np.complex128).__dlpack__())


def test_tensors_of_numpy(gpu: Gpu) -> None:
    for given in (XS, XS.T, XS[::2, 1:], np.zeros((0, 2), np.float32), np.array(3, np.int8), np.ones(3, np.bool_)):
        given = given.copy() if given.base is None else given
        capsule: Any = given
        tensor, owner = consumed(capsule.__dlpack__())
        assert tensor.shape == given.shape
        assert given.size == 0 or tensor.strides == tuple(s // given.itemsize for s in given.strides)
        assert isinstance(owner, dlpack.Borrowed)


@pytest.mark.parametrize("versioned", [True, False])
def test_a_tensor_may_begin_behind_its_memory(versioned: bool) -> None:
    capsule = produced(Tensor(4096, (CUDA, 0), Prim.F32, (3,), (1,)), XS, versioned, 0)
    held: Any = list(dlpack.lent.values())[-1][0]
    held.tensor.byte_offset = 8
    assert consumed(capsule)[0] == Tensor(4104, (CUDA, 0), Prim.F32, (3,), (1,))


def test_arguments(gpu: Gpu) -> None:
    """Through a program, next to arrays of the host."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    from soac.arguments import to_arguments
    from soac.ir.machine import CUDA as MACHINE
    from soac.kernels.devices.cuda.executable import CudaExecutable
    from soac.pipeline import compile_prog

    text = "def main [n] (xs: *[n]f32) (ys: [n]f32) : ([n]f32, f32) = (map2 (+) xs ys, reduce (+) 0 ys)"
    compiled = compile_prog(text, "add.soac", machine=MACHINE)
    program = CudaExecutable.build(compiled.host, compiled.core.functions, gpu, 64)
    xs, ys = XS[0].copy(), XS[1].copy()
    args: list[Any] = [Interface(xs), ys]
    (zs, total), _ = program.run("main", args, convert=to_arguments)
    assert np.from_dlpack(zs).tolist() == (xs + ys).tolist()
    assert total == ys.sum()
    assert xs.tolist() == XS[0].tolist()
    (same, _), _ = program.run("main", [zs, Device(ys)], convert=to_arguments)
    assert same.numpy().tolist() == (xs + ys + ys).tolist()
