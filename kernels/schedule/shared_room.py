"""Room for the arrays of a block on a GPU: what stands in the text of a kernel takes at most `BLOCK.bytes`.

    f64[2000] a; f64[2000] b; f64[2000] c; f64[2000] d    64,000 bytes: the assembler refuses the text
      ⟶   a and b in the text, c and d on the stack of the block

Small arrays stay in the text, with what collectives have there, as far as there is room. On the stack, which the
launch gives shared memory beyond that, are arrays whose size is no constant: a variable with this value.
"""

from __future__ import annotations

from ...ir.machine import BLOCK, WARP
from ...ir.ops import Op
from ...ir.types import Const, Prim
from ..analysis.tile_items import element_bytes
from ..kernel_ir import nodes as kir
from ..kernel_ir.nodes import KStm, Space
from ..kernel_ir.shared_stack import is_static
from ..kernel_ir.traverse import rewritten, statements
from .kernel_builder import ZERO, Builder

BESIDE = 1 << 10
"""Bytes that texts of blocks have in shared memory for single values."""


def with_room(b: Builder, body: tuple[KStm, ...]) -> tuple[KStm, ...]:
    """A kernel's body; arrays of constant size for which the text has no room are on the stack."""
    found = list(statements(body))
    sizes = {stm.array: _bytes(stm) for stm in found if isinstance(stm, kir.Alloc) and stm.array.space is Space.SHARED}
    left, beyond = BLOCK.bytes - BESIDE - sum(map(_partial, found)), set[kir.KArray]()
    for array, size in sorted(sizes.items(), key=lambda one: one[1]):
        left -= size
        if size and left < 0:
            beyond.add(array)

    def on_stack(stm: KStm) -> tuple[KStm, ...] | None:
        if not isinstance(stm, kir.Alloc) or stm.array not in beyond:
            return None
        count = b.fresh("count", Prim.I64)
        same = kir.KLet(count, kir.KOp(Op.ADD, Prim.I64, (stm.count, ZERO)))
        return same, kir.Alloc(stm.array, count)

    return rewritten(body, on_stack) if beyond else body


def _bytes(stm: kir.Alloc) -> int:
    """Of an array that stands in the text; 0 for others."""
    return int(stm.count.value) * stm.array.prim.bytes if isinstance(stm.count, Const) and is_static(stm) else 0


def _partial(stm: KStm) -> int:
    """Bytes that the warps of a block of any size exchange in a collective; a reduction in a loop has two halves."""
    if not isinstance(stm, kir.BlockReduce | kir.BlockScan):
        return 0
    return (2 if isinstance(stm, kir.BlockReduce) else 1) * BLOCK.most // WARP.threads * element_bytes(stm.op)
