"""How many elements a thread of a GPU has in a tile of a long reduction or scan."""

from __future__ import annotations

from ..kernel_ir import nodes as kir

MOST_ITEMS, THREAD_BYTES = 16, 64


def tile_items(element_bytes: int) -> int:
    """Elements of a thread in a tile: a power of two, so that a block's tile takes about 16 KiB of shared memory."""
    return 1 << (max(1, min(MOST_ITEMS, THREAD_BYTES // element_bytes)).bit_length() - 1)


def element_bytes(op: kir.KLambda) -> int:
    """Bytes of all components of an element that an operator takes."""
    return sum(v.prim.bytes for v in op.left)
