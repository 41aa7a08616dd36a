"""`soac bench FILES`: times of programs on the data sets of their test blocks."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ..datasets import data_sets, inputs_of
from ..frontend.testblocks import Fails, parse_tests
from ..session import Session, open_program
from ..versions import misfits
from .options import FILES, DataCommand, Settings, run_options
from .test import programs_in

SKIPPED = frozenset({"disable", "nobench", "no_soac"})
MIN_SECONDS = 0.2


@click.command("bench", cls=DataCommand)
@click.argument("files", nargs=-1, required=True, type=FILES)
@click.option("--runs", type=click.IntRange(1, 100_000), default=10, show_default=True, help="Timed runs, at least.")
@click.option("-e", "--entry", metavar="NAME", help="Only this entry point.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all times to this file.")
@run_options
def command(files: tuple[Path, ...], runs: int, entry: str | None, json_file: Path | None, settings: Settings) -> None:
    """Time the programs in FILES on the data sets of their test blocks, after a run to warm up."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in programs_in(files):
        click.echo(f"{path}:")
        session = open_program(path, settings)
        for name, run in _benchmarks(path, session, entry, settings.threads):
            times = measure(run, runs)
            found.setdefault(str(path), {})[name] = times
            middle, low, high = statistics.median(times), min(times), max(times)
            click.echo(
                f"  {name:<44} {middle * 1e3:10.3f} ms  ({low * 1e3:.3f} to {high * 1e3:.3f}, {len(times)} runs)"
            )
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _benchmarks(
    path: Path, session: Session, entry: str | None, threads: int | None
) -> Iterator[tuple[str, Callable[[], object]]]:
    """What to time: a call for each data set whose run is not expected to fail."""
    for data_set in data_sets(parse_tests(session.text, str(path)), session.program.entries):
        unwanted = SKIPPED & set(data_set.case.tags) or isinstance(data_set.case.expected, Fails)
        if unwanted or entry not in (None, data_set.entry):
            continue
        args = inputs_of(data_set, session.program, path)
        name = f"{data_set.entry} {data_set.label}"
        if (why := _misfits(session, data_set.entry, args)) is not None:
            click.echo(f"  {name:<44} skipped: {why}")
            continue
        yield name, _call(session, data_set.entry, args, threads)


def _misfits(session: Session, entry: str, args: list) -> str | None:
    """Why the forced version does not run with these arguments, if there is one that does not."""
    if not any(session.forced.values()):
        return None
    return misfits(session.forced, session.program.trace(entry, args, forced=session.forced)[1])


def _call(session: Session, entry: str, args: list, threads: int | None) -> Callable[[], object]:
    return lambda: session.program.call(entry, args, forced=session.forced, threads=threads)


def measure(run: Callable[[], object], runs: int) -> list[float]:
    """Seconds of each run, after one that is not counted; as many runs as asked for, and until there is something to
    measure."""
    run()
    times: list[float] = []
    while len(times) < runs or (sum(times) < MIN_SECONDS and len(times) < 100 * runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times
