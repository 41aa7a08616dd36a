"""Memory of a block and of its lanes.

Arrays of small constant size live on the stack, where LLVM may keep them in registers; the others in the worker's
arena, a stack of their own.
"""

from __future__ import annotations

from ...ir.types import Const, Prim
from ..kernel_ir.nodes import Alloc, Space
from ..llvm.text import mangled, memory_type
from .checks import OUT_OF_MEMORY, failing, report
from .values import Lanes, LaneValue, Place, Uniform, chosen, full_mask, operand, vectors

STACK_ARRAY = 8 << 10
STACK_TOTAL = 96 << 10
ALIGN = 64


def alloc(e: Lanes, stm: Alloc) -> None:
    """Memory of the block, or of each lane with elements interleaved: on the stack where it is small and of constant
    size (`STACK_ARRAY`, `STACK_TOTAL` bytes), else in the arena."""
    private = stm.array.space is Space.PRIVATE
    lanes = e.lanes if private else 0
    unit = stm.array.prim.bytes * (lanes or 1)
    count = operand(e, stm.count)
    pointer = _on_stack(e, stm, unit) or _in_arena(e, _widest(e, count), unit)
    e.places[stm.array] = Place(pointer, lanes, e.mask)


def _on_stack(e: Lanes, stm: Alloc, unit: int) -> str | None:
    if not isinstance(stm.count, Const):
        return None
    size = max(1, int(stm.count.value)) * unit
    if size > STACK_ARRAY or e.stack_bytes + size > STACK_TOTAL:
        return None
    e.stack_bytes += size
    count = size // stm.array.prim.bytes
    return e.code.slot(f"[{count} x {memory_type(stm.array.prim)}]")


def _widest(e: Lanes, count: LaneValue) -> str:
    """The largest count of the lanes that are on."""
    if isinstance(count, Uniform):
        return count.text
    zero = (e.vec.const(Prim.I64, 0),) * e.unroll
    largest, *others = chosen(e, full_mask(e), Prim.I64, vectors(e, count), zero)
    for other in others:
        largest = e.vec.intrinsic("smax", Prim.I64, largest, other)
    name, t = f"llvm.vector.reduce.smax.{mangled('i64', e.width)}", e.type(Prim.I64)
    e.code.module.declare(name, "i64", (t,))
    return e.code.call(name, "i64", ((t, largest),))


def _in_arena(e: Lanes, count: str, unit: int) -> str:
    """Bump the arena; a negative count is read as too large."""
    code = e.code
    top = code.op("load i64, ptr %arena.top")
    size = code.op(f"mul i64 {count}, {unit}")
    padded = code.op(f"and i64 {code.op(f'add i64 {size}, {ALIGN - 1}')}, {-ALIGN}")
    end = code.op(f"add i64 {top}, {padded}")
    absurd = code.op(f"icmp ugt i64 {count}, %arena.size")
    over = code.op(f"icmp ugt i64 {end}, %arena.size")
    with failing(e, code.op(f"or i1 {absurd}, {over}")):
        report(e, OUT_OF_MEMORY, (size, "%arena.size"))
    code.do(f"store i64 {end}, ptr %arena.top")
    return code.op(f"getelementptr i8, ptr %arena, i64 {top}")


def arena_mark(e: Lanes) -> str:
    """i64: how much of the arena is in use, in bytes."""
    return e.code.op("load i64, ptr %arena.top")


def arena_release(e: Lanes, mark: str) -> None:
    """What was taken from the arena since the mark is free again."""
    e.code.do(f"store i64 {mark}, ptr %arena.top")
