"""What checks look at: the statements of a flat program as the host runs them, with the kernels of each.

A check gives the findings of one statement. Those of a body are those of its statements, but of a guard only if both
sides have some: a version without the problem is there to be chosen. Of a segop it is a finding of its kernels only if
every schedule that may be taken has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ..ir.core import Body, Copy, Exp, If, Index, Loop, PrimOp, Prog, Stm
from ..ir.errors import Loc
from ..ir.ops import Op
from ..ir.traverse import all_stms, bodies
from ..ir.types import Name, Var
from ..ir.version_tree import comparisons
from ..kernels.kernel_ir.nodes import Kernel
from ..kernels.passes.pipeline import CPU_PASSES, ready
from ..kernels.schedule.cpu.few_points import FEW_POINTS
from ..kernels.schedule.host_builder import Scheduled
from ..pipeline import Compiled

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong at a place, what it does there, and what helps."""

    loc: Loc
    message: str
    label: str
    hint: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A compiled program: how its statements were lowered, by their first results; where it asks for copies itself;
    which arrays are parts of others; its kernels as they are printed, as far as somebody has asked."""

    compiled: Compiled
    scheduled: Mapping[Name, Scheduled]
    asked_copies: frozenset[Loc]
    slices: frozenset[Name]
    _raw: Mapping[str, Kernel]
    _ready: dict[str, Kernel] = field(default_factory=dict)

    def lowered(self, stm: Stm) -> Scheduled | None:
        """How a statement was lowered, if not as it is."""
        return self.scheduled.get(stm.pat[0].name) if stm.pat else None

    def in_all(self, stm: Stm, found_in: Callable[[Kernel], Iterable[T]]) -> list[T]:
        """What is found in kernels, after all passes, of a segop of many points; nothing where a schedule that may be
        taken for it has nothing of the kind."""
        lowered = self.lowered(stm)
        rows = () if lowered is None else lowered.considered
        taken = (row.kernels for row in rows if row.why_not is None and row.schedule != FEW_POINTS and row.kernels)
        found = [[one for name in kernels for one in found_in(self._kernel(name))] for kernels in taken]
        return [one for ones in found for one in ones] if all(found) else []

    def _kernel(self, name: str) -> Kernel:
        if name not in self._ready:
            self._ready[name] = ready(self._raw[name], CPU_PASSES)
        return self._ready[name]


Check = Callable[[Subject, Stm], Iterator[Finding]]


def subject_of(compiled: Compiled) -> Subject:
    """A program compiled for a CPU."""
    scheduled = {one.stm.pat[0].name: one for one in compiled.scheduled if one.stm.pat}
    raw = {kernel.name: kernel for kernel in compiled.host.kernels}
    asked = {stm.loc.here for stm in _statements(compiled.core) if isinstance(stm.exp, Copy)}
    slices = {stm.pat[0].name for stm in _statements(compiled.flat) if isinstance(stm.exp, Index)}
    return Subject(compiled, scheduled, frozenset(asked), frozenset(slices), raw)


def _statements(prog: Prog) -> Iterator[Stm]:
    return (stm for body in prog.bodies for stm in all_stms(body))


def findings(subject: Subject, check: Check) -> tuple[Finding, ...]:
    """What a check finds in a program, each place once."""
    prog = subject.compiled.flat
    found: dict[Loc, Finding] = {}
    for body in (Body(prog.consts, ()), *(fun.body for fun in prog.functions if fun.entry is not None)):
        found |= _in_body(subject, body, check)
    return tuple(found.values())


def _in_body(subject: Subject, body: Body, check: Check) -> dict[Loc, Finding]:
    compared, found = comparisons(body), dict[Loc, Finding]()
    for stm in body.stms:
        match stm.exp:
            case If(Var(cond), then, orelse) if cond in compared:
                sides = [_in_body(subject, side, check) for side in (then, orelse)]
                found |= min(sides, key=len) if all(sides) else {}
            case If() | Loop():
                for inner in bodies(stm.exp):
                    found |= _in_body(subject, inner, check)
                found |= {one.loc.here: one for one in check(subject, stm)}
            case _:
                found |= {one.loc.here: one for one in check(subject, stm)}
    return found


def inside(exp: Exp) -> Iterator[Stm]:
    """All statements in the bodies of an expression."""
    return (stm for body in bodies(exp) for stm in all_stms(body))


def first_of(stm: Stm, ops: Iterable[Op], bits: Iterable[int] = ()) -> Loc:
    """Where a statement has one of these operations, of a type of `bits` bits, if given."""
    stms = (s for s in inside(stm.exp) if isinstance(s.exp, PrimOp) and s.exp.op in ops)
    return next((s.loc for s in stms if isinstance(s.exp, PrimOp) and (not bits or s.exp.prim.bits in bits)), stm.loc)
