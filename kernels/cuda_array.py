"""Arrays in the memory of a GPU, as the host program handles them and as a caller gets them.

A caller may look at one as at an array (`shape`, `dtype`, `numpy.asarray(a)`), and hand it to other libraries without a
copy: by `__cuda_array_interface__` or `__dlpack__` (`export.py`). It never changes any more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.arrays import shape_text
from ..ir.scalar import DTYPES
from ..ir.types import Prim
from . import export
from .cuda_pool import Block

if TYPE_CHECKING:
    from .gpu import Gpu


@dataclass(frozen=True, slots=True)
class Foreign:
    """Memory of another library; `owner` keeps it alive."""

    owner: object


@dataclass(frozen=True, slots=True, eq=False)
class CudaArray:
    """The element at index i is at `address` + (i · `strides`) elements, in memory that `block` keeps."""

    gpu: Gpu = field(repr=False)
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
        return export.interface_of(self)

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
        return export.capsule_of(self, stream, max_version, dl_device, copy)


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a row-major array, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def on_host(results: list[Any]) -> list[np.ndarray | np.generic]:
    """Results of any device, in host memory."""
    return [result.numpy() if isinstance(result, CudaArray) else result for result in results]
