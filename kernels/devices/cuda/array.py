"""Arrays in the memory of a GPU, as the host program handles them and as a caller gets them.

A caller may look at one as at an array (`shape`, `dtype`, `numpy.asarray(a)`), and hand it to other libraries without a
copy: by `__cuda_array_interface__` (version 3) or `__dlpack__`. It never changes any more. A call of a program has
ended when its results are there, so there is no work that a consumer would have to wait for: the CUDA array interface
names no stream (`None`), and `__dlpack__` has nothing to add to the stream of the consumer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Protocol, TypeVar

import numpy as np

from ....ir.arrays import shape_text
from ....ir.records import dataclass
from ....ir.scalar import DTYPES
from ....ir.types import Prim
from ..device import OnDevice
from . import dlpack
from .dlpack import Tensor, dense
from .driver import Driver
from .memory_pool import Block

T = TypeVar("T")


class Keeper(Protocol):
    """The GPU that an array is on, as far as arrays use it."""

    @property
    def driver(self) -> Driver: ...

    def call(self, job: Callable[[], T], /) -> T: ...

    def to_host(self, array: CudaArray, /) -> np.ndarray: ...

    def finished_copy(self, array: CudaArray, /) -> CudaArray: ...


@dataclass(frozen=True, slots=True)
class Foreign:
    """Memory of another library; `owner` keeps it alive."""

    owner: object


@dataclass(frozen=True, slots=True, eq=False)
class CudaArray(OnDevice):
    """The element at index i is at `address` + (i · `strides`) elements, in memory that `block` keeps."""

    gpu: Keeper = field(repr=False)
    block: Block | Foreign = field(repr=False)
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    prim: Prim

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(DTYPES[self.prim])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.prim.bytes

    @property
    def is_dense(self) -> bool:
        return self.size <= 1 or all(s == d or n == 1 for s, d, n in zip(self.strides, dense(self.shape), self.shape))

    def show(self) -> None:
        """From now on other libraries know the memory."""
        if isinstance(self.block, Block):
            self.block.shown = True

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"CudaArray({shape_text(self.shape)}{self.prim.value} on {self.gpu.driver.properties.name})"

    def numpy(self) -> np.ndarray:
        """A copy in host memory."""
        return self.gpu.call(lambda: self.gpu.to_host(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of a GPU becomes one of the host by a copy only")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """With strides in bytes."""
        self.show()
        size = self.prim.bytes
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address if self.size else 0, False),
            "strides": None if self.is_dense else tuple(stride * size for stride in self.strides),
            "stream": None,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.gpu.driver.place

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the array, or of a copy if one is asked for. Raises BufferError."""
        place = self.gpu.driver.place
        if dl_device is not None and tuple(map(int, dl_device)) != place:
            raise BufferError(f"the array is on device {place}: take `numpy.asarray` of it for a copy in host memory")
        if place[0] == dlpack.CUDA and stream == 0:
            raise BufferError("stream 0 is ambiguous: 1 is the default stream, 2 that of a thread")
        given = self.gpu.call(lambda: self.gpu.finished_copy(self)) if copy else self
        given.show()
        address = given.address if given.size else 0
        tensor = Tensor(address, place, given.prim, given.shape, given.strides)
        versioned = max_version is not None and max_version[0] >= dlpack.VERSION[0]
        return dlpack.produced(tensor, given, versioned, dlpack.COPIED if copy else 0)
