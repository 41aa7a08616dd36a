"""What the programs of the corpus become: a line for each program and machine, in `ledger/`.

    hist/in_map cpu | 2 if, 3 segmap, 1 seghist | 41 scalars | 4 kernels, 95 lines | 3fa01c 91bb02 77e0a1 c44d90

Versions are branches; what is counted by its kind is what reads or makes whole arrays, and lines of kernels after all
passes. A line that differs is a change of cost, or of a text alone: the digests are of the flat program, of the
kernels (names are numbered in order), of the host program, and of what is printed of both. Values are what other tests
look at: a condition of a rule or of a schedule that is lost on the way to the same value shows here. `pytest --update`
writes the lines; read the diff, and say in `tests/emit.md` why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from scripts.emit_digest import renumbered
from soac.frontend.compile import compile_text
from soac.ir.core import Prog
from soac.ir.errors import CompileError
from soac.ir.machine import CPU, CUDA, Mode
from soac.ir.show import show
from soac.ir.traverse import all_stms
from soac.kernels.cuda_c.module import cuda_kernel
from soac.kernels.devices.cpu.host.emit import emit_host
from soac.kernels.devices.cuda.host.launches import cuda_backend
from soac.kernels.host_ir.nodes import HostProgram, show_host
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.lanes.module import emit
from soac.kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, all_ready
from soac.pipeline import compile_core
from soac.testing.structure import kind_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACES = {path.name: path for path in sorted(HERE.iterdir()) if any(path.glob("*.fut")) or any(path.glob("*.soac"))} | {
    "regress": ROOT / "tests" / "regress",
    "programs": ROOT / "programs",
}
IN_CI = frozenset((HERE / "in_ci.txt").read_text(encoding="utf-8").split())
"""Programs that together run almost each line of the compiler that any runs, short ones first (`cover` of
`tests.support.mutation`); the others run at night."""
LONG = {"loops_that_change_sizes", "recursion_in_threads", "doubling_calls"}
"""Programs that take a second or more."""
SCALAR = ("PrimOp", "Convert", "Assert")


def programs(folder: str) -> list[Path]:
    return sorted(
        path for path in PLACES[folder].iterdir() if path.suffix in (".fut", ".soac") and path.stem not in LONG
    )


@cache
def known(folder: str) -> list[str]:
    return ledger(folder).read_text(encoding="utf-8").splitlines()


def ledger(folder: str) -> Path:
    return HERE / "ledger" / f"{folder}.txt"


PROGRAMS = [
    pytest.param(folder, path, id=name, marks=pytest.mark.whole if name in IN_CI else pytest.mark.slow)
    for folder in PLACES
    for path in programs(folder)
    for name in (f"{folder}/{path.stem}",)
]


@pytest.mark.parametrize("folder, program", PROGRAMS)
def test_a_program_becomes_what_its_ledger_says(folder: str, program: Path, update: bool) -> None:
    if update:
        pytest.skip("written for a folder at once")
    listed = [line for line in known(folder) if line.startswith(f"{folder}/{program.stem} ")]
    assert list(lines_of(folder, program)) == listed


@pytest.mark.parametrize("folder", PLACES)
def test_ledgers_are_of_the_programs_there_are(folder: str, update: bool) -> None:
    if update:
        lines = [line for program in programs(folder) for line in lines_of(folder, program)]
        ledger(folder).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    listed = list(dict.fromkeys(line.partition(" ")[0].partition("/")[2] for line in known(folder)))
    assert listed == [program.stem for program in programs(folder) if program.stem in listed]
    assert {name.partition("/")[2] for name in IN_CI if name.startswith(f"{folder}/")} <= set(listed)
    assert {path.stem for path in ledger(folder).parent.iterdir()} == PLACES.keys()


def lines_of(folder: str, program: Path) -> Iterator[str]:
    """What it becomes on each machine; nothing if it is to be rejected."""
    try:
        core = compile_text(program.read_text(encoding="utf-8"), str(program.relative_to(ROOT)))
    except CompileError:
        return
    for machine, levels, passes, printed in (("cpu", CPU, CPU_PASSES, for_cpu), ("gpu", CUDA, CUDA_PASSES, for_gpu)):
        compiled = compile_core(core, Mode.INCREMENTAL, levels)
        kinds, scalars = constructs(compiled.flat)
        flat = "\n\n".join(map(renumbered, show(compiled.flat).split("\n\n")))
        kernels = all_ready(compiled.host.kernels, passes)
        code = "\n".join(map(show_kernel, kernels))
        host = "\n\n".join(map(renumbered, show_host(compiled.host).split("\n\n")))
        counts = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(kinds.items())) or "scalars alone"
        size = f"{scalars} scalars | {len(kernels)} kernels, {code.count(chr(10))} lines"
        digests = " ".join(map(digest, (flat, code, host, printed(compiled.host, kernels))))
        yield f"{folder}/{program.stem} {machine} | {counts} | {size} | {digests}"


def for_cpu(host: HostProgram, kernels: tuple[Kernel, ...]) -> str:
    """LLVM IR of the kernels and of the host program."""
    return emit(kernels) + emit_host(host)[0]


def for_gpu(host: HostProgram, kernels: tuple[Kernel, ...]) -> str:
    """CUDA C of the kernels with what a launch must know of each, and LLVM IR of the host program."""
    made = [cuda_kernel(kernel) for kernel in kernels]
    known = [f"{one.threads} {one.together} {one.take_turns} {one.fails} {one.near} {one.bound}" for one in made]
    backend = cuda_backend({kernel.name: kernel for kernel in kernels}, {one.name: one.bound for one in made})
    return "\n".join((*(one.text for one in made), *known, emit_host(host, backend)[0]))


def constructs(prog: Prog) -> tuple[Counter[str], int]:
    """How many constructs of each kind there are, and how many of scalars."""
    found = Counter(kind_of(stm.exp) for body in prog.bodies for stm in all_stms(body))
    scalars = sum(found.pop(kind, 0) for kind in SCALAR)
    return found, scalars


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:6]
