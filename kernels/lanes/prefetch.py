"""Fetching ahead: where a block goes once through what is its own, memory is all that it waits for.

The processor fetches lines of a stream by itself, but stops at the ends of pages, and vectors that lie across two lines
keep it busy. A line asked for `AHEAD` bytes before its turn is there in time. What does not depend on the number of the
block is read by all of them, and stays in the cache. Of several arrays the processor keeps all lines under way that it
can: asking for more is slower.

    for i < rows { threads j in 0..columns { .. xss[(block*rows + i)*columns + j] .. } }

So it is where a loop of a block reads other elements in each iteration: what an iteration computes waits for that
before it, and the processor does not come to the next one's loads by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..analysis.uniformity import depending
from ..kernel_ir.nodes import BlockReduce, BlockScan, For, KArray, Kernel, KLet, KLoad, KVar, PeeledThreads, Threads
from ..kernel_ir.traverse import names, statements
from ..llvm.text import Code

AHEAD = 1 << 12
ROWS_AHEAD = 1 << 13
Loop = Threads | PeeledThreads
LINE = 64
MOST_STATEMENTS = 24
"""Of a loop that waits for memory alone."""


def own_places(kernel: Kernel, stm: BlockReduce | BlockScan) -> Mapping[str, int]:
    """How many bytes ahead is fetched at an index of a loop that depends on the number of the block, that of the first
    load: others are its neighbours; none where the loop has other things to do, reads several arrays at such indices,
    or is one of many of its block."""
    if all(s is not stm for s in kernel.body) or len(stm.body) > MOST_STATEMENTS:
        return {}
    found = depending(statements(kernel.body), [kernel.block.name])
    places = found if found.isdisjoint(names(stm.lo)) else depending(stm.body, {*found, stm.index.name})
    read = list(_read_at(places, stm))
    return {name: AHEAD for _, name in read[:1]} if len({array for array, _ in read}) <= 1 else {}


def rows_of_a_loop(kernel: Kernel, stm: Loop) -> Mapping[str, int]:
    """The same of threads in a loop of the block, for an index that depends on the numbers of both."""
    loops = [s for s in kernel.body if isinstance(s, For) and any(inner is stm for inner in statements(s.body))]
    if not loops or len(stm.body) > MOST_STATEMENTS:
        return {}
    everywhere = tuple(statements(kernel.body))
    (loop,) = loops
    places = depending(everywhere, [kernel.block.name]) & depending(everywhere, [loop.index.name])
    read = list(_read_at(places, stm))
    return {name: ROWS_AHEAD for _, name in read[:1]} if len({array for array, _ in read}) == 1 else {}


def _read_at(places: frozenset[str], stm: BlockReduce | BlockScan | Loop) -> Iterator[tuple[KArray, str]]:
    """The arrays that a loop reads at these indices, with these, in order."""
    for inner in statements(stm.body):
        match inner:
            case KLet(_, KLoad(array, KVar(name))) if name in places:
                yield array, name
            case _:
                pass


def fetch(code: Code, pointer: str, ahead: int = AHEAD) -> None:
    """Ask for the line that is `ahead` bytes behind a pointer; harmless where nothing is there."""
    _prefetch(code, pointer, 0, ahead)


def fetch_to_write(code: Code, pointer: str) -> None:
    """The same for a line that is to be written."""
    _prefetch(code, pointer, 1, AHEAD)


def _prefetch(code: Code, pointer: str, way: int, ahead: int) -> None:
    code.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
    place = code.op(f"getelementptr i8, ptr {pointer}, i64 {ahead}")
    code.do(f"call void @llvm.prefetch.p0(ptr {place}, i32 {way}, i32 3, i32 1)")
