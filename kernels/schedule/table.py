"""Schedules as tables: the ways in which a machine can run a segop, and the driver that decides between them.

A table is a tuple of rows, the most special first. A row applies to a segop or says why not; the first row whose guard
holds is taken. Guards are of sizes, so that most are code of the host:

    if guard of row 1 then row 1 else if guard of row 2 then row 2 .. else the first row without a guard

The rows that are behind one that is always taken are not looked at. What was considered is recorded for
`soac explain --schedules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from ...ir import core
from ...ir.core import Param, Stm
from ...ir.records import dataclass
from ...ir.types import Atom, Name, Names, Type
from ..analysis.cost import EXTENT
from ..host_ir.nodes import HostBody, HostProgram, launches
from .host_builder import FALSE, TRUE, BestMapping, Considered, HostBuilder, Made, either
from .kernel_builder import InnerSchedules
from .queries import nest_depth

SegOp = core.SegMap | core.SegRed | core.SegScan | core.SegScatter | core.SegHist
Exp = TypeVar("Exp", bound=SegOp, covariant=True)
S = TypeVar("S", contravariant=True)


@dataclass(frozen=True, slots=True)
class Segop(Generic[Exp]):
    """A segop that is to be run, the statement `stm` of `exp`. `base`: what its kernels are named after. The pattern
    has the results that are still to be bound; `outs` those that have memory."""

    h: HostBuilder
    stm: Stm
    exp: Exp
    base: str
    outs: list[tuple[Name, Type]]

    @property
    def results(self) -> tuple[Param, ...]:
        """Those that have memory, and the others."""
        return (*(Param(name, type_) for name, type_ in self.outs), *self.stm.pat)

    @property
    def outer(self) -> tuple[Atom, ...]:
        """Of a segop with segments, how many there are along each dimension."""
        return self.exp.space.widths[:-1]

    @property
    def depth(self) -> int:
        return nest_depth(self.exp.space, self.exp.body)


def always(_segop: Any, _found: Any) -> Atom:
    """The guard of a row that is taken where it applies."""
    return TRUE


def fits(_segop: Any) -> bool:
    """What a row says that applies to all that comes so far."""
    return True


@dataclass(frozen=True, slots=True)
class Schedule(Generic[S]):
    """A way to run a segop. `build` emits it. `applies` gives what that and the guard
    need, or as a string why the segop cannot be run so. `guard` emits the condition under which it is better than what
    follows. `rows`: the table that `build` goes on with. `instead_of`: rows behind this one that its `applies` rules
    out."""

    name: str
    build: Callable[[S, Any], None]
    applies: Callable[[S], Any] = fits
    guard: Callable[[S, Any], Atom] = always
    rows: Table = ()
    instead_of: tuple[str, ...] = ()


Table = tuple[Schedule[Any], ...]


@dataclass(frozen=True, slots=True)
class Schedules:
    """How a machine runs segops. `inner`: what is inside of a kernel; `mapped`: how the points of a segop lie over many
    threads; `finished`: the program when all of it has been lowered, with fresh names."""

    tables: Mapping[type, Table]
    inner: InnerSchedules
    mapped: BestMapping | None
    finished: Callable[[HostProgram, Names], HostProgram]


def run(segop: Segop[Any], table: Table) -> None:
    """Emit a segop by the first row whose guard holds, which the host may find. Raises NotLowerable."""
    h, (row, *others) = segop.h, table
    found = row.applies(segop)
    guard = FALSE if isinstance(found, str) else row.guard(segop, found)
    if guard == FALSE:
        why = found if isinstance(found, str) else "not the cheapest"
        h.considered.append(Considered(row.name, h.nesting, why, None, getattr(found, "cost", None), ()))
        run(segop, tuple(others))
        return
    rest = tuple(other for other in others if other.name not in row.instead_of)
    either(
        h, segop.stm.pat, guard,
        lambda pat: _build(bound(segop, pat), row, found, guard), lambda pat: run(bound(segop, pat), rest),
        segop.stm.loc,
    )  # fmt: skip


def _build(segop: Segop[Any], row: Schedule[Any], found: object, guard: Atom) -> None:
    """Emit a segop by a row, and record what that has launched and the estimate of it."""
    h = segop.h
    start, place = len(h.out), len(h.considered)
    h.nesting += 1
    row.build(segop, found)
    h.nesting -= 1
    inside = {kernel for one in h.considered[place:] for kernel in one.kernels}
    own = [launch for launch in launches(HostBody(tuple(h.out[start:]), ())) if launch.kernel not in inside]
    cost = None if row.rows else max((launch.work for launch in own), default=None)
    kernels = tuple(dict.fromkeys(launch.kernel for launch in own))
    h.considered.insert(place, Considered(row.name, h.nesting, None, guard, cost, kernels))


def bound(segop: Segop[Exp], pat: tuple[Param, ...]) -> Segop[Exp]:
    """With its results by other names."""
    return replace(segop, stm=replace(segop.stm, pat=pat))


def in_memory(segop: Segop[Exp]) -> Segop[Exp]:
    """With memory for all its results, so that nothing is left to be bound."""
    for param in segop.stm.pat:
        segop.h.emit((param,), core.Scratch(param.type), segop.stm.loc)
    return replace(bound(segop, ()), outs=[(p.name, p.type) for p in segop.results])


def launch(s: Segop[SegOp], blocks: Atom, build: Callable[[], Made]) -> None:
    """Launch a kernel in its best layout for all points, whose estimate is for `EXTENT` of them."""
    made = s.h.best_layout(s.depth, build, (blocks,))
    s.h.launch(made, blocks, s.h.product(s.exp.space.widths), made.cost / EXTENT, s.stm.loc)
