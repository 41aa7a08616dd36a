"""Rows of varying length, reduced in equal parts: a segred with `rows` (merge path; Merrill and Garland, SC'16).

    segred (p < n, q < m) rows ends ⊙ d { e }

The path through n row ends and m elements that takes elements while `q < ends[p]`, and else the end of row p, has n + m
steps. Block b makes the steps b*GRAIN .. (b+1)*GRAIN: it finds where on the path they begin and end, (p0, q0) and
(p1, q1), with two binary searches, reduces the elements of the rows p0 .. p1-1 that end there, its threads side by side
on the elements of a row, and carries out what it has of row p1. A second pass, with a thread for each part, combines
these carries with the rows that they belong to, in order, so that operators need not commute and nothing is added
atomically. The parts depend on the
sizes alone: the result has the same bits for any number of threads.

On a GPU the collective is a warp, which waits for no other at the end of a row, with an eighth of the steps, and
reduces short rows side by side (`short_rows.py`).
"""

from __future__ import annotations

from ...ir import core
from ...ir.core import Param
from ...ir.machine import BLOCK, CUDA, WARP
from ...ir.ops import Op
from ...ir.types import I64, Name, Prim, Type, i64
from ..analysis.cost import EXTENT
from ..kernel_ir import nodes as kir
from .host_builder import HostBuilder, Made, either
from .kernel_builder import ONE, ZERO, Builder, Mode, Operand, Value, scalar
from .short_rows import Part, has_room, search, side_by_side
from .soacs import combined, is_simple, put
from .space import output, segment_screma
from .table import Schedule, Segop, in_memory

GRAIN = 1 << 12
"""Steps of a part: rows that end in it, and elements."""
WARPS = 8
"""Warps that share the steps of a part on a GPU."""


def run_parts(s: Segop[core.SegRed], _: bool) -> None:
    """The parts, then their carries where there are several."""
    h, (rows, elements) = s.h, s.exp.space.widths
    results, s = s.stm.pat, in_memory(s)
    outs = [p.name for p in results]
    steps = h.op(Op.ADD, rows, elements)
    of_warps = h.machine.name == CUDA.name
    grain = max(1, GRAIN // WARPS) if of_warps else GRAIN
    parts = h.ceil_div(steps, grain)
    carries = [h.scratch("carry", Type(p.type.prim, (parts,))) for p in results]
    ends = h.scratch("last", I64.array_of(parts))
    made = h.best_layout(s.depth, lambda: part_kernel(s, outs, carries, ends, grain), (parts,))
    h.launch(made, parts, steps, 1.0 + made.cost / EXTENT**2, s.stm.loc)

    def combine(_: tuple[Param, ...]) -> None:
        carried = carry_kernel(s, outs, carries, ends)
        h.launch(carried, h.ceil_div(parts, BLOCK.threads), parts, carried.cost / EXTENT, s.stm.loc)

    either(h, (), h.op(Op.LT, i64(1), parts, base="many"), combine, lambda _: None, s.stm.loc)


MERGE_PATH = Schedule("merge path", run_parts, lambda s: s.exp.ends is not None or "rows of one length")


def part_kernel(s: Segop[core.SegRed], outs: list[Name], carries: list[Name], lasts: Name, grain: int) -> Made:
    """A part: the rows that end there, and the next as far as it goes. A warp that has more rows than it takes rounds
    over as many elements reduces them side by side."""
    h, exp, b = s.h, s.exp, s.h.builder()
    b.collective = core.Level.WARP if h.machine.name == CUDA.name else b.collective
    rows, elements = exp.space.widths
    assert exp.ends is not None
    n, m, ends = b.operand(rows), b.operand(elements), b.array(exp.ends)
    begin = b.mul(b.block, i64(grain))
    finish = b.minimum(b.add(begin, i64(grain)), b.add(n, m))
    first, last = (path_row(b, ends, step, n, m) for step in (begin, finish))
    part = Part(b, exp, ends, begin, finish, first, last, 1 << max(0, -(-grain // WARP.threads) - 1).bit_length())
    with b.nested() as in_turn:
        rows_in_turn(h, part, outs, carries)
    if (
        b.collective is not core.Level.WARP
        or not all(is_simple(red.op) for red in exp.reds)
        or not has_room(part, [h.types[c].prim for c in carries])
    ):
        b.stms += in_turn
    else:
        with b.nested() as together:
            rest = side_by_side(part, [output(b, out) for out in outs])
            b.stms += stored(b, carries, b.block, rest)
        many = b.op(Op.LT, Prim.I64, i64(part.items), b.sub(last, first), base="many")
        b.emit(kir.KIf(many, tuple(together), tuple(in_turn)))
    put(b, output(b, lasts), b.block, last, Mode.BLOCK)
    return h.finish(b, s.base)


def rows_in_turn(h: HostBuilder, part: Part, outs: list[Name], carries: list[Name]) -> None:
    """Each row by all threads, one after the other."""
    b, exp, first, last = part.b, part.exp, part.first, part.last
    (row_name, rows), _ = exp.space.dims
    stop = b.sub(part.finish, last)
    low = b.fresh("low", Prim.I64)
    b.emit(kir.Declare(low, b.sub(part.begin, first)))
    number = b.fresh("r", Prim.I64)
    with b.nested() as stms:
        place = b.add(first, number)
        row = b.minimum(place, b.sub(b.operand(rows), ONE))
        lo = b.copy(low)
        hi = b.minimum(stop, scalar(b.element(part.ends, (row,))))
        b.env[row_name] = row
        types = [Type(h.types[c].prim, ()) for c in carries]
        values = segment_screma(b, h.names, exp, lo, b.sub(hi, lo), [], (), types)
        ended = b.op(Op.LT, Prim.I64, place, last, base="ended")
        b.emit(kir.KIf(ended, stored(b, outs, row, values), stored(b, carries, b.block, values)))
        b.emit(kir.Assign(low, hi))
    b.emit(kir.For(number, b.add(b.sub(last, first), ONE), tuple(stms)))


def path_row(b: Builder, ends: Value, step: Operand, n: Operand, m: Operand) -> Operand:
    """How many rows have ended after `step` steps of the path."""
    low, high = b.fresh("low", Prim.I64), b.fresh("high", Prim.I64)
    b.emit(kir.Declare(low, b.op(Op.MAX, Prim.I64, b.sub(step, m), ZERO)))
    b.emit(kir.Declare(high, b.minimum(step, n)))
    return search(b, ends, step, low, high)


def stored(b: Builder, arrays: list[Name], at: Operand, values: tuple[Value, ...]) -> tuple[kir.KStm, ...]:
    """`array[at] := value` for each."""
    with b.nested() as stms:
        for name, value in zip(arrays, values, strict=True):
            put(b, output(b, name), at, value, Mode.BLOCK)
    return tuple(stms)


def carry_kernel(s: Segop[core.SegRed], outs: list[Name], carries: list[Name], lasts: Name) -> Made:
    """A row that began in earlier parts gets what these carry, by a thread for each part: where the row that the part
    before carries ends in it, the thread goes back to the first part that carries this row, and combines from there."""
    h, exp, b = s.h, s.exp, s.h.builder()
    results, partial, last = [output(b, o) for o in outs], [b.array(c) for c in carries], b.array(lasts)
    (parts,) = h.types[lasts].shape
    lo = b.mul(b.block, i64(BLOCK.threads), "lo")
    hi = b.minimum(b.operand(parts), b.add(lo, i64(BLOCK.threads)), "hi")

    def last_of(part: Operand) -> Operand:
        return scalar(b.element(last, (b.op(Op.MAX, Prim.I64, part, ZERO),)))

    def holds(op: Op, x: Operand, y: Operand) -> Operand:
        return b.op(op, Prim.I64, x, y, base="holds")

    with b.threads(b.fresh("part", Prim.I64), lo, hi) as part:
        before = b.sub(part, ONE)
        row = last_of(before)
        ends_here = b.op(Op.AND, Prim.BOOL, holds(Op.LT, ZERO, part), holds(Op.LT, row, last_of(part)), base="ends")
        with b.when(ends_here):
            first = b.declare("first", before)
            with b.nested() as looking:
                further = b.sub(first, ONE)
                same = holds(Op.EQ, last_of(further), row)
                goes_on = b.op(Op.AND, Prim.BOOL, holds(Op.LT, ZERO, first), same, base="goes")
            with b.nested() as stms:
                b.emit(kir.Assign(first, b.sub(first, ONE)))
            b.emit(kir.KWhile(tuple(looking), goes_on, tuple(stms)))
            begin = b.copy(first)
            accs = [b.declare("acc", scalar(b.element(array, (begin,)))) for array in partial]
            with b.loop(b.fresh("k", Prim.I64), b.sub(before, begin)) as k:
                so_far, at = [b.copy(acc) for acc in accs], b.add(b.add(begin, k), ONE)
                more = [b.element(array, (at,)) for array in partial]
                b.assign(accs, map(scalar, combined(b, exp.reds, so_far, more, Mode.THREAD)))
            tail = [b.element(result, (row,)) for result in results]
            total = combined(b, exp.reds, [b.copy(acc) for acc in accs], tail, Mode.THREAD)
            for result, value in zip(results, total, strict=True):
                put(b, result, row, value, Mode.THREAD)
    return h.finish(b, f"{s.base}_carry")
