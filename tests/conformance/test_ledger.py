"""What the programs of the corpus become: a line for each program and machine, in `ledger/`.

    hist/in_map cpu | 2 if, 3 segmap, 1 seghist | 41 scalars | 4 kernels, 95 lines | 3fa01c 91bb02

Versions are branches; what is counted by its kind is what reads or makes whole arrays, and lines of kernels after all
passes. A line that differs is a change of cost, or of the text alone (the digests, of the flat program and of the
kernels, whose names are numbered in order). Values are what other tests look at: a condition of a rule or of a
schedule that is lost on the way to the same value shows here. `pytest --update` writes the lines; read the diff, and
say in `tests/emit.md` why.
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
from soac.kernels.kernel_ir.show import show_kernel
from soac.kernels.passes.pipeline import CPU_PASSES, CUDA_PASSES, ready
from soac.pipeline import compile_core
from soac.testing.structure import kind_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDERS = (
    "attributes", "control", "filter", "hist", "loops", "nests", "scan", "scatter", "slices",
    "updates",
)  # fmt: skip
AT_NIGHT = {
    name: HERE / name for name in ("arrays", "derivatives", "functions", "map", "recursion", "reduce", "sizes")
} | {
    "regress": ROOT / "tests" / "regress",
    "programs": ROOT / "programs",
}
LONG = {"loops_that_change_sizes", "recursion_in_threads", "doubling_calls"}
"""Programs that take a second or more."""
SCALAR = ("PrimOp", "Convert", "Assert")
MACHINES = (("cpu", CPU, CPU_PASSES), ("gpu", CUDA, CUDA_PASSES))


def programs(folder: str) -> list[Path]:
    place = AT_NIGHT.get(folder, HERE / folder)
    return sorted(path for path in place.iterdir() if path.suffix in (".fut", ".soac") and path.stem not in LONG)


@cache
def known(folder: str) -> list[str]:
    return ledger(folder).read_text(encoding="utf-8").splitlines()


def ledger(folder: str) -> Path:
    return HERE / "ledger" / f"{folder}.txt"


PROGRAMS = [
    pytest.param(folder, path, id=f"{folder}/{path.stem}", marks=[pytest.mark.slow] * (folder in AT_NIGHT))
    for folder in (*FOLDERS, *AT_NIGHT)
    for path in programs(folder)
]


@pytest.mark.parametrize("folder, program", PROGRAMS)
def test_a_program_becomes_what_its_ledger_says(folder: str, program: Path, update: bool) -> None:
    if update:
        pytest.skip("written for a folder at once")
    listed = [line for line in known(folder) if line.startswith(f"{folder}/{program.stem} ")]
    assert list(lines_of(folder, program)) == listed


@pytest.mark.parametrize("folder", [*FOLDERS, *AT_NIGHT])
def test_ledgers_are_of_the_programs_there_are(folder: str, update: bool) -> None:
    if update:
        lines = [line for program in programs(folder) for line in lines_of(folder, program)]
        ledger(folder).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    listed = list(dict.fromkeys(line.partition(" ")[0].partition("/")[2] for line in known(folder)))
    assert listed == [program.stem for program in programs(folder) if program.stem in listed]
    assert {path.stem for path in ledger(folder).parent.iterdir()} == {*FOLDERS, *AT_NIGHT}


def lines_of(folder: str, program: Path) -> Iterator[str]:
    """What it becomes on each machine; nothing if it is to be rejected."""
    try:
        core = compile_text(program.read_text(encoding="utf-8"), str(program.relative_to(ROOT)))
    except CompileError:
        return
    for machine, levels, passes in MACHINES:
        compiled = compile_core(core, Mode.INCREMENTAL, levels)
        kinds, scalars = constructs(compiled.flat)
        flat = "\n\n".join(map(renumbered, show(compiled.flat).split("\n\n")))
        kernels = [show_kernel(ready(kernel, passes)) for kernel in compiled.host.kernels]
        code = "\n".join(kernels)
        counts = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(kinds.items())) or "scalars alone"
        size = f"{scalars} scalars | {len(kernels)} kernels, {code.count(chr(10))} lines"
        yield f"{folder}/{program.stem} {machine} | {counts} | {size} | {digest(flat)} {digest(code)}"


def constructs(prog: Prog) -> tuple[Counter[str], int]:
    """How many constructs of each kind there are, and how many of scalars."""
    found = Counter(kind_of(stm.exp) for body in prog.bodies for stm in all_stms(body))
    scalars = sum(found.pop(kind, 0) for kind in SCALAR)
    return found, scalars


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:6]
