"""`python -m benchmarks.versions`: for every program, how many versions flattening gives and how long compiling takes.

`--write` puts the table into docs/performance.md. Times are those of this process, the least of three: from text to
the host program with its kernels, and from these to machine code, nothing taken from the cache.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from soac.ir.machine import CPU, CUDA, Machine, Mode
from soac.ir.version_tree import sites
from soac.kernels.devices.cpu.executable import Executable
from soac.pipeline import Compiled, compile_prog

from .pages import put_between

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- versions -->", "<!-- end of versions -->"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A program: its lines, guard sites, versions for both machines, kernels for the CPU, milliseconds of compiling."""

    name: str
    lines: int
    sites: int
    versions: int
    versions_cuda: int
    kernels: int
    compile_ms: float
    code_ms: float


def measured(path: Path) -> Row:
    """The figures of one program."""
    text = path.read_text(encoding="utf-8")
    seconds, compiled = least(lambda: compiled_for(path, text, CPU))
    code, _ = least(lambda: Executable.build(compiled.host, compiled.flat.functions))
    return Row(
        path.stem,
        sum(1 for line in text.splitlines() if line.strip() and not line.startswith("--")),
        len(sites(compiled.flat)),
        versions(compiled),
        versions(compiled_for(path, text, CUDA)),
        len(compiled.host.kernels),
        1000 * seconds,
        1000 * code,
    )


def compiled_for(path: Path, text: str, machine: Machine) -> Compiled:
    return compile_prog(text, str(path), Mode.INCREMENTAL, machine)


def versions(compiled: Compiled) -> int:
    """The versions of all sites; a nest without a guard is one version and is not counted."""
    return sum(len(site.versions) for site in sites(compiled.flat))


def least(run: Callable[[], T]) -> tuple[float, T]:
    """Seconds of this process in the fastest of three runs, and what the last gave."""
    times: list[float] = []
    results: list[T] = []
    for _ in range(3):
        start = time.process_time()
        results.append(run())
        times.append(time.process_time() - start)
    return min(times), results[-1]


def table(rows: list[Row]) -> str:
    head = (
        "| program | lines | sites | versions (cpu) | versions (cuda) | kernels | compile, ms | machine code, ms |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|"
    )
    lines = [
        f"| {r.name} | {r.lines} | {r.sites} | {r.versions} | {r.versions_cuda} | {r.kernels}"
        f" | {r.compile_ms:.0f} | {r.code_ms:.0f} |"
        for r in rows
    ]
    return "\n".join([head, *lines])


def write(text: str) -> None:
    """The table between its marks in the page."""
    put_between(PAGE, BEGIN, END, f"\n{text}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args()
    os.environ["SOAC_CACHE_DIR"] = ""  # none
    rows = [measured(path) for path in sorted((ROOT / "programs").glob("*.soac"))]
    print(table(rows))
    if given.write:
        write(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
