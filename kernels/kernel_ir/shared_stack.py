"""Arrays of a block or a thread that have no place of their own: they lie on stacks.

An array of constant size that is small stands in the text: in shared memory, in registers, in local memory. All others
are taken from a stack where they are allocated, and given back at the end of the statement list that allocates them, so
that what is allocated later has the same bytes. Each thread has a stack, and the block has one, whose arrays all its
threads use: who takes memory from that one again has to wait for those who still use what was there
(`passes/place_fences.py`).

The stacks of the threads of a warp lie between each other: they are counted in words, as wide as the widest element
that the kernel keeps there, and the words k of all threads are neighbours. A word is one thread's whatever it keeps
there, so nothing depends on what others have taken, or where they are. Narrower elements fill a word.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ...ir.machine import WARP
from ...ir.types import Const
from . import nodes as kir
from .nodes import KStm, Space
from .traverse import statements

STATIC_BYTES = 18 << 10
"""Arrays of constant size up to this stand in shared memory by themselves: 16 KiB, and gaps; three stages of 128 rows
on tensor cores."""
PRIVATE_WORDS = 64
"""Arrays of a thread up to this are the thread's own registers or local memory."""
UNIT = 16
"""Arrays begin at multiples of this number of bytes."""


def is_static(stm: kir.Alloc) -> bool:
    """Whether an array needs no stack."""
    if not isinstance(stm.count, Const):
        return False
    if stm.array.space is Space.PRIVATE:
        return int(stm.count.value) <= PRIVATE_WORDS
    return int(stm.count.value) * stm.array.prim.bytes <= STATIC_BYTES


def is_on_block_stack(stm: KStm) -> bool:
    """Whether a statement takes memory for all threads of the block."""
    return isinstance(stm, kir.Alloc) and stm.array.space is Space.SHARED and not is_static(stm)


def is_on_own_stack(stm: KStm) -> bool:
    """Whether a statement takes memory for a thread from the stack that it has."""
    return isinstance(stm, kir.Alloc) and stm.array.space is Space.PRIVATE and not is_static(stm)


def word_bytes(stms: tuple[KStm, ...]) -> int:
    """Of the words of the stacks of threads that execute these statements."""
    found = (stm for stm in statements(stms) if isinstance(stm, kir.Alloc) and is_on_own_stack(stm))
    return max((stm.array.prim.bytes for stm in found), default=1)


Places = TypeVar("Places", int, np.ndarray)


def place_of(byte: Places, lane: Places, word: int) -> Places:
    """Where a byte of the stack of a thread is in the memory that the stacks of its warp have together."""
    return (byte // word * WARP.threads + lane) * word + byte % word


def stack_bytes(count: int, size: int) -> int:
    """What `count` elements of `size` bytes take."""
    return -(-max(1, count * size) // UNIT) * UNIT
