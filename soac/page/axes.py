"""The axes of a kernel in space and time, and where its accesses go, read off kernel IR.

    threads p in block*256 ..    space: p over 256 threads          an axis of more indices than threads is split:
      for l < k                  time:  l < k                       the rest of it is time
        a[(p // n) * k + l]      f': the index by the axes

The order is that of the loops. An extent is a formula in the sizes of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..ir.core import Level
from ..ir.ops import Op
from ..ir.types import Const, Prim, i64
from ..kernels.kernel_ir import nodes as kir
from ..kernels.kernel_ir.nodes import KArray, Kernel, KStm, Operand, Space
from ..kernels.kernel_ir.show import show_stm
from ..kernels.kernel_ir.traverse import statements
from ..reports.explain import Applied, Ceiling, Formula, Number, Symbol, applied, nodes_of, show_formula

MOST_NODES = 24
"""A larger formula says nothing to a reader: its variable's name stands for it."""


class Where(Enum):
    """Over units of the machine, or one after the other."""

    SPACE = "space"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Axis:
    """A part of the iteration space. `unit`: what it is laid over; `depth`: loops around it."""

    name: str
    where: Where
    unit: str
    extent: str
    depth: int


@dataclass(frozen=True, slots=True)
class Access:
    """An access site. `site`: the first line of its statement as kernel IR and the array, which the tracer calls it by,
    too; `index` by the axes."""

    site: tuple[str, str]
    array: str
    index: str
    space: str
    writes: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """How a launch is laid on the machine: threads of a block (or of the warp that stands for one), of a warp, and the
    blocks of the kernel that a block of the grid does one after the other."""

    threads: int
    warp: int
    factor: int


@dataclass(frozen=True, slots=True)
class Axes:
    """What was read; `bindings`: what the indices of threads are."""

    axes: tuple[Axis, ...]
    bindings: tuple[str, ...]
    accesses: tuple[Access, ...]


def axes_of(kernel: Kernel, blocks: str, shape: Shape) -> Axes:
    """Of a kernel that is launched with this many blocks."""
    read = _Reader(kernel, shape, _plain_names(kernel))
    unit = "warps of the grid" if kernel.collective is Level.WARP else "blocks of the grid"
    grid = blocks if shape.factor == 1 else f"ceil(({blocks})/{shape.factor})"
    found = [Axis("block", Where.SPACE, unit, grid, 0)]
    if shape.factor > 1:
        found.append(Axis("block", Where.TIME, "turns of a block", str(shape.factor), 1))
    found += read.axes_in(kernel.body, len(found))
    return Axes(tuple(found), tuple(read.bindings), tuple(read.accesses))


def _plain_names(kernel: Kernel) -> dict[str, str]:
    """Names without their numbers, where no two of the same kind are alike."""
    loops = [stm for stm in statements(kernel.body) if isinstance(stm, kir.For | _Loops)]
    segments = [stm.segment.name for stm in loops if isinstance(stm, kir.TeamReduce)]
    names = [
        *segments,
        *(stm.index.name for stm in loops),
        *(v.name for v in kernel.scalars),
        *(a.name for a in kernel.arrays),
    ]
    bases = {name: name.rstrip("0123456789").rstrip("_") for name in names}
    return {name: base for name, base in bases.items() if base and list(bases.values()).count(base) == 1}


_Loops = kir.Threads | kir.BlockReduce | kir.BlockScan | kir.TeamReduce | kir.WarpTurns | kir.RowScan


@dataclass(slots=True)
class _Reader:
    """`formulas`: of the variables seen so far."""

    kernel: Kernel
    shape: Shape
    names: dict[str, str]
    formulas: dict[str, Formula] = field(default_factory=dict)
    bindings: list[str] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)

    # ---- formulas -------------------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def formula(self, operand: Operand) -> Formula:
        if isinstance(operand, Const):
            return Number(operand)
        return self.formulas.get(operand.name) or Symbol(self.name(operand.name), 1)

    def define(self, var: kir.KVar, rhs: kir.Rhs) -> None:
        """Remembers what a variable is, while that is not too long."""
        match rhs:
            case kir.KOp(op, prim, args):  # what is divided is not negative
                found = applied(Op.MOD if op is Op.REM else op, prim, tuple(map(self.formula, args)))
            case kir.KConvert(arg=arg):
                found = self.formula(arg)
            case kir.KLoad(array, index):
                at = self.formula(index)
                found = Symbol(f"{self.name(array.name)}[{show_formula(at)}]", 1 + nodes_of(at))
            case kir.KAligned():
                return
        if nodes_of(found) <= MOST_NODES:
            self.formulas[var.name] = found

    # ---- statements -----------------------------------------------------------------------------------------------

    def axes_in(self, stms: Sequence[KStm], depth: int) -> Iterator[Axis]:
        for stm in stms:
            self.accesses += self.accesses_of(stm)
            yield from self.axes_of(stm, depth)

    def axes_of(self, stm: KStm, depth: int) -> Iterator[Axis]:
        """The axes that a statement is, and those inside of it."""
        match stm:
            case kir.KLet(var, rhs):
                self.define(var, rhs)
            case kir.For(index, bound, body):
                yield Axis(self.name(index.name), Where.TIME, "loop", show_formula(self.formula(bound)), depth)
                yield from self.axes_in(body, depth + 1)
            case kir.KWhile(before, cond, body):
                yield Axis("while", Where.TIME, "loop", show_formula(self.formula(cond)), depth)
                yield from self.axes_in((*before, *body), depth + 1)
            case kir.KIf(_, then, orelse):
                yield from self.axes_in((*then, *orelse), depth)
            case kir.Threads(index, lo, hi, body):
                yield from self.over_threads(index, lo, hi, (*body,), "threads", depth)
            case kir.WarpTurns(_, index, lo, hi, body, _, turn):
                yield from self.over_threads(index, lo, hi, (*body, *turn), "threads, then in turn", depth)
            case kir.BlockReduce(index=index, lo=lo, hi=hi, body=body):
                yield from self.over_threads(index, lo, hi, body, "threads, reduced", depth)
            case kir.BlockScan(index=index, lo=lo, hi=hi, body=body, after=after):
                yield from self.over_threads(index, lo, hi, (*body, *after), "threads, scanned", depth)
            case kir.RowScan(index=index, count=count, body=body, after=after):
                yield from self.over_threads(index, i64(0), count, (*body, *after), "threads, scanned", depth)
            case kir.TeamReduce():
                yield from self.over_teams(stm, depth)
            case _:
                pass

    def over_threads(
        self, index: kir.KVar, lo: Operand, hi: Operand, body: Sequence[KStm], unit: str, depth: int
    ) -> Iterator[Axis]:
        """A loop of the threads: in space as far as there are threads, the rest in time."""
        first, span = self.formula(lo), self.span(lo, hi)
        yield from self.split(index.name, span, Number(i64(self.shape.threads)), unit, depth)
        threads = self.shape.threads
        rest = "" if isinstance(span, Number) and int(span.const.value) <= threads else f" + {threads}*turn"
        start = "" if first == Number(i64(0)) else f"{show_formula(first)} + "
        self.bindings.append(f"{self.name(index.name)} = {start}thread{rest}")
        yield from self.axes_in(body, depth + 1)

    def over_teams(self, stm: kir.TeamReduce, depth: int) -> Iterator[Axis]:
        """Segments over teams, their elements over the threads of a team."""
        team, span = self.formula(stm.team), self.span(stm.lo, stm.hi)
        yield from self.split(stm.segment.name, span, _over(i64(self.shape.threads), team), "teams", depth)
        inside = "threads of a team, reduced"
        yield from self.split(stm.index.name, self.formula(stm.width), team, inside, depth + 1)
        yield from self.axes_in((*stm.body, *stm.after), depth + 2)

    def split(self, name: str, span: Formula, units: Formula, unit: str, depth: int) -> Iterator[Axis]:
        """An index over as many units, where it has more values than these in turns."""
        match span, units:
            case Number(Const(value=x)), Number(Const(value=y)) if x <= y:
                yield Axis(self.name(name), Where.SPACE, unit, str(x), depth)
            case _:
                turns = show_formula(Ceiling(span, units, 0))
                yield Axis(self.name(name), Where.TIME, "turns", turns, depth)
                yield Axis(self.name(name), Where.SPACE, unit, show_formula(units), depth)

    def span(self, lo: Operand, hi: Operand) -> Formula:
        """hi - lo; where `hi` is at most `lo` and something, that."""
        first, end = self.formula(lo), self.formula(hi)
        for arg in end.args if isinstance(end, Applied) and end.op is Op.MIN else ():
            match arg:
                case Applied(Op.ADD, (start, count)) if start == first:
                    return count
                case _:
                    pass
        return end if first == Number(i64(0)) else applied(Op.SUB, Prim.I64, (end, first))

    # ---- accesses -------------------------------------------------------------------------------------------------

    def accesses_of(self, stm: KStm) -> Iterator[Access]:
        match stm:
            case kir.KLet(_, kir.KLoad(array, index)) | kir.LoadRow(_, array, index) | kir.LoadMatrix(_, array, index):
                yield from self.access(stm, array, index, False)
            case kir.Store(array, index) | kir.StoreRow(array, index) | kir.Atomic(array=array, index=index):
                yield from self.access(stm, array, index, True)
            case kir.AsyncCopy(target, at, source, start):
                yield from self.access(stm, source, start, False)
                yield from self.access(stm, target, at, True)
            case _:
                pass

    def access(self, stm: KStm, array: KArray, index: Operand, writes: bool) -> Iterator[Access]:
        if array.space in (Space.GLOBAL, Space.SHARED):
            shown = show_formula(self.formula(index))
            yield Access((show_stm(stm), array.name), self.name(array.name), shown, array.space.value, writes)


def _over(units: Const, team: Formula) -> Formula:
    """How many teams there are."""
    if isinstance(team, Number):
        return Number(i64(max(1, int(units.value) // int(team.const.value))))
    return applied(Op.QUOT, Prim.I64, (Number(units), team))
