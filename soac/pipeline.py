"""All passes in order: the one page that shows how a program becomes code.

    text --front end--> core --inline, simplify, fuse--> fused --flatten, simplify--> flat
         --lower--> kernels and host program

    kernels --CPU_PASSES--> kernels with lanes --kernels/lanes--> LLVM
    kernels --CUDA_PASSES--> kernels with fences --kernels/cuda_c--> CUDA C

A pass is a plain function `Prog -> Prog` or `Kernel -> Kernel` (`KERNEL_PASSES`); `Stage` names where a program can be
shown (`soac dev --emit`, `--after`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum

from .flatten.block_rounds import block_rounds
from .flatten.column_reductions import column_reductions
from .flatten.flatten import Flattened, flatten_traced
from .flatten.fusion.driver import fuse
from .flatten.inline import inline
from .flatten.invariant_parts import hoist_invariant_parts
from .flatten.memory.fuse_points import fuse_points
from .flatten.memory.fuse_stencils import fuse_far_stencils, fuse_stencils
from .flatten.memory.in_place import in_place
from .flatten.memory.interior_updates import interior_updates
from .flatten.memory.merge_writes import merge_writes
from .flatten.memory.turn_maps import turn_maps
from .flatten.safety import safety_warnings
from .flatten.simplify.driver import simplify
from .flatten.tiling.choose import tile
from .flatten.unroll import unroll
from .frontend.accumulators.lower import lower_accumulators
from .frontend.compile import compile_source
from .frontend.interface import SILENT, Interface
from .frontend.source.text import Reach
from .ir.check import Stage, check
from .ir.collector import paused_collector
from .ir.core import Prog
from .ir.depth import allow_depth
from .ir.errors import Diagnostic
from .ir.machine import CPU, CUDA, Machine, Mode
from .ir.nesting import check_levels
from .ir.records import dataclass
from .kernels.analysis.check_collectives import check_kernels
from .kernels.check_by_hand import check_by_hand
from .kernels.host_ir.nodes import HostProgram
from .kernels.kernel_ir.nodes import Kernel
from .kernels.lower import lower
from .kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, Passes
from .kernels.schedule.host_builder import Scheduled

Pass = Callable[[Prog], Prog]
Kernels = tuple[Kernel, ...]


class Emit(Enum):
    """What `soac dev --emit` can show."""

    CORE = "core"
    FUSED = "fused"
    FLAT = "flat"
    KERNELS = "kernels"
    HOST = "host"
    LLVM = "llvm"
    CUDA = "cuda"


CORE_PASSES: tuple[tuple[str, Pass], ...] = (
    ("accumulators", lower_accumulators),
    ("inline", inline),
    ("simplify", simplify),
    ("fuse", fuse),
    ("column-reductions", column_reductions),
    ("hoist-parts", hoist_invariant_parts),
    ("block-rounds", block_rounds),
    ("unroll", unroll),
)

FLAT_PASSES: tuple[tuple[str, Pass], ...] = (
    ("merge-writes", merge_writes),
    ("simplify-flat", simplify),
    ("turn-maps", turn_maps),
    ("fuse-points", fuse_points),
    ("fuse-stencils", fuse_stencils),
    ("in-place", in_place),
    ("interior-updates", interior_updates),
    ("fuse-far-stencils", fuse_far_stencils),
)
TILE = "tile"

LOWER = "lower"


KERNEL_PASSES: Mapping[str, Passes] = {CPU.name: CPU_PASSES, CUDA.name: CUDA_PASSES}
"""The passes over the kernels of each machine, in order: what its printer gets has gone through all of them."""

PASSES: tuple[str, ...] = (
    "elaborate",
    *(name for name, _ in CORE_PASSES),
    "flatten",
    *(name for name, _ in FLAT_PASSES),
    TILE,
    LOWER,
    *dict.fromkeys(name for passes in KERNEL_PASSES.values() for name, _ in passes),
)
"""What a program can be shown after."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A program at its three stages, before it is lowered, and what flattening has to say. `texts`: of the files that
    took part, the library among them; `interface`: what it says to callers."""

    core: Prog
    fused: Prog
    flat: Prog
    flattened: Flattened
    warnings: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    interface: Interface = SILENT


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program as in `Flat`, the host program with its kernels, and what lowering has to say."""

    core: Prog
    fused: Prog
    flat: Prog
    host: HostProgram
    flattened: Flattened
    scheduled: tuple[Scheduled, ...]
    warnings: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    interface: Interface = SILENT


def stages(
    prog: Prog,
    mode: Mode,
    machine: Machine,
    checked: bool,
    report: Callable[[Flattened], None] = lambda flattened: None,
) -> Iterator[tuple[str, Prog]]:
    """The program after each pass, by the pass's name; with `checked`, the checker runs in between. `report` gets what
    flattening says."""

    def seen(name: str, prog: Prog, stage: Stage) -> tuple[str, Prog]:
        check_levels(prog)
        if checked:
            check(prog, stage)
        return name, prog

    allow_depth()
    yield seen("elaborate", prog, Stage.CORE)
    for name, run in CORE_PASSES:
        prog = run(prog)
        yield seen(name, prog, Stage.CORE)
    flattened = flatten_traced(prog, mode, machine)
    report(flattened)
    prog = flattened.prog
    yield seen("flatten", prog, Stage.FLAT)
    for name, run in FLAT_PASSES:
        prog = run(prog)
        yield seen(name, prog, Stage.FLAT)
    yield seen(TILE, tile(prog, machine), Stage.FLAT)


def kernel_stages(kernels: Kernels, machine: Machine, checked: bool) -> Iterator[tuple[str, Kernels]]:
    """The kernels of a machine after lowering and after each pass, by the pass's name; with `checked`, the checker of
    collectives runs in between."""
    for name, run in ((LOWER, None), *KERNEL_PASSES[machine.name]):
        after = kernels if run is None else tuple(map(run, kernels))
        if checked:
            check_kernels((k for k, old in zip(after, kernels, strict=True) if run is None or k is not old), machine)
        kernels = after
        yield name, kernels


def all_stages(
    prog: Prog, mode: Mode, machine: Machine, checked: bool, schedules: Machine
) -> Iterator[tuple[str, Prog | Kernels]]:
    """The program after each pass, and its kernels after each pass of the machine that is to run them."""
    for name, after in stages(prog, mode, machine, checked):
        prog = after
        yield name, after
    yield from kernel_stages(lower(prog, schedules).kernels, schedules, checked)


def compile_prog(
    text: str,
    file: str,
    mode: Mode = Mode.INCREMENTAL,
    machine: Machine = CPU,
    checked: bool = False,
    reach: Reach = Reach.PROJECT,
    schedules: Machine | None = None,
) -> Compiled:
    """Compile source text to a host program with kernels; `reach` says what it may import, `schedules` which machine is
    to run the kernels, if not the one whose levels the program is flattened for. Raises CompileError."""
    with paused_collector():
        return lowered(flat_prog(text, file, mode, machine, checked, reach), schedules or machine, checked)


def flat_prog(
    text: str,
    file: str,
    mode: Mode = Mode.INCREMENTAL,
    machine: Machine = CPU,
    checked: bool = False,
    reach: Reach = Reach.PROJECT,
) -> Flat:
    """As `compile_prog`, up to lowering."""
    with paused_collector():
        source = compile_source(text, file, reach)
        flat = flat_core(source.prog, mode, machine, checked)
    warnings = source.warnings + flat.warnings
    return replace(flat, warnings=warnings, texts=source.texts, interface=source.interface)


def compile_core(
    prog: Prog, mode: Mode, machine: Machine, checked: bool = False, schedules: Machine | None = None
) -> Compiled:
    """From core to a host program with kernels. With `checked` the programs between passes and the kernels are checked;
    raises IRError."""
    return lowered(flat_core(prog, mode, machine, checked), schedules or machine, checked)


def flat_core(prog: Prog, mode: Mode, machine: Machine, checked: bool) -> Flat:
    """As `compile_core`, up to lowering."""
    check_by_hand(prog)
    said: list[Flattened] = []
    after = dict(stages(prog, mode, machine, checked, said.append))
    (flattened,) = said
    fused, flat = after[CORE_PASSES[-1][0]], after[TILE]
    return Flat(prog, fused, flat, flattened, safety_warnings(fused) + flattened.warnings, {})


def lowered(one: Flat, schedules: Machine, checked: bool = False) -> Compiled:
    """All of a flat program lowered to the host program and kernels of a machine."""
    allow_depth()
    scheduled: list[Scheduled] = []
    host = lower(one.flat, schedules, scheduled.append)
    if checked:
        deque(kernel_stages(host.kernels, schedules, checked), maxlen=0)
    return Compiled(
        one.core, one.fused, one.flat, host, one.flattened, tuple(scheduled), one.warnings, one.texts, one.interface
    )
