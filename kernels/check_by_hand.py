"""Kernels by hand are checked as they are compiled, on any machine: as kernels of a GPU, whose threads run at once.

E0230    a statement stands where not enough, or not the right threads execute it (`analysis/check_collectives.py`)
E0231    threads touch an element in an order that no fence decides (`passes/place_fences.py`); not of a kernel with
         `#[place_fences]`, which gets them; or an element is read that a `copy` may still be on its way to
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import pairwise, takewhile

from ..ir.by_hand import PLACE_FENCES, Version, versions_by_hand
from ..ir.core import Index, Level, Prog, Stm, Update
from ..ir.errors import NOWHERE, CompileError, Diagnostic, Label, Loc
from ..ir.machine import BLOCK, CUDA
from ..ir.records import dataclass
from ..ir.traverse import all_stms
from ..ir.types import Names
from .analysis.accesses import Effect, Touch
from .analysis.check_collectives import check_collectives
from .kernel_ir import nodes as kir
from .kernel_ir.dedup import Kernels
from .kernel_ir.nodes import KArray, Kernel, KStm
from .kernel_ir.traverse import children, loaded_arrays, statements, stored_arrays
from .lower import lower_stm, schedules_of
from .passes.divide_warps import divide_warps
from .passes.place_fences import first_conflict
from .schedule.by_hand import build, fault, grid_of
from .schedule.host_builder import HostBuilder
from .schedule.kernel_builder import NotLowerable


def check_by_hand(prog: Prog) -> None:
    """Raises `CompileError` for the first fault of the kernels by hand of a program before any pass."""
    for version in versions_by_hand(prog):
        kernel, threads = as_of_gpu(prog, version)
        _check_places(version, kernel, threads)
        if not any(attr.name == PLACE_FENCES for attr in version.kernel.attrs):
            _check_fences(version, kernel)
        _Copies(version).walk(kernel.body)


def as_of_gpu(prog: Prog, version: Version) -> tuple[Kernel, int | None]:
    """The kernel as a GPU gets it before all passes, and the threads of a block; None where blocks are of points."""
    by_hand = version.kernel
    h = HostBuilder(version.name, Names(prog.next_name), Kernels(), (), CUDA, schedules_of(CUDA).inner)
    h.bind((*by_hand.params, *by_hand.results))
    for stm in prog.consts:
        h.bind(stm.pat)
    grid = grid_of(by_hand, by_hand.body)
    for stm in grid.before:
        lower_stm(h, stm)
    try:
        made = build(h, grid, version.name, tuple(p.name for p in by_hand.results))
    except NotLowerable as why:
        raise fault(f"the kernel `{version.name}` cannot be compiled: {why}", by_hand.loc) from None
    return made.kernel, None if grid.unit is Level.THREAD else grid.threads


def _check_places(version: Version, kernel: Kernel, threads: int | None) -> None:
    for found in check_collectives(kernel, threads or BLOCK.threads, exact=threads is not None)[:1]:
        loc = found.loc or version.kernel.loc
        message = f"kernel `{version.name}`: {found.why}"
        label = f"found {found.found}; expected {found.expected}"
        raise CompileError(Diagnostic("E0230", message, Label(loc, label)))


def _check_fences(version: Version, kernel: Kernel) -> None:
    body = divide_warps(kernel).body
    found = first_conflict(body)
    if found is None:
        return
    name = _array(found.later)
    message = f"kernel `{version.name}`: a fence is missing between two uses of `{name}` by different threads"
    later, earlier = (Label(_place(version, body, t), _said(t)) for t in (found.later, found.earlier))
    hint = "write `fence;` between the two, or `#[place_fences]` before the kernel"
    raise CompileError(Diagnostic("E0231", message, later, (earlier,), hint=hint))


@dataclass(slots=True)
class _Copies:
    """A walk through a kernel with the arrays that copies are on their way to: those that no `commit` has put into a
    group, and those that no `wait` has asked for. Which groups a `wait` leaves out is for the tracer to find."""

    version: Version
    begun: dict[KArray, Loc] = field(default_factory=dict[KArray, Loc])
    committed: dict[KArray, Loc] = field(default_factory=dict[KArray, Loc])
    here: Loc = NOWHERE

    def walk(self, stms: tuple[KStm, ...]) -> None:
        for stm in stms:
            match stm:
                case kir.Note(Loc() as loc):
                    self.here = loc
                case kir.AsyncCopy(target):
                    self.begun[target] = self.here
                case kir.CommitCopies():
                    self.committed |= self.begun
                    self.begun.clear()
                case kir.WaitCopies():
                    self.committed.clear()
                case kir.For() | kir.KWhile():
                    for inner in children(stm) * 2:
                        self.walk(inner)
                case _ if lists := children(stm):
                    for inner in lists:
                        self.walk(inner)
                case _:
                    self.read(loaded_arrays(stm))

    def read(self, arrays: Iterable[KArray]) -> None:
        for array in arrays:
            if array in self.begun or array in self.committed:
                name = array.name.rpartition("_")[0]
                missing = "`commit` and a `wait`" if array in self.begun else "`wait`"
                message = f"kernel `{self.version.name}`: `{name}` is read, and no {missing} ends the copy to it"
                earlier = Label(self.begun.get(array) or self.committed[array], "copied here")
                hint = "`commit;` after the copies, and `wait 0;` and `fence;` before the threads read"
                raise CompileError(Diagnostic("E0231", message, Label(self.here, "read here"), (earlier,), hint=hint))


def _said(touch: Touch) -> str:
    verb = {Effect.READ: "read", Effect.WRITE: "written", Effect.ATOMIC: "updated"}[touch.effect]
    return f"{verb} here"


def _array(touch: Touch) -> str:
    """What the user calls an array."""
    return touch.array.name.rpartition("_")[0]


def _place(version: Version, body: tuple[KStm, ...], touch: Touch) -> Loc:
    """Where the source has an access: in the line that was noted last before it."""
    last = version.kernel.loc
    for stm in _until(body, touch):
        if isinstance(stm, kir.Note) and isinstance(stm.what, Loc):
            last = stm.what
    return next(
        (stm.loc for stm in all_stms(version.kernel.body) if stm.loc.line == last.line and _does(stm, touch)), last
    )


def _does(stm: Stm, touch: Touch) -> bool:
    match stm.exp:
        case Update(array):
            return touch.effect is not Effect.READ and array.base == _array(touch)
        case Index(array):
            return touch.effect is Effect.READ and array.base == _array(touch)
        case _:
            return False


def _until(body: tuple[KStm, ...], touch: Touch) -> Iterator[KStm]:
    """The statements before an access, in the order of the text; its path leads to the phase that it is in."""
    stms, phase = body, body[0]
    for (_, position), following in pairwise((*touch.path, (0, 0))):
        yield from stms[:position]
        phase = stms[position]
        lists = children(phase)
        stms = lists[following[0]] if lists else ()
    accessed = loaded_arrays if touch.effect is Effect.READ else stored_arrays
    yield from takewhile(lambda stm: touch.array not in accessed(stm), statements((phase,)))
