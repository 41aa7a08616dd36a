"""A scan and the reduction that reads it, in one pass: neither the scan nor what is reduced is stored.

    ys = segscan (i < n) ⊕ { e };  r = segred (i < n) ⊗ { f(ys[i]) }

    ⟶   chain of chunks { for tile of chunk { scan ⊕ (threads i { e }), then xs[i] := f(..);  r = r ⊗ (reduce ⊗ xs) } }

The elements of a tile stay in the nearest cache. A tile goes on with the scan of the one before it at the end of whole
groups of lanes, so that what is scanned is the same as in one piece. Parts are combined as those of any reduction.
"""

from __future__ import annotations

from dataclasses import replace

from ....ir import core
from ....ir.ops import Op
from ....ir.types import Names, Prim, Type, Var, i64
from ...analysis.cost import EXTENT
from ...kernel_ir.nodes import Space
from ..host_builder import Follower
from ..kernel_builder import ZERO, ArrayRef, Builder, Mode, NotLowerable, Operand, scalar
from ..soacs import combined, neutral_of, put
from ..space import output, reduced_rows, row_of
from ..table import Schedule, Segop, in_memory, run
from .segred import Chunked, combine
from .segscan import Bounds, Followed, Refs, chain_of, scan_part, segscan_chunks

TILE = 1 << 10
"""Elements of a tile: a multiple of the lanes of every group."""


def run_and_reduce(s: Segop[core.SegScan], one: Follower, reduction: core.SegRed) -> None:
    """Emits the scan with the reduction. Raises NotLowerable for a scan of rows, which has better schedules."""
    if s.outer:
        raise NotLowerable("a scan of rows")
    pat = tuple(one.scan.pat[k] for k in one.kept)
    run(Followed(s.h, replace(s.stm, pat=pat), s.exp, s.base, s.outs, one), (_reduced(reduction),))


def _reduced(reduction: core.SegRed) -> Schedule[Followed]:
    return Schedule("chain of chunks", lambda s, _: reduce_chunks(s, reduction))


def reduce_chunks(s: Followed, reduction: core.SegRed) -> None:
    """A block for each chunk, and the launch that combines their parts."""
    h, red, made = s.h, s.follower.map, in_memory(s)
    memory = replace(s, stm=made.stm, outs=made.outs)
    chain, types = chain_of(s), [p.type for p in red.pat]
    partial = [h.scratch("partial", t.array_of(chain.chunks)) for t in types]

    def scan(b: Builder, bounds: Bounds, refs: Refs, carry: tuple[Operand, ...], chunk: Operand) -> tuple[Operand, ...]:
        found, total = scan_tiles(b, memory, reduction, bounds, refs, carry)
        for name, value in zip(partial, found, strict=True):
            put(b, row_of(b, output(b, name), ()), chunk, value, Mode.BLOCK)
        return total

    kernel = h.best_layout(s.depth, lambda: segscan_chunks(memory, chain, scan))
    h.launch(kernel, chain.chunks, s.exp.space.widths[0], kernel.cost / EXTENT / EXTENT, s.stm.loc)
    combine(Chunked(h, red, reduction, s.base, [], chain.chunks, chain.length, partial, types), red.pat)


def scan_tiles(
    b: Builder, s: Followed, reduction: core.SegRed, bounds: Bounds, refs: Refs, carry: tuple[Operand, ...]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """What the elements of a chunk reduce to, and the total of its scan."""
    lo, hi = bounds
    sofar = [b.declare("sofar", x) for x in neutral_of(b, s.exp.scans)]
    parts = [b.declare("part", x) for x in neutral_of(b, reduction.reds)]
    given = s.follower.body.result
    made = {x: b.alloc("elements", part.prim, (i64(TILE),), Space.SHARED) for x, part in zip(given, parts, strict=True)}
    rows = [made[x] for x in given]
    length, tile = b.sub(hi, lo), b.fresh("tile", Prim.I64)
    with b.loop(tile, b.exact(Op.QUOT, b.add(length, i64(TILE - 1)), i64(TILE), "tiles")):
        first = b.add(lo, b.mul(tile, i64(TILE)))
        last = b.minimum(hi, b.add(first, i64(TILE)))
        here = {len(refs) + k: replace(row, offset=b.sub(ZERO, first)) for k, row in enumerate(rows)}
        total = scan_part(b, s, (first, last), refs | here, carry, tuple(map(b.copy, sofar)))
        b.assign(sofar, total)
        found = reduced(b, s.h.names, reduction, rows, b.sub(last, first))
        before = tuple(map(b.copy, parts))
        b.assign(parts, map(scalar, combined(b, reduction.reds, before, found, Mode.THREAD)))
    return tuple(map(b.copy, parts)), tuple(map(b.copy, sofar))


def reduced(
    b: Builder, names: Names, reduction: core.SegRed, rows: list[ArrayRef], count: Operand
) -> tuple[Operand, ...]:
    """The first elements of rows, reduced."""
    width = names.fresh("w")
    b.env[width] = count
    first, types = [replace(row, shape=(count,)) for row in rows], [Type(row.mem.prim, ()) for row in rows]
    return tuple(map(scalar, reduced_rows(b, names, reduction.reds, first, types, Var(width))))
