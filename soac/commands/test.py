"""`soac test FILES`: the `-- ==` blocks of programs, on the default version or on every version."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..devices import require
from ..frontend.compile import read_bytes
from ..ir.cores import cores
from ..ir.machine import MACHINES
from ..output import write_out
from ..reports.tables import table
from ..settings import Settings
from ..testing.checks import EXCLUDED, Testing
from ..testing.outcomes import Begin, Costs, Outcome, Said, Seen, Status
from ..testing.sync import total
from ..testing.workers import Ended, run_tests
from .options import FILES, DataCommand, run_options

SUFFIXES = (".soac", ".fut")
BLOCK = re.compile(rb"^-- ==[ \t\r]*$", re.MULTILINE)


@click.command("test", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILES)
@click.option("--all-versions", is_flag=True, help="Take each version of each guard site at least once.")
@click.option(
    "--sync", is_flag=True, help="Trace all launches on every version; a race or an uninitialised read fails."
)
@click.option("--gradients", is_flag=True, help="Compare derivatives with finite differences at the inputs, too.")
@click.option("-s", "--structure", "structures", is_flag=True, help="Count nodes as `structure` asks for, too.")
@click.option(
    "--machine", type=click.Choice(sorted(MACHINES)),
    help="With --sync: trace the versions for this machine, which need not be there; sizes around its tiles, too.",
)  # fmt: skip
@click.option("--laws", is_flag=True, help="Try on random values whether operators are associative, and the like.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1024), help="Programs tested at once; default: one per core.")
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS",
    help="Time that compiling, or a case on a version, may take; 0 or less: for ever.",
)  # fmt: skip
@click.option("--exclude", multiple=True, metavar="TAG", help="Leave out what has this tag, as with `disable`.")
@click.option("--seed", type=click.IntRange(0), help="Seed of random inputs; default: one of its own for each case.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all outcomes to this file.")
@run_options
def command(
    files: tuple[Path, ...], all_versions: bool, sync: bool, gradients: bool, machine: str | None, structures: bool,
    laws: bool, jobs: int | None, timeout: float, exclude: tuple[str, ...], seed: int | None, json_file: Path | None,
    settings: Settings,
) -> int:  # fmt: skip
    """Run the test blocks of the programs in FILES.

    A directory stands for all .soac and .fut files below it that have a test block. Programs run in processes of their
    own: one that crashes or hangs is reported, and the others go on. Script inputs and `auto output` run the program
    too. The exit code is 0 if nothing failed, else 1."""
    require(settings.device)
    if machine is not None and not sync:
        raise click.UsageError("`--machine` says what `--sync` traces; give both")
    paths = list(dict.fromkeys(programs_in(files)))
    if not paths:
        raise click.UsageError("there is no program with a test block in " + ", ".join(f"`{file}`" for file in files))
    processes = min(len(paths), jobs or (1 if settings.device == "cuda" else cores()))
    threads = settings.threads or max(1, cores() // processes)
    testing = Testing(
        replace(settings, threads=threads), all_versions, structures, EXCLUDED | set(exclude), seed,
        timeout if timeout > 0 else None, sync, laws, machine or "", gradients,
    )  # fmt: skip
    tested = _run(paths, testing, processes)
    outcomes = [one for found in tested.values() for one in found.outcomes]
    click.echo(_summary(_counted(outcomes)))
    if json_file is not None:
        _write(json_file, tested, sync)
    return int(any(one.status is Status.FAILED for one in outcomes))


@dataclass(slots=True)
class Tested:
    """What is known of a program so far: outcomes, and of each traced kernel what it costs."""

    outcomes: list[Outcome] = field(default_factory=list)
    kernels: dict[str, Costs] = field(default_factory=dict)


def has_block(path: Path) -> bool:
    """Whether a program has a test block."""
    try:
        return path.is_file() and BLOCK.search(read_bytes(path)) is not None
    except OSError:
        return False


def programs_in(files: Sequence[Path], is_wanted: Callable[[Path], bool] = has_block) -> Iterator[Path]:
    """The files, and of directories the programs below them that are wanted."""
    for path in files:
        if path.is_dir():
            yield from (found for found in sorted(path.glob("**/*")) if found.suffix in SUFFIXES and is_wanted(found))
        else:
            yield path


# ---- while it runs ------------------------------------------------------------------------------------------------


def _run(paths: Sequence[Path], testing: Testing, processes: int) -> Mapping[Path, Tested]:
    """Tests all programs, and reports on each when it is through."""
    tested = {path: Tested() for path in paths}
    with _progress() as progress:
        task = progress.add_task("", total=len(paths))
        for path, event in run_tests(paths, testing, processes):
            match event:
                case Outcome():
                    tested[path].outcomes.append(event)
                    progress.update(task, description=escape(f"{path.name}: {event.name}"[:40]))
                case Said(text):
                    click.echo(text.rstrip("\n"), err=True)
                case Seen(kernels):
                    seen = tested[path].kernels
                    seen.update((one.kernel, one) for one in total((*seen.values(), *kernels)))
                case Ended():
                    _report(path, tested[path].outcomes)
                    _report_kernels(tuple(tested[path].kernels.values()))
                    progress.advance(task)
                case Begin():
                    pass
    return tested


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on stderr while programs run, if that is a terminal; it is gone afterwards."""
    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    bar = Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal,
        redirect_stdout=sys.stdout.isatty(),
    )  # fmt: skip
    with bar:
        console.show_cursor(True)  # an interrupted command may not live to bring it back
        yield bar


def _report(path: Path, outcomes: Sequence[Outcome]) -> None:
    counts = _counted(outcomes)
    shown = [status for status in Status if counts[status] or (status is Status.PASSED and not counts.total())]
    click.echo(f"{path}: " + ", ".join(f"{counts[status]} {status.value}" for status in shown))
    for outcome in outcomes:
        if outcome.fault is not None:
            version = f" [{outcome.version}]" if outcome.version else ""
            first, *more = outcome.fault.splitlines() or [""]
            click.echo("\n".join([f"  {outcome.name}{version}: {first}", *(f"    {line}" for line in more)]), err=True)


COLUMNS = ("kernel", "launches", "blocks", "hazards", "sectors/request", "turns/request", "balance", "fences", "shared")


def _report_kernels(kernels: Sequence[Costs]) -> None:
    """A table of what was traced: hazards; 32-byte sectors that a warp's access to global memory touches, on average
    and at most; turns of shared memory; the useful share of the blocks' time; fences; bytes of a block."""
    if not kernels:
        return
    for line in table((COLUMNS, *map(_cells, kernels)), "  "):
        click.echo(line)


def _cells(one: Costs) -> tuple[str, ...]:
    sectors = f"{one.sectors / one.requests:.1f} (most {one.worst})" if one.requests else "-"
    turns = f"{one.turns / one.shared_requests:.1f}" if one.shared_requests else "-"
    balance = f"{one.work / one.padded:.2f}" if one.padded else "-"
    counts = (str(number) for number in (one.launches, one.blocks, one.hazards))
    return (one.kernel, *counts, sectors, turns, balance, str(one.fences), str(one.shared_bytes))


def _counted(outcomes: Sequence[Outcome]) -> Counter[Status]:
    return Counter(outcome.status for outcome in outcomes)


def _summary(counts: Mapping[Status, int]) -> str:
    return ", ".join(f"{counts[status]} {status.value}" for status in Status)


def _write(file: Path, tested: Mapping[Path, Tested], sync: bool) -> None:
    everything = [one for found in tested.values() for one in found.outcomes]
    report = {
        "format": 1,
        "summary": {status.value: _counted(everything)[status] for status in Status},
        "programs": {str(path): [_record(one) for one in found.outcomes] for path, found in tested.items()},
    }
    if sync:
        report["kernels"] = {str(path): list(map(asdict, found.kernels.values())) for path, found in tested.items()}
    write_out(file, (json.dumps(report, indent=2) + "\n").encode())


def _record(one: Outcome) -> dict[str, object]:
    return {
        "name": one.name,
        "version": one.version,
        "status": one.status.value,
        "why": one.why,
        "seconds": round(one.seconds, 6),
    }
