"""Rows of varying length, reduced in equal parts: a segred with `rows` (merge path; Merrill and Garland, SC'16).

    segred (p < n, q < m) rows ends ⊙ d { e }

The path through n row ends and m elements that takes elements while `q < ends[p]`, and else the end of row p, has n + m
steps. Block b makes the steps b*GRAIN .. (b+1)*GRAIN: it finds where on the path they begin and end, (p0, q0) and
(p1, q1), with two binary searches, reduces the elements of the rows p0 .. p1-1 that end there, its threads side by side
on the elements of a row, and carries out what it has of row p1. A second pass combines these carries with the rows that
they belong to, in order, so that operators need not commute and nothing is added atomically. The parts depend on the
sizes alone: the result has the same bits for any number of threads.
"""

from __future__ import annotations

from ...ir import core
from ...ir.core import Param
from ...ir.ops import Op
from ...ir.types import I64, Name, Prim, Type, i64
from ..analysis.cost import EXTENT
from ..kernel_ir import nodes as kir
from .host_builder import Made, either
from .kernel_builder import ONE, ZERO, Builder, Mode, Operand, Value, scalar
from .soacs import combined, put
from .space import output, segment_screma
from .table import Schedule, Segop, in_memory

GRAIN = 1 << 12
"""Steps of a part: rows that end in it, and elements."""


def run_parts(s: Segop[core.SegRed], _: bool) -> None:
    """The parts, then their carries where there are several."""
    h, (rows, elements) = s.h, s.exp.space.widths
    results, s = s.stm.pat, in_memory(s)
    outs = [p.name for p in results]
    steps = h.op(Op.ADD, rows, elements)
    parts = h.ceil_div(steps, GRAIN)
    carries = [h.scratch("carry", Type(p.type.prim, (parts,))) for p in results]
    ends = h.scratch("last", I64.array_of(parts))
    made = h.best_layout(s.depth, lambda: part_kernel(s, outs, carries, ends), (parts,))
    h.launch(made, parts, steps, 1.0 + made.cost / EXTENT**2, s.stm.loc)

    def combine(_: tuple[Param, ...]) -> None:
        carried = carry_kernel(s, outs, carries, ends)
        h.launch(carried, i64(1), parts, carried.cost / EXTENT, s.stm.loc)

    either(h, (), h.op(Op.LT, i64(1), parts, base="many"), combine, lambda _: None, s.stm.loc)


MERGE_PATH = Schedule("merge path", run_parts, lambda s: s.exp.ends is not None or "rows of one length")


def part_kernel(s: Segop[core.SegRed], outs: list[Name], carries: list[Name], lasts: Name) -> Made:
    """A part: its rows one after the other, the last of them as far as it goes."""
    h, exp, b = s.h, s.exp, s.h.builder()
    (row_name, rows), (_, elements) = exp.space.dims
    assert exp.ends is not None
    n, m, ends = b.operand(rows), b.operand(elements), b.array(exp.ends)
    begin = b.mul(b.block, i64(GRAIN))
    finish = b.minimum(b.add(begin, i64(GRAIN)), b.add(n, m))
    first, last = (path_row(b, ends, step, n, m) for step in (begin, finish))
    stop = b.sub(finish, last)
    low = b.fresh("low", Prim.I64)
    b.emit(kir.Declare(low, b.sub(begin, first)))
    number = b.fresh("r", Prim.I64)
    with b.nested() as stms:
        place = b.add(first, number)
        row = b.minimum(place, b.sub(n, ONE))
        lo = b.copy(low)
        hi = b.minimum(stop, scalar(b.element(ends, (row,))))
        b.env[row_name] = row
        types = [Type(h.types[c].prim, ()) for c in carries]
        values = segment_screma(b, h.names, exp, (), exp.reds, lo, b.sub(hi, lo), [], (), types)
        ended = b.op(Op.LT, Prim.I64, place, last, base="ended")
        b.emit(kir.KIf(ended, stored(b, outs, row, values), stored(b, carries, b.block, values)))
        b.emit(kir.Assign(low, hi))
    b.emit(kir.For(number, b.add(b.sub(last, first), ONE), tuple(stms)))
    put(b, output(b, lasts), b.block, last, Mode.BLOCK)
    return h.finish(b, s.base)


def path_row(b: Builder, ends: Value, step: Operand, n: Operand, m: Operand) -> Operand:
    """How many rows have ended after `step` steps of the path: the least p with `step - p <= ends[p]`."""
    low, high = b.fresh("low", Prim.I64), b.fresh("high", Prim.I64)
    b.emit(kir.Declare(low, b.op(Op.MAX, Prim.I64, b.sub(step, m), ZERO)))
    b.emit(kir.Declare(high, b.minimum(step, n)))
    with b.nested() as before:
        searching = b.op(Op.LT, Prim.I64, low, high, base="searching")
    with b.nested() as stms:
        middle = b.op(Op.SHR, Prim.I64, b.op(Op.ADD, Prim.I64, low, high), ONE, base="middle")
        after = b.add(middle, ONE)
        is_behind = b.op(Op.LE, Prim.I64, scalar(b.element(ends, (middle,))), b.sub(step, after))
        b.emit(kir.KIf(is_behind, (kir.Assign(low, after),), (kir.Assign(high, middle),)))
    b.emit(kir.KWhile(tuple(before), searching, tuple(stms)))
    return b.copy(low)


def stored(b: Builder, arrays: list[Name], at: Operand, values: tuple[Value, ...]) -> tuple[kir.KStm, ...]:
    """`array[at] := value` for each."""
    with b.nested() as stms:
        for name, value in zip(arrays, values, strict=True):
            put(b, output(b, name), at, value, Mode.BLOCK)
    return tuple(stms)


def carry_kernel(s: Segop[core.SegRed], outs: list[Name], carries: list[Name], lasts: Name) -> Made:
    """A row that began in earlier parts gets what these carry; a segmented reduction of the carries, by row."""
    h, exp, b = s.h, s.exp, s.h.builder()
    results, partial, last = [output(b, o) for o in outs], [b.array(c) for c in carries], b.array(lasts)
    neutral = [b.operand(atom) for red in exp.reds for atom in red.neutral]
    row, accs = b.declare("row", ZERO), [b.declare("acc", ne) for ne in neutral]
    part = b.fresh("part", Prim.I64)
    with b.nested() as stms:
        at, so_far = b.copy(row), [b.copy(acc) for acc in accs]
        next_row = scalar(b.element(last, (part,)))
        carried = [b.element(array, (part,)) for array in partial]
        with b.nested() as ends_here:
            tail = [b.element(result, (at,)) for result in results]
            for result, value in zip(results, combined(b, exp.reds, so_far, tail, Mode.BLOCK), strict=True):
                put(b, result, at, value, Mode.BLOCK)
            b.assign(accs, map(scalar, carried))
        with b.nested() as goes_on:
            b.assign(accs, map(scalar, combined(b, exp.reds, so_far, carried, Mode.BLOCK)))
        ended = b.op(Op.LT, Prim.I64, at, next_row, base="ended")
        b.emit(kir.KIf(ended, tuple(ends_here), tuple(goes_on)))
        b.emit(kir.Assign(row, next_row))
    (parts,) = h.types[lasts].shape
    b.emit(kir.For(part, b.operand(parts), tuple(stms)))
    return h.finish(b, f"{s.base}_carry")
