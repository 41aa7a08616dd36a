"""Kernels by hand are checked as they are compiled, on any machine: as kernels of a GPU, whose threads run at once.

E0230    a statement stands where not enough, or not the right threads execute it (`analysis/check_collectives.py`)
E0231    threads touch an element in an order that no fence decides (`passes/place_fences.py`); not of a kernel with
         `#[place_fences]`, which gets them
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, takewhile

from ..ir.by_hand import PLACE_FENCES, Version, versions_by_hand
from ..ir.core import Level, Prog
from ..ir.errors import CompileError, Diagnostic, Label, Loc
from ..ir.machine import BLOCK, CUDA
from ..ir.types import Names
from .analysis.accesses import Effect, Touch
from .analysis.check_collectives import check_collectives
from .kernel_ir import nodes as kir
from .kernel_ir.dedup import Kernels
from .kernel_ir.nodes import Kernel, KStm
from .kernel_ir.traverse import children, loaded_arrays, statements, stored_arrays
from .lower import INNER, lower_stm
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


def as_of_gpu(prog: Prog, version: Version) -> tuple[Kernel, int | None]:
    """The kernel as a GPU gets it before all passes, and the threads of a block; None where blocks are of points."""
    by_hand = version.kernel
    h = HostBuilder(version.name, Names(prog.next_name), Kernels(), (), CUDA, INNER[CUDA.name])
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
    name = found.later.array.name.rpartition("_")[0]
    message = f"kernel `{version.name}`: a fence is missing between two uses of `{name}` by different threads"
    later, earlier = (Label(_place(body, t) or version.kernel.loc, _said(t)) for t in (found.later, found.earlier))
    hint = "write `fence;` between the two, or `#[place_fences]` before the kernel"
    raise CompileError(Diagnostic("E0231", message, later, (earlier,), hint=hint))


def _said(touch: Touch) -> str:
    verb = {Effect.READ: "read", Effect.WRITE: "written", Effect.ATOMIC: "updated"}[touch.effect]
    return f"{verb} here"


def _place(body: tuple[KStm, ...], touch: Touch) -> Loc | None:
    """The place of the source noted last before an access."""
    last = None
    for stm in _until(body, touch):
        if isinstance(stm, kir.Note) and isinstance(stm.what, Loc):
            last = stm.what
    return last


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
