"""Fetching ahead: where a block goes once through what is its own, memory is all that it waits for.

The processor fetches lines of a stream by itself, but stops at the ends of pages, and vectors that lie across two lines
keep it busy. A line asked for `AHEAD` bytes before its turn is there in time. What does not depend on the number of the
block is read by all of them, and stays in the cache. Of several arrays the processor keeps all lines under way that it
can: asking for more is slower.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.uniformity import depending
from ..kernel_ir.nodes import BlockReduce, BlockScan, KArray, Kernel, KLet, KLoad, KVar
from ..kernel_ir.traverse import names, statements
from ..llvm.text import Code

AHEAD = 1 << 12
LINE = 64
MOST_STATEMENTS = 24
"""Of a loop that waits for memory alone."""


def own_places(kernel: Kernel, stm: BlockReduce | BlockScan) -> frozenset[str]:
    """An index of a loop that depends on the number of the block, that of the first load: others are its neighbours;
    none where the loop has other things to do, reads several arrays at such indices, or is one of many of its block."""
    if all(s is not stm for s in kernel.body) or len(stm.body) > MOST_STATEMENTS:
        return frozenset()
    found = depending(statements(kernel.body), [kernel.block.name])
    places = found if found.isdisjoint(names(stm.lo)) else depending(stm.body, {*found, stm.index.name})
    read = list(_read_at(places, stm))
    return frozenset(name for _, name in read[:1]) if len({array for array, _ in read}) <= 1 else frozenset()


def _read_at(places: frozenset[str], stm: BlockReduce | BlockScan) -> Iterator[tuple[KArray, str]]:
    """The arrays that a loop reads at these indices, with these, in order."""
    for inner in statements(stm.body):
        match inner:
            case KLet(_, KLoad(array, KVar(name))) if name in places:
                yield array, name
            case _:
                pass


def fetch(code: Code, pointer: str) -> None:
    """Ask for the line that is `AHEAD` bytes behind a pointer; harmless where nothing is there."""
    _prefetch(code, pointer, 0)


def fetch_to_write(code: Code, pointer: str) -> None:
    """The same for a line that is to be written."""
    _prefetch(code, pointer, 1)


def _prefetch(code: Code, pointer: str, way: int) -> None:
    code.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
    place = code.op(f"getelementptr i8, ptr {pointer}, i64 {AHEAD}")
    code.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 {way}, i32 3, i32 1)")
