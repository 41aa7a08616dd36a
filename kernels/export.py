"""Arrays of a GPU to other libraries (CuPy, PyTorch, JAX, Numba ..) without a copy.

A call of a program has ended when its results are there, so there is no work that a consumer would have to wait for:
the CUDA array interface names no stream (`None`), and `__dlpack__` has nothing to add to the stream of the consumer.

Sources: the CUDA array interface, version 3; the Python specification of DLPack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import dlpack
from .dlpack import Tensor

if TYPE_CHECKING:
    from .cuda_array import CudaArray


def interface_of(array: CudaArray) -> dict[str, object]:
    """`__cuda_array_interface__`; strides in bytes."""
    array.show()
    size = array.prim.bytes
    return {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (array.address if array.size else 0, False),
        "strides": None if array.is_dense else tuple(stride * size for stride in array.strides),
        "stream": None,
        "version": 3,
    }


def capsule_of(
    array: CudaArray,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """`__dlpack__`: a capsule of the array, or of a copy if one is asked for. Raises BufferError."""
    place = array.gpu.driver.place
    if dl_device is not None and tuple(map(int, dl_device)) != place:
        raise BufferError(f"the array is on device {place}: take `numpy.asarray` of it for a copy in host memory")
    if place[0] == dlpack.CUDA and stream == 0:
        raise BufferError("stream 0 is ambiguous: 1 is the default stream, 2 that of a thread")
    given = array.gpu.call(lambda: array.gpu.finished_copy(array)) if copy else array
    given.show()
    address = given.address if given.size else 0
    tensor = Tensor(address, place, given.prim, given.shape, given.strides)
    versioned = max_version is not None and max_version[0] >= dlpack.VERSION[0]
    return dlpack.produced(tensor, given, versioned, dlpack.COPIED if copy else 0)
