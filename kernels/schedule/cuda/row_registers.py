"""Rows of a block in registers: what a collective keeps of a row that is as long as its level takes rows.

    xs = new shared [m]                                          xs = new registers [most][1] for m
    reduce (i < m) { x = ..; xs[i] := x; .. }             ⟶      reduce (i < m) { x = ..; xs[0] := x; .. }
    threads (i < m) { .. xs[i] .. }                              threads (i < m) { .. xs[0] .. }

Element i is made and read at index i of loops over the same m, and so by one thread. The host takes this kernel where m
is not too large; loops of a known number of rounds have all their loads under way at once, and the block needs no
memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....ir.core import Level
from ....ir.machine import BLOCK, WARP
from ....ir.records import dataclass
from ....ir.types import Const
from ...kernel_ir import nodes as kir
from ...kernel_ir.nodes import KArray, Kernel, KStm, KVar, Operand, Space
from ...kernel_ir.traverse import all_statements, children, loaded_arrays, rewritten, statements, stored_arrays
from ..kernel_builder import ZERO

MOST_ROWS = 4
"""Rows that are kept: a thread has some elements of each."""
MOST_STATEMENTS = 64
"""Of a loop that touches such a row. It is written out for each element of a thread, up to eight times: a long one
would need more registers than it saves, and more instructions than their cache holds."""


@dataclass(frozen=True, slots=True)
class KeptRows:
    """A kernel with its rows in registers, right where these scalars are at most `most`."""

    kernel: Kernel
    lengths: tuple[KVar, ...]
    most: int


def rows_in_registers(kernel: Kernel) -> KeptRows | None:
    """None where no array of the block is a row of its threads, or too many are."""
    most = (WARP if kernel.collective is Level.WARP else BLOCK).most
    rows = own_rows(kernel, most)
    if not 0 < len(rows) <= MOST_ROWS:
        return None
    registers = {array: replace(array, space=Space.REGISTERS) for array in rows}

    def on_stm(stm: KStm) -> tuple[KStm, ...] | None:
        match stm:
            case kir.Alloc(array, KVar() as length) if array in rows:
                return (kir.Distribute(registers[array], most, 1, None, length),)
            case kir.Alloc(array, Const(value=length)) if array in rows:
                return (kir.Distribute(registers[array], int(length), 1),)
            case kir.KLet(var, kir.KLoad(array)) if array in rows:
                return (kir.KLet(var, kir.KLoad(registers[array], ZERO)),)
            case kir.Store(array) if array in rows:
                return (replace(stm, array=registers[array], index=ZERO),)
            case _:
                return None

    lengths = tuple(dict.fromkeys(length for length in rows.values() if isinstance(length, KVar)))
    return KeptRows(replace(kernel, body=rewritten(kernel.body, on_stm)), lengths, most)


def own_rows(kernel: Kernel, most: int) -> dict[KArray, Operand]:
    """The rows of a kernel's threads with their lengths: each access is by the thread of its index, in a loop or a
    reduction over all of the row."""
    scalars, found = set(kernel.scalars), list(statements(kernel.body))
    rows = {
        stm.array: stm.count
        for stm in found
        if isinstance(stm, kir.Alloc) and stm.array.space is Space.SHARED and may_be_row(stm.count, scalars, most)
    }
    if any(isinstance(stm, kir.Threads) and stm.unit is not Level.THREAD for stm in found):
        return {}
    others = {
        array
        for array, index, loop in accesses(kernel.body, None)
        if not is_own(loop, index, rows.get(array)) or is_long(loop)
    }
    return {array: length for array, length in rows.items() if array not in others}


def is_long(loop: KStm | None) -> bool:
    """Is a loop too long to be written out?"""
    return loop is not None and sum(1 for _ in all_statements((loop,))) > MOST_STATEMENTS


def may_be_row(length: Operand, scalars: set[KVar], most: int) -> bool:
    """Whether the host knows a length, and it is not surely too large."""
    return length in scalars if isinstance(length, KVar) else 1 < int(length.value) <= most


def accesses(stms: Iterable[KStm], loop: KStm | None) -> Iterator[tuple[KArray, Operand | None, KStm | None]]:
    """The arrays that statements touch, with the index where that is an element, and the loop of threads around it."""
    for stm in stms:
        match stm:
            case kir.KLet(_, kir.KLoad(array, index)) | kir.Store(array, index):
                yield array, index, loop
            case _:
                yield from ((array, None, loop) for array in (*loaded_arrays(stm), *stored_arrays(stm)))
                if isinstance(stm, kir.Atomic):
                    yield stm.array, None, loop
        inner = loop if isinstance(stm, kir.KIf | kir.For | kir.KWhile) else stm
        for body in children(stm):
            yield from accesses(body, inner)


def is_own(loop: KStm | None, index: Operand | None, length: Operand | None) -> bool:
    """Is an access at the index of a loop over the whole row, whose indices threads take in turns?"""
    match loop:
        case kir.Threads(row=1) | kir.BlockReduce(commutative=True, step=None):
            return loop.lo == ZERO and loop.hi == length and index == loop.index
        case _:
            return False
