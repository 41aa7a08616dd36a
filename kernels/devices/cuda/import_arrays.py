"""Arrays of other libraries (CuPy, PyTorch, JAX, Numba ..) as arguments, in their memory, without a copy.

With DLPack the producer lets our stream wait for its work; with the CUDA array interface we wait for the stream that it
names. All our reading is done when a call returns, so the producer need not wait for us.

Sources: the CUDA array interface, version 3; the Python specification of DLPack.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....ir.scalar import prim_of
from . import dlpack
from .array import CudaArray, Foreign
from .dlpack import dense
from .gpu import Gpu


def adopted(gpu: Gpu, value: Any) -> Any:
    """An array of the GPU as one of ours, in its memory; anything else as it is. Raises BufferError."""
    if isinstance(value, CudaArray):
        return value if value.gpu is gpu else value.numpy()
    if isinstance(value, np.ndarray | np.generic | int | float | list | tuple):
        return value
    if _is_there(gpu, value):
        return _from_dlpack(gpu, value)
    interface = getattr(value, "__cuda_array_interface__", None)
    return value if interface is None else _from_interface(gpu, interface, value)


def _is_there(gpu: Gpu, value: Any) -> bool:
    """Whether DLPack says that the array is on this GPU."""
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        return False
    kind, number = value.__dlpack_device__()
    return (int(kind), int(number)) == gpu.driver.place


def _from_dlpack(gpu: Gpu, value: Any) -> CudaArray:
    stream = gpu.driver.stream if gpu.driver.place[0] == dlpack.CUDA else None
    try:
        capsule = value.__dlpack__(stream=stream, max_version=dlpack.VERSION)
    except TypeError:  # a producer of before versions
        capsule = value.__dlpack__(stream=stream)
    tensor, owner = dlpack.consumed(capsule)
    return CudaArray(gpu, Foreign(owner), tensor.address, tensor.shape, tensor.strides, tensor.prim)


def _from_interface(gpu: Gpu, interface: dict[str, Any], owner: object) -> CudaArray:
    if interface.get("mask") is not None:
        raise BufferError("an array with a mask has no counterpart in the language")
    dtype = np.dtype(interface["typestr"])
    prim = prim_of(dtype.newbyteorder("="))
    if prim is None or not dtype.isnative:
        raise BufferError(f"elements of a type that the language does not have: {interface['typestr']}")
    shape = tuple(map(int, interface["shape"]))
    steps = interface.get("strides")
    if steps is not None and math.prod(shape) and any(step % prim.bytes for step in steps):
        raise BufferError(f"strides {tuple(steps)} that no whole elements fill")
    stream = interface.get("stream")
    if stream is not None:
        gpu.call(lambda: gpu.driver.await_stream(int(stream)))
    strides = dense(shape) if steps is None else tuple(int(step) // prim.bytes for step in steps)
    return CudaArray(gpu, Foreign(owner), int(interface["data"][0]), shape, strides, prim)
