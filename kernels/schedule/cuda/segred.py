"""SegRed on a machine with many threads.

segred (i < n, j < m)     m short: a team of a warp's threads for each segment (`TeamReduce`), several segments a block
                          else block = (i, chunk of j): partial results; a second launch combines more than one chunk

Chunks are so long that all segments together fill the machine; with many segments there is one chunk, and a block for
each segment. What is commutative each thread reads at a stride of the block, so that a warp reads neighbours; else the
elements go through the block in tiles, in order. Source: Larsen and Henriksen, FHPC'17.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import SegSpace
from ....ir.machine import BLOCK, WARP
from ....ir.ops import Op
from ....ir.types import Atom, Const, Name, Prim, i64
from ...analysis.cost import EXTENT
from ...host_ir.launch_parameters import Kind
from ...kernel_ir import nodes as kir
from ..cpu.segred import ELEMENTS, Chunked, in_chunks
from ..host_builder import HostBuilder, Made, alternatives
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, Operand, scalar
from ..merge_path import MERGE_PATH
from ..soacs import collective_reduce, is_simple, k_lambda, neutral_of, put
from ..space import bind_space, output, row_of, split_chunk
from ..statements import gen_body
from ..table import Schedule, Segop, Table, launch
from .mapping import best_way

SHORT = 512
"""Segments up to this are reduced by teams."""
LEAST_CHUNK, CHUNK_UNIT = 4096, 1024
"""Elements that a chunk of a segment has at least, and of what their number is a multiple."""
SMALL_TEAM = 4
"""Threads of a team where neighbours in memory are of neighbouring segments, of which a warp then has a sector."""
ROUNDS = 4
"""Segments that a team reduces, one after the other, where it has a thread for each element."""


def fits_collective(s: Segop[core.SegRed]) -> bool | str:
    """Applies where all operators are on scalars and cannot fail; else why not."""
    return all(is_simple(r.op) for r in s.exp.reds) or "an operator on arrays, or that may fail"


def is_short(s: Chunked, _: bool) -> Atom:
    """bool: has a segment at most `SHORT` elements?"""
    return s.h.op(Op.LE, s.exp.space.widths[-1], i64(SHORT), base="is")


def launch_blocks(s: Chunked, _: bool) -> None:
    """A block for each chunk of each segment."""
    launch(s, s.h.op(Op.MUL, s.h.product(s.outer), s.count), lambda: chunks_kernel(s))


def cut_of(s: Segop[core.SegRed]) -> tuple[Atom, Atom]:
    """Chunks of a multiple of `CHUNK_UNIT` elements, so that `num_blocks` of them hold all; by sizes alone. A segment
    that is known to be no longer than the least chunk is one."""
    h, width, elements = s.h, s.exp.space.widths[-1], s.h.product(s.exp.space.widths)
    if isinstance(width, Const) and int(width.value) <= LEAST_CHUNK:
        return i64(1), i64(LEAST_CHUNK)
    fair = h.op(Op.MAX, h.ceil_div(elements, h.size(Kind.NUM_BLOCKS)), i64(LEAST_CHUNK))
    length = h.op(Op.MUL, h.ceil_div(fair, CHUNK_UNIT), i64(CHUNK_UNIT), base="length")
    return h.op(Op.MAX, h.ceil_div(width, length), i64(1), base="chunks"), length


# ---- a block for a chunk -----------------------------------------------------------------------------------------


def chunks_kernel(s: Chunked) -> Made:
    """`partial[i][c] = reduce op ne (j in chunk c)`"""
    h, exp, b = s.h, s.exp, s.h.builder()
    assert s.length is not None
    b.say("a block for each chunk of a segment")
    (inner, width), outer = exp.space.dims[-1], exp.space.dims[:-1]
    chunks, length = b.operand(s.count), b.operand(s.length)
    point, number = split_chunk(b, outer, chunks)
    indices = bind_space(b, SegSpace(outer), point)
    lo = b.mul(number, length, "lo")
    hi = b.minimum(b.operand(width), b.add(lo, length), "hi")
    index = b.index(inner)
    rows = [row_of(b, output(b, name), indices) for name, _ in s.outs]
    values = collective_reduce(b, exp.reds, index, (lo, hi), lambda: element(b, exp, rows, index), True)
    for name, value in zip(s.partial, values, strict=True):
        put(b, row_of(b, output(b, name), indices), number, value, Mode.BLOCK)
    return h.finish(b, s.base)


def element(b: Builder, exp: core.SegRed | core.SegScan, rows: list[ArrayRef], index: Operand) -> list[Operand]:
    """The body at one point of the space: what is mapped is stored, what is reduced or scanned is given."""
    values = gen_body(b, exp.body, Mode.THREAD)
    count = len(values) - len(rows)
    for row, value in zip(rows, values[count:], strict=True):
        put(b, row, index, value, Mode.THREAD)
    return [scalar(v) for v in values[:count]]


# ---- teams -------------------------------------------------------------------------------------------------------


def launch_teams(s: Chunked, _: bool) -> None:
    """A team for each segment: the least power of two of threads that holds it, up to a warp. Teams with a thread for
    each element reduce `ROUNDS` segments."""
    h, width = s.h, s.exp.space.widths[-1]
    team = powers_of_two(h, width, WARP.threads, "team")
    rounds = i64(ROUNDS)
    if not isinstance(width, Const) or int(width.value) > WARP.threads:
        rounds = h.choice(h.op(Op.LE, width, i64(WARP.threads)), i64(ROUNDS), i64(1), "rounds")
    each = h.op(Op.MUL, h.op(Op.QUOT, i64(BLOCK.threads), team), rounds, base="segments")
    segments = h.product(s.outer)
    small = i64(SMALL_TEAM), i64(BLOCK.threads // SMALL_TEAM), segments
    ways = (
        ("whole teams", (h.ceil_div(segments, each),), lambda: teams_kernel(s, (team, each, segments))),
        (f"teams of {SMALL_TEAM}", (h.ceil_div(segments, small[1]),), lambda: teams_kernel(s, small)),
    )
    elements = h.product(s.exp.space.widths)

    def launch_way(way: int, made: Made) -> None:
        h.launch(made, ways[way][1][0], elements, made.cost / EXTENT, s.stm.loc)

    found = best_way(h, ways, s.exp.space.dims[:-1])
    alternatives(h, (), [lambda _, one=one: launch_way(*one) for one in found], s.stm.loc)


def teams_kernel(s: Chunked, cut: tuple[Atom, Atom, Atom]) -> Made:
    """`cut`: the threads of a team, the segments of a block, all segments."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.say("a team of threads for each segment, several segments for a block")
    (inner, width), outer = exp.space.dims[-1], exp.space.dims[:-1]
    team, each, segments = (b.operand(a) for a in cut)
    m = b.operand(width)
    lo = b.mul(b.block, each, "lo")
    hi = b.minimum(segments, b.add(lo, each), "hi")
    segment, index = b.fresh("segment", Prim.I64), b.index(inner)
    op, neutral = k_lambda(b, exp.reds), neutral_of(b, exp.reds)
    with b.nested() as body:
        indices = bind_space(b, SegSpace(outer), segment, h.order) if outer else ()
        values = element(b, exp, [row_of(b, output(b, name), indices) for name, _ in s.outs], index)
    outs = tuple(b.fresh("red", v.prim) for v in op.left)
    with b.nested() as after:
        place = place_of(b, outer, segment, h.order)
        for name, value in zip(s.partial, outs, strict=True):
            b.emit(kir.Store(output(b, name).mem, place, value))
    commutative = all(r.comm for r in exp.reds)
    b.emit(
        kir.TeamReduce(
            outs, team, segment, lo, hi, index, m, tuple(body), tuple(values), op, neutral, commutative, tuple(after)
        )
    )
    return h.finish(b, s.base)


def place_of(
    b: Builder, outer: tuple[tuple[Name, Atom], ...], segment: Operand, order: tuple[int, ...] | None
) -> Operand:
    """Where the result of a segment belongs, which is numbered in another order of its dimensions."""
    if not outer or order is None or order == tuple(range(len(outer))):
        return segment if outer else ZERO
    place: Operand = ZERO
    for (_, width), index in zip(outer, bind_space(b, SegSpace(outer), segment, order), strict=True):
        place = b.add(b.mul(place, b.operand(width)), index)
    return place


def powers_of_two(h: HostBuilder, size: Atom, most: int, base: str) -> Atom:
    """The least power of two that is not below `size`, or `most`."""
    if isinstance(size, Const):
        return i64(min(most, 1 << max(0, int(size.value) - 1).bit_length()))
    found: Atom = i64(most)
    power = most // 2
    while power:
        found = h.choice(h.op(Op.LE, size, i64(power)), i64(power), found, base)
        power //= 2
    return found


COLLECTIVES: Table = (Schedule("teams", launch_teams, guard=is_short), Schedule("blocks", launch_blocks))
SEGRED: Table = (
    MERGE_PATH,
    Schedule("collectives", lambda s, _: in_chunks(s, COLLECTIVES, cut_of), fits_collective, rows=COLLECTIVES),
    Schedule("chunks", lambda s, _: in_chunks(s, ELEMENTS), rows=ELEMENTS),
)
