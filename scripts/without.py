"""What passes over kernels and schedules are for: how many programs come out different without each of them.

    python -m scripts.without [FILE..]        programs, conformance, regressions and benchmarks, or these files

A line for each pass of the CPU: how many programs and kernels are others where it alone is left out, and some names;
then one for each row of the schedules of the CPU: where it is taken. A pass whose line says 0 does nothing.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from soac.ir.errors import CompileError
from soac.kernels.kernel_ir.nodes import Kernel
from soac.kernels.passes.pipeline import CPU_PASSES, ready
from soac.kernels.schedule.host_builder import Scheduled
from soac.pipeline import compile_prog

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ("programs/*.soac", "benchmarks/**/*.soac", "tests/regress/*.soac", "tests/conformance/*/*.fut")
NEEDED = ("choose-lanes",)
"""Passes without which there is no code."""
SHOWN = 8

Programs = dict[str, Counter[str]]
"""How often, for each pass or row, by program."""


def needs(kernel: Kernel) -> Iterator[str]:
    """The passes without which a kernel is another one in the end."""
    stages = [kernel]
    for _, run in CPU_PASSES:
        stages.append(run(stages[-1]))
    for k, (name, _) in enumerate(CPU_PASSES):
        if name not in NEEDED and stages[k] != stages[k + 1] and ready(stages[k], CPU_PASSES[k + 1 :]) != stages[-1]:
            yield name


def taken(scheduled: Scheduled) -> Iterator[str]:
    """The rows of the tables that are taken for a segop, each behind those that it is inside of."""
    inside: list[str] = []
    for row in scheduled.considered:
        inside[row.nesting :] = [row.schedule]
        if row.why_not is None:
            yield f"{type(scheduled.stm.exp).__name__.lower()}: {' / '.join(inside)}"


def count(paths: Iterable[Path]) -> tuple[Programs, Programs]:
    """Of passes, and of rows of schedules."""
    passes: Programs = {name: Counter() for name, _ in CPU_PASSES if name not in NEEDED}
    rows: Programs = defaultdict(Counter)
    for path in paths:
        try:
            compiled = compile_prog(path.read_text(encoding="utf-8"), str(path))
        except CompileError:
            continue
        for kernel in compiled.host.kernels:
            for name in needs(kernel):
                passes[name][path.stem] += 1
        for scheduled in compiled.scheduled:
            for row in taken(scheduled):
                rows[row][path.stem] += 1
    return passes, rows


def show(programs: Programs) -> Iterator[str]:
    """A line for each, the fewest programs first."""
    for name, found in sorted(programs.items(), key=lambda item: (len(item[1]), item[0])):
        yield f"{len(found):5} {found.total():6}  {name:50} {' '.join(sorted(found)[:SHOWN])}".rstrip()


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(p for pattern in CORPUS for p in ROOT.glob(pattern))
    for programs in count(paths):
        print(*show(programs), "", sep="\n")


if __name__ == "__main__":
    main()
