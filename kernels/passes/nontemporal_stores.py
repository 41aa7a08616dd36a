"""Results that the caches could not hold are written past them.

    far = bytes of the results >= FAR_BYTES     by the host, as the last scalar of the launch
    kernel.x = if far then x with non-temporal stores else x

A store of a whole line then reads no line before it: a map moves two bytes for each of its own where it moved three.
Who reads the result next finds it in memory, as with results of this size it would anyhow. It concerns stores of
whole vectors to arrays that the kernel does not read and that overwrite no operand, whose lines are there; where a
vector does not begin at a multiple of its size, the store is an ordinary one. Threads that compute much or loop do not
wait for these stores, and scans of rows as they lie store some elements twice; their kernels have no second form. The
bits are the same.
Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, section on non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..kernel_ir.execution import read_arrays
from ..kernel_ir.nodes import FAR, BlockScan, For, KArray, Kernel, KStm, KWhile, Store, Threads
from ..kernel_ir.traverse import statements
from .flat_row_scans import row_scan_of

MOST_STATEMENTS = 64
"""Of a kernel; a second form of it is compiled too."""


def nontemporal_stores(kernel: Kernel) -> Kernel:
    """The kernel with the arrays that are written past the caches where the host says that they are large."""
    if FAR not in kernel.scalars:
        return kernel
    arrays = streamed(kernel) - {result for result, _ in kernel.over}
    return replace(kernel, streams=tuple(array for array in kernel.arrays if array in arrays))


def streamed(kernel: Kernel) -> frozenset[KArray]:
    """The arrays that a kernel may write past the caches: its threads write them, and none of it reads them."""
    loops = list(loops_over_threads(kernel.body))
    inner = any(isinstance(stm, (For, KWhile)) for loop in loops for stm in loop)
    if inner or row_scan_of(kernel) is not None or sum(1 for _ in statements(kernel.body)) > MOST_STATEMENTS:
        return frozenset()
    stores = (stm.array for loop in loops for stm in loop if isinstance(stm, Store))
    return frozenset(array for array in stores if array in kernel.arrays) - read_arrays(kernel)


def loops_over_threads(stms: tuple[KStm, ...]) -> Iterator[list[KStm]]:
    """The statements of each loop over threads, those of a scan after it is done among them."""
    for stm in statements(stms):
        match stm:
            case Threads(body=body):
                yield list(statements(body))
            case BlockScan(body=body, after=after):
                yield list(statements((*body, *after)))
            case _:
                pass
