"""SegScatter as a kernel: a map of what is stored, in place.

segscatter (i < n) dest { (at, e) }     block = chunk of i: threads i { if at is in range { dest[at] := e } }

Rows of fewer elements than a vector has lanes are loops of a thread: threads i { for j < m { .. } }.
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import SegSpace, Stm
from ....ir.ops import Op
from ....ir.types import Atom, Const, Name, Var, i64
from ...analysis.cost import EXTENT
from ..host_builder import HostBuilder, Made
from ..kernel_builder import ArrayRef, Builder, Mode, Operand
from ..soacs import split_indices, write_at, write_in_range
from ..space import Chunk, chunk_of, lanes_over_chunk, output
from ..statements import gen_body
from ..table import Schedule, Segop, Table
from .lanes_kernel import LanesKernel, launch_lanes, sized
from .short_rows import SHORT_ROW

ROWS = 1 << 11
"""Short rows that a block has."""


def segscatter(s: Segop[core.SegScatter], _: bool) -> None:
    """In place: the destinations are consumed."""
    space = s.exp.space

    def fill(b: Builder, chunk: Chunk) -> None:
        dests = destinations(b, s.exp.dests)
        lanes_over_chunk(b, space, chunk, lambda _: written(b, s.exp, dests))

    launch_lanes(s.h, sized(s, fill, 1), space, s.stm.loc, scatters=True)
    alias(s.h, s.stm, s.exp.dests)


def written(b: Builder, exp: core.SegScatter, dests: list[ArrayRef]) -> None:
    """The writes of a point."""
    given, each = gen_body(b, exp.body, Mode.THREAD), exp.rank + len(dests)
    write = write_at if exp.safe else write_in_range
    for k in range(0, len(given), each):
        write(b, dests, *split_indices(given[k : k + each], exp.rank), Mode.THREAD)


def looped(s: Segop[core.SegScatter], _: bool) -> None:
    """A row to a thread."""
    *outer, (inner, width) = s.exp.space.dims
    space = SegSpace(tuple(outer))

    def build(chunk: Chunk) -> Made:
        b = s.h.builder()
        dests = destinations(b, s.exp.dests)

        def row(_: tuple[Operand, ...]) -> None:
            index, n = b.index(inner), b.operand(width)
            b.inside.add((index, n))
            with b.loop(index, n):
                written(b, s.exp, dests)

        lanes_over_chunk(b, space, chunk, row)
        return s.h.finish(b, s.base)

    made = build(chunk_of(ROWS))
    launch_lanes(s.h, LanesKernel(made, ROWS, made.cost / EXTENT, 1), space, s.stm.loc, scatters=True)
    alias(s.h, s.stm, s.exp.dests)


def has_rows(s: Segop[core.SegScatter]) -> bool | str:
    """Whether the innermost dimension may be short."""
    *outer, width = s.exp.space.widths
    is_long = isinstance(width, Const) and int(width.value) >= SHORT_ROW
    return "rows are not short" if not outer or is_long else True


def are_short(s: Segop[core.SegScatter], _: bool) -> Atom:
    """The guard of rows so short that lanes are better over the rows."""
    return s.h.op(Op.LT, s.exp.space.widths[-1], i64(SHORT_ROW), base="short")


BY_POINTS: Table = (Schedule("lanes", segscatter),)
SEGSCATTER: Table = (Schedule("lanes over rows", looped, has_rows, are_short), *BY_POINTS)


def destinations(b: Builder, dests: tuple[Name, ...]) -> list[ArrayRef]:
    """The memory of destinations, as results of the kernel under construction."""
    return [output(b, name) for name in dests]


def alias(h: HostBuilder, stm: Stm, dests: tuple[Name, ...]) -> None:
    """The results are the destinations, which have been updated in place, by other names; what is a view stays one."""
    for param, dest in zip(stm.pat, dests, strict=True):
        if dest in h.views:
            h.views[param.name] = h.views[dest]
        h.emit((param,), core.Copied(Var(dest)), stm.loc)
