"""How many elements a thread of a GPU has in a tile of a long reduction or scan, and tiles a window of a look-back."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.machine import WARP
from ...ir.types import Prim
from ..kernel_ir import nodes as kir
from ..kernel_ir.tile_words import elements

MOST_ITEMS, THREAD_BYTES = 16, 64
WINDOW_BYTES = 8 << 10
"""Of shared memory, unless a warp's tiles take more."""


def tile_items(element_bytes: int) -> int:
    """Elements of a thread in a tile: a power of two, so that a block's tile takes about 16 KiB of shared memory."""
    return 1 << (max(1, min(MOST_ITEMS, THREAD_BYTES // element_bytes)).bit_length() - 1)


def window_tiles(prims: Sequence[Prim], threads: int) -> int:
    """Tiles of a window: of a block's threads as many as a power of two of warps for whose words there is room."""
    most = max(1, WINDOW_BYTES // window_bytes(prims, WARP.threads))
    return min(threads, WARP.threads << (most.bit_length() - 1))


def window_bytes(prims: Sequence[Prim], threads: int) -> int:
    """Of shared memory for the words of that many tiles."""
    return 8 * elements(prims) * threads


def element_bytes(op: kir.KLambda) -> int:
    """Bytes of all components of an element that an operator takes."""
    return sum(v.prim.bytes for v in op.left)
