"""Who executes a statement: the meaning of code outside `Threads` loops when a block is many threads.

    EACH     inside a `Threads` loop or a collective: one thread per index, index lo + k by thread k mod t
    EVERY    uniform code that writes no memory: every thread for itself, with the same result
    LEADER   uniform code that writes memory: the first thread. A whole If or loop without threads in it, where it
             writes memory, is the leader's (`solo`); the variables it assigns are broadcast at its end

A collective (`BlockReduce`, `BlockScan`, `WaitFor`, `LookBack`, an `Atomic` of the block that gives the old value)
ends with its result in every thread, so all threads have met by then: what came before it, and what its body did, is
visible to all after it; what a scan does in `after` is not yet. `TeamReduce` and `WarpTurns` are thread loops: nobody
waits. Placing of fences, the tracer and printers for machines with threads read a kernel in this way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from . import nodes as kir
from .nodes import KStm


class Who(Enum):
    EACH = "each thread"
    EVERY = "every thread alike"
    LEADER = "the first thread"


def writer(who: Who) -> Who:
    """Who executes a store or an atomic in code of `who`: what is uniform and writes memory is the leader's."""
    return Who.LEADER if who is Who.EVERY else who


def children(stm: KStm) -> tuple[tuple[KStm, ...], ...]:
    """The statement lists inside a statement, in the order of execution; operators are left out: they touch no
    memory."""
    match stm:
        case kir.KIf(_, then, orelse):
            return then, orelse
        case kir.For(_, _, body) | kir.Threads(_, _, _, body) | kir.BlockReduce(body=body):
            return (body,)
        case kir.KWhile(before, _, body):
            return before, body
        case kir.BlockScan() | kir.TeamReduce() | kir.RowScan():
            return stm.body, stm.after
        case kir.WarpTurns(body=body, turn=turn):
            return body, turn
        case _:
            return ()


def with_children(stm: KStm, lists: tuple[tuple[KStm, ...], ...]) -> KStm:
    """The statement with other lists inside, in the order of `children`."""
    match stm:
        case kir.KIf():
            return replace(stm, then=lists[0], orelse=lists[1])
        case kir.For() | kir.Threads() | kir.BlockReduce():
            return replace(stm, body=lists[0])
        case kir.KWhile():
            return replace(stm, before=lists[0], body=lists[1])
        case kir.BlockScan() | kir.TeamReduce() | kir.RowScan():
            return replace(stm, body=lists[0], after=lists[1])
        case kir.WarpTurns():
            return replace(stm, body=lists[0], turn=lists[1])
        case _:
            return stm


def repeated(stm: KStm) -> KStm:
    """The statement with its stores as those that other threads may make too."""
    if isinstance(stm, kir.Store):
        return replace(stm, repeats=True)
    return with_children(stm, tuple(tuple(map(repeated, inner)) for inner in children(stm)))


def statements(stms: tuple[KStm, ...]) -> Iterator[KStm]:
    """All statements, at any depth, in the order of the text."""
    for stm in stms:
        yield stm
        for inner in children(stm):
            yield from statements(inner)


def all_statements(stms: tuple[KStm, ...]) -> Iterator[KStm]:
    """All statements, those of operators among them."""
    for stm in statements(stms):
        yield stm
        if isinstance(stm, (kir.BlockReduce, kir.BlockScan, kir.RowScan, kir.LookBack, kir.TeamReduce)):
            yield from statements(stm.op.body)


def spreads(stm: KStm) -> bool:
    """Does the block's collective as a whole take part: a thread loop, a collective, a fence?"""
    return any(isinstance(s, SPREADING) for s in statements((stm,)))


SPREADING = (
    kir.Threads, kir.BlockReduce, kir.BlockScan, kir.Fence, kir.WaitFor, kir.LookBack, kir.TeamReduce, kir.WarpTurns,
)  # fmt: skip
WRITING = (kir.Store, kir.Atomic, kir.Publish, kir.StoreRow, kir.StoreTile)


def writes(stm: KStm) -> bool:
    return any(isinstance(s, WRITING) for s in statements((stm,)))


def solo(stm: KStm) -> bool:
    """Uniform code that the first thread executes alone."""
    return isinstance(stm, (kir.KIf, kir.For, kir.KWhile)) and writes(stm) and not spreads(stm)


def written_arrays(kernel: kir.Kernel) -> frozenset[kir.KArray]:
    return frozenset(s.array for s in statements(kernel.body) if isinstance(s, WRITING))


def read_arrays(kernel: kir.Kernel) -> frozenset[kir.KArray]:
    """What a kernel loads from, in tiles of a chain too."""
    found: set[kir.KArray] = set()
    for stm in statements(kernel.body):
        match stm:
            case kir.KLet(_, kir.KLoad(array, _)) | kir.LoadRow(_, array, _) | kir.AsyncCopy(_, _, array, _):
                found.add(array)
            case kir.LoadTile(_, array):
                found.add(array)
            case kir.LookBack(sums=sums, totals=totals):
                found.update(sums, totals)
            case _:
                pass
    return frozenset(found)
