"""Who executes a statement: the meaning of code outside `Threads` loops when a block is many threads.

    EACH     inside a `Threads` loop or a collective: one thread per index, index lo + k by thread k mod t
    EVERY    uniform code that writes no memory: every thread for itself, with the same result
    LEADER   uniform code that writes memory: the first thread. A whole If or loop without threads in it, where it
             writes memory, is the leader's (`solo`); the variables it assigns are broadcast at its end

A collective (`BlockReduce`, `BlockScan`, `WaitFor`, `LookBack`, an `Atomic` of the block that gives the old value)
ends with its result in every thread, so all threads are there by then: what came before it, and what its body did, is
visible to all after it; what a scan does in `after` is not yet. `TeamReduce` and `WarpTurns` are thread loops: no
thread waits. Placing of fences, the tracer and printers for machines with threads read a kernel in this way.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from . import nodes as kir
from .nodes import KStm
from .traverse import children, loaded_arrays, statements, stored_arrays, with_children


class Who(Enum):
    """Which threads of a collective execute a statement."""

    EACH = "each thread"
    EVERY = "every thread alike"
    LEADER = "the first thread"


def writer(who: Who) -> Who:
    """Who executes a store or an atomic in code of `who`: what is uniform and writes memory is the leader's."""
    return Who.LEADER if who is Who.EVERY else who


def repeated(stm: KStm) -> KStm:
    """The statement with its stores as those that other threads may make too."""
    if isinstance(stm, kir.Store):
        return replace(stm, repeats=True)
    return with_children(stm, tuple(tuple(map(repeated, inner)) for inner in children(stm)))


def spreads(stm: KStm) -> bool:
    """Does the block's collective as a whole take part: a thread loop, a collective, a fence?"""
    return any(isinstance(s, SPREADING) for s in statements((stm,)))


SPREADING = (
    kir.Threads, kir.PeeledThreads, kir.BlockReduce, kir.BlockScan, kir.Fence, kir.WaitFor, kir.LookBack,
    kir.TeamReduce, kir.WarpTurns, kir.Shuffle, kir.Mma,
)  # fmt: skip


def writes(stm: KStm) -> bool:
    """Whether a statement stores to an array, at any depth."""
    return any(stored_arrays(s) for s in statements((stm,)))


def solo(stm: KStm) -> bool:
    """Uniform code that the first thread executes alone."""
    return isinstance(stm, (kir.KIf, kir.For, kir.KWhile)) and writes(stm) and not spreads(stm)


def written_arrays(kernel: kir.Kernel) -> frozenset[kir.KArray]:
    """The arrays that a kernel stores to."""
    return frozenset(array for stm in statements(kernel.body) for array in stored_arrays(stm))


def read_arrays(kernel: kir.Kernel) -> frozenset[kir.KArray]:
    """What a kernel loads from, in tiles of a chain too."""
    return frozenset(array for stm in statements(kernel.body) for array in loaded_arrays(stm))


def published(kernel: kir.Kernel) -> frozenset[kir.KArray]:
    """What a flag may speak of: the global arrays that the kernel writes and reads, where it publishes."""
    if not any(isinstance(stm, kir.Publish) for stm in statements(kernel.body)):
        return frozenset()
    return frozenset(a for a in written_arrays(kernel) & read_arrays(kernel) if a.space is kir.Space.GLOBAL)
