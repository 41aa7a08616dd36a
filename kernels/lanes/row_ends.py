"""The last elements of a row that is written where it is read: vectors of half as many elements each, down to one.

A load waits until a store before it has left for the cache if their bytes overlap and the store does not have all that
is loaded. Those of a masked store are its whole vector's, here the first ones of the next row.
"""

from __future__ import annotations

from ...ir.types import Prim
from ..kernel_ir.execution import written_arrays
from ..kernel_ir.nodes import KArray, Kernel
from ..kernel_ir.traverse import all_statements, loaded_arrays
from ..llvm.text import memory_type, vector
from .values import Lanes


def arrays_in_place(kernel: Kernel) -> frozenset[KArray]:
    """The arrays that a kernel both reads and writes, maybe under two names."""
    read = {array for stm in all_statements(kernel.body) for array in loaded_arrays(stm)}
    return written_arrays(kernel) & read.union(*kernel.over)


def is_end_in_place(e: Lanes, array: KArray) -> bool:
    """Whether all of the last threads of a loop are on, which are fewer than lanes, and the array is read, too."""
    return e.rest is not None and e.mask is e.rest[0] and array in e.in_place


def store_first(e: Lanes, prim: Prim, pointer: str, value: str) -> None:
    """Store the elements of a vector that these threads have, from the pointer on."""
    assert e.rest is not None, "the last threads of a loop"
    code, element, size, count = e.code, memory_type(prim), e.width // 2, e.rest[1]
    while size:
        half = vector(element, size)
        both = vector(element, 2 * size)
        low, high = (code.shuffle(both, value, "poison", range(first, first + size)) for first in (0, size))
        has = code.op(f"icmp ne i64 {code.op(f'and i64 {count}, {size}')}, 0")
        piece, behind = code.fresh("piece"), code.fresh("behind")
        code.branch(has, piece, behind)
        code.label(piece)
        code.do(f"store {half} {low}, ptr {pointer}, align {prim.bytes}")
        code.jump(behind)
        code.label(behind)
        value = code.op(f"select i1 {has}, {half} {high}, {half} {low}")
        following = code.op(f"getelementptr {element}, ptr {pointer}, i64 {size}")
        pointer = code.op(f"select i1 {has}, ptr {following}, ptr {pointer}")
        size //= 2
