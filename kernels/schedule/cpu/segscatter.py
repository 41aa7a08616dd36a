"""SegScatter as a kernel: a map of what is stored, in place.

segscatter (i < n) dest { (at, e) }     block = chunk of i: threads i { if at is in range { dest[at] := e } }
"""

from __future__ import annotations

from ....ir import core
from ....ir.core import Stm
from ....ir.types import Name, Var
from ..host_builder import HostBuilder
from ..kernel_builder import ArrayRef, Builder, Mode, Operand
from ..soacs import split_indices, write_at, write_in_range
from ..space import Chunk, lanes_over_chunk, output
from ..statements import gen_body
from ..table import Schedule, Segop, Table
from .lanes_kernel import launch_lanes, sized


def segscatter(s: Segop[core.SegScatter], _: bool) -> None:
    """In place: the destinations are consumed."""
    h, exp = s.h, s.exp

    def fill(b: Builder, chunk: Chunk) -> None:
        dests = destinations(b, exp.dests)

        def scatter(_indices: tuple[Operand, ...]) -> None:
            given, each = gen_body(b, exp.body, Mode.THREAD), exp.rank + len(dests)
            write = write_at if exp.safe else write_in_range
            for k in range(0, len(given), each):
                write(b, dests, *split_indices(given[k : k + each], exp.rank), Mode.THREAD)

        lanes_over_chunk(b, exp.space, chunk, scatter)

    launch_lanes(h, sized(s, fill, 1), exp.space, s.stm.loc, scatters=True)
    alias(h, s.stm, exp.dests)


SEGSCATTER: Table = (Schedule("lanes", segscatter),)


def destinations(b: Builder, dests: tuple[Name, ...]) -> list[ArrayRef]:
    """The memory of destinations, as results of the kernel under construction."""
    return [output(b, name) for name in dests]


def alias(h: HostBuilder, stm: Stm, dests: tuple[Name, ...]) -> None:
    """The results are the destinations, which have been updated in place, by other names; what is a view stays one."""
    for param, dest in zip(stm.pat, dests, strict=True):
        if dest in h.views:
            h.views[param.name] = h.views[dest]
        h.emit((param,), core.Copied(Var(dest)), stm.loc)
