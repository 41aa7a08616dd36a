"""Arrays that come to a worker lie at addresses that fit their elements.

Dask reads a message into one buffer and takes arrays as they lie in it, at any address. A task would have to copy them
each time before a kernel may read them; here they are copied once, when they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed import WorkerPlugin
from distributed.protocol.serialize import dask_deserialize


class Aligned(WorkerPlugin):
    """Of each worker, also of those that come later."""

    name = "soac-aligned"
    idempotent = True

    def setup(self, worker: Any) -> None:
        usual = dask_deserialize.dispatch(np.ndarray)
        if not isinstance(usual, _Aligned):
            dask_deserialize.register(np.ndarray, _Aligned(usual))


class _Aligned:
    """Reads an array by `usual`."""

    __slots__ = ("usual",)

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def __call__(self, header: Any, frames: Any) -> np.ndarray:
        array = self.usual(header, frames)
        return array if array.flags.aligned else array.copy()
